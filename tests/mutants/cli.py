"""Bugs planted in the commands."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "cli: baselines Min and Max are exchanged",
        "cli/baseline_rows.py",
        "for labels in (uniform_labels, perfect))",
        "for labels in (perfect, uniform_labels))",
        "tests/cli/test_commands.py",
        "check",
    ),
    Mutant(
        "cli: draws of a baseline stand where its exact value is known",
        "cli/evaluate.py",
        "return baseline.spreads[name].mean if exact is None else exact",
        "return baseline.spreads[name].mean",
        "tests/cli/test_evaluate.py",
        "values_are_those",
    ),
]
