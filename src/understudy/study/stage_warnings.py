"""Warnings that come up in a stage: kept for the findings, and passed on to the caller."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
        """Keep warnings, whoever shows them; each is passed on at once.

        How long a fit takes is of use before it starts. What a damaged folder caused is no finding.
        """
        outside: Any = warnings.filters, warnings.showwarning

        def keep(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
            text = str(message)
            ours = issubclass(category, UnderstudyWarning)
            if ours and not issubclass(category, CheckpointWarning):
                self.texts += [text] if text not in self.texts else []
            named = f"{self.about}: {text}" if ours and self.about else message
            with warnings.catch_warnings():
                warnings.filters, warnings.showwarning = outside
                warn_user(named, category)

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = keep
            yield
