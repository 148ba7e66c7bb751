"""The guarantee of the formal Dirichlet, proven by enumeration of every output and neighbour."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2
from tests.synthesis.conftest import quiet_sets, small_data

import understudy as us
from understudy.errors import SettingError
from understudy.study.plan import MODEL_PLANS
from understudy.study.planned_fit import PlannedFit
from understudy.synthesis.formal_dirichlet import FormalChain, epsilon_spent, prior_counts
from understudy.synthesis.run_fit import FitOptions

pytestmark = pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")

SEXES = ("f", "m", "m")  # a pattern of one record and one of two
TOWNS = ("a", "b", "c")
BOOK = {"variables": {"town": {"levels": list(TOWNS)}, "sex": {"levels": ["f", "m"]}}}
OPTIONS = FitOptions(1, 0, 4, 1, None, 1, None, None, None)
EVERY = list(itertools.product(TOWNS, repeat=len(SEXES)))  # all files, and all outputs


def data_of(towns: Sequence[str]) -> us.Microdata:
    frame = pl.DataFrame({"sex": SEXES, "town": towns})
    return us.read_microdata(frame, synthesize="town", codebook=BOOK, unused_levels="keep")


def concentrations_of(model: us.FormalDirichlet, towns: Sequence[str]) -> NDArray[np.float64]:
    chain = model._prepared(data_of(towns), OPTIONS).sampler
    assert isinstance(chain, FormalChain)
    return chain.concentrations


def log_chance(concentrations: NDArray[np.float64], drawn: Sequence[str]) -> float:
    """Chance of a file, label after label: each raises its own concentration by one."""
    urn = concentrations.copy()  # (pattern, label)
    total = 0.0
    for sex, town in zip(SEXES, drawn, strict=True):
        row, label = "fm".index(sex), TOWNS.index(town)
        total += np.log(urn[row, label] / urn[row].sum())
        urn[row, label] += 1
    return float(total)


def neighbours(towns: Sequence[str]) -> list[tuple[str, ...]]:
    """List the files that differ in the label of one record."""
    return [other for other in EVERY if sum(map(str.__ne__, towns, other)) == 1]


@pytest.mark.parametrize(("epsilon", "sets"), [(0.7, 1), (3.0, 1), (1.0, 2), (6.0, 3)])
def test_the_largest_log_ratio_of_all_outputs_and_neighbours_is_epsilon(
    epsilon: float, sets: int
) -> None:
    """Sets are independent given the data: the log ratio of several is the sum of theirs."""
    model = us.FormalDirichlet(epsilon=epsilon, sets=sets)
    chances = {}  # by file: log chances (output,)
    for towns in EVERY:
        concentrations = concentrations_of(model, towns)
        chances[towns] = np.array([log_chance(concentrations, drawn) for drawn in EVERY])
    assert all(np.isclose(np.exp(log_chances).sum(), 1.0) for log_chances in chances.values())
    worst = max(
        np.abs(chances[towns] - chances[other]).max()
        for towns in EVERY
        for other in neighbours(towns)
    )
    assert sets * worst == pytest.approx(epsilon, rel=1e-9)
    sizes = data_of(EVERY[0]).patterns.sizes
    assert epsilon_spent(sizes, prior_counts(sizes, epsilon, sets), sets) == pytest.approx(epsilon)


def test_every_pattern_spends_the_same() -> None:
    sizes = np.array([1, 7, 300])
    counts = prior_counts(sizes, 2.0, 4)
    assert np.allclose(4 * np.log1p(sizes / counts), 2.0)


def test_prior_counts_do_not_depend_on_labels() -> None:
    model = us.FormalDirichlet(epsilon=2.0, sets=2)
    totals = {tuple(concentrations_of(model, towns).sum(axis=1).round(12)) for towns in EVERY}
    assert len(totals) == 1


def test_sets_have_the_enumerated_chances() -> None:
    """Chi-square over all 27 outputs of 2,400 independent sets; false-alarm rate 1e-6."""
    sets = 2400
    model = us.FormalDirichlet(epsilon=1.5 * sets, sets=sets)
    data = data_of(("a", "a", "b"))
    fit = model.fit(data, chains=12, draws=200, seed=5)
    drawn = fit.synthesize(sets, seed=6).codes[:, :, 0]  # (set, record)
    numbers = drawn @ np.array([9, 3, 1])
    counts = np.bincount(numbers, minlength=27)
    expected = sets * np.exp(
        [log_chance(concentrations_of(model, ("a", "a", "b")), labels) for labels in EVERY]
    )
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 26)


def test_no_more_sets_than_epsilon_was_declared_for() -> None:
    data = small_data()
    fit = us.FormalDirichlet(epsilon=3.0, sets=2).fit(data, chains=2, draws=50, seed=1)
    assert fit.epsilon(2) == pytest.approx(3.0)
    assert fit.epsilon(1) == pytest.approx(1.5)
    assert len(quiet_sets(fit, 2, seed=1)) == 2
    with pytest.raises(SettingError, match="at most 2 sets"):
        fit.synthesize(3)


def test_what_would_break_the_guarantee_is_refused() -> None:
    with pytest.raises(SettingError, match="fixed number of draws"):
        us.FormalDirichlet().fit(small_data(), until=us.ConvergenceTargets())
    with pytest.raises(SettingError, match="at most 500"):
        us.FormalDirichlet(epsilon=1e4, sets=1)
    with pytest.raises(SettingError):
        us.FormalDirichlet(epsilon=0.0)


def test_a_plan_spends_epsilon_on_its_own_sets() -> None:
    plan = MODEL_PLANS["formal"].model_validate({"model": "formal", "epsilon": 2.0})
    assert PlannedFit.of("formal", plan, 7).model == us.FormalDirichlet(epsilon=2.0, sets=7)
