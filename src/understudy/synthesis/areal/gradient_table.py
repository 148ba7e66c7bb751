"""Log p and its slopes on a coarse grid, in single precision: what trajectories are steered by.

A leapfrog trajectory stays reversible and keeps volumes whatever pushes it, as long as the push
depends on the position alone. So it need not be the slope of the density: errors cost acceptance,
not exactness. The table is a tenth of the size of the pieces that densities are made from, and
turning to another precision is one pass over it.

Arguments of `_blend`: `tables` float32 (slot, distinct count, node, 3), `slots` int64 (4,) of them
with `shares` float32 (4,), and what is filled as in `ForceTable`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled

__all__ = ["ForceTable", "missing_numbers", "new_force_table", "turn"]

PER_UNIT = 5  # means on the grid, per unit
PER_LOG = 8  # precisions with tables, per unit of their logarithm
NEAR = 4  # of them that a precision between them is interpolated from
SLOTS = 24  # of them that are remembered


class ForceTable(NamedTuple):
    """Log p, its slope and its bend, by mean and precision, to about 1e-4.

    A memory and nothing else: what is in it never changes a result.
    """

    means: NDArray[np.float64]  # (node,) of log rates, evenly spaced
    numbers: NDArray[np.int64]  # (slot,) of the precisions whose tables lie there
    tables: NDArray[np.float32]  # (slot, distinct count, node, 3)
    log_precision: NDArray[np.float64]  # (1,) the present one
    table: NDArray[np.float32]  # (distinct count, node, 3) at the present one
    best: NDArray[np.float64]  # (distinct count,) highest log p in the table


def new_force_table(n_counts: int, lowest: float, highest: float) -> ForceTable:
    """Make an empty table for means between two ends."""
    n_nodes = int(np.ceil((highest - lowest) * PER_UNIT)) + 1
    return ForceTable(
        means=lowest + np.arange(n_nodes) / PER_UNIT,
        numbers=np.full(SLOTS, np.iinfo(np.int64).min),
        tables=np.zeros((SLOTS, n_counts, n_nodes, 3), dtype=np.float32),
        log_precision=np.full(1, np.nan),
        table=np.zeros((n_counts, n_nodes, 3), dtype=np.float32),
        best=np.zeros(n_counts),
    )


def _first_number(log_precision: float) -> int:
    """Give the number of the first of the precisions around one."""
    return int(np.floor(log_precision * PER_LOG)) - NEAR // 2 + 1


def missing_numbers(forces: ForceTable, log_precision: float) -> list[tuple[int, int, float]]:
    """List what is to be filled before turning to a precision: slot, number, precision."""
    first = _first_number(log_precision)
    return [
        (number % SLOTS, number, float(np.exp(number / PER_LOG)))
        for number in range(first, first + NEAR)
        if forces.numbers[number % SLOTS] != number
    ]


def turn(forces: ForceTable, log_precision: float) -> None:
    """Interpolate the table of a precision from those around it, none of which is missing."""
    if forces.log_precision[0] == log_precision:
        return
    first = _first_number(log_precision)
    along = log_precision * PER_LOG - first
    near = np.arange(NEAR)
    shares = [
        np.prod([(along - other) / (point - other) for other in near[near != point]])
        for point in near
    ]
    slots = (first + near) % SLOTS
    _blend(forces.tables, slots, np.array(shares, dtype=np.float32), forces.table, forces.best)
    forces.log_precision[0] = log_precision


@compiled
def _blend(tables, slots, shares, table, best):  # type: ignore[no-untyped-def]
    """Fill the table with the weighted sum of four, and best with its highest log p by count."""
    first, second, third, fourth = (
        tables[slots[0]],
        tables[slots[1]],
        tables[slots[2]],
        tables[slots[3]],
    )
    for count in range(table.shape[0]):
        highest = -np.inf
        for node in range(table.shape[1]):
            for order in range(3):
                table[count, node, order] = (
                    shares[0] * first[count, node, order]
                    + shares[1] * second[count, node, order]
                    + shares[2] * third[count, node, order]
                    + shares[3] * fourth[count, node, order]
                )
            highest = max(highest, table[count, node, 0])
        best[count] = highest
