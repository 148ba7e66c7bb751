"""What a release is based on: the internal folder of a study, whose parts must belong together.

Every file is read once, hashed, and only then parsed, so that what is judged is what was hashed. A
study writes down the digest of each file it makes (``study.json``), the findings those of the sets
they are about, and the verdict that of the findings. If a digest does not agree, somebody has
changed something by hand or mixed two studies, and nothing is released.

The digests catch accidents. They are no seal: whoever may write to the internal folder can rewrite
all of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from understudy.errors import (
    FileError,
    ReleaseRefused,
    SettingError,
    UnderstudyError,
    nearest,
    quoted,
    quoted_list,
)
from understudy.findings.schema import Findings, SynthesizerFindings, VariableFindings
from understudy.private_folder import PrivateFolder
from understudy.storage import digest_of

__all__ = [
    "CodebookRecord",
    "Evidence",
    "StudyRecord",
    "VerdictRecord",
    "gather",
    "set_bytes",
]

FORMAT = 1
MANY = 1000
RERUN = "change nothing in the internal folder by hand; run the study again, then release it"
Outcome = Literal["pass", "review", "fail"]


class _Record(BaseModel):
    """The parts of an internal file that a release needs; the rest is ignored."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", allow_inf_nan=False, hide_input_in_errors=True
    )


class StageRecord(_Record):
    """What one finished stage of a study has written."""

    files: dict[str, str] = {}


class StudyRecord(_Record):
    """``study.json``: which stages are finished, and the digests of what they wrote."""

    format: int
    identity: dict[str, Any]
    seed: int | None
    stages: dict[str, StageRecord]

    def digest_of(self, path: str) -> str | None:
        """Give the digest that a stage has written down for a file, if any has."""
        digests = [stage.files[path] for stage in self.stages.values() if path in stage.files]
        return digests[-1] if digests else None


class CodebookRecord(_Record):
    """``codebook.json``: the public side of the variables, and what was promised about them."""

    variables: tuple[VariableFindings, ...]
    declared: bool
    reviewed: bool
    missing: Any = None
    impossible: tuple[dict[str, tuple[str, ...]], ...] = ()


class OneVerdict(_Record):
    """The outcome for one synthesizer."""

    outcome: Outcome


class VerdictRecord(_Record):
    """``verdict.json``: what was decided, and about which findings."""

    outcome: Outcome
    recommended: str | None
    synthesizers: dict[str, OneVerdict]
    findings: str
    thresholds: dict[str, bool | int | float] = {}


@dataclass(frozen=True, repr=False)
class Evidence:
    """Everything a release knows of a study.

    Attributes
    ----------
    internal : pathlib.Path
        The confidential folder.
    study, codebook, findings, verdict
        What its files say.
    """

    internal: Path
    study: StudyRecord
    codebook: CodebookRecord
    findings: Findings
    verdict: VerdictRecord

    def synthesizer(self, name: str | None) -> SynthesizerFindings:
        """Find the synthesizer that was asked for, or the recommended one."""
        known = [synthesizer.name for synthesizer in self.findings.synthesizers]
        if name is None:
            name = self.verdict.recommended or (known[0] if len(known) == 1 else None)
        if name is None:
            raise self._none_recommended(known)
        for synthesizer in self.findings.synthesizers:
            if synthesizer.name == name:
                return synthesizer
        raise SettingError(
            expected=f"one of the study's synthesizers {quoted_list(known)}",
            came=f"{quoted(name)}{nearest(str(name), known)}",
            do="use a name from the list",
        )

    def _none_recommended(self, known: list[str]) -> UnderstudyError:
        """Say why there is nothing to release."""
        if self.verdict.outcome == "fail":
            return ReleaseRefused(
                expected=f"a verdict that allows to release at least one of {quoted_list(known)}",
                came="fail: do not release",
                do="read the reasons in the report, change the plan, and run again",
            )
        return SettingError(
            expected="the name of a synthesizer, since the verdict recommends none",
            came="none",
            do=f"choose one of {quoted_list(known)}",
        )


def gather(directory: str | os.PathLike[str]) -> Evidence:
    """Read a study's internal folder and check that its files belong together.

    Parameters
    ----------
    directory : str or path
        The study's folder, which holds ``internal``.

    Returns
    -------
    Evidence
    """
    internal = _internal(directory)
    study, _ = _read(internal, "study.json", StudyRecord)
    _check_own_digest(internal / "study.json")
    if study.format != FORMAT:
        raise FileError(
            expected=f"a study in format {FORMAT}",
            came=f"format {study.format}",
            do="use the version of understudy that made it, or run the study again",
        )
    findings, findings_digest = _read(internal, "findings.json", Findings)
    verdict, verdict_digest = _read(internal, "verdict.json", VerdictRecord)
    codebook, codebook_digest = _read(internal, "codebook.json", CodebookRecord)
    _check_recorded(study, "findings.json", findings_digest)
    _check_recorded(study, "verdict.json", verdict_digest)
    if study.digest_of("codebook.json") is not None:
        _check_recorded(study, "codebook.json", codebook_digest)
    _check_chain(study, codebook, findings, verdict, findings_digest)
    return Evidence(internal, study, codebook, findings, verdict)


def _internal(directory: str | os.PathLike[str]) -> Path:
    if not isinstance(directory, str | os.PathLike) or "\0" in str(directory):
        raise FileError(
            expected="the folder of a study as a path",
            came=f"a value of type {type(directory).__name__}",
            do="give the folder that was named with --out",
        )
    folder = Path(directory)
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
    """Check the digest that a study's list of files carries of itself, where it does."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        raise _incomplete(path.name) from None
    claimed = content.pop("digest", None)
    if claimed is not None and claimed != digest_of(json.dumps(content, sort_keys=True).encode()):
        raise FileError(
            expected=f"{path.name} as the study wrote it",
            came="a file that was changed afterwards (its digest is another)",
            do=RERUN,
        )


def _check_recorded(study: StudyRecord, name: str, digest: str) -> None:
    written = study.digest_of(name)
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
    pairs = zip(codebook.variables, findings.data.variables, strict=False)
    same = len(codebook.variables) == len(findings.data.variables)
    if not same or not all(_alike(declared, judged) for declared, judged in pairs):
        raise _mismatch("a codebook of the variables that were judged", "another one")
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
