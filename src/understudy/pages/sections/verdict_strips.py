"""The two strips under the verdict, one for risk and one for utility, of one synthesizer's sets."""

from __future__ import annotations

from understudy.findings.schema import Findings, SynthesizerFindings
from understudy.pages.blocks import Figure, Figures, Paragraph
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.strips import Strip, strip_svg
from understudy.pages.sections.first_screen import ranked_synthesizers
from understudy.pages.sections.section_words import attacker_words, styled
from understudy.summaries import number
from understudy.verdict.grading import table_ratios
from understudy.verdict.risk_reasons import judged_attack
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import Verdict

__all__ = ["strips"]

NOT_MEASURED = "No risk was measured about these sets."


def strips(findings: Findings, verdict: Verdict) -> list[Figures | Paragraph]:
    """Draw the worst risk and the worst tables of the recommended synthesizer.

    Where none is recommended, of the one that comes nearest.
    """
    ranked = ranked_synthesizers(findings, verdict)
    if not ranked:
        return []
    synthesizer = ranked[0]
    (style,) = [own for judged, own in styled(findings) if judged.name == synthesizer.name]
    risk = _risk(synthesizer, style, verdict.thresholds)
    utility = _utility(synthesizer, style, verdict.thresholds)
    drawn = [figure for figure in (risk, utility) if figure is not None]
    shown: list[Figures | Paragraph] = [Figures(drawn)] if drawn else []
    return shown if risk is not None else [*shown, Paragraph(NOT_MEASURED, "remark")]


def _risk(
    synthesizer: SynthesizerFindings, style: SeriesStyle, limits: Thresholds
) -> Figure | None:
    own_record = synthesizer.risk.own_record
    if own_record is None or not own_record.attacks:
        return None
    attack = judged_attack(own_record, limits)
    strip = Strip(
        f"Risk: {style.title}, worst attack",
        "own-record effect (1 = the exact table)",
        attack.position,
        attack.position_error,
        limits.own_record_pass,
        limits.own_record_review,
    )
    caption = f"{attack.sentence(own_record.n_records)}. {attacker_words(attack)}."
    return Figure(strip_svg(strip, style, "strip-risk"), caption)


def _utility(
    synthesizer: SynthesizerFindings, style: SeriesStyle, limits: Thresholds
) -> Figure | None:
    tables = synthesizer.utility.tables
    ratios = [(ratio, order) for order, ratio in table_ratios(synthesizer) if ratio is not None]
    if not ratios:
        return None
    ratio, order = max(ratios)
    index = tables.orders.index(order)
    error, floor = tables.deviation[index].standard_error, tables.truth_floor[index]
    strip = Strip(
        f"Utility: {style.title}, worst tables",
        "deviation over the truth floor (1 = population known)",
        ratio,
        error / floor if error and floor else None,
        limits.table_deviation_pass,
        limits.table_deviation_review,
    )
    caption = (
        f"{order}-way tables deviate {number(ratio, 0.1)} times as far as those of a synthesizer "
        "that knew the population."
    )
    return Figure(strip_svg(strip, style, "strip-utility"), caption)
