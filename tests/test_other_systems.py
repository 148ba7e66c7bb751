"""A system that is not Unix, as far as it can be played here: Windows itself was never run."""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from tests.studies import write_study
from understudy import storage
from understudy.errors import CheckpointError
from understudy.publishing import target
from understudy.storage import Lock, new_file

# Takes away what Windows does not have, then does all that a user does with files.
PROGRAM = """
import os, signal, sys
for module in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[module] = None
for name in ("O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "fchmod", "getegid", "geteuid", "getgid",
             "getuid", "killpg", "sched_getaffinity", "sysconf"):
    delattr(os, name)
os.supports_dir_fd.clear()
for name in ("SIGHUP", "SIGKILL", "SIGUSR1"):
    delattr(signal, name)

from pathlib import Path
from understudy import storage
from understudy.cli import main
from understudy.microdata import parser_child
from understudy.publishing import target

def no_kill(*_):
    raise AssertionError("os.kill interrupts a process on Windows")

os.kill = no_kill
folder = Path(sys.argv[1])

def ends(code, *arguments):
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as ended:
        assert ended.code == code, ended.code

plan = folder / "plan.toml"
ends(1, "run", plan, "--out", folder / "out")
ends(1, "run", plan, "--out", folder / "out")  # taken up again
ends(0, "status", folder / "out")
ends(0, "init", folder / "data.csv", "--synthesize", "county", "--out", folder, "--overwrite")
for _ in range(2):
    with target.building(folder / "public") as made:
        (made / "file").write_text("text")
        target.move_in(made, folder / "public", overwrite=False)
    (folder / "public" / "file").unlink()
sys.stdin = open(os.devnull)
parser_child.serve()
os.write(2, b"all done")
"""


def test_a_study_without_what_only_unix_has(tmp_path: Path) -> None:
    plan = write_study(tmp_path / "study")
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, str(plan.parent)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.endswith("all done")


class FakeLocks(ModuleType):
    """`msvcrt` with one byte range that is locked by another process, or not."""

    LK_NBLCK = 2

    def __init__(self, refuses: int = 0) -> None:
        super().__init__("msvcrt")
        self.refuses = refuses
        self.locked: list[tuple[int, int]] = []

    def locking(self, descriptor: int, mode: int, n_bytes: int) -> None:
        """Remember where was locked, or refuse."""
        assert mode == self.LK_NBLCK
        if self.refuses:
            raise OSError(self.refuses, "refused")
        self.locked.append((os.lseek(descriptor, 0, os.SEEK_CUR), n_bytes))


def test_locks_of_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The byte that is locked is no part of the text, and nobody is asked by `os.kill`."""
    monkeypatch.setattr(storage, "WINDOWS", True)
    monkeypatch.setattr(os, "kill", None)
    monkeypatch.setitem(sys.modules, "msvcrt", locks := FakeLocks())
    Lock(tmp_path).close()
    assert locks.locked == [(1 << 30, 1)]
    assert (tmp_path / "lock").read_text().startswith("process ")
    monkeypatch.setitem(sys.modules, "msvcrt", FakeLocks(errno.EACCES))
    with pytest.raises(CheckpointError, match="in use by"):
        Lock(tmp_path)
    (tmp_path / "lock").write_text(f"process {os.getppid()} on {socket.gethostname()}")
    monkeypatch.setitem(sys.modules, "msvcrt", FakeLocks(errno.EINVAL))
    with pytest.warns(match="no locks"):
        Lock(tmp_path).close()


def test_only_files_open_for_writing_reach_the_disk_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []
    real = os.open

    def opening(path: Path, flags: int) -> int:
        opened.append(flags)
        return real(path, flags)

    monkeypatch.setattr(storage, "WINDOWS", True)
    monkeypatch.setattr(storage, "os", SimpleNamespace(**{**vars(os), "open": opening}))
    with new_file(tmp_path / "file") as part:
        part.write_text("text")
    assert opened == [os.O_RDWR, os.O_RDWR]  # a folder cannot be, which is no error


def test_a_release_onto_an_empty_folder_of_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Windows renames onto nothing."""
    real = Path.rename

    def rename(self: Path, to: Path) -> Path:
        if to.exists():
            raise FileExistsError
        return real(self, to)

    monkeypatch.setattr(target, "WINDOWS", True)
    monkeypatch.setattr(Path, "rename", rename)
    (tmp_path / "public").mkdir()
    for text in ("one", "two"):
        with target.building(tmp_path / "public") as made:
            (made / "file").write_text(text)
            target.move_in(made, tmp_path / "public", overwrite=False)
        (tmp_path / "public" / "file").unlink()
