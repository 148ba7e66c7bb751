"""Diversity of labels: counted by hand, and columns that decide the label."""

import pytest
from tests.risk.example_surveys import microdata

import understudy as us
from understudy.errors import SettingError
from understudy.findings.data import data_findings


def test_counted_by_hand() -> None:
    """Ten old people in town 0; the young one to one in towns 1 and 2; one child alone."""
    data = microdata(
        {"age": [0] * 10 + [1] * 4 + [2], "sex": [0, 1] * 7 + [0]},
        {"town": [0] * 10 + [1, 2, 2, 1] + [1]},
        {"age": 3, "sex": 2, "town": 3},
    )
    result = us.label_diversity(data)
    assert result.n_patterns == 5
    assert (result.dominated_patterns, result.dominated_records) == (2, 10)
    assert (result.single_records, result.fewest_labels) == (1, 1)
    age, sex = result.variables.iter_rows(named=True)
    assert age["guessed"] == 13 / 15
    assert age["without"] == sex["without"] == 10 / 15
    assert age["dominated_records"] == 11
    assert sex["dominated_records"] == 0
    assert result.deciding == ()
    assert "secret" not in str(result)
    assert "2 of 5 patterns" in str(result)


def test_a_column_that_decides_the_label_is_named() -> None:
    """In 100 records; four agree by chance."""
    many, few = (
        microdata(
            {"post": [0, 0, 1, 1] * n, "sex": [0, 1, 0, 1] * n}, {"town": [0, 0, 1, 1] * n},
            {"post": 2, "sex": 2, "town": 2},
        )
        for n in (25, 1)
    )  # fmt: skip
    assert us.label_diversity(many).deciding == ("post",)
    assert us.label_diversity(few).deciding == ()


def test_the_verdict_judges_by_the_same_rule() -> None:
    """Patterns of four, and a label that nearly everybody has, tell nothing about a group."""
    common = microdata({"sex": [0, 1] * 50}, {"town": [0] * 95 + [1] * 5}, {"sex": 2, "town": 2})
    small = microdata(
        {"age": [0] * 4 + [1] * 96}, {"town": [0] * 4 + [0, 1] * 48}, {"age": 2, "town": 2}
    )
    for data in (common, small):
        assert us.label_diversity(data).dominated_patterns == 0
        findings = data_findings(data, codebook_declared=True, codebook_reviewed=True)
        assert (findings.dominated_patterns, findings.deciding) == (0, ())
    assert us.label_diversity(small, fewest=4).dominated_records == 4


@pytest.mark.parametrize("share", [0.5, 1.1, "x"])
def test_share_is_checked(share: float) -> None:
    with pytest.raises(SettingError, match="share"):
        us.label_diversity(us.load_ce_like(), share)
