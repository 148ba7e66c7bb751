"""Warnings that come up in a stage: kept for the findings, and passed on to the caller."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from understudy.errors import CheckpointWarning, UnderstudyWarning, warn_user

__all__ = ["Notes"]


class Notes:
    """Warnings that come up in a stage: kept for the findings, and passed on to the caller.

    Those passed on name the synthesizer that they are about, where there is one.
    """

    def __init__(self, about: str | None = None) -> None:
        self.about = about
        self.texts: list[str] = []

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch warnings; what a damaged folder caused is passed on, and is no finding."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            text = str(warning.message)
            ours = issubclass(warning.category, UnderstudyWarning)
            if ours and not issubclass(warning.category, CheckpointWarning):
                self.texts += [text] if text not in self.texts else []
            named = f"{self.about}: {text}" if ours and self.about else warning.message
            warn_user(named, warning.category)
