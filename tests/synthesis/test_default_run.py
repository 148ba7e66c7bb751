"""A DPMPM with its defaults: sampler, number of classes, length, and a warm-up that arrives."""

from __future__ import annotations

import inspect
import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from benchmarks.arrival import population_of
from tests.synthesis.conftest import quiet_fit

import understudy as us
from understudy.errors import ConvergenceWarning
from understudy.randomness import stream
from understudy.synthesis import run_fit
from understudy.synthesis.dpmpm import blocked, collapsed, costs, sampler
from understudy.synthesis.dpmpm.parameters import log_likelihood
from understudy.synthesis.dpmpm.problem import make_problem
from understudy.synthesis.dpmpm.sampler import BlockedChain, CollapsedChain, label_cells


def test_what_sweeps_cost_settles_sampler_and_classes() -> None:
    """The sizes that were measured: the bundled data, 60,000 and a million records."""
    assert us.DPMPM().settled(us.load_ce_like()).sampler == "collapsed"
    classes = {n: costs.enough_classes(n) for n in (6_208, 60_000, 1_000_000)}
    assert classes == {6_208: 41, 60_000: 87, 1_000_000: 221}
    for n_records, n_combinations in ((60_000, 3_990), (1_000_000, 5_300)):
        counts = np.full(n_combinations, n_records // n_combinations)
        for sampled in (False, True):
            assert costs.blocked_pays(counts, 144, classes[n_records], sampled=sampled)
        assert 1e-3 < costs.sweep_seconds("blocked", counts, 144, classes[n_records]) < 0.05
    distinct = np.ones(5_000_000, dtype=np.int64)
    assert costs.blocked_pays(distinct, 300, 400, sampled=True)


def test_a_sweep_takes_about_as_long_as_was_seen() -> None:
    """Long default fits: bundled data, Chem97, gss_wages, invented stops.

    Limits are settled by it: twice too long, and a fit ends at half of its time.
    """
    seen = [  # records, combinations, classes, levels, products, seconds of a blocked sweep
        (6_208, 2_234, 41, 144, 2_600, 0.43e-3),
        (31_022, 4_573, 70, 143, 18_300, 0.87e-3),
        (57_858, 8_343, 86, 549, 33_500, 3.2e-3),
        (50_000, 4_389, 82, 103, 5_200, 0.98e-3),
    ]
    for records, combinations, n_classes, levels, products, seconds in seen:
        counts = np.full(combinations, records // combinations)
        estimate = costs.sweep_seconds("blocked", counts, levels, n_classes, products=products)
        assert 0.65 < estimate / seconds < 1.5


def settled_sampler(data: us.Microdata, level_prior: Any) -> tuple[str, int]:
    """What "auto" takes, and how many classes that has."""
    settled = us.DPMPM(level_prior=level_prior).settled(data)
    return settled.sampler, settled.n_classes


def test_auto_follows_the_effective_draws_that_were_measured() -> None:
    """docs/research/auto-sampler.csv; with sampled level priors default fits stay as they were."""
    bundled, larger = us.load_ce_like(), population_of(60_000)
    assert settled_sampler(bundled, "sampled") == ("collapsed", 40)
    assert settled_sampler(bundled, {"county": "sampled", "age": 0.5}) == ("collapsed", 40)
    assert settled_sampler(bundled, 1.0) == ("blocked", 41)
    assert settled_sampler(bundled, {"county": 0.3}) == ("blocked", 41)
    assert settled_sampler(bundled, {"county": 0.1}) == ("blocked", 102)
    assert settled_sampler(population_of(1_000), 1.0)[0] == "blocked"
    assert settled_sampler(population_of(100), 1.0)[0] == "collapsed"
    assert settled_sampler(larger, "sampled") == settled_sampler(larger, 1.0) == ("blocked", 87)
    named = us.DPMPM(level_prior=1.0, sampler="collapsed")
    assert named.settled(bundled) is named


def test_weighing_classes_counts_where_first_levels_differ() -> None:
    """5 million combinations and 100 classes in use: 6 to 12 s were measured."""
    distinct = np.ones(5_000_000, dtype=np.int64)
    weighed = costs.sweep_seconds("blocked", distinct, 600, 400, products=10 * distinct.size)
    assert 5.0 < weighed - costs.sweep_seconds("blocked", distinct, 600, 400) < 12.0
    rows = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]])
    assert costs.count_products(rows) == 5 + 2 * 3


def test_a_fit_that_exceeds_the_limit_of_time_says_so_before_it_starts(
    data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = us.DPMPM(sampler="blocked")
    monkeypatch.setattr(run_fit, "FIT_SECONDS", 2 * 25 * model._sweep_seconds(data))
    said = []
    for draws in (14, None):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(data, chains=2, warmup=10, draws=draws, thin=1, seed=1)
        said.append(" ".join(str(warning.message) for warning in caught))
    assert "processor minutes" not in said[0]
    assert "takes at least about 0 processor minutes: 35 sweeps of 2 chains" in said[1]
    assert "can hardly converge" not in said[0]
    assert "limit of 25 draws of each of 2 chains is below the effective" in said[1]


def test_a_fit_without_a_number_of_draws_goes_on_until_it_has_converged(
    data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or until a limit that depends on the size of the data alone."""
    options = {"seed": 1, "draws": None, "thin": 2}
    converged = quiet_fit(us.DPMPM(), data, **options)
    assert converged.converged
    assert converged.plan.draws == 500
    assert converged.plan.until == us.ConvergenceTargets(most_draws=3000)
    assert converged.chain_draws.label_probability.shape[1] in range(500, 3001, 500)
    monkeypatch.setattr(run_fit, "FIT_SECONDS", 0.01)
    stopped = quiet_fit(us.DPMPM(), data, **options)
    most = stopped.plan.until.most_draws
    assert 25 <= most < 500
    assert stopped.chain_draws.label_probability.shape[1] == stopped.plan.draws == most
    asked = quiet_fit(us.DPMPM(), data, **options, until=us.ConvergenceTargets(most_draws=600))
    assert asked.plan.until.most_draws == 600


def test_a_dp_areal_goes_on_as_well(data: us.Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the same rule: its limit is what its sweeps, of an estimated cost, have time for."""
    areal = us.DPAreal(n_clusters=3)
    lengths = {"chains": 2, "warmup": 10, "thin": 1}
    seconds = areal._sweep_seconds(data)
    monkeypatch.setattr(run_fit, "FIT_SECONDS", 2 * 50 * seconds)
    assert areal.default_until(data, **lengths) == us.ConvergenceTargets(most_draws=40)
    fit = quiet_fit(areal, data, seed=1, draws=None, **lengths)
    assert fit.chain_draws.label_probability.shape[1] == fit.plan.draws == 40
    assert inspect.signature(us.DPAreal.fit).parameters["draws"].default is None


def test_a_tree_goes_on_as_well(data: us.Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    """By 500 draws, up to 1,500 of a chain; the first ones are those of a fit of 500."""
    tree = us.BackoffTree(order=["gender", "age", "region"])
    assert inspect.signature(us.BackoffTree.fit).parameters["draws"].default is None
    assert tree.default_until(data, 4, 250, 3) == us.ConvergenceTargets(most_draws=1500)
    monkeypatch.setattr(us.BackoffTree, "most_draws", 600)
    never = us.ConvergenceTargets(ess=10**6, most_draws=600)
    options = {"seed": 1, "chains": 2, "warmup": 10, "thin": 1}
    longer = quiet_fit(tree, data, draws=None, until=never, **options)
    usual = quiet_fit(tree, data, draws=500, **options)
    assert longer.chain_draws.label_probability.shape[1] == 600
    assert np.array_equal(
        longer.chain_draws.label_probability[:, :500], usual.chain_draws.label_probability
    )


def test_classes_of_a_chain_are_taken_apart_before_its_warmup(data: us.Microdata) -> None:
    """Ten parts of one class: their weights are its weight, and the others keep theirs."""
    problem = make_problem(data, "sampled")
    generator = stream(2, "divide")
    state = blocked.init(generator, problem, 20, 1)
    parts = blocked.divide(generator, problem, state, 10)
    heavy = parts.log_weights > -np.log(11.0)
    assert heavy.sum() == 10
    assert np.exp(parts.log_weights[heavy]).sum() == pytest.approx(np.exp(state.log_weights[0]))
    for first, last in itertools.pairwise(problem.level_start):
        assert parts.probabilities[first:last].sum(axis=0) == pytest.approx(np.ones(20))
    assert np.unique(parts.probabilities[:, heavy], axis=1).shape[1] == 10
    assert np.count_nonzero(blocked.step(generator, problem, parts, (0.25, 0.25)).class_size) > 5
    few = blocked.divide(generator, problem, blocked.init(generator, problem, 3, 3), 10)
    assert np.isfinite(few.log_weights).all()  # too small for parts


def test_a_chain_in_which_all_classes_are_occupied_gets_more(data: us.Microdata) -> None:
    problem = make_problem(data, "sampled")
    cells = label_cells(data, problem, 5)
    chain = BlockedChain(problem, cells, (50.0, 1.0), 4, sampled=("county",))
    generator = stream(3, "widen")
    state = chain.start(generator, 2)
    assert state.class_size.size > 4
    assert not state.class_size.all()
    assert state.class_size.sum() == data.n_records
    wider = blocked.widen(generator, problem, state, 60)
    assert wider.class_size.tolist() == [*state.class_size, *[0] * (60 - state.class_size.size)]
    assert wider.level_count.sum() == state.level_count.sum()
    assert np.exp(wider.log_weights).sum() == pytest.approx(1.0)
    for first, last in itertools.pairwise(problem.level_start):
        assert wider.probabilities[first:last].sum(axis=0) == pytest.approx(np.ones(60))
    given = BlockedChain(make_problem(data, 1.0), cells, (50.0, 1.0), 4)
    assert given.warm_up(generator, given.start(generator, 2), 20).class_size.size == 4


def test_classes_are_added_in_the_warmup_only(
    data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept comes from one model: cut off at as many classes as the warm-up ended with."""
    monkeypatch.setattr(sampler, "FIRST_SWEEPS", 0)
    model = us.DPMPM(n_classes=2, sampler="blocked", concentration_prior=(50.0, 1.0))
    for warmup, grows in ((0, False), (40, True)):
        fit = quiet_fit(model, data, seed=2, warmup=warmup, draws=20)
        kept = [[draw["weights"].size for _, draw in own] for own in fit.chain_draws.snapshots]
        assert [len(set(of_chain)) for of_chain in kept] == [1, 1]
        assert (max(kept[0]) > 2) == grows
        if not grows:
            with pytest.warns(ConvergenceWarning, match="all 2 classes are occupied: give more"):
                model._warn_of_limits(fit)


def test_collapsed_chains_of_many_records_start_from_many_classes(
    data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = label_cells(data, make_problem(data, "sampled"), 5)

    def occupied(prior: Any, sampled: tuple[str, ...]) -> int:
        chain = CollapsedChain(make_problem(data, prior), cells, (0.25, 0.25), sampled=sampled)
        return collapsed.n_occupied(chain.start(stream(6, "start"), 0))

    assert occupied("sampled", ("county",)) == 1
    monkeypatch.setattr(sampler, "MANY_RECORDS", data.n_records - 1)
    assert occupied("sampled", ("county",)) == costs.enough_classes(data.n_records) // 2 > 1
    assert occupied(1.0, ()) == 1


def test_chains_from_one_class_and_from_many_arrive_at_the_same_likelihood() -> None:
    """60,000 records, 300 sweeps after the start: log-likelihoods within 800 of each other.

    They differed by 300 at most in eight runs; without classes taken apart, by more than 2,000.
    """
    data = population_of(60_000)
    problem = make_problem(data, "sampled")
    chain = BlockedChain(problem, label_cells(data, problem, 1), (0.25, 0.25), 60, sampled=("x",))
    reached = []
    for number in (0, 3):
        generator = stream(4, "arrival", number)
        state = chain.advance(generator, chain.start(generator, number), 300)
        weights = np.exp(state.log_weights)  # (class,)
        probabilities = np.ascontiguousarray(state.probabilities.T)  # (class, level)
        reached.append(log_likelihood(problem.levels, problem.counts, weights, probabilities))
    assert abs(reached[0] - reached[1]) < 800
