"""The paper's figures, drawn from the bundled population by the report's own drawings.

On a page of the documentation a drawing is a file of its own, which knows no style of the page:
`standalone` puts the colours in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

from understudy.findings.schema import Findings, PatternShares, Spread
from understudy.pages.plots.canvas import LIGHT, SeriesStyle, series_styles
from understudy.pages.plots.coefficients import predictions_svg
from understudy.pages.plots.deviations import deviation_svg, signed_svg
from understudy.pages.plots.pattern_panels import panel_svg
from understudy.pages.plots.risk_plots import level_svg
from understudy.reproduction.blocks import Drawing

__all__ = ["paper_figures", "standalone"]

WIDE, HIGH, ROOM = 200, 92, 16  # units of a panel, and room for its title
TOGETHER = 4  # panels to a figure, as in the paper
WAYS = ("one", "two", "three")


def paper_figures(findings: Findings) -> list[Drawing]:
    """Draw every figure of the paper and its supplement."""
    drawn = series_styles(findings)
    found = [
        Drawing(
            "deviations",
            deviation_svg(findings, drawn, "deviations"),
            "Table deviations of each order beside the noise floor, which the paper does not give.",
        )
    ]
    found += [
        Drawing(
            f"signed-{order}",
            signed_svg(findings, drawn, order, f"signed-{order}"),
            f"Signed deviations of {WAYS[order - 1]}-way table counts over all sets: the narrower "
            "around zero, the better.",
        )
        for order in findings.synthesizers[0].utility.tables.orders
        if order <= len(WAYS)
    ]
    found += _predictions(findings, drawn)
    found += _levels(findings, drawn)
    return found + _panels(findings, drawn)


def _predictions(findings: Findings, drawn: list[SeriesStyle]) -> list[Drawing]:
    fitted = [
        (look, one.utility.regressions[0])
        for one, look in zip(findings.synthesizers, drawn, strict=True)
    ]
    svg = predictions_svg(fitted, "predictions", "income")
    caption = (
        "Predicted income category of held-out records, from the original and from all synthetic "
        "sets together (the paper shows one set)."
    )
    return [] if svg is None else [Drawing("predictions", svg, caption)]


def _levels(findings: Findings, drawn: list[SeriesStyle]) -> list[Drawing]:
    found = []
    pairs = list(zip(findings.synthesizers, drawn, strict=True))
    for place, intruder in enumerate(findings.intruders):
        known = " and ".join(intruder.known)
        risks = [(look, one.risk.identification[place].measures) for one, look in pairs]
        svg = level_svg(
            f"Expected match risk, {known} known",
            intruder.minimum.samples["expected_match_risk"],
            intruder.maximum.samples["expected_match_risk"],
            [(look, measures["expected_match_risk"]) for look, measures in risks],
            f"match-risk-{place}",
        )
        caption = (
            f"Expected match risk with {known} known: repeats of the levels Min and Max, and the "
            "least, mean and largest figure over each synthesizer's sets. "
            + _nearest(intruder.maximum.samples["expected_match_risk"], findings, risks)
        )
        if svg is not None:
            found.append(Drawing(f"match-risk-{place + 1}", svg, caption))
    levels = findings.intruders[0]
    svg = level_svg(
        "Records whose label is the true one",
        levels.minimum.samples["attribute_matches"],
        levels.maximum.samples["attribute_matches"],
        [(look, one.risk.attribute.matches) for one, look in pairs if one.risk.attribute],
        "attribute",
    )
    caption = "Attribute disclosures: the same for records whose synthetic county is the true one."
    return found if svg is None else [*found, Drawing("attribute", svg, caption)]


def _nearest(
    level: Spread, findings: Findings, risks: Sequence[tuple[SeriesStyle, Mapping[str, Spread]]]
) -> str:
    """Say how near the sets come to Max, which the paper reads off its figure for the DPMPM."""
    largest = [
        f"{found['expected_match_risk'].maximum:.2f} ({one.title})"
        for one, (_, found) in zip(findings.synthesizers, risks, strict=True)
    ]
    return f"Smallest repeat of Max {level.minimum:.2f}; largest set {', '.join(largest)}."


def _panels(findings: Findings, drawn: list[SeriesStyle]) -> list[Drawing]:
    """Draw the counties within each pattern, four patterns to a figure."""
    shares = [
        [
            (look, one.utility.within.shares[place])
            for one, look in zip(findings.synthesizers, drawn, strict=True)
        ]
        for place in range(len(findings.data.patterns))
    ]
    known = [[(look, one) for look, one in row if one is not None] for row in shares]
    highest = max(max(one.synthetic + one.original) for row in known for _, one in row)
    found = []
    for first in range(0, len(known), TOGETHER):
        places = range(first, min(first + TOGETHER, len(known)))
        found.append(
            Drawing(
                f"patterns-{first + 1:02d}",
                _grid(findings, {place: known[place] for place in places}, highest),
                f"Counties in patterns {first + 1} to {places[-1] + 1}: shares in the original "
                "(grey, falling) and in all synthetic sets, on a square-root scale. The paper "
                "draws densities over the counties' numbers, of one set.",
            )
        )
    return found


def _grid(
    findings: Findings, rows: dict[int, list[tuple[SeriesStyle, PatternShares]]], highest: float
) -> str:
    """Set panels two by two, all on the same scale."""
    parts = []
    for number, (place, row) in enumerate(rows.items()):
        pattern = findings.data.patterns[place]
        title = f"{place + 1}: {', '.join(pattern.levels)} ({pattern.records:,} records)"
        x, y = (number % 2) * (WIDE + 12), (number // 2) * (HIGH + ROOM)
        panel = panel_svg(f"pattern-{place}", title, row, findings.data.n_labels, highest)
        parts.append(
            f'<text x="{x}" y="{y + 11}" font-size="8" fill="var(--ink)" '
            f'font-family="sans-serif">{escape(title)}</text>'
        )
        size = f'width="{WIDE}" height="{HIGH}" font-size="7" fill="var(--soft)"'
        position = f'<svg x="{x}" y="{y + ROOM}" {size}'
        parts.append(panel.replace("<svg", position, 1))
    wide, high = 2 * WIDE + 12, -(-len(rows) // 2) * (HIGH + ROOM)
    return (
        f'<svg viewBox="0 0 {wide} {high}" width="{2 * wide}" role="group">{"".join(parts)}</svg>'
    )


def standalone(svg: str) -> str:
    """Make a drawing a file of its own: colours put in, on white paper."""
    coloured = re.sub(r"var\(--([a-z]+)\)", lambda found: LIGHT.get(found[1], "#1c1c1c"), svg)
    opening = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif"'
    named = coloured.replace("<svg", opening, 1)
    end = named.index(">") + 1
    paper = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return f"{named[:end]}{paper}{named[end:]}"
