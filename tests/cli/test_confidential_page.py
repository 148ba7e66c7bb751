"""Where ``--report`` of evaluate and compare writes: over nothing else, and nowhere in public."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study
from understudy.cli.confidential_page import new_page
from understudy.errors import OutputError
from understudy.pages.comparison_page import comparison_page
from understudy.publishing.manifest import is_whole_release
from understudy.storage import new_file

PAGE = comparison_page([])


def refused(path: Path, says: str) -> None:
    """Check that no page is written at a path, and what is there stays."""
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(OutputError, match=says), new_page(path) as target:
        target.write_text(PAGE)
    assert (path.read_bytes() if path.is_file() else None) == before
    assert not list(path.parent.glob(".understudy-*"))


def test_a_page_is_written_and_written_again(tmp_path: Path) -> None:
    for text in (PAGE, PAGE + "<!-- again -->"):
        with new_page(tmp_path / "page.html") as target:
            target.write_text(text)
        assert (tmp_path / "page.html").read_text() == text
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600


@covers(151)
def test_a_page_replaces_nothing_else(tmp_path: Path) -> None:
    for name in ("survey.csv", "notes.html"):
        (tmp_path / name).write_text("sex,county\nf,north\n")
    refused(tmp_path / "survey.csv", "another ending")
    refused(tmp_path / "notes.html", "no page of this program")
    (tmp_path / "folder.html").mkdir()
    refused(tmp_path / "folder.html", "no file")
    os.mkfifo(tmp_path / "pipe.html")
    refused(tmp_path / "pipe.html", "no file")
    (tmp_path / "link.html").symlink_to(tmp_path / "notes.html")
    refused(tmp_path / "link.html", "symbolic link")


@covers(151)
def test_a_page_gets_into_no_release_and_no_study(tmp_path: Path, command: Command) -> None:
    study = Study(tmp_path / "study").seal()
    public = us.release(study.folder, tmp_path / "public", APPROVAL)
    for folder in (public, public / "sub", study.folder, study.internal):
        folder.mkdir(exist_ok=True)
        refused(folder / "page.html", "inside")
    (public / "sub").rmdir()
    assert is_whole_release(public)
    (tmp_path / "survey.csv").write_text("sex,county\nf,north\nm,south\n" * 40)
    both = [tmp_path / "survey.csv"] * 2
    call = ("evaluate", *both, "--synthesize", "county", "--report")
    for path in (public / "page.html", tmp_path / "survey.csv", study.internal / "page.html"):
        assert command(*call, path).code == 2
    assert is_whole_release(public)


@covers(151)
def test_no_file_takes_the_place_of_a_device_or_a_pipe(tmp_path: Path) -> None:
    """Whoever may write to /dev can replace /dev/null: nothing is written over what is no file."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(OutputError, match="a device or a pipe"), new_file(path) as target:
            target.write_text("x")
    assert (tmp_path / "pipe").is_fifo()
