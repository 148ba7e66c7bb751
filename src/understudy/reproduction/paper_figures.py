"""The paper's figures, drawn from the bundled population by the report's own drawings."""

from __future__ import annotations

from understudy.findings.schema import Findings, SpreadFindings
from understudy.pages.blocks import Figure
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.pages.plots.coefficients import predictions_svg
from understudy.pages.plots.deviations import deviation_svg, signed_svg
from understudy.pages.plots.pattern_panels import panel_grid_svg, panel_svg
from understudy.pages.plots.risk_plots import baseline_svg

__all__ = ["paper_figures"]

TOGETHER = 4  # panels to a figure, as in the paper
WAYS = ("one", "two", "three")
PANELS = (
    ": shares in the original (grey, falling) and in all synthetic sets, on a square-root scale. "
    "The paper draws densities over the counties' numbers, of one set."
)


def paper_figures(findings: Findings) -> list[Figure]:
    """Draw every figure of the paper and its supplement."""
    styles = series_styles(findings)
    return [
        Figure(
            deviation_svg(findings, styles, "deviations"),
            "Table deviations of each order beside the noise floor, which the paper does not give.",
            "deviations",
        ),
        *(
            Figure(
                signed_svg(findings, styles, order, f"signed-{order}"),
                f"Signed deviations of {WAYS[order - 1]}-way table counts over all sets.",
                f"signed-{order}",
            )
            for order in findings.synthesizers[0].utility.tables.orders
            if order <= len(WAYS)
        ),
        *_predictions(findings, styles),
        *_baselines(findings, styles),
        *_panels(findings, styles),
    ]


def _predictions(findings: Findings, styles: list[SeriesStyle]) -> list[Figure]:
    regressions = [synthesizer.utility.regressions[0] for synthesizer in findings.synthesizers]
    svg = predictions_svg(list(zip(styles, regressions, strict=True)), "predictions", "income")
    caption = (
        "Predicted income category of held-out records, from the original and from all synthetic "
        "sets together (the paper shows one set)."
    )
    return [] if svg is None else [Figure(svg, caption, "predictions")]


def _baselines(findings: Findings, styles: list[SeriesStyle]) -> list[Figure]:
    figures: list[Figure] = []
    for index, intruder in enumerate(findings.intruders):
        known = " and ".join(intruder.known)
        low, high = (
            baseline.samples["expected_match_risk"]
            for baseline in (intruder.minimum, intruder.maximum)
        )
        risks = [
            synthesizer.risk.identification[index].measures["expected_match_risk"]
            for synthesizer in findings.synthesizers
        ]
        svg = baseline_svg(
            f"Expected match risk, {known} known",
            low,
            high,
            list(zip(styles, risks, strict=True)),
            f"match-risk-{index}",
        )
        shown = (
            f"The same with {known} known."
            if figures
            else f"Expected match risk with {known} known: repeats of Min and Max; smallest, mean "
            "and largest value over each synthesizer's sets."
        )
        caption = f"{shown} {_nearest(high, findings, risks)}"
        if svg is not None:
            figures.append(Figure(svg, caption, f"match-risk-{index + 1}"))
    first = findings.intruders[0]
    svg = baseline_svg(
        "Records whose synthetic label is true",
        first.minimum.samples["attribute_matches"],
        first.maximum.samples["attribute_matches"],
        [
            (style, synthesizer.risk.attribute.matches)
            for synthesizer, style in zip(findings.synthesizers, styles, strict=True)
            if synthesizer.risk.attribute
        ],
        "attribute",
    )
    caption = "Attribute disclosures: the same for records whose synthetic county is the true one."
    return figures if svg is None else [*figures, Figure(svg, caption, "attribute")]


def _nearest(maximum: SpreadFindings, findings: Findings, risks: list[SpreadFindings]) -> str:
    """Say how near the sets come to Max, which the paper reads off its figure for the DPMPM."""
    largest = [
        f"{risk.maximum:.2f} ({synthesizer.title})"
        for synthesizer, risk in zip(findings.synthesizers, risks, strict=True)
    ]
    return f"Smallest repeat of Max {maximum.minimum:.2f}; largest set {', '.join(largest)}."


def _panels(findings: Findings, styles: list[SeriesStyle]) -> list[Figure]:
    """Draw the counties within each pattern, four patterns to a figure, all on one scale."""
    patterns = findings.data.patterns
    shares = [
        [
            (style, panel)
            for synthesizer, style in zip(findings.synthesizers, styles, strict=True)
            if (panel := synthesizer.utility.within.shares[index]) is not None
        ]
        for index in range(len(patterns))
    ]
    highest = max(max(panel.synthetic + panel.original) for row in shares for _, panel in row)
    panels = []
    for index, (pattern, row) in enumerate(zip(patterns, shares, strict=True)):
        title = f"{index + 1}: {', '.join(pattern.levels)} ({pattern.records:,} records)"
        svg = panel_svg(f"pattern-{index}", title, row, findings.data.n_labels, highest)
        panels.append((title, svg))
    return [
        Figure(
            panel_grid_svg(panels[first : first + TOGETHER]),
            ("Patterns" if first else "Counties in patterns")
            + f" {first + 1} to {min(first + TOGETHER, len(panels))}"
            + ("." if first else PANELS),
            f"patterns-{first + 1:02d}",
        )
        for first in range(0, len(panels), TOGETHER)
    ]
