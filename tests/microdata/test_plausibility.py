"""Columns that give the secret away because they are functions of it, or it of them."""

from __future__ import annotations

import warnings

import polars as pl
import pytest

import understudy as us
from understudy.errors import DataWarning
from understudy.microdata.plausibility import decides
from understudy.randomness import stream


def people(**columns: list[str]) -> us.Microdata:
    return us.read_microdata(pl.DataFrame(columns), synthesize=["job"])


def jobs(n: int = 600) -> list[str]:
    return [f"j{code:02d}" for code in stream(3, "jobs").integers(40, size=n)]


def test_a_coarser_version_of_the_secret_gives_a_warning() -> None:
    job = jobs()
    with pytest.warns(DataWarning, match="coarser version"):
        people(job=job, sector=[code[:2] for code in job], sex=["m", "f"] * 300)


def test_a_finer_column_that_tells_the_secret_gives_a_warning() -> None:
    job = jobs()
    firm = [code + str(index % 2) for index, code in enumerate(job)]
    with pytest.warns(DataWarning, match="all but decides"):
        people(job=job, firm=firm)


def test_ordinary_columns_are_not() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        us.load_ce_like()
        people(job=jobs(), sex=["m", "f"] * 300)


def test_a_level_that_nearly_everybody_has_decides_nothing() -> None:
    data = people(job=jobs(), rare=["yes"] * 20 + ["no"] * 580)
    assert not decides(data, "job", "rare")


def test_levels_of_few_records_do_not_count() -> None:
    job = [f"j{number}" for number in range(300)] * 2
    data = people(job=job, sex=["m", "f"] * 300)  # two records a job: always the same sex
    assert not decides(data, "job", "sex")
