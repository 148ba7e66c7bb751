"""What a planted bug is."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Mutant"]


class Mutant(NamedTuple):
    """One planted bug, and the tests that must notice it."""

    what: str
    file: str  # within the package
    old: str  # text that occurs in the file; its first occurrence is changed
    new: str
    tests: str
    only: str = ""  # the tests' names, as pytest's -k has them
