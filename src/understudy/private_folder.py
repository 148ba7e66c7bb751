"""A folder that belongs to this user alone, held by a handle; and what lies above a path.

Confidential files are written and read only through it. They are written atomically: under another
name, forced to the disk, renamed, so that they are there whole or not at all. The folder is opened
once, without following a link, must belong to this user, and is closed to everybody else (mode
0700). Its files are opened relative to the handle, never through a link; new ones are created
exclusively, and a file that somebody else made is refused. So another user gains nothing by
preparing the folder, planting links in it, or moving it while a study runs.

A system without such handles (Windows) uses paths instead, and knows no owners.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from understudy.errors import CheckpointError, quoted

__all__ = ["RELEASE", "PrivateFolder", "belongs_to_another", "release_above", "study_above"]

HANDLES = {os.open, os.stat, os.unlink, os.rename, os.mkdir} <= os.supports_dir_fd
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe must not block
FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NO_FOLLOW
OTHERS = 0o077
INTERNAL = "internal"
RELEASE = "understudy release"  # how the manifest of a release says what it is


class PrivateFolder:
    """A folder of this user, opened without following a link.

    Parameters
    ----------
    path : Path
        A folder that exists; see `made`.
    above : PrivateFolder, optional
        The folder that it lies in, which is not looked up again.
    """

    def __init__(self, path: Path, above: PrivateFolder | None = None) -> None:
        self.path = path
        self._handle: int | None = None
        try:
            if HANDLES:
                named, within = (path, None) if above is None else above._at(path.name)
                self._handle = os.open(named, FOLDER, dir_fd=within)
            elif path.is_symlink() or not path.is_dir():
                raise NotADirectoryError
        except OSError as problem:
            raise self._unusable("a link or a file", problem) from None
        if self._handle is not None and _foreign(os.fstat(self._handle)):
            self.close()
            raise CheckpointError(
                expected=f"a folder of your own at {quoted(path.name)}",
                came="one that belongs to another user, who may read and change all that is in it",
                do="choose a new folder; the program makes it",
            )

    @classmethod
    def made(cls, path: Path) -> Self:
        """Make a folder, and those above it, unless it is there; open it."""
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except FileExistsError:
            pass  # whatever it is, opening it says so
        except OSError as problem:
            raise _not_made(path, problem) from None
        return cls(path)

    def inside(self, name: str) -> PrivateFolder:
        """Open a folder in this one, closed to others; make it unless it is there."""
        named, within = self._at(name)
        try:
            with suppress(FileExistsError):
                os.mkdir(named, 0o700, dir_fd=within)
        except OSError as problem:
            raise _not_made(self.path / name, problem) from None
        folder = PrivateFolder(self.path / name, self)
        folder.close_to_others()
        return folder

    def close_to_others(self) -> bool:
        """Set the mode to 0700; tell whether others had access before."""
        if self._handle is None:
            return False
        before = os.fstat(self._handle).st_mode
        with suppress(OSError):
            os.fchmod(self._handle, 0o700)
        if stat.S_IMODE(os.fstat(self._handle).st_mode) != 0o700:
            raise CheckpointError(
                expected=f"a folder that can be closed to other users at {quoted(self.path.name)}",
                came="one whose mode cannot be set to 0700 (a drive without permissions?)",
                do="choose a folder on another drive",
            )
        return bool(before & OTHERS)

    def check_closed(self) -> None:
        """Refuse a folder that others can enter, and say how to close it."""
        if self._handle is not None and os.fstat(self._handle).st_mode & OTHERS:
            raise CheckpointError(
                expected=f"a folder {quoted(self.path.name)} that only you can enter (mode 0700)",
                came="one that other users may read or change",
                do="find out who had access and whether anything was changed; close it with "
                f"chmod 700 {shlex.quote(str(self.path))} and start again",
            )

    def names(self) -> list[str]:
        """List what is in the folder."""
        return sorted(os.listdir(self.path if self._handle is None else self._handle))  # noqa: PTH208

    def read(self, name: str) -> bytes:
        """Read a file that this user made; OSError where there is none."""
        with os.fdopen(self.open(name, os.O_RDONLY), "rb") as file:
            return file.read()

    def open(self, name: str, flags: int) -> int:
        """Open a regular file of this user; refuse a link and a file with a second name."""
        named, within = self._at(name)
        try:
            descriptor = os.open(named, flags | NO_FOLLOW, 0o600, dir_fd=within)
        except FileNotFoundError:
            raise
        except OSError:
            if _ours(self.status(name)):
                raise
        else:
            status = os.fstat(descriptor)
            if _ours(status) and status.st_nlink == 1:
                return descriptor
            os.close(descriptor)
        raise self._planted(name)

    def replace(self, name: str, content: bytes) -> None:
        """Write or replace a file, whole or not at all, by way of ``.NAME.part``.

        A process that dies leaves at most that one name behind, which the next one removes.
        """
        part, within = self._at(f".{name}.part")
        target, _ = self._at(name)
        if not _ours(self.status(name)):
            raise self._planted(name)
        self.remove(f".{name}.part")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW
            descriptor = os.open(part, flags, 0o600, dir_fd=within)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, target, src_dir_fd=within, dst_dir_fd=within)
            if self._handle is not None:
                os.fsync(self._handle)
        except BaseException:
            with suppress(OSError):
                self.remove(f".{name}.part")
            raise

    def remove(self, name: str) -> None:
        """Remove a file of this user, if it is there."""
        named, within = self._at(name)
        status = self.status(name)
        if not _ours(status):
            raise self._planted(name)
        if status is not None:
            with suppress(FileNotFoundError):
                os.unlink(named, dir_fd=within)

    def remove_folder(self, name: str) -> None:
        """Remove a folder with all that is in it, as far as that is possible."""
        named, within = self._at(name)
        shutil.rmtree(named, ignore_errors=True, dir_fd=within)

    def status(self, name: str) -> os.stat_result | None:
        """Look at an entry, not at what it links to; None where there is none."""
        named, within = self._at(name)
        try:
            return os.stat(named, dir_fd=within, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def is_where_it_was(self) -> bool:
        """Tell whether its path still leads to this folder."""
        if self._handle is None:
            return True
        try:
            return os.path.samestat(os.fstat(self._handle), os.lstat(self.path))
        except OSError:
            return False

    def close(self) -> None:
        """Give the handle back."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def __enter__(self) -> Self:
        """Hold the folder."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Give the handle back."""
        self.close()

    def __fspath__(self) -> str:
        """Give the path, for messages and for those who only look."""
        return str(self.path)

    def _at(self, name: str) -> tuple[str | Path, int | None]:
        """Name an entry relative to the handle, where there is one."""
        return (self.path / name, None) if self._handle is None else (name, self._handle)

    def _planted(self, name: str) -> CheckpointError:
        return CheckpointError(
            expected=f"{quoted(name)} in {quoted(self.path.name)} to be a file of this program",
            came="a link, or a file that somebody else put there",
            do="find out who did; nothing was written to it; choose a new folder",
        )

    def _unusable(self, what: str, problem: OSError) -> CheckpointError:
        missing = isinstance(problem, FileNotFoundError)
        return CheckpointError(
            expected=f"a folder of your own at {quoted(self.path.name)}",
            came=f"{'nothing' if missing else what} ({problem.strerror or 'not a folder'})",
            do="choose another folder",
        )


def _not_made(path: Path, problem: OSError) -> CheckpointError:
    return CheckpointError(
        expected=f"a folder for the run at {quoted(path.name)}",
        came=f"a path where none can be made ({problem.strerror})",
        do="choose another folder",
    )


def _ours(status: os.stat_result | None) -> bool:
    """Tell whether an entry is a file of this user, or not there."""
    return status is None or (stat.S_ISREG(status.st_mode) and not _foreign(status))


def _foreign(status: os.stat_result) -> bool:
    return hasattr(os, "geteuid") and status.st_uid != os.geteuid()


def belongs_to_another(path: Path) -> bool:
    """Tell whether a file or folder was made by another user."""
    return _foreign(os.lstat(path))


def study_above(path: Path) -> Path | None:
    """Find the study in whose folder a path lies, if it lies in one."""
    return _above(path, lambda folder: (folder / INTERNAL / "study.json").is_file())


def release_above(path: Path) -> Path | None:
    """Find the release in whose folder a path lies, if it lies in one."""
    return _above(path, _is_release)


def _above(path: Path, kind: Callable[[Path], bool]) -> Path | None:
    """Find the nearest folder of a kind at a path or above it, links followed."""
    real = Path(os.path.realpath(path))
    for folder in (real, *real.parents):
        with suppress(OSError):
            if kind(folder):
                return folder
    return None


def _is_release(folder: Path) -> bool:
    """Tell whether a folder is a release; what another user put there does not count."""
    manifest = folder / "manifest.json"
    try:
        status = os.lstat(manifest)
        if not stat.S_ISREG(status.st_mode) or _foreign(status):
            return False
        content: Any = json.loads(manifest.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("kind") == RELEASE
