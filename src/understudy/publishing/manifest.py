"""What a release may consist of: the list of allowed files, their hashes, and a last check.

Whatever is not on the list is not published. The manifest names every file with its SHA-256, so
that a reader can tell a complete and unchanged copy from another.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from understudy.errors import OutputError, quoted
from understudy.private_folder import RELEASE

__all__ = [
    "DATA_FILE",
    "NAME",
    "SIGNATURE",
    "build_facts",
    "changes_in",
    "check_bundle",
    "is_whole_release",
    "manifest_text",
    "read_manifest",
]

NAME = "manifest.json"
SIGNATURE = "manifest.json.sig"
DATA_FILE = re.compile(r"synthetic-[0-9]{2,6}\.(csv|parquet|dta|sav)")
ALWAYS = ("README.txt", "codebook.html", "codebook.toml", "methods.html")
FIGURES = "figures"
ALLOWED = re.compile(
    rf"{DATA_FILE.pattern}|codebook\.(toml|html)|methods\.html|README\.txt|manifest\.json"
    r"|figures/[a-z0-9-]{1,80}\.png|manifest\.json\.sig"
)


def manifest_text(folder: Path, facts: dict[str, Any]) -> str:
    """List the files of a folder with their hashes, below facts about the release, as JSON."""
    files = {
        name: {"bytes": path.stat().st_size, "sha256": _hash(path)}
        for name, path in _files(folder).items()
    }
    return (
        json.dumps({"kind": RELEASE, **facts, "files": files}, indent=1, ensure_ascii=False) + "\n"
    )


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest of a release; None if there is none."""
    path = folder / NAME
    try:
        if not path.is_file():  # a pipe would be waited for
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.get("kind") != RELEASE:
        return None
    return content if isinstance(content.get("files"), dict) else None


def is_whole_release(folder: Path) -> bool:
    """Tell whether a folder holds a release, all of it, unchanged, and nothing else."""
    return changes_in(folder) == []


def changes_in(folder: Path) -> list[str]:
    """Say how a public folder differs from what its manifest lists, a sentence per file."""
    manifest = read_manifest(folder)
    if manifest is None:
        return [f"{NAME} is not there, or is not the manifest of a release"]
    files, listed = _files(folder), manifest["files"]
    changes = [f"{quoted(name)} is not listed" for name in ALWAYS if name not in listed]
    if not any(map(DATA_FILE.fullmatch, listed)):
        changes.append("no data file is listed")
    inside = [path for path in sorted(folder.rglob("*")) if path.is_dir() and not path.is_symlink()]
    changes += [
        f"the folder {quoted(path.name)} does not belong to the release"
        for path in inside
        if path != folder / FIGURES or not any(path.iterdir())
    ]
    for name in sorted({*files, *listed} - {NAME, SIGNATURE}):
        entry = listed.get(name)
        if name not in files:
            changes.append(f"{quoted(name)} is missing")
        elif files[name].is_symlink() or not files[name].is_file():
            changes.append(f"{quoted(name)} is a link, or no file")
        elif entry is None or not ALLOWED.fullmatch(name):
            changes.append(f"{quoted(name)} does not belong to the release")
        elif not isinstance(entry, dict) or entry.get("sha256") != _hash(files[name]):
            changes.append(f"{quoted(name)} was changed")
    links = [
        name
        for name in (NAME, SIGNATURE)
        if name in files and (files[name].is_symlink() or not files[name].is_file())
    ]
    links += [path.name for path in folder.rglob("*") if path.is_dir() and path.is_symlink()]
    return changes + [f"{quoted(name)} is a link, or no file" for name in links]


def build_facts() -> dict[str, str]:
    """Name the wheel or the commit that understudy was installed from, where that is known.

    Gives ``commit`` of a version control system, ``archive`` (hash of an archive), or ``wheel``
    (its tag); never a path or an address.
    """
    try:
        installed = distribution("understudy")
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        tags = re.findall(r"^Tag: ([\w.-]+)$", installed.read_text("WHEEL") or "", re.MULTILINE)
    except (PackageNotFoundError, OSError, ValueError):
        return {}
    facts = {
        "commit": origin.get("vcs_info", {}).get("commit_id"),
        "archive": origin.get("archive_info", {}).get("hash"),
        "wheel": None if origin or not tags else f"understudy-{installed.version}-{tags[0]}",
    }
    known = re.compile(r"[\w.=+-]{1,200}")
    return {name: text for name, text in facts.items() if text and known.fullmatch(str(text))}


def check_bundle(folder: Path, secrets: Iterable[str]) -> None:
    """Check what was built: allowed files only, and no internal mark in their text.

    Marks are the study's seed, fingerprint, digests and paths.
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
