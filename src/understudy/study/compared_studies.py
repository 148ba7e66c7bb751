"""Finished studies beside each other, read from their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from understudy.findings.schema import Findings
from understudy.study.status import finished_findings
from understudy.verdict.verdict import Verdict

__all__ = ["Compared", "compared_page", "compared_studies"]

Compared = tuple[str, Findings, Verdict]


def compared_studies(directories: Sequence[Path]) -> list[Compared]:
    """Read what several studies measured and decided, each under a name of its own.

    Parameters
    ----------
    directories : sequence of Path
        The folders of finished studies; the name of a study is that of its folder, with the folder
        above it where two have the same.
    """
    folders = [directory.absolute() for directory in directories]
    names = [folder.name for folder in folders]
    return [
        (
            folder.name if names.count(folder.name) == 1 else f"{folder.parent.name}/{folder.name}",
            *finished_findings(folder),
        )
        for folder in folders
    ]


def compared_page(studies: Sequence[Compared]) -> str:
    """Write the page that puts studies beside each other."""
    from understudy.pages.comparison_page import comparison_page

    return comparison_page(studies)
