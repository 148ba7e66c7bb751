"""The time at which a study was finished: written once, kept, and replaced where it cannot be."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from understudy import finish_time
from understudy.finish_time import FINISHED, note_finish, read_finish
from understudy.private_folder import PrivateFolder
from understudy.storage import Lock

START = datetime(2026, 5, 4, 12, tzinfo=UTC)


class Clock(datetime):
    """A clock that the test sets."""

    shown = START

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        """Give the time that was set."""
        assert tz is UTC
        return cls.shown


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finish_time, "datetime", Clock)
    monkeypatch.setattr(Clock, "shown", START)


def noted(folder: Path, verdict: str, time: datetime) -> datetime | None:
    """Note a verdict when the clock shows a time, and read back what is there."""
    Clock.shown = time
    with PrivateFolder.made(folder) as held:
        with Lock(held) as lock:
            note_finish(lock, verdict)
        return read_finish(held, verdict)


def test_the_first_time_is_kept(tmp_path: Path) -> None:
    folder, later = tmp_path / "internal", START + timedelta(days=9)
    assert noted(folder, "a", START) == START
    assert noted(folder, "a", later) == START
    shutil.copytree(folder, tmp_path / "copy")
    assert noted(tmp_path / "copy", "a", later) == START
    assert noted(folder, "b", later) == later  # another verdict
    assert noted(folder, "a", later + timedelta(days=1)) == later + timedelta(days=1)


def test_a_time_that_lies_ahead_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "internal"
    noted(folder, "a", START)
    assert noted(folder, "a", START - timedelta(days=1)) == START
    earlier = START - timedelta(days=1, seconds=1)
    assert noted(folder, "a", earlier) == earlier


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"[" * 100_000])
def test_a_damaged_file_is_no_time_and_is_replaced(tmp_path: Path, content: bytes) -> None:
    folder = tmp_path / "internal"
    noted(folder, "a", START)
    (folder / FINISHED).write_bytes(content)
    with PrivateFolder(folder) as held:
        assert read_finish(held, "a") is None
    assert noted(folder, "a", START + timedelta(days=9)) == START + timedelta(days=9)
