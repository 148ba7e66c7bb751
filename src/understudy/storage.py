"""Files that are there wholly or not at all, in folders that one process holds: saved runs.

Both a fit (`synthesis.checkpoints`) and a study (`stages`) stand on this. A file is written under
another name, flushed to the disk, renamed, and the folder flushed; a manifest that lists files with
their digests is written last, and carries a digest of itself. At every instant, power cut included,
a manifest names only files that are whole.

Locks are those of the operating system: the lock of a process that has died is free. On network
drives without locks the folder is used all the same, with a warning, unless the process that last
held it still runs on this machine.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import socket
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from understudy.errors import CheckpointError, CheckpointWarning, ExitCode, quoted

__all__ = [
    "LOCK",
    "Lock",
    "differences",
    "digest_of",
    "make_folder",
    "read_manifest",
    "read_whole",
    "write_manifest",
    "write_whole",
]

LOCK = "lock"
LOCKLESS = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
HIDDEN = {"data", "seed", "codebook"}  # never shown where saved and asked runs differ


def digest_of(content: bytes) -> str:
    """Digest of some bytes: BLAKE2b with 256 bits, as hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=32).hexdigest()


def make_folder(folder: Path) -> None:
    """Make a folder that only its owner can look into, and those above it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise CheckpointError(
            expected=f"a folder for the run at {quoted(folder.name)}",
            came=f"a place where none can be made ({problem.strerror})",
            do="choose another folder",
        ) from None


def write_whole(path: Path, content: bytes) -> str:
    """Write a file so that it is there wholly or not at all, for its owner only.

    Parameters
    ----------
    path : Path
        In a folder that exists.
    content : bytes
        What to write.

    Returns
    -------
    str
        The digest of the content.
    """
    temporary = path.with_name(f".{path.name}.part")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _flush_folder(path.parent)
    except BaseException as problem:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if not isinstance(problem, OSError):
            raise
        error = CheckpointError(
            expected=f"room for {len(content):,} bytes in {quoted(path.parent.name)}",
            came=f"a disk that did not take them ({problem.strerror})",
            do="make room and run again; what was saved before is whole, and the run goes on "
            "from there",
        )
        error.exit_code = ExitCode.INTERRUPTED
        raise error from None
    return digest_of(content)


def read_whole(path: Path, digest: str) -> bytes | None:
    """Read a file; None if it is not the one that was written."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    return content if digest_of(content) == digest else None


def write_manifest(path: Path, content: Mapping[str, Any]) -> None:
    """Write a manifest as JSON, with a digest of itself."""
    text = json.dumps({**content, "digest": _manifest_digest(content)}, indent=1)
    write_whole(path, text.encode("utf-8"))


def read_manifest(path: Path, form: int, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """Read a manifest; None if there is none, an error if it is not whole or not ours.

    Parameters
    ----------
    path : Path
        The manifest.
    form : int
        The number of the format that is understood.
    keys : tuple of str
        Keys that it has beside ``format`` and ``digest``.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        digest = content.pop("digest")
        known = (
            content["format"] == form
            and set(content) == {"format", *keys}
            and digest == _manifest_digest(content)
        )
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        known = False
    if not known:
        raise CheckpointError(
            expected=f"the manifest of a saved run in {quoted(path.parent.name)}",
            came="a file that is damaged or was written by something else",
            do="choose an empty folder, or remove this one and run again",
        )
    result: dict[str, Any] = content
    return result


def _manifest_digest(content: Mapping[str, Any]) -> str:
    return digest_of(json.dumps(content, sort_keys=True).encode("utf-8"))


class Lock:
    """A folder that this process alone may use, until it is closed or the process ends.

    Parameters
    ----------
    folder : Path
        A folder that exists.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._descriptor: int | None = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as problem:
            raise CheckpointError(
                expected=f"a folder that can be written at {quoted(folder.name)}",
                came=f"one that cannot ({problem.strerror})",
                do="choose another folder, or mend its permissions",
            ) from None
        holder = os.read(self._descriptor, 200).decode("utf-8", "replace")
        held = _take(self._descriptor)
        if held is False or (held is None and _alive(holder)):
            self.close()
            raise CheckpointError(
                expected=f"a folder that no other process is using at {quoted(folder.name)}",
                came=f"one in use by {quoted(holder or 'another process')}",
                do="wait for that process, or choose another folder; the lock of a process that "
                "has died is given free by itself",
            )
        with suppress(OSError):  # a full disk: the lock holds without its words
            os.ftruncate(self._descriptor, 0)
            os.lseek(self._descriptor, 0, os.SEEK_SET)
            words = f"process {os.getpid()} on {socket.gethostname()}"
            os.write(self._descriptor, words.encode())

    def close(self) -> None:
        """Give the folder free for other processes."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _take(descriptor: int) -> bool | None:
    """Try to take the lock; None, with a warning, where there are no locks."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return None
    except OSError as problem:
        if problem.errno not in LOCKLESS:
            return False
        warnings.warn(
            "this file system has no locks: make sure that no other process uses the folder",
            CheckpointWarning,
            stacklevel=3,
        )
        return None
    return True


def _alive(holder: str) -> bool:
    """Tell whether the process that a lock names runs on this machine, and is another one."""
    found = re.fullmatch(r"process (\d+) on (.*)", holder)
    if found is None or found[2] != socket.gethostname() or int(found[1]) == os.getpid():
        return False
    try:
        os.kill(int(found[1]), 0)
    except ProcessLookupError:
        return False
    except OSError:  # it runs, and belongs to somebody else
        return True
    return True


def _flush_folder(folder: Path) -> None:
    """Make sure that a renaming survives a loss of power, where the system can do that."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def differences(saved: Mapping[str, Any], asked: Mapping[str, Any], above: str = "") -> list[str]:
    """Name what differs between two runs, and of what it is; values only where they are settings.

    Parameters
    ----------
    saved, asked : mapping
        What the two runs are.
    above : str
        The path that leads to both.
    """
    found = []
    for key in sorted({*saved, *asked}):
        old, new = saved.get(key), asked.get(key)
        if old == new:
            continue
        name = quoted(key) + (f" of {quoted(above)}" if above else "")
        if isinstance(old, dict) and isinstance(new, dict):
            found += differences(old, new, f"{above}.{key}".lstrip("."))
        elif key in HIDDEN or isinstance(old, list | dict) or isinstance(new, list | dict):
            found.append(name)
        else:
            found.append(f"{name} (saved {quoted(old)}, now {quoted(new)})")
    return found
