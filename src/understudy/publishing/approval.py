"""Who approves a release: a person, a date and a reason, kept with the study.

The record goes into the internal folder, never into the public one: a public file needs no names of
staff. It is written before anything appears in public, so that nothing is ever public without a
record, and it names the manifest it is about by its digest.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from understudy.errors import FileError, ReleaseRefused, SettingError
from understudy.storage import cannot_write, replace_file

__all__ = [
    "Approval",
    "check_first",
    "check_reason",
    "need_reason",
    "past_approvals",
    "read_approval",
    "record_approval",
]

FEWEST_LETTERS = 10
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

    Parameters
    ----------
    text : str
        Such as ``"Jane Doe, 2026-01-31, read by the review board, risk accepted"``.

    Returns
    -------
    Approval
    """
    if not isinstance(text, str) or not text.strip():
        raise _lacking("nothing" if text is None or isinstance(text, str) else "no text")
    parts = re.fullmatch(r"(.*?)\s*,\s*(\d{4}-\d{2}-\d{2})\s*,\s*(.*)", text.strip(), re.DOTALL)
    if not parts:
        raise _lacking("a text without a date between two commas")
    name, day_text, reason = parts.groups()
    if _letters(name) < 2:
        raise _lacking("no name before the date")
    try:
        day = date.fromisoformat(day_text)
    except ValueError:
        raise _lacking("a day that is in no calendar") from None
    if day > datetime.now(UTC).date() + timedelta(days=1):
        raise _lacking("a date in the future (by the clock of this machine)")
    if not _substantial(reason):
        raise _lacking("no reason after the date that says anything")
    return Approval(name, day, reason)


def check_reason(reason: object) -> str | None:
    """Check the written reason for releasing a study whose verdict is review.

    Returns
    -------
    str or None
        The reason, if one was given.
    """
    if reason is None:
        return None
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


def check_first(past: list[dict[str, Any]], files: str, reason: str | None) -> None:
    """Refuse further files about the same people, unless somebody has written why.

    Risk was measured for an intruder who holds the m files of one synthesizer. Whoever also holds
    those of another one, or of a second run, knows more than that.
    """
    others = sum(isinstance(entry, dict) and entry.get("files") != files for entry in past)
    if others and reason is None:
        raise ReleaseRefused(
            expected="files that are the only ones about these people",
            came=f"{others:,} earlier approval{'s' * (others > 1)} of other files of this study "
            "(another synthesizer, or another run): the risk of holding all of them was not "
            "measured",
            do="release the same files again, or say with reason= (--reason) why both may be "
            "public",
        )


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


def _substantial(text: str) -> bool:
    """Tell words from dots: some letters, not all the same, in more than one word."""
    letters = {character.lower() for character in text if character.isalpha()}
    return _letters(text) >= FEWEST_LETTERS and len(letters) > 3 and len(text.split()) > 1


def _lacking(came: str) -> SettingError:
    return SettingError(
        expected=f"an approval as name, date (year-month-day) and reason, such as {FORM}",
        came=came,
        do="write who approves, when and why; it is kept with the study and not published",
    )


def past_approvals(internal: Path) -> list[dict[str, Any]]:
    """Read the approvals that were given before.

    Returns
    -------
    list of dict
        The oldest first.
    """
    path = internal / "approvals.json"
    if not path.exists():
        return []
    try:
        past = json.loads(path.read_bytes())
    except (OSError, ValueError):
        past = None
    if not isinstance(past, list):
        raise FileError(
            expected="a list of earlier approvals in approvals.json of the internal folder",
            came="a file that cannot be read as one",
            do="restore the file from a backup, or move it away and keep it",
        )
    return past


def record_approval(
    internal: Path, past: list[dict[str, Any]], approval: Approval, facts: dict[str, Any]
) -> None:
    """Add an approval to those of the study.

    Parameters
    ----------
    internal : pathlib.Path
        The confidential folder.
    past : list of dict
        From `past_approvals`.
    approval : Approval
        Who, when, why.
    facts : dict
        What was approved: synthesizer, its files, verdict and the limits and targets it was judged
        by, digest of the manifest, where it went.
    """
    entry = {
        "approved_by": approval.name,
        "date": approval.day.isoformat(),
        "reason": approval.reason,
        "recorded": datetime.now(UTC).isoformat(timespec="seconds"),
        **facts,
    }
    text = json.dumps([*past, entry], ensure_ascii=False, indent=1) + "\n"
    path = internal / "approvals.json"
    try:
        replace_file(path, text.encode("utf-8", "backslashreplace"))
    except OSError as problem:
        raise cannot_write(path, problem) from None
