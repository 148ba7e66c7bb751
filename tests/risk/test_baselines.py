"""The data's own levels: samples and closed forms agree, seeds repeat, joint levels exist.

Seeds are fixed; 4.5 standard errors are allowed for each of 16 figures, so a right program would
have failed with probability below 2e-4 in all when the seed was chosen.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.naive import risk as naive
from tests.risk.example_surveys import Survey, microdata, surveys

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.label_table import empirical_labels, uniform_labels
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk import baselines
from understudy.risk.matching import NO_UNIQUE_MATCHES

SIMULATED = 4.5  # standard errors


@pytest.mark.parametrize("known", [["gender"], ["gender", "age"]])
def test_samples_agree_with_closed_forms(known: list[str]) -> None:
    inherent = us.inherent_risk(us.load_ce_like(), known, repeats=200, seed=8)
    for baseline in (inherent.minimum, inherent.maximum):
        for name in (
            "expected_match_risk", "true_match_rate", "unique_matches", "attribute_matches",
        ):  # fmt: skip
            spread = baseline.spreads[name]
            assert spread.mean is not None
            assert spread.standard_error is not None
            difference = abs(spread.mean - getattr(baseline.expected, name))
            # rare events: the exact figure's Poisson error where 200 repeats saw next to none
            least = (
                getattr(baseline.expected, name) / inherent.n_records / inherent.repeats
            ) ** 0.5
            assert difference <= SIMULATED * max(spread.standard_error, least)


def test_minimum_is_far_from_zero_where_the_paper_prints_zero() -> None:
    data = us.load_ce_like()
    gender = us.inherent_risk(data, "gender", repeats=1, seed=0).minimum.expected
    both = us.inherent_risk(data, ["gender", "age"], repeats=1, seed=0).minimum.expected
    assert round(gender.expected_match_risk, 2) == 2.00
    assert round(both.expected_match_risk, 2) == 7.99


@settings(deadline=None, derandomize=True, max_examples=30)
@given(survey=surveys())
def test_samples_are_matched_like_any_set(survey: Survey) -> None:
    """Draw with the same streams and match with the slow twin."""
    data, known = survey.data, survey.data.kept[:1]
    inherent = us.inherent_risk(data, known, repeats=2, seed=3, sets=2)
    sizes = [data.variable(name).n_levels for name in data.synthesized]
    true = [int(np.ravel_multi_index(label, sizes)) for label in survey.true]
    for baseline, table in (
        (inherent.minimum, uniform_labels(data)), (inherent.maximum, empirical_labels(data)),
    ):  # fmt: skip
        assert baseline.joint is not None
        for repeat in range(2):
            path = (3, "inherent risk", baseline.name)
            made = table.draw(stream(*path, repeat), data).tolist()
            slow = naive.match(survey.values(known), true, made)
            row = baseline.samples.row(repeat, named=True)
            assert np.isclose(row["expected_match_risk"], float(naive.expected_match_risk(slow)))
            assert row["unique_matches"] == naive.unique_matches(slow)
            assert row["attribute_matches"] == sum(slow.truth)
            files = [
                table.draw(stream(*path, "joint", repeat, index), data).tolist()
                for index in range(2)
            ]
            together = naive.joint_match(survey.values(known), true, files)
            joint = baseline.joint.row(repeat, named=True)
            risk = float(naive.expected_match_risk(together))
            assert np.isclose(joint["expected_match_risk"], risk)
            assert np.isclose(joint["attribute_matches"], float(naive.vote(true, files)))


def test_the_perfect_synthesizer_lies_at_its_own_level() -> None:
    """Joint figures of 10 perfect files lie within the range of 60 repeats of the joint Max level.

    Three figures, each outside of its range with probability 2/61 for a right program: at this
    seed never.
    """
    data = us.load_ce_like()
    baseline = us.inherent_risk(data, "gender", repeats=60, seed=1, sets=10)
    table = empirical_labels(data)
    codes = np.stack([table.draw(stream(4, "perfect", index), data) for index in range(10)])
    sets = SyntheticSets(data, codes[:, :, None])
    joint = us.identification_risk(data, sets, "gender").joint
    vote = us.attribute_risk(data, sets).joint
    spreads = baseline.maximum.joint_spreads
    for name, value in (
        ("expected_match_risk", joint.expected_match_risk),
        ("unique_matches", joint.unique_matches),
        ("attribute_matches", vote.matches),
    ):
        low, high = spreads[name].minimum, spreads[name].maximum
        assert low is not None
        assert high is not None
        assert low <= value <= high
    assert "all 10 files" in str(baseline)


def test_the_same_seed_gives_the_same_samples() -> None:
    data = us.load_ce_like()
    first, again, other = (
        us.inherent_risk(data, "gender", repeats=3, seed=seed).maximum.samples for seed in (1, 1, 2)
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_undefined_is_said_and_levels_are_not_called_bounds() -> None:
    data = microdata({"sex": [0, 0]}, {"town": [0, 0]}, {"sex": 1, "town": 1})
    inherent = us.inherent_risk(data, "sex", repeats=3, seed=1)
    assert inherent.maximum.false_match_rate is None
    assert NO_UNIQUE_MATCHES in str(inherent)
    assert "not bounds" in str(inherent)
    assert NO_UNIQUE_MATCHES in str(inherent.maximum)
    assert "secret" not in str(inherent)
    assert inherent.maximum.joint_spreads == {}
    assert inherent.minimum.expected_match_risk == 1.0
    assert inherent.minimum.true_match_rate == 0.0
    assert inherent.minimum.unique_matches == 0.0
    assert inherent.minimum.attribute_matches == 2.0


def test_settings_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    data = us.load_ce_like()
    with pytest.raises(SettingError, match="repeats"):
        us.inherent_risk(data, "gender", repeats=0)
    with pytest.raises(SettingError, match="sets"):
        us.inherent_risk(data, "gender", sets=0)
    with pytest.raises(SettingError, match="at least one"):
        us.inherent_risk(data, [])
    nothing_kept = microdata({}, {"town": [0, 1]}, {"town": 2})
    with pytest.raises(InputError, match="attribution_risk"):
        us.inherent_risk(nothing_kept, "town")
    monkeypatch.setattr(baselines, "MOST_CELLS", 100)
    with pytest.raises(SettingError, match="40 patterns and 133 labels"):
        us.inherent_risk(data, "gender")


def test_the_table_says_over_how_many_draws_a_mean_is() -> None:
    """A unique match occurs in some repeats only; the false match rate is a mean over those."""
    data = microdata({"sex": [0, 0, 0]}, {"town": [0, 0, 1]}, {"sex": 1, "town": 2})
    inherent = us.inherent_risk(data, "sex", repeats=30, seed=2)
    files = inherent.minimum.spreads["false_match_rate"].files
    assert 0 < files < 30
    for shown in (str(inherent), str(inherent.minimum)):
        assert "draws" in shown.splitlines()[1]
        rate = next(line for line in shown.splitlines() if "false match rate" in line)
        assert f"  {files}  " in rate
