"""A study of data with missing values that are modelled, and with impossible combinations."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from tests.studies import BOOK, PLAN, plain_page, run_quietly, write_study

from understudy.errors import UnderstudyError
from understudy.pages import report as page
from understudy.study.plan import read_plan
from understudy.study.stages import prepare

MODELLED = PLAN.replace("[data]", '[data]\nmissing = "model"')
RULE = '[[impossible]]\ngender = "f"\ncounty = "west"\n'  # which no record of the tiny study has
CHAINS = PLAN[PLAN.index("[[synthesizers]]") : PLAN.index("[[intruders]]")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every seventh age and every ninth county missing; women in the west impossible."""
    folder = tmp_path_factory.mktemp("holes")
    write_study(folder, MODELLED)
    header, *lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    for number, row in enumerate(rows):
        row[1] = "" if number % 7 == 0 else row[1]
        row[2] = "" if number % 9 == 0 else row[2]
    text = "\n".join([header, *map(",".join, rows)]) + "\n"
    (folder / "data.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_study_puts_holes_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    run_quietly(folder / "plan.toml", folder / "out")
    drawn = pl.read_parquet(folder / "out" / "internal" / "sets" / "dpmpm" / "02.parquet")
    original = pl.read_csv(folder / "data.csv")
    assert drawn["age"].is_null().to_list() == original["age"].is_null().to_list()
    assert drawn["county"].null_count() == 0
    assert original["county"].null_count() > 0


@pytest.mark.slow
def test_a_study_draws_nothing_impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)
    plan = write_study(tmp_path)
    (tmp_path / "book.toml").write_text(BOOK + RULE, encoding="utf-8")
    run_quietly(plan, tmp_path / "out")
    for number in ("01", "02"):
        path = tmp_path / "out" / "internal" / "sets" / "dpmpm" / f"{number}.parquet"
        drawn = pl.read_parquet(path).cast(pl.String)
        assert drawn.filter(gender="f", county="west").is_empty()


def test_the_default_synthesizer_fills_holes_and_others_are_refused(folder: Path) -> None:
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    path = folder / "other.toml"
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    path.write_text(text.replace(CHAINS, ""), encoding="utf-8")
    assert list(prepare(read_plan(path), folder, None).synthesizers) == ["dpmpm"]
    path.write_text(text.replace('"dpmpm"', '"backoff"'), encoding="utf-8")
    with pytest.raises(UnderstudyError, match="fit a DPMPM"):
        prepare(read_plan(path), folder, None)
