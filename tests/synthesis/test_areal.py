"""The DP-areal fit as its user sees it: the table it needs, settings, draws, saved runs."""

from __future__ import annotations

import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from benchmarks.areal import large
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data
from tests.synthesis.test_fit import bytes_of

import understudy as us
from understudy.errors import (
    CheckpointError,
    ConvergenceWarning,
    DataWarning,
    InputError,
    InternalError,
    SettingError,
    UnderstudyWarning,
)
from understudy.microdata.label_table import LabelTable, split_labels
from understudy.randomness import stream
from understudy.synthesis import registry, run_fit
from understudy.synthesis.areal import problem as tables
from understudy.synthesis.areal import sampler
from understudy.synthesis.contract import Observation
from understudy.synthesis.monitored_sums import ReleasedSums
from understudy.synthesis.sampled_fit import by_pattern
from understudy.synthesis.segments import Chain, Plan, _segment
from understudy.synthesis.stored_probabilities import KeptCells, choose_cells

VARIANTS = ["text", "script"]


def test_table_has_all_labels_of_all_patterns_that_occur() -> None:
    data = small_data(("county", "region"))
    table = tables.count_table(data)
    assert table.shape == (len(data.patterns), 6 * 4)
    assert table.sum() == data.n_records
    assert np.array_equal(table.sum(axis=1), data.patterns.sizes)
    frame = data.frame()
    assert isinstance(frame, pl.DataFrame)
    codes = split_labels(data, np.arange(24))
    for pattern, label in ((0, 3), (2, 17), (5, 9)):
        gender, age = data.patterns.codes[pattern]
        county, region = codes[label]
        wanted = (frame["gender"] == f"g{gender}") & (frame["age"] == f"a{age}")
        wanted &= (frame["county"] == f"c{county}") & (frame["region"] == f"r{region}")
        assert table[pattern, label] == wanted.sum()


def test_pairs_are_the_table_grouped() -> None:
    data = small_data()
    table = tables.count_table(data)
    problem = tables.make_problem(data)
    patterns = np.repeat(np.arange(problem.n_patterns), np.diff(problem.pair_start))
    back = problem.pair_count[problem.pair_of_cell].reshape(table.shape)
    assert np.array_equal(back, table)
    rows = patterns[problem.pair_of_cell].reshape(table.shape)[:, 0]
    assert np.array_equal(rows, np.arange(table.shape[0]))
    assert problem.pair_size.sum() == table.size
    assert np.array_equal(problem.distinct[problem.pair_index], problem.pair_count)
    # one, two genders, three ages, four regions
    assert problem.design.shape == (table.shape[0], 1 + 2 + 3 + 4)
    assert (problem.design.sum(axis=1) == 4.0).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_grouped_block_by_block(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = small_data()
    weights = np.linspace(0.2, 1.0, data.n_combinations) if weighted else None
    whole = tables.make_problem(data, weights)
    monkeypatch.setattr(tables, "BLOCK", 1)
    again = tables.make_problem(data, weights)
    for name in whole._fields:
        assert np.array_equal(getattr(whole, name), getattr(again, name))


@pytest.mark.parametrize("weighted", [False, True])
def test_large_tables_are_drawn_again_and_not_kept(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Snapshots do not grow with cells, and sets, sums and risk of single records are the same."""
    data = small_data()
    options: dict[str, Any] = {"chains": 2, "warmup": 4, "draws": 12, "thin": 1, "seed": 3}
    if weighted:
        options["weights"] = np.linspace(0.2, 1.0, data.n_combinations)
    kept = quiet_fit(us.DPAreal(n_clusters=4), data, **options)
    monkeypatch.setattr(sampler, "MOST_KEPT", 0)
    fit = quiet_fit(us.DPAreal(n_clusters=4), data, **options)
    assert "probabilities" not in fit.chain_draws.snapshots[0][0][1]
    draws, others = fit.chain_draws, kept.chain_draws
    assert np.array_equal(draws.label_probability, others.label_probability)
    for name in draws.sums:
        assert np.array_equal(draws.sums[name], others.sums[name])
    assert np.array_equal(quiet_sets(fit, m=3, seed=1).codes, quiet_sets(kept, m=3, seed=1).codes)
    for table, other in zip(fit.label_tables(), kept.label_tables(), strict=True):
        assert np.array_equal(table.probabilities, other.probabilities)
    for table, predictive in zip(fit.label_tables(), fit.predictive_tables(), strict=True):
        assert np.array_equal(by_pattern(data, table), predictive)
        assert np.shares_memory(table.probabilities, predictive)
    weighed = zip(fit.left_out_weights_tables(), kept.left_out_weights_tables(), strict=True)
    assert all(np.array_equal(*tables_of_both) for tables_of_both in weighed)


def test_memory_of_a_large_table_with_few_pairs() -> None:
    """1,000 patterns, 500 labels: one table of the size of its cells at a time, none kept."""
    n_patterns, n_labels = 1_000, 500
    generator = stream(9, "large table")
    labels = generator.integers(0, n_labels, n_patterns)  # (pattern,) of its only record
    table = np.zeros((n_patterns, n_labels), dtype=np.int64)
    table[np.arange(n_patterns), labels] = 1
    design = np.ones((n_patterns, 1))
    cells = KeptCells(np.arange(50), np.arange(50), complete=False)
    tracemalloc.start()
    problem = tables.problem_of_counts(table, design)
    building = tracemalloc.get_traced_memory()[1]
    assert building < 5 * table.nbytes
    chain = sampler.ArealChain(problem, cells, us.DPAreal().priors(), 5, 2)
    state = chain.advance(generator, chain.start(generator, 2), 1)
    chain.observe(generator, state)  # integrals are remembered
    ones = np.ones(n_patterns, dtype=np.int64)
    sums = ReleasedSums(ones, labels, np.arange(n_patterns, dtype=np.int32), ones,
                        np.arange(n_labels)[:, None], np.zeros(n_labels))  # fmt: skip

    def summarize(seen: Observation) -> dict[str, Any]:
        assert seen.table is not None
        return dict(sums.of(LabelTable(seen.table, sums.patterns)).sums)

    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    plan = Plan(chains=1, warmup=0, draws=3, thin=1, seed=1, threads=1)
    seen = _segment(chain, plan, summarize, Chain(0, generator, state), (0, 0, 3))
    held, peak = (size - before for size in tracemalloc.get_traced_memory())
    tracemalloc.stop()
    assert problem.pair_size.size == 2 * n_patterns
    assert peak < 1.6 * 8 * table.size  # a block of each measure beside the table
    assert held < table.size / 10
    snapshot = {name[11:]: seen[name] for name in seen if name.startswith("snapshot 1 ")}
    assert np.array_equal(chain.drawn_again(snapshot)[0].sum(axis=1).round(9), np.ones(n_patterns))


@pytest.mark.parametrize("weighted", [False, True])
def test_grouping_takes_some_bytes_of_each_cell(
    weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block by block, also with impossible cells, with the same pairs."""
    generator = stream(10, "blocks")
    table = generator.integers(0, 3, (200, 300))  # (pattern, label)
    powers = generator.integers(0, 17, table.shape) / 16 if weighted else None
    impossible = (table == 0) & (generator.random(table.shape) < 0.5)
    given = table, np.ones((200, 1)), powers, impossible
    whole = tables.problem_of_counts(*given)
    monkeypatch.setattr(tables, "BLOCK", 1000)
    tracemalloc.start()
    cut = tables.problem_of_counts(*given)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    for name in whole._fields:
        assert np.array_equal(getattr(whole, name), getattr(cut, name))
    n_pairs = whole.pair_size.size
    assert peak < 14 * table.size + 100 * n_pairs  # NumPy 2.0 takes 12, weighted whole tables 46


def test_too_large_a_table_is_refused_with_its_size() -> None:
    """Before anything of the table is made."""
    n = 3_500
    codes = [f"{code:04d}" for code in range(n)]
    frame = pl.DataFrame({"first": codes, "second": codes, "kept": ["a", "b"] * (n // 2)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        data = us.read_microdata(frame, synthesize=["first", "second"])
    with pytest.raises(InputError, match=f"{2 * n**2:,}") as problem:
        us.DPAreal().fit(data)
    assert "DPMPM" in str(problem.value)


def test_too_many_different_counts_are_refused(
    data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has integrals of its own that are remembered."""
    monkeypatch.setattr(tables, "MOST_COUNTS", 2)
    with pytest.raises(InputError, match="at most 2 different counts"):
        us.DPAreal().fit(data)


@pytest.mark.parametrize("variant", VARIANTS)
def test_same_bytes_for_one_and_two_threads(data: us.Microdata, variant: Any) -> None:
    settings = us.DPAreal(n_clusters=6, variant=variant)
    options = {"draws": 20, "warmup": 10, "chains": 3}
    serial = quiet_fit(settings, data, seed=5, threads=1, **options)
    two = quiet_fit(settings, data, seed=5, threads=2, **options)
    other = quiet_fit(settings, data, seed=6, threads=2, **options)
    assert bytes_of(serial) == bytes_of(two)
    assert bytes_of(serial) != bytes_of(other)


def test_same_bytes_twice_and_with_two_threads_on_the_bundled_data() -> None:
    """At the size of the paper's table, where work is split otherwise than on small data."""
    data, settings = us.load_ce_like(), us.DPAreal()
    options = {"draws": 4, "warmup": 2, "chains": 2, "seed": 5}
    fits = [quiet_fit(settings, data, threads=threads, **options) for threads in (1, 1, 2)]
    drawn = [bytes_of(fit) for fit in fits]
    assert drawn[0] == drawn[1] == drawn[2]
    sets = [quiet_sets(fit, m=2, seed=7).codes.tobytes() for fit in fits]
    assert sets[0] == sets[1] == sets[2]
    other = quiet_fit(settings, data, threads=2, **{**options, "seed": 6})
    assert bytes_of(other) != drawn[0]


def test_draws_have_named_axes(data: us.Microdata) -> None:
    fit = quiet_fit(us.DPAreal(n_clusters=6), data, seed=1, draws=20)
    posterior = fit.draws["posterior"]
    assert set(posterior) == {
        "concentration",
        "occupied_clusters",
        "log_rate_precision",
        "log_likelihood",
        "label_probability",
    }
    table = posterior["label_probability"]
    assert table.dims == ("chain", "draw", "pattern", "label")
    assert table.shape == (2, 20, len(data.patterns), 6)
    assert np.allclose(np.asarray(table).sum(axis=3), 1.0, atol=1e-5)
    occupied = np.asarray(posterior["occupied_clusters"])
    assert ((occupied >= 1) & (occupied <= 6)).all()
    assert "areal text" in repr(fit)
    assert np.asarray(fit.label_table(1, m=2).probabilities).shape == (len(data.patterns), 6)


def test_labels_are_written_to_the_records_own_row(data: us.Microdata) -> None:
    """Each record draws from its own pattern's row; false-alarm rate 1e-4."""
    from scipy.stats import chi2

    fit = quiet_fit(us.DPAreal(n_clusters=6), data, seed=4, draws=20)
    table = fit.label_table(0, m=1)
    patterns = data.patterns.of_combination[data.of_record]  # (record,)
    assert np.array_equal(table.row_of_combination[data.of_record], patterns)
    seen = np.zeros((len(data.patterns), 6))
    repeats = 400
    for seed in range(repeats):
        codes = quiet_sets(fit, m=1, seed=seed).codes[0, :, 0]  # (record,)
        np.add.at(seen, (patterns, codes), 1)
    expected = table.probabilities * data.patterns.sizes[:, None] * repeats
    used = expected > 5
    statistic = ((seen - expected) ** 2 / expected)[used].sum()
    assert chi2.sf(statistic, used.sum()) > 1e-4


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_saved_run_goes_on_to_the_same_bytes(
    data: us.Microdata, tmp_path: Path, variant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.synthesis.chains.SEGMENT_DRAWS", 5)
    settings = us.DPAreal(n_clusters=6, variant=variant)
    options: dict[str, Any] = {"seed": 5, "draws": 15, "warmup": 12}
    straight = quiet_fit(settings, data, **options)

    class KilledError(Exception):
        """Stands for a kill."""

    calls = []

    def kill(progress: Any) -> None:
        calls.append(progress)
        if len(calls) == 5:
            raise KilledError

    folder = tmp_path / "run"
    with pytest.raises(KilledError):
        quiet_fit(settings, data, checkpoint=folder, progress=kill, **options)
    resumed = quiet_fit(settings, data, checkpoint=folder, **options)
    assert bytes_of(straight) == bytes_of(resumed)
    with pytest.raises(CheckpointError, match="n_clusters"):
        quiet_fit(replace(settings, n_clusters=7), data, checkpoint=folder, **options)


def test_runs_until_targets_are_met(data: us.Microdata) -> None:
    targets = us.ConvergenceTargets(rhat=1.6, ess=10, most_draws=1000)
    options = {"seed": 2, "warmup": 200, "draws": 30, "until": targets}
    fit = quiet_fit(us.DPAreal(n_clusters=4), data, **options)
    assert fit.converged
    assert fit.chain_draws.label_probability.shape[1] <= 1000


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_clusters": 0}, "n_clusters"),
        ({"variant": "paper"}, "variant"),
        ({"concentration_prior": (0.0, 1.0)}, "concentration_prior"),
        ({"log_rate_precision_prior": 1.0}, "log_rate_precision_prior"),
        ({"intercept_precision_prior": (1.0, -1.0)}, "intercept_precision_prior"),
        ({"mean_precision_prior": (1.0,)}, "mean_precision_prior"),
        ({"slope_mean_precision_prior": ("a", 1.0)}, "slope_mean_precision_prior"),
        ({"correlation_shape": 0.0}, "correlation_shape"),
        ({"scale_prior": (3.0, float("inf"))}, "scale_prior"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        us.DPAreal(**options)


def test_variants_have_the_papers_priors() -> None:
    text, script = us.DPAreal().priors(), us.DPAreal(variant="script").priors()
    assert text.by_sticks
    assert not script.by_sticks
    assert (text.correlation_shape, script.correlation_shape) == (2.0, 4.0)
    assert us.DPAreal(variant="script", correlation_shape=1).priors().correlation_shape == 1.0
    assert (text.scale_degrees, text.scale) == (3.0, 1.0)
    assert text[1:6] == ((1.0, 1.0),) * 5


@pytest.mark.parametrize(
    ("n_clusters", "said"),
    [(1, "one cluster"), (2, "clusters are occupied"), (150, "more clusters")],
)
def test_numbers_of_clusters_are_pointed_out(
    data: us.Microdata, n_clusters: int, said: str
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnderstudyWarning)
        us.DPAreal(n_clusters=n_clusters).fit(data, chains=2, warmup=5, draws=10, thin=1, seed=1)
    assert any(said in str(warning.message) for warning in caught)


def test_a_long_fit_says_so_before_it_starts(
    data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guess follows the distinct pairs (pattern, count), which the registry counts itself."""
    n_pairs, n_counts = registry._areal_pairs(data)
    problem = tables.make_problem(data)
    assert 0 <= n_pairs - problem.pair_size.size <= problem.n_patterns  # some are nowhere empty
    assert 0 <= n_counts - problem.distinct.size <= 1
    monkeypatch.setattr(run_fit, "FIT_SECONDS", 0.0)
    with pytest.warns(UnderstudyWarning, match="takes about .* processor minutes: 9 sweeps of 2"):
        shortest_fit(data)


def test_a_large_table_is_accepted_with_an_estimate_before_its_first_sweep(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 patterns by 500 labels, 16,939 pairs: docs/areal.md has the estimate."""

    def started(*_: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(run_fit, "_run", started)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(InternalError):
            us.DPAreal().fit(large(), seed=1)
    said = " ".join(str(warning.message) for warning in caught)
    assert "takes at least about 29 processor minutes" in said
    assert "can hardly converge" in said


def shortest_fit(data: us.Microdata) -> None:
    """A very short fit, whose other warnings do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        us.DPAreal(n_clusters=6).fit(data, chains=2, warmup=5, draws=4, thin=1, seed=1)


@pytest.mark.parametrize("impossible", [0, 12])
def test_one_cluster_is_the_poisson_lognormal_model(impossible: int) -> None:
    """The mean's posterior by one-dimensional quadrature; false-alarm rate 1e-4.

    One pattern, no kept variable, all precisions fixed by their priors, 400 draws far apart. Cells
    that are impossible tell nothing and get nothing.
    """
    from scipy.integrate import cumulative_trapezoid
    from scipy.stats import kstest
    from tests.naive.areal import log_poisson_lognormal

    from understudy.randomness import stream
    from understudy.synthesis.stored_probabilities import KeptCells

    fixed = (1e8, 0.5e8)  # a precision of two
    settings = us.DPAreal(
        n_clusters=1,
        log_rate_precision_prior=fixed,
        intercept_precision_prior=fixed,
        mean_precision_prior=fixed,
    )
    counts = np.array([[0, 3, 1, 8, 2]])
    whole = np.append(counts, np.zeros((1, impossible), dtype=np.int64), axis=1)
    beyond = np.arange(whole.size)[None] >= 5  # (pattern, label)
    problem = tables.problem_of_counts(whole, np.ones((1, 1)), impossible=beyond)
    assert problem.n_cells == 5
    cells = KeptCells(np.zeros(whole.size, dtype=np.int64), np.arange(whole.size), complete=True)
    chain = sampler.ArealChain(problem, cells, settings.priors(), 1, 100)
    generator = stream(81, "one cluster")
    state = chain.advance(generator, chain.start(generator, 0), 150)
    drawn = []
    for _ in range(400):
        state = chain.advance(generator, state, 10)
        drawn.append(state.effects[0, 0])
    kept = chain.observe(generator, state).label_probability
    assert kept.sum() == pytest.approx(1.0)
    assert (kept[5:] == 0.0).all()
    grid = np.linspace(-4.0, 4.0, 401)
    # the intercept's own prior is normal with variance 1/2 + 1/2
    log_density = [
        sum(log_poisson_lognormal(int(count), mean, 2.0) for count in counts[0]) - 0.5 * mean**2
        for mean in grid
    ]
    heights = np.exp(np.array(log_density) - max(log_density))
    cumulative = cumulative_trapezoid(heights, grid, initial=0.0)
    p = kstest(drawn, lambda x: np.interp(x, grid, cumulative / cumulative[-1])).pvalue
    assert p > 1e-4


@pytest.mark.parametrize("variant", VARIANTS)
def test_steps_do_not_know_a_cluster_by_its_number(data: us.Microdata, variant: Any) -> None:
    """Any cluster may be heavy later on, and steps tuned to others would fail."""
    settings = us.DPAreal(n_clusters=4, variant=variant)
    chain = sampler.ArealChain(
        tables.make_problem(data), choose_cells(data, 4), settings.priors(), 4, 30
    )
    generator = stream(7, "steps")
    state = chain.advance(generator, chain.start(generator, 3), 30)
    assert state.n_tuned == 30
    effects = state.stiffness[: 4 * state.centre.size].reshape(4, -1)  # (cluster, effect)
    weights = state.stiffness[-4:]  # (cluster,), or sticks and the concentration
    assert (np.ptp(effects, axis=0) == 0).all()
    assert (np.ptp(weights) == 0) == (variant == "script")
