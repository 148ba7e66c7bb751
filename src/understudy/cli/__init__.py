"""The command line: one thin file per command, no statistics.

Commands are loaded when they are called, so that ``understudy --help`` answers at once. Whatever
goes wrong ends here, in one message on the error stream and one exit code (`shell`).
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast, get_args

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    UnknownOptionError,
)

import understudy
from understudy.cli.shell import (
    check_memory_limit,
    code_after_output,
    prepare_process,
    tolerated_streams,
)
from understudy.errors import ExitCode, UnderstudyError, message, nearest, quoted, quoted_list
from understudy.public_errors import public_error

__all__ = ["app", "main"]

app = App(
    name="understudy",
    help="Stand-in data for confidential surveys: synthesize, measure, decide, release.",
    version=understudy.__version__,
    help_format="markdown",  # sets paragraphs anew, whatever the width
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)
app.command("understudy.cli.check:check", help="Show what is in a file, and what to do about it.")
app.command("understudy.cli.compare:compare", help="Compare finished studies.")
app.command("understudy.cli.demo:demo", help="Run a whole study on the bundled data.")
app.command(
    "understudy.cli.evaluate:evaluate", help="Measure and judge synthetic files made by any tool."
)
app.command(
    "understudy.cli.reproduce:reproduce", help="Compare the paper's tables and figures with ours."
)
app.command(
    "understudy.cli.frontier:frontier",
    help="Find the most useful settings that still protect.",
)
app.command("understudy.cli.init:init", help="Write a commented plan and a draft codebook.")
app.command(
    "understudy.cli.release:release",
    help="Make the public folder of a study.",
)
app.command("understudy.cli.run:run", help="Run a whole study from a plan, or go on with it.")
app.command("understudy.cli.status:status", help="Say how far a study is, and what it decided.")
app.command(
    "understudy.cli.status:open_report", name="open", help="Show a study's report in the browser."
)
app.command("understudy.cli.verify:verify", help="Check a public folder against its manifest.")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and end the program with its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Instead of those of the command line.
    """
    for library in ("OPENBLAS", "MKL", "OMP"):  # chains use all cores; small matrices must not
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    prepare_process()
    given = list(sys.argv[1:] if arguments is None else arguments)
    with tolerated_streams() as out:
        code = code_after_output(_run(given), out, given)
    sys.exit(code)


def _run(arguments: list[str]) -> ExitCode:
    try:
        if arguments and not arguments[0].startswith("-"):
            check_memory_limit()
        _with_whole_help(arguments)
        with _plain_warnings():
            result = app(arguments, exit_on_error=False, print_error=False)
        return result if isinstance(result, ExitCode) else ExitCode.DONE
    except UnderstudyError as problem:
        return _say(str(problem), problem.exit_code)
    except CycloptsError as problem:
        return _say(_usage(problem, arguments), ExitCode.WRONG_INPUT)
    except KeyboardInterrupt:
        return _say("Interrupted. Nothing half-written was left behind.", ExitCode.INTERRUPTED)
    except BaseException as problem:  # noqa: BLE001 - also what libraries raise beside Exception
        return _unforeseen(problem)


def _with_whole_help(arguments: Sequence[str]) -> None:
    """Let the help of a single command say all of its docstring, not only one line."""
    if {"--help", "-h"} & set(arguments) and arguments[0] in list(app):
        app[arguments[0]].help = None


def _unforeseen(problem: BaseException) -> ExitCode:
    """End after a fault of ours, or a lack of memory, without the text of the error."""
    try:
        error = public_error(problem)
    except BaseException:  # noqa: BLE001 - there may be no memory left for it
        error = problem
    if isinstance(error, UnderstudyError):
        return _say(str(error), error.exit_code)
    if isinstance(error, SystemExit) and error.code in {None, 0}:
        return ExitCode.DONE
    return _say(
        f"a fault in the program itself ({type(error).__name__}).", ExitCode.FAULT_IN_PROGRAM
    )


def _say(text: str, code: ExitCode) -> ExitCode:
    print(f"understudy: {text}", file=sys.stderr)  # noqa: T201
    return code


def _usage(problem: CycloptsError, arguments: Sequence[str]) -> str:
    """Put the complaint about the command line into our grammar."""
    command = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    known = [name for name in app if not name.startswith("-")]
    if command and command not in known:
        return message(
            expected=f"a command: {', '.join(sorted(known))}",
            came=f"{quoted(command)}{nearest(command, known)}",
            do="see understudy --help",
        )
    if isinstance(problem, UnknownOptionError) and problem.token is not None:
        given = problem.token.keyword or problem.token.value
        options = [
            name for argument in problem.argument_collection or () for name in argument.names
        ]
        came = f"{quoted(given)}{nearest(given, options)}"
    elif isinstance(problem, MissingArgumentError) and problem.argument is not None:
        return message(
            expected=f"{_named(problem.argument.name)} for the command {command}",
            came="none",
            do=f"see understudy {command} --help",
        )
    elif isinstance(problem, CoercionError) and problem.token and problem.token.keyword:
        return _wrong_value(problem.token.keyword, problem.token.value, problem.target_type)
    else:
        came = " ".join(str(problem).split()).rstrip(".").replace('Command "', 'that the command "')
    return message(
        expected=f"arguments as the command {command} takes them",
        came=came,
        do=f"see understudy {command} --help",
    )


def _wrong_value(option: str, value: str, wanted: object) -> str:
    """Say what an option's value should have been: one of a few words, or of a kind."""
    words = [word for word in get_args(wanted) if isinstance(word, str)]
    kind = {int: "a whole number", float: "a number"}.get(cast("Any", wanted), "another value")
    return message(
        expected=f"{option} as {f'one of {quoted_list(words)}' if words else kind}",
        came=f"{quoted(value)}{nearest(value, words)}",
        do="correct it",
    )


def _named(argument: str) -> str:
    """Name an option, or a word that needs no option."""
    return f"a value of {argument}" if argument.startswith("-") else argument


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show warnings as one plain line each."""

    def show(text: Warning | str, *_: object, **__: object) -> None:
        print(f"note: {text}", file=sys.stderr)  # noqa: T201

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show  # type: ignore[assignment]
        yield
