"""Runs a job again and again in child processes, each time with another fault planted.

Starting a program costs seconds, dying costs nothing. So one process, the nursery, imports and
warms up everything once and then forks a child for every run: a run costs what the job costs.

A job is a function of a module, named ``"package.module:function"``. It takes keyword arguments
that can be written as JSON and returns something that can, such as a digest of all it made. In
the child every write to a file opened in Python, every fsync, rename and unlink is counted, and
the fault strikes at one of them::

    with Nursery("tests.faults.test_fits:job", warm="tests.faults.test_fits:warm") as nursery:
        calm = nursery.run({"folder": str(tmp_path / "calm")})
        for number, fault in enumerate(faults_at_every_call(calm.calls)):
            struck = {"folder": str(tmp_path / str(number))}
            nursery.run(struck, fault=fault)        # dies, or raises
            again = nursery.run(struck)             # goes on
            assert again.value == calm.value

A signal at any instant is given as a `Strike`: it comes before a numbered line of Python that the
job's main thread runs, in whatever file. So the machine's speed does not matter::

    calm = nursery.run(arguments, strike=COUNT)         # calm.lines: how many there are
    nursery.run(arguments, strike=Strike(calm.lines // 2, signal.SIGKILL))

Signals from outside are pairs (seconds after the start, signal)::

    nursery.run(arguments, signals=[(0.02, signal.SIGKILL)])

`warm` is called once before the first fork. Whatever keeps threads of its own (a data frame
library that has already worked) may not survive a fork: let the job do that, and warm up only
what it needs compiled.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

__all__ = ["COUNT", "Ended", "Fault", "Nursery", "Strike", "faults_at_every_call"]

ROOT = Path(__file__).parents[2]
STOPPED = 77  # exit code of a child that its fault has stopped
INTERRUPTED = {"status": "raised", "error": "KeyboardInterrupt: "}
Kind = Literal["stop", "torn", "full"]


class Fault(NamedTuple):
    """What goes wrong, and at which call.

    Attributes
    ----------
    number : int
        Of the calls in `Ended.calls`, counted from 0.
    kind : {"stop", "torn", "full"}
        The process is gone before the call; half of what is written reaches the file and the
        process is gone; the disk is full, half of what is written reaches it, and the call raises.
    """

    number: int
    kind: Kind


class Strike(NamedTuple):
    """A signal that the process sends itself before a numbered line.

    Attributes
    ----------
    line : int
        Of the lines that the job's main thread runs, counted from 0; -1 counts them only.
    signal : int
        SIGINT raises KeyboardInterrupt right there.
    again : float
        Seconds after which a second KeyboardInterrupt comes; 0 for none.
    """

    line: int
    signal: int
    again: float = 0.0


COUNT = Strike(-1, 0)


class Ended(NamedTuple):
    """How a run ended.

    Attributes
    ----------
    status : str
        ``"done"``, ``"raised"``, ``"stopped"`` by its fault, or ``"killed"`` by a signal.
    value : Any
        What the job returned.
    error : str
        Type and text of what it raised.
    calls : list of str
        The calls that it made: write, fsync, rename, unlink. Empty if it died.
    lines : int
        The lines that its main thread ran; 0 where they were not counted.
    signal : int
        The signal that killed it, or 0.
    seconds : float
        How long it took.
    """

    status: str
    value: Any = None
    error: str = ""
    calls: list[str] = []  # noqa: RUF012
    lines: int = 0
    signal: int = 0
    seconds: float = 0.0


def faults_at_every_call(calls: Sequence[str]) -> Iterator[Fault]:
    """Give all faults that a run with these calls can meet."""
    for number, call in enumerate(calls):
        yield Fault(number, "stop")
        if call == "write":
            yield Fault(number, "torn")
        if call != "unlink":
            yield Fault(number, "full")


class Nursery:
    """A warmed-up process that forks a child for every run of a job.

    Parameters
    ----------
    job : str
        ``"package.module:function"``.
    warm : str, optional
        The same, called once without arguments before the first run.
    """

    def __init__(self, job: str, warm: str = "") -> None:
        command = [sys.executable, "-W", "ignore", "-m", "tests.faults.harness", job, warm]
        self._process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(
        self,
        arguments: dict[str, Any],
        fault: Fault | None = None,
        signals: Sequence[tuple[float, int]] = (),
        timeout: float = 600.0,
        strike: Strike | None = None,
    ) -> Ended:
        """Run the job once in a child of its own, and tell how it ended.

        A child that is not done after `timeout` seconds is killed, and that is an error.
        """
        asked = {
            "arguments": arguments,
            "fault": fault,
            "signals": [(after, int(number)) for after, number in signals],
            "timeout": timeout,
            "strike": strike,
        }
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(asked), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError("the nursery has died; its words are in the captured stderr")
        ended = Ended(**json.loads(answer))
        if ended.status == "hung":
            raise TimeoutError(f"the job was not done after {timeout} seconds")
        return ended

    def __enter__(self) -> Self:
        """Nothing is left to do: the nursery is warming up already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Send the nursery home."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=600)


def _environment() -> dict[str, str]:
    """The surroundings of the nursery: the same package, and no coverage of runs by the hundred."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    return own | {"PYTHONPATH": os.pathsep.join([*_package_paths(), str(ROOT)])}


def _package_paths() -> list[str]:
    """Find where this process has the package from, so that planted bugs come along."""
    import understudy

    return [str(Path(understudy.__file__).parents[1])]


class _Watch:
    """Counts calls in a child and lets its fault strike."""

    def __init__(self, fault: Fault | None) -> None:
        self.fault = fault
        self.calls: list[str] = []

    def kind_now(self, name: str) -> Kind | None:
        """Count a call; give what has to go wrong at it."""
        self.calls.append(name)
        struck = self.fault is not None and len(self.calls) - 1 == self.fault.number
        if not struck or self.fault is None:
            return None
        if self.fault.kind == "stop":
            os._exit(STOPPED)
        return self.fault.kind

    def guarded(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        """Count the calls of a function of the operating system."""

        def call(*arguments: Any, **options: Any) -> Any:
            if self.kind_now(name) is not None:
                raise _disk_full()
            return real(*arguments, **options)

        return call

    def opener(self, real: Callable[..., Any]) -> Callable[..., Any]:
        """Count the writes to all files that are opened for writing."""

        def call(file: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            opened = real(file, mode, *arguments, **options)
            return _WatchedFile(opened, self) if set(mode) & set("wax+") else opened

        return call

    def plant(self) -> None:
        """Put the counting functions in place."""
        builtins.open = self.opener(builtins.open)
        io.open = self.opener(io.open)
        os.fsync = self.guarded("fsync", os.fsync)
        for name in ("rename", "replace", "link"):
            setattr(os, name, self.guarded("rename", getattr(os, name)))
        for name in ("unlink", "remove"):
            setattr(os, name, self.guarded("unlink", getattr(os, name)))


class _WatchedFile:
    """A file whose writes are counted."""

    def __init__(self, file: Any, watch: _Watch) -> None:
        self._file = file
        self._watch = watch

    def write(self, content: Any) -> int:
        kind = self._watch.kind_now("write")
        if kind is None:
            written: int = self._file.write(content)
            return written
        self._file.write(content[: len(content) // 2])
        self._file.flush()
        if kind == "torn":
            os._exit(STOPPED)
        raise _disk_full()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        self._file.__enter__()
        return self

    def __exit__(self, *arguments: object) -> None:
        self._file.__exit__(*arguments)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


def _disk_full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _function(named: str) -> Callable[..., Any]:
    module, _, name = named.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


class _Lines:
    """Counts the lines that a thread runs, and strikes before one of them."""

    def __init__(self, strike: Strike | None) -> None:
        self.strike = strike
        self.n_run = 0

    def trace(self, _frame: object, event: str, _argument: object) -> Any:
        """Be called by the interpreter before every line; what it raises, the line raises."""
        if event == "line" and self.strike is not None:
            self.n_run += 1
            if self.n_run == self.strike.line + 1:
                if self.strike.again:
                    signal.signal(signal.SIGALRM, _interrupt)
                    signal.setitimer(signal.ITIMER_REAL, self.strike.again)
                signal.raise_signal(self.strike.signal)
        return self.trace


def _interrupt(_number: int, _frame: object) -> None:
    """Turn an alarm into an interruption from the keyboard."""
    signal.raise_signal(signal.SIGINT)


def _live(job: Callable[..., Any], asked: dict[str, Any], answering: int) -> None:
    """Be the child: run the job with its fault, and answer, whenever an interruption comes."""
    watch = _Watch(Fault(*asked["fault"]) if asked["fault"] else None)
    lines = _Lines(Strike(*asked["strike"]) if asked["strike"] else None)
    answer: dict[str, Any] = INTERRUPTED
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        watch.plant()
        try:
            if lines.strike is not None:
                sys.settrace(lines.trace)
            answer = {"status": "done", "value": job(**asked["arguments"])}
        except BaseException as problem:  # noqa: BLE001
            answer = {"status": "raised", "error": f"{type(problem).__name__}: {problem}"}
        _ignore_interruptions()
    except KeyboardInterrupt:  # before the job, or a second one on the way out
        _ignore_interruptions()
    told = {**answer, "calls": watch.calls, "lines": lines.n_run}
    os.write(answering, json.dumps(told).encode())


def _ignore_interruptions() -> None:
    sys.settrace(None)
    while True:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # one that was on its way
            continue
        return


def _watch_over(child: int, answers: int, asked: dict[str, Any]) -> dict[str, Any]:
    """Be the parent: send the signals, collect the answer."""
    begin = time.monotonic()
    events = sorted([*map(tuple, asked["signals"]), (asked["timeout"], 0)])
    content = b""
    hung = False
    for after, number in events:
        ended = False
        while not ended and (left := begin + after - time.monotonic()) > 0:
            if select.select([answers], [], [], left)[0]:
                read = os.read(answers, 1 << 16)
                content += read
                ended = not read
        if ended:
            break
        hung = number == 0
        os.kill(child, number or signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while read := os.read(answers, 1 << 16):
        content += read
    seconds = time.monotonic() - begin
    if hung:
        return {"status": "hung"}
    if os.WIFSIGNALED(status):
        return {"status": "killed", "signal": os.WTERMSIG(status), "seconds": seconds}
    if os.WEXITSTATUS(status) == STOPPED:
        return {"status": "stopped", "seconds": seconds}
    answer = json.loads(content) if content else INTERRUPTED  # struck before it could answer
    return {**answer, "seconds": seconds}


def _serve(job: str, warm: str) -> None:
    """Be the nursery: warm up, then fork a child for every line that is asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    telling = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a job prints is no answer
    function = _function(job)
    if warm:
        _function(warm)()
    for line in sys.stdin:
        asked = json.loads(line)
        answers, answering = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(answers)
            code = 1
            try:
                _live(function, asked, answering)
                code = 0
            finally:
                os._exit(code)
        os.close(answering)
        ended = _watch_over(child, answers, asked)
        os.close(answers)
        print(json.dumps(ended), file=telling, flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2])
