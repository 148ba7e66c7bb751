"""Bugs planted in the findings."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

COUNTS = "tests/findings/test_label_counts.py"
OWN = "tests/findings/test_own_record.py"

MUTANTS = [
    Mutant(
        "findings: sets of the same imputation are compared between chains",
        "findings/chains.py",
        "set_chains=drawn.chain if len(drawn.chain) == len(drawn) else ()",
        "set_chains=drawn.chain",
        "tests/study/test_holes_study.py",
        "have_not_met",
    ),
    Mutant(
        "findings: label probabilities that meet their limit are counted as failed",
        "findings/chains.py",
        "n_cells_failed=sum(not row.converged for row in cells)",
        "n_cells_failed=sum(row.converged for row in cells)",
        "tests/findings/test_findings.py",
        "chains",
    ),
    Mutant(
        "findings: the lowest count of a label is its highest",
        "findings/label_counts.py",
        "lowest=tuple(drawn.min(axis=0).tolist())",
        "lowest=tuple(drawn.max(axis=0).tolist())",
        COUNTS,
        "by_hand",
    ),
    Mutant(
        "findings: labels that are left out are summed over sets",
        "findings/label_counts.py",
        ".sum() / len(sets)), DIGITS)",
        ".sum()), DIGITS)",
        COUNTS,
        "by_hand",
    ),
    Mutant(
        "findings: pairs of labels are those of the first set",
        "findings/label_counts.py",
        "mean = table.synthetic.mean(axis=0)  # (cell,)",
        "mean = table.synthetic[0].astype(float)  # (cell,)",
        COUNTS,
        "by_hand",
    ),
]
