"""The section on what intruders learn: matches, guesses, all files together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

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
    rate_cell,
    topic,
)
from understudy.pages.plots.canvas import SeriesStyle
from understudy.pages.plots.interval_strips import StripRow, interval_svg
from understudy.pages.sections.own_record_section import FOUR
from understudy.pages.sections.section_words import (
    identified,
    known_words,
    styled,
    titles,
)
from understudy.summaries import counted, number, one_in, percent_exact, shown
from understudy.verdict.grading import baseline_value

__all__ = ["identification_section"]


@dataclass(frozen=True)
class Measure:
    """A measure of matches: its title, its axis, and how its values are written."""

    title: str
    axis: str
    written: Callable[[float], str] | None = None


MEASURES = {
    "expected_match_risk": Measure("Expected match risk", "people matched rightly, in one file"),
    "true_match_rate": Measure("True match rate", "records with a single, right match", one_in),
    "false_match_rate": Measure("False match rate", "unique matches that are wrong", percent_exact),
    "unique_matches": Measure("Unique matches", "records with a single match, in one file"),
}
RATE = "true_match_rate"
TRUE_LABELS = "Records whose synthetic label is true"
READING = (
    "Lines reach from the smallest to the largest set (of a baseline: repeat); dots are means. "
    "Min and Max are baselines of the confidential data, not bounds: Min draws all labels alike, "
    "Max draws from the pattern's own distribution. Near Max, the risk is close to that of the "
    "exact table."
)


def identification_section(findings: Findings) -> Section:
    """Show whether an intruder can find somebody's row, or learn somebody's label."""
    blocks: list[Block] = []
    for index, intruder in enumerate(findings.intruders):
        blocks += topic(
            title=f"Matches by an intruder who knows {known_words(intruder.known)} and the label",
            reading="As above." if index else READING,
            figures=_strips(findings, index, intruder),
            tables=[_matches(findings, intruder)],
        )
    blocks += [*_labels(findings), *_joint(findings), *_by_knowledge(findings)]
    blocks += _in_the_population(findings)
    nothing = [Paragraph("No intruder was measured: no row of these sets stands for a person.")]
    return Section(
        "identification", "Matches and guesses", blocks or nothing, short="Matches and guesses"
    )


def _in_the_population(findings: Findings) -> list[Block]:
    """Say how many people are alone outside of the file, where the data have survey weights."""
    everything = findings.data.population
    if everything is None:
        return []
    by_known = {findings.data.kept: everything} | {
        intruder.known: intruder.population
        for intruder in findings.intruders
        if intruder.population is not None
    }
    rows = [
        (
            name_cell(known_words(known)),
            number_cell(population.sample_uniques),
            number_cell(population.population_uniques),
            number_cell(population.expected_matches),
        )
        for known, population in by_known.items()
    ]
    return topic(
        title=f"In the population of {number(everything.people)} that the survey weights stand for",
        reading="Records that are alone with what is known, how many of them are alone in the "
        "population, too, and how many people are found if every record is linked with somebody "
        f"of the population, of {findings.data.n_records:,}. People of a pattern given its records "
        "are taken as negative binomial.",
        tables=[Table("", ("known", "alone in the file", "and in the population", "found"), rows)],
    )


def _strips(findings: Findings, index: int, intruder: IntruderFindings) -> list[str | None]:
    drawn = []
    for name, measure in MEASURES.items():
        series = [
            (style, risk.measures[name])
            for synthesizer, style in styled(findings)
            if (risk := identified(synthesizer, intruder)) and name in risk.measures
        ]
        rows = _strip_rows(intruder, name, series)
        key = f"strips-{index}-{name.replace('_', '-')}"
        drawn.append(interval_svg(measure.title, measure.axis, rows, measure.written, key))
    return drawn


def _strip_rows(
    intruder: IntruderFindings, name: str, series: Sequence[tuple[SeriesStyle, SpreadFindings]]
) -> list[StripRow]:
    """Min, every synthesizer, Max; whoever has no value is left out."""
    named = [
        ("Min", "min", intruder.minimum.samples.get(name)),
        *((style.title, style.variable, spread) for style, spread in series),
        ("Max", "max", intruder.maximum.samples.get(name)),
    ]
    return [
        StripRow(words, colour, spread.mean, spread.minimum, spread.maximum)
        for words, colour, spread in named
        if spread is not None
        and spread.mean is not None
        and spread.minimum is not None
        and spread.maximum is not None
    ]


def _by_knowledge(findings: Findings) -> list[Block]:
    """Expected match risk for every set of variables that an intruder might know."""
    measured = [
        synthesizer for synthesizer in findings.synthesizers if synthesizer.risk.by_knowledge
    ]
    if not measured:
        return []
    rows = [
        [
            name_cell(known, 60),
            *(number_cell(synthesizer.risk.by_knowledge.get(known)) for synthesizer in measured),
        ]
        for known in measured[0].risk.by_knowledge
    ]
    table = Table(
        "Expected match risk, whatever an intruder knows",
        ["Known besides the true label", *(shown(synthesizer.title) for synthesizer in measured)],
        rows,
        folded=True,
        note="What an intruder knows is an assumption: every set of kept variables, the most "
        "dangerous first.",
    )
    return [table]


def _matches(findings: Findings, intruder: IntruderFindings) -> Table:
    risks = [identified(synthesizer, intruder) for synthesizer in findings.synthesizers]
    rows: list[list[Cell | str]] = [
        [
            measure.title,
            _baseline(intruder.minimum, name),
            *(_spread(risk.measures.get(name) if risk else None, name) for risk in risks),
            _baseline(intruder.maximum, name),
        ]
        for name, measure in MEASURES.items()
    ]
    linked = [number_cell(risk.random_linkage if risk else None) for risk in risks]
    rows.append(["Rows paired at random: match risk", "", *linked, ""])
    return Table(
        f"Matches, known: {known_words(intruder.known)}; mean over sets",
        ["Measure", "Min", *titles(findings), "Max"],
        rows,
        folded=True,
        note="Baselines are exact where a closed form exists, otherwise means over repeats. Rows "
        "paired at random give a match risk of at most 1, whatever the data. The false match rate "
        "is a mean over the sets that have a unique match; a number in brackets says how many.",
    )


def _baseline(baseline: Baseline, measure: str) -> Cell:
    value = baseline_value(baseline, measure)
    if measure == RATE:
        return rate_cell(value, missing="undefined")
    return number_cell(value, missing="undefined")


def _spread(spread: SpreadFindings | None, measure: str) -> Cell:
    if spread is None:
        return number_cell(None)
    cell = number_cell(spread.mean, spread.standard_error, missing="undefined")
    if measure == RATE:
        cell = rate_cell(spread.mean, missing="undefined")
    defined = sum(value is not None for value in spread.values)
    if not 0 < defined < len(spread.values):
        return cell
    return replace(cell, text=f"{cell.text} ({defined} of {len(spread.values)} sets)")


def _labels(findings: Findings) -> list[Block]:
    """Show how often the row's label is the person's own."""
    judged = [
        (synthesizer, style, synthesizer.risk.attribute)
        for synthesizer, style in styled(findings)
        if synthesizer.risk.attribute is not None
    ]
    if not judged or not findings.intruders:
        return []
    first, measure = findings.intruders[0], "attribute_matches"
    series = [(style, risk.matches) for _, style, risk in judged]
    rows: list[Sequence[Cell | str]] = [["Min", _baseline(first.minimum, measure), "", "", ""]]
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
    rows.append(["Max", _baseline(first.maximum, measure), "", "", ""])
    guess = judged[0][2].most_frequent_label
    return topic(
        title="Guesses: believe the label of the person's row",
        reading=f"How many of {counted(findings.data.n_records, 'label')} are guessed right. "
        "Guessing the most frequent true label of every pattern, without any row, gets "
        f"{guess:,.0f} right.",
        figures=[
            interval_svg(
                "Right labels",
                "records, in one file",
                _strip_rows(first, measure, series),
                None,
                "strips-attribute",
            )
        ],
        tables=[
            Table(
                TRUE_LABELS,
                ["Who", "Mean", "Smallest", "Largest", "Share of records"],
                rows,
                folded=True,
            )
        ],
    )


def _joint(findings: Findings) -> list[Block]:
    """Show what an intruder learns who holds all files at once."""
    if not findings.intruders or not any(
        synthesizer.risk.attribute for synthesizer in findings.synthesizers
    ):
        return []
    table = Table(
        "One file, and all files together",
        ["Attack", "Synthesizer", "One file", "All files", *FOUR],
        _joint_rows(findings),
        text_columns=(0, 1),
        folded=True,
        note="The files are released together, so an intruder may average over them. Baselines: "
        "the same attack on as many files, with labels drawn from "
        + "; ".join(f"{words} ({name})" for name, words in FOUR.items())
        + ".",
    )
    return [table]


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
