"""Every synthesizer through the same promises, and what must not matter to a fit."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data

import understudy as us
from understudy.errors import SettingError
from understudy.microdata.label_table import true_labels
from understudy.microdata.variable import Variable
from understudy.synthesis.diagnostics import SCHEMA
from understudy.synthesis.run_fit import SampledModel

SYNTHESIZERS: list[Any] = [
    us.DPMPM(),
    us.DPMPM(sampler="blocked", n_classes=10),
    us.DPMPM(class_draw="full"),
    us.DPMPM(class_draw="prior"),
    us.DPAreal(n_clusters=8),
    us.DPAreal(n_clusters=8, variant="script"),
    us.BackoffTree(),
    us.BackoffTree(order=[], scale=0.5),
    us.FormalDirichlet(epsilon=9.0, sets=3),
    us.Perfect(),
    us.Uniform(),
]


@pytest.mark.parametrize("synthesizer", SYNTHESIZERS, ids=repr)
@pytest.mark.parametrize(
    "names", [("county",), ("county", "age"), ("gender", "age", "county", "region")]
)
def test_promises(synthesizer: Any, names: tuple[str, ...]) -> None:
    data = small_data(names)
    fit = (
        synthesizer.fit(data)
        if isinstance(synthesizer, us.Perfect | us.Uniform)
        else quiet_fit(synthesizer, data, seed=1)
    )
    assert isinstance(fit.converged, bool)
    assert fit.diagnostics().columns == list(SCHEMA)
    sets = quiet_sets(fit, m=3, seed=7)
    assert isinstance(sets, us.SyntheticSets)
    assert sets.codes.shape == (3, data.n_records, len(names))
    assert sets.fully_synthetic == (not data.kept)
    assert np.array_equal(sets.codes, quiet_sets(fit, m=3, seed=7).codes)
    assert not np.array_equal(sets.codes[0], sets.codes[1])
    confidential = data.frame()
    for frame in sets:
        assert frame.columns == confidential.columns
        for name in data.kept:
            assert frame[name].equals(confidential[name])
    with pytest.raises(SettingError):
        fit.synthesize(m=0)
    assert hash(synthesizer) == hash(replace(synthesizer))


def rows_are_distributions(table: NDArray[np.float64]) -> bool:
    """Tell whether every row sums to one."""
    return bool((table >= 0).all() and np.allclose(table.sum(axis=1), 1.0, atol=1e-12))


@pytest.mark.parametrize("synthesizer", SYNTHESIZERS[:8], ids=repr)
@pytest.mark.parametrize("names", [("county",), ("county", "age"), ("gender", "county", "region")])
def test_tables_of_every_snapshot(synthesizer: Any, names: tuple[str, ...]) -> None:
    data = small_data(names)
    fit = quiet_fit(synthesizer, data, seed=1)
    drawn_from, predictive, weights = (
        list(tables)
        for tables in (fit.label_tables(), fit.predictive_tables(), fit.left_out_weights_tables())
    )
    assert len(drawn_from) == len(predictive) == len(weights) == 2 * 60  # chains, snapshots
    for table, given, weight in zip(drawn_from, predictive, weights, strict=True):
        assert rows_are_distributions(table.probabilities)
        assert table.row_of_combination.shape == (data.n_combinations,)
        assert given.shape == weight.shape == (len(data.patterns), data.n_labels)
        assert rows_are_distributions(given)
        assert (weight > 0)[data.patterns.of_combination, true_labels(data)].all()
        assert (weight > 0).all() or isinstance(synthesizer, us.BackoffTree)  # rounded to zero
        assert np.allclose(weight / weight.sum(axis=1, keepdims=True), given)
    if fit.draws_predictive:
        kept = np.asarray(fit.draws["posterior"]["label_probability"])
        assert np.allclose(kept.reshape(-1, *kept.shape[2:]), predictive, atol=1e-6)


def test_rates_of_the_areal_model_have_the_size_of_the_counts() -> None:
    """Rates of a pattern sum to about its size: within six of 24 posterior deviations each.

    The sum of a pattern's rates has a gamma-like posterior around its count, at most about twice
    as wide as Poisson noise; false-alarm rate below 1e-4.
    """
    data = small_data()
    fit = quiet_fit(us.DPAreal(n_clusters=8), data, seed=1, warmup=200, draws=200)
    totals = np.mean([table.sum(axis=1) for table in fit.left_out_weights_tables()], axis=0)
    sizes = data.patterns.sizes
    assert (np.abs(totals - sizes) < 6 * np.sqrt(sizes + 1)).all()
    assert abs(totals.sum() - sizes.sum()) < 6 * np.sqrt(sizes.sum())


@pytest.mark.parametrize(
    ("model", "lengths"), [(us.DPMPM, (4000, None, 60)), (us.DPAreal, (1000, None, 4))]
)
def test_fit_has_one_signature_with_the_defaults_of_each_model(
    model: Any, lengths: tuple[int, int | None, int]
) -> None:
    own, shared = (inspect.signature(kind.fit) for kind in (model, SampledModel))
    assert list(own.parameters) == list(shared.parameters)
    defaults = {name: parameter.default for name, parameter in own.parameters.items()}
    assert (defaults["warmup"], defaults["draws"], defaults["thin"]) == lengths
    assert own.return_annotation == f"{model.__name__}Fit"
    assert model.fit.__doc__ == SampledModel.fit.__doc__
    assert model.fit.__qualname__ == f"{model.__name__}.fit"


def turned(data: us.Microdata) -> us.Microdata:
    """Turn the order of the columns and of every variable's levels around."""
    variables = tuple(
        Variable(variable.name, variable.role, tuple(reversed(variable.levels)))
        for variable in reversed(data.variables)
    )
    codes = np.array([variable.n_levels - 1 for variable in data.variables]) - data.combinations
    codes = codes[:, ::-1]
    order = np.lexsort(codes.T[::-1])  # (combination,)
    new_code = np.argsort(order)
    return replace(
        data,
        variables=variables,
        combinations=np.ascontiguousarray(codes[order], dtype=np.int32),
        counts=data.counts[order],
        of_record=new_code[data.of_record].astype(np.int32),
    )


@pytest.mark.parametrize(
    ("settings", "thin", "most"),
    [
        (us.DPMPM(n_classes=10), 3, 0.03),
        (us.DPMPM(sampler="blocked", n_classes=10), 3, 0.03),
        (us.DPAreal(n_clusters=5), 3, 0.06),
        (us.DPAreal(n_clusters=5, variant="script"), 3, 0.06),
        (us.BackoffTree(), 1, 0.03),
        (us.BackoffTree(order=["gender", "region", "age"]), 3, 0.03),
    ],
    ids=["collapsed", "blocked", "areal text", "areal script", "grown tree", "fixed order"],
)
def test_order_of_columns_and_levels_does_not_matter(settings: Any, thin: int, most: float) -> None:
    """Posterior means of all label probabilities; false-alarm rate below 1e-4.

    The largest difference of 144 means with standard errors of about 0.004 each; 0.01 for the
    DP-areal model, whose cells have rates of their own (measured: chain means after 1,800 sweeps
    have a standard deviation of 0.018); it has the 36 cells of two kept columns, which is quicker.
    To turn levels around permutes labels and patterns.
    """
    data = small_data()
    if isinstance(settings, us.DPAreal):
        data = us.read_microdata(data.frame(), synthesize=["county"], keep=["gender", "age"])
    options = {"seed": 3, "warmup": 300, "draws": 600, "thin": thin}
    first = quiet_fit(settings, data, **options)
    second = quiet_fit(settings, turned(data), **options)
    means = []
    for fit in (first, second):
        table = np.asarray(fit.draws["posterior"]["label_probability"]).mean(axis=(0, 1))
        rows = {
            frozenset(name.split(" | ")): row
            for name, row in zip(fit.draws.coordinates["pattern"], table, strict=True)
        }
        labels = fit.draws.coordinates["label"]
        means.append(
            {(key, label): row[i] for key, row in rows.items() for i, label in enumerate(labels)}
        )
    assert means[0].keys() == means[1].keys()
    assert max(abs(means[0][key] - means[1][key]) for key in means[0]) < most
