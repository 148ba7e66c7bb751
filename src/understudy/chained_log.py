"""A log in which every entry carries the digest of the one before it.

Whoever changes, removes or reorders entries has to rewrite all that follow, and then the last
digest is another than the one that was written down elsewhere: in ``study.json`` for the approvals
of a study, in the studies for a register. The chain shows tampering by hand; it is no proof against
somebody who may write to all of these places.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from understudy.errors import FileError, quoted
from understudy.private_folder import PrivateFolder
from understudy.storage import cannot_write, json_digest, replace_file

__all__ = ["Entry", "head_of", "next_entry", "read_log", "write_log"]

Entry = dict[str, Any]


def head_of(entries: Sequence[Entry]) -> str | None:
    """Digest of the last entry; None without any."""
    return json_digest(entries[-1]) if entries else None


def next_entry(entries: Sequence[Entry], facts: Mapping[str, Any]) -> Entry:
    """Make the entry that comes after others, with the time and the digest of the last one."""
    recorded = datetime.now(UTC).isoformat(timespec="seconds")
    return {**facts, "recorded": recorded, "previous": head_of(entries)}


def read_log(path: Path) -> list[Entry]:
    """Read a log, a JSON list, oldest entry first; empty where there is no file.

    Each entry has the digest of the one before it.
    """
    try:
        with PrivateFolder(path.parent) as folder:
            entries = json.loads(folder.read(path.name))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError):
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise FileError(
            expected=f"a list of earlier entries in {quoted(path.name)}",
            came="a file that cannot be read as one",
            do="restore the file from a backup",
        )
    for number, entry in enumerate(entries):
        if entry.get("previous") != head_of(entries[:number]):
            raise FileError(
                expected=f"every entry of {quoted(path.name)} as it was written",
                came=f"that entry {number + 1:,} does not follow from the one before it: an entry "
                "was changed, removed or put in",
                do="restore the file from a backup, and find out who changed it",
            )
    return entries


def write_log(path: Path, entries: Sequence[Entry]) -> None:
    """Write a log, whole or not at all; only its owner can read it."""
    text = json.dumps(list(entries), ensure_ascii=False, indent=1) + "\n"
    try:
        replace_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError as problem:
        raise cannot_write(path, problem) from None
