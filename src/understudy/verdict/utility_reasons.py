"""What is judged about the utility of one synthesizer's sets: tables, patterns, analyses."""

from __future__ import annotations

from understudy.errors import quoted_list
from understudy.findings.schema import Regression, SynthesizerFindings, WithinPattern
from understudy.findings.survey_schema import WeightedFindings
from understudy.summaries import counted, number, percent
from understudy.verdict.grading import Outcome, Reason, graded, table_ratios
from understudy.verdict.thresholds import Thresholds

__all__ = ["utility_reasons"]

TOO_FEW = (
    " So few of them cannot represent the analysis: compare its levels with ones that many records "
    'have, or fit it to more records (in a plan: reference = "largest", train = "all").'
)


def utility_reasons(synthesizer: SynthesizerFindings, limits: Thresholds) -> list[Reason]:
    """Judge what an analyst keeps."""
    reasons = [_tables(synthesizer, limits), _within(synthesizer.utility.within, limits)]
    if synthesizer.utility.weighted is not None:
        reasons.append(_weighted(synthesizer.utility.weighted, limits))
    reasons += [_overlap(analysis, limits) for analysis in synthesizer.utility.regressions]
    return [reason.model_copy(update={"synthesizer": synthesizer.name}) for reason in reasons]


def _tables(synthesizer: SynthesizerFindings, limits: Thresholds) -> Reason:
    """The worst order of tables, over its truth floor."""
    ratios = table_ratios(synthesizer)
    passing = limits.table_deviation_pass
    order, worst = max(
        ((order, ratio) for order, ratio in ratios if ratio is not None),
        key=lambda pair: pair[1],
        default=(0, None),
    )
    if any(ratio is None for _, ratio in ratios):
        outcome: Outcome = "fail"
        words = "Tables deviate where those of a synthesizer that knew the population cannot."
    else:
        outcome = graded(worst, limits, "table_deviation")
        words = (
            f"The worst tables, {order}-way, deviate {number(worst)} times as far as those of a "
            f"synthesizer that knew the population; the pass limit is {number(passing)}."
        )
    return Reason(
        subject="table deviation", outcome=outcome, words=words, found=worst, limit=passing
    )


def _weighted(weighted: WeightedFindings, limits: Thresholds) -> Reason:
    """Weighted tables, over what a synthesizer that knew the population would score."""
    ratios = [
        deviation / floor
        for deviation, floor in zip(weighted.deviation, weighted.truth_floor, strict=True)
        if floor > 0
    ]
    worst = max(ratios, default=None)
    words = (
        f"The worst weighted tables deviate {number(worst)} times as far as those of a synthesizer "
        f"that knew the population; the pass limit is {number(limits.table_deviation_pass)}."
    )
    if weighted.mean_overlap is not None:
        words += (
            f" Design-based intervals of the {weighted.shares:,} weighted shares overlap the "
            f"original's by {percent(weighted.mean_overlap)} on average."
        )
    outcome = graded(worst, limits, "table_deviation")
    if outcome != "pass":
        words += (
            " Where the weight depends on the label beyond the kept variables, its quantile groups "
            "as a predictor bring them closer: weight_groups in a plan, or more of them."
        )
    return Reason(
        subject="weighted tables",
        outcome=outcome,
        words=words,
        found=worst,
        limit=limits.table_deviation_pass,
    )


def _within(within: WithinPattern, limits: Thresholds) -> Reason:
    """Distance within patterns beyond what chance explains."""
    excess = max(0.0, within.mean_distance - within.mean_truth_floor)
    passing = limits.within_pattern_pass
    words = (
        f"In the average record's pattern {percent(within.mean_distance)} of the labels would "
        "have to change to restore the original's distribution; chance alone explains "
        f"{percent(within.mean_truth_floor)}. The excess is {percent(excess)}, the pass limit "
        f"{percent(passing)}. {counted(within.n_far, 'pattern')} differ"
        f"{'s' * (within.n_far == 1)} by more than chance explains."
    )
    return Reason(
        subject="within pattern",
        outcome=graded(excess, limits, "within_pattern"),
        words=words,
        found=excess,
        limit=passing,
    )


def _overlap(analysis: Regression, limits: Thresholds) -> Reason:
    """Interval overlap of an analysis, as a share of what a right synthesizer reaches."""
    own, floor = analysis.overlap_in_common, analysis.overlap_truth_floor
    floor = analysis.overlap_floor if floor is None else floor
    own = analysis.mean_overlap if own is None else own
    share = own / floor if own is not None and floor else None
    passing = limits.overlap_pass
    formula = quoted_list([analysis.formula])
    outcome: Outcome = "review"
    if share is None:
        words = (
            f"The analysis {formula} has no interval overlap to judge: intervals need at least "
            "two sets in which the model can be fitted."
        )
    else:
        total, compared = analysis.n_coefficients, analysis.n_in_common
        compared = total if compared is None else compared
        few = 2 * compared < total
        if share < limits.overlap_review:
            outcome = "fail"
        elif share >= passing and not few:
            outcome = "pass"
        over = f", over the {compared:,} of {total:,} coefficients that can be estimated"
        words = (
            f"Intervals of {formula} overlap the original's by {percent(own)} on average"
            f"{over if compared < total else ''}. That is {percent(share)} of the {percent(floor)} "
            "that a synthesizer that knew the population would reach; the pass limit is "
            f"{percent(passing)}.{TOO_FEW if few else ''}"
        )
    return Reason(
        subject="interval overlap", outcome=outcome, words=words, found=share, limit=passing
    )
