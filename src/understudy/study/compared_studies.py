"""Finished studies beside each other, read from their folders."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from understudy.findings.schema import Findings
from understudy.study.status import load_study
from understudy.verdict.verdict import Verdict

__all__ = ["Compared", "compared_page", "compared_studies"]

Compared = tuple[str, Findings, Verdict]


def compared_studies(directories: Sequence[Path]) -> list[Compared]:
    """Read what several finished studies measured and decided, each under a name of its own.

    The name is that of the study's folder, with as many folders above it as tell it from the
    others.
    """
    folders = [directory.absolute() for directory in directories]
    return [(_name(folder, folders), *load_study(folder)) for folder in folders]


def _name(folder: Path, folders: Sequence[Path]) -> str:
    for parts in range(1, len(folder.parts)):
        name = folder.parts[-parts:]
        if sum(other.parts[-parts:] == name for other in folders) == 1:
            return "/".join(name)
    return str(folder)


def compared_page(studies: Sequence[Compared]) -> str:
    """Write the page that puts studies beside each other."""
    from understudy.pages.comparison_page import comparison_page

    return comparison_page(studies)
