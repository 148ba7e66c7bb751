"""Bugs planted in pages."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "guarantee: the report claims it whatever declares the levels",
        "pages/sections/section_words.py",
        "    if undeclared:",
        "    if undeclared == 0:",
        "tests/pages/test_own_record_section.py",
        "guarantee",
    ),
    Mutant(
        "release: remarks stay in pictures",
        "pages/plots/png.py",
        "if kind in KEPT:",
        "if kind:",
        "tests/publishing/test_public_folder.py",
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
