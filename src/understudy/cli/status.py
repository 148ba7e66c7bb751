"""``understudy status`` and ``understudy open``: how far a study is, and its report."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.options import AsJson
from understudy.cli.output import paragraph, say, say_json
from understudy.errors import ExitCode, quoted

if TYPE_CHECKING:
    from understudy.study.status import StudyStatus

__all__ = ["open_report", "status"]


def status(
    directory: Path,
    /,
    *,
    as_json: AsJson = False,
) -> ExitCode:
    """Say how far a study is, and what it decided. It may be running.

    Parameters
    ----------
    directory
        The study's folder: what understudy run was given with --out.
    as_json
        Print JSON.
    """
    from understudy.study.status import study_status

    now = study_status(directory)
    if as_json:
        say_json(
            {
                "finished": now.finished,
                "missing": now.missing,
                "running": now.running,
                "outcome": None if now.verdict is None else now.verdict.outcome,
                "recommended": None if now.verdict is None else now.verdict.recommended,
                "report": None if now.report is None else str(now.report),
                "approved": now.approved,
            }
        )
    else:
        _show(now)
    return ExitCode.DONE


def _show(now: StudyStatus) -> None:
    steps = len(now.finished) + len(now.missing)
    say(f"{len(now.finished)} of {steps} stages are finished.")
    if now.running:
        say("The study is running.")
    elif now.missing:
        say(paragraph(f"It is not running. The next stage is {quoted(now.missing[0])}."))
        say("To go on, give understudy run the same plan and folder again.")
    if now.verdict is not None:
        best = now.verdict.recommended
        say(f"Verdict: {now.verdict.outcome}" + (f", recommended: {best}" if best else ""))
    if now.approved:
        say("An approval of a release is recorded.")
    if now.report is not None:
        say(f"Report: {now.report}")


def open_report(directory: Path, /) -> ExitCode:
    """Show the report of a study in the browser. It is confidential.

    Parameters
    ----------
    directory
        The study's folder: what understudy run was given with --out.
    """
    from understudy.study.status import whole_report

    report = whole_report(directory)
    say(f"Report: {report}")
    if not webbrowser.open(report.absolute().as_uri()):
        say("No browser could be started here: open the file in one.")
    return ExitCode.DONE
