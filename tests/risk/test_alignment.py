"""Misaligned or differently coded files never look safe.

The guard's figures are exact; whether it speaks is tested at fixed seeds. A right program would
have failed when a seed was chosen with probability below 1e-6: the limits are many standard
deviations away from what the sets give.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from numpy.typing import NDArray
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, close, microdata, surveys

import understudy as us
from understudy.errors import DataWarning, InputError
from understudy.microdata.label_table import empirical_labels, uniform_labels
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk.alignment import (
    Alignment,
    _count_excess,
    _count_rows,
    _score_excess,
    judge_alignment,
)
from understudy.risk.matching import find_targets, labels_of


@EXAMPLES
@given(survey=surveys(most_records=6, most_sets=3))
def test_values_of_random_pairing_are_exact(survey: Survey) -> None:
    mean, variance = naive.shuffled_labels(survey.true, survey.made)
    result = judge_alignment(labels_of(survey.sets))
    assert close(result.random, mean)
    assert np.isclose(result.standard_deviation**2, float(variance), atol=1e-12)


@EXAMPLES
@given(survey=surveys(most_records=5, most_sets=2))
def test_values_of_each_set_are_exact(survey: Survey) -> None:
    data, labels = survey.data, labels_of(survey.sets)
    everywhere = find_targets(data, (), labels.of_combination, labels.size)
    patterns = find_targets(data, data.kept, labels.of_combination, labels.size)
    rows = _count_rows(labels, everywhere, patterns)
    count, score = _count_excess(rows, everywhere), _score_excess(rows, everywhere, patterns)
    pattern = survey.values(data.kept)
    for index, made in enumerate(survey.made):
        mean, variance = naive.shuffled_labels(survey.true, [made])
        hits = sum(a == b for a, b in zip(survey.true, made, strict=True))
        assert np.isclose(count.excess[index], float(hits - mean))
        assert np.isclose(count.deviation[index] ** 2, float(variance), atol=1e-12)
        again, variance = naive.shuffled_score(pattern, survey.true, made)
        assert again == mean
        assert np.isclose(score.deviation[index] ** 2, float(variance), atol=1e-9)


@EXAMPLES
@given(survey=surveys(most_records=6, most_sets=1))
def test_informed_level_takes_the_label_of_another_record(survey: Survey) -> None:
    true, pattern = survey.true, survey.values(survey.data.kept)
    n, expected = len(true), 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i and pattern[j] == pattern[i]]
        others = others or [j for j in range(n) if j != i]
        if others:
            expected += sum(true[j] == true[i] for j in others) / len(others)
    assert close(judge_alignment(labels_of(survey.sets)).informed, expected)


def perfect_codes(seed: int, m: int = 20) -> tuple[us.Microdata, NDArray[np.int32]]:
    """Redraw the bundled sample's labels: (set, record, variable)."""
    data = us.load_ce_like()
    table = empirical_labels(data)
    codes = np.stack([table.draw(stream(seed, "perfect", index), data) for index in range(m)])
    return data, codes[:, :, None]


@pytest.mark.parametrize("m", [1, 5, 20])
def test_aligned_sets_pass(m: int) -> None:
    data, codes = perfect_codes(1, m)
    result = us.identification_risk(data, SyntheticSets(data, codes), "gender")
    assert result.alignment.verdict == "aligned"
    assert us.attribute_risk(data, SyntheticSets(data, codes)).alignment.verdict == "aligned"


@pytest.mark.parametrize("per_set", [False, True])
def test_shuffled_label_columns_are_caught(per_set: bool) -> None:
    """One shuffle for all sets, or one for each: the rows look random, and it is said."""
    data, codes = perfect_codes(2)
    order = stream(2, "shuffle").permutation(data.n_records)
    shuffled = codes[:, order].copy()
    if per_set:
        for index in range(len(codes)):
            shuffled[index] = codes[index, stream(2, "shuffle", index).permutation(data.n_records)]
    sets = SyntheticSets(data, shuffled)
    with pytest.warns(DataWarning, match="randomly paired rows"):
        result = us.identification_risk(data, sets, ["gender", "age"])
    assert result.alignment.verdict == "looks random"
    assert "looks random" in str(result)
    with pytest.raises(InputError, match="check that row i"):
        us.identification_risk(data, sets, "gender", if_unaligned="error")
    with pytest.raises(InputError, match="check that row i"):
        us.attribute_risk(data, sets, if_unaligned="error")
    with pytest.raises(InputError, match="check that row i"):
        us.risk_lattice(data, sets, if_unaligned="error")


def shuffle_some(codes: NDArray[np.int32], seed: int, sets: list[int]) -> NDArray[np.int32]:
    """Shuffle the label columns of some sets, numbered from 1."""
    mixed = codes.copy()
    for number in sets:
        order = stream(seed, "shuffle some", number).permutation(codes.shape[1])
        mixed[number - 1] = codes[number - 1, order]
    return mixed


@pytest.mark.parametrize("weaker", [False, True])
@pytest.mark.parametrize(
    ("m", "sets"), [(3, [2]), (10, [1, 3, 4, 8, 10]), (20, [20]), (20, list(range(2, 21)))]
)
def test_shuffled_sets_hidden_among_aligned_ones_are_named(
    m: int, sets: list[int], weaker: bool
) -> None:
    data, codes = weaker_codes(8, m) if weaker else perfect_codes(8, m)
    mixed = SyntheticSets(data, shuffle_some(codes, 8, sets))
    result = judge_alignment(labels_of(mixed))
    assert result.verdict == "looks random"
    assert result.sets == tuple(sets)
    named = f"in sets? {', '.join(map(str, sets[:12]))}( and others)? of {m}"
    with pytest.warns(DataWarning, match=named):
        us.identification_risk(data, mixed, "gender")
    with pytest.raises(InputError, match=named):
        us.attribute_risk(data, mixed, if_unaligned="error")


def weaker_codes(seed: int, m: int) -> tuple[us.Microdata, NDArray[np.int32]]:
    """Redraw labels as a model does that keeps four tenths of what the patterns say."""
    data, codes = perfect_codes(seed, m)
    for index in range(m):
        generator = stream(seed, "weaker", index)
        order = generator.permutation(data.n_records)
        blind = generator.random(data.n_records) < 0.6
        codes[index] = np.where(blind[:, None], codes[index, order], codes[index])
    return data, codes


@pytest.mark.parametrize("weaker", [False, True])
def test_no_right_set_is_flagged_by_chance(weaker: bool) -> None:
    """Thirty times twenty sets, and each of some alone: none lies near the limit."""
    for seed in range(30):
        data, codes = weaker_codes(seed, 20) if weaker else perfect_codes(seed)
        result = judge_alignment(labels_of(SyntheticSets(data, codes)))
        assert (result.verdict, result.sets) == ("aligned", ())
        alone = judge_alignment(labels_of(SyntheticSets(data, codes[:1])))
        assert (alone.verdict, alone.sets) == ("aligned", ())


def test_a_barely_informed_synthesizer_has_no_set_singled_out() -> None:
    """Sets that lie around the limit differ by chance alone: none is named among the others."""
    for seed in range(20):
        data, codes = perfect_codes(seed)
        for index in range(20):
            generator = stream(seed, "barely", index)
            blind = generator.random(data.n_records) < 0.93
            order = generator.permutation(data.n_records)
            codes[index] = np.where(blind[:, None], codes[index, order], codes[index])
        result = judge_alignment(labels_of(SyntheticSets(data, codes)))
        assert result.sets == () or len(result.sets) > 10


def test_labels_that_follow_the_record_alone_are_judged_by_true_labels() -> None:
    """The kept variable says nothing; a shuffled set still falls far below the others."""
    generator = stream(9, "own")
    sex, town = generator.integers(0, 2, 2000), generator.integers(0, 20, 2000)
    data = microdata({"sex": sex.tolist()}, {"town": town.tolist()}, {"sex": 2, "town": 20})
    stays = generator.random((4, 2000)) < 0.5
    codes = np.where(stays, town, generator.integers(0, 20, (4, 2000)))[:, :, None]
    assert judge_alignment(labels_of(SyntheticSets(data, codes))).verdict == "aligned"
    mixed = SyntheticSets(data, shuffle_some(codes, 9, [3]))
    assert judge_alignment(labels_of(mixed)).sets == (3,)


def test_labels_sorted_by_pattern_are_caught() -> None:
    """The likely accident: labels drawn pattern by pattern, written without going back to rows."""
    data, codes = perfect_codes(3)
    order = np.argsort(data.patterns.of_combination[data.of_record], kind="stable")
    with pytest.warns(DataWarning, match="randomly paired rows"):
        us.attribute_risk(data, SyntheticSets(data, codes[:, order]))


def test_labels_in_another_coding_are_caught() -> None:
    """The same levels under other codes: every label is replaced by another one."""
    data, codes = perfect_codes(4)
    other = (codes + 57) % 133
    with pytest.warns(DataWarning, match="coded"):
        result = us.identification_risk(data, SyntheticSets(data, other), "gender")
    assert result.alignment.verdict == "looks random"


def test_labels_that_ignore_the_kept_variables_are_mentioned() -> None:
    """Uniform labels look the same as shuffled ones; the message gives both reasons."""
    data = us.load_ce_like()
    codes = np.stack([uniform_labels(data).draw(stream(6, index), data) for index in range(5)])
    with pytest.warns(DataWarning, match="nothing to do with the kept variables"):
        us.attribute_risk(data, SyntheticSets(data, codes[:, :, None]))


def test_the_guard_keeps_quiet_where_nobody_can_tell() -> None:
    """Labels without any relation to the kept variables: shuffling them changes nothing."""
    generator = stream(7, "unrelated")
    sex, town, made = (generator.integers(0, size, 2000) for size in (2, 20, 20))
    data = microdata({"sex": sex.tolist()}, {"town": town.tolist()}, {"sex": 2, "town": 20})
    result = us.attribute_risk(data, SyntheticSets(data, made[None, :, None]))
    assert result.alignment.verdict == "cannot tell"


def test_few_records_are_too_few_to_tell() -> None:
    data = microdata({"sex": [0, 0, 1, 1] * 3}, {"town": [0, 0, 1, 1] * 3}, {"sex": 2, "town": 2})
    result = judge_alignment(labels_of(SyntheticSets(data, np.zeros((1, 12, 1), dtype=int))))
    assert result.verdict == "cannot tell"
    assert result.standard_deviation == 0


def test_sets_of_other_data_are_refused() -> None:
    data, codes = perfect_codes(5, 1)
    other = microdata({"sex": [0, 1]}, {"town": [0, 1]}, {"sex": 2, "town": 2})
    sets = SyntheticSets(other, np.array([[[0], [1]]]))
    with pytest.raises(InputError, match="other data"):
        us.identification_risk(data, sets, "gender")
    again = us.load_ce_like()  # the same data read once more are the same data
    assert us.attribute_risk(again, SyntheticSets(data, codes)).n_sets == 1


def test_no_set_is_refused() -> None:
    data = us.load_ce_like()
    with pytest.raises(InputError, match="at least one"):
        us.attribute_risk(data, SyntheticSets(data, np.zeros((0, data.n_records, 1), dtype=int)))


def test_frames_and_paths_are_read(tmp_path: Path) -> None:
    """A SyntheticSets, its files and its frames give the same figures; so does one file alone."""
    data, codes = perfect_codes(6, 2)
    sets = SyntheticSets(data, codes)
    paths = sets.write(tmp_path)
    expected = us.attribute_risk(data, sets).matches
    assert us.attribute_risk(data, paths).matches == expected
    assert us.attribute_risk(data, list(sets)).matches == expected
    assert us.attribute_risk(data, [paths[0]]).n_sets == 1
    assert us.attribute_risk(data, [sets[1]]).n_sets == 1


def test_the_verdict_prints_its_values() -> None:
    shown = str(Alignment(10.0, 9.5, 2.0, 30.0, "looks random"))
    assert "looks random" in shown
    assert "9.50 ± 2 " in shown
