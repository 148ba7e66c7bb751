"""Rows 51, 87 and 95, where they concern a release."""

from __future__ import annotations

from pathlib import Path

import pytest

import understudy as us
from tests.bad_inputs.cases import SECRET, covers
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study
from understudy.errors import LevelError, OutputError
from understudy.publishing.manifest import is_whole_release


def with_level(tmp_path: Path, level: str) -> Study:
    """Make a study that may leave, but for one level."""
    study = Study(tmp_path / "study")
    county = study.variables[2]
    study.variables[2] = county.model_copy(update={"levels": (*county.levels, level)})
    return study.seal()


@covers(51)
@pytest.mark.parametrize("level", ["=cmd|'/C calc'!A0", "\x1b[31mred", "\u202eevil", f"@{SECRET}"])
def test_hostile_level_does_not_leave(tmp_path: Path, command: Command, level: str) -> None:
    study = with_level(tmp_path, level)
    public = tmp_path / "public"
    with pytest.raises(LevelError) as caught:
        us.release(study.folder, public, APPROVAL)
    assert level not in str(caught.value)
    answer = command("release", study.folder, "--to", public, "--approve", APPROVAL)
    assert answer.code == 2
    assert level not in answer.out + answer.err
    assert not public.exists()


@covers(51)
@pytest.mark.parametrize("level", ["<script>alert(1)</script>", "[red]x", "x" * 300])
def test_hostile_level_does_no_harm_in_public(tmp_path: Path, level: str) -> None:
    public = us.release(with_level(tmp_path, level).folder, tmp_path / "public", APPROVAL)
    assert "<script" not in (public / "codebook.html").read_text()
    assert level in (public / "codebook.toml").read_text()


@covers(87)
def test_folder_that_is_not_empty(tmp_path: Path, command: Command) -> None:
    study = Study(tmp_path / "study").seal()
    public = tmp_path / "public"
    public.mkdir()
    (public / "notes.txt").write_text("mine")
    for options in ((), ("--overwrite",)):
        answer = command("release", study.folder, "--to", public, "--approve", APPROVAL, *options)
        assert answer.code == 2
        assert "no release" in answer.err
    assert [path.name for path in public.iterdir()] == ["notes.txt"]
    assert not (study.internal / "approvals.json").exists()


@covers(87)
def test_earlier_release_is_never_mixed_with_the_next(tmp_path: Path, command: Command) -> None:
    study = Study(tmp_path / "study").seal()
    public = tmp_path / "public"
    call = ("release", study.folder, "--to", public, "--approve", APPROVAL)
    assert command(*call, "--format", "parquet").code == 0
    refused = command(*call)
    assert refused.code == 2
    assert "an earlier release" in refused.err
    assert command(*call, "--overwrite").code == 0
    assert is_whole_release(public)
    assert not list(public.glob("*.parquet"))


@covers(95)
@pytest.mark.parametrize("name", ["CON", "nul", "com1.d", "public.", "public ", "x" * 300])
def test_folder_names_that_not_every_system_can_use(tmp_path: Path, name: str) -> None:
    study = Study(tmp_path / "study").seal()
    with pytest.raises(OutputError, match="file name"):
        us.release(study.folder, tmp_path / name, APPROVAL)


@covers(95)
def test_release_into_a_deep_folder(tmp_path: Path) -> None:
    study = Study(tmp_path / "study").seal()
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("folder" * 8)
    deep.mkdir(parents=True)
    assert is_whole_release(us.release(study.folder, deep / ("p" * 255), APPROVAL))
    too_deep = deep
    while len(str(too_deep)) < 5000:
        too_deep = too_deep / ("folder" * 8)
    with pytest.raises(OutputError):
        us.release(study.folder, too_deep, APPROVAL)
