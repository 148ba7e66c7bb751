"""Around every command: streams that are closed or full, limits, faults; exit code 1 is no fault.

Each program here is a process of its own, since it is about how processes end.
"""

from __future__ import annotations

import errno
import io
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.bad_inputs.cases import SECRET, covers
from tests.conftest import Command, MakeFile
from tests.publishing.fake_study import APPROVAL, Study
from understudy import cli
from understudy.cli import shell
from understudy.cli.output import say, say_json
from understudy.errors import ExitCode, SettingError
from understudy.publishing.manifest import is_whole_release
from understudy.settings import read_settings
from understudy.study.plan import StudyPlan, plan_from

DATA = f"age,county\n31,{SECRET}\n42,south\n55,south\n20,{SECRET}\n"


def program(
    *arguments: object, prepare: Callable[[], None] | None = None, **streams: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        preexec_fn=prepare,
        check=False,
        timeout=600,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def close_both() -> None:
    """Start without any stream."""
    for descriptor in (0, 1, 2):
        os.close(descriptor)


@covers(107)
def test_full_and_closed_streams_of_commands_that_print(make_file: MakeFile) -> None:
    """Output that is lost because a disk is full is an error; a stream that was closed is not."""
    path = make_file(DATA)
    with Path("/dev/full").open("wb") as full:
        ended = program("check", path, "--synthesize", "county", stdout=full)
        assert ended.returncode == ExitCode.WRONG_INPUT
        assert b"the output could not be written (No space left on device)" in ended.stderr
        assert program("--help", stdout=full, stderr=full).returncode == ExitCode.WRONG_INPUT
        ended = program("check", path, "--synthesize", "nothing", stderr=full)
        assert ended.returncode == ExitCode.WRONG_INPUT
    ended = program("check", path, "--synthesize", "county", prepare=close_both)
    assert ended.returncode == ExitCode.DONE
    ended = program("check", path, "--synthesize", "nothing", prepare=close_both)
    assert ended.returncode == ExitCode.WRONG_INPUT


@covers(107)
@pytest.mark.parametrize("how", ["full", "closed"])
def test_work_that_was_done_is_not_reported_as_failed(tmp_path: Path, how: str) -> None:
    """A release appears, the program ends with 0, and no message lands in a file of the study."""
    study = Study(tmp_path / "study").seal()
    call = ("release", study.folder, "--to", tmp_path / "public", "--approve", APPROVAL)
    with Path("/dev/full").open("wb") as full:
        if how == "full":
            ended = program(*call, stdout=full)
            assert b"The work itself is done." in ended.stderr
        else:
            ended = program(*call, prepare=close_both)
    assert ended.returncode == ExitCode.DONE
    assert is_whole_release(tmp_path / "public")
    assert b"understudy:" not in (study.internal / "lock").read_bytes()


@covers(116)
def test_a_limit_of_memory(make_file: MakeFile) -> None:
    """Too little to start with is refused at once; no core is written whatever happens."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (600 << 20, 600 << 20))
        resource.setrlimit(resource.RLIMIT_CORE, resource.getrlimit(resource.RLIMIT_CORE)[1:] * 2)

    ended = program("check", make_file(DATA), "--synthesize", "county", prepare=limited)
    assert ended.returncode == ExitCode.WRONG_INPUT
    assert b"raise it: ulimit -v" in ended.stderr
    assert b"Traceback" not in ended.stderr


@covers(116)
def test_a_bad_time_zone_and_epoch(make_file: MakeFile) -> None:
    surroundings = {**os.environ, "TZ": "/" * 5000, "SOURCE_DATE_EPOCH": "yesterday"}
    ended = program("check", make_file(DATA), "--synthesize", "county", env=surroundings)
    assert ended.returncode == ExitCode.DONE, ended.stderr


@covers(116)
def test_figures_do_not_depend_on_a_bad_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib.figure import Figure

    from understudy.pages.plots.canvas import svg_of
    from understudy.pages.plots.png import _png

    before = svg_of(Figure(), "name", "title", "words"), _png(Figure())
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert (svg_of(Figure(), "name", "title", "words"), _png(Figure())) == before


@covers(116)
def test_no_core_dumps() -> None:
    words = (
        "import resource; from understudy.cli.shell import prepare_process; prepare_process(); "
        "print(resource.getrlimit(resource.RLIMIT_CORE)[0])"
    )
    ended = subprocess.run([sys.executable, "-c", words], capture_output=True, check=True)
    assert ended.stdout == b"0\n"


class Full(io.StringIO):
    """A stream to a disk that is full."""

    def write(self, _: str) -> int:
        """Fail as the system does."""
        raise OSError(28, os.strerror(28))


@covers(107)
def test_full_output_of_every_command(
    make_file: MakeFile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Those that only print end with 2; those that leave files behind with what they would."""
    path = make_file("age,county\n" + "a,x\nb,y\na,y\nb,x\n" * 5)

    class Ended:
        exit_code = ExitCode.DO_NOT_RELEASE
        verdict = None

        def run(self, *_: object, **__: object) -> None:
            pass

        def report(self) -> None:
            pass

    calls: list[tuple[tuple[object, ...], ExitCode]] = [
        (("check", path, "--synthesize", "county"), ExitCode.WRONG_INPUT),
        (("evaluate", path, path, "--synthesize", "county", "--repeats", 1), ExitCode.WRONG_INPUT),
        (("init", path, "--synthesize", "county", "--out", tmp_path), ExitCode.DONE),
        (("run", tmp_path / "plan.toml", "--out", tmp_path / "out"), ExitCode.DO_NOT_RELEASE),
        (("--version",), ExitCode.WRONG_INPUT),
    ]
    monkeypatch.setattr("understudy.study.run.Study", lambda *_, **__: Ended())
    monkeypatch.setattr("understudy.cli.run.show_verdict", lambda *_, **__: print("the verdict"))
    for arguments, code in calls:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", Full())
            with pytest.raises(SystemExit) as ended:
                cli.main([str(argument) for argument in arguments])
        assert ended.value.code == code, arguments
        told = " ".join(capsys.readouterr().err.split())
        assert "the output could not be written (No space left on device)" in told
        assert ("The work itself is done." in told) == (code == ExitCode.DONE)
    assert (tmp_path / "plan.toml").exists()


class Panic(BaseException):
    """What a library raises beside Exception."""


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (Panic(SECRET), ExitCode.FAULT_IN_PROGRAM),
        (SystemExit(1), ExitCode.FAULT_IN_PROGRAM),
        (SystemExit(SECRET), ExitCode.FAULT_IN_PROGRAM),
        (SystemExit(0), ExitCode.DONE),
        (RecursionError(SECRET), ExitCode.FAULT_IN_PROGRAM),
        (KeyError(SECRET), ExitCode.FAULT_IN_PROGRAM),
        (BrokenPipeError(SECRET), ExitCode.FAULT_IN_PROGRAM),
        (MemoryError(SECRET), ExitCode.WRONG_INPUT),
        (OSError(12, SECRET), ExitCode.WRONG_INPUT),
        (OSError(errno.ENAMETOOLONG, SECRET), ExitCode.WRONG_INPUT),
        (RuntimeError("can't start new thread"), ExitCode.WRONG_INPUT),
        (ImportError("libx.so: failed to map segment from shared object"), ExitCode.WRONG_INPUT),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
    ids=lambda value: type(value).__name__,
)
@covers(116)
def test_whatever_libraries_raise(
    command: Command,
    make_file: MakeFile,
    monkeypatch: pytest.MonkeyPatch,
    problem: BaseException,
    code: ExitCode,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr("understudy.cli.check.inspect_source", fail)
    answer = command("check", make_file(DATA), "--synthesize", "county")
    assert answer.code == code
    assert SECRET not in answer.out + answer.err
    assert "Traceback" not in answer.err


@covers(152)
@pytest.mark.parametrize(
    "call",
    [
        ("check", "{long}", "--synthesize", "county"),
        ("init", "{file}", "--synthesize", "county", "--out", "{long}"),
        ("compare", "{long}"),
        ("open", "{long}"),
        ("status", "{long}"),
        ("verify", "{long}"),
        ("reproduce", "--out", "{long}"),
        ("run", "{long}", "--out", "study"),
        ("frontier", "{long}", "--out", "study"),
        ("release", "{long}", "--to", "public", "--approve", APPROVAL),
        ("evaluate", "{file}", "{long}", "--synthesize", "county"),
    ],
    ids=lambda call: call[0],
)
def test_paths_that_are_too_long(
    command: Command, make_file: MakeFile, call: tuple[str, ...]
) -> None:
    file = make_file(DATA)
    answer = command(*(part.format(long="a" * 5_000, file=file) for part in call))
    assert answer.code == ExitCode.WRONG_INPUT
    assert "no fault in the program" not in answer.err


@covers(152)
def test_a_terminal_obeys_no_path(capsys: pytest.CaptureFixture[str]) -> None:
    say("Report: s\x1b]0;x\x07/\x9b31m\u202e\nnext")
    assert capsys.readouterr().out == "Report: s\\x1b]0;x\\x07/\\x9b31m\\u202e\nnext\n"
    content = {"s\x1b\x9b\u202e\U000e0001": 1.5, "é": ["\n", "\\"]}
    say_json(content)
    shown = capsys.readouterr().out
    assert json.loads(shown) == content
    assert "é" in shown
    assert not set(shown) & {"\x1b", "\x9b", "\u202e", "\U000e0001"}


def test_the_shell_itself_may_fail(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(cli, "public_error", fail)
    answer = command("check", "x")
    assert answer.code == ExitCode.FAULT_IN_PROGRAM
    assert "MemoryError" in answer.err


def test_streams_that_cannot_be_replaced() -> None:
    """A stream without a number, such as that of a notebook, may fail as well."""

    class Broken:
        def write(self, _: str) -> int:
            raise OSError(28, "No space left on device")

        def flush(self) -> None:
            raise ValueError("I/O operation on closed file")

        def fileno(self) -> int:
            raise ValueError

    stream = shell.ToleratedStream(Broken())  # type: ignore[arg-type]
    stream.flush()
    assert stream.problem is None
    assert stream.write("text") == 4
    assert stream.problem == "No space left on device"


BAD_TOML = {
    "brackets": "sets = " + "[" * 50_000 + "]" * 50_000,
    "open brackets": "sets = " + "[" * 50_000,
    "tables": "sets = " + "{a = " * 50_000 + "1" + "}" * 50_000,
    "digits": "sets = " + "9" * 5_000,
    "fewer digits": "sets = " + "9" * 4_000,
    "dotted keys": ".".join("a" for _ in range(50_000)) + " = 1",
    "dotted table": "[" + ".".join("a" for _ in range(50_000)) + "]",
}


@covers(114)
@pytest.mark.parametrize("content", BAD_TOML.values(), ids=BAD_TOML)
def test_toml_that_is_nested_or_long_beyond_reason(
    command: Command, make_file: MakeFile, tmp_path: Path, content: str
) -> None:
    plan = make_file(content, "plan.toml")
    with pytest.raises(SettingError) as caught:
        read_settings(plan, StudyPlan, "plan")
    assert caught.value.__cause__ is None
    answer = command("run", plan, "--out", tmp_path / "out")
    assert answer.code == ExitCode.WRONG_INPUT
    answer = command("check", make_file(DATA), "--synthesize", "county", "--codebook", plan)
    assert answer.code == ExitCode.WRONG_INPUT


@covers(114)
def test_plans_in_python_that_are_nested_beyond_reason() -> None:
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]
    circular: dict[str, Any] = {}
    circular["data"] = circular
    for plan in ({"sets": deep}, circular):
        with pytest.raises(SettingError, match="nested too deeply"):
            plan_from(plan)


@covers(114)
def test_numbers_on_the_command_line(command: Command, make_file: MakeFile) -> None:
    path = make_file(DATA)
    answer = command("run", path, "--out", "x", "--seed", "9" * 5_000)
    assert answer.code == ExitCode.WRONG_INPUT
