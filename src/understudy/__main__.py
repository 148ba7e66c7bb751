"""Run the command line, as ``understudy`` or ``python -m understudy``.

Where even loading the program fails, for lack of memory, that is no verdict: the exit code 1 is
never given here.
"""

import sys

from understudy.errors import ExitCode


def main() -> None:
    """Load the commands, run one, and end the program with its exit code."""
    try:
        from understudy.cli import main as run
    except BaseException as problem:  # noqa: BLE001
        text = f"understudy: cannot be loaded ({type(problem).__name__}): is there enough memory?"
        print(text, file=sys.stderr)  # noqa: T201
        sys.exit(ExitCode.FAULT_IN_PROGRAM)
    run()


if __name__ == "__main__":
    main()
