"""Bugs planted in what is kept of what was measured."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "frontier: the best order of tables counts",
        "findings/frontier_schema.py",
        "return max(self.ratios, key=",
        "return min(self.ratios, key=",
        "tests/frontiers/test_search.py",
        "worst_order",
    ),
    Mutant(
        "survey, noticed: population risk of every intruder as if she knew all",
        "findings/data.py",
        "risk = population_risk(data, known)",
        "risk = population_risk(data)",
        "tests/risk/test_population.py",
        "by_intruder",
    ),
    Mutant(
        "passed: records that are unique anyway are counted as made unique",
        "findings/data.py",
        "((sizes == 1) & shared)",
        "(sizes == 1)",
        "tests/findings/test_findings.py",
        "passed_through_add",
    ),
    Mutant(
        "passed: uniqueness without the kept variables",
        "findings/data.py",
        "pl.len().over(PATTERN, *names)",
        "pl.len().over(*names)",
        "tests/findings/test_findings.py",
        "passed_through_add",
    ),
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
        "tests/findings/test_label_counts.py",
        "by_hand",
    ),
    Mutant(
        "findings: labels that are left out are summed over sets",
        "findings/label_counts.py",
        ".sum() / len(sets)), DIGITS)",
        ".sum()), DIGITS)",
        "tests/findings/test_label_counts.py",
        "by_hand",
    ),
    Mutant(
        "findings: pairs of labels are those of the first set",
        "findings/label_counts.py",
        "mean = table.synthetic.mean(axis=0)  # (cell,)",
        "mean = table.synthetic[0].astype(float)  # (cell,)",
        "tests/findings/test_label_counts.py",
        "by_hand",
    ),
]
