"""Rows 44 to 53: levels."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import understudy as us
from tests.bad_inputs.cases import SECRET, accepted, covers, refused, warned
from tests.conftest import Command, MakeFile
from understudy import memory
from understudy.errors import (
    ColumnError,
    FormatError,
    LevelError,
    NotEnoughMemoryError,
)
from understudy.microdata import plausibility
from understudy.microdata.synthetic_files import read_synthetic

GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"


@covers(44)
def test_constant_predictor(make_file: MakeFile) -> None:
    data = warned("single level", make_file("a,b,county\n1,q,x\n2,q,y\n1,q,x\n"))
    assert data.kept == ("a", "b")
    assert data.predictors == ("a",)


@covers(45)
def test_constant_label(command: Command, make_file: MakeFile) -> None:
    path = make_file(f"a,county\n1,{SECRET}\n2,{SECRET}\n")
    refused(command, LevelError, "nothing to synthesize", path)


@covers(46)
def test_level_that_the_original_does_not_have(make_file: MakeFile) -> None:
    data = accepted(make_file(GOOD))
    strange = pl.DataFrame({"a": ["1", "2", "1", "2"], "county": ["x", "y", SECRET, "x"]})
    with pytest.raises(LevelError, match=r'"county".*1 other level.*file 2.*codebook') as caught:
        read_synthetic(data, [data.frame(), strange])
    assert SECRET not in str(caught.value)
    book = {"variables": {"county": {"levels": ["x", "y", SECRET]}}}
    declared = accepted(make_file(GOOD), codebook=book)
    assert len(read_synthetic(declared, [strange])) == 1


@covers(47)
def test_declared_level_never_observed(make_file: MakeFile) -> None:
    book = {"variables": {"county": {"levels": ["x", "nowhere", "y"]}}}
    data = accepted(make_file(GOOD), codebook=book)
    assert data.variable("county").levels == ("x", "nowhere", "y")
    assert data.variable("county").declared


@covers(48)
def test_level_that_is_not_in_the_codebook(command: Command, make_file: MakeFile) -> None:
    path = make_file(GOOD.replace("x", SECRET))
    book = make_file('[variables.county]\nlevels = ["y"]\n', "book.toml")
    says = "1 other level"
    refused(command, LevelError, says, path, "--codebook", book, codebook=book)
    binned = {"variables": {"a": {"levels": ["low", "high"]}}}
    refused(None, LevelError, "2 other levels", path, codebook=binned, bins={"a": [2]})


@covers(49)
@pytest.mark.filterwarnings("ignore::understudy.errors.ConvergenceWarning")
def test_very_many_labels(make_file: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{number % 7},c{number // 2}\n" for number in range(200_000))
    data = accepted(make_file("a,county\n" + rows))
    assert plausibility.table_size(data) == 7 * 100_000
    monkeypatch.setattr(memory, "most_memory", lambda: 10_000_000)
    with pytest.raises(NotEnoughMemoryError, match="7 patterns and 100,000 labels") as refusal:
        us.DPAreal().fit(data, seed=1)
    assert "fewer or coarser" in str(refusal.value)
    us.BackoffTree().fit(data, chains=1, warmup=1, draws=4, seed=1)


@covers(50)
def test_very_long_label(command: Command, make_file: MakeFile) -> None:
    path = make_file(f"a,county\n1,x\n2,{'y' * 10_000_000}\n")
    refused(command, FormatError, "longer one in the record at line 3", path)
    path = make_file(f"a,county\n1,x\n2,{'y' * 5000}\n")
    refused(command, FormatError, "at most 4,096 bytes", path)
    frame = pl.DataFrame({"a": ["1", "2"], "county": ["x", "y" * 5000]})
    refused(None, LevelError, "at most 4,096 bytes", frame)
    huge_header = make_file("a" * 1_200_000 + ",county\n1,x\n")
    refused(command, FormatError, "header", huge_header)


@covers(51)
@pytest.mark.parametrize(
    "label",
    ["=cmd|'/C calc'!A0", "<script>alert(1)</script>", "\x1b[31mred", "\u202eevil", "[red]x"],
)
def test_hostile_labels(command: Command, make_file: MakeFile, tmp_path: Path, label: str) -> None:
    text = f"a,county\n1,{label}\n2,y\n1,y\n2,{label}\n"
    path = make_file(text)
    data = accepted(path)
    assert data.write(tmp_path / "back.csv").read_text() == text
    assert label not in repr(data) + repr(data.variables)
    answer = command("check", path, "--synthesize", "county")
    assert answer.code == 0
    assert label not in answer.out + answer.err
    assert command("init", path, "--synthesize", "county", "--out", tmp_path).code == 0
    assert command("check", tmp_path / "plan.toml").code == 0


@covers(52)
def test_synthetic_file_coded_differently(make_file: MakeFile) -> None:
    data = accepted(make_file("a,county\n1,01\n2,02\n1,02\n2,01\n"))
    numbers = pl.DataFrame({"a": [1, 2, 1, 2], "county": [1, 2, 2, 1]})
    with pytest.raises(LevelError, match=r"coded differently.*01 and 1.0 are not 1"):
        read_synthetic(data, [numbers])
    kept = pl.DataFrame({"a": ["one", "two", "one", "two"], "county": ["01", "02", "02", "01"]})
    with pytest.raises(LevelError, match=r'"a".*coded differently'):
        read_synthetic(data, [kept])
    data = accepted(make_file("a,county\n1.0,x\n2.0,y\n1.0,y\n3.0,x\n2.0,x\n3.0,y\n", "b.csv"))
    fewer = pl.DataFrame({"a": ["1", "2.0"] * 3, "county": ["x", "y"] * 3})
    with pytest.raises(LevelError, match=r'"a".*1 other level in .*coded differently'):
        read_synthetic(data, [fewer])
    without = pl.DataFrame({"county": ["01", "02", "02", "01"]})
    with pytest.raises(ColumnError, match='no column "a"'):
        read_synthetic(data, [without])


@covers(53)
def test_files_with_different_levels(make_file: MakeFile) -> None:
    data = accepted(make_file(GOOD))
    first = pl.DataFrame({"a": ["1", "2", "1", "2"], "county": ["x"] * 4})
    second = pl.DataFrame({"a": ["1", "2", "1", "2"], "county": ["y"] * 4})
    sets = read_synthetic(data, [first, second])
    assert sets.codes[:, :, 0].tolist() == [[0] * 4, [1] * 4]
    third = pl.DataFrame({"a": ["1", "2", "1", "2"], "county": ["u", "y", "y", "y"]})
    fourth = pl.DataFrame({"a": ["1", "2", "1", "2"], "county": ["v", "w", "y", "y"]})
    with pytest.raises(LevelError, match="3 other levels in synthetic file 3, 4"):
        read_synthetic(data, [first, second, third, fourth])


@covers(119)
def test_bins_added_after_the_codebook_was_drafted(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """The draft lists the numbers; groups of them fit, and numbers that it lacks do not."""
    rows = "".join(f"{20 + row % 30},{'xy'[row % 2]}\n" for row in range(120))
    path = make_file("age,county\n" + rows)
    answer = command("init", path, "--synthesize", "county", "--out", tmp_path)
    assert answer.code == 0, answer.err
    draft = tmp_path / "codebook.toml"
    assert '"21"' in draft.read_text()
    data = accepted(path, bins={"age": [30, 40]}, codebook=draft)
    assert data.variable("age").levels == ("<30", "30-40", ">=40")
    assert not data.variable("age").labels
    plan = tmp_path / "plan.toml"
    plan.write_text(plan.read_text() + "\n[data.bins.age]\ncuts = [30, 40]\n")
    assert command("check", plan).code == 0
    wrong = {"variables": {"age": {"levels": ["20", "21"]}}}
    refused(None, LevelError, "other level", path, bins={"age": [30, 40]}, codebook=wrong)
