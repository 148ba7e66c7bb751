"""Files that appear whole or not at all, locks on folders, and manifests.

A file is written under another name in the same folder, forced to the disk, renamed, and the folder
forced to the disk. Saved runs, of a fit (`synthesis.checkpoints`) or a study (`study.folder`), add
a manifest: it lists files with their digests, is written last, and carries a digest of itself. At
every instant, power cut included, a manifest names only files that are whole.

All of it happens in a `PrivateFolder`. Locks are those of the operating system: the lock of a
process that has died is free, and a lock file that was removed is noticed at the next manifest. On
network drives without locks the folder is used all the same, with a warning, unless the process
that last held it still runs on this machine.
"""

from __future__ import annotations

import errno
import hashlib
import importlib
import json
import os
import re
import shlex
import socket
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from understudy.errors import (
    CheckpointError,
    CheckpointWarning,
    ExitCode,
    OutputError,
    quoted,
    warn_user,
)
from understudy.private_folder import PrivateFolder

__all__ = [
    "LOCK",
    "WINDOWS",
    "WINDOWS_NAMES",
    "Lock",
    "cannot_write",
    "check_name",
    "check_safe_to_write",
    "differences",
    "digest_of",
    "json_digest",
    "new_file",
    "read_manifest",
    "read_whole",
    "replace_file",
    "take_lock",
    "to_disk",
    "write_manifest",
    "write_text",
    "write_whole",
]

WINDOWS = os.name == "nt"  # forces only files that are open for writing to the disk
LOCK = "lock"
LOCKED_BYTE = 1 << 30  # of Windows' lock: beyond the text that says who holds it
LOCKLESS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
HIDDEN = {"data", "seed", "codebook"}  # never shown where saved and asked runs differ
WINDOWS_NAMES = {"con", "prn", "aux", "nul"} | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)
}
LONGEST_FILE_NAME = 255


def digest_of(content: bytes) -> str:
    """Digest of some bytes: BLAKE2b with 256 bits, as hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def json_digest(content: Any) -> str:
    """Digest of what JSON can hold, whatever the order of its keys."""
    return digest_of(json.dumps(content, sort_keys=True).encode("utf-8"))


def check_name(name: str) -> None:
    """Refuse the name of a file or folder that not every system can use."""
    stem = name.split(".", maxsplit=1)[0].strip().lower()
    if not name or name[-1] in " ." or stem in WINDOWS_NAMES:
        raise OutputError(
            expected="a file name that every system can use",
            came=quoted(name),
            do="choose another name (not CON, NUL, COM1 ..., no dot or space at the end)",
        )
    if len(name.encode("utf-8", "surrogatepass")) > LONGEST_FILE_NAME:
        raise OutputError(
            expected=f"a file name of at most {LONGEST_FILE_NAME} bytes",
            came=f"one of {len(name)} characters",
            do="choose a shorter name",
        )


def to_disk(path: Path) -> None:
    """Force a file or folder to the disk; a system that opens no folders (Windows) skips those."""
    try:
        descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    except OSError:
        if path.is_dir():
            return
        raise
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Let the body write a temporary file, then make it the target, whole or not at all.

    No lock is needed, so it works on network drives without locks. Only its owner can read the
    file. The body opens the file by its name, so a folder in which anybody could replace the name
    by a link is refused.
    """
    try:
        check_safe_to_write(target.parent)
        _check_replaceable(target)
        handle, name = tempfile.mkstemp(
            dir=target.parent, prefix=".understudy-", suffix="".join(target.suffixes[-2:])
        )
        os.close(handle)
    except OSError as problem:
        raise cannot_write(target, problem) from None
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o600)
        to_disk(temporary)
        temporary.replace(target)
        to_disk(target.parent)
    except OSError as problem:
        raise cannot_write(target, problem) from None
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(target: Path, text: str) -> None:
    """Write a text file in UTF-8, whole or not at all."""
    with new_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def _check_replaceable(target: Path) -> None:
    """Refuse to put a file in the place of a device, a pipe or a folder."""
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(mode := target.lstat().st_mode) and not stat.S_ISLNK(mode):
            raise OutputError(
                expected=f"a new file at {quoted(target.name)}, or one to replace",
                came="a folder, a device or a pipe",
                do="choose another path",
            )


def check_safe_to_write(folder: Path) -> None:
    """Refuse a folder in which other users can replace what is being written."""
    mode = folder.stat().st_mode
    if os.name == "posix" and mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
        raise OutputError(
            expected="a folder in which other users cannot replace your files",
            came=f"{quoted(folder.absolute().name)}, which everybody may write to",
            do=f"close it with chmod o-w {shlex.quote(str(folder))}, or choose another folder",
        )


def replace_file(path: Path, content: bytes) -> None:
    """Write or replace a file in a private folder, whole or not at all, for its owner only."""
    with PrivateFolder(path.parent) as folder:
        folder.replace(path.name, content)


def cannot_write(target: Path, problem: OSError) -> OutputError:
    """Turn the system's refusal into a message of ours."""
    reason = os.strerror(problem.errno) if problem.errno else "unknown reason"
    full = problem.errno in {errno.ENOSPC, errno.EDQUOT}
    return OutputError(
        expected=f"to write the file {quoted(target.name)}",
        came=f"that the system refuses ({reason})",
        do="free space on the disk and start again; no partial file was left behind"
        if full
        else "check that you may write to the folder, or choose another one",
    )


def write_whole(folder: PrivateFolder, name: str, content: bytes) -> str:
    """Write a file of a saved run; give the digest of its content."""
    try:
        folder.replace(name, content)
    except OSError as problem:
        error = CheckpointError(
            expected=f"space for {len(content):,} bytes in {quoted(folder.path.name)}",
            came=f"that they could not be written ({problem.strerror})",
            do="free space and run again; what was saved before is whole, and the run goes on "
            "from there",
        )
        error.exit_code = ExitCode.INTERRUPTED
        raise error from None
    return digest_of(content)


def read_whole(folder: PrivateFolder, name: str, digest: str) -> bytes | None:
    """Read a file; None if it is not the one that was written."""
    try:
        content = folder.read(name)
    except OSError:
        return None
    return content if digest_of(content) == digest else None


def write_manifest(lock: Lock, name: str, content: Mapping[str, Any]) -> None:
    """Write a manifest as JSON, with a digest of itself, if the folder is still locked by us."""
    lock.check()
    text = json.dumps({**content, "digest": json_digest(content)}, indent=1)
    write_whole(lock.folder, name, text.encode("utf-8"))


def read_manifest(
    folder: PrivateFolder, name: str, form: int, keys: tuple[str, ...]
) -> dict[str, Any] | None:
    """Read a manifest; None if there is none, an error if it is not whole or not ours.

    `form` is the number of the format that is understood; `keys` are those beside ``format`` and
    ``digest``.
    """
    try:
        content = json.loads(folder.read(name))
        digest = content.pop("digest")
        known = (
            content["format"] == form
            and set(content) == {"format", *keys}
            and digest == json_digest(content)
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError):
        known = False
    if not known:
        raise CheckpointError(
            expected=f"the manifest of a saved run in {quoted(folder.path.name)}",
            came="a file that is damaged or was written by something else",
            do="choose an empty folder, or remove this one and run again",
        )
    result: dict[str, Any] = content
    return result


class Lock:
    """A folder that this process alone may use, until it is closed or the process ends.

    Parameters
    ----------
    folder : Path or PrivateFolder
        A folder that exists.
    """

    def __init__(self, folder: Path | PrivateFolder) -> None:
        self._given = isinstance(folder, PrivateFolder)
        self.folder = folder if isinstance(folder, PrivateFolder) else PrivateFolder(folder)
        name = quoted(self.folder.path.name)
        try:
            self._descriptor: int | None = self.folder.open(LOCK, os.O_RDWR | os.O_CREAT)
        except OSError as problem:
            self._close_folder()
            raise CheckpointError(
                expected=f"a folder that can be written at {name}",
                came=f"one that cannot ({problem.strerror})",
                do="choose another folder, or change its permissions",
            ) from None
        except BaseException:
            self._close_folder()
            raise
        holder = os.read(self._descriptor, 200).decode("utf-8", "replace")
        taken = take_lock(self._descriptor)
        if taken is False or (taken is None and _alive(holder)):
            self.close()
            raise CheckpointError(
                expected=f"a folder that no other process is using at {name}",
                came=f"one in use by {quoted(holder or 'another process')}",
                do="wait for that process, or choose another folder; the lock of a process that "
                "has died is free",
            )
        with suppress(OSError):  # a full disk: the lock holds without its text
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            text = f"process {os.getpid()} on {socket.gethostname()}"
            os.write(self._descriptor, text.encode())

    def check(self) -> None:
        """Refuse to go on where the lock, or the folder, is no longer the one that was taken."""
        there = self.folder.status(LOCK)
        held = None if self._descriptor is None else os.fstat(self._descriptor)
        same = held is not None and there is not None and os.path.samestat(held, there)
        if not same or not self.folder.is_where_it_was():
            error = CheckpointError(
                expected=f"the folder {quoted(self.folder.path.name)} with the lock of this run",
                came="that somebody has moved the folder, or removed or replaced its lock",
                do="make sure that no other run uses the folder, then give the same command again; "
                "what was saved before is whole",
            )
            error.exit_code = ExitCode.INTERRUPTED
            raise error

    def close(self) -> None:
        """Release the folder for other processes."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._close_folder()

    def _close_folder(self) -> None:
        if not self._given:
            self.folder.close()

    def __enter__(self) -> Self:
        """Hold the folder."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Release the folder."""
        self.close()


def take_lock(descriptor: int) -> bool | None:
    """Try to take the lock on an open file or folder; None, with a warning, without locks."""
    try:
        _lock_now(descriptor)
    except ImportError:
        return None
    except OSError as problem:
        if problem.errno not in LOCKLESS:
            return False
        warn_user(
            "this file system has no locks: make sure that no other process uses the folder",
            CheckpointWarning,
        )
        return None
    return True


def _lock_now(descriptor: int) -> None:
    """Lock by the system's own call; OSError where another process has the lock."""
    if not WINDOWS:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    msvcrt: Any = importlib.import_module("msvcrt")
    os.lseek(descriptor, LOCKED_BYTE, os.SEEK_SET)
    msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)


def _alive(holder: str) -> bool:
    """Tell whether the process that a lock names runs on this machine, and is another one.

    Windows cannot be asked: there `os.kill` interrupts the process.
    """
    if WINDOWS:
        return False
    named = re.fullmatch(r"process (\d+) on (.*)", holder)
    if named is None or named[2] != socket.gethostname() or int(named[1]) == os.getpid():
        return False
    try:
        os.kill(int(named[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and belongs to somebody else
        return True
    return True


def differences(saved: Mapping[str, Any], asked: Mapping[str, Any], above: str = "") -> list[str]:
    """Name what differs between two runs, and of what it is; values only where they are settings.

    `above` is the path that leads to both.
    """
    named = []
    for key in sorted({*saved, *asked}):
        old, new = saved.get(key), asked.get(key)
        if old == new:
            continue
        name = quoted(key) + (f" of {quoted(above)}" if above else "")
        if isinstance(old, dict) and isinstance(new, dict):
            named += differences(old, new, f"{above}.{key}".lstrip("."))
        elif key in HIDDEN or isinstance(old, list | dict) or isinstance(new, list | dict):
            named.append(name)
        else:
            named.append(f"{name} (saved {quoted(old)}, now {quoted(new)})")
    return named
