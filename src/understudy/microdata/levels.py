"""The levels of a column: which there are, in which order, and which mean missing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import ColumnError, DataWarning, LevelError, SettingError, quoted, warn_user
from understudy.microdata.bins import Bins, apply_bins
from understudy.microdata.codebook import VariableBook
from understudy.microdata.coding import CodedColumn
from understudy.microdata.roles import folded
from understudy.microdata.variable import LONGEST_LEVEL, MISSING

__all__ = [
    "Settled",
    "UnusedLevels",
    "check_codebook",
    "check_values",
    "looks_continuous",
    "missing_levels",
    "near_duplicates",
    "settle_levels",
]

UnusedLevels = Literal["error", "keep", "drop"]
UNUSED_CHOICES = ("error", "keep", "drop")

# A text column of decimal numbers with more distinct values than this needs bins.
MOST_DECIMALS = 20

_DECIMAL = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True, repr=False)
class Settled:
    """A column whose levels are settled: old codes lead to new ones, -1 for missing."""

    name: str
    levels: tuple[str, ...]
    new_code: NDArray[np.int32]  # (old level,)
    labels: Mapping[str, str]
    missing_code: str
    numeric: bool


def settle_levels(
    column: CodedColumn,
    counts: NDArray[np.int64],
    bins: Bins | None,
    book: VariableBook,
    na: Sequence[str],
    unused: UnusedLevels,
    *,
    ordered: bool,
) -> Settled:
    """Decide on the levels of one column, given the records (level,) with each.

    `book` is its entry in the codebook, `na` holds texts that mean missing in any column, `unused`
    says what to do with levels that the column declares and no record has, and `ordered` whether
    the source declares an order of its levels.
    """
    check_one_of("unused_levels", unused, UNUSED_CHOICES)
    absent = missing_levels(column, book, na) | (counts == 0)  # (level,)
    present = [None if out else level for level, out in zip(column.levels, absent, strict=True)]
    missing_code = next(iter(missing_codes(book, na)), "")
    if bins is not None:
        groups, names = apply_bins(column.name, bins, present, counts)
        if not _before_bins(present, book):
            check_codebook(column.name, names, book)
        return Settled(column.name, names, groups, {}, missing_code, numeric=False)
    observed = [level for level in present if level is not None]
    check_values(column, observed, counts, book)
    absent_codes = missing_codes(book, na)
    levels = _ordered_levels(column, observed, book, unused)
    levels = tuple(level for level in levels if level not in absent_codes)
    if ordered:
        warn_user(
            f"the order of the levels of {quoted(column.name)} is kept for display; the models "
            "treat its levels as unordered",
            DataWarning,
        )
    code_of: dict[str | None, int] = {level: code for code, level in enumerate(levels)}
    new_code = np.array([code_of.get(level, -1) for level in present], dtype=np.int32)
    numeric = column.kind == "integer"
    return Settled(column.name, levels, new_code, column.labels, missing_code, numeric)


def _before_bins(present: Iterable[str | None], book: VariableBook) -> bool:
    """Tell whether a codebook declares the numbers of a column, not the groups they are put into.

    Such is the draft of `understudy init`, when bins are added to the plan afterwards.
    """
    return set(book.levels or ()) >= {level for level in present if level is not None}


def missing_codes(book: VariableBook, na: Sequence[str]) -> dict[str, None]:
    """List the texts that mean missing in a column, the codebook's before the general ones.

    Empty text is not among them where the codebook declares it as a level.
    """
    listed = (na,) if isinstance(na, str) else na
    texts = isinstance(listed, Iterable) and all(isinstance(code, str) for code in listed)
    if not texts:
        raise SettingError(
            expected="texts that mean missing, for the option na",
            came="something that is not text",
            do='write for instance na=["", "NA", "-9"]',
        )
    if "" in (book.levels or ()):  # the codebook declares empty cells of this column as a level
        listed = [code for code in listed if code]
    return dict.fromkeys((*book.missing, *listed))


def missing_levels(column: CodedColumn, book: VariableBook, na: Sequence[str]) -> NDArray[np.bool_]:
    """Tell which distinct values of a column mean missing: bool (level,)."""
    codes = missing_codes(book, na)
    return np.array([level is None or level in codes for level in column.levels], dtype=bool)


def check_values(
    column: CodedColumn, observed: Sequence[str], counts: NDArray[np.int64], book: VariableBook
) -> None:
    """Refuse values that are not categories."""
    name = quoted(column.name)
    where = f"--bins, bins={{{name}: ...}} in Python, [data.bins] in a plan"
    bin_them = f"bin them first, by quartiles or cut points ({where})"
    if column.kind == "real":
        infinite = sum(
            int(number)
            for level, number in zip(column.levels, counts, strict=True)
            if level in {"inf", "-inf"}
        )
        also = f", {infinite:,} of them infinite" if infinite else ""
        raise ColumnError(
            expected=f"categories in column {name}",
            came=f"numbers with a decimal point ({len(observed):,} different ones{also})",
            do=f"{bin_them}; if they are codes, store them as text or whole numbers",
        ).about(column.name)
    if book.levels is None and column.kind == "text" and looks_continuous(observed):
        raise ColumnError(
            expected=f"categories in column {name}",
            came=f"{len(observed):,} different numbers, some with a decimal point",
            do=f"{bin_them}; ignore the column; or, if they are codes, declare them in a codebook",
        ).about(column.name)
    if any(len(level.encode("utf-8", "surrogatepass")) > LONGEST_LEVEL for level in observed):
        raise LevelError(
            expected=f"levels of at most {LONGEST_LEVEL:,} bytes in column {name}",
            came="a longer one",
            do="ignore columns of free text, or shorten the text",
        )
    if MISSING in observed:
        raise LevelError(
            expected=f"levels other than the word that stands for missing values ({MISSING})",
            came=f"this text in column {name}",
            do="declare it as a missing code (na), or write it differently",
        )


def looks_continuous(levels: Sequence[str]) -> bool:
    """Tell whether text levels look like measurements: many decimal numbers, some with a point."""
    if len(levels) <= MOST_DECIMALS:
        return False
    return any("." in level for level in levels) and all(map(_DECIMAL.fullmatch, levels))


def check_codebook(name: str, levels: Iterable[str], book: VariableBook) -> None:
    """Refuse levels that the codebook does not declare, if it declares any."""
    if book.levels is None:
        return
    beyond = len(set(levels) - set(book.levels))
    if beyond:
        raise LevelError(
            expected=f"only levels of {quoted(name)} that the codebook declares",
            came=f"{beyond:,} other level{'s' * (beyond != 1)} in the data",
            do="add them to the codebook, declare them as missing codes, or correct the data",
        )


def _ordered_levels(
    column: CodedColumn, observed: Sequence[str], book: VariableBook, unused: UnusedLevels
) -> tuple[str, ...]:
    if book.levels is not None:
        check_codebook(column.name, observed, book)
        return book.levels
    if column.declared is None:
        return tuple(sorted(observed))
    n_unused = len(set(column.declared) - set(observed))
    if n_unused and unused == "error":
        raise LevelError(
            expected=f"every level that column {quoted(column.name)} declares in some record",
            came=f"{n_unused:,} declared level{'s' * (n_unused != 1)} that no record has",
            do='choose with the option unused_levels: "keep" (they can then appear in synthetic '
            'data) or "drop"; or declare the levels in a codebook',
        )
    if unused == "keep":
        return column.declared
    return tuple(level for level in column.declared if level in set(observed))


def near_duplicates(levels: Sequence[str]) -> int:
    """Count levels that differ from another one only in case, spaces or composed characters."""
    groups = Counter(folded(level) for level in levels)
    return sum(size for size in groups.values() if size > 1)
