"""The data's own baselines Min and Max, as `check` shows them."""

from __future__ import annotations

from collections.abc import Mapping

from understudy.cli.options import Names
from understudy.errors import quoted_list
from understudy.microdata.label_rows import perfect_table
from understudy.microdata.label_table import (
    LARGEST_TABLE,
    empirical_labels,
    hole_labels,
    uniform_labels,
)
from understudy.microdata.plausibility import table_size
from understudy.microdata.table import Microdata
from understudy.risk.closed_form import expected_risk

__all__ = ["level_rows", "risk_levels", "void_scales"]

ROUNDING = 1e-9
MOST_NAMED = 4  # variables, if they are all: a table has to fit a terminal


def risk_levels(data: Microdata, known: Names = ()) -> dict[str, tuple[float, float]]:
    """Compute the exact baselines Min and Max of the data.

    Parameters
    ----------
    data : Microdata
        With something to synthesize.
    known : sequence of str
        Kept variables that an intruder knows; all of them when left out.

    Returns
    -------
    dict of str to (float, float)
        By measure; empty where nothing is kept, or where the table of labels would be too large,
        which labels with holes need.
    """
    holes = hole_labels(data).size > 0
    if not data.kept or (holes and table_size(data) > LARGEST_TABLE):
        return {}
    names = data.known(known or data.kept)
    everything = len(names) == len(data.kept) > MOST_NAMED
    words = "all kept variables" if everything else quoted_list(names)
    perfect = empirical_labels if holes else perfect_table
    low, high = (expected_risk(data, labels(data), names) for labels in (uniform_labels, perfect))
    return {
        "records whose synthetic label is the true one": (
            low.attribute_matches,
            high.attribute_matches,
        ),
        f"expected match risk, {words} known": (
            low.expected_match_risk,
            high.expected_match_risk,
        ),
    }


def void_scales(levels: Mapping[str, tuple[float, float]]) -> list[str]:
    """Name the measures for which Min is not below Max, so that no position exists."""
    return [
        f"Min is not below Max for the {name}: a position between them says nothing, and the risk "
        "is only compared with Max."
        for name, (low, high) in levels.items()
        if high <= low * (1 + ROUNDING)
    ]


def level_rows(levels: Mapping[str, tuple[float, float]]) -> list[tuple[str, str, str]]:
    """Write baselines as rows of a table."""
    return [(name, f"{low:,.2f}", f"{high:,.2f}") for name, (low, high) in levels.items()]
