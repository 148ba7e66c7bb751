"""Identification risk is what its definitions say, on any table, and prints no level."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, close, known_sets, microdata, surveys

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.label_table import empirical_labels
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk.matching import NO_UNIQUE_MATCHES, CountIn


def mean(values: list[object]) -> float | None:
    """Average what is defined."""
    defined = [float(value) for value in values if value is not None]  # type: ignore[arg-type]
    return sum(defined) / len(defined) if defined else None


@EXAMPLES
@given(survey=surveys())
@pytest.mark.parametrize("count_in", ["synthetic", "original"])
def test_agrees_with_the_slow_twin(survey: Survey, count_in: str) -> None:
    for known in known_sets(survey.data):
        risk = us.identification_risk(survey.data, survey.sets, known, count_in)  # type: ignore[arg-type]
        slow = [
            naive.match(survey.values(known), survey.true, made, count_in) for made in survey.made
        ]
        n = survey.data.n_records
        rates = [naive.false_match_rate(matches) for matches in slow]
        assert close(
            risk.expected_match_risk, mean([naive.expected_match_risk(matches) for matches in slow])
        )
        assert close(
            risk.true_match_rate, mean([naive.true_matches(matches) / n for matches in slow])
        )
        assert close(risk.false_match_rate, mean([*rates]))
        assert close(risk.unique_matches, mean([naive.unique_matches(matches) for matches in slow]))
        assert risk.spreads["false_match_rate"].files == sum(rate is not None for rate in rates)
        for row, matches, rate in zip(risk.per_set.iter_rows(named=True), slow, rates, strict=True):
            assert close(row["expected_match_risk"], naive.expected_match_risk(matches))
            assert close(row["false_match_rate"], rate)
            assert row["unique_matches"] == naive.unique_matches(matches)
            assert row["true_matches"] == naive.true_matches(matches)
        per_record = [
            mean(
                [
                    matches.truth[i] / matches.candidates[i] if matches.truth[i] else 0.0
                    for matches in slow
                ]
            )
            for i in range(n)
        ]
        assert np.allclose(risk.per_record(), np.array(per_record, dtype=float))


@EXAMPLES
@given(survey=surveys())
def test_records_and_patterns_add_up_to_the_file(survey: Survey) -> None:
    risk = us.identification_risk(survey.data, survey.sets, survey.data.kept[:1])
    patterns = risk.per_pattern()
    assert patterns.columns[: len(survey.data.kept)] == list(survey.data.kept)
    assert patterns["records"].sum() == survey.data.n_records
    assert close(risk.per_record().sum(), risk.expected_match_risk)
    assert close(float(patterns["expected_match_risk"].sum()), risk.expected_match_risk)
    assert close(float(patterns["unique_matches"].sum()), risk.unique_matches)
    assert close(risk.per_record("true_match").mean(), risk.true_match_rate)
    assert (risk.per_record() <= 1).all()


@EXAMPLES
@given(survey=surveys(most_records=6, most_sets=1))
@pytest.mark.parametrize("count_in", ["synthetic", "original"])
def test_random_pairings_average_to_the_baselines(survey: Survey, count_in: CountIn) -> None:
    known = survey.data.kept[:1]
    risk = us.identification_risk(survey.data, survey.sets, known, count_in)
    values, true, made = survey.values(known), survey.true, survey.made[0]
    assert close(risk.random_linkage, naive.random_pairings(values, true, made, count_in))
    within = naive.random_pairings(values, true, made, count_in, within=values)
    assert close(risk.random_within_cells, within)
    assert risk.random_linkage <= 1 + 1e-12
    assert risk.random_within_cells <= len(survey.data.cells(known)) + 1e-12
    patterns = survey.values(survey.data.kept)
    released = naive.random_pairings(values, true, made, count_in, within=patterns)
    assert close(risk.as_released, released)
    assert risk.best_match_risk == max(risk.expected_match_risk, risk.joint.expected_match_risk)
    assert risk.attacks["worst_case"].to_list() == [
        risk.expected_match_risk, risk.joint.expected_match_risk, risk.best_match_risk,
    ]  # fmt: skip


@EXAMPLES
@given(survey=surveys())
def test_the_original_itself_gives_the_number_of_occupied_cells(survey: Survey) -> None:
    data = survey.data
    own = np.stack([data.codes(name) for name in data.synthesized], axis=1)[None]
    for known in known_sets(data):
        risk = us.identification_risk(data, SyntheticSets(data, own), known)
        occupied = len(data.cells((*known, *data.synthesized)))
        assert close(risk.expected_match_risk, occupied)
        assert risk.false_match_rate in (None, 0.0)


@EXAMPLES
@given(survey=surveys())
def test_more_knowledge_never_lowers_the_risk(survey: Survey) -> None:
    less = us.identification_risk(survey.data, survey.sets, survey.data.kept[:1])
    more = us.identification_risk(survey.data, survey.sets, survey.data.kept)
    assert (more.per_record() >= less.per_record() - 1e-12).all()


def test_permuted_rows_give_at_most_one_in_expectation() -> None:
    """Shuffle the rows, knowledge included: no chance to fail, the bound holds for the mean.

    Over 400 shuffles the mean has a standard error of about 0.05; the limit allows five of them,
    so a right program fails with probability below 1e-6, at this seed never.
    """
    data = us.load_ce_like()
    known = data.cells(["gender", "age"]).of_combination[data.of_record]
    made = empirical_labels(data).draw(stream(5, "set"), data)
    true = data.codes("county")
    key, own = known * 133 + made, known * 133 + true
    counts = np.bincount(key, minlength=133 * 10)
    risks = []
    for repeat in range(400):
        order = stream(5, "shuffle", repeat).permutation(data.n_records)
        hit = key[order] == own
        risks.append(float((1 / counts[own[hit]]).sum()))
    risk = us.identification_risk(data, SyntheticSets(data, made[None, :, None]), ["gender", "age"])
    assert np.mean(risks) <= 1 + 5 * np.std(risks) / 20
    assert abs(np.mean(risks) - risk.random_linkage) <= 5 * np.std(risks) / 20


def one_cell(true: list[int], made: list[list[int]]) -> Survey:
    """Everybody in one cell."""
    data = microdata({"sex": [0] * len(true)}, {"town": true}, {"sex": 1, "town": 5})
    return Survey(data, SyntheticSets(data, np.array(made)[:, :, None]))


def test_without_unique_matches_the_rate_is_undefined() -> None:
    survey = one_cell([0, 0, 1, 1], [[0, 0, 1, 1], [4, 4, 4, 4]])
    risk = us.identification_risk(survey.data, survey.sets, "sex")
    assert risk.unique_matches == 0
    assert risk.false_match_rate is None
    assert risk.spreads["false_match_rate"].files == 0
    assert risk.per_set["false_match_rate"].to_list() == [None, None]
    assert NO_UNIQUE_MATCHES in str(risk)
    assert "nan" not in str(risk).lower()


def test_the_mean_counts_only_sets_with_unique_matches() -> None:
    survey = one_cell([0, 0, 1, 2], [[0, 0, 2, 1], [4, 4, 4, 4], [0, 0, 1, 1]])
    risk = us.identification_risk(survey.data, survey.sets, "sex")
    assert risk.per_set["false_match_rate"].to_list() == [1.0, None, None]
    assert risk.false_match_rate == 1.0
    assert risk.spreads["false_match_rate"].files == 1
    assert risk.over_sets().filter(pl.col("measure") == "false_match_rate")["files"].item() == 1


def test_nobody_has_a_candidate() -> None:
    survey = one_cell([0, 1], [[2, 3]])
    risk = us.identification_risk(survey.data, survey.sets, "sex")
    assert risk.expected_match_risk == 0
    assert risk.random_linkage == 0
    assert risk.joint.unique_matches == 0
    assert risk.joint.false_match_rate is None


def test_printing_shows_no_level() -> None:
    survey = one_cell([0, 0, 1, 2], [[0, 0, 2, 1]])
    risk = us.identification_risk(survey.data, survey.sets, "sex")
    for shown in (
        str(risk),
        repr(risk),
        str(risk.joint),
        risk.assumption,
        str(risk.alignment),
    ):
        assert "secret" not in shown
    assert '"sex"' in str(risk)
    assert "at random" in str(risk)


def test_the_joint_column_says_where_it_counts() -> None:
    survey = one_cell([0, 0, 1, 2], [[0, 0, 2, 1]])
    assert "c in synthetic" in str(
        us.identification_risk(survey.data, survey.sets, "sex", "original")
    )
    assert "c in synthetic" not in str(us.identification_risk(survey.data, survey.sets, "sex"))


def test_sets_are_numbered_from_one() -> None:
    survey = one_cell([0, 0, 1, 2], [[0, 0, 2, 1], [4, 4, 4, 4]])
    data, sets = survey.data, survey.sets
    for frame in (
        us.identification_risk(data, sets, "sex").per_set,
        us.attribute_risk(data, sets).per_set,
        us.attribution_risk(data, sets, "sex", "town").per_set,
    ):
        assert frame["set"].to_list() == [1, 2]


def test_a_variable_named_like_a_figure_stays() -> None:
    names = ("records", "expected_match_risk", "matches", "share", "sex")
    kept = {name: [0, 1, 1] for name in names}
    data = microdata(kept, {"town": [0, 1, 1]}, {**dict.fromkeys(names, 2), "town": 2})
    sets = SyntheticSets(data, np.array([[[0], [1], [0]]]))
    patterns = us.identification_risk(data, sets, "sex").per_pattern()
    assert patterns.columns[:3] == [
        "records (variable)",
        "expected_match_risk (variable)",
        "matches",
    ]
    assert patterns["records"].to_list() == [1, 2]
    patterns = us.attribute_risk(data, sets).per_pattern()
    assert "expected_match_risk" in patterns.columns
    assert {"records (variable)", "matches (variable)", "share (variable)"} < set(patterns.columns)
    assert patterns["share"].to_list() == [1.0, 0.5]
    assert patterns["matches (variable)"].dtype == pl.Enum(["secret matches 0", "secret matches 1"])


@pytest.mark.parametrize(
    ("known", "words"),
    [([], "at least one"), (["town"], "synthesized"), (["sez"], "nearest"), ("other", "kept")],
)
def test_knowledge_is_checked(known: list[str], words: str) -> None:
    survey = one_cell([0, 1], [[0, 1]])
    with pytest.raises(SettingError, match=words):
        us.identification_risk(survey.data, survey.sets, known)


def test_options_are_checked() -> None:
    survey = one_cell([0, 1], [[0, 1]])
    with pytest.raises(SettingError, match="count_in"):
        us.identification_risk(survey.data, survey.sets, "sex", "both")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="if_unaligned"):
        us.identification_risk(survey.data, survey.sets, "sex", if_unaligned="no")  # type: ignore[arg-type]
    risk = us.identification_risk(survey.data, survey.sets, "sex")
    with pytest.raises(SettingError, match="match_probability"):
        risk.per_record("something")  # type: ignore[arg-type]


def test_fully_synthetic_sets_are_refused_with_the_reason() -> None:
    survey = one_cell([0, 1], [[0, 1]])
    fully = SyntheticSets(survey.data, survey.sets.codes, fully_synthetic=True)
    nothing_kept = microdata({}, {"town": [0, 1]}, {"town": 2})
    same = SyntheticSets(nothing_kept, np.array([[[0], [1]]]))
    with pytest.raises(InputError, match="attribution_risk"):
        us.identification_risk(survey.data, fully, "sex")
    with pytest.raises(InputError, match="no kept variable"):
        us.identification_risk(nothing_kept, same, "sex")
    with pytest.raises(InputError, match="attribution_risk"):
        us.attribute_risk(survey.data, fully)


@pytest.mark.slow
def test_ce_like_values_stand_still() -> None:
    """One set, figures found once with the slow twin (which takes seconds here)."""
    data = us.load_ce_like()
    made = empirical_labels(data).draw(stream(1, "stand still"), data)
    survey = Survey(data, SyntheticSets(data, made[None, :, None]))
    risk = us.identification_risk(data, survey.sets, ["gender", "age"])
    slow = naive.match(survey.values(["gender", "age"]), survey.true, survey.made[0])
    assert close(risk.expected_match_risk, naive.expected_match_risk(slow))
    assert risk.unique_matches == naive.unique_matches(slow)
    assert risk.alignment.verdict == "aligned"
