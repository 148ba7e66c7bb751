"""Further columns of a file that tell a true label: alone, by their order, or several together.

A column that was recoded, cut into finer groups, glued to a number of its own for every record, or
spread over several columns tells a label as well as the label itself does. What is measured is how
often a label is guessed right from the *other* records with the same value: a value that a single
record has tells nothing that way. Nothing here is a measure of risk. It finds mistakes and plain
tricks; a column that was encrypted tells everything to whoever has the key, and nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.microdata.coding import CodedColumn
from understudy.microdata.plausibility import all_but_decides
from understudy.microdata.table import Microdata
from understudy.randomness import stream

__all__ = ["TELLS", "Column", "Told", "guessed_share", "telling_columns", "telling_passed"]

# From which share, between guessing the most frequent label and knowing all labels, columns count
# as telling the label.
TELLS = 0.9
# Sets of columns and orders of values are many. One counts if the chance that it guesses so well
# while it tells nothing is below exp(-SURE), about 1e-13 (Chernoff's bound).
SURE = 30.0
RECORDS = 10_000  # among which sets of columns are tried
MOST = 20  # columns of each kind that are tried together
TOGETHER = 6  # columns of a set that is grown
MOST_COMPARED = 200_000  # records among which columns that pass through are compared
ALIKE = 10  # records in a group of neighbours in the order of values

Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Column:
    """A further column of a file, row i beside record i.

    Attributes
    ----------
    coded : CodedColumn
        Its name and its values.
    codes : int32 (record,)
        The value of each record.
    """

    coded: CodedColumn
    codes: NDArray[np.int32]


@dataclass(frozen=True)
class Told:
    """Columns that tell a label.

    Attributes
    ----------
    further : tuple of str
        Of the further columns the fewest that tell it together.
    beside : tuple of str
        Columns of the data that it takes as well.
    by_order : bool
        Whether not equal values but neighbours in their order have the same label.
    """

    further: tuple[str, ...]
    beside: tuple[str, ...] = ()
    by_order: bool = False


def telling_columns(
    data: Microdata,
    label: str,
    further: Sequence[Column],
    drawn: Mapping[str, NDArray[Any]] | None = None,
    rows: NDArray[np.int64] | None = None,
) -> Iterator[Told]:
    """Find the further columns of a file, neither kept nor synthesized, that tell the true label.

    `drawn` are the synthesized variables of the file; `rows` say which records the columns are
    about, all of them in order when left out.
    """
    asked = np.arange(data.n_records) if rows is None else rows
    true = data.codes(label)[asked].astype(np.int64)  # (record,)
    quiet = []
    for column in further:
        if _tells_alone(data, label, column, true):
            yield Told((column.coded.name,))
        elif _tells_in_order(column, true):
            yield Told((column.coded.name,), by_order=True)
        else:
            quiet.append(column)
    beside = {name: data.codes(name)[asked] for name in data.kept[:MOST]} | dict(drawn or {})
    together = _Together(true, beside, quiet).find()
    if together is not None:
        yield together


def telling_passed(data: Microdata) -> tuple[frozenset[str], tuple[tuple[str, ...], ...]]:
    """Name the columns that pass through and tell a label alone, and sets of them that do."""
    if data.passed is None:
        return frozenset(), ()
    frame = data.passed.frame
    rows = np.sort(stream(0, "passed columns").permutation(data.n_records)[:MOST_COMPARED])
    columns = []
    for name, values in frame.select(pl.all().gather(rows)).to_dict().items():
        texts = values.cast(pl.String).fill_null("")
        codes = texts.rank("dense").cast(pl.Int32).to_numpy() - 1
        columns.append(Column(CodedColumn(name, tuple(texts.unique().sort())), codes))
    told = {
        column.further
        for label in data.synthesized
        for column in telling_columns(data, label, columns, rows=rows)
    }
    alone = {further[0] for further in told if len(further) == 1}
    alone |= {
        name
        for name in frame.columns
        for label in data.synthesized
        if _passed_decides(data, name, label)
    }
    return frozenset(alone), tuple(sorted(further for further in told if len(further) > 1))


def _passed_decides(data: Microdata, name: str, label: str) -> bool:
    """Tell whether a column that passes through all but fixes a label, in all records."""
    if data.passed is None:
        return False
    causes = data.passed.frame[name].rank("dense").fill_null(0).cast(pl.Int64).to_numpy()
    counted = pl.DataFrame({"cause": causes, "effect": data.codes(label)}).group_by(pl.all()).len()
    return all_but_decides(
        counted["cause"].to_numpy(),
        counted["len"].to_numpy().astype(np.int64),
        np.bincount(data.codes(label)),
    )


def _tells_alone(data: Microdata, label: str, column: Column, true: Codes) -> bool:
    """Tell whether a column gives most true labels (record,) away: their text, or its values."""
    code_of = {level: code for code, level in enumerate(data.variable(label).levels)}
    as_label = np.array([code_of.get(level or "", -1) for level in column.coded.levels])  # (level,)
    best = max(float(np.mean(as_label[column.codes] == true)), guessed_share(column.codes, true))
    return _headroom(best, _most_frequent(true)) >= TELLS


def _tells_in_order(column: Column, true: Codes) -> bool:
    """Tell whether neighbours in the order of a column's values have the same true label.

    The orders are those of numbers, of texts, and of texts read from their ends.
    """
    levels = [level or "" for level in column.coded.levels]
    if len(levels) <= ALIKE:
        return False
    orders: list[list[Any]] = [levels, [level[::-1] for level in levels]]
    with suppress(ValueError):
        orders.append([float(level or "nan") for level in levels])
    mixed = stream(0, "telling columns").random(true.size)  # the file's own order tells nothing
    for keys in orders:
        ranks = np.empty(len(levels), dtype=np.int64)
        ranks[sorted(range(len(levels)), key=keys.__getitem__)] = np.arange(len(levels))
        in_order = true[np.lexsort((mixed, ranks[column.codes]))]
        neighbour = float(np.mean(in_order[1:] == in_order[:-1]))
        groups = guessed_share(np.arange(true.size) // ALIKE, in_order)
        if _surely_tells(max(neighbour, groups), _most_frequent(true), true.size):
            return True
    return False


class _Together:
    """A search for columns that tell a label together, some of them beside columns of the data.

    Tried are all pairs, all columns at once, and sets that grow from the best pairs.
    """

    def __init__(
        self, true: Codes, beside: Mapping[str, NDArray[Any]], extra: Sequence[Column]
    ) -> None:
        rows = stream(0, "telling columns").permutation(true.size)[:RECORDS]
        few = [column for column in extra if 1 < len(column.coded.levels) <= true.size // 2][:MOST]
        self._true = true[rows]
        self._further = [column.coded.name for column in few]
        self._beside = list(beside)
        codes = {column.coded.name: column.codes for column in few} | dict(beside)
        self._codes = {name: column[rows].astype(np.int64) for name, column in codes.items()}
        self._shares: dict[frozenset[str], float] = {}

    def find(self) -> Told | None:
        """Find the fewest columns that tell the label, in the order of the file."""
        for names in self._candidates():
            if self._tell(names):
                fewest = self._fewest(names)
                return Told(
                    tuple(name for name in self._further if name in fewest),
                    tuple(name for name in self._beside if name in fewest),
                )
        return None

    def _candidates(self) -> Iterator[frozenset[str]]:
        every = [*self._further, *self._beside]
        pairs = [frozenset(pair) for pair in combinations(every, 2)
                 if pair[0] in self._further]  # fmt: skip
        yield from pairs
        together = frozenset(self._further)
        for name in every if together else ():
            yield together | {name}
        for pair in sorted(pairs, key=self._share, reverse=True)[:3]:
            grown, best = pair, self._share(pair)
            while len(grown) < min(TOGETHER, len(every)):
                grown = max(
                    (grown | {name} for name in every if name not in grown), key=self._share
                )
                if self._share(grown) <= best:
                    break
                best = self._share(grown)
                yield grown

    def _tell(self, names: frozenset[str]) -> bool:
        """Tell whether columns tell the label, and those of the data among them do not."""
        alone = self._share(names & frozenset(self._beside))
        base = max(alone, _most_frequent(self._true))
        return _surely_tells(self._share(names), base, self._true.size)

    def _share(self, names: frozenset[str]) -> float:
        if names not in self._shares:
            cell = np.zeros(self._true.size, dtype=np.int64)  # (record,)
            for name in sorted(names):
                codes = self._codes[name]
                cell = np.unique(cell * (codes.max() + 1) + codes, return_inverse=True)[1]
                cell = cell.reshape(-1)
            self._shares[names] = guessed_share(cell, self._true) if names else 0.0
        return self._shares[names]

    def _fewest(self, names: frozenset[str]) -> frozenset[str]:
        for name in sorted(names, key=[*self._beside, *self._further].index):
            fewer = names - {name}
            if fewer & frozenset(self._further) and self._tell(fewer):
                names = fewer
        return names


def guessed_share(codes: NDArray[Any], true: Codes) -> float:
    """Share of labels (record,) guessed right from the other records with the same code (record,).

    The guess is the label that most of them have; where two are equally frequent it is wrong.
    """
    n_labels = int(true.max()) + 1
    pairs, counts = np.unique(codes.astype(np.int64) * n_labels + true, return_counts=True)
    value = pairs // n_labels
    order = np.lexsort((counts, value))  # pairs of a value together, the most frequent last
    value, counts = value[order], counts[order]
    last = np.append(value[1:] != value[:-1], True)
    second = np.where(np.append(False, value[1:] == value[:-1]), np.append(0, counts[:-1]), 0)
    right = last & (counts - 1 > second)
    return float(counts[right].sum() / true.size)


def _most_frequent(true: Codes) -> float:
    return float(np.bincount(true).max() / true.size)


def _headroom(share: float, base: float) -> float:
    """Where a share of right guesses lies between a base (0) and knowing all labels (1)."""
    return (share - base) / (1 - base) if base < 1 else 0.0


def _surely_tells(share: float, base: float, n_records: int) -> bool:
    """Tell whether guesses are so often right that chance is no explanation."""
    if _headroom(share, base) < TELLS:
        return False
    wrong = (1 - share) * np.log((1 - share) / (1 - base)) if share < 1 else 0.0
    divergence = share * np.log(share / base) + wrong if base > 0 else np.inf
    return bool(n_records * divergence >= SURE)
