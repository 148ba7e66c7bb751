"""The progress bar: in a terminal, in a notebook, and nowhere else."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import understudy as us
from understudy.display.progress_bar import progress_bar
from understudy.errors import SettingError
from understudy.study.progress import StudyProgress, told


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "ascii"

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    system = SimpleNamespace(stderr=stream, modules=sys.modules)
    monkeypatch.setattr("understudy.display.progress_bar.sys", system)
    return stream


DATA = {"sex": ["f", "m"] * 30, "town": ["north", "north", "south"] * 20}
SHORT: dict[str, Any] = {"synthesize": "town", "chains": 2, "warmup": 2, "draws": 30, "seed": 1}


def fit(**options: Any) -> None:
    import polars as pl

    with pytest.warns(us.errors.ConvergenceWarning):
        us.BackoffTree().fit(pl.DataFrame(DATA), **SHORT, **options)


def test_a_terminal_shows_a_bar_and_is_clean_afterwards(terminal: Terminal) -> None:
    fit()
    lines = terminal.getvalue().split("\r")
    assert "fitting BackoffTree" in lines[1]
    assert any("100%" in line for line in lines)
    assert lines[-2:] == [" " * len(lines[-3]), ""]


def test_a_study_shows_how_far_its_chains_agree(terminal: Terminal) -> None:
    with told(True, "study") as tell:
        assert tell is not None
        tell(StudyProgress("fitting dpmpm", 2, 9, 0.5, 30.0, 61.0, "R-hat so far 1.010"))
    assert "1:01 left, fitting dpmpm, R-hat so far 1.010" in terminal.getvalue()


def test_progress_false_is_silent(terminal: Terminal) -> None:
    fit(progress=False)
    assert terminal.getvalue() == ""


def test_no_terminal_and_no_notebook_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar("waiting") as show:
        assert show is None
    assert capsys.readouterr() == ("", "")


def test_a_notebook_rewrites_one_line(monkeypatch: pytest.MonkeyPatch, terminal: Terminal) -> None:
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel=None))
    pages = SimpleNamespace(HTML=str, display=lambda *_, **__: handle)
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", pages)
    with progress_bar("a < b") as show:
        assert show is not None
        show(0.5, 61.0, "R-hat 1.010")
    assert "a &lt; b" in shown[0]
    assert "50%, 1:01 left, R-hat 1.010" in shown[1]
    assert shown[-1] == ""
    assert terminal.getvalue() == ""


def test_what_is_no_progress_is_refused() -> None:
    with pytest.raises(SettingError, match="progress=False"):
        us.BackoffTree().fit(us.load_ce_like(), progress=3)  # type: ignore[arg-type]
