"""Missing values as the user meets them: read as holes, fitted, put back, or refused."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import chisquare
from tests.bad_inputs.cases import covers
from tests.naive import dpmpm as naive
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data
from tests.synthesis.test_fit import bytes_of

import understudy as us
from understudy.errors import DataWarning, MissingValuesError, UnderstudyWarning
from understudy.microdata.label_table import hole_labels, others_labels, true_labels
from understudy.randomness import stream
from understudy.synthesis.dpmpm.imputation import completed
from understudy.synthesis.dpmpm.problem import make_problem


def frame_with_holes() -> pl.DataFrame:
    """The small data, a seventh of the ages and a ninth of the counties missing."""
    frame: pl.DataFrame = small_data().frame("polars").cast(pl.String)
    row = pl.int_range(pl.len())
    return frame.with_columns(
        age=pl.when(row % 7 > 0).then("age"), county=pl.when(row % 9 > 0).then("county")
    )


def read(missing: Any = "model", frame: pl.DataFrame | None = None) -> us.Microdata:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        source = frame_with_holes() if frame is None else frame
        return us.read_microdata(source, synthesize="county", missing=missing)


@pytest.fixture(scope="module")
def holed() -> us.Microdata:
    return read()


@pytest.fixture(scope="module")
def fits(holed: us.Microdata) -> dict[str, Any]:
    """A short fit by each sampler, strengths sampled and not."""
    return {
        "collapsed": quiet_fit(us.DPMPM(sampler="collapsed"), holed, seed=1),
        "blocked": quiet_fit(
            us.DPMPM(sampler="blocked", n_classes=8, level_prior=1.0), holed, seed=1
        ),
    }


def test_holes_are_no_level_of_the_model(holed: us.Microdata) -> None:
    as_level = read("level")
    assert holed.with_holes == ("age", "county")
    assert as_level.with_holes == ()
    assert np.array_equal(holed.combinations, as_level.combinations)  # distinct with their holes
    assert holed.fingerprint() != as_level.fingerprint()
    problem = make_problem(holed, {"county": "sampled"})
    names = ["gender", "age", "region", "county"]
    for variable, name in enumerate(names):
        count = 0.2 if name == "county" else 1.0
        whole = count * len(holed.variable(name).present_levels)
        assert problem.prior_sum[variable] == pytest.approx(whole)
    assert problem.prior[problem.holes[[1, 3]]].tolist() == [0.0, 0.0]
    assert problem.holes[[0, 2]].tolist() == [-1, -1]


def test_data_without_holes_have_the_same_bytes() -> None:
    whole = small_data()
    modelled = read("model", whole.frame("polars"))
    assert modelled.fingerprint() == whole.fingerprint()


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_labels_for_all_and_holes_put_back(
    fits: dict[str, Any], holed: us.Microdata, sampler: str
) -> None:
    fit = fits[sampler]
    table = np.asarray(fit.draws["posterior"]["label_probability"])  # (chain, draw, pattern, label)
    assert np.allclose(table.sum(axis=3), 1.0, atol=1e-5)
    assert (table[..., -1] == 0.0).all()
    assert fit.diagnostics()["quantity"].len() > 10
    for drawn in quiet_sets(fit, 3, seed=2):
        assert drawn["county"].null_count() == 0
        assert drawn["age"].equals(holed.frame()["age"])
    for tabulated in fit.label_tables():
        assert np.allclose(tabulated.probabilities.sum(axis=1), 1.0)
        assert (tabulated.probabilities[:, hole_labels(holed)] == 0.0).all()


@pytest.mark.parametrize("class_draw", ["full", "prior"])
def test_no_way_of_drawing_gives_a_hole(holed: us.Microdata, class_draw: Any) -> None:
    fit = quiet_fit(us.DPMPM(class_draw=class_draw, sampler="blocked", n_classes=8), holed, draws=4)
    assert all(drawn["county"].null_count() == 0 for drawn in quiet_sets(fit, 2, seed=1))
    assert fit.label_table(0, m=2).probabilities[:, -1].max() == 0.0


def test_a_saved_run_goes_on_to_the_same_bytes(
    fits: dict[str, Any], holed: us.Microdata, tmp_path: Path
) -> None:
    def stop(progress: Any) -> None:
        if progress.sweep > 60:
            raise KeyboardInterrupt

    folder = tmp_path / "saved"
    with pytest.raises(KeyboardInterrupt):
        quiet_fit(us.DPMPM(sampler="collapsed"), holed, seed=1, checkpoint=folder, progress=stop)
    saved = quiet_fit(us.DPMPM(sampler="collapsed"), holed, seed=1, checkpoint=folder)
    assert bytes_of(saved) == bytes_of(fits["collapsed"])


def test_an_own_record_without_a_label_has_no_effect(
    fits: dict[str, Any], holed: us.Microdata
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        effect = us.own_record_effect(holed, fits["blocked"], sets=2, seed=1)
    assert np.isfinite([attack.effect for attack in effect.attacks]).all()
    weights = next(fits["blocked"].left_out_weights_tables())  # (pattern, label)
    assert (weights[:, -1] == 1.0).all()


def test_holes_are_filled_given_what_was_observed(
    fits: dict[str, Any], holed: us.Microdata
) -> None:
    """Shares of filled values against the probabilities of their twin; false-alarm rate 1e-4."""
    weights, tables = fits["blocked"]._parameters(0, 3)
    problem = make_problem(holed)
    record = int(np.flatnonzero(holed.codes("age") == 3)[0])
    row = [holed.codes(name)[record] for name in ("gender", "age", "region", "county")]
    levels = problem.level_start[:-1] + row  # (variable,)
    given = naive.class_probabilities(levels.tolist(), weights.tolist(), tables.T.tolist())
    expected = np.array(given) @ tables[:, problem.level_start[1] : problem.level_start[2] - 1]
    generator = stream(5, "filled")
    filled = [
        completed(generator, holed, fits["blocked"]._parameters(0, 3)).codes("age")[record]
        for _ in range(600)
    ]
    assert chisquare(np.bincount(filled, minlength=3), 600 * expected).pvalue > 1e-4


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_imputed_sets_are_nested(fits: dict[str, Any], holed: us.Microdata, sampler: str) -> None:
    sets = fits[sampler].synthesize_imputed(imputations=2, sets=3, seed=1)
    again = fits[sampler].synthesize_imputed(imputations=2, sets=3, seed=1)
    assert np.array_equal(sets.codes, again.codes)
    ages = [drawn["age"].to_list() for drawn in sets]
    assert len(sets) == 6
    assert not any(None in column for column in ages)
    assert ages[0] == ages[1] == ages[2] != ages[3] == ages[5]
    observed = holed.codes("age") < 3
    for drawn in sets:
        assert drawn["county"].null_count() == 0
        assert drawn.filter(observed)["age"].equals(holed.frame().filter(observed)["age"])
    assert not np.array_equal(sets.codes[0], sets.codes[1])


def test_baselines_count_no_holes(holed: us.Microdata) -> None:
    for model in (us.Uniform(), us.Marginal(), us.Others(), us.Perfect()):
        assert all(drawn["county"].null_count() == 0 for drawn in model.fit(holed).synthesize(2))
    present = np.isin(true_labels(holed), hole_labels(holed), invert=True)
    others = others_labels(holed).probabilities  # (combination, label)
    own = others[np.arange(len(others)), true_labels(holed)]
    assert (own[~present] == 0.0).all()
    assert np.allclose(others.sum(axis=1), 1.0)


def test_exported_draws_name_the_hole(fits: dict[str, Any]) -> None:
    tree = fits["blocked"].to_arviz()
    assert "(missing)" in " ".join(map(str, tree["posterior"]["pattern"].values))


@covers(128)
@pytest.mark.parametrize("model", [us.DPAreal(), us.BackoffTree(), us.FormalDirichlet()])
def test_models_that_need_whole_records_refuse_holes(model: Any, holed: us.Microdata) -> None:
    with pytest.raises(MissingValuesError, match="fit a DPMPM") as refused:
        model.fit(holed)
    assert '"age", "county"' in str(refused.value)


def test_values_missing_at_random_do_not_bend_the_fit() -> None:
    """A kept variable that decides the label, a third of it missing: p(label | value) is right.

    Within 0.06 of the truth, four standard errors at 1,000 records: false-alarm rate below 1e-3.
    """
    generator = stream(3, "missing at random")
    kind = generator.integers(0, 2, 1_000)
    town = np.where(generator.random(1_000) < 0.85, kind, 1 - kind)
    shown = generator.random(1_000) > np.where(town == 0, 0.5, 0.1)  # depends on the label
    frame = pl.DataFrame(
        {
            "kind": [f"k{code}" if seen else None for code, seen in zip(kind, shown, strict=True)],
            "county": [f"t{code}" for code in town],
        }
    )
    data = read("model", frame)
    settings = us.DPMPM(sampler="blocked", n_classes=5, level_prior=1.0)
    fit = quiet_fit(settings, data, seed=1, warmup=1_000, thin=20)
    table = np.asarray(fit.draws["posterior"]["label_probability"]).mean(axis=(0, 1))
    # counted on whole records only, the shares would be 0.76 and 0.91
    assert abs(table[0, 0] - (town[kind == 0] == 0).mean()) < 0.06
    assert abs(table[1, 1] - (town[kind == 1] == 1).mean()) < 0.06
