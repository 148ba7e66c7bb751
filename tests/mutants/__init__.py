"""Planted bugs: each must break a test. ``python -m tests.mutants [WORD]`` shows all are caught.

Every mutant is one change of a few characters in a copy of the package, listed in the file of its
folder. The tests named beside it are run on the copy and must fail; before that they are run on an
unchanged copy and must pass.
"""

from __future__ import annotations

from tests.mutants import (
    areal,
    backoff,
    dpmpm,
    findings,
    formal_dirichlet,
    frontiers,
    pages,
    publishing,
    reading,
    reproduction,
    risk,
    study,
    survey,
    synthesis,
    utility,
    verdict,
    weights,
)
from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

FOLDERS = (
    reading,
    dpmpm,
    areal,
    weights,
    backoff,
    formal_dirichlet,
    frontiers,
    synthesis,
    risk,
    utility,
    survey,
    findings,
    verdict,
    study,
    pages,
    publishing,
    reproduction,
)
MUTANTS = [mutant for folder in FOLDERS for mutant in folder.MUTANTS]
