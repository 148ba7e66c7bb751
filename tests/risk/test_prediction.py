"""The intruder who trains a model: confidence by hand, a forest that pools, K folds that tell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.risk.example_surveys import microdata

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.label_rows import whole_table
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk import prediction


def survey(n: int, seed: int, n_levels: int = 2) -> us.Microdata:
    """Town depends on sex; two other variables say nothing."""
    generator = stream(seed, "prediction")
    sex = generator.integers(0, 2, n)
    noise = {name: generator.integers(0, n_levels, n).tolist() for name in ("a", "b")}
    town = np.where(generator.random(n) < 0.6, sex, generator.integers(0, 5, n))
    levels = {"sex": 2, "a": n_levels, "b": n_levels, "town": 5}
    return microdata({"sex": sex.tolist(), **noise}, {"town": town.tolist()}, levels)


def test_large_patterns_are_their_own_shares() -> None:
    data = survey(2000, 1)
    sets = us.Perfect().fit(data).synthesize(3, seed=1)
    risk = us.prediction_risk(data, sets, seed=1)
    assert risk.n_large == 2000
    pattern = data.patterns.of_combination[data.of_record]
    true = data.codes("town")
    share = np.bincount(true, minlength=5) / 2000
    confidence = np.empty(2000)
    for i in range(2000):
        rows = sets.codes[:, pattern == pattern[i], 0]
        confidence[i] = (rows == true[i]).mean()
    gain = (confidence - share[true]) / (1 - share[true])
    assert np.isclose(risk.confidence, confidence.mean())
    assert np.allclose(risk.per_record(), gain)
    assert risk.at_risk == (gain > 0.3).sum()
    assert risk.effect is None
    assert "secret" not in str(risk)


def test_a_forest_learns_from_people_alike_in_some_variables() -> None:
    """Patterns of four people: the forest is surer of the truth than their own shares are."""
    data, fresh = survey(400, 2, 7), survey(400, 3, 7)
    sets = SyntheticSets(data, data.codes("town")[None, :, None])
    counts = prediction.pooled_rows(data, data, sets)
    forest = prediction.predict_labels(stream(1, "forest"), data, counts)
    assert np.allclose(forest.sum(axis=1), 1.0)
    codes = {tuple(row): index for index, row in enumerate(data.patterns.codes.tolist())}
    known = [codes.get(tuple(row)) for row in fresh.patterns.codes.tolist()]
    pattern = fresh.patterns.of_combination[fresh.of_record]
    town = fresh.codes("town")
    own = whole_table(counts, data.n_labels)
    scores = np.array(
        [(np.log(max(forest[known[p], t], 1e-3)), np.log(max(own[known[p], t], 1e-3)))
         for p, t in zip(pattern, town, strict=True) if known[p] is not None]
    )  # fmt: skip
    assert scores[:, 0].mean() > scores[:, 1].mean() + 0.3


def test_folds_tell_the_own_record_from_inference() -> None:
    """Redrawn from the exact table of small patterns, a record's own label matters; uniformly not.

    The uniform baseline gives the same confidence with and without, up to 4 standard errors.
    """
    data = survey(600, 4, 6)
    leaky = us.prediction_risk(
        data, us.Perfect().fit(data).synthesize(5, seed=1), refit=us.Perfect().fit, seed=2
    )
    harmless = us.prediction_risk(
        data, us.Uniform().fit(data).synthesize(5, seed=1), refit=us.Uniform().fit, seed=2
    )
    assert leaky.effect is not None
    assert leaky.standard_error is not None
    assert leaky.effect > 4 * leaky.standard_error
    assert harmless.effect is not None
    assert harmless.standard_error is not None
    assert abs(harmless.effect) < 4 * harmless.standard_error
    assert "own-record effect" in str(leaky)


def test_settings_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = survey(60, 1)
    sets = us.Perfect().fit(data).synthesize(2, seed=1)
    with pytest.raises(SettingError, match="threshold"):
        us.prediction_risk(data, sets, threshold=1.0)
    with pytest.raises(SettingError, match="folds"):
        us.prediction_risk(data, sets, folds=1)
    monkeypatch.setattr(prediction, "LARGEST_TABLE", 3)
    with pytest.raises(InputError, match="combined labels"):
        us.prediction_risk(data, sets)
