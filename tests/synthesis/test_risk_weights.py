"""Fits with weights: where weights come from, what a weight of one is, and records left out.

Seeds are fixed; false-alarm rates are how likely a correct program was to fail when they were
chosen.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.naive import dpmpm as naive
from tests.statistics import tiny
from tests.statistics.test_weighted import POWERS, weighted_problem
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data
from tests.synthesis.test_fit import bytes_of

import understudy as us
from understudy.errors import CheckpointError, DataWarning, SettingError
from understudy.microdata.label_table import label_counts, true_labels
from understudy.randomness import child_seed, stream
from understudy.synthesis.areal.problem import POWERS as SIXTEENTHS
from understudy.synthesis.areal.problem import powers_of_cells
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.dpmpm.problem import make_problem
from understudy.synthesis.dpmpm.synthetic_labels import weighted_label_likelihood

MODELS: list[Any] = [
    us.DPMPM(sampler="collapsed"),
    us.DPMPM(sampler="blocked", n_classes=8),
    us.DPMPM(sampler="blocked", n_classes=8, level_prior=0.5),
    us.DPAreal(n_clusters=4),
    us.DPAreal(n_clusters=4, variant="script"),
]
NAMES = ["collapsed", "blocked", "blocked, fixed prior", "areal text", "areal script"]


def some_weights(data: us.Microdata) -> NDArray[np.float64]:
    """Sixteenths, so that no model rounds them."""
    drawn = stream(3, "weights").integers(0, SIXTEENTHS + 1, data.n_combinations)
    return np.asarray(drawn / SIXTEENTHS, dtype=np.float64)


@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_weights_of_one_give_the_bytes_of_no_weights(model: Any, data: us.Microdata) -> None:
    plain = quiet_fit(model, data, seed=5)
    ones = quiet_fit(model, data, seed=5, weights=np.ones(data.n_combinations))
    others = quiet_fit(model, data, seed=5, weights=some_weights(data))
    assert bytes_of(plain) == bytes_of(ones)
    assert bytes_of(plain) != bytes_of(others)
    assert ones.weights is None
    assert np.array_equal(others.weights, some_weights(data))


@pytest.mark.slow
@pytest.mark.parametrize("model", [MODELS[0], MODELS[2], MODELS[3]], ids=NAMES[0:1] + NAMES[2:4])
def test_weights_of_zero_forget_the_labels(model: Any, data: us.Microdata) -> None:
    """Labels of every pattern are as probable on average; six standard errors of 100 draws."""
    fit = quiet_fit(
        model, data, seed=6, weights=np.zeros(data.n_combinations), chains=4, draws=100, thin=4
    )
    table = np.asarray(fit.draws["posterior"]["label_probability"])  # (chain, draw, .., label)
    mean = table.mean(axis=(0, 1, 2))  # (label,)
    error = table.mean(axis=2).std(axis=(0, 1)) / np.sqrt(fit.plan.chains * 100 / 4)
    assert (np.abs(mean - 1 / data.n_labels) < 6 * error).all()


def first_fit(model: Any, data: us.Microdata, seed: int) -> Any:
    return quiet_fit(replace(model, risk_weighting=0.0), data, seed=child_seed(seed, "first fit"))


@pytest.mark.parametrize("risk", ["own_record", "surprise"])
@pytest.mark.parametrize(
    "model",
    [
        pytest.param(MODELS[0], id="collapsed"),
        pytest.param(MODELS[3], id="areal text", marks=pytest.mark.slow),
    ],
)
def test_weights_are_those_of_the_definition(model: Any, risk: Any, data: us.Microdata) -> None:
    """From the first fit, record by record."""
    first = first_fit(model, data, 7)
    tables = list(first.predictive_tables())
    likelihoods = list(first.left_out_weights_tables())
    risks = []
    for row, count in zip(range(data.n_combinations), data.counts, strict=True):
        b, g = int(data.patterns.of_combination[row]), int(true_labels(data)[row])
        own = np.array([table[b, g] for table in tables])
        if risk == "surprise":
            risks.append(float(np.abs(np.log(own)).max()))
            continue
        inverse = np.array([1 / likelihood[b, g] for likelihood in likelihoods])
        effect = own.mean() - (own * inverse).mean() / inverse.mean()
        n_b, n_g = int(data.patterns.sizes[b]), int(label_counts(data)[:, g].sum())
        others = (count - 1) / (n_b - 1) if n_b > 1 else (n_g - 1) / (data.n_records - 1)
        exact = count / n_b - others
        risks.append(min(1.0, max(0.0, effect / exact)) if exact > 0 else 0.0)
    scaled = np.array(risks)
    if risk == "surprise":
        scaled = (scaled - scaled.min()) / (scaled.max() - scaled.min())
    for dial in (0.4, 3.0):
        expected = np.clip(1 - dial * scaled, 0, 1)
        given = us.risk_weights(first, dial, risk)
        assert np.abs(given - expected).max() < 1 / 65_000
    weighted = quiet_fit(replace(model, risk_weighting=0.4, risk=risk), data, seed=7)
    rounded = model.weight_steps
    assert np.array_equal(
        weighted.weights, np.rint(us.risk_weights(first, 0.4, risk) * rounded) / rounded
    )
    again = quiet_fit(model, data, seed=7, weights=us.risk_weights(first, 0.4, risk))
    assert bytes_of(weighted) == bytes_of(again)


def test_a_saved_weighted_fit_goes_on_to_the_same_bytes(data: us.Microdata, tmp_path: Path) -> None:
    """From both of its fits; other weights are another run."""
    model = us.DPMPM(sampler="collapsed", risk_weighting=0.5)
    straight = quiet_fit(model, data, seed=8)
    saved = quiet_fit(model, data, seed=8, checkpoint=tmp_path / "run")
    again = quiet_fit(model, data, seed=8, checkpoint=tmp_path / "run")
    assert bytes_of(straight) == bytes_of(saved) == bytes_of(again)
    without_seed = quiet_fit(model, data, checkpoint=tmp_path / "another")
    goes_on = quiet_fit(model, data, checkpoint=tmp_path / "another")
    assert bytes_of(without_seed) == bytes_of(goes_on)
    with pytest.raises(CheckpointError, match="differs"):
        quiet_fit(model, data, seed=8, checkpoint=tmp_path / "run", weights=some_weights(data))


def test_local_sensitivity_is_the_largest_weighted_log_probability(data: us.Microdata) -> None:
    weights = some_weights(data)
    for given in (None, weights):
        fit = quiet_fit(us.DPMPM(sampler="collapsed"), data, seed=9, weights=given)
        largest = 0.0
        for table in fit.predictive_tables():
            for row, label in enumerate(true_labels(data)):
                p = table[data.patterns.of_combination[row], label]
                power = 1.0 if given is None else weights[row]
                largest = max(largest, power * abs(np.log(p)))
        assert fit.local_sensitivity == pytest.approx(largest)


@pytest.mark.parametrize("synthesize", [("county",), ("county", "region")])
def test_what_a_weighted_label_adds_is_that_of_its_twin(synthesize: tuple[str, ...]) -> None:
    data = small_data(synthesize)
    problem, generator = make_problem(data), stream(10, "twin")
    sizes = np.diff(problem.level_start)
    parts = [generator.dirichlet(np.ones(size), 3) for size in sizes]  # (class, level) each
    parameters = Parameters(generator.dirichlet(np.ones(3)), np.hstack(parts))
    weights = some_weights(data)
    table = weighted_label_likelihood(data, parameters, weights)
    tables = [[part[k].tolist() for part in parts] for k in range(3)]
    n_kept, columns = len(data.predictors), [data.names.index(name) for name in data.kept]
    others = [data.names.index(name) for name in data.synthesized]
    assert n_kept == len(columns)
    for row, codes in enumerate(data.combinations):
        expected = naive.weighted_label_likelihood(
            codes[columns].tolist(),
            codes[others].tolist(),
            float(weights[row]),
            parameters.weights.tolist(),
            tables,
        )
        own = table[data.patterns.of_combination[row], true_labels(data)[row]]
        assert own == pytest.approx(expected)


@pytest.mark.slow
def test_leaving_out_a_weighted_label_is_the_enumerated_posterior_without_it() -> None:
    """Mean of one over what labels add is a ratio of evidences; 4.5 standard errors, 2e-5."""
    powers = POWERS["fractions"]
    problem = weighted_problem(powers)
    rows = list(tiny.ROWS)
    generator = stream(11, "left out")
    state = blocked.init(generator, problem, 3, 3)
    blocks = np.empty((3, 60))  # (combination, block) means of blocks
    distinct = sorted(set(rows))
    for block in range(60):
        sums = np.zeros(3)
        for _ in range(800):
            state = blocked.step(generator, problem, state, (tiny.SHAPE, tiny.RATE))
            tables = [
                [column[:2].tolist(), column[2:].tolist()] for column in state.probabilities.T
            ]
            weights = np.exp(state.log_weights).tolist()
            sums += [
                1 / naive.weighted_label_likelihood(row[:1], row[1:], powers[row], weights, tables)
                for row in distinct
            ]
        blocks[:, block] = sums / 800
    settings = (tiny.PRIORS, tiny.SHAPE, tiny.RATE, 3)
    whole = sum(naive.weighted_truncated(rows, powers, *settings).values())
    for number, row in enumerate(distinct):
        hole = (row[0], 3)  # the number behind the last level
        without = [hole, *rows[: rows.index(row)], *rows[rows.index(row) + 1 :]]
        evidence = naive.weighted_truncated(without, {**powers, hole: powers[row]}, *settings)
        expected = sum(evidence.values()) / whole
        error = blocks[number].std(ddof=1) / np.sqrt(60)
        assert error < 0.02 * expected
        assert abs(blocks[number].mean() - expected) < 4.5 * error


def test_own_record_effects_of_a_weighted_fit_have_their_closed_form() -> None:
    """One class is a Dirichlet-multinomial; Monte-Carlo errors as stated, 4.5 of them: 1e-5."""
    labels = ["a"] * 9 + ["b"] * 4 + ["c"] * 2 + ["d"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        frame = pl.DataFrame({"kept": ["x"] * len(labels), "label": labels})
        frame = frame.vstack(pl.DataFrame({"kept": ["y"] * 3, "label": ["a", "b", "b"]}))
        data = us.read_microdata(frame, synthesize=["label"])
    prior, weights = 0.6, np.linspace(0.25, 1.0, data.n_combinations)
    model = us.DPMPM(sampler="blocked", n_classes=1, level_prior=prior)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.fit(data, chains=4, warmup=50, draws=1_000, thin=1, seed=12, weights=weights)
    assert fit.weights is not None
    weights = fit.weights
    label = true_labels(data)
    sums = np.bincount(label, weights * data.counts)  # (label,) of both patterns
    total = sums.sum() + data.n_labels * prior
    with_record = (sums[label] + prior) / total  # (combination,)
    without = (sums[label] - weights + prior) / (total - weights)
    effect = us.own_record_effect(data, fit, sets=5, seed=13)
    row = next(attack for attack in effect.attacks if attack.attack == "row")
    expected = float(data.counts @ (with_record - without))
    assert expected > 0.3
    assert abs(row.effect - expected) < 4.5 * row.standard_error + 1e-3
    tables = np.stack(list(fit.predictive_tables()))  # (draw, pattern, label)
    likelihood = np.stack(list(fit.left_out_weights_tables()))
    own = tables[:, data.patterns.of_combination, label]  # (draw, combination)
    added = likelihood[:, data.patterns.of_combination, label]
    assert added == pytest.approx(own**weights)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([0.5], "one weight for each"),
        ("heavy", "one weight for each"),
        (-1.0, "from 0 to 1"),
        (1.5, "from 0 to 1"),
        (float("nan"), "from 0 to 1|one weight for each"),
    ],
)
def test_weights_are_checked(weights: Any, said: str, data: us.Microdata) -> None:
    if isinstance(weights, float):
        weights = np.full(data.n_combinations, weights)
    with pytest.raises(SettingError, match=said):
        us.DPMPM().fit(data, weights=weights, draws=8)


def test_what_cannot_be_weighted_is_refused(data: us.Microdata) -> None:
    weights = some_weights(data)
    for model in (us.BackoffTree(), us.FormalDirichlet(epsilon=40.0, sets=4)):
        with pytest.raises(SettingError, match="without weights"):
            model.fit(data, weights=weights, draws=8)
    with pytest.raises(SettingError, match="at full"):
        us.DPMPM(class_draw="full").fit(data, weights=weights, draws=8)
    with pytest.raises(SettingError, match="at full"):
        us.DPMPM(class_draw="full", risk_weighting=0.5)
    frame = pl.DataFrame({"kept": ["x", "y", None, "x"] * 9, "label": ["a", "b", "c"] * 12})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        holed = us.read_microdata(frame, synthesize=["label"], missing="model")
    with pytest.raises(SettingError, match="belongs to no record"):
        us.DPMPM(risk_weighting=0.5).fit(holed, draws=8)
    for dial, risk in ((-0.1, "surprise"), (float("inf"), "surprise"), (0.5, "rarity")):
        with pytest.raises(SettingError):
            us.DPMPM(risk_weighting=dial, risk=risk)  # type: ignore[arg-type]
        with pytest.raises(SettingError):
            us.DPAreal(risk_weighting=dial, risk=risk)  # type: ignore[arg-type]


def test_weighted_fits_draw_sets(data: us.Microdata) -> None:
    fit = quiet_fit(us.DPMPM(risk_weighting=1.0, risk="surprise"), data, seed=14)
    assert len(quiet_sets(fit, 3, seed=1)) == 3
    assert fit.weights.min() == 0.0
    assert fit.weights.max() == 1.0


def test_weights_come_in_the_order_of_the_kernels(data: us.Microdata) -> None:
    """The problem's combinations are sorted otherwise than the data's."""
    weights = some_weights(data)
    problem = make_problem(data, weights=weights)
    columns = [data.names.index(name) for name in (*data.predictors, *data.synthesized)]
    levels = data.combinations[:, columns] + problem.level_start[:-1]
    expected = dict(zip(map(tuple, levels.tolist()), weights.tolist(), strict=True))
    weight_of = dict(
        zip(map(tuple, problem.levels.tolist()), problem.weights.tolist(), strict=True)
    )
    assert weight_of == expected
    assert problem.weights.tolist() != weights.tolist()


def test_areal_counts_lose_powers_of_their_rates(data: us.Microdata) -> None:
    """By the cell of every combination; empty cells have the mean weight of their pattern."""
    weights = some_weights(data)
    fit = quiet_fit(MODELS[3], data, seed=15, weights=weights)
    pattern, label = data.patterns.of_combination, true_labels(data)
    powers = powers_of_cells(data, weights)
    assert np.array_equal(powers[pattern, label], weights)
    for b, g in zip(*np.nonzero(label_counts(data) == 0), strict=True):
        own = pattern == b
        mean = (weights * data.counts)[own].sum() / data.counts[own].sum()
        assert abs(powers[b, g] - mean) <= 0.5 / SIXTEENTHS + 1e-12
    _, snapshot = fit.chain_draws.snapshots[0][0]
    rates = snapshot["probabilities"] * snapshot["pattern_rates"][:, None]
    first = next(iter(fit.left_out_weights_tables()))
    assert first[pattern, label] == pytest.approx(rates[pattern, label] ** weights)
