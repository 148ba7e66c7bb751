"""What fits show of themselves: quantities with their chains as small lines, and labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.microdata.label_table import LabelTable, combined_labels, split_labels
from understudy.microdata.table import Microdata
from understudy.summaries import estimate_number, number, rhat_number

__all__ = ["chains_described", "label_names", "labels_panel", "level_names", "pattern_names"]


def chains_described(
    title: str, quantities: Mapping[str, NDArray[np.float64]], diagnostics: pl.DataFrame
) -> Described:
    """Describe quantities (chain, draw): posterior mean and deviation, convergence, chains."""
    known = {row["quantity"]: row for row in diagnostics.head(50).iter_rows(named=True)}
    rows = [
        [
            name.replace("_", " "),
            estimate_number(float(values.mean())),
            estimate_number(float(values.std())),
            rhat_number(known[name]["rhat"]),
            number(known[name]["ess_bulk"]),
            ("yes" if known[name]["converged"] else "NO")
            if known[name]["judged"]
            else "not judged",
        ]
        for name, values in quantities.items()
    ]
    failed = int((diagnostics["judged"] & ~diagnostics["converged"]).sum())
    judged = int(diagnostics["judged"].sum())
    return Described(
        title,
        ["quantity", "mean", "s.d.", "R-hat", "ESS", "converged"],
        rows,
        [f"{judged - failed:,} of {judged:,} judged quantities have met their targets"],
        [[chain.tolist() for chain in values] for values in quantities.values()],
        "chains",
    )


def _converged(row: Mapping[str, Any]) -> str:
    if not row["judged"]:
        return "not judged"
    return "yes" if row["converged"] else "NO"


def labels_panel(data: Microdata, table: LabelTable) -> Panel:
    """Lay out how many records are expected to draw each label, beside those that have it."""
    rows = table.row_of_combination
    sizes = np.bincount(rows, data.counts, table.probabilities.shape[0])  # (row,)
    columns = [data.names.index(name) for name in data.synthesized]
    own = combined_labels(data, data.combinations[:, columns])  # (combination,)
    original = np.bincount(own, data.counts, data.n_labels)  # (label,)
    return Panel(
        "records",
        label_names(data, np.arange(data.n_labels)),
        (sizes @ table.probabilities).tolist(),
        references={"original": original.tolist()},
        bars=True,
        values_name="expected",
    )


def pattern_names(data: Microdata) -> list[str]:
    """Name every pattern by its levels."""
    return [_named(data, data.kept, row) for row in data.patterns.codes]


def label_names(data: Microdata, labels: NDArray[np.integer[Any]]) -> list[str]:
    """Name combined labels by their levels."""
    return [_named(data, data.synthesized, row) for row in split_labels(data, labels)]


def level_names(data: Microdata) -> list[str]:
    """Name the levels of all synthesized variables, one variable after the other."""
    return [
        level if len(data.synthesized) == 1 else f"{name} {level}"
        for name in data.synthesized
        for level in data.variable(name).levels
    ]


def _named(data: Microdata, names: Iterable[str], codes: NDArray[np.integer[Any]]) -> str:
    """Write a pattern or a label as text: its levels, one after another."""
    levels = [data.variable(name).levels[code] for name, code in zip(names, codes, strict=True)]
    return " | ".join(levels) if levels else "all"
