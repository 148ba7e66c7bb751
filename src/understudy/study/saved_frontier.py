"""The last frontier of a study's data, read from its confidential folder."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from understudy.errors import CheckpointError, InputError, SettingError, quoted
from understudy.findings.frontier_schema import FrontierFindings
from understudy.microdata.table import Microdata
from understudy.private_folder import PrivateFolder
from understudy.study.folder import INTERNAL

__all__ = ["RECORD", "last_frontier"]

RECORD = "frontier.json"


def last_frontier(folder: Path | None, data: Microdata) -> FrontierFindings | None:
    """Read a frontier, which must be of these data or of one of its points' coarser data.

    The folder is what ``understudy frontier`` wrote to; None where the study names no frontier.
    """
    if folder is None:
        return None
    try:
        with PrivateFolder(folder / INTERNAL) as held:
            frontier = FrontierFindings.model_validate_json(held.read(RECORD))
    except (CheckpointError, OSError, ValidationError):
        raise SettingError(
            expected=f"a finished frontier in {quoted(folder.name)}",
            came="a folder without one",
            do="run understudy frontier first, or leave the frontier out",
        ) from None
    known = {frontier.data_fingerprint, *(point.measured.fingerprint for point in frontier.points)}
    if data.fingerprint() not in known:
        raise InputError(
            expected="a frontier of the study's own data",
            came="one of other data",
            do="run understudy frontier on these data again, or leave the frontier out",
        )
    return frontier
