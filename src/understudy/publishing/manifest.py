"""What a release may consist of: the list of allowed files, their hashes, and a last check.

Whatever is not on the list is not published. The manifest names every file with its SHA-256, so
that a reader can tell a complete and unchanged copy from another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from understudy.errors import OutputError, quoted
from understudy.private_folder import RELEASE

__all__ = ["DATA_FILE", "check_bundle", "is_whole_release", "manifest_text", "read_manifest"]

NAME = "manifest.json"
DATA_FILE = re.compile(r"synthetic-[0-9]{2,6}\.(csv|parquet|dta|sav)")
ALLOWED = re.compile(
    rf"{DATA_FILE.pattern}|codebook\.(toml|html)|methods\.html|README\.txt|manifest\.json"
    r"|figures/[a-z0-9-]{1,80}\.png"
)


def manifest_text(folder: Path, facts: dict[str, Any]) -> str:
    """List the files of a folder with their hashes.

    Parameters
    ----------
    folder : pathlib.Path
        What was built, without the manifest.
    facts : dict
        What the manifest says of the release as a whole.

    Returns
    -------
    str
        JSON.
    """
    files = {
        name: {"bytes": path.stat().st_size, "sha256": _hash(path)}
        for name, path in _files(folder).items()
    }
    return (
        json.dumps({"kind": RELEASE, **facts, "files": files}, indent=1, ensure_ascii=False) + "\n"
    )


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest of a release; None if there is none."""
    try:
        content = json.loads((folder / NAME).read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(content, dict) or content.get("kind") != RELEASE:
        return None
    return content if isinstance(content.get("files"), dict) else None


def is_whole_release(folder: Path) -> bool:
    """Tell whether a folder holds a release, all of it, unchanged, and nothing else."""
    manifest = read_manifest(folder)
    if manifest is None or any(path.is_symlink() for path in folder.rglob("*")):
        return False
    files = _files(folder)
    listed = manifest["files"]
    if set(files) != {*listed, NAME} or any(not ALLOWED.fullmatch(name) for name in files):
        return False
    return all(
        isinstance(entry, dict) and entry.get("sha256") == _hash(files[name])
        for name, entry in listed.items()
    )


def check_bundle(folder: Path, secrets: Iterable[str]) -> None:
    """Check what was built: allowed files only, and no internal mark in their text.

    Parameters
    ----------
    folder : pathlib.Path
        What was built, with the manifest.
    secrets : iterable of str
        Marks of the study that must not be public: seed, fingerprint, digests, paths.
    """
    marks = [mark.encode("utf-8", "surrogatepass") for mark in secrets]
    for name, path in _files(folder).items():
        if not ALLOWED.fullmatch(name) or path.is_symlink():
            raise _fault(f"a file that is not on the list of what may leave, {quoted(name)}")
        content = path.read_bytes()
        if any(mark in content for mark in marks):
            raise _fault(f"an internal mark of the study in {quoted(name)}")


def _fault(came: str) -> OutputError:
    return OutputError(
        expected="a release without anything internal",
        came=came,
        do="nothing was released; look whether the codebook or the title holds a path or a seed, "
        "and report the fault otherwise",
    )


def _files(folder: Path) -> dict[str, Path]:
    """List everything but folders, by its name relative to the folder, in order."""
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    return {name: paths[name] for name in sorted(paths) if not _plain_folder(paths[name])}


def _plain_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _hash(path: Path) -> str:
    digest = sha256()
    with path.open("rb") as content:
        while chunk := content.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()
