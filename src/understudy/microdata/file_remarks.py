"""What is odd about synthetic files: columns beyond the data's, and files that are the original.

Risk is measured of the synthesized columns. A further column that tells the true label would give
everything away and be part of no measure, so it is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import InputError, quoted, quoted_list
from understudy.microdata.coding import OpenTable
from understudy.microdata.reading import open_table
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.microdata.telling_columns import TELLS, Column, Told, telling_columns

__all__ = ["file_remarks"]


def file_remarks(
    data: Microdata, sets: SyntheticSets, sources: Sequence[Any], *opening: Any
) -> list[str]:
    """Say which files hold further columns, which of them tell a label, and which are the original.

    `sets` is what `read_synthetic` made of the `sources`; `opening` are further arguments of
    `open_table`. The remarks hold no value of the data.
    """
    remarks = []
    true = np.stack([data.codes(name) for name in data.synthesized], axis=1)  # (record, variable)
    for number, source in enumerate(sources, start=1):
        remarks += _same_labels(data, sets.codes[number - 1], true, number)
        table = open_table(source, *opening)
        remarks += _changed(data, table, number)
        known = {*data.names, *(data.passed.names if data.passed is not None else ())}
        extra = [name for name in table.names if name not in known]
        if not extra:
            continue
        remarks.append(
            f"synthetic file {number} has further columns, which no measure here covers: "
            f"{quoted_list(extra)}. Leave them out of what is released, or name them as kept or as "
            "passed through"
        )
        if data.kept:
            drawn = dict(zip(data.synthesized, sets.codes[number - 1].T, strict=True))
            columns = list(_columns(table, extra, data.n_records))
            remarks += [
                _words(told, label, number)
                for label in data.synthesized
                for told in telling_columns(data, label, columns, drawn)
            ]
    return remarks


def _changed(data: Microdata, table: OpenTable, number: int) -> list[str]:
    """Say which columns that pass through are not in a file as they are in the original."""
    if data.passed is None or table.values is None:
        return []
    there = [name for name in data.passed.names if name in table.names]
    values = table.values(there) if there else pl.DataFrame()
    remarks = []
    for name in there:
        original, drawn = _comparable(data.passed.frame[name], values[name])
        if not (original.len() == drawn.len() and original.eq_missing(drawn).all()):
            remarks.append(
                f"the column {quoted(name)}, which passes through, has other values in synthetic "
                f"file {number} than in the original"
            )
    return remarks


def _comparable(original: pl.Series, synthetic: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Bring columns of two files to one type: numbers where both hold nothing else, or text."""
    numbers = [column.cast(pl.Float64, strict=False) for column in (original, synthetic)]
    lost = [
        number.null_count() > column.null_count()
        for number, column in zip(numbers, (original, synthetic), strict=True)
    ]
    if any(lost) or not all(number.len() for number in numbers):
        return original.cast(pl.String), synthetic.cast(pl.String)
    return numbers[0], numbers[1]


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


def _words(told: Told, label: str, number: int) -> str:
    """Say that further columns of a file tell a label."""
    several = len(told.further) > 1
    which = f"the column{'s' * several} {quoted_list(told.further)} of synthetic file {number}"
    how = " together" * several
    if told.beside:
        how += f", beside {quoted_list(told.beside)},"
    does = "reproduce" if several else "reproduces"
    order = ""
    if told.by_order:
        does, order = "tells", " by the order of its values"
    return (
        f"{which}{how} {does} the true {quoted(label)}{order}: whoever has the file has the "
        "confidential labels"
    )


def _columns(table: OpenTable, names: Sequence[str], n_records: int) -> Iterator[Column]:
    """Read further columns, those that are no columns of categories left out."""
    for name in names:
        try:
            coded = table.read([name])
        except InputError:
            continue
        if coded.of_record.size == n_records:
            yield Column(coded.columns[0], coded.codes[:, 0][coded.of_record])
