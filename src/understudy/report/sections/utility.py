"""Chapters on what an analyst keeps: tables, regressions, labels within patterns."""

from __future__ import annotations

from understudy.report.findings import Findings, Regression, SynthesizerFindings
from understudy.report.reasons import table_ratios
from understudy.report.views import (
    Block,
    Cell,
    Column,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
    text_cell,
)
from understudy.report.words import figure, shown

__all__ = ["regression_section", "tables_section", "within_section"]

HUNDRED = 100.0  # the paper prints deviations divided by this


def unconverged(findings: Findings) -> list[str]:
    """Titles of the synthesizers whose chains have not converged."""
    return [shown(one.title) for one in findings.synthesizers if not one.convergence.converged]


def tables_section(findings: Findings) -> Section:
    """Show how far the tables are from the original's."""
    return Section(
        key="tables",
        title="Tables: global utility",
        lead="Every table of the synthesized variables alone, by one and by two of the kept ones, "
        "counted in the original and in each synthetic set.",
        blocks=[
            Block(
                title="Deviation against the noise floor",
                reading="A bar is the sum of absolute differences between original and synthetic "
                "counts, mean over the sets, in hundreds as in the paper. The line across it is "
                "the noise floor, what a perfect synthesizer scores: a bar that ends near it is as "
                "good as can be.",
                tables=[_deviations(findings), _by_table(findings)],
                affected=unconverged(findings),
            ),
        ],
    )


def _deviations(findings: Findings) -> Table:
    rows = []
    for one in findings.synthesizers:
        tables = one.utility.tables
        ratios = dict(table_ratios(one))
        for order, own, floor in zip(
            tables.orders, tables.deviation, tables.noise_floor, strict=True
        ):
            error = None if own.standard_error is None else own.standard_error / HUNDRED
            rows.append(
                [
                    text_cell(f"{order}-way, {shown(one.title)}"),
                    number_cell(_hundredth(own.mean), error),
                    number_cell(_hundredth(own.minimum), error),
                    number_cell(_hundredth(own.maximum), error),
                    number_cell(floor / HUNDRED),
                    number_cell(ratios[order]),
                ]
            )
    return Table(
        "Sums of table deviations, in hundreds",
        [
            Column("Tables", numeric=False),
            Column("Mean"),
            Column("Least"),
            Column("Most"),
            Column("Noise floor"),
            Column("Ratio"),
        ],
        rows,
    )


def _hundredth(value: float | None) -> float | None:
    return None if value is None else value / HUNDRED


def _by_table(findings: Findings) -> Table:
    rows = [
        [
            text_cell(row.table),
            text_cell(one.title),
            number_cell(row.cells),
            number_cell(row.deviation / HUNDRED),
            number_cell(row.noise_floor / HUNDRED),
            number_cell(row.deviation / row.noise_floor if row.noise_floor else None),
        ]
        for one in findings.synthesizers
        for row in one.utility.tables.tables
    ]
    return Table(
        "Deviation of every table, in hundreds",
        [
            Column("Table", numeric=False),
            Column("Synthesizer", numeric=False),
            Column("Cells"),
            Column("Deviation"),
            Column("Noise floor"),
            Column("Ratio"),
        ],
        rows,
        folded=True,
    )


def regression_section(findings: Findings) -> Section | None:
    """Show what happens to an analysis."""
    number = max((len(one.utility.regressions) for one in findings.synthesizers), default=0)
    if not number:
        return None
    return Section(
        key="regression",
        title="Regressions: analysis-specific utility",
        blocks=[block for place in range(number) for block in _regression_blocks(findings, place)],
    )


def _regression_blocks(findings: Findings, place: int) -> list[Block]:
    fitted = [
        (one, one.utility.regressions[place])
        for one in findings.synthesizers
        if len(one.utility.regressions) > place
    ]
    first = fitted[0][1]
    return [
        Block(
            title=f"{shown(first.formula)} ({shown(first.family)}, {first.train:,} records)",
            reading="An interval from the synthetic sets should lie where the original's lies. "
            "The overlap is the mean share of either interval that both have in common: 100 % "
            "where they agree, 0 % where they are apart.",
            tables=[_overlaps(fitted), *(_coefficients(one, found) for one, found in fitted)],
            affected=unconverged(findings),
        )
    ]


def _overlaps(fitted: list[tuple[SynthesizerFindings, Regression]]) -> Table:
    return Table(
        "Interval overlap and predictions",
        [
            Column("Synthesizer", numeric=False),
            Column("Mean overlap"),
            Column("Perfect sets"),
            Column("Coefficients"),
            Column("With a note"),
            Column("Distance of predictions"),
            Column("Perfect sets"),
        ],
        [
            [
                text_cell(one.title),
                percent_cell(found.mean_overlap),
                percent_cell(found.overlap_floor),
                number_cell(found.n_coefficients or len(found.coefficients)),
                number_cell(found.n_failed),
                number_cell(None if found.distance is None else found.distance.mean),
                number_cell(found.distance_floor),
            ]
            for one, found in fitted
        ],
    )


def _coefficients(one: SynthesizerFindings, found: Regression) -> Table:
    left_out = (found.n_coefficients or len(found.coefficients)) - len(found.coefficients)
    return Table(
        f"Coefficients with {shown(one.title)}",
        [
            Column("Coefficient", numeric=False),
            Column("Original"),
            Column("interval"),
            Column("Combined"),
            Column("interval"),
            Column("Overlap"),
            Column("Note", numeric=False),
        ],
        [
            [
                name_cell(row.name),
                number_cell(row.original),
                _interval(row.original_lower, row.original_upper),
                number_cell(row.combined),
                _interval(row.combined_lower, row.combined_upper),
                percent_cell(row.overlap),
                text_cell(row.note or ""),
            ]
            for row in found.coefficients
        ],
        folded=True,
        note=f"{left_out:,} further coefficients, which overlap more, are left out."
        if left_out
        else "",
    )


def _interval(low: float | None, high: float | None) -> Cell:
    if low is None or high is None:
        return Cell("–", sort=float("-inf"))
    return Cell(f"{figure(low, 0.05)} to {figure(high, 0.05)}", sort=low)


def within_section(findings: Findings) -> Section:
    """Show whether the labels of each pattern keep their distribution."""
    return Section(
        key="within",
        title="Labels within patterns",
        lead="A pattern is one combination of the kept variables. What the labels look like inside "
        "each is what a synthesizer smooths, and what a reader of the released data will look at.",
        blocks=[
            Block(
                reading="The distance is the share of a pattern's records whose label would have "
                "to change to get the original's distribution back (total variation); the noise "
                "floor is what chance alone makes of it for a perfect synthesizer.",
                tables=[_patterns(findings)],
                affected=unconverged(findings),
            )
        ],
    )


def _patterns(findings: Findings) -> Table:
    columns = [Column("Pattern", numeric=False), Column("Records")]
    for one in findings.synthesizers:
        title = shown(one.title)
        columns += [Column(f"{title}: distance"), Column("floor"), Column("s.d. above")]
    rows = []
    for place, pattern in enumerate(findings.data.patterns):
        row = [name_cell(", ".join(pattern.levels), 40), number_cell(pattern.records)]
        for one in findings.synthesizers:
            within = one.utility.within
            row += [
                number_cell(within.distance[place], 0.005),
                number_cell(within.noise_floor[place], 0.005),
                number_cell(within.spreads_above[place], 0.5, missing="never by chance"),
            ]
        rows.append(row)
    return Table("Distance of every pattern", columns, rows, folded=True)
