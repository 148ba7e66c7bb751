"""Sections on what an analyst keeps: tables and regressions."""

from __future__ import annotations

from understudy.findings.schema import Findings, Regression, SynthesizerFindings
from understudy.pages.blocks import (
    LAST,
    Block,
    Cell,
    Legend,
    Paragraph,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
    topic,
)
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.pages.plots.coefficients import (
    forest_svg,
    interval_limits,
    predictions_svg,
    select_coefficients,
)
from understudy.pages.plots.deviations import deviation_svg, moments, signed_svg
from understudy.pages.sections.section_words import styled
from understudy.summaries import number, percent, shown
from understudy.verdict.grading import table_ratios

__all__ = ["regression_section", "tables_section"]

HUNDRED = 100.0  # the paper prints deviations divided by this
FOREST_ROWS = 14  # of one drawing
FOREST_REMARK = (
    "Terms with many levels are shown by some of their coefficients, from the smallest to the "
    "largest overlap; the tables list the others."
)
NO_PREDICTIONS = "No predictions are compared: the model was fitted on all records."

Fitted = list[tuple[SynthesizerFindings, SeriesStyle, Regression]]


def tables_section(findings: Findings) -> Section:
    """Show how far the tables are from the original's."""
    styles = series_styles(findings)
    orders = sorted(
        {order for each in findings.synthesizers for order in each.utility.tables.orders}
    )
    lead = Paragraph(
        "Every table of the synthesized variables alone, by one and by two of the kept variables, "
        "counted in the original and in each synthetic set."
    )
    return Section(
        "tables",
        "Tables: global utility",
        [
            lead,
            *topic(
                title="Deviation against the truth floor",
                reading="A bar is the sum of absolute differences between original and synthetic "
                "counts, mean over the sets, in hundreds as in the paper. The line across it is "
                "the truth floor: what a synthesizer that knew the population would score. A bar "
                "that ends near the line is as good as possible. The table also gives the "
                "resampled floor, that of sets drawn from the sample itself.",
                figures=[deviation_svg(findings, styles, "deviation")],
                remarks=[*_propensity(findings), *_weighted(findings)],
                tables=[_deviations(findings), _by_table(findings)],
            ),
            *topic(
                title="Signed deviations of single cells",
                reading="Each curve shows how many more or fewer records the cells of the "
                "synthetic tables hold than the original's. The shaded curve is a perfect "
                "synthesizer's. A curve beside it is biased, a wider one is noisier.",
                figures=[
                    signed_svg(findings, styles, order, f"signed-{order}") for order in orders
                ],
                tables=[_signed_table(findings, orders)],
            ),
        ],
    )


def _propensity(findings: Findings) -> list[str]:
    """Say how well a regression tells synthetic records from original ones."""
    known = [
        f"{shown(each.title)} {number(each.utility.tables.propensity_ratio, 0.1)}"
        for each in findings.synthesizers
        if each.utility.tables.propensity_ratio is not None
    ]
    if not known:
        return []
    return [
        "Error of the propensity score over that of a synthesizer that knew the population (1: a "
        "regression tells synthetic "
        f"records from original ones no better than chance): {', '.join(known)}."
    ]


def _weighted(findings: Findings) -> list[str]:
    """Say how far weighted tables deviate, where the data have survey weights."""
    remarks = []
    for synthesizer in findings.synthesizers:
        weighted = synthesizer.utility.weighted
        if weighted is None:
            continue
        values = zip(weighted.orders, weighted.deviation, weighted.truth_floor, strict=True)
        listed = ", ".join(
            f"{number(deviation)} for {order}-way tables (a synthesizer that knew the population: "
            f"{number(floor)})"
            for order, deviation, floor in values
        )
        remarks.append(
            f"Weighted by the survey weights, tables of {shown(synthesizer.title)} deviate by "
            f"{listed}. Design-based intervals of the {weighted.shares:,} weighted shares overlap "
            f"the original's by {percent(weighted.mean_overlap)} on average."
        )
    return remarks


def _deviations(findings: Findings) -> Table:
    rows: list[list[Cell | str]] = []
    for synthesizer in findings.synthesizers:
        tables = synthesizer.utility.tables
        ratios = dict(table_ratios(synthesizer))
        floors = zip(tables.noise_floor, tables.truth_floor, strict=True)
        for order, own, both in zip(tables.orders, tables.deviation, floors, strict=True):
            error = None if own.standard_error is None else own.standard_error / HUNDRED
            ends = (own.mean, own.minimum, own.maximum)
            rows.append(
                [
                    f"{order}-way, {shown(synthesizer.title)}",
                    *(number_cell(_hundredth(value), error) for value in ends),
                    *(number_cell(floor / HUNDRED, 0.1) for floor in both),
                    number_cell(ratios[order], 0.1),
                ]
            )
    return Table(
        "Sums of table deviations, in hundreds",
        ["Tables", "Mean", "Smallest", "Largest", "Resampled floor", "Truth floor", "Ratio"],
        rows,
    )


def _hundredth(value: float | None) -> float | None:
    return None if value is None else value / HUNDRED


def _signed_table(findings: Findings, orders: list[int]) -> Table:
    """Summarize the signed deviations: their mean, spread, and share of cells that are exact."""
    rows: list[list[Cell | str]] = []
    for order in orders:
        series = []
        for synthesizer in findings.synthesizers:
            tables = synthesizer.utility.tables
            if order in tables.orders:
                index = tables.orders.index(order)
                series.append((shown(synthesizer.title), tables.signed[index]))
                perfect = tables.signed_floor[index]
        for title, histogram in [*series, ("perfect sets", perfect)]:
            mean, spread, exact = moments(histogram)
            rows.append(
                [
                    f"{order}-way, {title}",
                    number_cell(mean, spread / 10 or None),
                    number_cell(spread),
                    percent_cell(exact),
                ]
            )
    return Table(
        "Signed deviations of cells",
        ["Tables", "Mean", "Standard deviation", "Cells without deviation"],
        rows,
        folded=True,
    )


def _by_table(findings: Findings) -> Table:
    return Table(
        "Deviation of every table, in hundreds",
        ["Table", "Synthesizer", "Cells", "Deviation", "Resampled floor", "Truth floor", "Ratio"],
        [
            [
                row.table,
                synthesizer.title,
                number_cell(row.cells),
                number_cell(row.deviation / HUNDRED, 0.1),
                number_cell(row.noise_floor / HUNDRED, 0.1),
                number_cell(row.truth_floor / HUNDRED, 0.1),
                number_cell(row.deviation / row.truth_floor if row.truth_floor else None, 0.1),
            ]
            for synthesizer in findings.synthesizers
            for row in synthesizer.utility.tables.tables
        ],
        text_columns=(0, 1),
        folded=True,
    )


def regression_section(findings: Findings) -> Section | None:
    """Show what happens to an analysis."""
    count = max((len(each.utility.regressions) for each in findings.synthesizers), default=0)
    if not count:
        return None
    blocks = [block for index in range(count) for block in _regression(findings, index)]
    return Section("regression", "Regressions: analysis-specific utility", blocks)


def _regression(findings: Findings, index: int) -> list[Block]:
    fitted = [
        (synthesizer, style, synthesizer.utility.regressions[index])
        for synthesizer, style in styled(findings)
        if len(synthesizer.utility.regressions) > index
    ]
    series = [(style, regression) for _, style, regression in fitted]
    first = fitted[0][2]
    response = first.formula.split("~", 1)[0].strip()
    selected = select_coefficients(series)
    estimated = sum(row.original is not None for row in first.coefficients)
    predictions = predictions_svg(series, f"predictions-{index}", response)
    blocks = []
    if predictions is not None:
        blocks += topic(
            title=f"Predictions: {shown(first.formula)}",
            reading="The model is fitted to the original and to each synthetic set, and predicts "
            "held-out records (for ordered categories: the expected category). A curve that lies "
            "on the shaded one predicts alike.",
            figures=[predictions],
            tables=[_distances(fitted)],
        )
    return blocks + topic(
        title=f"Coefficients: {shown(first.formula)} ({shown(first.family)}, "
        f"{first.train:,} records)",
        reading="An interval from the synthetic sets should cover the same range as the "
        "original's. The overlap is the mean share of either interval that both have in common: "
        "100 % where they agree, 0 % where they are apart.",
        figures=_forests(series, selected, f"forest-{index}"),
        remarks=[
            *([FOREST_REMARK] if len(selected) < estimated else []),
            *([NO_PREDICTIONS] if first.train >= findings.data.n_records else []),
        ],
        legend=Legend(
            [
                ("original", "original", ""),
                *((style.title, style.variable, "") for style, _ in series),
            ]
        ),
        tables=[
            _overlaps(fitted),
            *(_coefficients(each, regression) for each, _, regression in fitted),
        ],
    )


def _forests(
    series: list[tuple[SeriesStyle, Regression]], selected: list[str], name: str
) -> list[str]:
    """Draw the selected coefficients in columns of even length, all on one scale."""
    if not selected:
        return []
    columns = -(-len(selected) // FOREST_ROWS)
    length = -(-len(selected) // columns)
    limits = interval_limits(series, selected)
    return [
        forest_svg(series, selected[start : start + length], f"{name}-{start}", limits)
        for start in range(0, len(selected), length)
    ]


def _overlaps(fitted: Fitted) -> Table:
    return Table(
        "Interval overlap",
        [
            "Synthesizer", "Mean overlap", "over those in common", "Resampled floor",
            "Truth floor", "Ratio",
            "Coefficients", "in common", "Not estimable",
        ],
        [
            [
                synthesizer.title,
                percent_cell(regression.mean_overlap),
                percent_cell(regression.overlap_in_common),
                percent_cell(regression.overlap_floor),
                percent_cell(regression.overlap_truth_floor),
                percent_cell(
                    _over(regression.overlap_in_common, regression.overlap_truth_floor)
                ),
                number_cell(regression.n_coefficients or len(regression.coefficients)),
                number_cell(regression.n_in_common),
                number_cell(regression.n_failed),
            ]
            for synthesizer, _, regression in fitted
        ],
        note="In common: coefficients with an interval in the sets and in resampled sets. The "
        "ratio is over these, to the truth floor. Not estimable: separated or absent in the "
        "original or in some sets; the table of coefficients says why.",
    )  # fmt: skip


def _distances(fitted: Fitted) -> Table:
    return Table(
        "Distance of predictions (Wasserstein)",
        [
            "Synthesizer",
            "Mean over sets",
            "Smallest",
            "Largest",
            "Resampled floor",
            "Truth floor",
            "Ratio",
        ],
        [
            [
                synthesizer.title,
                number_cell(regression.distance.mean),
                number_cell(regression.distance.minimum),
                number_cell(regression.distance.maximum),
                number_cell(regression.distance_floor),
                number_cell(regression.distance_truth_floor),
                number_cell(_over(regression.distance.mean, regression.distance_truth_floor), 0.1),
            ]
            for synthesizer, _, regression in fitted
            if regression.distance is not None
        ],
    )


def _over(value: float | None, floor: float | None) -> float | None:
    return value / floor if value is not None and floor else None


def _coefficients(synthesizer: SynthesizerFindings, regression: Regression) -> Table:
    left_out = (regression.n_coefficients or len(regression.coefficients)) - len(
        regression.coefficients
    )
    return Table(
        f"Coefficients with {shown(synthesizer.title)}",
        ["Coefficient", "Original", "interval", "Combined", "interval", "Overlap", "Note"],
        [
            [
                name_cell(row.name),
                number_cell(row.original),
                _interval(row.original_lower, row.original_upper),
                number_cell(row.combined),
                _interval(row.combined_lower, row.combined_upper),
                percent_cell(row.overlap),
                row.note or "",
            ]
            for row in regression.coefficients
        ],
        text_columns=(0, 6),
        folded=True,
        note=f"{left_out:,} further coefficients, which overlap more, are left out."
        if left_out
        else "",
    )


def _interval(low: float | None, high: float | None) -> Cell:
    if low is None or high is None:
        return Cell("–", sort=LAST)
    return Cell(f"{number(low, 0.05)} to {number(high, 0.05)}", sort=low)
