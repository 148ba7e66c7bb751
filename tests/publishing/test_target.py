"""The place of a release: leftovers of killed ones, and replacing that goes wrong half-way."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL, Study
from understudy.errors import OutputError
from understudy.publishing import gate
from understudy.publishing.approval import record_approval
from understudy.publishing.manifest import is_whole_release
from understudy.publishing.target import _prefix


def leftover(public: Path, what: str) -> Path:
    """Make a folder as a killed release leaves it."""
    folder = public.with_name(_prefix(public, what) + "abc")
    folder.mkdir()
    (folder / "synthetic-01.csv").write_text("half")
    return folder


def test_leftovers_are_swept_away(study: Study, public: Path) -> None:
    ours = [leftover(public, "new"), leftover(public, "old")]
    others = leftover(public.with_name("another"), "new")
    us.release(study.folder, public, APPROVAL)
    assert not any(our.exists() for our in ours)
    assert others.exists()


def test_what_is_being_built_is_left_alone(study: Study, public: Path) -> None:
    building = leftover(public, "new")
    held = os.open(building, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    us.release(study.folder, public, APPROVAL)
    assert building.exists()
    os.close(held)


def test_earlier_release_that_lies_aside_comes_back(study: Study, public: Path) -> None:
    us.release(study.folder, public, APPROVAL, format="parquet")
    public.rename(public.with_name(_prefix(public, "old") + "abc"))
    with pytest.raises(OutputError, match="an earlier release"):
        us.release(study.folder, public, APPROVAL)
    assert is_whole_release(public)
    assert (public / "synthetic-01.parquet").exists()


def test_replacing_that_fails_puts_the_earlier_release_back(
    study: Study, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    us.release(study.folder, public, APPROVAL, format="parquet")
    real, calls = Path.rename, []

    def rename(self: Path, target: Any) -> Path:
        calls.append(target)
        if len(calls) == 2:  # the earlier release lies aside, and the new one cannot take its place
            raise OSError(errno.EIO, "Input/output error")
        return real(self, target)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OutputError, match="Input/output error"):
        us.release(study.folder, public, APPROVAL, overwrite=True)
    assert is_whole_release(public)
    assert (public / "synthetic-01.parquet").exists()
    assert sorted(path.name for path in public.parent.iterdir()) == ["public", "study"]


def test_something_appears_while_the_release_is_built(
    study: Study, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(*given: Any) -> None:
        record_approval(*given)
        public.mkdir()
        (public / "mine.txt").write_text("mine")

    monkeypatch.setattr(gate, "record_approval", meanwhile)
    with pytest.raises(OutputError, match="no release"):
        us.release(study.folder, public, APPROVAL)
    assert [path.name for path in public.iterdir()] == ["mine.txt"]


def test_approval_that_cannot_be_kept_stops_the_release(
    study: Study, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def replace(source: Any, target: Any, **handles: Any) -> None:
        if Path(target).name == "approvals.json":
            raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target, **handles)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(OutputError, match="free space on the disk"):
        us.release(study.folder, public, APPROVAL)
    assert not public.exists()
    assert not list(study.internal.glob(".approvals*"))


def test_approvals_are_added_one_by_one(study: Study, tmp_path: Path) -> None:
    for number in range(3):
        us.release(study.folder, tmp_path / f"public {number}", APPROVAL)
    kept = json.loads((study.internal / "approvals.json").read_text())
    assert [Path(entry["to"]).name for entry in kept] == ["public 0", "public 1", "public 2"]
    assert len({entry["files"] for entry in kept}) == 1
    assert len({entry["manifest_sha256"] for entry in kept}) == 3
