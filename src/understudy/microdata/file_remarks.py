"""What is odd about synthetic files: columns beyond the data's, and files that are the original.

Risk is measured of the synthesized columns. A further column that tells the true label would give
everything away and be part of no measure, so it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import InputError, quoted, quoted_list
from understudy.microdata.coding import CodedColumn, OpenTable
from understudy.microdata.reading import open_table
from understudy.microdata.table import Microdata, SyntheticSets

__all__ = ["file_remarks"]

# From which share, between guessing the most frequent label and knowing all labels, a column counts
# as one that tells the label.
TELLS = 0.9


def file_remarks(
    data: Microdata, sets: SyntheticSets, sources: Sequence[Any], *opening: Any
) -> list[str]:
    """Say which files hold further columns, which of them tell a label, and which are the original.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    sets : SyntheticSets
        What `read_synthetic` made of the files.
    sources : sequence of paths or frames
        The files.
    *opening
        Further arguments of `open_table`.

    Returns
    -------
    list of str
        Without any value of the data.
    """
    remarks = []
    true = np.stack([data.codes(name) for name in data.synthesized], axis=1)  # (record, variable)
    for number, source in enumerate(sources, start=1):
        remarks += _same_labels(data, sets.codes[number - 1], true, number)
        table = open_table(source, *opening)
        known = set(data.names)
        extra = [name for name in table.names if name not in known]
        if not extra:
            continue
        remarks.append(
            f"synthetic file {number} has further columns, which no measure here covers: "
            f"{quoted_list(extra)}. Leave them out of what is released, or name them as kept"
        )
        if data.kept:
            remarks += [
                f"the column {quoted(name)} of synthetic file {number} reproduces the true "
                f"{quoted(label)}: whoever has the file has the confidential labels"
                for name, label in _telling(data, table, extra)
            ]
    return remarks


def _same_labels(
    data: Microdata, codes: NDArray[Any], true: NDArray[Any], number: int
) -> list[str]:
    """Say whether a file, codes (record, variable), holds the true labels, or nearly all."""
    if not data.kept:
        same = np.array_equal(_sorted_rows(codes), _sorted_rows(true))
        words = f"synthetic file {number} is the original: it has the very same rows"
        return [words] if same else []
    right = float((codes == true).all(axis=1).mean())
    if right == 1.0:
        return [f"synthetic file {number} is the original: every label in it is the true one"]
    most_frequent = np.unique(true, axis=0, return_counts=True)[1].max() / len(true)
    if right - most_frequent >= TELLS * (1.0 - most_frequent):
        return [f"synthetic file {number} is nearly the original: {right:.1%} of its labels are"
                " the true ones"]  # fmt: skip
    return []


def _sorted_rows(codes: NDArray[Any]) -> NDArray[Any]:
    return codes[np.lexsort(codes.T)]


def _telling(data: Microdata, table: OpenTable, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Find columns that tell a label, and which."""
    for name in names:
        column = _column(table, name, data.n_records)
        for label in data.synthesized:
            if column is not None and _tells(data, label, *column):
                yield name, label


def _column(
    table: OpenTable, name: str, n_records: int
) -> tuple[CodedColumn, NDArray[np.int32]] | None:
    """Read a column and its codes (record,); None where it is no column of categories."""
    try:
        coded = table.read([name])
    except InputError:
        return None
    if coded.of_record.size != n_records:
        return None
    return coded.columns[0], coded.codes[:, 0][coded.of_record]


def _tells(data: Microdata, label: str, column: CodedColumn, codes: NDArray[np.int32]) -> bool:
    """Tell whether a column, codes (record,), gives most true labels away.

    Either it holds their text, or guessing the most frequent label among the *other* records with
    the same value is right: a value that a single record has tells nothing about its label.
    """
    true = data.codes(label)  # (record,)
    levels = data.variable(label).levels
    counts = np.bincount(true, minlength=len(levels))
    most_frequent = counts.max() / true.size
    code_of = {level: code for code, level in enumerate(levels)}
    as_label = np.array([code_of.get(level or "", -1) for level in column.levels])  # (level,)
    same_text = float(np.mean(as_label[codes] == true))
    guessed = float(np.mean(_guesses(codes, true) == true))
    best = max(same_text, guessed)
    return bool(most_frequent < 1 and (best - most_frequent) / (1 - most_frequent) >= TELLS)


def _guesses(codes: NDArray[np.int32], true: NDArray[np.int32]) -> NDArray[np.int64]:
    """Guess each label from the other records with the same value: (record,), -1 for no guess."""
    pairs, of_record, counts = np.unique(
        np.stack([codes, true], axis=1), axis=0, return_inverse=True, return_counts=True
    )  # (pair, 2), (record,), (pair,)
    of_record = of_record.reshape(-1)
    order = np.lexsort((counts, pairs[:, 0]))  # pairs of a value together, the most frequent last
    last = np.append(pairs[order[1:], 0] != pairs[order[:-1], 0], True)
    top = dict(zip(pairs[order[last], 0].tolist(), order[last].tolist(), strict=True))
    best = np.array([top[value] for value in pairs[:, 0].tolist()])  # (pair,)
    # A record is right if its label is the most frequent of its value, also without itself.
    right = (best == np.arange(len(pairs))) & (counts > 1)
    return np.where(right[of_record], true, -1).astype(np.int64)
