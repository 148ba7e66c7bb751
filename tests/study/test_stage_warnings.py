"""Warnings of a stage: kept for the findings, and shown at once, as the caller wants them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
from tests.studies import write_study

import understudy as us
from understudy.errors import CheckpointWarning, UnderstudyWarning, warn_user
from understudy.study.progress import StudyProgress
from understudy.study.stage_warnings import Notes
from understudy.synthesis import run_fit


def test_how_long_a_fit_takes_is_said_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And how far the chains agree while it runs."""
    monkeypatch.setattr(run_fit, "FIT_SECONDS", 0.0)
    told: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", lambda text, *_, **__: told.append(str(text)))
        study = us.Study(write_study(tmp_path)).run(tmp_path / "out", progress=told.append)
    said = next(number for number, line in enumerate(told) if "processor minutes" in str(line))
    assert told[said].startswith("dpmpm: this fit takes about")
    fitting = [
        number
        for number, line in enumerate(told)
        if isinstance(line, StudyProgress) and line.words == "fitting dpmpm" and line.share
    ]
    assert fitting
    assert said < fitting[0]
    assert told[fitting[-1]].remark.startswith("R-hat so far ")
    (findings,) = study.findings.synthesizers
    assert any("processor minutes" in note for note in findings.notes)


def test_the_caller_decides_what_is_shown() -> None:
    """Whatever is shown, or raised, the findings have it; each once, and no damaged folder."""
    notes = Notes("tree")
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with notes.caught():
            for text in ("one", "one", "two"):
                warn_user(text, UnderstudyWarning)
            warn_user("broken", CheckpointWarning)
            warn_user("of a library", DeprecationWarning)
    assert notes.texts == ["one", "two"]
    assert [str(warning.message) for warning in shown] == [
        "tree: one", "tree: one", "tree: two", "tree: broken", "of a library"
    ]  # fmt: skip
    silent = Notes()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("ignore", UnderstudyWarning)
        with silent.caught():
            warn_user("three", UnderstudyWarning)
    assert (silent.texts, shown) == (["three"], [])
    strict = Notes()
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnderstudyWarning)
        with pytest.raises(UnderstudyWarning, match="four"), strict.caught():
            warn_user("four", UnderstudyWarning)
    assert strict.texts == ["four"]


def test_what_a_stage_silences_is_no_finding() -> None:
    notes = Notes()
    with notes.caught(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        warn_user("expected", UnderstudyWarning)
    assert notes.texts == []
