"""One record's label does not show in what is printed, except with the chance that is stated."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest

import understudy as us
from tests.publishing.neighbours import (
    Neighbours,
    made_neighbours,
    public_text,
    without_propensity,
)
from understudy.microdata.table import Microdata
from understudy.publishing.public_summary import unrounded_numbers
from understudy.publishing.random_rounding import (
    CHANCE,
    COARSEST,
    LADDER,
    NOT_SHOWN,
    Printed,
    PublicNumber,
    print_shares,
    steps,
)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    without_propensity(monkeypatch)


# The rule


def numbers(*records: float) -> list[PublicNumber]:
    """Make numbers with these bounds."""
    return [PublicNumber(f"number {index}", 0.3, bound) for index, bound in enumerate(records)]


@pytest.mark.parametrize("n_records", [10, 400, 5_000, 60_000, 10**7])
@pytest.mark.parametrize("records", [(1.0,), (1.0,) * 9, (1.0, 2.0, 2.0, 1.0), (2.0,) * 30])
def test_chances_add_up_to_at_most_what_is_stated(
    n_records: int, records: tuple[float, ...]
) -> None:
    chosen = steps(numbers(*records), n_records)
    bound = {number.name: number.records for number in numbers(*records)}
    total = sum(bound[name] / n_records / step for name, step in chosen.items())
    assert total <= CHANCE * (1 + 1e-9)
    assert all(step <= COARSEST for step in chosen.values())


def test_small_studies_have_no_numbers_and_large_ones_have_all() -> None:
    some = numbers(1.0, 2.0, 1.0, 1.0, 2.0)
    assert steps(some, 400) == {}
    assert set(steps(some, 2_000)) == {"number 0", "number 2"}
    assert len(steps(some, 10_000)) == 5
    assert steps(some, 10**6)["number 0"] == 0.0005
    assert LADDER[:4] == [0.1, 0.05, 0.02, 0.01]


def test_what_is_printed_does_not_depend_on_values() -> None:
    """Which numbers there are, and their steps, are the same whatever the data say."""
    low = [PublicNumber(number.name, 0.0, number.records) for number in numbers(1.0, 2.0, 1.0)]
    high = [PublicNumber(number.name, 1.0, number.records) for number in numbers(1.0, 2.0, 1.0)]
    assert steps(low, 5_000) == steps(high, 5_000)


def test_rounding_is_random_unbiased_and_fixed_by_the_seed() -> None:
    """4,000 roundings of 0.3123 to 10 %: 6 standard errors are 0.0032 (false alarm 2e-9)."""
    share = [PublicNumber("share", 0.3123)]
    drawn = [print_shares(share, 1_000, seed, "one")["share"].share for seed in range(4_000)]
    assert {round(share, 6) for share in drawn} == {0.3, 0.4}
    assert abs(np.mean(drawn) - 0.3123) < 0.0032
    again = print_shares(share, 1_000, 7, "one")
    assert again == print_shares(share, 1_000, 7, "one")


def test_chance_of_another_printing_is_the_change_over_the_step() -> None:
    """4,000 seeds, a change of 1 record in 1,000, a step of 10 %: 40 expected, 6 errors are 38."""
    before, after = [PublicNumber("share", 0.3123)], [PublicNumber("share", 0.3133)]
    differ = sum(
        print_shares(before, 1_000, seed, "one") != print_shares(after, 1_000, seed, "one")
        for seed in range(4_000)
    )
    assert Fraction(2, 4_000) <= Fraction(differ, 4_000) <= Fraction(78, 4_000)


def test_words() -> None:
    assert str(Printed(0.0, 0.1)) == "below 10\u00a0%"
    assert str(Printed(-0.1, 0.1)) == "below 10\u00a0%"
    assert str(Printed(0.30000000000000004, 0.1)) == "about 30\u00a0%"
    assert str(Printed(0.0125, 0.0005)) == "about 1.25\u00a0%"
    assert str(Printed(1.0, 0.02)) == "above 98\u00a0%"
    assert Printed(0.3, 0.01).over(Printed(0.2, 0.02)) == "about 1.5"
    assert Printed(0.3, 0.01).over(Printed(0.06, 0.02)) == NOT_SHOWN
    assert Printed(0.3, 0.01).over(None) == NOT_SHOWN


# The numbers of a study


def short_fit(data: Microdata) -> object:
    """Make a fit for the own-record effect, which is held fixed."""
    return us.DPMPM(n_classes=5).fit(data, chains=2, warmup=30, draws=60, seed=1)


@pytest.fixture(scope="module")
def binary() -> Neighbours:
    """People with one of two labels; every combination of values occurs more than once."""
    return made_neighbours(30, 2, 171, fit=short_fit, evenness=20.0)


@pytest.fixture(scope="module")
def six_labels() -> Neighbours:
    """Eight people with one of six labels."""
    return made_neighbours(8, 6, 2)


def changes(neighbours: Neighbours, most: int) -> list[tuple[int, int]]:
    """All records with all other labels, or as many as there is time for, spread evenly."""
    listed = list(neighbours.all_changes())
    return list(islice(listed, 0, None, -(-len(listed) // most)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
@pytest.mark.parametrize("survey", ["binary", "six_labels"])
def test_one_label_changes_no_number_by_more_than_its_bound(
    survey: str, request: pytest.FixtureRequest
) -> None:
    """And nothing that is published of so small a study: the whole public folder but the data."""
    neighbours: Neighbours = request.getfixturevalue(survey)
    before = {number.name: number for number in neighbours.numbers()}
    public = neighbours.public()
    assert len(before) == (20 if survey == "binary" else 16)
    moved = set()
    for change in neighbours.all_changes():
        findings = neighbours.findings(change)
        for number in unrounded_numbers(findings, findings.synthesizers[0]):
            old, new = before[number.name].share, number.share
            assert old is not None
            assert new is not None
            assert abs(old - new) * neighbours.n_records <= number.records + 1e-9, number.name
            moved |= {number.name} if old != new else set()
        assert public_text(findings, neighbours.frame.height) == public
    assert len(moved) >= len(before) - 2  # a label does matter for what is measured


@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
def test_greedy_intruder_gains_nothing(six_labels: Neighbours) -> None:
    """She knows all but one label and tries each: exact numbers tell it, printed ones do not.

    The full size is benchmarks/greedy_intruder.py.
    """
    truth, n_records = six_labels.numbers(), six_labels.n_records
    printed = print_shares(truth, n_records, 7, "one")
    right = 0
    for row in (0, 3, 6):
        tried = [six_labels.numbers((row, code)) for code in six_labels.others(row)]
        right += all(numbers != truth for numbers in tried)
        assert all(print_shares(numbers, n_records, 7, "one") == printed for numbers in tried)
    assert right == 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
def test_share_of_public_folders_that_differ() -> None:
    """5,000 people: numbers are printed, and another label changes the pages in at most 1 %.

    8 changes with 2,000 seeds each. The probability of each is Σ change / step, at most 1 % and
    here about 0.3 %: with 2,000 seeds, 1 % is 5 standard errors away (false alarm 3e-6).
    """
    neighbours = made_neighbours(5_000, 2, 5, sets=2)
    seeds, n_records = range(2_000), neighbours.n_records
    before = neighbours.numbers()
    assert len(steps(before, n_records)) == 5
    printed = [print_shares(before, n_records, seed, "one") for seed in seeds]
    differ = []
    for change in changes(neighbours, 8):
        after = neighbours.numbers(change)
        differ += [print_shares(after, n_records, seed, "one") != printed[seed] for seed in seeds]
    assert np.mean(differ) <= CHANCE
    assert np.mean(differ) > 0  # numbers that never change would say nothing
