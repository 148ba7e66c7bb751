"""How far a study is and what it decided, asked from outside; and its report in a browser."""

from __future__ import annotations

import json
import shutil
import webbrowser
from pathlib import Path

import pytest

from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.studies import plain_page, run_quietly, write_study
from understudy.errors import ExitCode
from understudy.pages import report as page
from understudy.storage import Lock
from understudy.study.status import load_study


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run a tiny study."""
    home = tmp_path_factory.mktemp("status")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "page", plain_page)
        run_quietly(write_study(home / "confidential"), home / "study")
    return home / "study"


def test_a_finished_study(command: Command, study: Path) -> None:
    answer = command("status", study)
    assert answer.code == ExitCode.DONE
    n_stages = len(json.loads((study / "internal" / "study.json").read_text())["stages"])
    assert f"{n_stages} of {n_stages} stages are finished." in answer.out
    assert "Verdict: fail" in answer.out
    assert "working on it" not in answer.out
    assert f"Report: {study / 'internal' / 'report.html'}" in answer.out
    told = json.loads(command("status", study, "--json").out)
    assert told["missing"] == []
    assert told["finished"][:2] == ["plan", "data"]
    assert told["outcome"] == "fail"
    assert told["running"] is told["approved"] is False
    findings, verdict = load_study(study)
    assert [synthesizer.name for synthesizer in findings.synthesizers] == list(verdict.synthesizers)


def test_a_study_that_runs(command: Command, study: Path) -> None:
    """Whoever asks does not disturb the process that holds the folder."""
    with Lock(study / "internal") as lock:
        assert "The study is running." in command("status", study).out
        lock.check()
    assert "The study is running." not in command("status", study).out


def test_a_study_that_was_stopped(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("understudy.study.stages.Stages.measure_utility", stop)
    plan = write_study(tmp_path / "confidential")
    with pytest.raises(KeyboardInterrupt):
        run_quietly(plan, tmp_path / "study")
    answer = command("status", tmp_path / "study")
    assert 'The next stage is "dpmpm-utility".' in answer.out
    assert "It is not running." in answer.out
    assert "Verdict" not in answer.out
    answer = command("open", tmp_path / "study")
    assert answer.code == ExitCode.WRONG_INPUT
    assert "one without a report" in answer.err


def test_the_report_is_opened(
    command: Command, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def no_browser(address: str) -> bool:
        asked.append(address)
        return False

    monkeypatch.setattr(webbrowser, "open", no_browser)
    answer = command("open", study)
    assert asked == [(study / "internal" / "report.html").as_uri()]
    assert "No browser could be started here" in answer.out


@covers(153)
def test_a_report_of_somebody_else_is_not_opened(
    command: Command, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser runs what is in a page: one that was changed, a link, a folder open to others."""
    monkeypatch.setattr(webbrowser, "open", lambda _: pytest.fail("it was opened"))
    copy = tmp_path / "study"
    shutil.copytree(study, copy)
    report = copy / "internal" / "report.html"
    page = report.read_bytes()
    report.write_bytes(page + b"<script>alert(1)</script>")
    assert "another one" in command("open", copy).err
    report.unlink()
    (tmp_path / "elsewhere.html").write_bytes(page)
    report.symlink_to(tmp_path / "elsewhere.html")
    assert command("open", copy).code == ExitCode.WRONG_INPUT
    report.unlink()
    report.write_bytes(page)
    (copy / "internal").chmod(0o777)
    answer = command("open", copy)
    assert answer.code == ExitCode.WRONG_INPUT
    assert "chmod 700" in answer.err


def test_folders_without_a_study(command: Command, tmp_path: Path, study: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        answer = command("status", folder)
        assert answer.code == ExitCode.WRONG_INPUT
        assert "--out" in answer.err
    changed = tmp_path / "changed"
    shutil.copytree(study, changed)
    (changed / "internal" / "verdict.json").write_text("{}")
    answer = command("status", changed)
    assert answer.code == ExitCode.WRONG_INPUT
    assert "another one" in answer.err


def test_studies_beside_each_other(command: Command, study: Path, tmp_path: Path) -> None:
    twin = tmp_path / "twin" / "study"
    shutil.copytree(study, twin)
    page = tmp_path / "compared.html"
    answer = command("compare", study, twin, "--report", page)
    assert answer.code == ExitCode.DONE
    words = " ".join(answer.out.split())
    assert f"{study.parent.name}/study dpmpm fail NO" in words
    assert "twin/study dpmpm fail NO" in words
    html = page.read_text(encoding="utf-8")
    assert html.count("<tr") == 3
    assert "Confidential" in html
    deep = [tmp_path / name / "twin" / "study" for name in "ab"]
    for folder in deep:
        shutil.copytree(study, folder)
    answer = command("compare", *deep, deep[0], twin, "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert list(told) == ["a/twin/study", "b/twin/study", f"{tmp_path.name}/twin/study"]
    told = json.loads(command("compare", study, "--json").out)
    assert told["study"]["outcome"] == "fail"
    (twin / "internal" / "study.json").unlink()
    assert command("compare", study, twin).code == ExitCode.WRONG_INPUT
