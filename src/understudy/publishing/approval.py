"""Who approves a release: a person, a date and a reason, kept with the study.

The record goes into the internal folder, never into the public one: a public file needs no names of
staff. It is written before anything appears in public, so that nothing is ever public without a
record, and it names the manifest it is about by its digest. Every record carries the digest of the
one before it, and ``study.json`` that of the last: a record that is changed or removed is noticed.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from understudy.chained_log import Entry, head_of, next_entry, read_log, write_log
from understudy.errors import (
    ApprovalNeeded,
    CheckpointError,
    FileError,
    OutputError,
    ReleaseRefused,
    SettingError,
)
from understudy.finish_time import FINISHED, TOLERANCE
from understudy.publishing.evidence import StudyRecord
from understudy.storage import Lock, json_digest, write_manifest

__all__ = [
    "Approval",
    "approvers_so_far",
    "change_record",
    "check_day",
    "check_first",
    "check_reason",
    "need_more_approvals",
    "need_reason",
    "past_approvals",
    "read_approval",
    "record_approval",
]

APPROVALS = "approvals.json"
FEWEST_LETTERS = 10
FIRST_DAY = date(2026, 1, 1)  # nothing was made with understudy before
JOINERS = "\u200c\u200d"  # some scripts need them within words
LOOK_ALIKE = {"LATIN", "CYRILLIC", "GREEK"}  # alphabets that share shapes
FILLER = re.compile(r"lorem ipsum|asdf|qwert|\b(bla+h?|xx+)\b", re.IGNORECASE)
FORM = '"Jane Doe, 2026-01-31, read by the review board, risk accepted"'


@dataclass(frozen=True)
class Approval:
    """One approval, taken apart.

    Attributes
    ----------
    name : str
        Who approves.
    day : datetime.date
        When.
    reason : str
        Why.
    """

    name: str
    day: date
    reason: str


def read_approval(text: object) -> Approval:
    """Take an approval apart into name, date and reason, or say what it lacks.

    It reads like ``"Jane Doe, 2026-01-31, read by the review board, risk accepted"``.
    """
    if not isinstance(text, str) or not text.strip():
        raise _lacking("nothing" if text is None or isinstance(text, str) else "no text")
    if _has_controls(text):
        raise _lacking("control characters, line ends or marks that turn the reading direction")
    parts = re.fullmatch(r"(.*?)\s*,\s*(\d{4}-\d{2}-\d{2})\s*,\s*(.*)", text.strip(), re.DOTALL)
    if not parts:
        raise _lacking("a text without a date between two commas")
    name, day_text, reason = parts.groups()
    if _letters(name) < 2 or len({letter.lower() for letter in name if letter.isalpha()}) < 2:
        raise _lacking("no name before the date")
    if _mixes_scripts(name):
        raise _lacking("a name in letters of several alphabets that look alike")
    try:
        day = date.fromisoformat(day_text)
    except ValueError:
        raise _lacking("a day that is in no calendar") from None
    if day < FIRST_DAY:
        raise _lacking("a date before there was anything to approve")
    if day > datetime.now(UTC).date() + timedelta(days=1):
        raise _lacking("a date in the future (by the clock of this machine)")
    if not _substantial(reason):
        raise _lacking("no reason after the date that says anything")
    return Approval(name, day, reason)


def check_day(approval: Approval, finished: datetime) -> None:
    """Refuse an approval dated before the study was finished, a day's tolerance for time zones."""
    if approval.day < (finished - TOLERANCE).date():
        raise SettingError(
            expected="an approval given when the study was finished, which was on "
            f"{finished.date()} (UTC)",
            came="an earlier date, when nobody can have seen these files",
            do="write the day on which they were approved; if the clock was wrong when the study "
            f"ran, set it right, remove {FINISHED} and run the study again, which keeps all else",
        )


def check_reason(reason: object) -> str | None:
    """Check the written reason, if any, for releasing a study whose verdict is review."""
    if reason is None:
        return None
    if isinstance(reason, str) and _has_controls(reason):
        raise SettingError(
            expected="a reason in words, in one line",
            came="control characters, line ends or marks that turn the reading direction",
            do="write it without them",
        )
    if not isinstance(reason, str) or not _substantial(reason):
        raise SettingError(
            expected="a reason in words",
            came="one that says nothing",
            do="write why the points under review are acceptable",
        )
    return reason.strip()


def need_reason(reason: str | None) -> None:
    """Refuse a study whose verdict is review when nobody has written why it may leave."""
    if reason is None:
        raise ReleaseRefused(
            expected="a written reason, because the verdict on these files is review",
            came="none",
            do="read the points under review in the report, then say with reason= (--reason) why "
            "they are acceptable, or change the plan",
        )


def check_first(past: Sequence[Entry], files: str, reason: str | None) -> None:
    """Refuse further files about the same people, unless somebody has written why.

    Risk was measured for an intruder who holds the m files of one synthesizer. Whoever also holds
    those of another one, or of a second run, knows more than that.
    """
    others = sum(bool(entry.get("manifest_sha256")) and entry["files"] != files for entry in past)
    if others and reason is None:
        raise ReleaseRefused(
            expected="files that are the only ones about these people",
            came=f"{others:,} earlier approval{'s' * (others > 1)} of other files of this study "
            "(another synthesizer, or another run): the risk of holding all of them was not "
            "measured",
            do="release the same files again, or say with reason= (--reason) why both may be "
            "public",
        )


def _has_controls(text: str) -> bool:
    """Tell whether a text holds what a terminal or a reader could be misled by."""
    return any(
        unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        and character not in JOINERS
        for character in text
    )


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def _substantial(text: str) -> bool:
    """Tell words from dots: some letters, not all the same, in several words, not all the same."""
    letters = {character.lower() for character in text if character.isalpha()}
    words = {word.lower() for word in text.split() if len({*filter(str.isalpha, word)}) > 1}
    enough = _letters(text) >= FEWEST_LETTERS and len(letters) > 3 and len(words) > 1
    return enough and not FILLER.search(text)


def _lacking(came: str) -> SettingError:
    return SettingError(
        expected=f"an approval as name, date (year-month-day) and reason, such as {FORM}",
        came=came,
        do="write who approves, when and why; it is kept with the study and not published",
    )


def past_approvals(internal: Path, study: StudyRecord) -> list[Entry]:
    """Read the earlier approvals, oldest first, and check that none is missing or changed.

    The record of the study has the digest of the last one, and of the one that was being written if
    the program was killed.
    """
    past = read_log(internal / APPROVALS)
    if head_of(past) not in {study.approvals.head, study.approvals.next}:
        missing = study.approvals.head is not None and not past
        raise FileError(
            expected=f"all earlier approvals in {APPROVALS} of the internal folder",
            came="no such file, although approvals were given"
            if missing
            else "a list whose last entry is not the last that was given",
            do="restore the file from a backup, and find out who changed it",
        )
    return past


def record_approval(lock: Lock, past: list[Entry], approval: Approval, facts: Entry) -> None:
    """Add an approval to the past ones, with the facts of what was approved.

    The digest of the new entry is written to ``study.json`` before and after it, so that neither a
    kill in between nor a file that is removed later goes unnoticed.
    """
    entry = next_entry(
        past,
        {
            "approved_by": approval.name,
            "date": approval.day.isoformat(),
            "reason": approval.reason,
            **facts,
        },
    )
    head, digest = head_of(past), json_digest(entry)
    change_record(lock, {"approvals": {"head": head, "next": digest}})
    write_log(lock.folder.path / APPROVALS, [*past, entry])
    change_record(lock, {"approvals": {"head": digest, "next": digest}})


def change_record(lock: Lock, changes: Mapping[str, Any]) -> None:
    """Change parts of ``study.json``, which the caller has checked and locked."""
    content = json.loads(lock.folder.read("study.json"))
    content.pop("digest", None)
    try:
        write_manifest(lock, "study.json", {**content, **changes})
    except CheckpointError as problem:
        raise OutputError(problem.expected, problem.came, problem.do) from None


def approvers_so_far(past: Sequence[Entry], files: str, approval: Approval) -> set[str]:
    """Give the different people who approved some files, this approval included."""
    names = [str(entry["approved_by"]) for entry in past if entry.get("files") == files]
    return {_plain_name(name) for name in (*names, approval.name)}


def need_more_approvals(given: int, needed: int) -> None:
    """Stop before files are written when the plan asks for the approval of more people."""
    if given < needed:
        raise ApprovalNeeded(
            expected=f"the approval of {needed} different people, as the plan asks",
            came=f"that of {given}, which is recorded; no file was written",
            do="let another person run the same command with an approval of their own",
        )


def _plain_name(name: str) -> str:
    """A name without what makes no other person: case, accents, points, blanks, order of words."""
    folded = unicodedata.normalize("NFKD", name).casefold()
    return "".join(sorted(letter for letter in folded if letter.isalpha()))


def _mixes_scripts(name: str) -> bool:
    """Tell whether a name has letters of several alphabets that look alike."""
    alphabets = {unicodedata.name(letter, "").split(" ")[0] for letter in name if letter.isalpha()}
    return len(alphabets & LOOK_ALIKE) > 1
