"""Bugs planted in utility: floors, measures, combining rules."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

FLOORS = "utility/noise_floors.py"
FLOOR_TESTS = "tests/utility/test_noise_floors.py"
WITHIN = "utility/within_pattern.py"
WITHIN_TESTS = "tests/utility/test_within_pattern.py"

IMPUTED_TESTS = "tests/utility/test_imputed_sets.py"

MUTANTS = [
    Mutant(
        "imputed files: the partial rule",
        "utility/estimates.py",
        'if self.name != "nested":',
        "if True:",
        IMPUTED_TESTS,
        "complete_records",
    ),
    Mutant(
        "imputed files: sets of one imputation apart",
        "utility/estimates.py",
        "nested = (self.imputations, -1, estimates.shape[1])",
        "nested = (-1, self.imputations, estimates.shape[1])",
        IMPUTED_TESTS,
        "complete_records",
    ),
    Mutant(
        "imputed files: a regression of the files without imputed values",
        "utility/regression/regression_model.py",
        "else filled[name]\n            if name in filled",
        "else self.data.codes(name)\n            if name in filled",
        IMPUTED_TESTS,
        "complete_records",
    ),
    Mutant(
        "imputed files: a kept value that was changed where none is missing",
        "microdata/synthetic_files.py",
        "other = other != holes",
        "other &= False",
        IMPUTED_TESTS,
        "other_files",
    ),
    Mutant(
        "floors: two perfect sets vary as much as one",
        FLOORS,
        "size *= 2  #",
        "size *= 1  #",
        FLOOR_TESTS,
        "large_counts",
    ),
    Mutant(
        "floors: two perfect sets share the angle of one",
        FLOORS,
        "if not between_two:",
        "if True:",
        FLOOR_TESTS,
        "expected_deviation_of_any_sum",
    ),
    Mutant(
        "tables: pairs of perfect sets are compared with the original",
        "utility/tables.py",
        "table_measures(table.counts_of(simulated.other), drawn, table.kept_cell)",
        "table_measures(table.original, drawn, table.kept_cell)",
        FLOOR_TESTS,
        "simulated_pairs",
    ),
    Mutant(
        "within patterns: the shared original is averaged away",
        WITHIN,
        "variance = (shared + (truth_squares - shared) / n_sets) / repeats",
        "variance = truth_squares / n_sets / repeats",
        WITHIN_TESTS,
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
        "verdict: tables are judged against the resampled floor",
        "verdict/grading.py",
        "tables.deviation, tables.truth_floor, strict=True",
        "tables.deviation, tables.noise_floor, strict=True",
        "tests/verdict/test_verdict.py",
        "floor_of_zero",
    ),
]
