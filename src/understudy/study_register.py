"""A register of studies: which data were run how often, with what verdict, and what was released.

A study with another seed gives other files and another verdict. Whoever runs a plan until it passes
has chosen the verdict. A register, a folder that several studies share, makes that visible: every
run is entered before anything is computed, and stays there when the study's folder is deleted; one
that was begun without it is entered as such. People are known again by the labels of all records:
sorted rows, other kept columns or a longer codebook are no other data. Each study keeps the digest
of its last entry, so a register that lost it is noticed.

Entries hold digests of data, plans and seeds. They are confidential, like the studies.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.chained_log import Entry, next_entry, read_log, write_log
from understudy.errors import CheckpointError, FileError, OutputError, quoted
from understudy.private_folder import PrivateFolder, release_above, study_above
from understudy.storage import LOCK, Lock, digest_of, json_digest

__all__ = ["Register", "RegisteredRuns", "register_path", "study_digest"]

FILE = "register.json"
PATIENCE = 30.0  # seconds to wait for another process that is writing an entry


@dataclass(frozen=True)
class RegisteredRuns:
    """How often data were run.

    Attributes
    ----------
    same_plan : int
        Runs of the same people with the same plan, each with a seed of its own.
    same_data : int
        Runs of the same people with any plan; a frontier is one.
    points : int
        Points of these frontiers, each of which was fitted and measured.
    """

    same_plan: int
    same_data: int
    points: int = 0


class Register:
    """A folder in which runs, verdicts and releases are entered.

    Parameters
    ----------
    folder : Path
        Made if it does not exist, closed to others.
    make : bool
        Whether to make it; otherwise it must be there.
    """

    def __init__(self, folder: Path, *, make: bool = True) -> None:
        self.folder = register_path(folder)
        _check_folder(self.folder)
        if make:
            with PrivateFolder.made(self.folder) as made:
                made.close_to_others()
        elif not folder.is_dir():
            raise FileError(
                expected=f"the register of this study at {quoted(folder.name)}",
                came="no such folder (not found)",
                do="put the register back where it was when the study was run",
            )

    def entries(self) -> list[Entry]:
        """Give all entries, the oldest first; each must follow from the one before."""
        entries = read_log(self.folder / FILE)
        if not all(isinstance(entry.get("study"), str) for entry in entries):
            raise FileError(
                expected=f"entries about studies in {quoted(FILE)} of the register",
                came="others, which this program did not write",
                do="restore the register from a backup, or use another folder",
            )
        return entries

    def add(self, event: str, facts: Mapping[str, Any]) -> str:
        """Enter an event, unless it was entered for its study before and nothing else since.

        The event is "run", "frontier", "verdict" or "release"; facts about it have the study's
        digest under ``study``. Gives the digest of the entry.
        """
        wanted = {"event": event, **facts}
        with self._locked():
            entries = self.entries()
            own = [entry for entry in entries if entry.get("study") == facts["study"]]
            compared = own if event == "run" else own[-1:]  # a resumed run is no other run
            if any({**entry, **wanted} == entry for entry in compared):
                return json_digest(own[-1])
            entry = next_entry(entries, wanted)
            write_log(self.folder / FILE, [*entries, entry])
        return json_digest(entry)

    def check_has(self, digest: str) -> None:
        """Refuse a register that no longer has an entry."""
        if all(json_digest(entry) != digest for entry in self.entries()):
            raise FileError(
                expected="the register with the last entry of this study",
                came="one without it: entries were removed, or it is another register",
                do="restore the register from a backup, and find out who changed it",
            )

    def runs(self, data: str, plan: str) -> RegisteredRuns:
        """Count the runs of some data, and of these those with a plan."""
        entries = self.entries()
        runs = [
            entry for entry in entries if entry.get("event") == "run" and entry.get("data") == data
        ]
        studies = {entry["study"] for entry in runs}
        points = {  # the last entry of each frontier counts
            entry["study"]: int(entry.get("points", 0))
            for entry in entries
            if entry.get("event") == "frontier" and entry["study"] in studies
        }
        return RegisteredRuns(
            same_plan=len({entry["study"] for entry in runs if entry.get("plan") == plan}),
            same_data=len(studies),
            points=sum(points.values()),
        )

    def _locked(self) -> Lock:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return Lock(self.folder)
            except CheckpointError as problem:
                if "in use by" not in problem.came or time.monotonic() > end:
                    raise
                time.sleep(0.05)


def _check_folder(folder: Path) -> None:
    """Refuse a folder that is public, belongs to a study, or holds other things."""
    came = ""
    if release_above(folder) is not None:
        came = "one inside a release, whose content is public"
    elif study_above(folder) is not None:
        came = "one inside a study's folder"
    elif folder.is_dir() and not folder.is_symlink():
        names = {path.name for path in folder.iterdir()}
        if names - {LOCK} and FILE not in names:
            came = "one that holds other things"
    if came:
        raise OutputError(
            expected=f"a new or empty folder, or a register, at {quoted(folder.name)}",
            came=came,
            do="choose another folder for the register; it is closed to other users",
        )


def register_path(folder: Path) -> Path:
    """Give the one path of a register; the folder itself may not be a link."""
    return folder.parent.resolve() / folder.name


def study_digest(identity: Mapping[str, Any], seed: int) -> str:
    """Name a run of a study: the same plan with another seed is another run."""
    return digest_of(f"{seed} {json_digest(identity)}".encode())
