"""When a study was finished: the one fact in its folder that no seed repeats.

Everything else in ``internal`` has the same bytes for the same seed, so the time has a file of its
own, which no digest covers. A release needs it to refuse an approval that is dated before there was
anything to approve. It comes from the clock of the machine that ran the study, is copied with the
folder, and stays when a finished study is run again. Whoever may write to ``internal`` can change
it: it shows mistakes and careless inventions, and is no proof.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from understudy.errors import CheckpointError
from understudy.private_folder import PrivateFolder
from understudy.storage import Lock, read_manifest, write_manifest

__all__ = ["FINISHED", "TOLERANCE", "note_finish", "read_finish"]

FINISHED = "finished.json"
FORMAT = 1
TOLERANCE = timedelta(days=1)  # dates are those of the person's place, times those of Greenwich


def note_finish(lock: Lock, verdict: str) -> None:
    """Write down that the verdict with this digest was reached now, unless it was before.

    A time that lies ahead comes from a wrong clock, and is replaced.
    """
    now = datetime.now(UTC)
    known = read_finish(lock.folder, verdict)
    if known is None or known > now + TOLERANCE:
        content = {"format": FORMAT, "verdict": verdict, "time": now.isoformat(timespec="seconds")}
        write_manifest(lock, FINISHED, content)


def read_finish(folder: PrivateFolder, verdict: str) -> datetime | None:
    """Give the time at which a verdict was reached; None where that is not known."""
    try:
        content = read_manifest(folder, FINISHED, FORMAT, ("verdict", "time"))
        if content is None or content["verdict"] != verdict:
            return None
        time = datetime.fromisoformat(content["time"])
    except (CheckpointError, TypeError, ValueError):
        return None
    return time if time.tzinfo is not None else None
