"""Bugs planted in the formal Dirichlet."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

FORMAL = "synthesis/formal_dirichlet.py"
PROOF = "tests/statistics/test_formal_dirichlet.py"

MUTANTS = [
    Mutant(
        "formal: every set spends the whole of epsilon",
        FORMAL,
        "sizes / np.expm1(epsilon / sets)",
        "sizes / np.expm1(epsilon)",
        PROOF,
        "largest_log_ratio",
    ),
    Mutant(
        "formal: the prior count of the average pattern for all",
        FORMAL,
        "sizes / np.expm1(epsilon / sets)",
        "sizes.mean() + 0 * sizes / np.expm1(epsilon / sets)",
        PROOF,
        "same",
    ),
    Mutant(
        "formal: records count twice",
        FORMAL,
        "concentrations = counts + prior[:, np.newaxis]",
        "concentrations = 2 * counts + prior[:, np.newaxis]",
        PROOF,
        "largest_log_ratio",
    ),
    Mutant(
        "formal: shares are not drawn but their means",
        FORMAL,
        "shares = generator.standard_gamma(concentrations)",
        "shares = concentrations + 0 * generator.standard_gamma(concentrations)",
        PROOF,
        "enumerated_chances",
    ),
]
