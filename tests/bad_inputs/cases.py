"""What the tests of bad inputs share: which row a test covers, and how a refusal is checked."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.conftest import Command
from understudy import Microdata, read_microdata
from understudy.errors import DataWarning

__all__ = ["SECRET", "accepted", "covers", "refused", "warned"]

# A value that must never show up in any message.
SECRET = "Zanzibar-4711"  # noqa: S105

Test = TypeVar("Test", bound=Callable[..., Any])
COVERED: dict[int, list[str]] = {}


def covers(*rows: int) -> Callable[[Test], Test]:
    """Mark which rows of the list of bad inputs a test covers."""

    def mark(test: Test) -> Test:
        for row in rows:
            COVERED.setdefault(row, []).append(test.__name__)
        return test

    return mark


def refused(
    command: Command | None,
    kind: type[Exception],
    says: str,
    source: Any,
    *options: object,
    synthesize: str = "county",
    **reading: Any,
) -> str:
    """Check that reading refuses a source in Python and, for files, on the command line.

    Both messages have the three parts, say what is expected of them, and show nothing secret.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.raises(kind) as caught:
            read_microdata(source, synthesize=synthesize, **reading)
    text = str(caught.value)
    assert re.search(says, text), text
    assert text.startswith("Expected ")
    assert "; found " in text
    assert " What to do: " in text
    assert SECRET not in text
    assert caught.value.__cause__ is None
    if command is not None and isinstance(source, str | Path):
        answer = command("check", source, "--synthesize", synthesize, *options)
        assert answer.code == 2, answer
        assert SECRET not in answer.out + answer.err
        shown = " ".join((answer.out + answer.err).split())
        assert re.search(says, shown), shown
        assert "Traceback" not in shown
    return text


def accepted(source: Any, synthesize: str = "county", **reading: Any) -> Microdata:
    """Read a source that is fine, without a warning beyond that so few records are easily told."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*patterns of the kept variables", DataWarning)
        warnings.filterwarnings("ignore", "there are more columns", DataWarning)
        return read_microdata(source, synthesize=synthesize, **reading)


def warned(says: str, source: Any, synthesize: str = "county", **reading: Any) -> Microdata:
    """Read a source that is used with a warning that shows nothing secret."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = read_microdata(source, synthesize=synthesize, **reading)
    texts = [str(note.message) for note in caught if issubclass(note.category, DataWarning)]
    assert any(re.search(says, text) for text in texts), texts
    assert not any(SECRET in text for text in texts)
    return data
