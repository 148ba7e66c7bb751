"""The lattice holds every set of kept variables, and finds the least dangerous knowledge."""

import pytest
from hypothesis import given
from tests.risk.example_surveys import EXAMPLES, Survey, close, microdata, surveys

import understudy as us
from understudy.errors import SettingError
from understudy.microdata.table import SyntheticSets
from understudy.risk import by_knowledge


@EXAMPLES
@given(survey=surveys())
def test_every_set_has_its_own_risk(survey: Survey) -> None:
    lattice = us.risk_lattice(survey.data, survey.sets)
    assert len(lattice.subsets) == len(set(lattice.subsets)) == 2 ** len(survey.data.kept) - 1
    risks = lattice.ranking["expected_match_risk"].to_list()
    assert risks == sorted(risks, reverse=True)
    for subset, row in zip(lattice.subsets, lattice.ranking.iter_rows(named=True), strict=True):
        single = us.identification_risk(survey.data, survey.sets, subset)
        assert row["known"] == ", ".join(subset)
        assert row["cells"] == len(survey.data.cells(subset))
        assert close(row["expected_match_risk"], single.expected_match_risk)
        assert close(row["true_match_rate"], single.true_match_rate)
        assert close(row["false_match_rate"], single.false_match_rate)
        assert close(row["unique_matches"], single.unique_matches)
        assert close(row["random_linkage"], single.random_linkage)


@EXAMPLES
@given(survey=surveys())
def test_knowledge_never_merges_cells(survey: Survey) -> None:
    lattice = us.risk_lattice(survey.data, survey.sets)
    rows = dict(zip(lattice.subsets, lattice.ranking.iter_rows(named=True), strict=True))
    for small, less in rows.items():
        for large, more in rows.items():
            if set(small) <= set(large):
                assert less["cells"] <= more["cells"]
                assert less["expected_match_risk"] <= more["expected_match_risk"] + 1e-12


@EXAMPLES
@given(survey=surveys())
def test_least_knowledge_is_above_and_no_part_of_it_is(survey: Survey) -> None:
    lattice = us.risk_lattice(survey.data, survey.sets)
    risk = dict(zip(lattice.subsets, lattice.ranking["expected_match_risk"], strict=True))
    threshold = sorted(risk.values())[len(risk) // 2] - 1e-9
    least = lattice.least_knowledge(threshold)
    assert least
    for subset in least:
        assert risk[subset] > threshold
        assert not any(set(other) < set(subset) and risk[other] > threshold for other in risk)
    above = [subset for subset in risk if risk[subset] > threshold]
    assert all(any(set(single) <= set(subset) for single in least) for subset in above)
    assert lattice.least_knowledge(1e9) == ()


def test_prints_the_most_dangerous_and_counts_the_rest() -> None:
    names = [f"k{number}" for number in range(5)]
    data = microdata(
        {name: [0, 1, 0] for name in names}, {"town": [0, 1, 1]}, dict.fromkeys([*names, "town"], 2)
    )
    sets = SyntheticSets(data, data.codes("town")[None, :, None])
    lattice = us.risk_lattice(data, sets)
    assert "and 11 less dangerous" in str(lattice)
    assert "secret" not in str(lattice)
    assert us.risk_lattice(data, sets, most_variables=2).ranking.height == 15


def test_too_many_sets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = us.load_ce_like()
    sets = SyntheticSets(data, data.codes("county")[None, :, None])
    monkeypatch.setattr(by_knowledge, "MOST_SUBSETS", 4)
    with pytest.raises(SettingError, match="most_variables"):
        us.risk_lattice(data, sets)
    assert us.risk_lattice(data, sets, most_variables=1).ranking.height == 3
    with pytest.raises(SettingError, match="at least 1"):
        us.risk_lattice(data, sets, most_variables=0)
