"""Chapters on what an analyst keeps: tables, regressions, labels within patterns."""

from __future__ import annotations

from understudy.findings.schema import Findings, Regression, SynthesizerFindings
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
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.pages.plots.coefficients import (
    chosen_coefficients,
    forest_svg,
    interval_limits,
    predictions_svg,
)
from understudy.pages.plots.deviations import deviation_svg, moments, signed_svg
from understudy.summaries import number, shown
from understudy.verdict.grading import table_ratios

__all__ = ["regression_section", "tables_section", "unconverged"]

HUNDRED = 100.0  # the paper prints deviations divided by this
FOREST_ROWS = 14  # of one drawing
MOST_LABELS = 8  # in a panel's table
FOREST_REMARK = (
    "Terms with many levels are shown by some of their coefficients, from the least to the largest "
    "overlap; the tables have the others."
)
NO_PREDICTIONS = "No predictions are compared: the model was fitted on all records."


def unconverged(findings: Findings) -> list[str]:
    """Titles of the synthesizers whose chains have not converged."""
    return [shown(one.title) for one in findings.synthesizers if not one.convergence.converged]


def tables_section(findings: Findings) -> Section:
    """Show how far the tables are from the original's."""
    styles = series_styles(findings)
    orders = sorted({order for one in findings.synthesizers for order in one.utility.tables.orders})
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
                figures=[Figure(deviation_svg(findings, styles, "deviation"))],
                remarks=_propensity(findings),
                tables=[_deviations(findings), _by_table(findings)],
                affected=unconverged(findings),
            ),
            Block(
                title="Signed deviations of single cells",
                reading="Each curve shows how often cells of the synthetic tables hold so many "
                "records more or fewer than the original's. The shaded curve is a perfect "
                "synthesizer's; a curve beside it is shifted, a wider one is noisier.",
                figures=[
                    Figure(signed_svg(findings, styles, order, f"signed-{order}"))
                    for order in orders
                ],
                tables=[_signed_table(findings, orders)],
                affected=unconverged(findings),
            ),
        ],
    )


def _propensity(findings: Findings) -> list[str]:
    """Say how well a regression tells synthetic records from original ones."""
    known = [
        f"{shown(one.title)} {number(one.utility.tables.propensity_ratio, 0.1)}"
        for one in findings.synthesizers
        if one.utility.tables.propensity_ratio is not None
    ]
    if not known:
        return []
    return [
        "Error of the propensity score over that of perfect sets (1: a regression tells synthetic "
        f"records from original ones no better than it would by chance): {', '.join(known)}."
    ]


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
                    number_cell(floor / HUNDRED, 0.1),
                    number_cell(ratios[order], 0.1),
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


def _signed_table(findings: Findings, orders: list[int]) -> Table:
    """Summarize the signed deviations: their mean, spread, and share of cells that are exact."""
    rows = []
    for order in orders:
        series = []
        for one in findings.synthesizers:
            tables = one.utility.tables
            if order in tables.orders:
                at = tables.orders.index(order)
                series.append((shown(one.title), tables.signed[at]))
                perfect = tables.signed_floor[at]
        for title, histogram in [*series, ("perfect sets", perfect)]:
            mean, spread, exact = moments(histogram)
            rows.append(
                [
                    text_cell(f"{order}-way, {title}"),
                    number_cell(mean, spread / 10 or None),
                    number_cell(spread),
                    percent_cell(exact),
                ]
            )
    return Table(
        "Signed deviations of cells",
        [
            Column("Tables", numeric=False),
            Column("Mean"),
            Column("Standard deviation"),
            Column("Cells without deviation"),
        ],
        rows,
        folded=True,
    )


def _hundredth(value: float | None) -> float | None:
    return None if value is None else value / HUNDRED


def _by_table(findings: Findings) -> Table:
    rows = [
        [
            text_cell(row.table),
            text_cell(one.title),
            number_cell(row.cells),
            number_cell(row.deviation / HUNDRED, 0.1),
            number_cell(row.noise_floor / HUNDRED, 0.1),
            number_cell(row.deviation / row.noise_floor if row.noise_floor else None, 0.1),
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
    every = list(zip(findings.synthesizers, series_styles(findings), strict=True))
    fitted = [
        (one, one.utility.regressions[place])
        for one, _ in every
        if len(one.utility.regressions) > place
    ]
    first = fitted[0][1]
    drawn = [
        (look, one.utility.regressions[place])
        for one, look in every
        if len(one.utility.regressions) > place
    ]
    response = first.formula.split("~", 1)[0].strip()
    chosen = chosen_coefficients(drawn)
    estimated = sum(one.original is not None for one in first.coefficients)
    predictions = predictions_svg(drawn, f"predictions-{place}", response)
    blocks = []
    if predictions is not None:
        blocks.append(
            Block(
                title=f"Predictions: {shown(first.formula)}",
                reading="The model is fitted to the original and to each synthetic set, and "
                "predicts records that it has not seen (for ordered categories: the expected "
                "category). A curve that lies on the shaded one predicts alike.",
                figures=[Figure(predictions)],
                tables=[_distances(fitted)],
                affected=unconverged(findings),
            )
        )
    return [
        *blocks,
        Block(
            title=f"Coefficients: {shown(first.formula)} ({shown(first.family)}, "
            f"{first.train:,} records)",
            reading="An interval from the synthetic sets should lie where the original's lies. "
            "The overlap is the mean share of either interval that both have in common: 100 % "
            "where they agree, 0 % where they are apart.",
            figures=_forests(drawn, chosen, f"forest-{place}"),
            remarks=[
                *([FOREST_REMARK] if len(chosen) < estimated else []),
                *([NO_PREDICTIONS] if first.train >= findings.data.n_records else []),
            ],
            legend=[
                ("original", "original", ""),
                *((one.title, one.variable, "") for one, _ in drawn),
            ],
            tables=[
                _overlaps(fitted),
                *(_coefficients(one, found) for one, found in fitted),
            ],
            affected=unconverged(findings),
        ),
    ]


def _forests(
    drawn: list[tuple[SeriesStyle, Regression]], chosen: list[str], name: str
) -> list[Figure]:
    """Draw the chosen coefficients in columns of even length, all on one scale."""
    if not chosen:
        return []
    number = max(1, -(-len(chosen) // FOREST_ROWS))
    length = -(-len(chosen) // number)
    limits = interval_limits(drawn, chosen)
    return [
        Figure(forest_svg(drawn, chosen[start : start + length], f"{name}-{start}", limits))
        for start in range(0, len(chosen), length)
    ]


def _overlaps(fitted: list[tuple[SynthesizerFindings, Regression]]) -> Table:
    return Table(
        "Interval overlap",
        [
            Column("Synthesizer", numeric=False),
            Column("Mean overlap"),
            Column("where perfect sets have one too"),
            Column("Perfect sets"),
            Column("Coefficients"),
            Column("that both have"),
            Column("Not estimable"),
        ],
        [
            [
                text_cell(one.title),
                percent_cell(found.mean_overlap),
                percent_cell(found.overlap_in_common),
                percent_cell(found.overlap_floor),
                number_cell(found.n_coefficients or len(found.coefficients)),
                number_cell(found.n_in_common),
                number_cell(found.n_failed),
            ]
            for one, found in fitted
        ],
        note="That both have: an interval in the sets and in perfect sets; over these they are "
        "compared. Not estimable: separated or absent in the original or in some sets; the table "
        "of coefficients says why.",
    )


def _distances(fitted: list[tuple[SynthesizerFindings, Regression]]) -> Table:
    return Table(
        "Distance of predictions (Wasserstein)",
        [
            Column("Synthesizer", numeric=False),
            Column("Mean over sets"),
            Column("Least"),
            Column("Most"),
            Column("Perfect sets"),
        ],
        [
            [
                text_cell(one.title),
                number_cell(found.distance.mean),
                number_cell(found.distance.minimum),
                number_cell(found.distance.maximum),
                number_cell(found.distance_floor),
            ]
            for one, found in fitted
            if found.distance is not None
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
    return Cell(f"{number(low, 0.05)} to {number(high, 0.05)}", sort=low)
