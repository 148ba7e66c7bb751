"""Everything that can go wrong, as one tree, with one grammar for every message.

::

    UnderstudyError
    ├── InputError (also a ValueError)    what the user gave cannot be used
    │   ├── FileError                     a file cannot be found, opened or trusted
    │   ├── FormatError                   a file's content is not the table it should be
    │   ├── ColumnError                   columns: names, roles, kinds of values
    │   ├── LevelError                    levels: the categories inside a column
    │   ├── MissingValuesError            values that are not there
    │   ├── AlignmentError                synthetic rows that do not match their records
    │   ├── SetIndexError                 (also an IndexError) a synthetic set that is not there
    │   └── SettingError                  an option, a codebook or a plan
    ├── OutputError                       something cannot be written where it was asked for
    │   └── CheckpointError               a run cannot be saved in a folder, or go on from it
    ├── ReleaseRefused                    what was asked for may not be released
    │   ├── ApprovalNeeded                before another person approves it
    │   └── NotConvergedError             because the draws are not reliable yet
    ├── SamplerError                      a sampler met numbers it cannot continue with
    ├── WorkerError                       workers that cannot help, or are gone
    ├── NotEnoughMemoryError              (also a MemoryError) the system gives no more memory
    └── InternalError                     a fault in the program itself

    UnderstudyWarning (a UserWarning)
    ├── CheckpointWarning                 part of a saved run is damaged and is computed again
    ├── ConvergenceWarning                draws that are not reliable yet
    └── DataWarning                       the data can be used, and deserve a second look

Every message says what was expected, what came, and what to do, and never shows a value of a
confidential column: names of columns, counts and line numbers are all it may contain.
"""

from __future__ import annotations

import difflib
import inspect
import os
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import Any

__all__ = [
    "AlignmentError",
    "ApprovalNeeded",
    "CheckpointError",
    "CheckpointWarning",
    "ColumnError",
    "ConvergenceWarning",
    "DataWarning",
    "ExitCode",
    "FileError",
    "FormatError",
    "InputError",
    "InternalError",
    "LevelError",
    "MissingValuesError",
    "Mistakes",
    "NotConvergedError",
    "NotEnoughMemoryError",
    "OutputError",
    "ReleaseRefused",
    "SamplerError",
    "SetIndexError",
    "SettingError",
    "UnderstudyError",
    "UnderstudyWarning",
    "WorkerError",
    "message",
    "nearest",
    "quoted",
    "quoted_list",
    "visible",
    "warn_user",
]

PACKAGE = os.path.dirname(__file__) + os.sep  # noqa: PTH120 - as code objects have it
LONGEST_NAME = 60
MOST_NAMES = 12
MOST_COMPARED = 5000  # names among which the nearest one is looked for


class ExitCode(IntEnum):
    """What the program's exit status means."""

    DONE = 0
    DO_NOT_RELEASE = 1
    WRONG_INPUT = 2
    NOT_CONVERGED = 3
    INTERRUPTED = 4
    FAULT_IN_PROGRAM = 70


def message(expected: str, came: str, do: str) -> str:
    """Put the three parts of a message into the one grammar."""
    return f"Expected {expected}; found {came}. What to do: {do}."


class UnderstudyError(Exception):
    """Root of all errors this package raises on purpose.

    Parameters
    ----------
    expected, came, do : str
        What was expected, what came instead, and what the reader can do about it.
    """

    exit_code = ExitCode.WRONG_INPUT

    def __init__(self, expected: str, came: str, do: str) -> None:
        super().__init__(message(expected, came, do))
        self.expected = expected
        self.came = came
        self.do = do

    @property
    def advice(self) -> str:
        """What came and what to do, for lists where it is clear what was expected."""
        return f"{self.came}: {self.do}"

    def __reduce__(self) -> tuple[type[UnderstudyError], tuple[str, str, str]]:
        """Keep the three parts when the error travels between processes."""
        return type(self), (self.expected, self.came, self.do)


class InputError(UnderstudyError, ValueError):
    """What the user gave cannot be used."""


class FileError(InputError):
    """A file cannot be found, opened or trusted."""


class FormatError(InputError):
    """A file's content is not the table it should be."""


class ColumnError(InputError):
    """A column's name, role or kind of values is wrong.

    Attributes
    ----------
    column : str or None
        Name of the column that cannot be used, where the fault lies with one.
    """

    column: str | None = None

    def about(self, column: str) -> ColumnError:
        """Say which column the error is about, and return the error."""
        self.column = column
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Keep the column too when the error travels between processes."""
        return (*super().__reduce__(), {"column": self.column})


class LevelError(InputError):
    """The levels of a column are wrong."""


class MissingValuesError(InputError):
    """Values are missing where none may be."""


class AlignmentError(InputError):
    """The rows of a synthetic set do not match the records that they replace."""


class SetIndexError(InputError, IndexError):
    """There is no synthetic set with this number."""


class SettingError(InputError):
    """An option, a codebook or a plan is wrong."""


class OutputError(UnderstudyError):
    """Something cannot be written where it was asked for."""


class CheckpointError(OutputError):
    """A run cannot be saved in a folder, or cannot go on from what is saved there."""


class ReleaseRefused(UnderstudyError):  # noqa: N818
    """What was asked for may not be released."""

    exit_code = ExitCode.DO_NOT_RELEASE


class ApprovalNeeded(ReleaseRefused):
    """The release waits for the approval of another person; this one is recorded."""

    exit_code = ExitCode.WRONG_INPUT


class NotConvergedError(ReleaseRefused):
    """The release is refused because the draws are not reliable yet."""

    exit_code = ExitCode.NOT_CONVERGED


class SamplerError(UnderstudyError):
    """A sampler met numbers it cannot continue with.

    Attributes
    ----------
    sweep : int
        In which sweep, from 1; 0 where that is not known.
    """

    exit_code = ExitCode.NOT_CONVERGED
    sweep: int = 0


class WorkerError(UnderstudyError):
    """Workers on other processes or machines that cannot help, or are gone."""


class NotEnoughMemoryError(UnderstudyError, MemoryError):
    """The system gives no more memory."""


class InternalError(UnderstudyError):
    """A fault in the program itself; its text names where, and nothing of the data."""

    exit_code = ExitCode.FAULT_IN_PROGRAM


class Mistakes:
    """Several mistakes, gathered so that all are reported at once."""

    def __init__(self) -> None:
        self.errors: list[tuple[str, UnderstudyError]] = []

    @contextmanager
    def noted(self, where: str) -> Iterator[None]:
        """Note a mistake with its key in the plan, and continue."""
        try:
            yield
        except UnderstudyError as problem:
            self.errors.append((where, problem))

    def tell(self) -> None:
        """Raise a single mistake as it is, or several together; do nothing without any."""
        if len(self.errors) == 1:
            raise self.errors[0][1]
        if self.errors:
            listed = "; ".join(f"{quoted(where)}: {error.advice}" for where, error in self.errors)
            raise SettingError(
                expected="a plan that fits its data",
                came=f"{len(self.errors)} mistakes: {listed}",
                do="correct all of them",
            )


class UnderstudyWarning(UserWarning):
    """Root of all warnings of this package."""


class CheckpointWarning(UnderstudyWarning):
    """Part of a saved run is damaged and is computed again."""


class ConvergenceWarning(UnderstudyWarning):
    """Draws that are not reliable yet."""


class DataWarning(UnderstudyWarning):
    """The data can be used, and deserve a second look."""


def quoted(name: object) -> str:
    """Show a column or option name safely: escaped, shortened, in quotation marks.

    Control characters, line breaks and marks that turn the reading direction are written as
    escapes, so that a name cannot forge a line of a log or move the cursor of a terminal.
    """
    shown = "".join(visible(character) for character in str(name))
    if len(shown) > LONGEST_NAME:
        shown = shown[: LONGEST_NAME - 1] + "…"
    return f'"{shown}"'


def visible(character: str) -> str:
    """Write a character that cannot be seen, or that moves others, as its escape."""
    if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return character.encode("unicode_escape").decode("ascii")
    return character


def quoted_list(names: Iterable[object]) -> str:
    """Show several names, and how many more there are beyond the first dozen."""
    listed = list(names)
    shown = ", ".join(quoted(name) for name in listed[:MOST_NAMES])
    if len(listed) > MOST_NAMES:
        shown += f" and {len(listed) - MOST_NAMES} more"
    return shown or "none"


def nearest(name: str, allowed: Iterable[str]) -> str:
    """Say which allowed name is nearest to a mistyped one, as a sentence part or nothing."""
    listed = list(allowed)
    few = listed if len(listed) <= MOST_COMPARED else []
    close = difflib.get_close_matches(name, few, n=1, cutoff=0.6)
    return f" (nearest: {quoted(close[0])})" if close else ""


def warn_user(text: str | Warning, category: type[Warning]) -> None:
    """Warn with the line of the user's program that called the package, not with one of ours."""
    frame, level, outermost = inspect.currentframe(), 0, 1
    while frame is not None:
        level += 1
        if frame.f_code.co_filename.startswith(PACKAGE):
            outermost = level
        frame = frame.f_back
    warnings.warn(text, category, stacklevel=outermost + 1)
