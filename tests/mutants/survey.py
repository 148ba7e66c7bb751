"""Bugs planted in what agencies' files have: weights, columns that pass through, impossible rows.

Those of the DPMPM's impossible combinations and holes are with the DPMPM's others.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

DESIGN = "microdata/survey_design.py"
WEIGHTED = "utility/weighted_utility.py"
WEIGHTED_TESTS = "tests/utility/test_weighted_utility.py"
POPULATION = "risk/population.py"
POPULATION_TESTS = "tests/risk/test_population.py"
READING = "microdata/reading.py"
PASSED_TESTS = "tests/microdata/test_passed_columns.py"
FINDINGS = "findings/data.py"
FINDINGS_TESTS = "tests/findings/test_findings.py"
EVALUATE_TESTS = "tests/cli/test_evaluate.py"
ZEROS = "microdata/structural_zeros.py"
GIBBS = "synthesis/backoff/gibbs.py"
GRID = "tests/statistics/test_backoff_structural_zeros.py"
FITS = "tests/synthesis/test_structural_zeros.py"

MUTANTS = [
    Mutant(
        "survey, parts: weights and strata are called ignored",
        "microdata/roles.py",
        "if name not in used | passed | of_design)",
        "if name not in used | passed)",
        "tests/cli/test_first_plan.py",
        "are_not_ignored",
    ),
    Mutant(
        "survey, memory: every set has a copy of the columns that pass through",
        "microdata/table.py",
        "else passed.frame[name] for name",
        "else passed.frame[name].reverse().reverse() for name",
        PASSED_TESTS,
        "share_them",
    ),
    Mutant(
        "survey, memory: a release holds the shuffled columns of every set",
        "publishing/data_files.py",
        "true = passed[rows]",
        "true = write_set.__dict__.setdefault(path.name, passed[rows])",
        "tests/publishing/test_real_study.py",
        "joined_at_writing",
    ),
    Mutant(
        "survey, noticed: replicate weights are not in the digest",
        "microdata/table.py",
        "if self.survey.replicates is not None:",
        "if False:",
        "tests/microdata/test_table.py",
        "replicate_weights",
    ),
    Mutant(
        "survey, noticed: a column of names passes where all are alone already",
        "verdict/data_reasons.py",
        'if outcome == "pass" and not all(column.weight for column in own):',
        "if False:",
        "tests/verdict/test_verdict.py",
        "all_are_alone_already",
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
        "survey, noticed: a weight of new people",
        "microdata/roles.py",
        "if design and wanted and not stay:",
        "if False:",
        "tests/microdata/test_passed_columns.py",
        "cannot_pass",
    ),
    Mutant(
        "survey: units vary with n in place of n - 1",
        DESIGN,
        "sizes / np.maximum(sizes - 1, 1)",
        "sizes / np.maximum(sizes, 1)",
        WEIGHTED_TESTS,
        "by_hand or usual_error",
    ),
    Mutant(
        "survey: a stratum with one unit does not vary",
        DESIGN,
        "        means[alone] = totals.mean(axis=0)\n",
        "",
        WEIGHTED_TESTS,
        "one_unit",
    ),
    Mutant(
        "survey: units of different strata with one name are one unit",
        DESIGN,
        '.with_columns(pl.Series("_row", stratum))',
        "",
        WEIGHTED_TESTS,
        "by_hand",
    ),
    Mutant(
        "survey: a jackknife's factor upside down",
        DESIGN,
        '"jk1": (n_replicates - 1) / n_replicates',
        '"jk1": n_replicates / (n_replicates - 1)',
        WEIGHTED_TESTS,
        "jackknife or factors",
    ),
    Mutant(
        "survey: Fay's coefficient is not squared",
        DESIGN,
        "(1 - self.fay) ** 2",
        "(1 - self.fay)",
        WEIGHTED_TESTS,
        "factors",
    ),
    Mutant(
        "survey: replicates deviate from nothing",
        DESIGN,
        "(self.replicates[chosen] - weights[:, None]).T @ parts",
        "self.replicates[chosen].T @ parts",
        WEIGHTED_TESTS,
        "totals_of_replicates",
    ),
    Mutant(
        "survey: records without the response are no units any more",
        "utility/regression/design_based.py",
        "survey.covariance(scores, records)",
        "survey.only(np.isin(np.arange(survey.weights.size), records)).covariance(scores)",
        WEIGHTED_TESTS,
        "keep_their_units",
    ),
    Mutant(
        "survey: shares are not weighted",
        WEIGHTED,
        "np.bincount(codes, weights=survey.weights, minlength=n_levels) / total",
        "np.bincount(codes, minlength=n_levels) / codes.size",
        WEIGHTED_TESTS,
        "by_hand",
    ),
    Mutant(
        "survey: weighted tables count people, not records",
        WEIGHTED,
        "weights * (data.n_records / weights.sum())",
        "weights",
        WEIGHTED_TESTS,
        "copy_and_of_perfect",
    ),
    Mutant(
        "survey: sample uniques are population uniques with their risk",
        POPULATION,
        "population_uniques=float(sampled[alone].sum())",
        "population_uniques=float(risk[alone].sum())",
        POPULATION_TESTS,
        "by_hand",
    ),
    Mutant(
        "survey: the function that is not finite for large patterns",
        POPULATION,
        "LARGE, N_TERMS = 20, 80",
        "LARGE, N_TERMS = 10**7, 80",
        POPULATION_TESTS,
        "finite",
    ),
    Mutant(
        "survey: files show the weight's group",
        READING,
        "bins.group_names, released=False",
        "bins.group_names, released=True",
        WEIGHTED_TESTS,
        "not_shown",
    ),
    Mutant(
        "passed: records that are dropped stay in the columns",
        READING,
        "passed = replace(passed, frame=passed.frame.filter(pl.Series(stay)))",
        "passed = replace(passed, frame=passed.frame.head(int(stay.sum())))",
        PASSED_TESTS,
        "dropped",
    ),
    Mutant(
        "passed: their values are no part of what the data are",
        "microdata/table.py",
        "digest.update(self.passed.digest())",
        'digest.update(b"passed")',
        PASSED_TESTS,
        "other_data",
    ),
    Mutant(
        "passed: records that are unique anyway are counted as made unique",
        FINDINGS,
        "((sizes == 1) & shared)",
        "(sizes == 1)",
        FINDINGS_TESTS,
        "passed_through_add",
    ),
    Mutant(
        "passed: uniqueness without the kept variables",
        FINDINGS,
        "pl.len().over(PATTERN, *names)",
        "pl.len().over(*names)",
        FINDINGS_TESTS,
        "passed_through_add",
    ),
    Mutant(
        "passed: the release joins them in the order of the source",
        "publishing/data_files.py",
        "true = passed[rows]",
        "true = passed",
        "tests/publishing/test_real_study.py",
        "tokens",
    ),
    Mutant(
        "passed: other values in the files of another tool are no remark",
        "microdata/file_remarks.py",
        "original.eq_missing(drawn).all()",
        "True",
        EVALUATE_TESTS,
        "must_be_those",
    ),
    Mutant(
        "impossible rows: a level is possible until more than everything is impossible",
        ZEROS,
        "sum(volumes[of_level]) < whole",
        "sum(volumes[of_level]) <= whole",
        GRID,
        "completed",
    ),
    Mutant(
        "impossible rows: the tree's marginal counts what is impossible",
        GIBBS,
        "log_rising(concentration * possible[node], totals[node])",
        "log_rising(concentration, totals[node])",
        GRID,
        "on_a_grid",
    ),
    Mutant(
        "impossible rows: larger groups do not hear of what was impossible",
        GIBBS,
        "        records[pair] += taken\n",
        "        records[pair] += 0 * taken\n",
        GRID,
        "on_a_grid",
    ),
    Mutant(
        "impossible rows: extra tables without the concentration",
        GIBBS,
        "expected = concentration * (whole - first)",
        "expected = (whole - first)",
        GRID,
        "mean_of_their_definition",
    ),
    Mutant(
        "impossible rows: a node's other labels take what is impossible in it",
        GIBBS,
        "total, left = 0.0, share_possible(forest, node, probability)",
        "total, left = 0.0, 1.0",
        GRID,
        "whole_rows",
    ),
    Mutant(
        "impossible rows: label distributions of groups with all labels",
        "synthesis/backoff/labels.py",
        "rows[row, forest.pair_label[forest.excluded[index]]] = 0.0",
        "rows[row, forest.pair_label[forest.excluded[index]]] += 0.0",
        GRID,
        "on_a_grid",
    ),
    Mutant(
        "impossible rows: leaves whose records differ in what is possible",
        "synthesis/backoff/tree.py",
        "split = gaining or _separating(rows, node)",
        "split = gaining",
        FITS,
        "other_models",
    ),
    Mutant(
        "impossible rows: later variables take what their group has",
        "synthesis/backoff/labels.py",
        "if tree == 0 or not data.impossible:",
        "if True:",
        FITS,
        "occur_nowhere",
    ),
    Mutant(
        "impossible rows: nobody goes up where a group has nothing that is possible",
        "synthesis/backoff/possible.py",
        "            ends[pair] = forest.parent[ends[pair]]\n",
        "            break\n",
        FITS,
        "occur_nowhere",
    ),
    Mutant(
        "impossible rows: counted as zeros by the DP-areal",
        "synthesis/areal/problem.py",
        "if impossible is None else ~impossible.ravel()",
        "if impossible is None else impossible.ravel() >= 0",
        "tests/synthesis/test_areal.py",
        "one_cluster",
    ),
    Mutant(
        "impossible rows: a prior count in the formal Dirichlet",
        "synthesis/formal_dirichlet.py",
        "concentrations[impossible_labels(data)] = 0.0",
        "concentrations[impossible_labels(data)] += 0.0",
        FITS,
        "other_models",
    ),
]
