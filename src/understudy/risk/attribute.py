"""Attribute: whether an intruder can learn the true label of a person whose row she knows.

The story. The intruder knows all kept variables of a person and with them, in the worst case, which
row is the person's. She takes the row's synthetic label for the true one. She succeeds if it is.

The comparison needs no row: guess the label that is most frequent in the
person's pattern. If she knew the confidential data's distribution that would be right in
`most_frequent_label` cases; from a synthetic file she gets `most_frequent_synthetic_label`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk.alignment import Alignment, IfUnaligned, aligned_sets, check_alignment
from understudy.risk.identification import pattern_frame
from understudy.risk.joint import JointAttribute, vote_right
from understudy.risk.matching import Labels, Targets, find_targets, labels_of
from understudy.summaries import Spread, number, spread_frame, spread_of, text_table

__all__ = ["AttributeRisk", "attribute_risk", "guess_most_frequent"]


@dataclass(frozen=True, repr=False, eq=False)
class AttributeRisk:
    """How often the synthetic label is the true one.

    Attributes
    ----------
    n_records, n_sets : int
        Records, and files looked at one by one.
    per_set : polars.DataFrame
        One row per set: ``matches``, ``share``, ``most_frequent_synthetic_label``.
    per_variable : polars.DataFrame
        One row per synthesized variable: ``matches`` and ``share`` of that variable alone, means
        over sets.
    spreads : mapping of str to Spread
        Mean, minimum, maximum and standard error over sets, by measure.
    joint : JointAttribute
        The vote over all sets.
    most_frequent_label : float
        Records whose label would be guessed rightly by naming the most frequent true label of
        their pattern, ties broken at random.
    most_frequent_synthetic_label : float
        The same with the most frequent label of the pattern in the synthetic set; mean over sets.
    alignment : Alignment
        Whether the rows look paired with their records at all.
    """

    n_records: int
    n_sets: int
    per_set: pl.DataFrame
    per_variable: pl.DataFrame
    spreads: Mapping[str, Spread]
    joint: JointAttribute
    most_frequent_label: float
    most_frequent_synthetic_label: float
    alignment: Alignment
    _data: Microdata
    _right: NDArray[np.int64]

    @property
    def matches(self) -> float:
        """Records whose synthetic label is the true one, mean over sets."""
        return float(self._right.sum()) / self.n_sets

    @property
    def share(self) -> float:
        """The same, as a share of all records."""
        return self.matches / self.n_records

    @property
    def assumption(self) -> str:
        """What the results take for granted."""
        return "the intruder knows which row is the person's and believes its label"

    def over_sets(self) -> pl.DataFrame:
        """Mean, minimum, maximum and standard error over sets, one row per measure."""
        return spread_frame(self.spreads)

    def per_record(self) -> NDArray[np.float64]:
        """Share of the sets in which a record's label is the true one, (record,). Confidential."""
        return np.asarray(self._right / self.n_sets)

    def per_pattern(self) -> pl.DataFrame:
        """Add up by pattern of the kept variables. Confidential.

        Returns
        -------
        polars.DataFrame
            One row per pattern: the kept variables (one named like a column of results is called
            "NAME (variable)"), ``records``, ``matches`` (mean over sets) and ``share``.
        """
        frame = pattern_frame(self._data, {"matches": self.per_record()})
        return frame.with_columns(share=pl.col("matches") / pl.col("records"))

    def __repr__(self) -> str:
        """Show a readable table, without any value of the data."""
        rows = []
        for name, words in (("matches", "true labels"), ("share", "share of records")):
            spread = self.spreads[name]
            rows.append(
                (words, number(spread.mean, spread.standard_error), number(spread.minimum),
                 number(spread.maximum), number(spread.standard_error, missing="-"),
                 f"{spread.files}", number(getattr(self.joint, name)))
            )  # fmt: skip
        header = ("over sets", "mean", "minimum", "maximum", "std. error", "sets", "vote of all")
        title = f"Attribute risk of {self.n_records:,} records"
        return "\n".join(
            [
                text_table(title, header, rows),
                "  guessing the most frequent label of the pattern: "
                f"{number(self.most_frequent_label)} from the original's distribution, "
                f"{number(self.most_frequent_synthetic_label)} from a synthetic set's",
                f"  {self.alignment}",
                f"  assumes that {self.assumption}",
            ]
        )


def attribute_risk(
    data: Microdata,
    synthetic: SyntheticSets | Sequence[Any],
    *,
    if_unaligned: IfUnaligned = "warn",
) -> AttributeRisk:
    """Count the records whose synthetic label is the true one.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    synthetic : SyntheticSets, or sequence of frames or paths
        Synthetic sets whose row i stands in for record i, made by any tool.
    if_unaligned : {"warn", "error"}
        What to do if rows look paired with the records at random.

    Returns
    -------
    AttributeRisk

    Notes
    -----
    Several synthesized variables count together: a match needs all of them. `per_variable` has
    each alone.

    Examples
    --------
    >>> import understudy as us
    >>> data = us.load_ce_like()
    >>> copy = us.SyntheticSets(data, data.codes("county")[None, :, None])
    >>> us.attribute_risk(data, copy).share
    1.0
    """
    sets = aligned_sets(data, synthetic)
    labels = labels_of(sets)
    alignment = check_alignment(labels, if_unaligned)
    true = labels.of_record
    patterns = find_targets(data, data.kept, labels.of_combination, labels.size)
    right = np.zeros(true.size, dtype=np.int64)  # (record,), sets with the true label
    matches, guesses = [], []
    for index in range(len(sets)):
        made = labels.of_set(index)
        hit = made == true
        right += hit
        matches.append(int(np.count_nonzero(hit)))
        guesses.append(_guess_from_set(patterns, made))
    per_set = pl.DataFrame(
        {
            "set": list(range(1, len(sets) + 1)),
            "matches": matches,
            "share": [number / data.n_records for number in matches],
            "most_frequent_synthetic_label": guesses,
        }
    )
    return AttributeRisk(
        n_records=data.n_records,
        n_sets=len(sets),
        per_set=per_set,
        per_variable=_per_variable(sets),
        spreads={name: spread_of(per_set[name].to_list()) for name in ("matches", "share")},
        joint=_vote(labels),
        most_frequent_label=guess_most_frequent(patterns, patterns.cell, patterns.sizes),
        most_frequent_synthetic_label=sum(guesses) / len(guesses),
        alignment=alignment,
        _data=data,
        _right=right,
    )


def _vote(labels: Labels) -> JointAttribute:
    right = float(vote_right(labels).sum())
    return JointAttribute(right, right / labels.sets.data.n_records, len(labels.sets))


def _per_variable(sets: SyntheticSets) -> pl.DataFrame:
    matches = [
        float((sets.codes[:, :, column] == sets.data.codes(name)).sum()) / len(sets)
        for column, name in enumerate(sets.data.synthesized)
    ]
    return pl.DataFrame(
        {
            "variable": list(sets.data.synthesized),
            "matches": matches,
            "share": [number / sets.data.n_records for number in matches],
        }
    )


def _guess_from_set(patterns: Targets, made: NDArray[np.int64]) -> float:
    """Guess with the most frequent labels of a synthetic set."""
    keys, counts = np.unique(
        patterns.cell_of_record * patterns.n_labels + made, return_counts=True
    )  # both (pair of pattern and synthetic label,)
    cells = keys // patterns.n_labels
    nearest = np.minimum(np.searchsorted(patterns.keys, keys), len(patterns) - 1)
    right = np.where(patterns.keys[nearest] == keys, patterns.sizes[nearest], 0)
    return guess_most_frequent(patterns, cells, counts, right)


def guess_most_frequent(
    patterns: Targets,
    cells: NDArray[np.int64],
    counts: NDArray[np.int64],
    right: NDArray[np.int64] | None = None,
) -> float:
    """Count how many records have the label that is most frequent in their pattern.

    Parameters
    ----------
    patterns : Targets
        Pairs of pattern and true label.
    cells, counts : int64 (pair,)
        Patterns and frequencies of the labels that are guessed from.
    right : int64 (pair,), optional
        Records with that pattern and true label; `counts` themselves when left out.

    Returns
    -------
    float
        Expected number, with ties broken at random.
    """
    most = np.zeros(patterns.cell_sizes.size, dtype=np.int64)  # (pattern,)
    np.maximum.at(most, cells, counts)
    modal = counts == most[cells]
    n_tied = np.bincount(cells[modal], minlength=most.size)  # (pattern,)
    hits = (counts if right is None else right)[modal]
    return float((hits / n_tied[cells[modal]]).sum())
