"""``understudy compare``: finished studies beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from understudy.cli.confidential_page import new_page
from understudy.cli.options import AsJson
from understudy.cli.output import paragraph, say, say_json, table
from understudy.cli.run import COLUMNS, EXPLANATION, verdict_as_json, verdict_row
from understudy.errors import ExitCode

__all__ = ["compare"]


def compare(
    directories: Annotated[tuple[Path, ...], Parameter(negative="")],
    /,
    *,
    report: Path | None = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Put finished studies beside each other: outcomes, risk and utility.

    Parameters
    ----------
    directories
        Folders of finished studies.
    report
        A page to write (.html), with a picture. Confidential, like the studies.
    as_json
        Print JSON.
    """
    from understudy.study.compared_studies import compared_page, compared_studies

    folders = list(dict.fromkeys(directory.absolute() for directory in directories))
    studies = compared_studies(folders)
    if report is not None:
        with new_page(report) as target:
            target.write_text(compared_page(studies), encoding="utf-8")
    if as_json:
        pages = [folder / "internal" / "report.html" for folder in folders]
        say_json(
            {
                name: verdict_as_json(verdict, page)
                for (name, _, verdict), page in zip(studies, pages, strict=True)
            }
        )
        return ExitCode.DONE
    rows = [
        (name, *verdict_row(synthesizer, own))
        for name, _, verdict in studies
        for synthesizer, own in verdict.synthesizers.items()
    ]
    say(table(("study", "synthesizer", "outcome", "converged", *COLUMNS), rows, left=4))
    say(paragraph(EXPLANATION, "  ", "  "))
    if report is not None:
        say(f"Page: {report}")
    return ExitCode.DONE
