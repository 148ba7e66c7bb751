"""Diversity: how many labels each pattern holds, and which kept columns decide the label.

Where one label holds nearly everybody of a pattern, anybody who knows the kept variables knows the
label: no synthesizer that keeps the pattern's distribution can hide it. These are facts about the
confidential data, known before anything is synthesized (l-diversity [1]_). The verdict judges them
by the rule of this module: patterns too small to tell, and labels that nearly everybody in the
whole file has, are not counted.

References
----------
.. [1] Machanavajjhala, A., Kifer, D., Gehrke, J. and Venkitasubramaniam, M. (2007). l-diversity:
   privacy beyond k-anonymity. ACM Transactions on Knowledge Discovery from Data, 1(1), 3.
   doi:10.1145/1217299.1217302
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_number, check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError
from understudy.microdata.data_arguments import check_data
from understudy.microdata.label_table import true_labels
from understudy.microdata.plausibility import decides
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.summaries import counted, number

__all__ = ["LabelDiversity", "label_diversity"]


@dataclass(frozen=True, repr=False, eq=False)
class LabelDiversity(Shown):
    """How far the kept variables tell the label, in the confidential data.

    Attributes
    ----------
    share : float
        A label that at least this share of a group has holds nearly everybody.
    fewest : int
        Records of a pattern from which on a label can dominate it; fewer agree by chance.
    n_records, n_patterns : int
        Sizes.
    dominated_patterns, dominated_records : int
        Patterns of `fewest` or more records in which one label holds nearly everybody, and their
        records. None where one label holds nearly everybody of the whole file.
    single_records : int
        Records that are alone in their pattern.
    fewest_labels : int
        Distinct labels in the least diverse pattern of two or more records; 0 where there is none.
    variables : polars.DataFrame
        One row per kept variable: ``variable``, ``guessed`` (share of records whose label is the
        most frequent one of their level), ``without`` (the same without any variable),
        ``dominated_records`` (records of levels in which one label holds nearly everybody) and
        ``decides`` (whether its levels all but fix a synthesized variable: right for 99 in 100
        records of levels with at least five, and for fewer than nine in ten without it).
    """

    _frames: ClassVar[tuple[str, ...]] = ("variables",)
    share: float
    fewest: int
    n_records: int
    n_patterns: int
    dominated_patterns: int
    dominated_records: int
    single_records: int
    fewest_labels: int
    variables: pl.DataFrame

    @property
    def deciding(self) -> tuple[str, ...]:
        """Kept variables that decide the label for nearly everybody."""
        return tuple(self.variables.filter(pl.col("decides"))["variable"].to_list())

    def _described(self) -> Described:
        """Show a readable table, without any value of the data."""
        rows = [
            (row["variable"], number(row["guessed"]), number(row["without"]),
             f"{row['dominated_records']:,}", "yes" if row["decides"] else "no")
            for row in self.variables.iter_rows(named=True)
        ]  # fmt: skip
        header = ("kept variable", "guessed", "without it", "dominated records", "decides")
        return Described(
            f"Diversity of labels, {counted(self.n_records, 'record')}",
            header,
            rows,
            [
                f"  one label holds {self.share:.0%} or more of {self.dominated_patterns:,} of "
                f"{self.n_patterns:,} patterns ({self.dominated_records:,} records; patterns of "
                f"fewer than {self.fewest} are not counted); "
                f"{self.single_records:,} records are alone in theirs; the least diverse pattern "
                f"of several has {self.fewest_labels:,} labels",
            ],
        )

    def _panels(self) -> Mapping[str, Panel]:
        rows = self.variables.rows(named=True)
        return {
            "guessed": Panel(
                "share of records whose label is guessed right",
                [row["variable"] for row in rows],
                [row["guessed"] for row in rows],
                references={"without it": [row["without"] for row in rows]},
                values_name="with the variable",
            )
        }


@in_users_kind
@only_our_errors
def label_diversity(data: Microdata, share: float = 0.9, fewest: int = 5) -> LabelDiversity:
    """Measure how far the kept variables tell the label, in the confidential data.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    share : float
        From which share of a group on a label holds nearly everybody.
    fewest : int
        Records that a pattern needs to be counted.

    Returns
    -------
    LabelDiversity

    Examples
    --------
    >>> import understudy as us
    >>> us.label_diversity(us.load_ce_like()).dominated_patterns
    0
    """
    check_data(data)
    check_number("share", share)
    if not 0.5 < share <= 1:
        raise SettingError(
            expected="share above 0.5 and at most 1", came="another number", do="give 0.9, say"
        )
    check_whole("fewest", fewest, 1)
    label = true_labels(data)
    patterns = data.patterns
    most, n_labels = _largest(patterns.of_combination, label, data.counts, len(patterns))
    several = patterns.sizes > 1
    overall = float(np.bincount(np.unique(label, return_inverse=True)[1], data.counts).max())
    dominated = (patterns.sizes >= fewest) & (most >= share * patterns.sizes)
    dominated &= overall < share * data.n_records
    rows = []
    for name in data.kept:
        cells = data.cells([name])
        largest, _ = _largest(cells.of_combination, label, data.counts, len(cells))
        held = int(cells.sizes[largest >= share * cells.sizes].sum())
        rows.append(
            {
                "variable": name,
                "guessed": float(largest.sum()) / data.n_records,
                "without": overall / data.n_records,
                "dominated_records": held,
                "decides": any(decides(data, name, secret) for secret in data.synthesized),
            }
        )
    schema = {
        "variable": pl.String, "guessed": pl.Float64, "without": pl.Float64,
        "dominated_records": pl.Int64, "decides": pl.Boolean,
    }  # fmt: skip
    return LabelDiversity(
        share=float(share),
        fewest=fewest,
        n_records=data.n_records,
        n_patterns=len(patterns),
        dominated_patterns=int(dominated.sum()),
        dominated_records=int(patterns.sizes[dominated].sum()),
        single_records=int((~several).sum()),
        fewest_labels=int(n_labels[several].min()) if several.any() else 0,
        variables=pl.DataFrame(rows, schema=schema),
    )


def _largest(
    group: NDArray[np.int32], label: NDArray[np.int64], counts: NDArray[np.int64], n_groups: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Records of the most frequent label of each group, and its distinct labels, (group,)."""
    size = int(label.max()) + 1
    keys, pair = np.unique(group.astype(np.int64) * size + label, return_inverse=True)
    records = np.bincount(pair, weights=counts).astype(np.int64)
    most = np.zeros(n_groups, dtype=np.int64)
    np.maximum.at(most, keys // size, records)
    return most, np.bincount(keys // size, minlength=n_groups)
