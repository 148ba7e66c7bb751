"""R-hat and effective sample sizes, against arviz-stats, and where the definitions leave a choice.

The twins compute the same formulas, so they agree to rounding: nothing here can fail by chance.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.synthesis.diagnostics import ConvergenceTargets, diagnose, ess_bulk, rhat_of
from understudy.synthesis.rhat_and_ess import BLOCK, TAIL, rhat_and_ess

array_stats: Any = import_module("arviz_stats.base").array_stats


def twin(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Judge quantities (chain, draw, quantity) one by one, by arviz-stats."""
    axes = {"chain_axis": 0, "draw_axis": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.array(
            [
                [
                    array_stats.rhat(moveaxi, **axes),
                    array_stats.ess(moveaxi, method="bulk", **axes),
                    array_stats.ess(moveaxi, method="tail", prob=TAIL, **axes),
                ]
                for moveaxi in np.moveaxis(values.astype(np.float64), 2, 0)
            ]
        )


def moving(
    rng: np.random.Generator, shape: tuple[int, int, int], memory: float
) -> NDArray[np.float64]:
    """Chains of which each draw keeps a part of the one before."""
    values = rng.normal(size=shape)
    for draw in range(1, shape[1]):
        values[:, draw] = memory * values[:, draw - 1] + np.sqrt(1 - memory**2) * values[:, draw]
    return values


def kinds(n_chains: int, n_draws: int) -> NDArray[np.float64]:
    """All kinds of quantities (chain, draw, quantity) that a run may bring."""
    rng = np.random.default_rng(7)
    shape = (n_chains, n_draws, 3)
    chain = np.arange(n_chains)[:, None, None]
    draw = np.arange(n_draws)[None, :, None]
    plain = moving(rng, shape, 0.0)
    return np.concatenate(
        [
            plain,
            moving(rng, shape, 0.5),
            moving(rng, shape, 0.97),
            moving(rng, shape, -0.8),  # effective sample sizes above the number of draws
            plain + chain,  # chains apart
            plain + 5 * (chain % 2),
            plain * (1 + chain),  # chains apart in spread alone
            plain + draw / n_draws,  # chains that drift
            np.exp(3 * plain),  # long tails
            np.round(plain),  # ties
            (plain > 0).astype(float),  # two values
            (plain > 1.5).astype(float),
            np.where(chain == 0, 0.25, plain),  # one chain that stands still
            np.full(shape, 0.5) + 1e-3 * (plain > 2.2),  # hardly anything happens
        ],
        axis=2,
    )


@pytest.mark.parametrize("n_chains", [1, 2, 4, 7])
@pytest.mark.parametrize("n_draws", [4, 5, 7, 60, 251, 600])
def test_arviz_finds_the_same(n_chains: int, n_draws: int) -> None:
    values = kinds(n_chains, n_draws)
    varied = ~(values == values[:1, :1]).all(axis=(0, 1))
    diagnosed, expected = rhat_and_ess(values)[varied], twin(values)[varied]
    assert varied.sum() >= 30
    np.testing.assert_allclose(diagnosed[:, 1:], expected[:, 1:], rtol=1e-9)
    if n_chains == 1:
        return  # arviz-stats asks for two chains, though it cuts them in half
    # Where no half varies, but for rounding, R-hat is a huge number there, and may be here.
    still = ~(expected[:, 0] < 1e6)
    assert still.mean() < 0.3
    np.testing.assert_allclose(diagnosed[~still, 0], expected[~still, 0], rtol=1e-9)
    assert (diagnosed[still, 0] > 1e6).all()


def test_single_precision_and_several_threads_change_nothing() -> None:
    values = np.repeat(kinds(4, 80), 2, axis=2).astype(np.float32)
    assert values.shape[2] > 2 * BLOCK
    diagnosed = rhat_and_ess(values, threads=3)
    assert np.array_equal(diagnosed, rhat_and_ess(values.astype(np.float64)))
    np.testing.assert_allclose(diagnosed[:40], twin(values[:, :, :40]), rtol=1e-9)


def many(values: NDArray[np.float64]) -> dict[str, NDArray[np.float32]]:
    """Give values (chain, draw, quantity) as one kind of quantities."""
    return {"label_probability": values.astype(np.float32)}


def test_chains_that_are_constants_of_their_own_are_infinitely_apart() -> None:
    values = np.repeat(np.arange(4.0)[:, None], 50, axis=1)[:, :, None]
    assert rhat_and_ess(values)[0, 0] > 1e6
    table = diagnose(ConvergenceTargets(), {"stuck": values[:, :, 0]}, many(values))
    assert table["converged"].to_list() == [False, False]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_a_number_has_not_converged(bad: float) -> None:
    """One value, a tenth of them, all of them; and nobody is warned of the arithmetic."""
    values = np.random.default_rng(1).normal(size=(4, 500, 4))
    values[2, 100, 0] = bad
    values[:, ::10, 1] = bad
    values[:, :, 2] = bad
    diagnosed = rhat_and_ess(values)
    assert diagnosed[:3].tolist() == [[np.inf, 0.0, 0.0]] * 3
    assert diagnosed[3, 0] < 1.02
    table = diagnose(ConvergenceTargets(rhat=1.05), {}, many(values))
    assert table["converged"].to_list() == [False, False, False, True]
    assert rhat_of(values[:, :, 1]) == np.inf


def test_very_large_values_are_no_trouble() -> None:
    """Their median must not overflow: it would hide chains that differ in spread."""
    values = np.random.default_rng(5).normal(size=(4, 200, 1)) * np.arange(1, 5)[:, None, None]
    large = (values / 100 + 1.0) * 1.2e308
    np.testing.assert_allclose(rhat_and_ess(large), rhat_and_ess(values / 100 + 1.0))
    assert rhat_and_ess(large)[0, 0] > 1.1


def test_what_is_undefined_is_said_to_be() -> None:
    rng = np.random.default_rng(2)
    assert rhat_of(rng.normal(size=(1, 100))) is None
    assert ess_bulk(rng.normal(size=(1, 100))) is not None
    assert rhat_of(rng.normal(size=(4, 3))) is None
    assert rhat_of(np.ones((4, 100))) is None
    assert ess_bulk(np.ones((4, 100))) is None
    targets = ConvergenceTargets()
    few = diagnose(targets, {"a": rng.normal(size=(4, 3))}, many(np.ones((4, 3, 1))))
    assert few["converged"].to_list() == [False, False]
    alone = diagnose(targets, {}, many(rng.normal(size=(1, 2000, 1))))
    assert alone["converged"].to_list() == [False]
    constant = diagnose(targets, {"a": np.ones((4, 9))}, many(np.ones((4, 9, 1))))
    assert constant["converged"].to_list() == [True, True]
    assert constant["rhat"].null_count() == 2


def test_each_target_counts() -> None:
    targets = ConvergenceTargets(rhat=1.01, ess=400)
    assert targets.met_by(1.009, 400.0, 400.0)
    assert not targets.met_by(1.01, 900.0, 900.0)
    assert not targets.met_by(1.0, 399.0, 900.0)
    assert not targets.met_by(1.0, 900.0, 399.0)
    assert not targets.met_by(None, 900.0, 900.0)  # a single chain
    assert targets.met_by(None, None, None)  # a constant


def test_rhat_alone_is_the_same() -> None:
    values = kinds(4, 90)
    assert np.array_equal(rhat_and_ess(values, effective=False)[:, 0], rhat_and_ess(values)[:, 0])
    assert np.isnan(rhat_and_ess(values, effective=False)[:, 1:]).all()
