"""Bugs planted in the verdict."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

TESTS = "tests/verdict/test_verdict.py"

MUTANTS = [
    Mutant(
        "verdict: a position counts from Max",
        "verdict/grading.py",
        "return (value - low) / (high - low)",
        "return (high - value) / (high - low)",
        TESTS,
        "position_between",
    ),
    Mutant(
        "verdict: a fraction of a record is above a limit",
        "verdict/risk_reasons.py",
        "own_record_pass * scale + least if",
        "own_record_pass * scale if",
        TESTS,
        "fraction",
    ),
    Mutant(
        "verdict: the best order of tables is judged",
        "verdict/utility_reasons.py",
        "order, worst = max(",
        "order, worst = min(",
        TESTS,
        "worst_order",
    ),
    Mutant(
        "verdict: what chance explains within patterns counts as excess",
        "verdict/utility_reasons.py",
        "max(0.0, within.mean_distance - within.mean_truth_floor)",
        "max(0.0, within.mean_distance)",
        TESTS,
        "within_pattern",
    ),
]
