"""Files that are not on this machine, as far as fsspec (an optional package) can read them.

Their contents go to the memory of the process that parses them and to no disk. Messages name a
file, never the whole address, which may hold a password.
"""

from __future__ import annotations

from typing import Any

from understudy.errors import FileError, UnderstudyError, quoted
from understudy.microdata.file_format import RemoteFile

__all__ = ["list_remote", "open_remote"]


def list_remote(address: str) -> dict[str, str] | None:
    """Give the addresses in a folder by name; None where the address is that of a file."""
    try:
        files, path = _file_system(address)
        files.invalidate_cache()
        if not files.isdir(path):
            return None
        return {
            str(entry).rstrip("/").rsplit("/", 1)[-1]: str(files.unstrip_protocol(entry))
            for entry in files.ls(path, detail=False)
        }
    except UnderstudyError:
        raise
    except Exception as problem:  # noqa: BLE001  every file system has errors of its own
        raise _unreachable(address, problem) from None


def open_remote(address: str) -> RemoteFile:
    """Look at a file: how large it is, and what changes when it does."""
    try:
        files, path = _file_system(address)
        about = files.info(path)
        if about["type"] != "file":
            raise FileNotFoundError
        return RemoteFile(address, int(about["size"]), str(files.ukey(path)))
    except UnderstudyError:
        raise
    except Exception as problem:  # noqa: BLE001
        raise _unreachable(address, problem) from None


def _file_system(address: str) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise FileError(
            expected="a file on this machine, or fsspec installed, which reads others",
            came="an address, and no package fsspec",
            do="copy the data here, or install fsspec and its package for this file system",
        ) from None
    files, path = fsspec.url_to_fs(address)
    return files, path


def _unreachable(address: str, problem: Exception) -> FileError:
    kind = address.split("://", 1)[0]
    missing = isinstance(problem, ImportError | ValueError)
    return FileError(
        expected=f"a file or folder {quoted(address.rstrip('/').rsplit('/', 1)[-1])} that can be "
        f"read by fsspec ({kind})",
        came=f"none ({type(problem).__name__})",
        do=f"install fsspec's package for {kind}, or copy the data here"
        if missing
        else "check the address, the network and your permissions",
    )
