"""Chapters on what intruders learn: identification, attributes, all files, who bears it."""

from __future__ import annotations

from dataclasses import replace

from understudy.findings.schema import (
    Baseline,
    Findings,
    IdentificationFindings,
    IntruderFindings,
    Spread,
    SynthesizerFindings,
)
from understudy.pages.blocks import (
    Block,
    Cell,
    Column,
    Figure,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
    text_cell,
)
from understudy.pages.plots.canvas import series_styles
from understudy.pages.plots.positions import risk_positions
from understudy.pages.plots.risk_plots import level_svg, positions_svg
from understudy.pages.sections.utility_section import unconverged
from understudy.summaries import shown
from understudy.verdict.grading import level_figure, risk_position
from understudy.verdict.thresholds import Thresholds

__all__ = ["attribute_section", "identification_section", "identified", "joint_section"]

MEASURES = {
    "expected_match_risk": "Expected match risk",
    "true_match_rate": "True match rate",
    "false_match_rate": "False match rate",
    "unique_matches": "Unique matches",
}
UNDEFINED = "undefined"
LEVELS = (
    "Min and Max are reference levels of the confidential data, not bounds: Min draws labels from "
    "all labels alike, Max from the pattern's own distribution."
)


def identification_section(findings: Findings) -> Section:
    """Show whether an intruder can find somebody's row."""
    return Section(
        key="identification",
        title="Identification risk",
        lead="An intruder knows some kept variables of a person and the person's true label, and "
        f"looks for the row. {LEVELS}",
        blocks=[
            Block(
                title=f"Known: {', '.join(map(shown, one.known))} and the true label",
                reading="As above."
                if place
                else "Each histogram shows what the confidential data themselves would give "
                "away at the level Min or Max, over repeated draws; the lines are the least, mean "
                "and largest figure over a synthesizer's sets. Lines close to Max mean a risk "
                "close to that of the exact table; for the false match rate Max is the lower "
                "level.",
                figures=_level_figures(findings, place),
                tables=[_matches(findings, place)],
                affected=unconverged(findings),
            )
            for place, one in enumerate(findings.intruders)
        ]
        + _lattice(findings),
    )


def _level_figures(findings: Findings, place: int) -> list[Figure]:
    intruder = findings.intruders[place]
    styles = series_styles(findings)
    drawn = []
    for measure, words in MEASURES.items():
        found = []
        for one, look in zip(findings.synthesizers, styles, strict=True):
            own = identified(one, intruder)
            if own is not None and measure in own.measures:
                found.append((look, own.measures[measure]))
        drawn.append(
            level_svg(
                words,
                intruder.minimum.samples.get(measure),
                intruder.maximum.samples.get(measure),
                found,
                f"levels-{place}-{measure.replace('_', '-')}",
            )
        )
    return [Figure(svg) for svg in drawn if svg is not None]


def _lattice(findings: Findings) -> list[Block]:
    """Expected match risk for everything that an intruder might know."""
    measured = [one for one in findings.synthesizers if one.risk.by_knowledge]
    if not measured:
        return []
    names = list(measured[0].risk.by_knowledge)
    rows = [
        [
            name_cell(name, 60),
            *(number_cell(one.risk.by_knowledge.get(name)) for one in measured),
        ]
        for name in names
    ]
    return [
        Block(
            title="Whatever an intruder may know",
            reading="The expected match risk for every set of kept variables, the most dangerous "
            "first: which knowledge an intruder has is an assumption, and this is what each would "
            "be worth.",
            tables=[
                Table(
                    "Expected match risk by knowledge",
                    [
                        Column("Known besides the true label", numeric=False),
                        *(Column(shown(one.title)) for one in measured),
                    ],
                    rows,
                    folded=len(rows) > 12,
                )
            ],
            affected=unconverged(findings),
        )
    ]


def _matches(findings: Findings, place: int) -> Table:
    intruder = findings.intruders[place]
    columns = [Column("Measure", numeric=False), Column("Min")]
    columns += [Column(shown(one.title)) for one in findings.synthesizers]
    columns += [Column("Max")]
    rows = []
    for name, words in MEASURES.items():
        row = [text_cell(words), _level(intruder.minimum, name)]
        for one in findings.synthesizers:
            found = identified(one, intruder)
            row.append(_spread(None if found is None else found.measures.get(name)))
        rows.append([*row, _level(intruder.maximum, name)])
    linked = [text_cell("Rows paired at random"), Cell("")]
    for one in findings.synthesizers:
        found = identified(one, intruder)
        linked.append(number_cell(None if found is None else found.random_linkage))
    rows.append([*linked, Cell("")])
    return Table(
        "Identification: mean over sets",
        columns,
        rows,
        note="Levels are exact where a closed form exists, else means over repeats. Paired at "
        "random, the expected match risk is at most 1 whatever the data. The false match rate is a "
        "mean over the sets that have a unique match; if not all have one, their number is told.",
    )


def identified(
    one: SynthesizerFindings, intruder: IntruderFindings
) -> IdentificationFindings | None:
    """What this intruder learns from one synthesizer's sets."""
    return next((two for two in one.risk.identification if two.known == intruder.known), None)


def _level(level: Baseline, measure: str, joint: bool = False) -> Cell:
    return number_cell(level_figure(level, measure, joint), missing=UNDEFINED)


def _spread(spread: Spread | None) -> Cell:
    if spread is None:
        return Cell("–", sort=float("-inf"))
    cell = number_cell(spread.mean, spread.standard_error, missing=UNDEFINED)
    defined = sum(value is not None for value in spread.values)
    if not 0 < defined < len(spread.values):
        return cell
    return replace(cell, text=f"{cell.text} ({defined} of {len(spread.values)} sets)")


def attribute_section(findings: Findings) -> Section | None:
    """Show whether an intruder can learn somebody's label."""
    judged = [one for one in findings.synthesizers if one.risk.attribute is not None]
    if not judged or not findings.intruders:
        return None
    levels = findings.intruders[0]
    rows = [
        [text_cell("Min"), _level(levels.minimum, "attribute_matches"), *_blank(3)],
        *([text_cell(one.title), *_attribute_cells(one, findings)] for one in judged),
        [text_cell("Max"), _level(levels.maximum, "attribute_matches"), *_blank(3)],
    ]
    pairs = zip(findings.synthesizers, series_styles(findings), strict=True)
    drawn = level_svg(
        "Records whose label is the true one",
        levels.minimum.samples.get("attribute_matches"),
        levels.maximum.samples.get("attribute_matches"),
        [(look, one.risk.attribute.matches) for one, look in pairs if one.risk.attribute],
        "levels-attribute",
    )
    first = judged[0].risk.attribute
    guess = 0.0 if first is None else first.most_frequent_label
    return Section(
        key="attribute",
        title="Attribute risk",
        lead="An intruder knows which row is a person's and takes its synthetic label for the true "
        "one.",
        blocks=[
            Block(
                reading="The figure is the number of records whose synthetic label is the true "
                "one. Histograms and lines as above.",
                figures=[Figure(drawn)] if drawn is not None else [],
                tables=[
                    Table(
                        "Records whose label is the true one",
                        [
                            Column("Who", numeric=False),
                            Column("Mean"),
                            Column("Least"),
                            Column("Most"),
                            Column("Share of records"),
                        ],
                        rows,
                        note="Naming the most frequent true label of every pattern would be right "
                        f"for {guess:,.0f} records, without any row.",
                    )
                ],
                affected=unconverged(findings),
            )
        ],
    )


def _blank(number: int) -> list[Cell]:
    return [Cell("") for _ in range(number)]


def _attribute_cells(one: SynthesizerFindings, findings: Findings) -> list[Cell]:
    found = one.risk.attribute
    if found is None:
        return _blank(4)
    error = found.matches.standard_error
    share = (found.matches.mean or 0.0) / findings.data.n_records
    return [
        number_cell(found.matches.mean, error),
        number_cell(found.matches.minimum),
        number_cell(found.matches.maximum),
        percent_cell(share),
    ]


def joint_section(findings: Findings, limits: Thresholds) -> Section | None:
    """Show what an intruder learns who holds all files at once."""
    if not findings.intruders or not any(one.risk.attribute for one in findings.synthesizers):
        return None
    columns = [
        Column("Attack", numeric=False),
        Column("Synthesizer", numeric=False),
        Column("One file"),
        Column("All files"),
        Column("Min, all"),
        Column("Max, all"),
        Column("Place"),
    ]
    return Section(
        key="joint",
        title="All files together",
        lead="The m files are released together and their rows belong together, so an intruder may "
        "average over them.",
        blocks=[
            Block(
                reading="Compare the figure for all files with the levels for all files: the "
                "place is 0 at Min and 1 at Max. A figure for all files far above that for one "
                "means that every further file tells more about the same people.",
                figures=_place_figures(findings, limits),
                tables=[Table("Joint risk", columns, _joint_rows(findings))],
                affected=unconverged(findings),
            )
        ],
    )


def _place_figures(findings: Findings, limits: Thresholds) -> list[Figure]:
    styles = series_styles(findings)
    drawn = [
        positions_svg(
            "One file", risk_positions(findings, styles), limits.match_risk_pass, "places-one"
        ),
        positions_svg(
            "All files",
            risk_positions(findings, styles, joint=True),
            limits.joint_match_risk_pass,
            "places-all",
        ),
    ]
    return [Figure(svg) for svg in drawn if svg is not None]


def _joint_rows(findings: Findings) -> list[list[Cell]]:
    rows = []
    for intruder in findings.intruders:
        for one in findings.synthesizers:
            found = identified(one, intruder)
            if found is None:
                continue
            alone = found.measures["expected_match_risk"].mean
            together = found.joint.get("expected_match_risk")
            what = f"Match, known: {', '.join(map(shown, intruder.known))}"
            rows.append(_joint_row(what, one, alone, together, intruder, "expected_match_risk"))
    for one in findings.synthesizers:
        attribute = one.risk.attribute
        if attribute is not None:
            rows.append(
                _joint_row(
                    "Label, by vote",
                    one,
                    attribute.matches.mean,
                    attribute.joint_matches,
                    findings.intruders[0],
                    "attribute_matches",
                )
            )
    return rows


def _joint_row(
    what: str,
    one: SynthesizerFindings,
    alone: float | None,
    together: float | None,
    intruder: IntruderFindings,
    measure: str,
) -> list[Cell]:
    low = level_figure(intruder.minimum, measure, joint=True)
    high = level_figure(intruder.maximum, measure, joint=True)
    place = risk_position(together, intruder, measure, joint=True)
    return [
        text_cell(what),
        text_cell(one.title),
        number_cell(alone),
        number_cell(together),
        number_cell(low),
        number_cell(high),
        Cell("–", sort=float("-inf"))
        if place is None
        else Cell(f"{round(place, 2) + 0.0:.2f}".replace("-", "−"), sort=place),
    ]
