"""Attribute risk counts true labels, and says what guessing would reach."""

import numpy as np
import pytest
from hypothesis import given
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, close, microdata, surveys

import understudy as us
from understudy.errors import SettingError
from understudy.microdata.table import SyntheticSets


@EXAMPLES
@given(survey=surveys())
def test_agrees_with_the_slow_twin(survey: Survey) -> None:
    risk = us.attribute_risk(survey.data, survey.sets)
    n, m = survey.data.n_records, len(survey.sets)
    right = [[a == b for a, b in zip(survey.true, made, strict=True)] for made in survey.made]
    assert risk.per_set["matches"].to_list() == [sum(hits) for hits in right]
    assert close(risk.matches, sum(map(sum, right)) / m)
    assert close(risk.share, sum(map(sum, right)) / m / n)
    assert close(risk.spreads["matches"].minimum, min(map(sum, right)))
    assert np.allclose(risk.per_record(), np.mean(right, axis=0))
    assert close(risk.joint.matches, naive.vote(survey.true, survey.made))
    assert close(risk.joint.share, risk.joint.matches / n)


@EXAMPLES
@given(survey=surveys())
def test_guessing_agrees_with_the_slow_twin(survey: Survey) -> None:
    risk = us.attribute_risk(survey.data, survey.sets)
    pattern = survey.values(survey.data.kept)
    guesses = [naive.guess_most_frequent(pattern, survey.true, made) for made in survey.made]
    own = naive.guess_most_frequent(pattern, survey.true, survey.true)
    assert close(risk.most_frequent_label, own)
    assert np.allclose(
        risk.per_set["most_frequent_synthetic_label"], [float(hits) for hits in guesses]
    )
    assert close(risk.most_frequent_synthetic_label, sum(guesses) / len(guesses))
    together = [label for made in survey.made for label in made]
    pooled = naive.guess_most_frequent(
        survey.values(survey.data.kept), survey.true, together, len(survey.made)
    )
    assert close(risk.most_frequent_pooled_label, pooled)


@EXAMPLES
@given(survey=surveys())
def test_attacks_in_the_worst_case_and_as_released(survey: Survey) -> None:
    risk = us.attribute_risk(survey.data, survey.sets)
    attacks = {row["attack"]: row for row in risk.attacks.iter_rows(named=True)}
    assert close(attacks["row"]["worst_case"], risk.matches)
    pattern = survey.values(survey.data.kept)
    any_row = [naive.any_row(pattern, survey.true, made) for made in survey.made]
    assert close(attacks["row"]["as_released"], sum(any_row) / len(any_row))
    assert attacks["vote"]["as_released"] is None
    for attack, row in attacks.items():
        assert close(row["worst_case"], risk.per_record(attack).sum())
    with pytest.raises(SettingError, match="pooled_modal"):
        risk.per_record("something")  # type: ignore[arg-type]


@EXAMPLES
@given(survey=surveys())
def test_patterns_and_variables_add_up(survey: Survey) -> None:
    risk = us.attribute_risk(survey.data, survey.sets)
    patterns = risk.per_pattern()
    assert close(float(patterns["matches"].sum()), risk.matches)
    assert patterns["share"].is_between(0, 1).all()
    assert risk.per_variable["variable"].to_list() == list(survey.data.synthesized)
    assert (risk.per_variable["matches"] >= risk.matches - 1e-12).all()


def test_one_set_votes_as_it_is() -> None:
    data = microdata({"sex": [0, 0, 1]}, {"town": [0, 1, 2]}, {"sex": 2, "town": 3})
    risk = us.attribute_risk(data, SyntheticSets(data, np.array([[[0], [1], [0]]])))
    assert risk.joint.matches == risk.matches == 2


def test_printing_shows_no_level() -> None:
    data = microdata({"sex": [0, 0, 1]}, {"town": [0, 1, 2]}, {"sex": 2, "town": 3})
    risk = us.attribute_risk(data, SyntheticSets(data, np.array([[[0], [1], [0]]])))
    for shown in (str(risk), str(risk.joint), risk.assumption, str(risk.over_sets())):
        assert "secret" not in shown
    assert "most frequent label" in str(risk)
