"""The data's own baselines: samples and closed forms agree, seeds repeat, joint ones exist.

Seeds are fixed; 4.5 standard errors are allowed for each of 32 values, so a right program would
have failed with probability below 3e-4 in all when the seed was chosen.
"""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, microdata, surveys

import understudy as us
from understudy import memory
from understudy.errors import InputError, NotEnoughMemoryError, SettingError
from understudy.microdata import label_table
from understudy.microdata.label_table import empirical_labels, others_labels, uniform_labels
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk import baseline_draws, baselines
from understudy.risk.matching import NO_UNIQUE_MATCHES
from understudy.risk.own_record.attacks import ATTACKS

SIMULATED = 4.5  # standard errors


@pytest.mark.parametrize("known", [["gender"], ["gender", "age"]])
def test_samples_agree_with_closed_forms(known: list[str]) -> None:
    inherent = us.inherent_risk(us.load_ce_like(), known, repeats=200, seed=8)
    assert list(inherent.baselines) == ["Uniform", "Marginal", "Others", "Perfect"]
    for baseline in inherent.baselines.values():
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


def test_closed_forms_of_marginal_and_others() -> None:
    data = us.load_ce_like()
    table = np.zeros((len(data.patterns), data.n_labels))  # (pattern, label)
    np.add.at(table, (data.patterns.of_combination, data.combinations[:, 3]), data.counts)
    n_b = table.sum(axis=1, keepdims=True)
    four = us.inherent_risk(data, "gender", repeats=1, seed=0).baselines
    marginal, others = (four[name].expected.attribute_matches for name in ("Marginal", "Others"))
    assert np.isclose(marginal, (table.sum(axis=0) ** 2).sum() / data.n_records)
    assert np.isclose(others, (table * (table - 1) / (n_b - 1)).sum())
    assert round(marginal, 1) == 79.8
    assert round(others, 1) == 133.9


@EXAMPLES
@given(survey=surveys())
def test_others_leaves_the_record_out(survey: Survey) -> None:
    """Each record's own row of the table, counted among the others of its pattern."""
    data, pattern = survey.data, survey.values(survey.data.kept)
    sizes = [data.variable(name).n_levels for name in data.synthesized]
    true = [int(np.ravel_multi_index(label, sizes)) for label in survey.true]
    table = others_labels(data)
    for i, combination in enumerate(data.of_record):
        others = [j for j in range(len(true)) if j != i and pattern[j] == pattern[i]]
        others = others or [j for j in range(len(true)) if j != i]
        row = np.bincount([true[j] for j in others], minlength=data.n_labels)
        expected = row / row.sum() if others else np.full(data.n_labels, 1 / data.n_labels)
        assert np.allclose(table.probabilities[table.row_of_combination[combination]], expected)


def test_every_attack_has_its_baseline() -> None:
    """Guesses of the modal label: all of Perfect's lie below the original's own 494."""
    data = us.load_ce_like()
    inherent = us.inherent_risk(data, "gender", repeats=5, seed=4, sets=5)
    for baseline in inherent.baselines.values():
        attacks = {row["attack"]: row for row in baseline.attacks.iter_rows(named=True)}
        assert list(attacks) == list(ATTACKS)
        best = max(attacks["match_one_file"]["mean"], attacks["match_all_files"]["mean"])
        assert attacks["match_best"]["mean"] == best
        assert attacks["row"]["exact"] == baseline.expected.attribute_matches
    alone, pooled = (
        inherent.maximum.attacks.filter(pl.col("attack") == name)["mean"].item()
        for name in ("modal", "pooled_modal")
    )
    assert attacks["row"]["mean"] < alone < pooled <= 494


def test_a_table_of_others_that_is_too_large_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    data = us.load_ce_like()
    monkeypatch.setattr(baselines, "_needs_tables", lambda _: True)  # as where holes are modelled
    monkeypatch.setattr(baselines, "LARGEST_TABLE", 6000)  # 40 patterns of 133 labels fit
    assert "Others" not in us.inherent_risk(data, "gender", repeats=1, seed=0).baselines
    monkeypatch.setattr(memory, "most_memory", lambda: 1_000_000)
    with pytest.raises(NotEnoughMemoryError, match="combinations and 133 labels"):
        us.Others().fit(data)


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
            path = (3, "inherent risk", baseline_draws.STREAMS[baseline.name])
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


@pytest.mark.slow
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
    monkeypatch.setattr(baselines, "_needs_tables", lambda _: True)
    monkeypatch.setattr(label_table, "LARGEST_TABLE", 100)
    with pytest.raises(InputError, match="40 patterns and 133 labels"):
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


def test_rows_of_labels_that_occur_give_what_whole_tables_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The same draws; closed forms up to the last digits, which may make a tree another one."""
    data = us.load_ce_like()
    sparse = us.inherent_risk(data, ["gender", "age"], repeats=2, sets=2, seed=4)
    monkeypatch.setattr(baselines, "_needs_tables", lambda _: True)
    dense = us.inherent_risk(data, ["gender", "age"], repeats=2, sets=2, seed=4)
    assert list(sparse.baselines) == list(dense.baselines)
    for name, baseline in sparse.baselines.items():
        other = dense.baselines[name]
        assert baseline.samples.equals(other.samples)
        assert baseline.joint is not None
        assert other.joint is not None
        assert baseline.joint.equals(other.joint)
        for measure, value in baseline.expected.measures().items():
            assert value == pytest.approx(other.expected.measures()[measure], rel=1e-12)
        assert baseline.model == pytest.approx(other.model, rel=3e-3)
