"""Planted bugs: each must break a test. ``python -m tests.mutants [WORD]`` shows all are caught.

The word may be a folder of the source, such as ``risk/``, or stand in the description.

Every mutant is one change of a few characters in a copy of the package, listed in the file of its
folder. The tests named beside it are run on the copy and must fail; before that they are run on an
unchanged copy and must pass.
"""

from __future__ import annotations

from tests.mutants import (
    areal,
    backoff,
    cli,
    dpmpm,
    dpmpm_samplers,
    findings,
    frontiers,
    microdata,
    pages,
    publishing,
    reproduction,
    risk,
    shared,
    study,
    synthesis,
    utility,
    verdict,
)
from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS", "Mutant"]

FOLDERS = (
    shared,
    microdata,
    synthesis,
    dpmpm,
    dpmpm_samplers,
    areal,
    backoff,
    risk,
    utility,
    findings,
    verdict,
    study,
    frontiers,
    pages,
    publishing,
    reproduction,
    cli,
)
MUTANTS = [mutant for folder in FOLDERS for mutant in folder.MUTANTS]
