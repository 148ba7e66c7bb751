"""Every combining rule and edge worked by hand, and coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.randomness import stream
from understudy.utility.combining import interval_overlap, quantile, significance

# Quantiles from printed tables of the t and normal distributions.
T_975 = {2: 4.302653, 8: 2.306004}
Z_975 = 1.959964


def test_partial_rule_by_hand() -> None:
    # q = 2, u = 1/3, b = 1, m = 3: T = 1/3 + 1/3, df = 2 (1 + 1)^2 = 8
    combined = us.combine_estimates([1.0, 2.0, 3.0], [1 / 6, 1 / 3, 1 / 2])
    assert float(combined.estimate) == 2.0
    assert float(combined.within) == pytest.approx(1 / 3)
    assert float(combined.between) == 1.0
    assert float(combined.variance) == pytest.approx(2 / 3)
    assert float(combined.degrees_of_freedom) == pytest.approx(8)
    assert float(combined.upper) == pytest.approx(2 + T_975[8] * math.sqrt(2 / 3), rel=1e-6)
    assert float(combined.lower) == pytest.approx(2 - T_975[8] * math.sqrt(2 / 3), rel=1e-5)
    assert not combined.negative
    assert combined.covariance is None
    assert combined.sets == 3


def test_full_rule_by_hand() -> None:
    # b = 4, u = 1/3, m = 3: T = 4/3 * 4 - 1/3 = 5, df = 2 (1 - (1/3)/(16/3))^2 = 1.7578125
    combined = us.combine_estimates([0.0, 2.0, 4.0], [1 / 3] * 3, rule="full")
    assert float(combined.variance) == pytest.approx(5.0)
    assert float(combined.degrees_of_freedom) == pytest.approx(2 * (15 / 16) ** 2)
    assert not combined.negative


def test_full_rule_with_a_negative_variance_falls_back_and_says_so() -> None:
    # b = 0.01, u = 1, m = 3: T = 4/3 * 0.01 - 1 < 0
    combined = us.combine_estimates([0.9, 1.0, 1.1], [1.0, 1.0, 1.0], rule="full")
    assert bool(combined.negative)
    assert float(combined.variance) == 1.0
    assert float(combined.degrees_of_freedom) == math.inf
    assert float(combined.upper) == pytest.approx(1 + Z_975, rel=1e-6)
    assert "negative variance" in repr(combined)
    assert "negative" not in repr(us.combine_estimates([1.0, 2.0], [0.1, 0.1]))


def test_no_variance_between_sets_is_normal() -> None:
    partial = us.combine_estimates([0.1, 0.1, 0.1], [0.04, 0.04, 0.04])
    assert float(partial.degrees_of_freedom) == math.inf
    assert float(partial.between) == 0.0
    assert float(partial.upper) == pytest.approx(0.1 + Z_975 * 0.2, rel=1e-6)
    full = us.combine_estimates([0.1, 0.1, 0.1], [0.04, 0.04, 0.04], rule="full")
    assert bool(full.negative)
    assert float(full.variance) == pytest.approx(0.04)


def test_no_variance_within_sets() -> None:
    # u = 0, b = 1, m = 3: T = 1/3, df = 2
    combined = us.combine_estimates([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    assert float(combined.variance) == pytest.approx(1 / 3)
    assert float(combined.degrees_of_freedom) == 2.0
    assert float(combined.upper) == pytest.approx(2 + T_975[2] / math.sqrt(3), rel=1e-5)
    nothing = us.combine_estimates([1.0, 1.0], [0.0, 0.0], rule="full")
    assert float(nothing.variance) == 0.0
    assert not nothing.negative
    # A full variance of exactly zero: b (1 + 1/m) = u
    balanced = us.combine_estimates([0.0, 2.0], [3.0, 3.0], rule="full")
    assert float(balanced.variance) == 0.0
    assert float(balanced.degrees_of_freedom) == math.inf


def test_vectors_are_combined_one_by_one() -> None:
    estimates = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    variances = np.array([[0.5, 0.2], [0.5, 0.2], [0.5, 0.2]])
    combined = us.combine_estimates(estimates, variances)
    assert combined.variance.tolist() == pytest.approx([5 / 6, 0.2])
    assert combined.degrees_of_freedom.tolist() == pytest.approx([12.5, math.inf])
    for index in range(2):
        alone = us.combine_estimates(estimates[:, index], variances[:, index])
        assert float(alone.lower) == pytest.approx(combined.lower[index])


def test_covariance_matrices_are_combined_as_matrices() -> None:
    estimates = np.array([[1.0, 0.0], [3.0, 2.0]])
    matrices = np.array([[[1.0, 0.5], [0.5, 2.0]]] * 2)
    combined = us.combine_estimates(estimates, matrices)
    # B = [[2, 2], [2, 2]]; T = U + B / 2
    assert combined.covariance is not None
    assert combined.covariance.tolist() == [[2.0, 1.5], [1.5, 3.0]]
    np.testing.assert_allclose(combined.variance, [2.0, 3.0])
    full = us.combine_estimates(estimates, matrices, rule="full")
    assert full.covariance is not None
    assert full.covariance.tolist() == [[2.0, 2.5], [2.5, 1.0]]


def test_one_set_is_refused() -> None:
    with pytest.raises(InputError, match="at least 2 synthetic sets"):
        us.combine_estimates([1.0], [0.5])
    with pytest.raises(InputError, match="at least 2 synthetic sets"):
        us.combine_estimates(np.ones((1, 3)), np.ones((1, 3)), rule="full")


@pytest.mark.parametrize(
    ("estimates", "variances"),
    [
        ([1.0, 2.0], [0.5]),
        ([[1.0], [2.0]], [[0.5, 0.5], [0.5, 0.5]]),
        (1.0, 0.5),
        ([1.0, math.nan], [0.5, 0.5]),
        ([1.0, 2.0], [0.5, -0.5]),
        ([1.0, 2.0], [0.5, math.inf]),
        (["a", "b"], [0.5, 0.5]),
        ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]]),
    ],
)
def test_wrong_numbers_are_told(estimates: object, variances: object) -> None:
    with pytest.raises(InputError, match="Expected"):
        us.combine_estimates(estimates, variances)


@pytest.mark.parametrize(
    ("matrix", "word"),
    [
        ([[1.0, math.nan], [math.nan, 2.0]], "finite"),
        ([[1.0, math.inf], [math.inf, 2.0]], "finite"),
        ([[1.0, 0.5], [0.4, 2.0]], "symmetric"),
        ([[1.0, 0.5], [0.0, 2.0]], "symmetric"),
        ([[1.0, 1.5], [1.5, 2.0]], "correlations"),
        ([[0.0, 0.1], [0.1, 2.0]], "correlations"),
        ([[-1.0, 0.1], [0.1, 2.0]], "not negative"),
    ],
)
def test_covariance_matrices_are_checked_as_a_whole(matrix: list[list[float]], word: str) -> None:
    fine = [[1.0, 0.5], [0.5, 2.0]]
    estimates = np.array([[1.0, 0.0], [3.0, 2.0]])
    with pytest.raises(InputError, match=word):
        us.combine_estimates(estimates, [fine, matrix])
    rounded = [[1.0, 0.5 + 1e-12], [0.5, 2.0]]
    assert us.combine_estimates(estimates, [fine, rounded]).covariance is not None


def test_wrong_settings_are_told() -> None:
    for rule in ("some", 3):
        with pytest.raises(SettingError, match=r"partial.*full"):
            us.combine_estimates([1.0, 2.0], [0.5, 0.5], rule=rule)  # type: ignore[arg-type]
    for level in (0, 1, 95, "high", True):
        with pytest.raises(SettingError, match="confidence level"):
            us.combine_estimates([1.0, 2.0], [0.5, 0.5], level=level)  # type: ignore[arg-type]


def test_quantiles_are_those_of_printed_tables() -> None:
    quantiles = quantile(np.array([2.0, 8.0, np.inf]), 0.95)
    assert quantiles.tolist() == pytest.approx([T_975[2], T_975[8], Z_975], rel=1e-6)


def test_overlap_by_hand() -> None:
    low, high = np.array([0.0, 0.0, 0.0, 1.0, 1.0]), np.array([2.0, 2.0, 1.0, 1.0, 1.0])
    other_low, other_high = np.array([0.0, 1.0, 3.0, 1.0, 0.0]), np.array([2.0, 5.0, 4.0, 1.0, 2.0])
    overlap = interval_overlap(low, high, other_low, other_high)
    # equal; 1 of 2 and 1 of 4; a gap of 2 over lengths 1 and 1; equal points; a point inside
    assert overlap[:4].tolist() == pytest.approx([1.0, 0.375, -2.0, 1.0])
    assert math.isnan(overlap[4])


def test_significance_words() -> None:
    low, high = np.array([1.0, 1.0, -1.0, 1.0, -1.0, -2.0]), np.array([2.0, 2.0, 1.0, 2.0, 1.0, -1])
    other_low = np.array([0.5, -1.0, 1.0, -3.0, -1.0, -3.0])
    other_high = np.array([3.0, 1.0, 2.0, -1.0, 1.0, -0.5])
    words = significance(low, high, other_low, other_high)
    assert words == ["kept", "lost", "gained", "reversed", "none", "kept"]


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(0, 1e3)), min_size=2, max_size=10),
    st.sampled_from(["partial", "full"]),
)
def test_any_estimates_give_a_proper_interval(pairs: list[tuple[float, float]], rule: str) -> None:
    values, variances = zip(*pairs, strict=True)
    combined = us.combine_estimates(values, variances, rule=rule)
    assert float(combined.lower) <= float(combined.estimate) <= float(combined.upper)
    assert float(combined.variance) >= 0
    assert float(combined.degrees_of_freedom) > 0


def test_partial_intervals_cover_when_the_synthesizer_is_right() -> None:
    """Shares of a population, its sample and m sets drawn from the posterior of the right model.

    Per trial: 400 records of 2 groups with a yes/no label; the share of yes in group 1 is the
    quantity. Each of m = 5 sets redraws all labels from a share drawn from its posterior, group by
    group. 2,000 trials: a coverage of 95 % has a standard error of 0.49 %. The interval must cover
    in 93 to 97 % of the trials: a rule with exactly 95 % fails with probability below 1e-4. Taking
    one set's own interval covers in about 73 %, and must fall below 80 %.
    """
    generator = stream(20, "test", "coverage")
    trials, n, m, truth = 2000, 200, 5, 0.3
    sample = generator.binomial(n, truth, trials)  # yes in group 1, whose 200 records are kept
    share = generator.beta(sample[:, None] + 0.5, n - sample[:, None] + 0.5, (trials, m))
    drawn = generator.binomial(n, share) / n  # (trial, set)
    variances = drawn * (1 - drawn) / n
    combined = us.combine_estimates(drawn.T, variances.T)
    covered = ((combined.lower <= truth) & (truth <= combined.upper)).mean()
    reach = Z_975 * np.sqrt(variances[:, 0])
    naive_cover = (np.abs(drawn[:, 0] - truth) <= reach).mean()
    assert naive_cover < 0.80
    assert 0.93 <= covered <= 0.97


def test_full_intervals_cover_when_the_synthesizer_is_right() -> None:
    """Fully synthetic sets: a new population share from the posterior, then a new sample.

    2,000 trials, m = 20. The approximation by t is known to be rough: 92 to 99 % is asked for,
    five standard errors around the 95-97 % that the rule reaches.
    """
    generator = stream(21, "test", "coverage", "full")
    trials, n, m, truth = 2000, 400, 20, 0.4
    sample = generator.binomial(n, truth, trials)
    share = generator.beta(sample[:, None] + 0.5, n - sample[:, None] + 0.5, (trials, m))
    drawn = generator.binomial(n, share) / n
    combined = us.combine_estimates(drawn.T, (drawn * (1 - drawn) / n).T, rule="full")
    covered = ((combined.lower <= truth) & (truth <= combined.upper)).mean()
    assert 0.92 <= covered <= 0.99
