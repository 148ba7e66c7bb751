"""How far a study is and what it decided, read from its folder without holding it.

A study that runs keeps its folder locked; this only reads, so it can be asked at any time. What was
decided is taken from the files that `study.json` has the digests of, and from no others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.errors import CheckpointError, FileError, quoted
from understudy.findings.schema import Findings
from understudy.private_folder import PrivateFolder
from understudy.storage import LOCK, digest_of, read_manifest, take_lock
from understudy.study.folder import FORMAT, INTERNAL, KEYS, REPORT, STUDY
from understudy.verdict.verdict import Verdict

__all__ = ["StudyStatus", "load_study", "study_status", "whole_report"]


@dataclass(frozen=True)
class StudyStatus:
    """How far a study is.

    Attributes
    ----------
    finished, missing : tuple of str
        Names of stages, in their order.
    running : bool
        Whether a process holds the folder.
    verdict : Verdict or None
        What was decided, once it was.
    report : Path or None
        The report, once it is written. Confidential.
    approved : bool
        Whether anybody has approved a release.
    """

    finished: tuple[str, ...]
    missing: tuple[str, ...]
    running: bool
    verdict: Verdict | None
    report: Path | None
    approved: bool


def study_status(directory: str | os.PathLike[str]) -> StudyStatus:
    """Tell how far the study in this folder is."""
    internal = Path(directory) / INTERNAL
    with _opened(internal) as folder:
        study = _manifest(folder)
        stages = _expected_stages(study["identity"].get("plan", {}))
        finished = tuple(name for name in stages if name in study["stages"])
        missing = tuple(name for name in stages if name not in study["stages"])
        decided = _read(folder, study, "verdict", "verdict.json")
        report = internal / REPORT if "report" in study["stages"] and not missing else None
        return StudyStatus(
            finished,
            missing,
            _is_locked(folder),
            None if decided is None else Verdict.model_validate_json(decided),
            report,
            study["approvals"]["head"] is not None,
        )


def load_study(directory: str | os.PathLike[str]) -> tuple[Findings, Verdict]:
    """Read what a finished study measured and decided; refuse one that is not finished."""
    with _opened(Path(directory) / INTERNAL) as folder:
        study = _manifest(folder)
        findings = _read(folder, study, "findings", "findings.json")
        verdict = _read(folder, study, "verdict", "verdict.json")
    if findings is None or verdict is None:
        raise FileError(
            expected=f"a finished study in {quoted(Path(directory).name)}",
            came="one that is not finished",
            do="let understudy run go on with it first",
        )
    return Findings.model_validate_json(findings), Verdict.model_validate_json(verdict)


def whole_report(directory: str | os.PathLike[str]) -> Path:
    """Give the report for a browser: the page that the study wrote, in a folder closed to others.

    A page that somebody else has put there could be anything, programs included.
    """
    internal = Path(directory) / INTERNAL
    with _opened(internal) as folder:
        folder.check_closed()
        if _read(folder, _manifest(folder), "report", REPORT) is None:
            raise FileError(
                expected=f"a finished study in {quoted(Path(directory).absolute().name)}",
                came="one without a report",
                do="let understudy run go on with it first; understudy status says how far it is",
            )
    return internal / REPORT


def _opened(internal: Path) -> PrivateFolder:
    if not os.path.isdir(internal):  # noqa: PTH112  (a path that is too long is simply none)
        raise FileError(
            expected=f"the folder of a study at {quoted(internal.absolute().parent.name)}",
            came=f"a path without the folder {quoted(INTERNAL)}",
            do="name the folder that understudy run was given with --out",
        )
    return PrivateFolder(internal)


def _manifest(folder: PrivateFolder) -> dict[str, Any]:
    study = read_manifest(folder, STUDY, FORMAT, KEYS)
    if study is None:
        raise FileError(
            expected="a study that has begun",
            came=f"a folder without {quoted(STUDY)}",
            do="name the folder that understudy run was given with --out",
        )
    return study


def _expected_stages(plan: Mapping[str, Any]) -> list[str]:
    """List the stages of a study in their order, from the plan that it wrote down."""
    intruders = range(1, len(plan.get("intruders", ())) + 1)
    parts = ("fit", "own-record", "sets", "utility", "risk")
    return [
        "plan",
        "data",
        *(f"intruder-{number}" for number in intruders),
        *(f"{name}-{part}" for name in plan.get("synthesizers", {}) for part in parts),
        "findings",
        "verdict",
        "report",
    ]


def _read(folder: PrivateFolder, study: Mapping[str, Any], stage: str, name: str) -> bytes | None:
    """Read a file of a finished stage, as it was written; None before that."""
    if stage not in study["stages"]:
        return None
    try:
        content = folder.read(name)
    except OSError:
        content = b""
    if digest_of(content) != study["stages"][stage]["files"].get(name):
        raise CheckpointError(
            expected=f"the file {quoted(name)} as the study wrote it",
            came="another one",
            do="run the study again: what is not whole is computed again",
        )
    return content


def _is_locked(folder: PrivateFolder) -> bool:
    """Tell whether another process holds the folder."""
    try:
        descriptor = folder.open(LOCK, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return take_lock(descriptor) is False
    finally:
        os.close(descriptor)
