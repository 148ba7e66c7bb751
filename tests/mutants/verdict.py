"""Bugs planted in the decision."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "verdict: copies of the original pass",
        "verdict/risk_reasons.py",
        "if risk.copies or _above_perfect(risk, least):",
        "if False:",
        "tests/verdict/test_risk_reasons.py",
        "hold_the_data",
    ),
    Mutant(
        "verdict: a fraction of a record is above a limit",
        "verdict/risk_reasons.py",
        "own_record_pass * attack.scale + least if",
        "own_record_pass * attack.scale if",
        "tests/verdict/test_risk_reasons.py",
        "fraction",
    ),
    Mutant(
        "verdict: tables are judged against the resampled floor",
        "verdict/grading.py",
        "tables.deviation, tables.truth_floor, strict=True",
        "tables.deviation, tables.noise_floor, strict=True",
        "tests/verdict/test_utility_reasons.py",
        "floor_of_zero",
    ),
    Mutant(
        "verdict: a position counts from Max",
        "verdict/grading.py",
        "return (value - low) / (high - low)",
        "return (high - value) / (high - low)",
        "tests/verdict/test_verdict.py",
        "position_between",
    ),
    Mutant(
        "survey, noticed: a column of names passes where all are alone already",
        "verdict/data_reasons.py",
        'if outcome == "pass" and not all(column.weight for column in own):',
        "if False:",
        "tests/verdict/test_data_reasons.py",
        "all_are_alone_already",
    ),
    Mutant(
        "verdict: the best order of tables is judged",
        "verdict/utility_reasons.py",
        "order, worst = max(",
        "order, worst = min(",
        "tests/verdict/test_utility_reasons.py",
        "worst_order",
    ),
    Mutant(
        "verdict: what chance explains within patterns counts as excess",
        "verdict/utility_reasons.py",
        "max(0.0, within.mean_distance - within.mean_truth_floor)",
        "max(0.0, within.mean_distance)",
        "tests/verdict/test_utility_reasons.py",
        "within_pattern",
    ),
]
