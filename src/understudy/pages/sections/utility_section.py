"""Sections on what an analyst keeps: tables and regressions."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.label_counts import FAR
from understudy.findings.label_schema import LabelCounts
from understudy.findings.schema import Coefficient, Findings, Regression, SynthesizerFindings
from understudy.pages.blocks import (
    LAST,
    SOLID,
    Block,
    Cell,
    Fold,
    Legend,
    Section,
    Table,
    name_cell,
    number_cell,
    percent_cell,
    topic,
)
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.pages.plots.coefficients import (
    by_disagreement,
    changed_significances,
    forest_svg,
    interval_limits,
    predictions_svg,
)
from understudy.pages.plots.deviations import deviation_svg, moments, signed_svg
from understudy.pages.plots.label_bars import LESS, MORE, bar_figures, heat_figures
from understudy.pages.sections.section_words import level_words, styled
from understudy.summaries import counted, number, percent, shown
from understudy.verdict.grading import table_ratios

__all__ = ["judged_overlap", "regression_section", "tables_section"]

HUNDRED = 100.0  # the paper prints deviations divided by this
FOREST_ROWS = 10  # of one drawing
MOST_SHOWN = 20  # coefficients
BY_CHANCE = 0.0027  # share of normal deviations beyond three standard deviations
SPREAD = "The thin line reaches from the smallest to the largest set."
NO_PREDICTIONS = "No predictions are compared: the model was fitted on all records."

Fitted = list[tuple[SynthesizerFindings, SeriesStyle, Regression]]


def tables_section(findings: Findings) -> Section:
    """Show the label, its two-way tables, and how far all tables are from the original's."""
    styles = series_styles(findings)
    orders = sorted(
        {
            order
            for synthesizer in findings.synthesizers
            for order in synthesizer.utility.tables.orders
        }
    )
    labels = [
        block
        for synthesizer, style in styled(findings)[:1]
        for block in [*_bars(findings, synthesizer, style), *_heat(findings, synthesizer)]
    ]
    return Section(
        "tables",
        "What analysts keep: tables",
        [
            *labels,
            *topic(
                title="All tables together",
                reading="Bars: absolute differences between original and synthetic counts, summed, "
                "in hundreds. Green line: what a synthesizer that knew the population would score. "
                "A bar that ends at the line is as good as a sample allows.",
                figures=[deviation_svg(findings, styles, "deviation")],
                remarks=[*_propensity(findings), *_weighted(findings)],
            ),
            Fold(
                "Numbers of all tables, and single cells",
                [
                    _deviations(findings),
                    _by_table(findings),
                    *topic(
                        reading="How many more or fewer records a cell of the synthetic tables "
                        "holds than the original's. Shaded: sets drawn from the sample itself. A "
                        "curve beside it is biased, a wider one is noisier.",
                        figures=[
                            signed_svg(findings, styles, order, f"signed-{order}")
                            for order in orders
                        ],
                        tables=[_signed_table(findings, orders)],
                    ),
                ],
            ),
        ],
        short="Tables",
    )


def _bars(findings: Findings, synthesizer: SynthesizerFindings, style: SeriesStyle) -> list[Block]:
    """Draw every synthesized variable, original beside synthetic."""
    blocks: list[Block] = []
    for index, counts in enumerate(synthesizer.utility.labels):
        names = level_words(findings, counts.name, counts.levels)
        others = (
            [
                f"{counted(counts.n_others, 'further level')}: "
                f"{counted(counts.others_original, 'record')} in the original, "
                f"{counts.others_synthetic:,.0f} in a synthetic set."
            ]
            if counts.n_others
            else []
        )
        blocks += topic(
            title=f"{shown(counts.name)}: original beside synthetic",
            reading=SPREAD if synthesizer.m > 1 else "There is one set, so no spread is drawn.",
            legend=Legend(
                [
                    ("original", "original", SOLID),
                    (
                        f"{style.title}, mean of {counted(synthesizer.m, 'set')}",
                        style.variable,
                        SOLID,
                    ),
                ]
            ),
            figures=bar_figures(counts, names, style, f"bars-{index}"),
            remarks=others,
            tables=[_label_table(counts, names)],
        )
    return blocks


def _label_table(counts: LabelCounts, names: Sequence[str]) -> Table:
    columns = (counts.original, counts.synthetic, counts.lowest, counts.highest)
    return Table(
        f"Records by {shown(counts.name)}",
        ["Level", "Original", "Synthetic, mean", "Smallest set", "Largest set"],
        [
            [
                name_cell(words),
                number_cell(original),
                number_cell(mean, 1.0),
                number_cell(lowest),
                number_cell(highest),
            ]
            for words, original, mean, lowest, highest in zip(names, *columns, strict=True)
        ],
        folded=True,
    )


def _heat(findings: Findings, synthesizer: SynthesizerFindings) -> list[Block]:
    """Draw the two-way tables of every synthesized variable."""
    blocks: list[Block] = []
    pairs = synthesizer.utility.pairs
    for index, name in enumerate(dict.fromkeys(pair.name for pair in pairs)):
        own = [pair for pair in pairs if pair.name == name]
        named = [
            (
                pair,
                level_words(findings, pair.name, pair.levels),
                level_words(findings, pair.other, pair.other_levels),
            )
            for pair in own
        ]
        n_cells, n_far = sum(pair.n_cells for pair in own), sum(pair.n_far for pair in own)
        blocks += topic(
            title=f"{shown(name)} by other variables",
            reading="The stronger the colour, the further a count lies from the original's, up to "
            "four standard deviations of what chance does to a synthesizer that knew the "
            f"population. A sign marks more than {FAR:g}: {n_far:,} of {counted(n_cells, 'cell')} "
            f"in all; chance alone gives about {n_cells * BY_CHANCE:.0f}.",
            legend=Legend([("too many records", MORE, SOLID), ("too few", LESS, SOLID)]),
            figures=heat_figures(named, synthesizer.m, f"heat-{index}"),
        )
    return blocks


def _propensity(findings: Findings) -> list[str]:
    """Say how well a regression tells synthetic records from original ones."""
    known = [
        f"{shown(synthesizer.title)} {number(synthesizer.utility.tables.propensity_ratio, 0.1)}"
        for synthesizer in findings.synthesizers
        if synthesizer.utility.tables.propensity_ratio is not None
    ]
    if not known:
        return []
    return [
        "How well a regression tells synthetic records from original ones (ratio of propensity "
        f"errors; 1 for a synthesizer that knew the population): {', '.join(known)}."
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
        for title, histogram in [*series, ("resampled sets", perfect)]:
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
    count = max(
        (len(synthesizer.utility.regressions) for synthesizer in findings.synthesizers), default=0
    )
    if not count:
        return None
    blocks = [block for index in range(count) for block in _regression(findings, index)]
    return Section("regression", "What analysts keep: regressions", blocks, short="Regressions")


def _regression(findings: Findings, index: int) -> list[Block]:
    fitted = [
        (synthesizer, style, synthesizer.utility.regressions[index])
        for synthesizer, style in styled(findings)
        if len(synthesizer.utility.regressions) > index
    ]
    _, style, first = fitted[0]
    rows = by_disagreement(first)
    shown_rows = rows[:MOST_SHOWN]
    changed, both = changed_significances(first)
    formula = shown(first.formula)
    heading = f"{formula}: {changed} of {counted(both, 'coefficient')} " + (
        "changes significance" if changed == 1 else "change significance"
    )
    worst = f"The {len(shown_rows)} of {len(rows)} coefficients that disagree most"
    total = len(first.coefficients)
    counted_words = f" The other {total - both:,} lack an interval in one of the two."
    about = topic(
        title=heading if both else formula,
        reading=f"{worst if len(rows) > len(shown_rows) else 'The coefficients'}, with 95 % "
        "intervals. Where the synthetic interval covers the original's range, an analyst "
        f"concludes the same.{counted_words if 0 < both < total else ''}",
        figures=_forests((style, first), shown_rows, f"forest-{index}"),
        remarks=[NO_PREDICTIONS] if first.train >= findings.data.n_records else [],
        tables=[_overlaps(fitted)],
    )
    return [*about, _more_about_regression(fitted, index)]


def _more_about_regression(fitted: Fitted, index: int) -> Fold:
    """Fold predictions and all coefficients away."""
    series = [(style, regression) for _, style, regression in fitted]
    first = series[0][1]
    response = first.formula.split("~", 1)[0].strip()
    blocks: list[Block] = []
    predictions = predictions_svg(series, f"predictions-{index}", response)
    if predictions is not None:
        blocks += topic(
            reading="The model is fitted to the original and to each synthetic set, and predicts "
            "held-out records (for ordered categories: the expected category). A curve that lies "
            "on the shaded one predicts alike.",
            figures=[predictions],
            tables=[_distances(fitted)],
        )
    blocks += [_coefficients(synthesizer, regression) for synthesizer, _, regression in fitted]
    records = counted(first.train, "record")
    return Fold(f"Predictions and all coefficients ({shown(first.family)}, {records})", blocks)


def _forests(
    series: tuple[SeriesStyle, Regression], rows: Sequence[Coefficient], name: str
) -> list[str]:
    """Draw coefficients in columns of even length, all on one scale."""
    if not rows:
        return []
    columns = -(-len(rows) // FOREST_ROWS)
    length = -(-len(rows) // columns)
    limits = interval_limits(rows)
    return [
        forest_svg(series[0], rows[start : start + length], f"{name}-{start}", limits)
        for start in range(0, len(rows), length)
    ]


def _overlaps(fitted: Fitted) -> Table:
    return Table(
        "Interval overlap",
        ["Synthesizer", "Overlap", "Truth floor", "Ratio", "Significance changes", "Coefficients",
         "Not estimable"],
        [
            [
                synthesizer.title,
                percent_cell(judged_overlap(regression)),
                percent_cell(regression.overlap_truth_floor),
                percent_cell(
                    _over(regression.overlap_in_common, regression.overlap_truth_floor)
                ),
                number_cell(changed_significances(regression)[0]),
                number_cell(
                    regression.n_coefficients or len(regression.coefficients)
                    if regression.n_in_common is None
                    else regression.n_in_common
                ),
                number_cell(regression.n_failed),
            ]
            for synthesizer, _, regression in fitted
        ],
        note="Overlap: the share of an interval that original and synthetic have in common, mean "
        "over the coefficients that resampled sets can estimate, too. Truth floor: what a "
        "synthesizer that knew the population would reach. Not estimable: separated or absent.",
    )  # fmt: skip


def judged_overlap(regression: Regression) -> float | None:
    """Give the overlap of the coefficients that resampled sets can estimate too; else of all."""
    if regression.overlap_in_common is None:
        return regression.mean_overlap
    return regression.overlap_in_common


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
        f"Coefficients with {shown(synthesizer.title)}, the largest disagreement first",
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
            for row in by_disagreement(regression, every=True)
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
