"""Rows 72 to 95 as they touch a study: thresholds, numbers, disks, signals, locks, surroundings."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.studies import PLAN, files_of, plain_page, run_quietly, write_study
from understudy.errors import CheckpointError, CheckpointWarning, ExitCode, OutputError
from understudy.pages import report as page
from understudy.study.folder import check_study_folder
from understudy.verdict.thresholds import Thresholds

RISING = {"smallest pattern", "interval overlap"}  # of these, more is better
ANALYSIS = '[[analyses]]\nformula = "age ~ gender"\nfamily = "logistic"\ntrain = "all"\n'


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_study(tmp_path / "confidential")


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)


def program(
    plan: Path, out: Path, environment: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start the program in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "understudy", "run", str(plan), "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **(environment or {})},
    )


@covers(72)
def test_thresholds_of_zero(command: Command, plan: Path, tmp_path: Path) -> None:
    """Zero is a limit like any other: nothing above it passes, and nothing breaks."""
    zero = [
        f"{name} = 0"
        for name, field in Thresholds.model_fields.items()
        if field.annotation in {int, float}
    ]
    plan.write_text(plan.read_text() + ANALYSIS + "[thresholds]\n" + "\n".join(zero) + "\n")
    answer = command("run", plan, "--out", tmp_path / "out", "--json")
    assert answer.code == ExitCode.DO_NOT_RELEASE
    told = json.loads(answer.out)
    assert told["outcome"] == "fail"
    judged = [line for line in told["reasons"] if line["limit"] == 0 and (line["found"] or 0) > 0]
    assert any(reason["outcome"] == "fail" for reason in judged)
    assert not [
        reason["subject"]
        for reason in judged
        if reason["outcome"] == "pass"
        and reason["subject"] not in {"smallest pattern", "interval overlap"}
    ]


@covers(78)
def test_sets_that_all_say_the_same() -> None:
    """No variance between sets: normal quantiles, as with infinitely many degrees of freedom."""
    combined = us.combine_estimates([2.0, 2.0], [1.0, 1.0])
    assert np.isinf(combined.degrees_of_freedom).all()
    assert np.allclose(combined.upper, 2.0 + 1.959964)


@covers(79)
def test_regression_that_is_separated(plan: Path, tmp_path: Path) -> None:
    """Everybody of one gender has the same age: that is noted, and the study goes on."""
    data = plan.with_name("data.csv")
    rows = [line.split(",") for line in data.read_text().splitlines()]
    for row in rows[1:]:
        row[1] = {"f": "old", "m": "young"}[row[0]]
    data.write_text("\n".join(",".join(row) for row in rows) + "\n")
    plan.write_text(plan.read_text() + ANALYSIS)
    (synthesizer,) = run_quietly(plan, tmp_path / "out").findings.synthesizers
    (regression,) = synthesizer.utility.regressions
    assert regression.n_failed > 0
    assert any("separated" in (coefficient.note or "") for coefficient in regression.coefficients)


@covers(81)
def test_disk_that_is_full(
    command: Command, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 40:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    answer = command("run", plan, "--out", tmp_path / "out")
    assert answer.code == ExitCode.INTERRUPTED
    assert "Expected space for " in answer.err
    assert " bytes in " in answer.err
    assert "free space and run again" in answer.err
    monkeypatch.setattr(os, "fsync", real)
    assert not list((tmp_path / "out").rglob("*.part"))
    run_quietly(plan, tmp_path / "out")
    run_quietly(plan, tmp_path / "calm")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "calm")


@covers(82)
def test_place_that_may_not_be_written(
    command: Command, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = command("run", plan, "--out", "/proc/understudy")
    assert answer.code == 2
    assert "none can be made" in answer.err
    run_quietly(plan, tmp_path / "out")
    before = files_of(tmp_path / "out")

    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("understudy.storage.os.open", refuse)
    answer = command("run", plan, "--out", tmp_path / "out")
    monkeypatch.undo()
    assert answer.code == 2
    assert "Read-only file system" in answer.err
    assert files_of(tmp_path / "out") == before


@covers(83)
def test_program_that_is_killed_goes_on(command: Command, tmp_path: Path) -> None:
    """Killed, as for want of memory; `tests/cli` has other signals, `tests/faults` the rest."""
    plan = write_study(tmp_path / "slow", PLAN.replace("draws = 8", "draws = 2000"))
    process = program(plan, tmp_path / "out")
    saved = tmp_path / "out" / "internal" / "fits" / "dpmpm"
    while process.poll() is None and len(list(saved.glob("draws-*"))) < 5:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    resumed = command("run", plan, "--out", tmp_path / "out")
    assert resumed.code == ExitCode.DONE  # the verdict is review: the short chains have not met
    assert command("run", plan, "--out", tmp_path / "calm").code == resumed.code
    assert files_of(tmp_path / "out") == files_of(tmp_path / "calm")


@covers(84)
def test_two_processes_in_one_folder(command: Command, tmp_path: Path) -> None:
    plan = write_study(tmp_path / "slow", PLAN.replace("draws = 8", "draws = 100000"))
    process = program(plan, tmp_path / "out")
    while process.poll() is None and not (tmp_path / "out" / "internal" / "fits").exists():
        time.sleep(0.01)
    answer = command("run", plan, "--out", tmp_path / "out")
    process.kill()
    process.communicate()
    assert answer.code == 2
    assert f"process {process.pid} on {socket.gethostname()}" in answer.err
    assert "the lock of a process that has died is free" in answer.err


@covers(85)
@pytest.mark.parametrize("what", ["data", "options", "version"])
def test_resumed_with_something_else(
    command: Command, plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    run_quietly(plan, tmp_path / "out")
    before = files_of(tmp_path / "out")
    if what == "data":
        write_study(plan.parent, seed=4)
    elif what == "options":
        plan.write_text(plan.read_text().replace("draws = 8", "draws = 9"))
    else:
        monkeypatch.setattr(us, "__version__", "9.9")
    answer = command("run", plan, "--out", tmp_path / "out")
    named = {
        "data": '"data"',
        "options": '"draws" of "plan.synthesizers.dpmpm" (saved',
        "version": "9.9",
    }
    assert answer.code == 2
    assert named[what] in answer.err
    assert files_of(tmp_path / "out") == before


@covers(87)
@pytest.mark.parametrize("content", ["notes.txt", "synthetic-01.csv", "manifest.json"])
def test_folder_that_holds_something_else(
    command: Command, plan: Path, tmp_path: Path, content: str
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / content).write_text("something")
    answer = command("run", plan, "--out", out)
    assert answer.code == 2
    assert "never mixed with other files" in answer.err
    assert [path.name for path in out.iterdir()] == [content]


@covers(88)
def test_drive_without_locks(plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The study runs, with a warning; but not while the one before it still does."""

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        us.Study(plan).run(tmp_path / "out")
    assert any(
        "has no locks" in str(warning.message)
        for warning in caught
        if issubclass(warning.category, CheckpointWarning)
    )
    lock = tmp_path / "out" / "internal" / "lock"
    lock.write_text(f"process {os.getppid()} on {socket.gethostname()}")
    with pytest.raises(CheckpointError, match=f"in use by .process {os.getppid()}"):
        run_quietly(plan, tmp_path / "out")
    for words in (f"process {os.getppid()} on another machine", "process 99999999 on "
                  + socket.gethostname(), ""):  # fmt: skip
        lock.write_text(words)
        run_quietly(plan, tmp_path / "out")


@covers(89)
@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [
        (RuntimeError("north"), ExitCode.FAULT_IN_PROGRAM, "RuntimeError"),
        (MemoryError("north"), ExitCode.WRONG_INPUT, "Expected enough memory"),
    ],
    ids=["fault", "memory"],
)
def test_chain_that_fails_is_reported(
    command: Command,
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    problem: Exception,
    code: ExitCode,
    words: str,
) -> None:
    """Chains are threads: what goes wrong in one ends the study, with nothing of the data."""

    def fail(*_: Any, **__: Any) -> None:
        raise problem

    monkeypatch.setattr("understudy.synthesis.segments._segment", fail)
    answer = command("run", plan, "--out", tmp_path / "out")
    assert answer.code == code
    assert words in answer.err
    assert "north" not in answer.err
    monkeypatch.undo()
    monkeypatch.setattr(page, "page", plain_page)
    assert command("run", plan, "--out", tmp_path / "out").code == ExitCode.DO_NOT_RELEASE


@covers(90, 91, 92, 93, 94)
def test_results_do_not_depend_on_the_surroundings(plan: Path, tmp_path: Path) -> None:
    """Neither hash seeds, numbers of threads, locales nor a terminal without letters matter."""
    plan.write_text(plan.read_text() + ANALYSIS)
    plain = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"}
    other = {
        "PYTHONHASHSEED": "12345", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1", "LC_ALL": "de_DE.UTF-8",
        "LC_NUMERIC": "de_DE.UTF-8", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0",
    }  # fmt: skip
    processes = [
        program(plan, tmp_path / name, around) for name, around in (("one", plain), ("two", other))
    ]
    assert processes[0].stdout is not None
    processes[0].stdout.close()  # nobody reads what it prints
    assert processes[0].stderr is not None
    _, said = processes[1].communicate(timeout=600)
    with processes[0].stderr as stream:
        silent = stream.read()
    assert processes[0].wait(timeout=600) == processes[1].returncode == ExitCode.DO_NOT_RELEASE
    for text in (said, silent):
        assert b"Traceback" not in text
        assert b"fault" not in text
        assert b"step 1 of" not in text  # no progress without a terminal
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


@covers(95)
@pytest.mark.parametrize("name", ["CON", "nul.study", "com1", "study.", "x" * 300])
def test_folder_names_that_not_every_system_can_use(
    command: Command, plan: Path, tmp_path: Path, name: str
) -> None:
    answer = command("run", plan, "--out", tmp_path / name)
    assert answer.code == 2
    assert "name" in answer.err
    with pytest.raises(OutputError, match="file name"):
        check_study_folder(tmp_path / name, resume=True)


@covers(95)
def test_study_deep_inside_of_folders(plan: Path, tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("folder" * 8)
    assert run_quietly(plan, deep / "out").report().exists()
