"""One picture of several series, each in a panel of its own, without a plotting library."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple

import numpy as np

__all__ = ["Series", "draw_small_multiples"]

COLUMNS, WIDTH, HEIGHT = 3, 290, 170
LEFT, TOP, BOTTOM = 20, 40, 24  # of a panel's curve, within the panel


class Series(NamedTuple):
    """Positive numbers, evenly spaced along the horizontal axis."""

    title: str
    labels: Sequence[str]
    numbers: Sequence[float]


def draw_small_multiples(path: Path, title: str, panels: Sequence[Series]) -> None:
    """Draw all panels with logarithmic vertical axes, every number beside its point."""
    rows = -(-len(panels) // COLUMNS)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {COLUMNS * WIDTH} {rows * HEIGHT}" '
        'role="img" font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
    ]
    for at, panel in enumerate(panels):
        x0, y0 = at % COLUMNS * WIDTH + LEFT, at // COLUMNS * HEIGHT
        base = y0 + HEIGHT - BOTTOM
        logs = np.log(np.asarray(panel.numbers))
        spread = max(float(np.ptp(logs)), np.log(4.0))  # small changes look small
        steps = (WIDTH - 3 * LEFT) / max(1, len(logs) - 1)
        xs = [x0 + 8 + step * steps for step in range(len(logs))]
        ys = base - 8 - (logs - logs.min()) / spread * (HEIGHT - TOP - BOTTOM - 8)
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
        end = x0 + WIDTH - 2 * LEFT
        parts += [
            f'<text x="{x0}" y="{y0 + 14}">{escape(panel.title)}</text>',
            f'<line x1="{x0}" x2="{end}" y1="{base}" y2="{base}" stroke="#888"/>',
            f'<polyline points="{line}" fill="none" stroke="#0072B2" stroke-width="2"/>',
        ]
        for x, y, label, number in zip(xs, ys, panel.labels, panel.numbers, strict=True):
            parts += [
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="#0072B2"/>',
                f'<text x="{x - 8:.1f}" y="{y - 7:.1f}">{number:,.3g}</text>',
                f'<text x="{x - 8:.1f}" y="{base + 14}">{escape(label)}</text>',
            ]
    parts.append("</svg>")
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")
