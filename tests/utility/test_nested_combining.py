"""The combining rule for imputed and synthesized files."""

from __future__ import annotations

import numpy as np
import pytest

import understudy as us
from understudy.errors import InputError
from understudy.randomness import stream


def test_rule_written_out() -> None:
    values = np.array([[1.0, 2.0, 6.0], [4.0, 5.0, 9.0]])  # means 3 and 6, variances 7 and 7
    combined = us.combine_nested_estimates(values, np.full((2, 3), 0.5))
    total = 1.5 * 4.5 - 7 / 3 + 0.5
    assert float(combined.estimate) == 4.5
    assert float(combined.variance) == pytest.approx(total)
    freedom = 1 / ((1.5 * 4.5) ** 2 / total**2 + (7 / 3) ** 2 / (4 * total**2))
    assert float(combined.degrees_of_freedom) == pytest.approx(freedom)
    assert "6 sets" in repr(combined)


def test_without_drawing_it_is_multiple_imputation() -> None:
    """Sets of an imputation that are alike: Rubin's rule."""
    values = np.repeat([[1.0], [2.0], [4.0]], 2, axis=1)
    combined = us.combine_nested_estimates(values, np.ones((3, 2)))
    between = np.var([1.0, 2.0, 4.0], ddof=1)
    assert float(combined.variance) == pytest.approx(1 + (4 / 3) * between)
    rubin = 2 * (1 + 1 / ((4 / 3) * between)) ** 2
    assert float(combined.degrees_of_freedom) == pytest.approx(rubin)


def test_a_variance_that_would_be_too_small_is_replaced() -> None:
    combined = us.combine_nested_estimates([[0.0, 8.0], [8.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]])
    assert float(combined.variance) == 1.0
    assert "upper" in repr(combined)


def test_intervals_cover() -> None:
    """A mean of 40 values, 12 missing: values imputed, then all redrawn around their mean.

    1,000 repeats, m = 5, r = 3: 95 % intervals cover at least 92.5 % (false-alarm rate 3e-4 where
    they cover 95 %) and at most 98.5 %.
    """
    generator = stream(7, "coverage")
    covered = 0
    for _ in range(1_000):
        seen = generator.normal(0.0, 1.0, 28)
        estimates, variances = np.empty((5, 3)), np.empty((5, 3))
        for nest in range(5):
            sigma = np.sqrt(27 * seen.var(ddof=1) / generator.chisquare(27))
            mean = generator.normal(seen.mean(), sigma / np.sqrt(28))
            whole = np.append(seen, generator.normal(mean, sigma, 12))
            for number in range(3):
                spread = np.sqrt(39 * whole.var(ddof=1) / generator.chisquare(39))
                centre = generator.normal(whole.mean(), spread / np.sqrt(40))
                drawn = generator.normal(centre, spread, 40)
                estimates[nest, number] = drawn.mean()
                variances[nest, number] = drawn.var(ddof=1) / 40
        combined = us.combine_nested_estimates(estimates, variances)
        covered += bool(combined.lower <= 0.0 <= combined.upper)
    assert 0.925 < covered / 1_000 < 0.985


@pytest.mark.parametrize("shape", [(4,), (1, 3), (3, 1)])
def test_too_few_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="at least two imputations"):
        us.combine_nested_estimates(np.zeros(shape), np.ones(shape))
