"""Slow twin of the compiled reading and counting: Python's csv module and a dictionary."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Hashable, Sequence

__all__ = ["count_rows", "read_table"]


def read_table(text: str, delimiter: str = ",") -> tuple[list[str], list[list[str]]]:
    """Read a text table the slow way: its header and its records."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    while rows and not rows[-1]:
        rows.pop()
    return rows[0], rows[1:]


def count_rows(
    rows: Sequence[Sequence[Hashable]],
) -> tuple[list[tuple[Hashable, ...]], list[int], list[int]]:
    """Count distinct rows the slow way: sorted distinct rows, their counts, each row's number."""
    counts = Counter(tuple(row) for row in rows)
    distinct = sorted(counts)
    number_of = {row: number for number, row in enumerate(distinct)}
    return distinct, [counts[row] for row in distinct], [number_of[tuple(row)] for row in rows]
