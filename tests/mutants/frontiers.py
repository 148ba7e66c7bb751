"""Bugs planted in the frontier, and in what its points share."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

SEARCH = "frontiers/search.py"
REUSE_DRAWS = "synthesis/reuse_draws.py"
COARSENING = "microdata/coarsening.py"
TESTS = "tests/frontiers/test_search.py"

MUTANTS = [
    Mutant(
        "frontier: the riskiest passing point is recommended",
        SEARCH,
        "_, name, _ = min(converged or passing, key=lambda entry: entry[:2])",
        "_, name, _ = max(converged or passing, key=lambda entry: entry[:2])",
        TESTS,
        "recommended",
    ),
    Mutant(
        "frontier: chains that have not converged count as any other",
        SEARCH,
        "if entry[2].measured.converged is not False]",
        "if entry[2].measured.converged is not None]",
        TESTS,
        "recommended",
    ),
    Mutant(
        "frontier: equal points dominate each other",
        SEARCH,
        "other[1] <= ratio and other[:2] != (position, ratio)",
        "other[1] <= ratio and other[2] != name",
        TESTS,
        "dominated",
    ),
    Mutant(
        "frontier: the pass limit does not draw the search",
        SEARCH,
        "CROSSING = 3.0",
        "CROSSING = 0.3",
        TESTS,
        "halves",
    ),
    Mutant(
        "frontier: another class draw keeps the diagnostics of the first",
        REUSE_DRAWS,
        "summarize = fit.chain_draws, other.summarizer()",
        "summarize = fit.chain_draws, fit.summarizer()",
        TESTS,
        "another_class_draw",
    ),
    Mutant(
        "coarsening: a rule about a part of a merged level forbids all of it",
        COARSENING,
        "if all(old[index] in forbidden",
        "if any(old[index] in forbidden",
        TESTS,
        "merged",
    ),
]
