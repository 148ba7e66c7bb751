"""The report: findings and a verdict in, one self-contained HTML text out.

What comes from the data (names, levels, formulas, titles) passes `understudy.summaries.shown` and
the template's escaping. Same findings, same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from understudy.findings.frontier_schema import FrontierFindings
from understudy.findings.schema import (
    Findings,
    IntruderFindings,
    SpreadFindings,
    SynthesizerFindings,
)
from understudy.pages.blocks import LAST, Cell, Section, Table, number_cell, percent_cell
from understudy.pages.html import page_script, render
from understudy.pages.sections.convergence import convergence_section, settings_section
from understudy.pages.sections.first_screen import (
    action_words,
    decision_words,
    grouped_reasons,
    ranked_synthesizers,
)
from understudy.pages.sections.frontier_section import frontier_section
from understudy.pages.sections.own_record_section import own_record_section
from understudy.pages.sections.risk_section import identification_section
from understudy.pages.sections.risk_utility_map import map_section
from understudy.pages.sections.riskiest_people import riskiest_section
from understudy.pages.sections.section_words import (
    identified,
    known_words,
    titles,
)
from understudy.pages.sections.utility_section import (
    judged_overlap,
    regression_section,
    tables_section,
)
from understudy.pages.sections.verdict_strips import strips
from understudy.pages.sections.within_pattern_section import within_section
from understudy.summaries import counted, position_text, shown
from understudy.verdict.grading import baseline_value, table_ratios
from understudy.verdict.verdict import Verdict

__all__ = ["page"]

WORDS = {"pass": "Pass", "review": "Review", "fail": "Do not release"}
TEN = 10.0  # three digits of the largest value, where no error says more
MATCH, LABELS = "expected_match_risk", "attribute_matches"


def page(findings: Findings, verdict: Verdict, frontier: FrontierFindings | None = None) -> str:
    """Write the report, a whole HTML page, with the data's last frontier. Confidential."""
    ranked = tuple(ranked_synthesizers(findings, verdict))
    findings = findings.model_copy(update={"synthesizers": ranked})
    groups = grouped_reasons(findings, verdict)
    return render(
        "report.html",
        title=shown(findings.title),
        about=_about(findings),
        verdict=verdict,
        verdict_word=WORDS[verdict.outcome],
        decision=decision_words(groups, verdict),
        action=action_words(findings, verdict),
        strips=strips(findings, verdict),
        groups=groups,
        sections=_sections(findings, verdict, frontier),
        script=page_script(),
    )


def _sections(
    findings: Findings, verdict: Verdict, frontier: FrontierFindings | None
) -> list[Section]:
    sections: Sequence[Section | None] = [
        tables_section(findings),
        within_section(findings, verdict.thresholds.smallest_pattern),
        regression_section(findings),
        own_record_section(findings, verdict.thresholds),
        map_section(findings, verdict.thresholds, _overview(findings, verdict)),
        frontier_section(findings, frontier, verdict.thresholds),
        identification_section(findings) if findings.intruders else None,
        riskiest_section(findings),
        convergence_section(findings),
        settings_section(findings, verdict.thresholds),
    ]
    return [section for section in sections if section is not None]


def _about(findings: Findings) -> str:
    data, every = findings.data, findings.synthesizers
    *others, last = [shown(name) for name in data.synthesized] or ["nothing"]
    drawn = f"{', '.join(others)} and {last}" if others else last
    patterns = counted(data.n_patterns or len(data.patterns), "pattern")
    kept = f"{known_words(data.kept)} kept ({patterns})" if data.kept else "nothing kept"
    sets = " or ".join(map(str, sorted({synthesizer.m for synthesizer in every}))) or "no"
    origin = "" if len(every) < 2 else f" from each of {len(every)} synthesizers"
    return (
        f"{counted(data.n_records, 'record')}; {drawn} synthesized "
        f"({counted(data.n_labels, 'label')}), {kept}; "
        f"{'1 synthetic set' if sets == '1' else f'{sets} synthetic sets'}{origin}."
        f"{_missing_words(findings)}"
    )


def _missing_words(findings: Findings) -> str:
    """Say what was done with missing values; nothing where there are none."""
    data, words = findings.data, ""
    if data.n_dropped:
        words += f" {counted(data.n_dropped, 'record')} with missing values left out."
    if data.missing_levels:
        words += f" Missing is a level of its own in {_counts(data.missing_levels)}."
    if data.holes:
        imputed = next(
            (
                synthesizer.imputations
                for synthesizer in findings.synthesizers
                if synthesizer.imputations
            ),
            0,
        )
        words += f" Missing values are modelled in {_counts(data.holes)}; in the files "
        words += f"they are imputed, {imputed} times" if imputed else "those of kept variables stay"
        words += ", and every record has a label."
    return words


def _counts(records: Mapping[str, int]) -> str:
    return ", ".join(f"{shown(name)} ({number:,})" for name, number in records.items())


def _overview(findings: Findings, verdict: Verdict) -> Table:
    """The study in one table: Min, every synthesizer, Max."""
    every = findings.synthesizers
    outcomes = [verdict.synthesizers[synthesizer.name].outcome for synthesizer in every]
    rows: list[list[Cell | str]] = [
        ["Outcome", "", *(Cell(outcome, tone=outcome) for outcome in outcomes), ""],
        *_position_rows(every),
        *_utility_rows(every),
    ]
    for intruder in findings.intruders:
        known = known_words(intruder.known)
        risks = [identified(synthesizer, intruder) for synthesizer in every]
        alone = [risk.measures[MATCH] if risk else None for risk in risks]
        joint = [risk.joint.get(MATCH) if risk else None for risk in risks]
        rows.append(_risk_row(f"Match risk of one file, known: {known}", intruder, MATCH, alone))
        words = f"Match risk of all files together, known: {known}"
        rows.append(_risk_row(words, intruder, MATCH, joint, joint=True))
    if findings.intruders:
        first = findings.intruders[0]  # the label's baselines are the same for all
        attribute = [synthesizer.risk.attribute for synthesizer in every]
        matches = [risk.matches if risk else None for risk in attribute]
        votes = [risk.joint_matches if risk else None for risk in attribute]
        words = "Right labels in one file"
        rows.append(_risk_row(words, first, LABELS, matches))
        rows.append(
            _risk_row("Right labels by vote over all files", first, LABELS, votes, joint=True)
        )
    return Table(
        "The study in one table",
        ["Measure", "Min", *titles(findings), "Max"],
        rows,
        note="Min and Max are baselines of the confidential data, not bounds. A synthesizer that "
        "knew the population would reach a ratio of 1; Max resamples the data and lies below.",
    )


def _position_rows(every: Sequence[SynthesizerFindings]) -> list[list[Cell | str]]:
    """Positions of the worst attacks: 0 where labels are drawn alike, 1 for the exact table."""
    rows: list[list[Cell | str]] = []
    for setting in ("worst case", "as released"):
        worst = [
            own.worst(setting) if (own := synthesizer.risk.own_record) else None
            for synthesizer in every
        ]
        if any(worst):
            cells = [
                Cell("–", sort=LAST)
                if attack is None
                else Cell(position_text(attack.position), sort=attack.position)
                for attack in worst
            ]
            rows.append([f"Own-record position of the worst attack, {setting}", "0", *cells, "1"])
    return rows


def _utility_rows(every: Sequence[SynthesizerFindings]) -> list[list[Cell | str]]:
    ratios = [dict(table_ratios(synthesizer)) for synthesizer in every]
    rows: list[list[Cell | str]] = [
        [
            f"Deviation of {order}-way tables, ratio to truth floor",
            "",
            *(number_cell(own.get(order), 0.1) for own in ratios),
            number_cell(_max_ratio(every, order), 0.1),
        ]
        for order in sorted({order for own in ratios for order in own})
    ]
    regressions = [synthesizer.utility.regressions for synthesizer in every]
    if any(regressions):
        overlaps = [_first(list(map(judged_overlap, own))) for own in regressions]
        floor = _first([regression.overlap_floor for own in regressions for regression in own])
        rows.append(["Interval overlap of the regression", "", *overlaps, floor])
    return rows


def _max_ratio(every: Sequence[SynthesizerFindings], order: int) -> float | None:
    """Table deviation of Max, the resampled floor, over the truth floor."""
    for synthesizer in every:
        tables = synthesizer.utility.tables
        if order in tables.orders:
            index = tables.orders.index(order)
            floor = tables.truth_floor[index]
            return tables.noise_floor[index] / floor if floor > 0 else None
    return None


def _first(shares: Sequence[float | None]) -> Cell:
    return percent_cell(next((share for share in shares if share is not None), None))


def _risk_row(
    words: str,
    intruder: IntruderFindings,
    measure: str,
    risks: Sequence[SpreadFindings | float | None],
    joint: bool = False,
) -> list[Cell | str]:
    """One risk between its baselines, all with as many digits."""
    errors = [risk.standard_error for risk in risks if isinstance(risk, SpreadFindings)]
    values = [
        baseline_value(intruder.minimum, measure, joint),
        *(risk.mean if isinstance(risk, SpreadFindings) else risk for risk in risks),
        baseline_value(intruder.maximum, measure, joint),
    ]
    known = [abs(value) for value in values if value is not None]
    error = min((error for error in errors if error), default=max(known, default=0.0) / TEN)
    return [words, *(number_cell(value, error or None) for value in values)]
