"""Attribute risk counts true labels, and says what guessing would reach."""

import numpy as np
from hypothesis import given
from tests.naive import risk as naive
from tests.risk.making import EXAMPLES, Survey, close, microdata, surveys

import understudy as us
from understudy.microdata.table import SyntheticSets


@EXAMPLES
@given(survey=surveys())
def test_agrees_with_the_slow_twin(survey: Survey) -> None:
    found = us.attribute_risk(survey.data, survey.sets)
    n, m = survey.data.n_records, len(survey.sets)
    right = [[a == b for a, b in zip(survey.true, made, strict=True)] for made in survey.made]
    assert found.per_set["matches"].to_list() == [sum(one) for one in right]
    assert close(found.matches, sum(map(sum, right)) / m)
    assert close(found.share, sum(map(sum, right)) / m / n)
    assert close(found.spreads["matches"].minimum, min(map(sum, right)))
    assert np.allclose(found.per_record(), np.mean(right, axis=0))
    assert close(found.joint.matches, naive.vote(survey.true, survey.made))
    assert close(found.joint.share, found.joint.matches / n)


@EXAMPLES
@given(survey=surveys())
def test_guessing_agrees_with_the_slow_twin(survey: Survey) -> None:
    found = us.attribute_risk(survey.data, survey.sets)
    pattern = survey.values(survey.data.kept)
    guesses = [naive.guess_most_frequent(pattern, survey.true, made) for made in survey.made]
    own = naive.guess_most_frequent(pattern, survey.true, survey.true)
    assert close(found.most_frequent_label, own)
    assert np.allclose(
        found.per_set["most_frequent_synthetic_label"], [float(one) for one in guesses]
    )
    assert close(found.most_frequent_synthetic_label, sum(guesses) / len(guesses))


@EXAMPLES
@given(survey=surveys())
def test_patterns_and_variables_add_up(survey: Survey) -> None:
    found = us.attribute_risk(survey.data, survey.sets)
    patterns = found.per_pattern()
    assert close(float(patterns["matches"].sum()), found.matches)
    assert patterns["share"].is_between(0, 1).all()
    assert found.per_variable["variable"].to_list() == list(survey.data.synthesized)
    assert (found.per_variable["matches"] >= found.matches - 1e-12).all()


def test_one_set_votes_as_it_is() -> None:
    data = microdata({"sex": [0, 0, 1]}, {"town": [0, 1, 2]}, {"sex": 2, "town": 3})
    found = us.attribute_risk(data, SyntheticSets(data, np.array([[[0], [1], [0]]])))
    assert found.joint.matches == found.matches == 2


def test_printing_shows_no_level() -> None:
    data = microdata({"sex": [0, 0, 1]}, {"town": [0, 1, 2]}, {"sex": 2, "town": 3})
    found = us.attribute_risk(data, SyntheticSets(data, np.array([[[0], [1], [0]]])))
    for shown in (str(found), str(found.joint), found.assumption, str(found.over_sets())):
        assert "secret" not in shown
    assert "most frequent label" in str(found)
