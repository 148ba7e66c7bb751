"""Smoothed importance weights agree with ArviZ's, and say where they cannot be trusted."""

import numpy as np
import pytest

from understudy.randomness import stream
from understudy.risk.pareto_smoothing import RELIABLE, smooth_weights


@pytest.mark.parametrize("n_draws", [60, 400, 2500])  # sizes whose tail needs no rounding
@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
def test_agrees_with_arviz(n_draws: int, spread: float) -> None:
    arviz = pytest.importorskip("arviz_stats.base").array_stats
    log_likelihood = spread * stream(5, "psis", n_draws).standard_normal((n_draws, 7))
    weights, shape = smooth_weights(-log_likelihood)
    reference, k_hat = arviz.psislw(log_likelihood, axis=0)
    assert np.allclose(np.log(weights).T, reference, atol=1e-6)
    assert np.allclose(shape, k_hat, atol=1e-6)


def test_heavy_tails_are_noticed_and_light_ones_are_not() -> None:
    """Weights u**-k have shape k; with 2,000 draws the estimate is within 0.25 at this seed."""
    uniform = stream(2, "tails").random((2000, 1))
    for exponent in (0.3, 1.2):
        _, shape = smooth_weights(-exponent * np.log(uniform))
        assert abs(shape[0] - exponent) < 0.25
        assert (shape[0] > RELIABLE) == (exponent > RELIABLE)


def test_equal_weights_stay_and_few_draws_cannot_tell() -> None:
    weights, shape = smooth_weights(np.zeros((100, 2)))
    assert np.allclose(weights, 0.01)
    assert (shape == -np.inf).all()
    _, shape = smooth_weights(np.arange(10.0)[:, None])
    assert (shape == np.inf).all()
