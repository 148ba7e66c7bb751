"""Sections on what intruders learn: identification, attributes, all files together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from understudy.findings.schema import (
    Baseline,
    Findings,
    IntruderFindings,
    SpreadFindings,
    SynthesizerFindings,
)
from understudy.pages.blocks import (
    Block,
    Cell,
    Paragraph,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
    topic,
)
from understudy.pages.plots.risk_plots import baseline_svg
from understudy.pages.sections.own_record_section import FOUR
from understudy.pages.sections.section_words import (
    BASELINES,
    identified,
    known_words,
    styled,
    titles,
)
from understudy.summaries import shown
from understudy.verdict.grading import baseline_value

__all__ = ["attribute_section", "identification_section", "joint_section"]

MEASURES = {
    "expected_match_risk": "Expected match risk",
    "true_match_rate": "True match rate",
    "false_match_rate": "False match rate",
    "unique_matches": "Unique matches",
}
TRUE_LABELS = "Records whose synthetic label is true"
READING = (
    "Each histogram shows a baseline, Min or Max, over repeated draws. The lines are the smallest, "
    "mean and largest value over a synthesizer's sets. Lines close to Max mean a risk close to "
    "that of the exact table. For the false match rate, Max is the lower baseline."
)


def identification_section(findings: Findings) -> Section:
    """Show whether an intruder can find somebody's row."""
    blocks: list[Block] = [
        Paragraph(
            "An intruder knows some kept variables of a person and the person's true label, and "
            f"looks for the row. {BASELINES}"
        )
    ]
    for index, intruder in enumerate(findings.intruders):
        blocks += topic(
            title=f"Known: {known_words(intruder.known)} and the true label",
            reading="As above." if index else READING,
            figures=_histograms(findings, index, intruder),
            tables=[_matches(findings, intruder)],
        )
    return Section("identification", "Identification risk", blocks + _by_knowledge(findings))


def _histograms(findings: Findings, index: int, intruder: IntruderFindings) -> list[str | None]:
    drawn = []
    for measure, words in MEASURES.items():
        series = [
            (style, risk.measures[measure])
            for synthesizer, style in styled(findings)
            if (risk := identified(synthesizer, intruder)) and measure in risk.measures
        ]
        low, high = (each.samples.get(measure) for each in (intruder.minimum, intruder.maximum))
        name = f"baselines-{index}-{measure.replace('_', '-')}"
        drawn.append(baseline_svg(words, low, high, series, name))
    return drawn


def _by_knowledge(findings: Findings) -> list[Block]:
    """Expected match risk for every set of variables that an intruder might know."""
    measured = [each for each in findings.synthesizers if each.risk.by_knowledge]
    if not measured:
        return []
    rows = [
        [
            name_cell(known, 60),
            *(number_cell(each.risk.by_knowledge.get(known)) for each in measured),
        ]
        for known in measured[0].risk.by_knowledge
    ]
    table = Table(
        "Expected match risk by knowledge",
        ["Known besides the true label", *(shown(each.title) for each in measured)],
        rows,
        folded=len(rows) > 12,
    )
    return topic(
        title="Whatever an intruder may know",
        reading="The expected match risk for every set of kept variables, the most dangerous "
        "first. What an intruder knows is an assumption; the table shows what each would give.",
        tables=[table],
    )


def _matches(findings: Findings, intruder: IntruderFindings) -> Table:
    found = [identified(synthesizer, intruder) for synthesizer in findings.synthesizers]
    rows: list[list[Cell | str]] = [
        [
            words,
            _baseline(intruder.minimum, measure),
            *(_spread(risk.measures.get(measure) if risk else None) for risk in found),
            _baseline(intruder.maximum, measure),
        ]
        for measure, words in MEASURES.items()
    ]
    linked = [number_cell(risk.random_linkage if risk else None) for risk in found]
    rows.append(["Rows paired at random", "", *linked, ""])
    return Table(
        "Identification: mean over sets",
        ["Measure", "Min", *titles(findings), "Max"],
        rows,
        note="Baselines are exact where a closed form exists, otherwise means over repeats. With "
        "rows paired at random, the expected match risk is at most 1 for any data. The false match "
        "rate is a mean over the sets that have a unique match; their number is given where not "
        "all sets have one.",
    )


def _baseline(baseline: Baseline, measure: str) -> Cell:
    return number_cell(baseline_value(baseline, measure), missing="undefined")


def _spread(spread: SpreadFindings | None) -> Cell:
    if spread is None:
        return number_cell(None)
    cell = number_cell(spread.mean, spread.standard_error, missing="undefined")
    defined = sum(value is not None for value in spread.values)
    if not 0 < defined < len(spread.values):
        return cell
    return replace(cell, text=f"{cell.text} ({defined} of {len(spread.values)} sets)")


def attribute_section(findings: Findings) -> Section | None:
    """Show whether an intruder can learn somebody's label."""
    judged = [
        (synthesizer, style, synthesizer.risk.attribute)
        for synthesizer, style in styled(findings)
        if synthesizer.risk.attribute is not None
    ]
    if not judged or not findings.intruders:
        return None
    measure = "attribute_matches"
    low, high = findings.intruders[0].minimum, findings.intruders[0].maximum
    rows: list[Sequence[Cell | str]] = [["Min", _baseline(low, measure), "", "", ""]]
    rows += [
        [
            synthesizer.title,
            number_cell(risk.matches.mean, risk.matches.standard_error),
            number_cell(risk.matches.minimum),
            number_cell(risk.matches.maximum),
            percent_cell((risk.matches.mean or 0.0) / findings.data.n_records),
        ]
        for synthesizer, _, risk in judged
    ]
    rows.append(["Max", _baseline(high, measure), "", "", ""])
    drawn = baseline_svg(
        TRUE_LABELS,
        low.samples.get(measure),
        high.samples.get(measure),
        [(style, risk.matches) for _, style, risk in judged],
        "baselines-attribute",
    )
    guess = judged[0][2].most_frequent_label
    table = Table(
        TRUE_LABELS,
        ["Who", "Mean", "Smallest", "Largest", "Share of records"],
        rows,
        note="Guessing the most frequent true label of every pattern would be right for "
        f"{guess:,.0f} records, without any row.",
    )
    lead = Paragraph(
        "An intruder knows which row is a person's and takes its synthetic label for the true one."
    )
    return Section(
        "attribute",
        "Attribute risk",
        [
            lead,
            *topic(
                "The value is the number of records whose synthetic label is the true one. "
                "Histograms and lines as above.",
                figures=[drawn],
                tables=[table],
            ),
        ],
    )


def joint_section(findings: Findings) -> Section | None:
    """Show what an intruder learns who holds all files at once."""
    if not findings.intruders or not any(each.risk.attribute for each in findings.synthesizers):
        return None
    table = Table(
        "Joint risk",
        ["Attack", "Synthesizer", "One file", "All files", *FOUR],
        _joint_rows(findings),
        text_columns=(0, 1),
        note="Baselines: the same attack on as many files, with labels drawn from "
        + "; ".join(f"{words} ({name})" for name, words in FOUR.items())
        + ".",
    )
    lead = Paragraph(
        "The m files are released together and their rows belong together, so an intruder may "
        "average over them."
    )
    return Section(
        "joint",
        "All files together",
        [
            lead,
            *topic(
                "Compare the value for all files with the baselines, which are for all files too. "
                "A value for all files far above that for one file means that every further file "
                "reveals more about the same people.",
                tables=[table],
            ),
        ],
    )


def _joint_rows(findings: Findings) -> list[list[Cell | str]]:
    rows = []
    for intruder in findings.intruders:
        attack = f"Match, known: {known_words(intruder.known)}"
        for synthesizer in findings.synthesizers:
            risk = identified(synthesizer, intruder)
            if risk is not None:
                values = (
                    risk.measures["expected_match_risk"].mean,
                    risk.joint.get("expected_match_risk"),
                )
                rows.append(_joint_row(attack, synthesizer, values, intruder))
    for synthesizer in findings.synthesizers:
        attribute = synthesizer.risk.attribute
        if attribute is not None:
            values = attribute.matches.mean, attribute.joint_matches
            rows.append(
                _joint_row(
                    "Label, by vote",
                    synthesizer,
                    values,
                    findings.intruders[0],
                    "attribute_matches",
                )
            )
    return rows


def _joint_row(
    attack: str,
    synthesizer: SynthesizerFindings,
    values: tuple[float | None, float | None],  # one file, all files
    intruder: IntruderFindings,
    measure: str = "expected_match_risk",
) -> list[Cell | str]:
    baselines = [intruder.baselines.get(name) for name in FOUR]
    return [
        attack,
        synthesizer.title,
        *(number_cell(value) for value in values),
        *(
            number_cell(None if baseline is None else baseline_value(baseline, measure, joint=True))
            for baseline in baselines
        ),
    ]
