"""The commands that run a study: what they print, how they end, how they are stopped."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.studies import PLAN, files_of, plain_page, run_quietly, write_study
from understudy.cli import output
from understudy.cli.demo import demo_plan
from understudy.cli.output import in_time, progress_line, study_progress
from understudy.errors import ExitCode
from understudy.pages import report as page
from understudy.study.progress import StudyProgress
from understudy.study.run import Study


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_study(tmp_path / "confidential")


@pytest.fixture
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)


@pytest.mark.usefixtures("_plain")
def test_run_ends_with_a_summary(command: Command, plan: Path, tmp_path: Path) -> None:
    answer = command("run", plan, "--out", tmp_path / "out")
    assert answer.code == ExitCode.DO_NOT_RELEASE
    words = " ".join(answer.out.split())
    for part in ("Verdict: DO NOT RELEASE", "Not converged: dpmpm", "dpmpm fail NO",
                 "review, dpmpm: The chains have not converged",
                 "fail, dpmpm: The risk of these sets was not measured",
                 "own record", "true matches"):  # fmt: skip
        assert part in words, part
    assert str(tmp_path / "out" / "internal" / "report.html") in answer.out
    assert len(answer.out.splitlines()) < 40
    assert "note: dpmpm: " in answer.err
    for value in ("north", "south"):
        assert value not in answer.out + answer.err


@pytest.mark.usefixtures("_plain")
def test_run_as_json(command: Command, plan: Path, tmp_path: Path) -> None:
    told = json.loads(command("run", plan, "--out", tmp_path / "out", "--json").out)
    assert told["outcome"] == "fail"
    assert told["exit_code"] == 1
    assert told["recommended"] is None
    assert told["synthesizers"]["dpmpm"]["converged"] is False
    assert told["synthesizers"]["dpmpm"]["table_deviation"] > 0
    assert {"own_record_effect", "true_match_rate"} <= set(told["synthesizers"]["dpmpm"])
    assert told["reasons"][0]["subject"] == "codebook"
    assert Path(told["report"]).exists()


@pytest.mark.usefixtures("_plain")
def test_seed_of_the_command_line(command: Command, plan: Path, tmp_path: Path) -> None:
    command("run", plan, "--out", tmp_path / "out", "--seed", 9)
    assert json.loads((tmp_path / "out" / "internal" / "study.json").read_text())["seed"] == 9
    answer = command("run", plan, "--out", tmp_path / "out", "--seed", 10)
    assert answer.code == 2
    assert '"seed"' in answer.err
    answer = command("run", plan, "--out", tmp_path / "other", "--seed", -1)
    assert answer.code == 2
    assert not (tmp_path / "other").exists()


def test_wrong_plans_and_places(command: Command, plan: Path, tmp_path: Path) -> None:
    answer = command("run", plan.with_name("no.toml"), "--out", tmp_path / "out")
    assert answer.code == 2
    assert "not found" in answer.err
    answer = command("run", plan, "--out", tmp_path)
    assert answer.code == 2
    assert "other things" in answer.err
    assert command("run", plan).code == 2


OUTCOMES = [("pass", 0), ("review", 0), ("fail", 1)]


@pytest.mark.parametrize(("outcome", "code"), OUTCOMES)
@pytest.mark.usefixtures("_plain")
def test_exit_codes_come_from_the_verdict(
    command: Command,
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    outcome: str,
    code: int,
) -> None:
    import understudy.study.stages
    from understudy.verdict.verdict import judge

    def changed(findings: Any, thresholds: Any) -> Any:
        """Let the chains have converged, and everything come out as asked."""
        verdict = judge(findings, thresholds)
        (released,) = verdict.synthesizers.values()
        reasons = tuple(
            reason.model_copy(
                update={"outcome": "pass" if reason.subject == "convergence" else outcome}
            )
            for reason in released.reasons
        )
        released = released.model_copy(update={"outcome": outcome, "reasons": reasons})
        update = {
            "outcome": outcome,
            "synthesizers": {"dpmpm": released},
            "reasons": reasons,
            "recommended": None if outcome == "fail" else "dpmpm",
        }
        return verdict.model_copy(update=update)

    monkeypatch.setattr(understudy.study.stages, "judge", changed)
    monkeypatch.setattr("understudy.cli.run.MOST_REASONS", 3)
    answer = command("run", plan, "--out", tmp_path / "out")
    assert answer.code == code
    assert ("Recommended: dpmpm" in answer.out) == (outcome != "fail")
    assert ("All that was judged about dpmpm" in answer.out) == (outcome == "pass")
    assert ("more, in the report" in answer.out) == (outcome != "pass")


def test_demo_is_a_study(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def run(self: Study, directory: Path, **_: Any) -> Study:
        seen.append((self.plan, directory))
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", run)
    answer = command("demo", "--out", tmp_path / "demo", "--seed", 3)
    assert answer.code == ExitCode.INTERRUPTED
    assert "the same command goes on" in answer.err
    assert "6,208 invented households" in " ".join(answer.err.split())
    assert seen == [(demo_plan(3), tmp_path / "demo")]
    assert list(demo_plan().chosen_synthesizers()) == ["dpmpm", "areal", "backoff"]


def test_a_frontier_that_is_stopped_says_how_it_goes_on(
    plan: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("understudy.frontiers.run.frontier", measure)
    answer = command("frontier", plan, "--out", tmp_path / "out")
    assert answer.code == ExitCode.INTERRUPTED
    assert "the same command goes on" in answer.err
    assert demo_plan().seed is None


def test_progress_without_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Lines for the log of a batch job: stage, share, what is remarked, time left."""
    fitting = StudyProgress("fitting dpmpm", 2, 9, 0.5, 30.0, 120.0, "R-hat so far 1.010")
    assert progress_line(fitting, 60.0) == (
        "understudy, after 60 s: step 2 of 9: fitting dpmpm, 50 %, R-hat so far 1.010, "
        "about 2 min left"
    )
    with study_progress() as show:
        show(fitting)
    assert capsys.readouterr().err == ""  # it ended before a line was due
    assert output.SECONDS_BETWEEN_LINES == 30  # as the documentation says
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.001)
    printed = threading.Event()
    lines: list[str] = []

    def noticed(text: str) -> None:
        lines.append(text)
        printed.set()

    monkeypatch.setattr(output, "say_aside", noticed)
    with study_progress() as show:
        show(StudyProgress("reading the data", 0, 0, 0.5, 3.0, 3.0))
        assert printed.wait(600)
    assert lines[0].endswith("reading the data, 50 %, about 3 s left")
    begun = StudyProgress("fitting p1", 1, 9, None, None, None)
    assert progress_line(begun, 150.0) == "understudy, after 2.5 min: step 1 of 9: fitting p1"
    assert progress_line(begun, 5.0) == "understudy, after 5 s: step 1 of 9: fitting p1"
    part = StudyProgress("part 2 of 25, a fit", 0, 0, 0.25, 60.0, None)
    assert progress_line(part, 5.0).endswith("a fit, 25 %, about 60 s left of this part")


def test_a_number_stays_with_its_per_cent() -> None:
    for length in range(70, 90):
        folded = output.paragraph("a" * length + " 28 % of the labels")
        assert "28 %" in folded
        assert " ".join(folded.split()) == "a" * length + " 28 % of the labels"


def test_nobody_reads_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed error stream ends neither the lines nor the study."""
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.001)
    twice = threading.Semaphore(0)

    def closed(text: str) -> None:
        twice.release()
        raise BrokenPipeError

    monkeypatch.setattr(output, "say_aside", closed)
    with study_progress() as show:
        show(StudyProgress("describing the data", 1, 9, None, 3.0, 200.0))
        assert twice.acquire(timeout=600)
        assert twice.acquire(timeout=600)


def test_progress_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with study_progress() as show:
        show(StudyProgress("reading the data", 0, 0, 0.5, 3.0, 3.0))
        show(StudyProgress("describing the data", 1, 9, None, 3.0, 200.0))
        show(StudyProgress("fitting dpmpm", 2, 9, 0.5, 30.0, 120.0, "R-hat so far 1.010"))
    assert "fitting dpmpm" in capsys.readouterr().err
    assert [in_time(seconds) for seconds in (0.2, 59, 600, 7200)] == [
        "1 s",
        "59 s",
        "10 min",
        "2.0 h",
    ]


SLOW = PLAN.replace("draws = 8", "draws = 100000")


@pytest.fixture
def program(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a study that would take long, and wait until its chains run."""
    plan = write_study(tmp_path / "slow", SLOW)
    command = [sys.executable, "-m", "understudy", "run", str(plan), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    fits = tmp_path / "out" / "internal" / "fits" / "dpmpm"
    while process.poll() is None and len(list(fits.glob("draws-*"))) < 3:
        time.sleep(0.02)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_cleanly(
    program: subprocess.Popen[bytes], tmp_path: Path, number: int
) -> None:
    program.send_signal(number)
    out, err = program.communicate(timeout=600)
    assert program.returncode == ExitCode.INTERRUPTED
    assert b"stopping after the work at hand" in err
    assert b"the same command goes on" in err
    assert b"Traceback" not in err
    assert out == b""
    assert not list((tmp_path / "out").rglob("*.part"))


def test_two_signals_stop_at_once(program: subprocess.Popen[bytes]) -> None:
    program.send_signal(signal.SIGINT)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=600)
    assert program.returncode == ExitCode.INTERRUPTED
    assert b"Traceback" not in err
    assert out == b""


def test_a_second_process_is_refused(
    program: subprocess.Popen[bytes], command: Command, tmp_path: Path
) -> None:
    answer = command("run", tmp_path / "slow" / "plan.toml", "--out", tmp_path / "out")
    assert answer.code == 2
    assert f"process {program.pid}" in answer.err


def test_a_terminal_that_goes_away(plan: Path, tmp_path: Path) -> None:
    """Everything is said to a terminal that is closed in the middle: the study survives it."""
    plan.write_text(SLOW.replace("{file}", "data.csv").replace("100000", "3000"))
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "understudy", "run", str(plan), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while b"fitting" not in shown and select.select([ours], [], [], 600)[0]:
        shown += os.read(ours, 1 << 16)
    os.close(ours)
    process.send_signal(signal.SIGHUP)
    assert process.wait(timeout=600) in {ExitCode.INTERRUPTED, ExitCode.DO_NOT_RELEASE}
    run_quietly(plan, tmp_path / "out")
    run_quietly(plan, tmp_path / "calm")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "calm")


def test_nobody_reads_the_output(plan: Path, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "understudy", "run", str(plan), "--out", str(tmp_path / "out")]
    ended = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=600
    )
    os.close(writing)
    assert ended.returncode == ExitCode.DO_NOT_RELEASE
    assert b"Traceback" not in ended.stderr
    assert b"fault" not in ended.stderr
    assert (tmp_path / "out" / "internal" / "report.html").exists()
