"""Who approves, when and why."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.publishing.fake_study import Study
from tests.publishing.test_refusals import refused
from understudy.errors import (
    FileError,
    SettingError,
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "nothing"),
        ("   ", "nothing"),
        (None, "nothing"),
        (True, "no text"),
        ("...", "without a date"),
        ("name, date, reason", "without a date"),
        ("Ada Reviewer", "without a date"),
        ("Ada Reviewer 2026-01-31 read by the board", "without a date"),
        (", 2026-01-31, read by the board", "no name"),
        ("?, 2026-01-31, read by the board", "no name"),
        ("Ada Reviewer, 2026-02-30, read by the board", "no calendar"),
        ("Ada Reviewer, 2999-01-01, read by the board", "future"),
        ("Ada Reviewer, 0001-01-01, read by the board", "before there was anything"),
        ("Ada Reviewer, 1999-12-31, read by the board", "before there was anything"),
        ("7 8 9, 2026-01-31, read by the board", "no name"),
        ("Ada\x1b[31m Reviewer, 2026-01-31, read by the board", "control characters"),
        ("Ada Reviewer, 2026-01-31, read by\u202e the board", "control characters"),
        ("Ada Reviewer, 2026-01-31, read by\nthe whole board", "control characters"),
        ("Ada Reviewer, 2026-01-31, lorem ipsum dolor sit amet", "no reason"),
        ("Ada Reviewer, 2026-01-31, asdf jklm asdf jklm", "no reason"),
        ("Ada Reviewer, 2026-01-31, reason reason reason", "no reason"),
        ("Ada Reviewer, 2026-01-31, ok", "no reason"),
        ("Ada Reviewer, 2026-01-31, .", "no reason"),
        ("Ada Reviewer, 2026-01-31, xxxxxxxxxxxxxxx", "no reason"),
        ("Ada Reviewer, 2026-01-31,", "no reason"),
    ],
)
def test_approval_without_substance(study: Study, public: Path, text: Any, says: str) -> None:
    refused(study, public, SettingError, says, approve=text)


@covers(111)
def test_approval_dated_before_the_study(study: Study, public: Path) -> None:
    """A day earlier is a time zone, two days are not; a copy of the folder keeps the time."""
    study.finished = "2026-05-04T00:30:00+00:00"
    study.seal()
    words = "read by the whole board and accepted"
    early = f"Ada Reviewer, 2026-05-02, {words}"
    refused(study, public, SettingError, "an earlier date", approve=early)
    shutil.copytree(study.folder, study.folder.with_name("copy"))
    us.release(study.folder.with_name("copy"), public, f"Ada Reviewer, 2026-05-03, {words}")


@covers(111)
@pytest.mark.parametrize("time", [None, "yesterday", "2026-05-04", 7, "of another verdict"])
def test_time_of_the_study_that_is_not_known(study: Study, public: Path, time: Any) -> None:
    path = study.internal / "finished.json"
    if time is None:
        path.unlink()
    else:
        verdict = (
            "0" * 64 if time == "of another verdict" else json.loads(path.read_text())["verdict"]
        )
        study.write_study({"format": 1, "verdict": verdict, "time": time}, path.name)
    refused(study, public, FileError, "the time at which this verdict was reached")


def test_sentence_that_ends_in_test(study: Study, public: Path) -> None:
    reason = "the files are needed for a usability test"
    us.release(study.folder, public, f"Ada Reviewer, 2026-01-31, {reason}", reason=reason)
    assert public.is_dir()


def test_written_reason_with_control_characters(study: Study, public: Path) -> None:
    reason = "looked at\x07 and found harmless"
    refused(study, public, SettingError, "control characters", reason=reason)


def test_name_and_reason_with_commas(study: Study, public: Path) -> None:
    text = "Reviewer, Ada, 2026-01-31, read by the board, twice, and accepted"
    us.release(study.folder, public, text)
    kept = json.loads((study.internal / "approvals.json").read_text())[0]
    assert kept["approved_by"] == "Reviewer, Ada"
    assert kept["reason"] == "read by the board, twice, and accepted"


def test_garbled_approvals_are_not_overwritten(study: Study, public: Path) -> None:
    path = study.internal / "approvals.json"
    path.write_text("{")
    refused(study, public, FileError, "earlier entries")
    assert path.read_text() == "{"
