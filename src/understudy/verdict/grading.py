"""Why a study passes, goes to review or fails: one reason per thing that is judged, in plain words.

A measure passes on its figure alone. It fails only where it lies above the limit for review by more
than two standard errors: a perfect synthesizer lies at Max, a little above it half of the time.
A figure that is undefined never passes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from understudy.errors import quoted_list
from understudy.findings.schema import (
    Baseline,
    DataFindings,
    IdentificationFindings,
    IntruderFindings,
    Regression,
    Spread,
    SynthesizerFindings,
)
from understudy.summaries import number, percent, rhat_number
from understudy.verdict.thresholds import Thresholds

__all__ = [
    "Outcome",
    "Reason",
    "level_figure",
    "position_between",
    "reasons_about_data",
    "reasons_about_synthesizer",
    "risk_position",
    "small_pattern_share",
    "smallest_pattern",
    "table_ratios",
]

Outcome = Literal["pass", "review", "fail"]
NOT_CONVERGED = "convergence"
ERRORS = 2.0  # standard errors that chance is allowed before a measure fails
SO_FEW = (
    " So few of them cannot speak for the analysis: in the plan, have its levels compared with "
    'ones that many records have (reference = "largest"), or fit it to more records '
    '(train = "all").'
)


class Reason(BaseModel):
    """One thing that was judged.

    Attributes
    ----------
    subject : str
        What was judged, such as "expected match risk".
    outcome : {"pass", "review", "fail"}
        What this reason alone would lead to.
    words : str
        Why, with the numbers.
    found, limit : float or None
        What was found, and up to where (for overlaps and pattern sizes: from where) it passes;
        None where undefined.
    synthesizer : str or None
        Whom it is about; None for the data themselves and the limits.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, hide_input_in_errors=True
    )

    subject: str
    outcome: Outcome
    words: str
    found: float | None
    limit: float | None
    synthesizer: str | None = None


def table_ratios(one: SynthesizerFindings) -> list[tuple[int, float | None]]:
    """Order of tables, and their deviation over the noise floor.

    None where the floor is zero, which no deviation reaches but zero itself (then 1).
    """
    tables = one.utility.tables
    found: list[tuple[int, float | None]] = []
    for order, own, floor in zip(tables.orders, tables.deviation, tables.noise_floor, strict=True):
        mean = own.mean or 0.0
        found.append((order, mean / floor if floor > 0 else (1.0 if mean == 0 else None)))
    return found


def position_between(value: float | None, low: float | None, high: float | None) -> float | None:
    """Place of a figure between two levels: 0 at Min, 1 at Max; None where the levels coincide."""
    if value is None or low is None or high is None or high <= low:
        return None
    return (value - low) / (high - low)


def level_figure(level: Baseline, measure: str, joint: bool = False) -> float | None:
    """A level's figure: exact where there is a closed form, else the mean over repeats."""
    exact = None if joint else level.exact.get(measure)
    if exact is not None:
        return exact
    spread = (level.joint if joint else level.samples).get(measure)
    return None if spread is None else spread.mean


def risk_position(
    value: float | None, intruder: IntruderFindings, measure: str, joint: bool = False
) -> float | None:
    """Place of a risk between an intruder's levels; None where they differ by no more than chance.

    Levels of the intruder with all files are means over repeats; where all their repeats overlap, a
    place between them would be noise.
    """
    low = level_figure(intruder.minimum, measure, joint)
    high = level_figure(intruder.maximum, measure, joint)
    if joint and low is not None and high is not None:
        noise = max(
            _deviation(level.joint.get(measure)) or 0.0
            for level in (intruder.minimum, intruder.maximum)
        )
        if high - low < ERRORS * noise:
            return None
    return position_between(value, low, high)


def _graded(
    found: float | None, limits: Thresholds, name: str, error: float | None = None
) -> Outcome:
    """Grade a measure of which less is better; undefined goes to review."""
    if found is None:
        return "review"
    if found <= getattr(limits, f"{name}_pass"):
        return "pass"
    surely = found - ERRORS * (error or 0.0)
    return "review" if surely <= getattr(limits, f"{name}_review") else "fail"


def _deviation(spread: Spread | None) -> float | None:
    """Standard deviation over repeats; None with fewer than two."""
    if spread is None or spread.standard_error is None:
        return None
    return spread.standard_error * math.sqrt(sum(one is not None for one in spread.values))


def reasons_about_data(data: DataFindings, limits: Thresholds) -> list[Reason]:
    """Judge what holds for every synthesizer: the codebook and the kept variables."""
    reasons = []
    if limits.codebook_required:
        reasons.append(_codebook(data))
    if data.kept:
        reasons.append(_smallest_pattern(data, limits))
    return reasons


def _codebook(data: DataFindings) -> Reason:
    if not data.codebook_declared:
        outcome: Outcome = "fail"
        words = (
            "No codebook declares the levels, so the list of levels comes from the confidential "
            "file and says who is in it. Declare one before anything is released."
        )
    elif not data.codebook_reviewed:
        outcome = "review"
        words = "A codebook declares the levels, but it is not marked as reviewed."
    else:
        outcome, words = "pass", "A reviewed codebook declares the levels."
    return Reason(subject="codebook", outcome=outcome, words=words, found=None, limit=None)


def _smallest_pattern(data: DataFindings, limits: Thresholds) -> Reason:
    size, share = smallest_pattern(data), small_pattern_share(data, limits.smallest_pattern)
    said = f"The smallest combination of the kept variables is shared by {_people(size)}"
    if size >= limits.smallest_pattern:
        outcome: Outcome = "pass"
        words = f"{said}, and at least {limits.smallest_pattern:,} are asked for."
    else:
        outcome = "review" if share <= limits.small_pattern_share_review else "fail"
        words = (
            f"{said}, fewer than the {limits.smallest_pattern:,} asked for; {percent(share)} of "
            "all records lie in such small combinations. Their kept variables are released as "
            "they are: merge levels, or say why that may be."
        )
    return Reason(
        subject="smallest pattern",
        outcome=outcome,
        words=words,
        found=float(size),
        limit=float(limits.smallest_pattern),
    )


def _people(number: int) -> str:
    return "one record only" if number == 1 else f"{number:,} records"


def smallest_pattern(data: DataFindings) -> int:
    """Records in the smallest pattern."""
    sizes = [*data.pattern_sizes, *(one.records for one in data.patterns)]
    return min(sizes, default=0)


def small_pattern_share(data: DataFindings, fewest: int) -> float:
    """Share of the records that lie in patterns with fewer records than that."""
    counted = data.pattern_sizes
    listed = [one.records for one in data.patterns if one.records not in counted]
    small = [size * number for size, number in counted.items() if size < fewest]
    small += [size for size in listed if size < fewest]
    return sum(small) / data.n_records if data.n_records else 0.0


def reasons_about_synthesizer(
    one: SynthesizerFindings, intruders: Sequence[IntruderFindings], limits: Thresholds
) -> list[Reason]:
    """Judge one synthesizer's sets: convergence, risk for every intruder, utility."""
    say = _Speaker(one, limits)
    reasons = [say.convergence(), *say.alignment()]
    for place, found in enumerate(one.risk.identification):
        level = next((other for other in intruders if other.known == found.known), None)
        reasons += say.matches(place, level)
    reasons += say.attributes(intruders)
    reasons += [say.tables(), say.within()]
    reasons += say.overlaps()
    return reasons


WHAT = {
    "attribute_matches": "true labels",
    "expected_match_risk": "expected right matches",
}


class _Speaker:
    """Says what is to be said about one synthesizer."""

    def __init__(self, one: SynthesizerFindings, limits: Thresholds) -> None:
        self.one = one
        self.limits = limits

    def reason(
        self, subject: str, outcome: Outcome, words: str, found: float | None, limit: float | None
    ) -> Reason:
        return Reason(
            subject=subject,
            outcome=outcome,
            words=words,
            found=found,
            limit=limit,
            synthesizer=self.one.name,
        )

    def convergence(self) -> Reason:
        """Not converged is a failure whatever else was found."""
        found = self.one.convergence
        if found.converged:
            words = (
                f"The chains have converged: R-hat is at most {rhat_number(found.worst_rhat)} "
                f"(asked: below {number(found.rhat_target)}) and the least effective sample size "
                f"is {number(found.least_ess)} (asked: at least {number(found.ess_target)})."
                if found.worst_rhat is not None
                else "There is nothing that has to converge."
            )
            outcome: Outcome = "pass"
        else:
            outcome = "fail"
            words = (
                "The chains have NOT converged: no figure about these sets can be relied on. "
                f"{found.n_failed:,} of {found.n_judged:,} quantities miss a target (R-hat below "
                f"{number(found.rhat_target)}, effective sample size at least "
                f"{number(found.ess_target)}); the worst R-hat is "
                f"{rhat_number(found.worst_rhat)}, the least effective sample size "
                f"{number(found.least_ess)}. Run more draws, with at least two chains."
            )
        return self.reason(NOT_CONVERGED, outcome, words, found.worst_rhat, found.rhat_target)

    def alignment(self) -> list[Reason]:
        """Rows that are paired with records at random make every risk look small."""
        found = self.one.risk.identification
        if not found or "looks random" not in found[0].alignment:
            return []
        words = (
            "The rows look paired with the records at random, so that every risk looks smaller "
            f"than it is ({found[0].alignment}). Put the rows into the order of the records."
        )
        return [self.reason("alignment", "fail", words, None, None)]

    def matches(self, place: int, intruder: IntruderFindings | None) -> list[Reason]:
        """Expected match risk, of one file and of all, and the rate of true matches."""
        found = self.one.risk.identification[place]
        who = f"an intruder who knows {quoted_list(found.known)}"
        return [
            self.placed(
                "expected match risk",
                "match_risk",
                found.measures["expected_match_risk"],
                intruder,
                who,
            ),
            self.placed(
                "joint match risk",
                "joint_match_risk",
                found.joint.get("expected_match_risk"),
                intruder,
                who,
            ),
            self.true_matches(found, who),
        ]

    def true_matches(self, found: IdentificationFindings, who: str) -> Reason:
        """Share of the records that are a single and right match: an absolute limit."""
        rate = found.measures["true_match_rate"]
        passing = self.limits.true_match_rate_pass
        words = (
            f"For {who}, {percent(rate.mean)} of the records are a single and right match in one "
            f"file; up to {percent(passing)} passes."
        )
        outcome = _graded(rate.mean, self.limits, "true_match_rate", rate.standard_error)
        return self.reason("true match rate", outcome, words, rate.mean, passing)

    def attributes(self, intruders: Sequence[IntruderFindings]) -> list[Reason]:
        """Records with their true label, in one file and by vote over all."""
        found = self.one.risk.attribute
        if found is None:
            return []
        first = intruders[0] if intruders else None  # the label's levels are the same for all
        who = "an intruder who knows which row is whose"
        return [
            self.placed("attribute risk", "attribute_risk", found.matches, first, who),
            self.placed(
                "joint attribute risk", "joint_attribute_risk", found.joint_matches, first, who
            ),
        ]

    def placed(
        self,
        subject: str,
        name: str,
        found: Spread | float | None,
        intruder: IntruderFindings | None,
        who: str,
    ) -> Reason:
        """Judge a risk by its place between the levels of the same intruder.

        One figure of all files together has no spread of its own; it is given that of Max.
        """
        measure = "attribute_matches" if "attribute" in name else "expected_match_risk"
        joint = name.startswith("joint")
        low = high = error = None
        value = found.mean if isinstance(found, Spread) else found
        if intruder is not None:
            low = level_figure(intruder.minimum, measure, joint)
            high = level_figure(intruder.maximum, measure, joint)
            error = _deviation(intruder.maximum.joint.get(measure))
        if isinstance(found, Spread):
            error = found.standard_error
        place = None if intruder is None else risk_position(value, intruder, measure, joint)
        passing: float = getattr(self.limits, f"{name}_pass")
        said = (
            f"For {who}, {f'all {self.one.m} files give' if joint else 'one file gives'} "
            f"{number(value)} {WHAT[measure]}"
        )
        if place is None or low is None or high is None:
            words = (
                f"{said}. The reference levels Min ({number(low)}) and Max ({number(high)}) are "
                "too close together for a place between them"
            )
            return self.without_place(subject, words, value, high, error, passing)
        outcome = _graded(place, self.limits, name, (error or 0.0) / (high - low))
        words = (
            f"{said}: place {_place(place)} between Min ({number(low)}) and Max "
            f"({number(high)}); up to {_place(passing)} passes{_beyond(place, outcome)}."
        )
        return self.reason(subject, outcome, words, place, passing)

    def without_place(
        self,
        subject: str,
        words: str,
        value: float | None,
        high: float | None,
        error: float | None,
        passing: float,
    ) -> Reason:
        """Judge a risk whose levels coincide: it passes up to Max, and not a little above."""
        if value is None or high is None:
            return self.reason(subject, "review", f"{words}.", None, passing)
        outcome: Outcome
        if value <= high:
            outcome = "pass" if passing > 0 or value == 0 else "review"
            words = f"{words}, and it is not above Max."
        elif value <= high + ERRORS * (error or 0.0):
            outcome, words = (
                "review",
                f"{words}, and it is above Max, perhaps by chance.",
            )
        else:
            outcome, words = "fail", f"{words}, and it is above Max by more than chance."
        return self.reason(subject, outcome, words, None, passing)

    def tables(self) -> Reason:
        """The worst order of tables, over its noise floor."""
        ratios = table_ratios(self.one)
        passing = self.limits.table_deviation_pass
        undefined = any(ratio is None for _, ratio in ratios)
        order, worst = max(
            ((order, ratio) for order, ratio in ratios if ratio is not None),
            key=lambda pair: pair[1],
            default=(0, None),
        )
        outcome = _graded(worst, self.limits, "table_deviation")
        if undefined:
            outcome = "fail"
        words = (
            f"Tables deviate at most {number(worst)} times as far as those of a perfect "
            f"synthesizer ({order}-way tables); up to {number(passing)} times passes."
            if not undefined
            else "Tables deviate where those of a perfect synthesizer cannot."
        )
        return self.reason("table deviation", outcome, words, worst, passing)

    def within(self) -> Reason:
        """Distance within patterns beyond what chance explains."""
        found = self.one.utility.within
        excess = max(0.0, found.mean_distance - found.mean_floor)
        passing = self.limits.within_pattern_pass
        words = (
            f"In the average record's pattern {percent(found.mean_distance)} of the labels would "
            f"have to change to get the original's distribution back; chance alone makes "
            f"{percent(found.mean_floor)}. The excess of {percent(excess)} is "
            f"{'within' if excess <= passing else 'above'} the {percent(passing)} that "
            f"pass{'' if found.n_far else ', and no pattern is farther out than chance explains'}"
            f"{_far(found.n_far)}."
        )
        outcome = _graded(excess, self.limits, "within_pattern")
        return self.reason("within pattern", outcome, words, excess, passing)

    def overlaps(self) -> list[Reason]:
        """Interval overlap of every analysis, as a share of what perfect sets reach."""
        reasons = []
        for one in self.one.utility.regressions:
            own = one.mean_overlap if one.overlap_in_common is None else one.overlap_in_common
            share = own / one.overlap_floor if own is not None and one.overlap_floor else None
            passing = self.limits.overlap_pass
            if share is None:
                outcome: Outcome = "review"
                words = (
                    f"The analysis {quoted_list([one.formula])} has no interval overlap to judge: "
                    "intervals need at least two sets in which the model can be fitted."
                )
            else:
                few = 2 * _compared(one) < one.n_coefficients
                outcome = "pass" if share >= passing and not few else "review"
                if share < self.limits.overlap_review:
                    outcome = "fail"
                words = (
                    f"Intervals of {quoted_list([one.formula])} overlap the original's by "
                    f"{percent(own)} on average{_over(one)}, {percent(share)} of what perfect sets "
                    f"reach ({percent(one.overlap_floor)}); from {percent(passing)} on it passes."
                    f"{SO_FEW if few else ''}"
                )
            reasons.append(self.reason("interval overlap", outcome, words, share, passing))
        return reasons


def _compared(one: Regression) -> int:
    """Count the coefficients that both the sets and perfect sets have an interval for."""
    return one.n_coefficients if one.n_in_common is None else one.n_in_common


def _over(one: Regression) -> str:
    if _compared(one) == one.n_coefficients:
        return ""
    return (
        f", over the {_compared(one):,} of {one.n_coefficients:,} coefficients that perfect sets "
        "have an interval for too"
    )


def _place(place: float) -> str:
    return f"{round(place, 2) + 0.0:.2f}".replace("-", "−")


def _far(number: int) -> str:
    if not number:
        return ""
    return f"; {number:,} {'patterns are' if number > 1 else 'pattern is'} farther out than chance"


def _beyond(place: float, outcome: Outcome) -> str:
    if outcome == "pass":
        return ""
    if outcome == "fail":
        return ", and this is above the limit by more than chance explains"
    if place > 1:
        return ", and this is at Max, as far as chance lets one tell"
    return ", and this is more"
