"""Keys: more combinations than 64 bits hold, and hash tables that stay right when crowded."""

import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, close, microdata

import understudy as us
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk.matching import KEYS, find_targets, fold_keys, labels_of

CODES = st.integers(0, 2**30 - 1)


@EXAMPLES
@given(
    rows=st.lists(st.tuples(CODES, CODES, CODES, CODES), min_size=1, max_size=20),
    repeat=st.booleans(),
)
def test_keys_are_equal_where_rows_are(rows: list[tuple[int, ...]], repeat: bool) -> None:
    """Four columns of 2^30 levels each: 2^120 conceivable keys."""
    rows = rows * 2 if repeat else rows
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    keys, size = fold_keys(columns, [2**30] * 4)
    assert size < KEYS
    assert keys.min() >= 0
    assert keys.max() < size
    assert len(set(keys.tolist())) == len(set(rows))
    for key, row in zip(keys.tolist(), rows, strict=True):
        assert [other for other, same in zip(rows, keys.tolist(), strict=True) if same == key] == [
            other for other in rows if other == row
        ]


def wide_survey(n_kept: int, n_synthesized: int, n: int = 40, m: int = 3) -> Survey:
    """Make many variables of four levels, most of them constant."""
    generator = stream(n_kept, n_synthesized)
    names = [*(f"k{i}" for i in range(n_kept)), *(f"s{i}" for i in range(n_synthesized))]

    def column(number: int) -> list[int]:
        values = generator.integers(0, 2, n) if number % 17 == 0 else np.full(n, 3)
        return [int(value) for value in values]

    columns = {name: column(number) for number, name in enumerate(names)}
    data = microdata(
        {name: columns[name] for name in names[:n_kept]},
        {name: columns[name] for name in names[n_kept:]},
        dict.fromkeys(names, 4),
    )
    own = np.stack([data.codes(name) for name in data.synthesized], axis=1)
    codes = own[np.stack([generator.permutation(n) for _ in range(m)])]
    return Survey(data, SyntheticSets(data, codes))


def check(survey: Survey) -> None:
    known = survey.data.kept
    risk = us.identification_risk(survey.data, survey.sets, known)
    slow = [naive.match(survey.values(known), survey.true, made) for made in survey.made]
    risks = [float(naive.expected_match_risk(matches)) for matches in slow]
    assert np.allclose(risk.per_set["expected_match_risk"], risks)
    assert risk.per_set["unique_matches"].to_list() == [
        naive.unique_matches(matches) for matches in slow
    ]
    joint = naive.joint_match(survey.values(known), survey.true, survey.made)
    assert close(risk.joint.expected_match_risk, naive.expected_match_risk(joint))
    attribute = us.attribute_risk(survey.data, survey.sets)
    assert close(attribute.joint.matches, naive.vote(survey.true, survey.made))
    assert attribute.per_set["matches"].to_list() == [sum(matches.truth) for matches in slow]


def test_more_labels_than_64_bits_hold() -> None:
    """Forty synthesized variables of four levels make 2^80 labels."""
    survey = wide_survey(3, 40)
    assert labels_of(survey.sets).coded is not None
    check(survey)


def test_more_known_cells_than_64_bits_hold() -> None:
    """Forty known variables of four levels make 2^80 cells."""
    check(wide_survey(40, 1))


def test_cells_times_labels_at_the_edge_of_64_bits() -> None:
    """2^60 labels fit, but not times the number of records."""
    survey = wide_survey(20, 30)
    assert labels_of(survey.sets).coded is not None
    check(survey)


def test_attribution_with_more_keys_than_64_bits_hold() -> None:
    survey = wide_survey(40, 2)
    keys = survey.data.names[:-1]
    risk = us.attribution_risk(survey.data, survey.sets, keys, survey.data.names[-1])
    first = survey.values(survey.data.kept)
    made = survey.made[0]
    slow = naive.attribution(
        [(*row, label[0]) for row, label in zip(first, survey.true, strict=True)],
        [label[1] for label in survey.true],
        [(*row, label[0]) for row, label in zip(first, made, strict=True)],
        [label[1] for label in made],
    )
    row = risk.per_set.row(0, named=True)
    for name, value in slow.items():
        assert close(row[name], value), name


def test_a_crowded_table_finds_every_key() -> None:
    """Thousands of targets, keys far apart and next to each other."""
    n, size = 5000, 2**31 - 1
    town = (np.arange(n) * 65537 * 4099) % size
    town[::2] = np.arange(n // 2)
    data = microdata({"sex": [0] * n}, {"town": range(n)}, {"sex": 1, "town": n})
    targets = find_targets(data, ["sex"], town[data.combinations[:, 1]], size)
    matched, counts = targets.match_rows(town)
    assert (matched == targets.of_record).all()
    assert (counts == targets.sizes).all()
    missing, none = targets.match_rows(np.full(n, size - 1))
    assert (missing == -1).all()
    assert none.sum() == 0


def test_codes_may_be_unsigned() -> None:
    """Unsigned codes of 64 bits added to signed ones would turn into rounded numbers."""
    survey = wide_survey(2, 2)
    unsigned = SyntheticSets(survey.data, survey.sets.codes.astype(np.uint64))
    check(Survey(survey.data, unsigned))
