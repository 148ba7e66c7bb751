"""The confidential folder of a study: which stages are finished, and what they wrote.

``DIR/internal`` belongs to one process at a time. `study.json` says what the study is (identity),
its seed and who drew it, the last approval, its last entry in a register, and for every finished
stage its files with their digests and, under ``of``, a digest of what the stage was made from. A
stage is written file by file, `study.json` last, so a stage is there wholly or not at all. A stage
whose files are not those that were written, or that was made from something else, is not finished.

Nothing is written outside of ``internal``, and nothing in it can be read by others: it is a
`PrivateFolder`. A study lies neither in a release nor in the confidential folder of another study.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel

from understudy.checks import check_path
from understudy.errors import (
    CheckpointError,
    CheckpointWarning,
    OutputError,
    quoted,
    warn_user,
)
from understudy.finish_time import FINISHED, note_finish
from understudy.private_folder import (
    PrivateFolder,
    belongs_to_another,
    release_above,
    study_above,
)
from understudy.randomness import DRAWN, GIVEN
from understudy.storage import (
    LOCK,
    Lock,
    check_name,
    differences,
    json_digest,
    read_manifest,
    read_whole,
    write_manifest,
    write_whole,
)
from understudy.study.stage_warnings import Notes
from understudy.study_register import (
    Register,
    RegisteredRuns,
    register_path,
    study_digest,
)

__all__ = [
    "FORMAT",
    "INTERNAL",
    "KEYS",
    "REPORT",
    "STUDY",
    "StudyFolder",
    "check_study_folder",
]

INTERNAL = "internal"
STUDY = "study.json"
FORMAT = 2
KEYS = ("identity", "seed", "seed_from", "stages", "approvals", "register")
FITS = "fits"
REPORT = "report.html"
OURS = {LOCK, STUDY, FITS, "plan.toml", "codebook.json", "sets", "stages", "findings.json"} | {
    "verdict.json",
    REPORT,
    "approvals.json",
    "choices.json",
    FINISHED,
    "chosen.toml",
    "frontier.html",
    "frontier.json",
    "passed.parquet",
}

Record = TypeVar("Record", bound=BaseModel)


def check_study_folder(directory: str | os.PathLike[str], *, resume: bool) -> Path:
    """Refuse a path where no study may lie, before anything is read or written.

    A folder may be empty, or hold a study (where `resume` allows it) and nothing else. Gives the
    study's confidential folder, which need not exist yet.
    """
    folder = check_path("the path of a folder for the study", directory)
    check_name(folder.resolve().name or "root")
    try:
        _check_surroundings(folder)
        _check_folder(folder, resume=resume)
    except OSError as problem:
        raise OutputError(
            expected=f"a folder for the study at {_called(folder)}",
            came=f"a path that cannot be used ({problem.strerror})",
            do="choose another folder, or change its permissions",
        ) from None
    return folder / INTERNAL


def _called(folder: Path) -> str:
    """Name a folder; "." has the name of the folder that it is."""
    return quoted(folder.absolute().name or folder.absolute())


def _check_surroundings(folder: Path) -> None:
    """Keep confidential files out of releases and of other studies."""
    if release_above(folder) is not None:
        raise OutputError(
            expected="a folder for the study outside of every release",
            came="one inside a release, whose content is public",
            do="choose a folder elsewhere",
        )
    if study_above(folder.absolute().parent) is not None:
        raise OutputError(
            expected="a folder for the study outside of every other study",
            came="one inside a study's folder, which holds nothing else",
            do="choose a folder elsewhere",
        )


def _check_folder(folder: Path, *, resume: bool) -> None:
    for path in (folder, folder / INTERNAL):
        if path.is_symlink():
            raise OutputError(
                expected=f"a folder of its own for the study at {_called(folder)}",
                came="a symbolic link, which may lead anywhere",
                do="name the folder that the link points to",
            )
        if path.exists() and not path.is_dir():
            raise OutputError(
                expected=f"a folder for the study at {_called(folder)}",
                came="a file",
                do="choose another folder",
            )
        if path.exists() and belongs_to_another(path):
            raise OutputError(
                expected=f"a folder of your own for the study at {_called(folder)}",
                came="one that another user made, who may read or replace what is in it",
                do="choose a new folder; the program makes it",
            )
    if not folder.exists():
        return
    others = [entry.name for entry in folder.iterdir() if entry.name != INTERNAL]
    inside = [entry.name for entry in _entries(folder / INTERNAL)]
    others += [name for name in inside if name not in OURS and not name.endswith(".part")]
    begun = STUDY in inside
    if others or (not begun and set(inside) - {LOCK, f".{STUDY}.part"}):
        raise OutputError(
            expected=f"a new or empty folder, or one with a study and nothing else, at "
            f"{_called(folder)}",
            came="one that holds other things",
            do="choose another folder; a study is never mixed with other files",
        )
    if begun and not resume:
        raise OutputError(
            expected=f"a new or empty folder at {_called(folder)}",
            came="one that holds a study",
            do="choose another folder, or let the study go on (resume)",
        )


def _entries(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


class StudyFolder:
    """A study's confidential folder, open for this process alone.

    Parameters
    ----------
    internal : Path
        From `check_study_folder`; made if it does not exist, with mode 0700.
    identity : mapping
        What the study is, as JSON. A folder with another study is refused, the difference named.
    seed : int, optional
        The study's seed; where left out, the saved one, or else `fresh`.
    fresh : int
        A seed from the operating system.
    """

    def __init__(
        self, internal: Path, identity: Mapping[str, Any], seed: int | None, fresh: int
    ) -> None:
        self.internal = internal
        self._register: Register | None = None
        self._people, self._late = "", False
        self._files = PrivateFolder.made(internal)
        self._fits: list[PrivateFolder] = []
        try:
            self._close_to_others()
            self._lock = Lock(self._files)
        except BaseException:
            self._files.close()
            raise
        try:
            self._content = self._opened(json.loads(json.dumps(identity)), seed, fresh)
            self._tidy()
        except BaseException:
            self.close()
            raise

    def _close_to_others(self) -> None:
        """Close the folder to others; warn where they had access to a study."""
        if self._files.close_to_others() and self._files.names():
            warn_user(
                f"other users had access to {quoted(self.internal.name)}, and may have read or "
                "changed what is in it; it is closed to them now (mode 0700)",
                CheckpointWarning,
            )

    def _opened(self, identity: dict[str, Any], seed: int | None, fresh: int) -> dict[str, Any]:
        """Read what the study is, or write it down before anything is computed."""
        saved = read_manifest(self._files, STUDY, FORMAT, KEYS)
        if saved is None:
            content = {
                "format": FORMAT,
                "identity": identity,
                "seed": fresh if seed is None else seed,
                "seed_from": DRAWN if seed is None else GIVEN,
                "stages": {},
                "approvals": {"head": None, "next": None},  # digests of the last entry
                "register": None,
            }
            write_manifest(self._lock, STUDY, content)
            return content
        asked = identity | {"seed": saved["seed"] if seed is None else seed}
        different = differences(saved["identity"] | {"seed": saved["seed"]}, asked)
        if different:
            raise CheckpointError(
                expected="a study with the same plan, data, codebook and versions",
                came="one that differs in " + "; ".join(different),
                do="go on with what the study was started with, or choose another folder",
            )
        return saved

    def _tidy(self) -> None:
        """Remove files that a process which died had begun; fits clear away their own."""
        _remove_parts(self._files)
        for path in ("stages/*", "sets/*", *(f"sets/{name}/*" for name in self._names("sets"))):
            if self._names(path.split("/")[0]):
                with self._folder_of(path) as folder:
                    _remove_parts(folder)

    def _names(self, folder: str) -> list[str]:
        if self._files.status(folder) is None:
            return []
        with self._files.inside(folder) as held:
            return held.names()

    @property
    def seed(self) -> int:
        """The seed from which all streams of the study come. Internal."""
        return int(self._content["seed"])

    def use_register(self, folder: Path | None, people: str) -> None:
        """Enter this run in a register, that of an earlier run where none is named.

        It must be the one that the study was entered in before, if it was. By the digest of the
        records' labels, `people`, it knows data again.
        """
        saved = self._content["register"]
        before = None if saved is None else Path(saved["folder"])
        if before is not None and folder is not None and register_path(folder) != before:
            raise CheckpointError(
                expected="the register that this study was entered in",
                came="another one",
                do="name the same register, or leave it out",
            )
        named = folder or before
        if named is None:
            return
        self._register, self._people = Register(named, make=saved is None), people
        if saved is not None:
            self._register.check_has(saved["entry"])
        self._late = bool(self._content["stages"]) if saved is None else saved.get("late", False)
        plan, seed = self._content["identity"].get("plan"), self._content["seed"]
        self.enter(
            "run",
            {
                "data": people,
                "late": self._late,
                "plan": json_digest(plan),
                "seed": json_digest(str(seed)),
                "seed_from": self._content["seed_from"],
            },
        )

    def enter(self, event: str, facts: Mapping[str, Any]) -> None:
        """Enter something in the register, where there is one, and keep the entry's digest."""
        if self._register is None:
            return
        study = study_digest(self._content["identity"], self._content["seed"])
        entry = self._register.add(event, {"study": study, **facts})
        saved = {
            "folder": str(self._register.folder),
            "study": study,
            "entry": entry,
            "people": self._people,
            "late": self._late,
        }
        if self._content["register"] != saved:
            self._content["register"] = saved
            write_manifest(self._lock, STUDY, self._content)

    def note_finish(self, verdict: str) -> None:
        """Write down when the verdict with this digest was reached."""
        note_finish(self._lock, verdict)

    def registered_runs(self) -> RegisteredRuns | None:
        """Count the runs of the same people, and plan, in the register; None without one."""
        if self._register is None:
            return None
        plan = json_digest(self._content["identity"].get("plan"))
        return self._register.runs(self._people, plan)

    @property
    def registered_late(self) -> bool:
        """Whether the study had begun before it was entered in its register."""
        return self._register is not None and self._late

    def close(self) -> None:
        """Release the folder for other processes."""
        self._lock.close()
        for folder in (*self._fits, self._files):
            folder.close()

    def __enter__(self) -> Self:
        """Hold the folder."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Release the folder."""
        self.close()

    def finished(self, stage: str, of: str = "") -> bool:
        """Tell whether a stage, made from what has this digest, is whole; warn of damage."""
        saved = self._content["stages"].get(stage)
        if saved is None or saved["of"] != of:
            return False
        broken = sum(self._read(path, digest) is None for path, digest in saved["files"].items())
        if broken:
            warn_user(
                f"the saved study is damaged: {broken} of {len(saved['files'])} files of the stage "
                f"{quoted(stage)} are not as they were written; it is computed again",
                CheckpointWarning,
            )
        return not broken

    def save(self, stage: str, files: Iterable[tuple[str, bytes]], of: str = "") -> None:
        """Write the files of a stage, by path inside of the folder, and then that it is finished.

        `of` is the digest of what they were made from.
        """
        digests = {}
        for path, content in files:
            with self._folder_of(path) as folder:
                digests[path] = write_whole(folder, Path(path).name, content)
        self._content["stages"][stage] = {"of": of, "files": digests}
        write_manifest(self._lock, STUDY, self._content)

    @contextmanager
    def _folder_of(self, path: str) -> Iterator[PrivateFolder]:
        """Open the folder of a file, step by step from the handle of the study's own."""
        with ExitStack() as opened:
            folder = self._files
            for name in Path(path).parts[:-1]:
                folder = opened.enter_context(folder.inside(name))
            yield folder

    def _read(self, path: str, digest: str) -> bytes | None:
        with self._folder_of(path) as folder:
            return read_whole(folder, Path(path).name, digest)

    def stages(self) -> list[str]:
        """Name the stages that were saved, in the order in which they were."""
        return list(self._content["stages"])

    def files(self, stage: str) -> dict[str, str]:
        """Give the digests of a finished stage's files, by path inside of the folder."""
        return dict(self._content["stages"][stage]["files"])

    def read(self, stage: str, name: str) -> bytes:
        """Read a file of a finished stage, which must be whole."""
        content = self._read(name, self.files(stage)[name])
        if content is None:
            raise CheckpointError(
                expected=f"the file {quoted(name)} as the study wrote it",
                came="one that was changed while the study ran",
                do="run it again: what is not whole is computed again",
            )
        return content

    def save_findings(
        self,
        stage: str,
        of: str,
        findings: BaseModel,
        notes: Notes,
        more: Iterable[tuple[str, bytes]] = (),
    ) -> None:
        """Save what a stage measured, with the warnings that came up in it."""
        content = {"findings": json.loads(findings.model_dump_json()), "notes": notes.texts}
        text = json.dumps(content, indent=1).encode("utf-8")
        self.save(stage, [(f"stages/{stage}.json", text), *more], of)

    def load_findings(self, stage: str, kind: type[Record]) -> tuple[Record, list[str]]:
        """Read what a stage measured, and the warnings that came up in it."""
        content = json.loads(self.read(stage, f"stages/{stage}.json"))
        return kind.model_validate_json(json.dumps(content["findings"])), content["notes"]

    def fit_folder(self, name: str) -> PrivateFolder:
        """Give the folder in which a fit is saved as it goes."""
        with self._files.inside(FITS) as fits:
            self._fits.append(fits.inside(name))
        return self._fits[-1]

    def drop_fit(self, name: str) -> None:
        """Remove a saved fit, and with the last one the folder of fits."""
        if self._files.status(FITS) is not None:
            with self._files.inside(FITS) as fits:
                fits.remove_folder(name)
                empty = not fits.names()
            if empty:
                self._files.remove_folder(FITS)


def _remove_parts(folder: PrivateFolder) -> None:
    for name in folder.names():
        if name.startswith(".") and name.endswith(".part"):
            folder.remove(name)
