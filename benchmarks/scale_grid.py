"""Time and peak memory of a whole study, against one size at a time.

``python -m benchmarks.scale_grid [SIZE ...]`` runs `benchmarks.scale` on invented records, each
study in a process of its own: one base, and from it more and fewer records, distinct combinations,
classes, variables and sets. It writes ``docs/research/scale.csv`` and draws ``docs/scale.svg``. Of
sizes that are named (``variables sets``) the points are measured anew and the others kept;
``--smallest`` runs the quickest study alone and writes nothing. Chains are short, 200 first sweeps
and ten kept ones, and the baselines are drawn five times.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.scale import stages_of
from understudy.pages.plots.canvas import LIGHT, drawing, name_series, standalone_svg, svg_of

__all__: list[str] = []

DOCS = Path(__file__).parents[1] / "docs"
BASE = {"records": 100_000, "combinations": 4_000, "classes": 40, "variables": 8, "sets": 5}
VARIED = {
    "records": (10_000, 100_000, 1_000_000),
    "combinations": (1_000, 4_000, 20_000, 80_000),
    "classes": (40, 120, 400),
    "variables": (5, 8, 16),
    "sets": (1, 5, 20),
}
FIXED = {"sweeps": 10, "repeats": 5, "model": "dpmpm"}
PARTS = {  # of a study, by how its stages begin, and their colours
    "reading": ("reading", "soft"),
    "baselines": ("baselines", "formal"),
    "fit": ("fitting", "dpmpm"),
    "own record, sets": ("drawing", "backoff"),
    "utility": ("utility", "areal"),
    "risk": ("risk", "ink"),
}


def measure(sizes: dict[str, int]) -> dict[str, Any]:
    """Run one study: processor seconds by part, their sum, and the most memory of all stages."""
    stages = stages_of({**FIXED, **sizes})
    row: dict[str, Any] = dict(sizes)
    for part, (begin, _) in PARTS.items():
        own = [stage for stage in stages if stage["stage"].startswith(begin)]
        row[part] = round(sum(stage["processor_seconds"] for stage in own), 2)
    row["all, seconds"] = round(sum(stage["processor_seconds"] for stage in stages), 1)
    most = max(stages, key=lambda stage: stage["peak_bytes"])
    row["peak, GB"] = round(most["peak_bytes"] / 1e9, 2)
    row["peak in"] = next(
        (part for part, (begin, _) in PARTS.items() if most["stage"].startswith(begin)),
        most["stage"],
    )
    print(row, flush=True)
    return row


def points(varied: list[str]) -> list[dict[str, int]]:
    """List the sizes of the studies in which one of these is varied, the base once."""
    listed = [BASE] if varied == list(VARIED) else []
    for name in varied:
        listed += [{**BASE, name: value} for value in VARIED[name] if value != BASE[name]]
    return listed


def draw(frame: pl.DataFrame) -> str:
    """Draw processor seconds by part, and peak memory under them, against each size."""
    with drawing(9.4, 4.6, rows=2, columns=len(VARIED), sharey="row") as (figure, axes):
        for column, name in enumerate(VARIED):
            own = frame.filter(
                *(pl.col(other) == value for other, value in BASE.items() if other != name)
            ).sort(name)
            above, below = axes[column], axes[len(VARIED) + column]
            for part, (_, colour) in PARTS.items():
                seconds = np.maximum(own[part].to_numpy(), 0.05)
                above.plot(own[name], seconds, color=LIGHT[colour], marker="o", markersize=2.5)
            below.plot(own[name], own["peak, GB"], color=LIGHT["ink"], marker="o", markersize=2.5)
            for axes_of_one in (above, below):
                axes_of_one.set(xscale="log", yscale="log")
                axes_of_one.minorticks_off()
                axes_of_one.set_xticks(own[name].to_list(), [_short(value) for value in own[name]])
            below.set_xlabel(name)
        names = [(part, LIGHT[colour]) for part, (_, colour) in PARTS.items()]
        axes[0].set_title(" ")  # space for the names, which go on above the other panels
        name_series(axes[0], names)
        for words in axes[0].texts:
            words.set_in_layout(False)
        axes[0].set_ylabel("processor seconds")
        axes[len(VARIED)].set_ylabel("peak memory, GB")
        axes[0].set_yticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
        axes[len(VARIED)].set_yticks([0.5, 1, 2], ["0.5", "1", "2"])
        rows = [
            f"{row['records']:,} records, {row['combinations']:,} combinations, {row['classes']} "
            f"classes, {row['variables']} variables, {row['sets']} sets: {row['all, seconds']} s, "
            f"{row['peak, GB']} GB"
            for row in frame.iter_rows(named=True)
        ]
        title = "Processor seconds and peak memory of a study, against one size at a time"
        return svg_of(figure, "scale", title, "; ".join(rows))


def _short(value: int) -> str:
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value // size}{letter}"
    return str(value)


def main() -> None:
    """Run all studies, and write the table and the picture."""
    if "--smallest" in sys.argv:
        measure({"records": 3_000, "combinations": 400, "classes": 10, "variables": 4, "sets": 2})
        return
    path = DOCS / "research" / "scale.csv"
    asked = points(sys.argv[1:] or list(VARIED))
    rows: list[dict[str, Any]] = []
    if sys.argv[1:]:
        kept = pl.read_csv(path).iter_rows(named=True)
        rows = [row for row in kept if {name: row[name] for name in BASE} not in asked]
    for sizes in asked:
        rows.append(measure(sizes))
        pl.DataFrame(rows).write_csv(path)  # what is there if it is stopped
    picture = standalone_svg(draw(pl.read_csv(path)))
    (DOCS / "scale.svg").write_text(picture + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
