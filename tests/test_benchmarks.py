"""What the benchmark calls worse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from benchmarks import ratios
from benchmarks.ratios import RESULTS, compare, usual


def test_a_ratio_is_compared_with_what_is_usual_on_this_machine() -> None:
    """The median of the last five: neither one good run nor a bad one is what the next must be."""
    speeds = (100.0, 1000.0, 10.0, 9.0, 11.0, 2.0, 12.0)
    stored: list[dict[str, Any]]
    stored = [{"machine": "ours", "ratios": {"speed": speed}} for speed in speeds]
    stored[4]["ratios"]["gone"] = 2.0
    stored.append({"machine": "another", "ratios": {"speed": 1000.0}})
    before = usual("ours", stored)
    assert before == {"speed": 10.0, "gone": 2.0}
    assert usual("new", stored) == {}
    assert compare({"speed": 7.01, "new": 1.0}, before) == []
    assert compare({"speed": 6.9}, before) == ["speed: 6.9, before 10"]


def test_libraries_that_are_not_installed_have_no_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios, "LIBRARIES", ("numpy", "no-such-library"))
    assert set(ratios.versions()) == {"python", "numpy"}


def test_ratios_are_drawn_over_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ratios, "FIGURE", tmp_path / "ratios.svg")
    entry = {"date": "2026-11-18", "machine": "ours", "ratios": {"a < b": 1.0}}
    ratios.draw([entry, {**entry, "machine": "another"}, {**entry, "ratios": {"a < b": 40.0}}])
    root = ET.fromstring((tmp_path / "ratios.svg").read_text("utf-8"))  # noqa: S314  (our own)
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert texts == ["a < b", "1", "11-18", "40", "11-18"]


def test_a_run_is_stored_and_what_is_worse_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the machine, versions and date; the third run lies below 0.7 times (10 + 8) / 2."""
    monkeypatch.setattr(ratios, "RESULTS", tmp_path / "ratios.jsonl")
    monkeypatch.setattr(ratios, "FIGURE", tmp_path / "ratios.svg")
    for ratio, code in ((10.0, 0), (8.0, 0), (6.2, 1)):
        monkeypatch.setattr(ratios, "PARTS", (lambda own=ratio: iter([("speed", own)]),))
        assert ratios.main() == code
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "WORSE by more than 30 %: speed: 6.2, before 9"
    assert sum("WORSE" in line for line in said) == 1
    stored = [json.loads(line) for line in ratios.RESULTS.read_text("utf-8").splitlines()]
    assert [entry["ratios"]["speed"] for entry in stored] == [10.0, 8.0, 6.2]
    for entry in stored:
        assert date.fromisoformat(entry["date"]) >= date(2026, 11, 18)
        assert entry["machine"] == ratios.machine()
        assert {"python", "understudy", "numpy"} <= set(entry["versions"])
    assert ratios.FIGURE.exists()


def test_what_was_measured_is_stored_where_a_part_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> Iterator[tuple[str, float]]:
        yield "half", 2.0
        raise RuntimeError("no such library")

    monkeypatch.setattr(ratios, "RESULTS", tmp_path / "ratios.jsonl")
    monkeypatch.setattr(ratios, "FIGURE", tmp_path / "ratios.svg")
    monkeypatch.setattr(ratios, "PARTS", (broken, lambda: iter([("speed", 3.0)])))
    assert ratios.main() == 1
    assert (
        capsys.readouterr().out.splitlines()[-1] == "FAILED: broken: RuntimeError: no such library"
    )
    (line,) = ratios.RESULTS.read_text("utf-8").splitlines()
    assert json.loads(line)["ratios"] == {"half": 2.0, "speed": 3.0}


def test_stored_results_can_be_read_and_tell_no_name_of_a_machine() -> None:
    for line in RESULTS.read_text("utf-8").splitlines():
        entry = json.loads(line)
        assert set(entry) == {"date", "machine", "versions", "ratios"}
        assert all(ratio > 0 for ratio in entry["ratios"].values())
