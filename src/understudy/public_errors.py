"""No error leaves a public function with a value of the data in it.

Our own errors have texts without values. What lies behind them has not: the error of a library
that caused one, and the frames of the traceback with all their variables, which tools that collect
errors store and send. So at the border of the package

* our own errors and warnings lose their causes, contexts and inner frames;
* every other error becomes an `InternalError`, which names its type and where it was raised;
* interruptions, calls with wrong arguments, and errors of the user's own functions pass.

Developers set ``UNDERSTUDY_TRACEBACKS=1`` to see everything; then errors may show values.
"""

from __future__ import annotations

import errno
import functools
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

from understudy.errors import FileError, InternalError, NotEnoughMemoryError, UnderstudyError

__all__ = ["from_the_user", "only_our_errors", "public_error", "where_raised"]

P = ParamSpec("P")
Result = TypeVar("Result")
USERS = "_understudy_users_own"
VARIABLE = "UNDERSTUDY_TRACEBACKS"
PATHS = {errno.ENAMETOOLONG, errno.ELOOP}  # the fault of a path, wherever it is noticed
PASSING = (KeyboardInterrupt, SystemExit, GeneratorExit)


def only_our_errors(function: Callable[P, Result]) -> Callable[P, Result]:
    """Let errors leave a public function or method only without values of the data."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> Result:
        if os.environ.get(VARIABLE):
            return function(*arguments, **options)
        error: BaseException
        try:
            return function(*arguments, **options)
        except BaseException as problem:  # noqa: BLE001
            wrong_call = problem.__traceback__ is None or problem.__traceback__.tb_next is None
            error = problem if wrong_call else public_error(problem)
        try:
            raise _bare(error)
        finally:
            del error  # its traceback holds this frame

    return call


def public_error(problem: BaseException) -> BaseException:
    """Give the error that may leave in the place of another one, or that one."""
    ours = isinstance(problem, UnderstudyError | Warning)
    if ours or isinstance(problem, PASSING) or getattr(problem, USERS, False):
        return problem
    if _memory_ran_out(problem):
        return NotEnoughMemoryError(
            expected="enough memory for this step",
            came="that the system gives no more",
            do="raise the limit (ulimit -v), close other programs, ignore columns that are not "
            "needed, or take a larger machine; what was saved before is whole",
        )
    if isinstance(problem, OSError) and problem.errno in PATHS:
        return FileError(
            expected="paths that the system can use",
            came=f"one that it cannot ({os.strerror(problem.errno)})",
            do="give a shorter path, or one that leads somewhere",
        )
    return InternalError(
        expected="no fault in the program itself",
        came=f"{type(problem).__name__} in {where_raised(problem)}",
        do="report it with this line, which shows nothing of your data",
    )


def _memory_ran_out(problem: BaseException) -> bool:
    """Recognize a lack of memory, which libraries also report as a lack of threads or files."""
    if isinstance(problem, OSError):
        return problem.errno == errno.ENOMEM
    words = ("cannot allocate memory", "failed to map segment", "can't start new thread")
    told = isinstance(problem, ImportError | RuntimeError) and any(
        text in str(problem).lower() for text in words
    )
    return told or isinstance(problem, MemoryError)


def _bare(error: BaseException) -> BaseException:
    """Take away what an error remembers, unless it is the user's own."""
    if getattr(error, USERS, False):
        return error
    error.__cause__ = None
    error.__context__ = None
    return error.with_traceback(None)


def from_the_user(function: Callable[P, Result] | None) -> Callable[P, Result] | None:
    """Mark the errors of a function that the user gave, so that they pass as they are."""
    if function is None:
        return None

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> Result:
        try:
            return function(*arguments, **options)
        except Exception as problem:
            setattr(problem, USERS, True)
            raise

    return call


def where_raised(problem: BaseException) -> str:
    """Name the file of ours and the line from which an error came."""
    frames = traceback.extract_tb(problem.__traceback__)
    named = [frame for frame in frames if "understudy" in Path(frame.filename).parts] or list(
        frames
    )
    named = [frame for frame in named if Path(frame.filename).name != Path(__file__).name] or named
    return f"{Path(named[-1].filename).name}, line {named[-1].lineno}" if named else "unknown"
