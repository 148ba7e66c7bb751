"""Files that are whole or not there, manifests that notice a flipped bit, locks."""

from __future__ import annotations

import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.errors import CheckpointError, ExitCode
from understudy.private_folder import PrivateFolder
from understudy.storage import (
    Lock,
    differences,
    digest_of,
    read_manifest,
    read_whole,
    write_manifest,
    write_whole,
)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[PrivateFolder]:
    with PrivateFolder(tmp_path) as opened:
        yield opened


def test_a_file_is_whole_private_and_known_by_its_digest(
    tmp_path: Path, folder: PrivateFolder
) -> None:
    path = tmp_path / "file"
    digest = write_whole(folder, "file", b"content")
    assert digest == digest_of(b"content")
    assert len(digest) == 64
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_whole(folder, "file", digest) == b"content"
    assert read_whole(folder, "file", digest_of(b"other")) is None
    assert read_whole(folder, "none", digest) is None
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_file_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(folder, "file", b"old")
    with pytest.raises(CheckpointError, match="space for 3 bytes") as caught:
        write_whole(folder, "none/file", b"new")
    assert caught.value.exit_code == ExitCode.INTERRUPTED

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(folder, "file", b"new")
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == {"file": b"old"}


def test_a_manifest_notices_every_flipped_bit(tmp_path: Path, folder: PrivateFolder) -> None:
    path = tmp_path / "manifest.json"
    assert read_manifest(folder, path.name, 1, ("a",)) is None
    with Lock(folder) as lock:
        write_manifest(lock, path.name, {"format": 1, "a": {"b": [1, 2]}})
    assert read_manifest(folder, path.name, 1, ("a",)) == {"format": 1, "a": {"b": [1, 2]}}
    whole = path.read_bytes()
    for index in range(len(whole)):
        flipped = whole[:index] + bytes([whole[index] ^ 1]) + whole[index + 1 :]
        path.write_bytes(flipped)
        with pytest.raises(CheckpointError, match="damaged"):
            read_manifest(folder, path.name, 1, ("a",))
    path.write_bytes(whole)
    for form, keys in ((2, ("a",)), (1, ("a", "b")), (1, ())):
        with pytest.raises(CheckpointError, match="damaged"):
            read_manifest(folder, path.name, form, keys)


def test_differences_show_settings_and_hide_the_rest() -> None:
    """Two synthesizers have settings of the same name, so that the path is said."""
    plan, other = {"draws": 10, "until": {"rhat": 1.01}}, {"draws": 11, "until": {"rhat": 1.1}}
    saved = {"data": "digest", "seed": 1, "plan": {"a": plan, "b": plan, "known": ["a"]}, "same": 1}
    asked = {"data": "other", "seed": 2, "plan": {"a": plan, "b": other, "known": ["b"]}, "same": 1}
    assert differences(saved, asked) == [
        '"data"',
        '"draws" of "plan.b" (saved "10", now "11")',
        '"rhat" of "plan.b.until" (saved "1.01", now "1.1")',
        '"known" of "plan"',
        '"seed"',
    ]
    assert differences(saved, saved) == []


def test_a_lock_holds_until_it_is_closed(tmp_path: Path) -> None:
    first = Lock(tmp_path)
    words = f"process {os.getpid()} on {socket.gethostname()}"
    assert (tmp_path / "lock").read_text() == words
    with pytest.raises(CheckpointError, match=words):
        Lock(tmp_path)
    first.close()
    first.close()
    Lock(tmp_path).close()
    with pytest.raises(CheckpointError, match="a folder of your own"):
        Lock(tmp_path / "none")


def test_a_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the process that is named in the file is asked whether it lives."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    lock = tmp_path / "lock"
    lock.write_text(f"process {os.getppid()} on {socket.gethostname()}")
    with pytest.raises(CheckpointError, match="in use"):
        Lock(tmp_path)

    def not_ours(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", not_ours)
    with pytest.raises(CheckpointError, match="in use"):
        Lock(tmp_path)
    lock.write_text("words of somebody else")
    Lock(tmp_path).close()
