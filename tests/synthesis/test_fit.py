"""The fit as its user sees it: settings, draws, diagnostics, synthetic sets."""

from __future__ import annotations

import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data

import understudy as us
from understudy.errors import ConvergenceWarning, LevelError, SettingError, UnderstudyWarning
from understudy.synthesis.chains import Progress


def bytes_of(fit: Any) -> list[bytes]:
    """Everything that was drawn, as bytes."""
    parts = [values.tobytes() for values in fit.chain_draws.scalars.values()]
    parts.append(fit.chain_draws.label_probability.tobytes())
    parts += [
        value.tobytes()
        for chain in fit.chain_draws.snapshots
        for _, snapshot in chain
        for value in snapshot.values()
    ]
    return parts


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_same_bytes_for_one_and_two_threads(data: us.Microdata, sampler: Any) -> None:
    settings = us.DPMPM(sampler=sampler, n_classes=10)
    serial = quiet_fit(settings, data, seed=5, threads=1)
    two = quiet_fit(settings, data, seed=5, threads=2)
    other = quiet_fit(settings, data, seed=6, threads=2)
    assert bytes_of(serial) == bytes_of(two)
    assert bytes_of(serial) != bytes_of(other)


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_draws_have_named_axes(data: us.Microdata, sampler: Any) -> None:
    fit = quiet_fit(us.DPMPM(sampler=sampler, n_classes=10), data, seed=1)
    posterior = fit.draws["posterior"]
    assert set(posterior) == {
        "concentration",
        "occupied_classes",
        "largest_class_share",
        "log_likelihood",
        "level_prior_county",
        "label_probability",
    }
    assert posterior["concentration"].dims == ("chain", "draw")
    assert posterior["concentration"].shape == (2, 60)
    table = posterior["label_probability"]
    assert table.dims == ("chain", "draw", "pattern", "label")
    assert table.shape == (2, 60, len(data.patterns), 6)
    assert np.allclose(np.asarray(table).sum(axis=3), 1.0, atol=1e-5)
    assert fit.draws.coordinates["label"] == [f"c{code}" for code in range(6)]
    share = np.asarray(posterior["largest_class_share"])
    assert ((share > 0) & (share <= 1)).all()
    assert "60 draws" in repr(fit)
    assert "chain: 2" in repr(fit.draws)


def test_too_many_cells_leave_a_documented_sample(
    data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = quiet_fit(us.DPMPM(), data, seed=1)
    monkeypatch.setattr("understudy.synthesis.run_fit.TABLE_BYTES", 4 * 2 * 60 * 10)
    fit = quiet_fit(us.DPMPM(), data, seed=1)
    table = fit.draws["posterior"]["label_probability"]
    assert table.dims == ("chain", "draw", "cell")
    assert table.shape[2] == 10
    assert len(fit.draws.coordinates["cell"]) == 10
    flat = np.asarray(whole.draws["posterior"]["label_probability"]).reshape(2, 60, -1)
    chosen = np.linspace(0, flat.shape[2] - 1, 10).round().astype(int)
    assert np.array_equal(np.asarray(table), flat[:, :, chosen])


def test_diagnostics_and_warning(data: us.Microdata) -> None:
    with pytest.warns(ConvergenceWarning, match="judged quantities miss a target"):
        fit = us.DPMPM().fit(data, chains=2, warmup=5, draws=20, thin=1, seed=1)
    assert not fit.converged
    table = fit.diagnostics()
    assert table.columns == ["quantity", "rhat", "ess_bulk", "ess_tail", "converged", "judged"]
    sums = list(fit.chain_draws.sums)
    scalars = list(fit.chain_draws.scalars)
    assert table["quantity"].head(5 + len(scalars)).to_list() == sums + scalars
    assert table.filter(~pl.col("judged"))["quantity"].to_list() == scalars
    own = len(sums) + len(scalars) + 6  # and the margins of six counties
    assert table.height == own + len(data.patterns) * 6
    assert fit.diagnostics(most_cells=3).height == own + 3
    with pytest.warns(ConvergenceWarning, match="one chain"):
        fit = us.DPMPM().fit(data, chains=1, warmup=5, draws=20, thin=1, seed=1)
    assert not fit.converged
    assert fit.diagnostics()["rhat"].null_count() == fit.diagnostics().height


def test_runs_until_targets_are_met_or_the_limit_is_reached(data: us.Microdata) -> None:
    calls: list[Progress] = []
    targets = us.ConvergenceTargets(rhat=1.5, ess=25, most_draws=2000)
    settings = us.DPMPM(level_prior=1.0, sampler="collapsed")
    fit = quiet_fit(settings, data, seed=2, draws=50, until=targets, progress=calls.append)
    assert fit.converged
    assert 50 < fit.chain_draws.label_probability.shape[1] <= 2000
    assert calls[-1].sweep == calls[-1].n_sweeps
    assert calls[-1].rhat is not None
    assert calls[0].seconds_left >= 0
    never = us.ConvergenceTargets(rhat=1.0001, ess=1e6, most_draws=130)
    fit = quiet_fit(us.DPMPM(), data, seed=2, draws=50, until=never)
    assert fit.chain_draws.label_probability.shape[1] == 130
    assert not fit.converged


def test_a_rule_of_ones_own_decides_when_a_run_ends(data: us.Microdata) -> None:
    class Content(us.ConvergenceTargets):
        def reached(self, *_: object) -> bool:
            return True

    fit = quiet_fit(us.DPMPM(), data, seed=2, draws=50, until=Content(most_draws=130))
    assert fit.chain_draws.label_probability.shape[1] == 50
    assert not fit.converged  # which is another question


def test_sets_are_spread_over_chains_and_repeatable(data: us.Microdata) -> None:
    fit = quiet_fit(us.DPMPM(), data, seed=3)
    sets = quiet_sets(fit, m=5, seed=9)
    assert sets.codes.shape == (5, 120, 1)
    assert sets.chain == (0, 1, 0, 1, 0)
    assert sets.draw == (10, 15, 30, 45, 50)
    assert sets.spacing == 20
    assert "draws apart" in repr(sets)
    assert not sets.fully_synthetic
    assert np.array_equal(sets.codes, quiet_sets(fit, m=5, seed=9).codes)
    assert not np.array_equal(sets.codes, quiet_sets(fit, m=5, seed=10).codes)
    assert not np.array_equal(quiet_sets(fit, m=5).codes, quiet_sets(fit, m=5).codes)
    kept = sets[0]
    assert kept["gender"].to_list() == data.frame()["gender"].to_list()


def test_sets_closer_than_the_autocorrelation_time_are_pointed_out(data: us.Microdata) -> None:
    fit = quiet_fit(us.DPMPM(), data, seed=3)
    with pytest.warns(ConvergenceWarning, match="draws apart"):
        fit.synthesize(m=110, seed=1)


@pytest.mark.parametrize("m", [0, -1, 121, 2.0, True])
def test_number_of_sets_is_checked(data: us.Microdata, m: Any) -> None:
    fit = quiet_fit(us.DPMPM(), data, seed=3)
    with pytest.raises(SettingError, match="from 1 to 120"):
        fit.synthesize(m=m)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_classes": 0}, "n_classes"),
        ({"n_classes": -1}, "n_classes"),
        ({"n_classes": True}, "n_classes"),
        ({"concentration_prior": (0.0, 1.0)}, "concentration_prior"),
        ({"concentration_prior": (1.0, float("nan"))}, "concentration_prior"),
        ({"concentration_prior": (1.0, -2.0)}, "concentration_prior"),
        ({"concentration_prior": 3}, "concentration_prior"),
        ({"level_prior": 0.0}, "level_prior"),
        ({"level_prior": {"county": [1.0, 0.0]}}, "level_prior"),
        ({"level_prior": "much"}, "level_prior"),
        ({"sampler": "fast"}, "sampler"),
        ({"class_draw": "best"}, "class_draw"),
    ],
)
def test_settings_are_checked(options: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingError, match=said):
        us.DPMPM(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"chains": 0},
        {"warmup": -1},
        {"draws": 0},
        {"thin": 0},
        {"threads": 0},
        {"seed": -1},
        {"seed": 1.0},
        {"seed": True},
        {"seed": 2**128},
        {"seed": "7"},
        {"draws": 10.0},
    ],
)
def test_options_of_a_fit_are_checked(data: us.Microdata, options: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        quiet_fit(us.DPMPM(), data, **options)


def test_level_priors_by_variable(data: us.Microdata) -> None:
    quiet_fit(us.DPMPM(level_prior={"county": [1, 2, 3, 4, 5, 6.0], "age": 2.0}), data, draws=4)
    with pytest.raises(SettingError, match="6 levels"):
        quiet_fit(us.DPMPM(level_prior={"county": [1.0, 2.0]}), data)
    with pytest.raises(SettingError, match="level priors"):
        quiet_fit(us.DPMPM(level_prior={"country": 1.0}), data)


@pytest.mark.parametrize(("rhat", "ess", "most"), [(1.0, 1, 1), (1.1, 0, 1), (1.1, 1, 0)])
def test_targets_are_checked(rhat: float, ess: float, most: int) -> None:
    with pytest.raises(SettingError):
        us.ConvergenceTargets(rhat=rhat, ess=ess, most_draws=most)


def test_one_class_is_allowed_with_a_note(data: us.Microdata) -> None:
    settings = us.DPMPM(sampler="blocked", n_classes=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = settings.fit(data, chains=2, warmup=5, draws=20, thin=1, seed=1)
    assert any("independent" in str(warning.message) for warning in caught)
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        us.DPMPM(n_classes=1).fit(data, chains=1, warmup=0, draws=4, thin=1)
    assert any("no effect" in str(warning.message) for warning in noted)
    table = fit.diagnostics()
    occupied = table.filter(quantity="occupied_classes").row(0, named=True)
    assert occupied["rhat"] is None
    assert occupied["converged"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnderstudyWarning)
        us.DPMPM(sampler="blocked", n_classes=121).fit(data, chains=1, warmup=0, draws=4, thin=1)
    assert any("more classes" in str(warning.message) for warning in caught)


def test_touching_the_truncation_is_said(data: us.Microdata) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        us.DPMPM(sampler="blocked", n_classes=2, level_prior=1.0).fit(
            data, chains=2, warmup=50, draws=50, thin=1, seed=1
        )
    assert any("classes are occupied" in str(warning.message) for warning in caught)


def test_a_label_with_one_level_is_refused(data: us.Microdata) -> None:
    from dataclasses import replace

    county = replace(data.variable("county"), levels=("c0",))
    variables = tuple(
        county if variable.name == "county" else variable for variable in data.variables
    )
    with pytest.raises(LevelError, match="nothing to synthesize"):
        quiet_fit(us.DPMPM(), replace(data, variables=variables))


@pytest.mark.parametrize("class_draw", ["kept", "full", "prior"])
@pytest.mark.parametrize("names", [("county",), ("county", "region")])
def test_several_variables_and_all_class_draws(class_draw: Any, names: tuple[str, ...]) -> None:
    """Drawn labels have the tabulated probabilities; false-alarm rate 1e-4 in each case."""
    from scipy.stats import chi2

    from understudy.microdata.label_table import combined_labels
    from understudy.randomness import stream
    from understudy.synthesis.dpmpm.synthetic_labels import draw_labels, label_table

    data = small_data(names)
    fit = quiet_fit(us.DPMPM(class_draw=class_draw), data, seed=4)
    parameters = fit._parameters(0, 0)
    table = label_table(data, parameters, class_draw)
    assert np.allclose(table.probabilities.sum(axis=1), 1.0)
    expected = table.probabilities[table.row_of_combination[data.of_record]].sum(axis=0)
    generator = stream(8, "labels", class_draw, len(names))
    seen = np.zeros_like(expected)
    repeats = 400
    for _ in range(repeats):
        labels = combined_labels(data, draw_labels(generator, data, parameters, class_draw))
        seen += np.bincount(labels, minlength=expected.size)
    used = expected * repeats > 5
    statistic = ((seen - expected * repeats) ** 2 / (expected * repeats))[used].sum()
    assert chi2.sf(statistic, used.sum()) > 1e-4
    sets = quiet_sets(fit, m=2, seed=1)
    assert sets.codes.shape == (2, 120, len(names))
    with pytest.MonkeyPatch.context() as patched:  # the same labels from a few rows at a time
        patched.setattr("understudy.synthesis.dpmpm.synthetic_labels.MOST_GIVEN", 40)
        assert np.array_equal(quiet_sets(fit, m=2, seed=1).codes, sets.codes)


def test_label_tables_are_those_of_the_definition() -> None:
    """Each class draw against the mixture written out; no false alarms."""
    from tests.naive import dpmpm as naive

    from understudy.synthesis.dpmpm.synthetic_labels import label_table

    data = small_data(("county", "region"))
    fit = quiet_fit(us.DPMPM(), data, seed=4)
    parameters = fit._parameters(1, 3)
    weights = parameters.weights.tolist()
    bounds = [0, 2, 5, 11, 15]
    tables = [
        [row[first:last].tolist() for first, last in itertools.pairwise(bounds)]
        for row in parameters.probabilities
    ]
    of_draw = {
        class_draw: label_table(data, parameters, class_draw)
        for class_draw in ("kept", "full", "prior")
    }
    for combination, (gender, age, county, region) in list(enumerate(data.combinations))[::7]:
        for label in (0, 9, 23):
            wanted = divmod(label, 4)
            expected = {
                "kept": naive.label_probability((gender, age), wanted, weights, tables),
                "prior": naive.label_probability(
                    (), wanted, weights, [table[2:] for table in tables]
                ),
                "full": naive.label_probability(
                    (gender, age, county, region),
                    wanted,
                    weights,
                    [[*table, *table[2:]] for table in tables],
                ),
            }
            for name, value in expected.items():
                table = of_draw[name]
                row = table.row_of_combination[combination]
                assert table.probabilities[row, label] == pytest.approx(value, rel=1e-9), name


def test_the_samplers_agree_on_very_many_records(data: us.Microdata) -> None:
    """Both samplers agree on crowded data, from starts with many classes.

    Posterior means differ by less than 0.03, and their standard errors are about 0.003: the
    false-alarm rate is below 1e-4. Chains from few classes stay behind for a long time here.
    """
    from dataclasses import replace

    crowded = replace(data, counts=data.counts * 60, of_record=np.tile(data.of_record, 60))
    tables = []
    for sampler in ("collapsed", "blocked"):
        settings = us.DPMPM(sampler=sampler)
        fit = quiet_fit(settings, crowded, seed=4, chains=4, warmup=600, draws=200, thin=3)
        drawn = np.asarray(fit.draws["posterior"]["label_probability"])[2:]  # from 40 and 100
        tables.append(drawn.mean(axis=(0, 1)))
    assert np.abs(tables[0] - tables[1]).max() < 0.03


def test_the_sampler_is_chosen_by_size(data: us.Microdata) -> None:
    from dataclasses import replace

    small = quiet_fit(us.DPMPM(), data, seed=4, draws=10)
    assert small.settings.sampler == "collapsed"
    assert bytes_of(small) == bytes_of(
        quiet_fit(us.DPMPM(sampler="collapsed"), data, seed=4, draws=10)
    )
    crowded = replace(data, counts=data.counts * 60, of_record=np.tile(data.of_record, 60))
    large = quiet_fit(us.DPMPM(n_classes=5), crowded, seed=4, draws=10)
    assert large.settings.sampler == "blocked"
    assert large.settings.n_classes == 43
    assert us.DPMPM(n_classes=70).settled(crowded).n_classes == 70
    assert "blocked sampler" in repr(large)


def test_chains_start_far_apart(data: us.Microdata) -> None:
    from understudy.randomness import stream
    from understudy.synthesis.dpmpm.problem import make_problem
    from understudy.synthesis.dpmpm.sampler import BlockedChain, CollapsedChain, label_cells

    problem = make_problem(data)
    cells = label_cells(data, problem, 1)
    collapsed = CollapsedChain(problem, cells, (1.0, 1.0))
    begun = [collapsed.start(stream(1, chain), chain).class_size for chain in range(4)]
    occupied = [int((size > 0).sum()) for size in begun]
    assert occupied[0] == 1 < occupied[1] <= 5 < occupied[2] <= 40
    truncated = BlockedChain(problem, cells, (1.0, 1.0), 10)
    begun = [truncated.start(stream(1, chain), chain).class_size for chain in range(4)]
    assert [int((size > 0).sum()) for size in begun] == [1, 5, 10, 10]


def test_label_table_of_a_set(data: us.Microdata) -> None:
    from understudy.synthesis.dpmpm.synthetic_labels import label_table

    fit = quiet_fit(us.DPMPM(), data, seed=4)
    sets = quiet_sets(fit, m=3, seed=1)
    snapshot = fit._spread(3)[2]
    assert sets.chain[2] == snapshot[0]
    expected = label_table(data, fit._parameters(*snapshot), "kept")
    assert np.array_equal(fit.label_table(2, m=3).probabilities, expected.probabilities)
    assert list(fit.draws) == ["posterior", "released"]
    assert len(fit.draws) == 2


def test_chains_from_the_same_start_are_different(data: us.Microdata) -> None:
    fit = quiet_fit(us.DPMPM(), data, seed=4, chains=5, draws=10)
    concentration = fit.chain_draws.scalars["concentration"]
    assert not np.array_equal(concentration[0], concentration[4])


def test_all_variables_synthesized_is_marked_fully_synthetic() -> None:
    data = small_data(("gender", "age", "county", "region"))
    fit = quiet_fit(us.DPMPM(), data, seed=4)
    sets = quiet_sets(fit, m=3, seed=1)
    assert sets.fully_synthetic
    assert fit.draws["posterior"]["label_probability"].shape[2:] == (1, 2 * 3 * 6 * 4)
    assert us.Perfect().fit(data).synthesize(m=2, seed=1).fully_synthetic


def test_a_constant_kept_variable_changes_nothing(data: us.Microdata) -> None:
    from dataclasses import replace

    from understudy.microdata.variable import Variable

    constant = Variable("country", "kept", ("here",))
    wider = replace(
        data,
        variables=(*data.variables, constant),
        combinations=np.column_stack([data.combinations, np.zeros(data.n_combinations, np.int32)]),
    )
    first = quiet_fit(us.DPMPM(), data, seed=3)
    second = quiet_fit(us.DPMPM(), wider, seed=3)
    assert bytes_of(first) == bytes_of(second)
    assert np.array_equal(
        quiet_sets(first, m=4, seed=1).codes, quiet_sets(second, m=4, seed=1).codes
    )


def test_order_of_records_does_not_touch_the_posterior(data: us.Microdata) -> None:
    from dataclasses import replace

    turned = replace(data, of_record=np.ascontiguousarray(data.of_record[::-1]))
    first = quiet_fit(us.DPMPM(), data, seed=3)
    second = quiet_fit(us.DPMPM(), turned, seed=3)
    assert bytes_of(first) == bytes_of(second)


def test_export_in_the_layout_of_arviz(data: us.Microdata, tmp_path: Path) -> None:
    import xarray

    from understudy.errors import OutputError

    fit = quiet_fit(us.DPMPM(), data, seed=3)
    path = tmp_path / "draws.nc"
    fit.to_netcdf(path)
    tree = fit.to_arviz()
    with xarray.open_datatree(path, engine="h5netcdf") as stored:
        for name in ("concentration", "label_probability"):
            assert stored["posterior"][name].dims == tree["posterior"][name].dims
            assert np.array_equal(stored["posterior"][name], tree["posterior"][name])
        assert stored.attrs["sampler"] == "collapsed"
        assert np.asarray(stored["posterior"]["label"]).tolist() == [
            f"c{code}" for code in range(6)
        ]
    with pytest.raises(OutputError, match="exists"):
        fit.to_netcdf(path)
    with pytest.raises(OutputError, match="cannot be written"):
        fit.to_netcdf(tmp_path / "nowhere" / "draws.nc")


def test_vanishing_weights_end_the_run_with_a_clear_message(data: us.Microdata) -> None:
    from understudy.errors import SamplerError
    from understudy.randomness import stream
    from understudy.synthesis.dpmpm.problem import NO_HOLE, Problem, make_problem
    from understudy.synthesis.dpmpm.sampler import BlockedChain, CollapsedChain, label_cells

    n_variables = 200  # of a hundred levels each: 1e-400 is rounded to zero
    cells = label_cells(data, make_problem(data), 1)
    problem = Problem(
        levels=np.arange(0, 100 * n_variables, 100, dtype=np.int32)[None, :],
        counts=np.array([1]),
        level_start=np.arange(0, 100 * n_variables + 1, 100),
        prior=np.ones(100 * n_variables),
        prior_sum=np.full(n_variables, 100.0),
        holes=np.full(n_variables, NO_HOLE),
    )
    generator = stream(1, "vanish")
    both: list[Any] = [
        CollapsedChain(problem, cells, (1.0, 1.0)),
        BlockedChain(problem, cells, (1.0, 1.0), 3),
    ]
    for chain in both:
        with pytest.raises(SamplerError, match="rounded to zero"):
            chain.advance(generator, chain.start(generator, 0), 5)
