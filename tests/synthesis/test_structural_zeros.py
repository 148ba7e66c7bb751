"""Impossible combinations as the user meets them: no set has one, and fits condition on it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.bad_inputs.cases import covers
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data
from tests.synthesis.test_fit import bytes_of

import understudy as us
from understudy.errors import DataWarning, LevelError, SettingError, UnderstudyWarning
from understudy.microdata.structural_zeros import breaks_rules, impossible_labels
from understudy.synthesis.dpmpm.problem import make_problem

RULES = [
    {"gender": ["g0"], "county": ["c4", "c5"]},
    {"age": ["a2"], "region": ["r3"], "county": ["c3", "c4"]},  # overlaps the first
]


def read(
    missing: Any = "error", holes: bool = False, synthesize: Any = "county", **more: Any
) -> us.Microdata:
    """The small data without the records that break a rule."""
    whole = small_data(n_records=300)
    frame = whole.frame("polars")
    strings = frame.select(frame[name].cast(str) for name in frame.columns)
    broken = np.zeros(whole.n_records, dtype=bool)
    for rule in RULES:
        hit = np.ones(whole.n_records, dtype=bool)
        for name, levels in rule.items():
            hit &= strings[name].is_in(levels).to_numpy()
        broken |= hit
    strings = strings.filter(~broken)
    if holes:
        values = [None if row % 5 == 0 else value for row, value in enumerate(strings["age"])]
        strings = strings.with_columns(pl.Series("age", values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return us.read_microdata(
            strings,
            synthesize=synthesize,
            codebook={"impossible": RULES},
            missing=missing,
            **more,
        )


@pytest.fixture(scope="module")
def truncated() -> us.Microdata:
    return read()


@pytest.fixture(scope="module")
def fit(truncated: us.Microdata) -> Any:
    return quiet_fit(us.DPMPM(n_classes=8), truncated, seed=1)


def test_rules_are_boxes_that_do_not_overlap(truncated: us.Microdata) -> None:
    boxes = make_problem(truncated).impossible
    assert boxes.shape[0] >= 2
    mask = impossible_labels(truncated)  # (pattern, label)
    assert mask.any()
    assert not mask.all(axis=1).any()


@covers(129)
def test_auto_takes_the_blocked_sampler(fit: Any, truncated: us.Microdata) -> None:
    assert fit.settings.sampler == "blocked"
    with pytest.raises(SettingError, match='use sampler="blocked"'):
        us.DPMPM(sampler="collapsed").fit(truncated)


def test_kept_probabilities_condition_on_what_is_possible(
    fit: Any, truncated: us.Microdata
) -> None:
    table = np.asarray(fit.draws["posterior"]["label_probability"])  # (chain, draw, pattern, label)
    assert np.allclose(table.sum(axis=3), 1.0, atol=1e-5)
    assert (table[..., impossible_labels(truncated)] == 0.0).all()
    first = next(fit.predictive_tables())
    assert np.allclose(first, table[0, 0], atol=1e-6)
    assert np.isfinite(np.asarray(fit.draws["posterior"]["log_likelihood"])).all()
    assert (np.asarray(fit.draws["posterior"]["largest_class_share"]) <= 1.0).all()
    assert "expected_matches" in fit.diagnostics()["quantity"].to_list()


@pytest.mark.parametrize("class_draw", ["kept", "full", "prior"])
def test_no_synthetic_record_is_impossible(
    fit: Any, truncated: us.Microdata, class_draw: Any
) -> None:
    if class_draw != "kept":
        settings = us.DPMPM(n_classes=8, class_draw=class_draw)
        fit = quiet_fit(settings, truncated, seed=1, warmup=5, draws=6)
    sets = quiet_sets(fit, 4, seed=2)
    column = truncated.names.index("county")
    for codes in sets.codes:
        rows = truncated.combinations[truncated.of_record].copy()  # (record, variable)
        rows[:, column] = codes[:, 0]
        assert (breaks_rules(truncated, rows, truncated.impossible) == -1).all()
    probabilities = fit.label_table(0, m=4).probabilities  # (row, label)
    assert np.allclose(probabilities.sum(axis=1), 1.0)


def test_a_saved_run_goes_on_to_the_same_bytes(
    fit: Any, truncated: us.Microdata, tmp_path: Path
) -> None:
    def stop(progress: Any) -> None:
        if progress.sweep > 60:
            raise KeyboardInterrupt

    settings, folder = us.DPMPM(n_classes=8), tmp_path / "saved"
    with pytest.raises(KeyboardInterrupt):
        quiet_fit(settings, truncated, seed=1, checkpoint=folder, progress=stop)
    assert bytes_of(quiet_fit(settings, truncated, seed=1, checkpoint=folder)) == bytes_of(fit)


def test_own_record_effect_of_the_truncated_model(fit: Any, truncated: us.Microdata) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        effect = us.own_record_effect(truncated, fit, sets=2, seed=1)
    assert np.isfinite([attack.effect for attack in effect.attacks]).all()


@pytest.mark.parametrize("class_draw", ["kept", "full"])
def test_holes_in_a_rule_are_filled_and_put_back(class_draw: Any) -> None:
    data = read("model", holes=True)
    assert make_problem(data).kinds.size
    settings = us.DPMPM(n_classes=8, class_draw=class_draw)
    fit = quiet_fit(settings, data, seed=1, warmup=20, draws=12)
    assert fit.settings.sampler == "blocked"
    table = np.asarray(fit.draws["posterior"]["label_probability"])  # (chain, draw, pattern, label)
    assert np.allclose(table.sum(axis=3), 1.0, atol=1e-5)
    if class_draw == "kept":
        assert np.allclose(next(fit.predictive_tables()), table[0, 0], atol=1e-6)
    assert quiet_sets(fit, 1, seed=2)[0]["age"].equals(data.frame()["age"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        imputed = fit.synthesize_imputed(imputations=3, sets=2, seed=1)
        effect = us.own_record_effect(data, fit, sets=2, seed=1)
    assert np.isfinite([attack.effect for attack in effect.attacks]).all()
    for drawn in imputed:
        text = drawn.cast(pl.String)
        assert text["age"].null_count() == 0
        assert not any(
            text.filter(
                pl.all_horizontal(pl.col(name).is_in(levels) for name, levels in rule.items())
            ).height
            for rule in RULES
        )


@covers(130)
def test_records_that_can_only_be_filled_with_what_is_impossible_are_refused() -> None:
    frame = pl.DataFrame({"age": ["a", "b", None, None], "county": ["x", "y", "x", "y"]})
    rules = [{"age": ["a"], "county": ["y"]}]

    def refused() -> us.Microdata:
        possible = frame.filter(~(frame["age"] == "b").fill_null(value=False))
        book = {"impossible": rules}
        return us.read_microdata(possible, synthesize="county", missing="model", codebook=book)

    with pytest.raises(LevelError, match="1 record with missing values of which every filling"):
        refused()
    rules[0]["age"] = ["(missing)"]
    with pytest.raises(SettingError, match="1 that the data and the codebook do not have"):
        refused()


@covers(129)
def test_a_gpu_is_refused_for_holes_in_rules() -> None:
    with pytest.raises(SettingError, match='use device="cpu"'):
        us.DPMPM(device="gpu").fit(read("model", holes=True))


@covers(129)
def test_rules_that_overlap_too_much_are_refused(
    truncated: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.microdata.structural_zeros.MOST_BOXES", 1)
    with pytest.raises(SettingError, match="overlap in too many ways"):
        us.DPMPM().fit(truncated)


MODELS: list[Any] = [
    us.BackoffTree(),
    us.BackoffTree(order=["region"]),
    us.BackoffTree(scale=4.0),
    us.FormalDirichlet(epsilon=4.0),
    us.DPAreal(n_clusters=4),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_other_models_give_what_is_impossible_no_probability(
    truncated: us.Microdata, model: Any
) -> None:
    fit = quiet_fit(model, truncated, seed=1, warmup=5 if model != MODELS[3] else 0, draws=12)
    table = np.asarray(fit.draws["posterior"]["label_probability"])  # (chain, draw, pattern, label)
    assert np.allclose(table.sum(axis=3), 1.0, atol=1e-5)
    impossible = impossible_labels(truncated)
    assert impossible.any()
    assert (table[..., impossible] == 0.0).all()
    assert (table[..., ~impossible] > 0.0).any(axis=(0, 1)).all()  # some are too small for a number
    assert np.isfinite(np.asarray(fit.draws["posterior"]["log_likelihood"])).all()
    column = truncated.names.index("county")
    for codes in quiet_sets(fit, 4, seed=2).codes:
        rows = truncated.combinations[truncated.of_record].copy()  # (record, variable)
        rows[:, column] = codes[:, 0]
        assert (breaks_rules(truncated, rows, truncated.impossible) == -1).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        effect = us.own_record_effect(truncated, fit, sets=2, seed=1)
    assert np.isfinite([attack.effect for attack in effect.attacks]).all()


@pytest.mark.parametrize("keep", [None, []])
@pytest.mark.parametrize("model", [us.BackoffTree(), us.BackoffTree(order=[])], ids=repr)
def test_variables_drawn_one_after_another_are_possible_together(model: Any, keep: Any) -> None:
    """A level that would leave nothing for the next variable is not drawn."""
    everything = [] if keep == [] else ["county", "region", "age"]
    names = everything or ["county", "region", "age", "gender"]
    data = read(synthesize=names)
    fit = quiet_fit(model, data, seed=1, draws=12)
    impossible = impossible_labels(data)
    for table in fit.label_tables():
        by_pattern = np.empty((len(data.patterns), data.n_labels))
        by_pattern[data.patterns.of_combination] = table.probabilities[table.row_of_combination]
        assert np.allclose(by_pattern.sum(axis=1), 1.0)
        assert (by_pattern[impossible] == 0.0).all()
    columns = [data.names.index(name) for name in data.synthesized]
    for codes in quiet_sets(fit, 4, seed=2).codes:
        rows = data.combinations[data.of_record].copy()  # (record, variable)
        rows[:, columns] = codes
        assert (breaks_rules(data, rows, data.impossible) == -1).all()


@pytest.mark.parametrize("model", [us.BackoffTree(), us.BackoffTree(order=[])], ids=repr)
def test_combinations_that_occur_nowhere_are_possible(model: Any) -> None:
    """a2 never occurs beside g0 and c0: there b2 and b3 are possible, elsewhere all but these.

    So the group of a2 has no label that such a record may have, and its label comes from further
    up, where b2 is eight times as frequent as b3.
    """
    rules = [
        {"g": ["g0"], "c": ["c0"], "a": ["a2"], "b": ["b0", "b1"]},
        {"c": ["c1"], "a": ["a2"], "b": ["b2", "b3"]},
        {"g": ["g1"], "a": ["a2"], "b": ["b2", "b3"]},
    ]
    rows = [
        (f"g{g}", f"c{c}", f"a{a}", f"b{b}")
        for g in range(2) for c in range(2) for a in range(3) for b in range(4)
        for _ in range((5, 5, 16, 2)[b])
        if a < 2 or (b < 2 and (g, c) != (0, 0))
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["g", "c", "a", "b"], orient="row")
    data = us.read_microdata(frame, synthesize=["a", "b"], codebook={"impossible": rules})
    fit = quiet_fit(model, data, seed=1, draws=12)
    own = data.patterns.codes.tolist().index([0, 0])
    table = np.asarray(fit.draws["posterior"]["label_probability"])  # (chain, draw, pattern, label)
    shares = table.reshape(*table.shape[:3], 3, 4)  # (chain, draw, pattern, a, b)
    assert np.allclose(shares.sum(axis=(3, 4)), 1.0, atol=1e-5)
    assert (shares[:, :, own, 2, :2] == 0.0).all()
    second, third = shares[:, :, own, 2, 2].mean(), shares[:, :, own, 2, 3].mean()
    assert second > 3 * third > 0  # alike if their group, which has neither, were asked
    others = np.arange(len(data.patterns)) != own
    assert (shares[:, :, others, 2, 2:] == 0.0).all()
    kept = data.patterns.codes[data.patterns.of_combination[data.of_record]]  # (record, variable)
    for codes in quiet_sets(fit, 8, seed=2).codes:
        drawn = np.hstack([kept, codes]).astype(np.int32)
        assert (breaks_rules(data, drawn, data.impossible) == -1).all()
