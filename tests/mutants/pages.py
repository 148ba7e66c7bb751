"""Bugs planted in the pages."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

PUBLIC = "tests/publishing/test_public_folder.py"

MUTANTS = [
    Mutant(
        "release: remarks stay in pictures",
        "pages/plots/png.py",
        "if kind in KEPT:",
        "if kind:",
        PUBLIC,
        "remarks",
    ),
    Mutant(
        "pages: cells without a number sort above all",
        "pages/blocks.py",
        "return Cell(missing, sort=LAST)\n    exact",
        "return Cell(missing, sort=0.0)\n    exact",
        "tests/pages/test_blocks.py",
        "empty_cell",
    ),
]
