"""How far a study has come, and about how long it will still take.

Fits tell themselves how far they are. For the other stages a rough guess from the size of the data
is shown until a stage of the same kind has been timed in this run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from understudy.display.progress_bar import progress_bar
from understudy.public_errors import from_the_user

__all__ = ["Pace", "StudyProgress", "Tell", "told", "while_reading"]


class StudyProgress(NamedTuple):
    """How far a study has come.

    Attributes
    ----------
    words : str
        What is being done, such as "fitting dpmpm".
    step, steps : int
        Number of the stage, from 1, and of all stages; both 0 while the data are being read.
    share : float or None
        How much of the stage is done, where that is known.
    seconds_left : float or None
        Until the stage is done, about; None where nobody can tell.
    study_seconds_left : float or None
        Until the study is done, about; None where nobody can tell.
    remark : str
        What else there is to say.
    """

    words: str
    step: int
    steps: int
    share: float | None
    seconds_left: float | None
    study_seconds_left: float | None
    remark: str = ""


Tell = Callable[[StudyProgress], None]


@contextmanager
def told(progress: Any, words: str) -> Iterator[Tell | None]:
    """Give what is told how far it is: the user's function, a visible bar, or none."""
    if not (progress is True or progress is None):
        yield from_the_user(progress if callable(progress) else None)
        return
    with progress_bar(words) as show:

        def tell(now: StudyProgress) -> None:
            if show is not None:
                done = max(now.step - 1, 0) + (now.share or 0.0)
                said = ", ".join(filter(None, [now.words, now.remark]))
                show(done / max(now.steps, 1), now.study_seconds_left, said)

        yield None if show is None else tell


def while_reading(tell: Tell | None) -> Callable[[int, int], None] | None:
    """Tell how far the reading of a text file is, from bytes done and bytes in all."""
    if tell is None:
        return None
    begin = time.monotonic()

    def show(done: int, total: int) -> None:
        share = done / total if total else 1.0
        left = max(0.0, (time.monotonic() - begin) * (1.0 - share) / max(share, 1e-6))
        tell(StudyProgress("reading the data", 0, 0, share, left, left))

    return show


class Pace:
    """Keeps time over the stages of a study and tells how far they are.

    Parameters
    ----------
    stages : sequence of (str, str)
        Kind and words of all stages, in order.
    guesses : mapping of str to float
        Seconds that a stage of a kind takes, about.
    tell : callable, optional
        Called with a `StudyProgress`.
    """

    def __init__(
        self, stages: Sequence[tuple[str, str]], guesses: Mapping[str, float], tell: Tell | None
    ) -> None:
        self._stages = list(stages)
        self._seconds = dict(guesses)
        self._tell = tell
        self._step = 0
        self._begin = time.monotonic()

    def start(self) -> None:
        """Go on to the next stage."""
        self._step += 1
        self._begin = time.monotonic()
        self.report(None, self._seconds[self._kind])

    def end(self, *, computed: bool) -> None:
        """Finish a stage; one that was computed says how long its kind takes."""
        if computed:
            self._seconds[self._kind] = max(0.0, time.monotonic() - self._begin)

    def done(self, share: float, remark: str = "") -> None:
        """Tell how much of the stage is done; what is left follows from the time it took."""
        spent = max(0.0, time.monotonic() - self._begin)  # a clock may jump
        self.report(share, spent * (1.0 - share) / max(share, 1e-6), remark)

    def report(self, share: float | None, seconds_left: float, remark: str = "") -> None:
        """Tell how far the stage is."""
        if self._tell is None:
            return
        later = sum(self._seconds[kind] for kind, _ in self._stages[self._step :])
        words = self._stages[self._step - 1][1]
        steps = len(self._stages)
        self._tell(
            StudyProgress(
                words, self._step, steps, share, seconds_left, seconds_left + later, remark
            )
        )

    @property
    def _kind(self) -> str:
        return self._stages[self._step - 1][0]
