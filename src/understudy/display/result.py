"""`Shown`, what every result is: a text, a small table in a notebook, a picture, and frames.

A result gives `_described`, `_panels` and the names of its frames; the rest is written here once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, TypeVar

from understudy.checks import check_one_of
from understudy.display.described import Described
from understudy.display.panels import Panel, draw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from understudy.display.frame_kinds import Kind

__all__ = ["Shown", "in_users_kind"]

P = ParamSpec("P")
Result = TypeVar("Result")


class Shown:
    """A result that shows itself."""

    _frames: ClassVar[tuple[str, ...]] = ()  # attributes and methods that give frames
    _kind: ClassVar[Kind] = "polars"  # of frame that the user works with

    def _described(self) -> Described:
        """Say what the result is, in a table."""
        raise NotImplementedError

    def _panels(self) -> Mapping[str, Panel]:
        """Give what can be drawn, by name; the first is drawn where none is named."""
        raise NotImplementedError

    def __repr__(self) -> str:
        """Show a readable table, without any value of the data."""
        return self._described().text()

    def _repr_html_(self) -> str:
        """Show the same table in a notebook, with small lines."""
        return self._described().html()

    def plot(self, panel: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw the result.

        Parameters
        ----------
        panel : str, optional
            Which of its panels; the first when left out. A wrong name lists them.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure when left out.

        Returns
        -------
        matplotlib.axes.Axes
        """
        panels = self._panels()
        name = next(iter(panels)) if panel is None else panel
        return draw(panels[check_one_of("panel", name, panels)], ax)

    def to_frame(self, table: str | None = None, kind: Kind | None = None) -> Any:
        """Give one of the result's tables as a frame of the user's own kind.

        Attributes of results are Polars frames whatever came in. This gives pandas to whoever read
        the data from pandas, and pyarrow to whoever read them from pyarrow.

        Parameters
        ----------
        table : str, optional
            Name of the attribute or method; the main one when left out. A wrong name lists them.
        kind : {"polars", "pandas", "pyarrow"}, optional
            Another kind than the user's own.
        """
        from understudy.display.frame_kinds import in_kind

        listed = self._frames or ("numbers",)
        name = listed[0] if table is None else table
        check_one_of("table", name, listed)
        numbers = getattr(self, name) if self._frames else self._numbers()
        return in_kind(numbers() if callable(numbers) else numbers, kind or self._users_kind())

    def _users_kind(self) -> Kind:
        return self._kind

    def _numbers(self) -> dict[str, float | None]:
        """Give the plain numbers of a result that has no table."""
        return {
            name: value
            for name, value in vars(self).items()
            if not name.startswith("_") and isinstance(value, int | float | None)
        }


def in_users_kind(function: Callable[P, Result]) -> Callable[P, Result]:
    """Let a measure's result remember which kind of frame its first argument, the data, came in."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> Result:
        result = function(*arguments, **options)
        data = arguments[0] if arguments else options.get("data")
        kind: Kind = getattr(data, "backend", "polars")
        if kind != "polars":
            _remember(result, kind)
        return result

    return call


def _remember(result: object, kind: Kind) -> None:
    """Mark a result and the results in it; they are frozen, and the mark is no part of them."""
    if isinstance(result, Shown):
        object.__setattr__(result, "_kind", kind)
        for part in vars(result).values():
            _remember(part, kind)
    elif isinstance(result, Mapping):
        for part in result.values():
            _remember(part, kind)
