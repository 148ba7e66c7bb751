"""Bugs planted in the reproduction."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "reproduction: a range covers one value more than it does",
        "reproduction/cell_comparison.py",
        "Fraction(max(count - 1, 0), count + 1)",
        "Fraction(max(count, 0), count + 1)",
        "tests/reproduction/test_cell_comparison.py",
        "range_covers",
    ),
    Mutant(
        "reproduction: undefined values count as zero",
        "reproduction/cell_comparison.py",
        "    defined = [value for value in values if value is not None]\n    return float",
        "    defined = [value or 0.0 for value in values]\n    return float",
        "tests/reproduction/test_cell_comparison.py",
        "mean_over_some_sets or inside_allows",
    ),
    Mutant(
        "reproduction: deviations are percentages on one side only",
        "reproduction/measures.py",
        'value / 100 for value in rows["deviation"]',
        'value for value in rows["deviation"]',
        "tests/reproduction/test_measures.py",
        "cells_are_the_measures",
    ),
]
