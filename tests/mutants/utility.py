"""Bugs planted in measures of utility."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "imputed files: the partial rule",
        "utility/estimates.py",
        'if self.name != "nested":',
        "if True:",
        "tests/utility/test_imputed_sets.py",
        "complete_records",
    ),
    Mutant(
        "imputed files: sets of one imputation apart",
        "utility/estimates.py",
        "nested = (self.imputations, -1, estimates.shape[1])",
        "nested = (-1, self.imputations, estimates.shape[1])",
        "tests/utility/test_imputed_sets.py",
        "complete_records",
    ),
    Mutant(
        "imputed files: a regression of the files without imputed values",
        "utility/regression/regression_model.py",
        "else filled[name]\n            if name in filled",
        "else self.data.codes(name)\n            if name in filled",
        "tests/utility/test_imputed_sets.py",
        "complete_records",
    ),
    Mutant(
        "floors: two perfect sets vary as much as one",
        "utility/noise_floors.py",
        "size *= 2  #",
        "size *= 1  #",
        "tests/utility/test_noise_floors.py",
        "large_counts",
    ),
    Mutant(
        "floors: two perfect sets share the angle of one",
        "utility/noise_floors.py",
        "if not between_two:",
        "if True:",
        "tests/utility/test_noise_floors.py",
        "expected_deviation_of_any_sum",
    ),
    Mutant(
        "tables: pairs of perfect sets are compared with the original",
        "utility/tables.py",
        "table_measures(table.counts_of(simulated.other), drawn, table.kept_cell)",
        "table_measures(table.original, drawn, table.kept_cell)",
        "tests/utility/test_noise_floors.py",
        "simulated_pairs",
    ),
    Mutant(
        "within patterns: the shared original is averaged away",
        "utility/within_pattern.py",
        "variance = (shared + (truth_squares - shared) / n_sets) / repeats",
        "variance = truth_squares / n_sets / repeats",
        "tests/utility/test_within_pattern.py",
        "pairs_of_perfect_sets",
    ),
    Mutant(
        "propensity: the null of pairs is the resampled one",
        "utility/propensity.py",
        "zip(other, perfect, strict=True)",
        "zip([table.original] * repeats, perfect, strict=True)",
        "tests/utility/test_propensity.py",
        "ratios_near_one",
    ),
    Mutant(
        "combining: the drawing of labels adds nothing",
        "utility/combining.py",
        "return within + drawing,",
        "return within + 0 * drawing,",
        "tests/utility/test_combining.py",
    ),
    Mutant(
        "survey: records without the response are no units any more",
        "utility/regression/design_based.py",
        "total_covariance(survey, scores, records)",
        "total_covariance(survey.only(np.isin(np.arange(survey.weights.size), records)), scores)",
        "tests/utility/test_weighted_utility.py",
        "keep_their_units",
    ),
    Mutant(
        "survey: shares are not weighted",
        "utility/weighted_utility.py",
        "np.bincount(codes, weights=survey.weights, minlength=n_levels) / total",
        "np.bincount(codes, minlength=n_levels) / codes.size",
        "tests/utility/test_weighted_utility.py",
        "by_hand",
    ),
    Mutant(
        "survey: weighted tables count people, not records",
        "utility/weighted_utility.py",
        "weights * (data.n_records / weights.sum())",
        "weights",
        "tests/utility/test_weighted_utility.py",
        "copy_and_of_perfect",
    ),
]
