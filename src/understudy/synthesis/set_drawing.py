"""Sets that are drawn one by one, and slice by slice of the records.

A large set can be written before the next is drawn, and its slices can be drawn by workers: each
has a generator of its own, keyed by set and slice; the first slice has that of the set.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.microdata.label_table import LabelTable, split_labels
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream
from understudy.spreading import in_order
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.contract import DrawnSets

__all__ = ["Codes", "Drawer", "Drawing", "NestedDrawing", "SetDrawing", "draw_set", "table_drawer"]

RECORDS = 1 << 20  # of a slice
Codes = NDArray[np.int32]  # (record, synthesized variable)
Drawer = Callable[[np.random.Generator, slice], Codes]  # draws for some of the records


class DrawsSets(Protocol):
    """A fit that sets can be drawn from."""

    @property
    def data(self) -> Microdata:
        """The confidential data."""
        ...

    def drawer(self, snapshot: Arrays, /) -> Drawer:
        """Prepare to draw from one kept draw."""
        ...


def table_drawer(data: Microdata, table: LabelTable) -> Drawer:
    """Prepare to draw from a table."""
    return lambda generator, rows: split_labels(data, table.draw(generator, data, rows))


@dataclass(frozen=True, repr=False, eq=False)
class _DrawnFrom:
    """What one set is drawn from; it is prepared once, where its slices are drawn."""

    snapshot: Arrays
    prepared: list[Drawer] = field(default_factory=list)

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave behind what was prepared, which holds the data, where it goes on to a worker."""
        return type(self), (self.snapshot,)

    def drawer(self, fit: DrawsSets) -> Drawer:
        """Prepare to draw, unless that was done."""
        if not self.prepared:
            self.prepared.append(fit.drawer(self.snapshot))
        return self.prepared[0]


def draw_set(fit: DrawsSets, snapshot: Arrays, seed: int, number: int) -> Iterator[Codes]:
    """Draw set `number` from one kept draw: one slice of the records after the other."""
    slices = range(max(1, -(-fit.data.n_records // RECORDS)))
    tasks = [(seed, number, index, RECORDS) for index in slices]
    drawn = in_order(_draw_slice, tasks, fit, _DrawnFrom(snapshot))
    return (codes.astype(np.int32) for codes in drawn)


def _draw_slice(
    task: tuple[int, int, int, int], fit: DrawsSets, drawn_from: _DrawnFrom
) -> NDArray[np.integer]:
    seed, number, index, size = task
    own = (index,) if index else ()
    rows = slice(index * size, (index + 1) * size)
    codes = drawn_from.drawer(fit)(stream(seed, "synthesize", number, *own), rows)
    return codes.astype(np.min_scalar_type(codes.max(initial=0)))  # fewer bytes travel


@dataclass(frozen=True, repr=False, eq=False)
class SetDrawing:
    """Synthetic sets that a fit will draw, each from a posterior draw of its own.

    Attributes
    ----------
    data : Microdata
        The confidential data.
    draw_codes : callable
        Takes the number of a set and draws its codes, (record, synthesized variable), slice by
        slice of the records; again and again the same.
    chain, draw, spacing, autocorrelation_time
        As in `DrawnSets`.
    """

    data: Microdata
    draw_codes: Callable[[int], Iterator[Codes]]
    chain: tuple[int, ...]
    draw: tuple[int, ...]
    spacing: float
    autocorrelation_time: float

    def __len__(self) -> int:
        """Count the sets."""
        return len(self.chain)

    def slices(self) -> Iterator[Iterator[pl.DataFrame]]:
        """Draw one set after the other, slice by slice, as frames of what files show."""
        return (self._slices(number) for number in range(len(self)))

    def _slices(self, number: int) -> Iterator[pl.DataFrame]:
        first = 0
        for codes in self.draw_codes(number):
            rows = slice(first, first + len(codes))
            of_record, first = self.data.of_record[rows], rows.stop
            part = replace(self.data, of_record=of_record, passed=None, survey=None)
            drawn = SyntheticSets(part, codes[None]).frame(0, "polars")
            yield drawn.select(self.data.released.names)

    def all(self) -> DrawnSets:
        """Draw all sets into memory."""
        shape = (len(self), self.data.n_records, len(self.data.synthesized))
        codes = np.empty(shape, dtype=np.int32)  # (set, record, synthesized variable)
        for number, of_set in enumerate(codes):
            first = 0
            for drawn in self.draw_codes(number):
                of_set[first : first + len(drawn)] = drawn
                first += len(drawn)
        return DrawnSets(
            data=self.data,
            codes=codes,
            fully_synthetic=not self.data.kept,
            chain=self.chain,
            draw=self.draw,
            spacing=self.spacing,
            autocorrelation_time=self.autocorrelation_time,
        )


@dataclass(frozen=True, repr=False, eq=False)
class NestedDrawing:
    """Synthetic sets that show imputations: several of each, drawn like those of `SetDrawing`.

    Attributes
    ----------
    data : Microdata
        The confidential data, with holes.
    imputations, sets : int
        How often the holes are filled, and the sets of each imputation.
    impute : callable
        Takes the number of an imputation; gives the codes (record,) of the kept variables that it
        fills, by name, and then, without end, the labels of its sets.
    chain, draw : tuple of int
        Which kept draw of which chain each imputation comes from.
    spacing, autocorrelation_time
        As in `DrawnSets`, of imputations.
    """

    data: Microdata
    imputations: int
    sets: int
    impute: Callable[[int], tuple[dict[str, NDArray[np.int32]], Iterator[Codes]]]
    chain: tuple[int, ...]
    draw: tuple[int, ...]
    spacing: float
    autocorrelation_time: float

    def __len__(self) -> int:
        """Count the sets."""
        return self.imputations * self.sets

    def one_by_one(self) -> Iterator[DrawnSets]:
        """Draw one set after the other and keep none: set j of imputation i has number i * r + j.

        r is the number of sets of an imputation.
        """
        for number in range(self.imputations):
            filled, labels = self.impute(number)
            shown = {name: codes[None] for name, codes in filled.items()}
            for codes in itertools.islice(labels, self.sets):
                yield self._drawn(codes[None], shown, (self.chain[number],), (self.draw[number],))

    def slices(self) -> Iterator[Iterator[pl.DataFrame]]:
        """Draw one set after the other, as one frame of what files show."""
        shown = self.data.released.names
        return (iter([drawn.frame(0, "polars").select(shown)]) for drawn in self.one_by_one())

    def all(self) -> DrawnSets:
        """Draw all sets into memory."""
        drawn = list(self.one_by_one())
        filled = {
            name: np.concatenate([part.filled[name] for part in drawn]) for name in drawn[0].filled
        }
        nested = self.imputations if filled and min(self.imputations, self.sets) > 1 else None
        return self._drawn(
            np.concatenate([part.codes for part in drawn]),
            filled,
            tuple(chain for part in drawn for chain in part.chain),
            tuple(draw for part in drawn for draw in part.draw),
            nested,
        )

    def _drawn(
        self,
        codes: NDArray[np.int32],
        filled: dict[str, NDArray[np.int32]],
        chain: tuple[int, ...],
        draw: tuple[int, ...],
        imputations: int | None = None,
    ) -> DrawnSets:
        return DrawnSets(
            data=self.data,
            codes=codes,
            fully_synthetic=not self.data.kept,
            filled=filled,
            imputations=imputations,
            chain=chain,
            draw=draw,
            spacing=self.spacing,
            autocorrelation_time=self.autocorrelation_time,
        )


Drawing = SetDrawing | NestedDrawing
