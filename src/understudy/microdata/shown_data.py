"""How data and synthetic sets show themselves: in a notebook, as axes, as one frame.

Shapes, and how many rows each level has; never a value of a record.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.display.described import Described
from understudy.display.panels import COLOURS, Panel, draw
from understudy.errors import quoted
from understudy.microdata.coding import Backend
from understudy.microdata.frames import data_frame, stacked
from understudy.public_errors import only_our_errors
from understudy.summaries import counted

__all__ = ["ShownData", "ShownSets", "level_sizes"]


class ShownData:
    """What `Microdata` shows of itself."""

    def to_frame(self: Any, backend: Backend | None = None) -> Any:
        """Give the records back as a data frame: `frame` under the name that results have it by.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            Which kind of frame; the kind that the data came in when left out.
        """
        return self.frame(backend)

    @only_our_errors
    def plot(self: Any, variable: str | None = None, ax: Any = None) -> Any:
        """Draw how many records have each level of a variable.

        Parameters
        ----------
        variable : str, optional
            Which; the first synthesized one when left out.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure when left out.
        """
        return draw(_levels_panel(self, variable), ax)

    def _repr_html_(self: Any) -> str:
        """Show shapes, and the sizes of levels as small lines, in a notebook."""
        return _data_described(self).html()


class ShownSets:
    """What `SyntheticSets` shows of itself."""

    @only_our_errors
    def to_frame(self: Any, backend: Backend | None = None) -> Any:
        """Give all sets as one frame, one below the other, numbered from 1 in the column ``set``.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            Which kind of frame; the kind that the data came in when left out.
        """
        several = self._all_columns()
        name = "set (number)" if "set" in several[0] else "set"
        rows = self.data.n_records if len(self) else 0
        numbers = np.repeat(np.arange(1, len(self) + 1), rows)
        columns = {
            column: stacked([columns_of_set[column] for columns_of_set in several], rows)
            for column in several[0]
        }
        return data_frame({name: pl.Series(numbers), **columns}, backend or self.data.backend)

    @only_our_errors
    def plot(self: Any, variable: str | None = None, ax: Any = None) -> Any:
        """Draw how many rows have each level: bars with the range of the sets, beside the original.

        Parameters
        ----------
        variable : str, optional
            Which; the first synthesized one when left out.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure when left out.
        """
        return draw(_levels_panel(self.data, variable, self.codes), ax)

    def _repr_html_(self: Any) -> str:
        """Show shapes, and the sizes of levels as small lines, in a notebook."""
        return _sets_described(repr(self), self.data, self.codes).html()


def _data_described(data: Any) -> Described:
    """Describe the variables: role, number of levels, and the sizes of the levels as a line."""
    rows = [
        [quoted(variable.name), variable.role, f"{variable.n_levels:,}"]
        for variable in data.variables
    ]
    return Described(
        f"Microdata: {counted(data.n_records, 'record')}",
        ["variable", "role", "levels"],
        rows,
        [
            f"{counted(len(data.patterns), 'pattern')}, "
            f"{counted(data.n_combinations, 'combination')}"
        ],
        [[level_sizes(data, name).tolist()] for name in data.names],
        "sizes of the levels",
    )


def _sets_described(title: str, data: Any, codes: NDArray[np.integer[Any]]) -> Described:
    """Describe the synthesized variables; lines: levels of the original and of every set."""
    lines = [
        [level_sizes(data, name), *_sizes_of_sets(data, name, codes)] for name in data.synthesized
    ]
    return Described(
        title,
        ["synthesized variable", "levels"],
        [[quoted(name), f"{data.variable(name).n_levels:,}"] for name in data.synthesized],
        lines=[[line.tolist() for line in of_variable] for of_variable in lines],
        lines_name="sizes of the levels, original and sets",
    )


def _levels_panel(
    data: Any, name: str | None = None, codes: NDArray[np.integer[Any]] | None = None
) -> Panel:
    """Lay out the levels of a variable, in the data alone or beside synthetic sets.

    It is the first synthesized variable when left out; codes are (set, record, synthesized
    variable).
    """
    chosen = data.variable(data.synthesized[0] if name is None else name)
    original = level_sizes(data, chosen.name)
    if codes is None:
        return Panel(
            "records", chosen.levels, original.tolist(), bars=True, title=chosen.name,
            colour=COLOURS["original"],
        )  # fmt: skip
    if chosen.name in data.synthesized:
        sets = _sizes_of_sets(data, chosen.name, codes)  # (set, level)
    else:
        sets = np.tile(original, (codes.shape[0], 1))
    return Panel(
        "rows",
        chosen.levels,
        sets.mean(axis=0).tolist(),
        sets.min(axis=0).tolist(),
        sets.max(axis=0).tolist(),
        references={"original": original.tolist()},
        bars=True,
        values_name="mean of the sets, with their range",
        title=chosen.name,
    )


def level_sizes(data: Any, name: str) -> NDArray[np.int64]:
    """Count the records of every level: (level,)."""
    return np.bincount(data.codes(name), minlength=data.variable(name).n_levels)


def _sizes_of_sets(data: Any, name: str, codes: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Count the rows of every level in every set: (set, level)."""
    n_levels = data.variable(name).n_levels
    own = codes[:, :, data.synthesized.index(name)]  # (set, record)
    return np.array([np.bincount(rows, minlength=n_levels) for rows in own]).reshape(-1, n_levels)
