"""What a release is based on: the internal folder of a study, whose parts must belong together.

Every file is read once, hashed, and only then parsed, so that what is judged is what was hashed. A
study writes down the digest of each file it makes (``study.json``, which carries its own), the
findings those of the sets they are about, and the verdict that of the findings. All of them are
computed again here, and the findings are judged again. If anything does not agree, somebody has
changed something by hand or mixed two studies, and nothing is released.

The digests are no seal: whoever may write to the internal folder can rewrite all of it. A register
kept elsewhere (`understudy.study_register`) has the digest of the verdict.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from understudy.checks import check_one_of, check_path
from understudy.errors import (
    FileError,
    ReleaseRefused,
    quoted_list,
)
from understudy.findings.record import Record
from understudy.findings.schema import Findings, SynthesizerFindings, VariableFindings
from understudy.finish_time import FINISHED, read_finish
from understudy.private_folder import PrivateFolder
from understudy.randomness import DRAWN
from understudy.storage import digest_of, json_digest
from understudy.study_register import Register, RegisteredRuns
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import Verdict, judge

__all__ = [
    "CodebookRecord",
    "Evidence",
    "StudyRecord",
    "gather",
    "passed_frame",
    "set_bytes",
]

FORMAT = 2
MANY = 1000
SETS = "sets/"
PASSED = "passed.parquet"
# Digests of what is used, not of what is on the disk a moment before: sets as they are released.
COMPARED_AS_READ = {"findings.json", "verdict.json", "codebook.json"}
RERUN = "change nothing in the internal folder by hand; run the study again, then release it"


class _Part(Record):
    """The parts of an internal file that a release needs; the rest is ignored."""

    model_config = ConfigDict(extra="ignore")


class StageRecord(_Part):
    """What one finished stage of a study has written."""

    files: dict[str, str] = Field({})


class HeadRecord(_Part):
    """Digest of the last approval, and of the one that is being written."""

    head: str | None
    next: str | None


class EntryRecord(_Part):
    """Where a study is registered, its name there, and the digest of its last entry."""

    folder: str
    study: str
    entry: str
    people: str = ""
    late: bool = False


class StudyRecord(_Part):
    """``study.json``: which stages are finished, and the digests of what they wrote."""

    format: int
    identity: dict[str, Any]
    seed: int
    seed_from: str
    stages: dict[str, StageRecord]
    approvals: HeadRecord
    register_entry: EntryRecord | None = Field(validation_alias="register")

    @property
    def seed_drawn(self) -> bool:
        """Whether the seed came from the operating system, as was written down when it did."""
        return self.seed_from == DRAWN

    @property
    def approvers(self) -> int:
        """How many people have to approve a release."""
        plan = self.identity.get("plan")
        asked = plan.get("approvers", 1) if isinstance(plan, dict) else 1
        return asked if isinstance(asked, int) else 1

    @property
    def missing(self) -> str:
        """What the plan does with missing values."""
        plan = self.identity.get("plan")
        data = plan.get("data") if isinstance(plan, dict) else None
        return str(data.get("missing", "error")) if isinstance(data, dict) else "error"

    @property
    def plan_digest(self) -> str:
        """Digest of the plan, as a register has it."""
        return json_digest(self.identity.get("plan"))

    @property
    def files(self) -> dict[str, str]:
        """Digests of all files, by path in the internal folder."""
        return {
            path: digest for stage in self.stages.values() for path, digest in stage.files.items()
        }


class PassedRecord(_Part):
    """A column that passes through: its name, and what it holds in words."""

    name: str
    stored: str


class CodebookRecord(_Part):
    """``codebook.json``: the public side of the variables, and what was promised about them."""

    variables: tuple[VariableFindings, ...]
    declared: bool
    reviewed: bool
    missing: Any = None
    impossible: tuple[dict[str, tuple[str, ...]], ...] = ()
    passed: tuple[PassedRecord, ...] = ()
    columns: tuple[str, ...] = ()  # of a file, in order, where columns pass through


class OneVerdict(_Part):
    """The outcome for one synthesizer."""

    outcome: str


class VerdictRecord(_Part):
    """``verdict.json``: what was decided, and about which findings."""

    outcome: str
    recommended: str | None
    synthesizers: dict[str, OneVerdict]
    findings: str
    thresholds: Thresholds


@dataclass(frozen=True, repr=False)
class Evidence:
    """Everything a release knows of a study.

    Attributes
    ----------
    internal : pathlib.Path
        The confidential folder.
    study, codebook, findings
        What its files say.
    verdict : Verdict
        The findings, judged again; as ``verdict.json`` says.
    register : Register or None
        Where the study was entered.
    finished : datetime
        When the verdict was reached.
    """

    internal: Path
    study: StudyRecord
    codebook: CodebookRecord
    findings: Findings
    verdict: Verdict
    register: Register | None
    finished: datetime

    @property
    def runs(self) -> RegisteredRuns | None:
        """Runs of the same data and plan that the register has by now; None without one."""
        if self.register is None:
            return None
        entry = self.study.register_entry
        people = entry.people if entry is not None else ""
        return self.register.runs(people, self.study.plan_digest)

    def synthesizer(self, name: str | None) -> SynthesizerFindings:
        """Find the synthesizer that was asked for, or the recommended one."""
        known = [synthesizer.name for synthesizer in self.findings.synthesizers]
        if name is None:
            name = self.verdict.recommended or (known[0] if len(known) == 1 else None)
        if name is None:
            raise ReleaseRefused(
                expected=f"a verdict that allows to release at least one of {quoted_list(known)}",
                came="fail: do not release",
                do="read the reasons in the report, change the plan, and run again",
            )
        index = known.index(check_one_of("synthesizer", name, known))
        return self.findings.synthesizers[index]


def gather(directory: str | os.PathLike[str]) -> Evidence:
    """Read the internal folder of a study and check that its files belong together."""
    internal = _internal(directory)
    study, _ = _read(internal, "study.json", StudyRecord)
    _check_own_digest(internal / "study.json")
    if study.format != FORMAT:
        raise FileError(
            expected=f"a study in format {FORMAT}",
            came=f"format {study.format}",
            do="use the version of understudy that made it, or run the study again",
        )
    for name, digest in study.files.items():
        if not name.startswith(SETS) and name not in COMPARED_AS_READ:
            _check_file(internal, name, digest)
    findings, findings_digest = _read(internal, "findings.json", Findings)
    verdict, verdict_digest = _read(internal, "verdict.json", VerdictRecord)
    codebook, codebook_digest = _read(internal, "codebook.json", CodebookRecord)
    _check_recorded(study, "findings.json", findings_digest)
    _check_recorded(study, "verdict.json", verdict_digest)
    _check_recorded(study, "codebook.json", codebook_digest)
    _check_chain(study, codebook, findings, verdict, findings_digest)
    judged = _judged_again(findings, verdict).model_copy(update={"findings": findings_digest})
    register = _registered(study, verdict_digest)
    finished = _finished(internal, verdict_digest)
    return Evidence(internal, study, codebook, findings, judged, register, finished)


def _finished(internal: Path, verdict_digest: str) -> datetime:
    """Tell when the verdict was reached, which an approval cannot be older than."""
    with PrivateFolder(internal) as folder:
        time = read_finish(folder, verdict_digest)
    if time is None:
        raise FileError(
            expected=f"{FINISHED} of the study, with the time at which this verdict was reached",
            came="no such file, or one that was changed or belongs to another verdict",
            do="run the study again: what was computed stays, and the time of now is written down",
        )
    return time


def _judged_again(findings: Findings, verdict: VerdictRecord) -> Verdict:
    """Judge the findings by the limits of the verdict, and refuse a verdict that is another."""
    judged = judge(findings, verdict.thresholds)
    outcomes = {name: synthesizer.outcome for name, synthesizer in judged.synthesizers.items()}
    written = {name: synthesizer.outcome for name, synthesizer in verdict.synthesizers.items()}
    same = (judged.outcome, judged.recommended) == (verdict.outcome, verdict.recommended)
    if not same or outcomes != written:
        raise _mismatch("the verdict that follows from the findings and the limits", "another one")
    return judged


def _registered(study: StudyRecord, verdict_digest: str) -> Register | None:
    """Find the study in its register: its last entry, and the verdict that lies in its folder."""
    entry = study.register_entry
    if entry is None:
        return None
    register = Register(Path(entry.folder), make=False)
    register.check_has(entry.entry)
    verdicts = [
        known.get("verdict_digest")
        for known in register.entries()
        if known.get("study") == entry.study and known.get("event") == "verdict"
    ]
    if verdict_digest not in verdicts[-1:]:
        raise _mismatch("the verdict that the register has of this study", "another one")
    return register


def _internal(directory: str | os.PathLike[str]) -> Path:
    do = "give the folder that was named with --out"
    folder = check_path("the folder of a study as a path", directory, FileError, do)
    internal = folder / "internal"
    if os.path.isdir(internal):  # noqa: PTH112  (a path that is too long is simply none)
        with PrivateFolder(internal) as opened:
            opened.check_closed()
        return internal
    hint = "give the folder that was named with --out when the study was run"
    if os.path.isfile(folder / "study.json"):  # noqa: PTH113
        hint = "give the folder above it"
    there = os.path.isdir(folder)  # noqa: PTH112
    raise FileError(
        expected="the folder of a study, which holds a folder named internal",
        came="one that does not" if there else "no such folder (not found)",
        do=hint,
    )


Model = TypeVar("Model", bound=BaseModel)


def _read(internal: Path, name: str, model: type[Model]) -> tuple[Model, str]:
    """Read one file, hash it, and then parse it."""
    try:
        with PrivateFolder(internal) as folder:
            content = folder.read(name)
    except FileNotFoundError:
        raise _incomplete(name) from None
    except OSError:
        raise FileError(
            expected=f"to read {name} of the study",
            came="that the system refuses",
            do="check the permissions, or ask who ran the study",
        ) from None
    try:
        return model.model_validate_json(content), digest_of(content)
    except ValidationError:
        raise FileError(
            expected=f"{name} as the study wrote it",
            came="a file that has another form (changed by hand, or of another version)",
            do=RERUN,
        ) from None


def _incomplete(name: str) -> FileError:
    return FileError(
        expected="a study that ran to its end",
        came=f"one that is not complete: {name} is not there or not finished",
        do="run the study again; it goes on where it stopped",
    )


def _check_own_digest(path: Path) -> None:
    """Check the digest that a study's list of files carries of itself."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        raise _incomplete(path.name) from None
    claimed = content.pop("digest", None)
    if claimed is None:
        raise _mismatch(f"{path.name} with the digest of itself", "one without it")
    if claimed != json_digest(content):
        raise FileError(
            expected=f"{path.name} as the study wrote it",
            came="a file that was changed afterwards (its digest is another)",
            do=RERUN,
        )


def _check_file(internal: Path, name: str, digest: str) -> None:
    """Compare a file with the digest that the study wrote down for it."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise _mismatch("files of the study inside of its folder", "a path that leads elsewhere")
    try:
        path = internal / name
        with PrivateFolder(path.parent) as folder:
            content = folder.read(path.name)
    except OSError:
        raise _incomplete(name) from None
    if digest_of(content) != digest:
        raise _mismatch(
            f"{name} as the study wrote it",
            "a file that was changed afterwards (its digest is another)",
        )


def _check_recorded(study: StudyRecord, name: str, digest: str) -> None:
    written = study.files.get(name)
    if written is None:
        raise _incomplete(name)
    if written != digest:
        raise FileError(
            expected=f"{name} as the study wrote it",
            came="a file that was changed afterwards (its digest is another)",
            do=RERUN,
        )


def _check_chain(
    study: StudyRecord,
    codebook: CodebookRecord,
    findings: Findings,
    verdict: VerdictRecord,
    findings_digest: str,
) -> None:
    """Check that verdict, findings, codebook and study belong together."""
    if verdict.findings != findings_digest:
        raise _mismatch("a verdict on these findings", "one on other findings")
    if study.identity.get("data") != findings.data_fingerprint:
        raise _mismatch("findings about the data of this study", "findings about other data")
    if study.seed != findings.seed:
        raise _mismatch("findings made with the seed of this study", "findings of another seed")
    for name, digests in findings.set_digests.items():
        written = [study.files[path] for path in sorted(study.files)
                   if path.startswith(f"{SETS}{name}/")]  # fmt: skip
        if written != list(digests):
            raise _mismatch(
                "findings about the synthetic files that the study wrote", "findings about others"
            )
    pairs = zip(codebook.variables, findings.data.variables, strict=False)
    same = len(codebook.variables) == len(findings.data.variables)
    if not same or not all(_alike(declared, judged) for declared, judged in pairs):
        raise _mismatch("a codebook of the variables that were judged", "another one")
    passed = [(column.name, column.stored) for column in findings.data.passed]
    if passed != [(column.name, column.stored) for column in codebook.passed]:
        raise _mismatch("findings about the columns that pass through", "findings about others")
    judged = (findings.data.codebook_declared, findings.data.codebook_reviewed)
    if judged != (codebook.declared, codebook.reviewed):
        raise _mismatch("the codebook that the study was run with", "one marked differently")


def _alike(declared: VariableFindings, judged: VariableFindings) -> bool:
    """Tell whether two entries agree; findings may list the first levels of very many only."""
    listed = (
        declared.levels[: len(judged.levels)] if len(judged.levels) >= MANY else declared.levels
    )
    return declared.model_copy(update={"levels": listed}) == judged


def _mismatch(expected: str, came: str) -> FileError:
    return FileError(expected=expected, came=came, do=RERUN)


def passed_frame(evidence: Evidence) -> pl.DataFrame | None:
    """Read the columns that pass through, compared with the digest that the study wrote down."""
    if not evidence.codebook.passed:
        return None
    try:
        with PrivateFolder(evidence.internal) as folder:
            content = folder.read(PASSED)
    except OSError:
        raise _incomplete(PASSED) from None
    _check_recorded(evidence.study, PASSED, digest_of(content))
    frame = pl.read_parquet(io.BytesIO(content))
    if frame.columns != [column.name for column in evidence.codebook.passed]:
        raise _mismatch("the columns that pass through", "others")
    return frame


def set_bytes(evidence: Evidence, synthesizer: SynthesizerFindings) -> Iterator[bytes]:
    """Give the m sets as bytes, each checked against the digest that the findings are about.

    Yields
    ------
    bytes
        The content of one Parquet file.
    """
    expected = evidence.findings.set_digests.get(synthesizer.name, ())
    folder = evidence.internal / "sets" / synthesizer.name
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        raise _incomplete("the folder of synthetic sets") from None
    if len(paths) != len(expected) or len(expected) != synthesizer.m:
        raise _mismatch(
            f"the {synthesizer.m:,} synthetic files that were judged",
            f"{len(paths):,} files, and digests of {len(expected):,}",
        )
    for number, (path, known) in enumerate(zip(paths, expected, strict=True), start=1):
        try:
            with PrivateFolder(folder) as sets:
                content = sets.read(path.name)
        except OSError:
            raise _incomplete(f"synthetic set {number}") from None
        if digest_of(content) != known:
            raise _mismatch(
                "the synthetic files that the risk report is about",
                f"that set {number} is another file (its digest differs)",
            )
        yield content
