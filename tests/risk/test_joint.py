"""The intruder who holds all files: averaged probabilities and the vote, against slow twins."""

import numpy as np
import pytest
from hypothesis import given
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, close, known_sets, microdata, surveys

import understudy as us
from understudy.microdata.label_table import empirical_labels
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream


@EXAMPLES
@given(survey=surveys(most_sets=6))
def test_agrees_with_the_slow_twin(survey: Survey) -> None:
    for known in known_sets(survey.data):
        risk = us.identification_risk(survey.data, survey.sets, known).joint
        slow = naive.joint_match(survey.values(known), survey.true, survey.made)
        assert close(risk.expected_match_risk, naive.expected_match_risk(slow))
        assert close(risk.false_match_rate, naive.false_match_rate(slow))
        assert risk.unique_matches == naive.unique_matches(slow)
        assert risk.true_matches == naive.true_matches(slow)
        assert close(risk.true_match_rate, naive.true_matches(slow) / survey.data.n_records)


@EXAMPLES
@given(survey=surveys(most_sets=1))
def test_one_set_jointly_is_one_set(survey: Survey) -> None:
    risk = us.identification_risk(survey.data, survey.sets, survey.data.kept)
    assert close(risk.joint.expected_match_risk, risk.expected_match_risk)
    assert close(risk.joint.false_match_rate, risk.false_match_rate)
    assert risk.joint.unique_matches == risk.unique_matches


@EXAMPLES
@given(survey=surveys())
def test_the_risk_of_all_files_is_never_below_that_of_one(survey: Survey) -> None:
    risk = us.identification_risk(survey.data, survey.sets, survey.data.kept[:1])
    assert risk.best_match_risk >= risk.expected_match_risk
    assert risk.best_match_risk >= risk.joint.expected_match_risk


@pytest.mark.parametrize(
    ("first", "second"), [((1,), (2, 3, 6)), ((2, 12), (3, 4)), ((2, 6), (3, 3))]
)
def test_sums_that_are_equal_in_fractions_are_ties(
    first: tuple[int, ...], second: tuple[int, ...]
) -> None:
    """Probabilities that are equal in fractions need not be so in floating point.

    Row 0 has the wanted label in sets with as many such rows as `first` says, row 1 in the sets of
    `second`; each set fills up with rows of its own. Rows 0 and 1 tie.
    """
    sizes = [*first, *second]
    n = 2 + sum(sizes)
    made = np.ones((len(sizes), n), dtype=int)  # (set, record); label 1 is nobody's
    fill = 2
    for index, size in enumerate(sizes):
        made[index, 0 if index < len(first) else 1] = 0
        made[index, fill : fill + size - 1] = 0
        fill += size - 1
    data = microdata({"sex": [0] * n}, {"town": [0] + [2] * (n - 1)}, {"sex": 1, "town": 3})
    survey = Survey(data, SyntheticSets(data, made[:, :, None]))
    slow = naive.joint_match(survey.values(["sex"]), survey.true, survey.made)
    risk = us.identification_risk(data, survey.sets, "sex").joint
    assert slow.candidates[0] == 2
    assert slow.truth[0] == 1
    assert close(risk.expected_match_risk, naive.expected_match_risk(slow))


def test_many_files_of_a_leaky_synthesizer_give_everything_away() -> None:
    """A label that is true three times in ten is found by vote almost always.

    With 133 labels and 40 files the true label wins the vote for at least nine records in ten; a
    right program misses that with probability far below 1e-9.
    """
    data = us.load_ce_like()
    true = data.codes("county")
    codes = np.empty((40, data.n_records, 1), dtype=np.int32)
    for index in range(40):
        generator = stream(3, "leaky", index)
        drawn = empirical_labels(data).draw(generator, data)
        codes[index, :, 0] = np.where(generator.random(data.n_records) < 0.3, true, drawn)
    risk = us.attribute_risk(data, SyntheticSets(data, codes))
    assert risk.share < 0.35
    assert risk.joint.share > 0.9
