"""Bugs planted in risk: baselines, attacks, importance weights, own-record effects."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

OWN_RECORD_TESTS = "tests/risk/test_own_record.py"
KERNELS = "risk/left_out_kernels.py"

MUTANTS = [
    Mutant(
        "others: the record's own label stays in",
        "microdata/label_table.py",
        "table[np.flatnonzero(present), own[present]] -= 1.0",
        "table[np.flatnonzero(present), own[present]] -= 0.0",
        "tests/risk/test_baselines.py",
        "leaves_the_record_out",
    ),
    Mutant(
        "attacks: tied labels all count in full",
        "risk/attacks.py",
        "chance = modal / np.maximum(n_tied[cells], 1)",
        "chance = modal / 1",
        "tests/risk/test_attribute.py",
        "guess",
    ),
    Mutant(
        "matching: all files hide the risk of one",
        "risk/identification.py",
        "return max(self.expected_match_risk, self.joint.expected_match_risk)",
        "return self.joint.expected_match_risk",
        "tests/risk/test_joint.py",
        "never_below",
    ),
    Mutant(
        "weights: the record counts twice instead of not at all",
        "risk/left_out_draws.py",
        "smooth_weights(-np.log(np.maximum(likelihood, 1e-300)))",
        "smooth_weights(np.log(np.maximum(likelihood, 1e-300)))",
        OWN_RECORD_TESTS,
        "enumeration",
    ),
    Mutant(
        "weights: smoothed at the wrong quantiles",
        "risk/pareto_smoothing.py",
        "levels = (np.arange(size)[:, None] + 0.5) / size",
        "levels = (np.arange(size)[:, None] + 0.1) / size",
        "tests/risk/test_pareto_smoothing.py",
        "arviz",
    ),
    Mutant(
        "matching without the record: it still counts among the others",
        KERNELS,
        "others += (sizes[own] - 1) * np.log1p(-left_out",
        "others += sizes[own] * np.log1p(-left_out",
        OWN_RECORD_TESTS,
        "all_files_that_can_be_drawn",
    ),
    Mutant(
        "matching all files: the replaced row is still there",
        KERNELS,
        "candidates -= 1",
        "candidates -= 0",
        OWN_RECORD_TESTS,
        "rows_replaced",
    ),
    Mutant(
        "refits: what they say is not used",
        "risk/left_out_draws.py",
        "without[:, column] = value",
        "pass",
        OWN_RECORD_TESTS,
        "refitted",
    ),
    Mutant(
        "control group: members are compared with themselves",
        "risk/left_out_sets.py",
        "return Chances(with_record, mean[attacked.pattern],",
        "return Chances(with_record, with_record,",
        OWN_RECORD_TESTS,
        "control_group_tells",
    ),
    Mutant(
        "attribution: TCAP over disclosive keys only",
        "risk/attribution.py",
        '"tcap": float(correct / in_set) if in_set else None',
        '"tcap": float(correct / disclosed) if disclosed else None',
        "tests/risk/test_attribution.py",
        "synthpop",
    ),
    Mutant(
        "informed intruder: what she knew before counts as news",
        "risk/informed_intruder.py",
        "ratio += np.log(with_file) - np.log(without_files)",
        "ratio += np.log(with_file)",
        "tests/risk/test_informed_intruder.py",
        "closed_form",
    ),
    Mutant(
        "prediction: totals count as gain",
        "risk/prediction.py",
        "gain = (confidence - share) /",
        "gain = confidence /",
        "tests/risk/test_prediction.py",
        "own_shares",
    ),
    Mutant(
        "fully synthetic: new people repeat as many as a sample of the records",
        "risk/fully_synthetic.py",
        "rate = 2.0 * twice / max(int(unique.sum()), 1)",
        "rate = 1.0",
        "tests/risk/test_fully_synthetic.py",
        "excuse_each_other",
    ),
    Mutant(
        "verdict: copies of the original pass",
        "verdict/risk_reasons.py",
        "if risk.copies or _above_perfect(risk, least):",
        "if False:",
        "tests/verdict/test_verdict.py",
        "hold_the_data",
    ),
    Mutant(
        "sampled people: the sampling error is too small",
        "risk/sampled_people.py",
        "variance = float(residuals @ residuals) / (k - 1)",
        "variance = float(residuals @ residuals) / k",
        "tests/risk/test_sampled_people.py",
    ),
    Mutant(
        "sampled people: intruders who know less find nobody outside",
        "risk/sampled_people.py",
        "if all(name in known for known in knowledge)",
        "if any(name in known for known in knowledge)",
        "tests/risk/test_sampled_people.py",
    ),
    Mutant(
        "sampled people: a refit leaves out nobody of the whole data",
        "risk/sampled_people.py",
        "whole = leave_out(people.fitted, first[people.combinations[missing > 0]])",
        "whole = people.fitted",
        "tests/risk/test_sampled_people.py",
    ),
]
