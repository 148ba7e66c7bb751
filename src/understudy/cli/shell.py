"""Around every command: standard streams that may be closed or full, core dumps, exit codes.

The exit code 1 is the verdict's alone. Output that cannot be written changes the exit code only
where the output was all that the command had to give; work that was done is done.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

from understudy.errors import ExitCode, NotEnoughMemoryError

__all__ = [
    "ToleratedStream",
    "check_memory_limit",
    "code_after_output",
    "prepare_process",
    "tolerated_streams",
]

# Commands that leave files behind; the others only print.
WORKING = {"demo", "frontier", "init", "release", "reproduce", "run"}

# Bytes of address space: what the libraries map, and the stack and heap of each of their threads.
MEMORY_TO_START = 2 << 30
MEMORY_PER_THREAD = 96 << 20


class ToleratedStream:
    """A stream whose writes may fail: the terminal behind it can be closed, the disk full.

    Attributes
    ----------
    problem : str or None
        Why something could not be written; None also where its reader has simply gone.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.problem: str | None = None

    def write(self, text: str) -> int:
        """Write, or remember why not."""
        try:
            self._stream.write(text)
        except (OSError, ValueError) as problem:
            self._drop(problem)
        return len(text)

    def flush(self) -> None:
        """Flush, or remember why not."""
        try:
            self._stream.flush()
        except (OSError, ValueError) as problem:
            self._drop(problem)

    def _drop(self, problem: OSError | ValueError) -> None:
        """Send the rest nowhere, so that nothing fails again when the program ends."""
        if isinstance(problem, OSError) and not isinstance(problem, BrokenPipeError):
            self.problem = self.problem or os.strerror(problem.errno or 0)
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        """Be the stream in everything else."""
        return getattr(self._stream, name)


def prepare_process() -> None:
    """Open what is closed of the standard streams, and let no crash write memory to the disk.

    A file that is opened later would otherwise take the number of a closed stream, and messages
    would be written into it.
    """
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR)
        while nowhere <= 2:
            nowhere = os.open(os.devnull, os.O_RDWR)
        os.close(nowhere)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
    if not re.fullmatch(r"[0-9]{1,11}", os.environ.get("SOURCE_DATE_EPOCH", "0")):
        del os.environ["SOURCE_DATE_EPOCH"]  # libraries fail at it, and nothing here has a date
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def check_memory_limit() -> None:
    """Refuse a limit of memory under which libraries would wait forever for their threads."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    except (ImportError, OSError, ValueError):
        return
    needed = MEMORY_TO_START + MEMORY_PER_THREAD * (os.cpu_count() or 1)
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise NotEnoughMemoryError(
            expected=f"at least {needed / 2**30:.1f} GiB of address space to start with",
            came=f"a limit of {limit / 2**30:.1f} GiB (ulimit -v)",
            do=f"raise it: ulimit -v {-(-needed // 1024)}",
        )


@contextmanager
def tolerated_streams() -> Iterator[ToleratedStream]:
    """Let no write to the standard streams fail; give that of the output."""
    before = sys.stdout, sys.stderr
    out, errors = map(ToleratedStream, before)
    for stream in before:
        if hasattr(stream, "reconfigure"):
            with suppress(OSError, ValueError):
                stream.reconfigure(errors="backslashreplace")
    sys.stdout, sys.stderr = cast("Any", out), cast("Any", errors)
    try:
        yield out
    finally:
        out.flush()
        errors.flush()
        sys.stdout, sys.stderr = before


def code_after_output(code: ExitCode, out: ToleratedStream, arguments: Sequence[str]) -> ExitCode:
    """Give the exit code of a command, some of whose output may be lost; say so."""
    out.flush()
    if out.problem is None:
        return code
    command = next((argument for argument in arguments if not argument.startswith("-")), "")
    working = command in WORKING
    done = " The work itself is done." if working and code == ExitCode.DONE else ""
    print(  # noqa: T201
        f"understudy: the output could not be written ({out.problem}).{done}", file=sys.stderr
    )
    return ExitCode.WRONG_INPUT if code == ExitCode.DONE and not working else code
