"""A real study, planted with tokens from its source file to its plan, goes through the gate."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL
from tests.publishing.looking import places
from tests.studies import LONGER, WIDE_LIMITS, plain_page, run_quietly
from understudy.errors import FileError
from understudy.pages import report as page
from understudy.publishing import gate
from understudy.publishing.evidence import passed_frame
from understudy.publishing.manifest import is_whole_release

TOKEN = "kanarienvogel4711"  # noqa: S105
N = 240
OPTIONS: Any = {"reason": "limits as wide as this", "guessable_seed": True}
NAMED = LONGER.replace("chains", f'name = "{TOKEN}"\nchains')
PLAN = f"""\
title = "Title {TOKEN}"
sets = 3
seed = 98765432109876543210987
[data]
file = "survey {TOKEN}.csv"
synthesize = ["county"]
ignore = ["id", "secret {TOKEN}"]
pass_through = ["wt"]
codebook = "book {TOKEN}.toml"
{NAMED}[[intruders]]
known = ["gender", "age"]
[baselines]
repeats = 3
{WIDE_LIMITS}passed_unique_review = 1
"""
BOOK = """\
reviewed = true
[variables.gender]
levels = ["f", "m"]
[variables.age]
levels = ["old", "young"]
[variables.county]
levels = ["east", "north", "south", "west"]
description = "Where the household lives"
labels = { north = "North" }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a study on a sorted file with the token in names and values that are ignored."""
    root = tmp_path_factory.mktemp("release")
    home = root / f"home {TOKEN}"
    home.mkdir()
    draws = np.random.default_rng(8)
    rows = np.sort(draws.integers(4, size=N))
    lines = [f"gender,id,wt,age,county,secret {TOKEN}"]
    for number, row in enumerate(rows):
        county = ("north", "south", "east", "west")[int(draws.integers(3) + row % 2) % 4]
        lines.append(
            f"{'fm'[row // 2]},{TOKEN}{number},{number}.50,{('old', 'young')[row % 2]},{county},"
            f"{TOKEN}{row}"
        )
    (home / f"survey {TOKEN}.csv").write_text("\n".join(lines) + "\n")
    (home / f"book {TOKEN}.toml").write_text(BOOK)
    (home / f"plan {TOKEN}.toml").write_text(PLAN)
    patch = pytest.MonkeyPatch()
    patch.setattr(page, "page", plain_page)
    run_quietly(home / f"plan {TOKEN}.toml", root / f"study {TOKEN}")
    patch.undo()
    return root / f"study {TOKEN}"


@pytest.mark.usefixtures("real_plots")
def test_a_real_study_leaves_without_its_tokens(folder: Path, tmp_path: Path) -> None:
    public = us.release(folder, tmp_path / "public", APPROVAL, **OPTIONS)
    assert is_whole_release(public)
    assert places(public, TOKEN) == []
    assert len(places(folder, TOKEN)) > 10
    frame = pl.read_csv(public / "synthetic-01.csv", infer_schema=False)
    assert frame.columns == ["gender", "wt", "age", "county"]
    assert frame.height == N
    source = pl.read_csv(next(folder.parent.glob("home*/survey*")), infer_schema=False)
    unchanged = ["gender", "wt", "age"]
    assert frame["wt"].to_list() != source["wt"].to_list()
    assert sorted(frame.select(unchanged).rows()) == sorted(source.select(unchanged).rows())
    for page_name in ("methods.html", "codebook.html", "README.txt"):
        assert "wt" in (public / page_name).read_text()
    said = (public / "methods.html").read_text()
    assert "age ~ county + gender" in said
    assert "DPMPM" in said
    assert "North" in (public / "codebook.html").read_text()


def test_the_study_can_be_opened_again_after_its_release(folder: Path, tmp_path: Path) -> None:
    us.release(folder, tmp_path / "public", APPROVAL, **OPTIONS)
    plan = next(folder.parent.glob("home*/plan*"))
    assert us.Study(plan).run(folder).verdict.outcome != "fail"


def test_columns_passed_through_are_judged_and_cannot_be_exchanged(
    folder: Path, tmp_path: Path
) -> None:
    verdict = us.Study(next(folder.parent.glob("home*/plan*"))).run(folder).verdict
    (reason,) = (reason for reason in verdict.reasons if reason.subject == "columns passed through")
    assert reason.outcome == "review"
    assert reason.found == 1.0
    assert f"make {N} records (100 %) unique" in reason.words
    assert 'a value of their own in "wt"' in reason.words
    path = folder / "internal" / "passed.parquet"
    content = path.read_bytes()
    pl.read_parquet(path).reverse().write_parquet(path)
    with pytest.raises(FileError, match="changed afterwards"):
        us.release(folder, tmp_path / "public", APPROVAL, **OPTIONS)
    path.write_bytes(content)


class Watched(pl.DataFrame):
    """A frame that knows how many of its shuffled copies are alive when the next is made."""

    copies: ClassVar[list[Any]] = []
    alive: ClassVar[list[int]] = []

    def __getitem__(self, key: Any) -> Any:
        """Take some rows, or a column."""
        part = super().__getitem__(key)
        if isinstance(part, pl.DataFrame):
            gc.collect()
            self.alive.append(sum(copy() is not None for copy in self.copies))
            self.copies.append(weakref.ref(part))
        return part


def test_columns_passed_through_are_joined_at_writing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sets lie there without them; a release reads them once, and holds one shuffled copy a time.

    When the copy for a set is made, none of an earlier one is alive.
    """
    for path in (folder / "internal" / "sets" / TOKEN).iterdir():
        assert pl.read_parquet(path).columns == ["gender", "age", "county"]
    read: list[pl.DataFrame] = []

    def watched(evidence: Any) -> pl.DataFrame:
        read.append(Watched(passed_frame(evidence)))
        return read[-1]

    monkeypatch.setattr(gate, "passed_frame", watched)
    us.release(folder, tmp_path / "public", APPROVAL, **OPTIONS)
    assert len(read) == 1
    assert Watched.alive == [0, 0, 0]  # of three sets


def test_a_set_that_was_touched_stays_inside(folder: Path, tmp_path: Path) -> None:
    path = folder / "internal" / "sets" / TOKEN / "02.parquet"
    content = path.read_bytes()
    pl.read_parquet(path).reverse().write_parquet(path)
    with pytest.raises(FileError, match="set 2 is another file"):
        us.release(folder, tmp_path / "public", APPROVAL, **OPTIONS)
    path.write_bytes(content)
    record = folder / "internal" / "study.json"
    written = record.read_bytes()
    record.write_bytes(written.replace(b'"format": 2', b'"format":  2'))
    us.release(folder, tmp_path / "public", APPROVAL, **OPTIONS)  # spaces are no change
    record.write_bytes(written.replace(b'"of": ""', b'"of": "x"', 1))
    with pytest.raises(FileError, match="changed afterwards"):
        us.release(folder, tmp_path / "second", APPROVAL, **OPTIONS)
    record.write_bytes(written)
