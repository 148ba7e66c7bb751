"""The methods page: which numbers and settings it says, and which it does not."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL, Study
from understudy.publishing import random_rounding
from understudy.publishing.public_summary import BY_HAND
from understudy.publishing.random_rounding import NOT_SHOWN


def words_of(path: Path) -> str:
    """Take the marks out of a page."""
    return re.sub(r"<[^>]+>", "|", path.read_text()).replace("||", "|")


def test_the_page_says_what_own_records_give_away(
    study: Study, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In shares of all records, for each setting; and that it cannot say so for few people."""
    us.release(study.seal().folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    assert f"|rows known|{NOT_SHOWN}|{NOT_SHOWN}|" in said
    assert "a value can lie beyond either" in said
    assert "pooled_modal" not in said
    monkeypatch.setattr(random_rounding, "CHANCE", 9.0)
    us.release(study.folder, public, APPROVAL, overwrite=True)
    said = words_of(public / "methods.html")
    assert re.search(r"\|rows known\|about \d+\s%\|about \d+\s%\|", said)


def test_tables_without_a_number_give_way_to_a_sentence(
    study: Study, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    us.release(study.seal().folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    assert "How far they differ is not published" in said
    assert "population known" not in said
    monkeypatch.setattr(random_rounding, "CHANCE", 9.0)
    us.release(study.folder, public, APPROVAL, overwrite=True)
    said = words_of(public / "methods.html")
    assert "How far they differ is not published" not in said
    assert said.count("|population known|") == 2
    assert "Deviation: the sum" in said


def test_overlaps_are_not_published(study: Study, public: Path) -> None:
    us.release(study.seal().folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    assert "|age ~ county + gender|logistic|" in said or "age ~ county + gender" in said
    for exact in ("0.81", "0.91", "0.95"):
        assert exact not in said


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("sampled", "sampled"),
        ("0.5", "0.5"),
        ("131, 72, 68, 28, 1", BY_HAND),
        ("county 131, 72", BY_HAND),
    ],
)
def test_priors_given_as_vectors_stay_inside(
    study: Study, public: Path, value: str, shown: str
) -> None:
    study.settings = {"level_prior": value, "concentration_prior": "0.25, 0.25"}
    us.release(study.seal().folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    assert f"|prior weight of every level|{shown}|" in said
    assert "|0.25, 0.25|" in said
    assert "131" not in said


def test_the_sampler_is_named(study: Study, public: Path) -> None:
    study.settings = {"sampler": "blocked"}
    us.release(study.seal().folder, public, APPROVAL)
    assert "|sampler|blocked|" in words_of(public / "methods.html")


@pytest.mark.parametrize("converged", [True, False])
def test_intervals_carry_the_warning(study: Study, public: Path, converged: bool) -> None:
    study.converged = converged
    us.release(study.seal().folder, public, APPROVAL, reason="looked at by the whole board")
    said = words_of(public / "methods.html")
    assert said.count("Caution: the chains behind these files did not fully agree") == (
        not converged
    )
    assert ("Intervals may be too short" in (public / "README.txt").read_text()) != converged


@pytest.mark.parametrize(
    ("missing", "words"),
    [
        ("level", "Missing values are a level of their own."),
        ("drop", "Records with missing values were left out."),
        ("model", "every row has a value of county, and what was missing in the others"),
    ],
)
def test_the_page_says_what_was_done_with_missing_values(
    study: Study, public: Path, missing: str, words: str
) -> None:
    """As the plan says, whether or not somebody has a missing value."""
    study.missing_choice = missing
    us.release(study.seal().folder, public, APPROVAL)
    assert words in words_of(public / "methods.html")
