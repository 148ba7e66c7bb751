"""Attribute: whether an intruder can learn the true label of a person whose row she knows.

The story. The intruder knows all kept variables of a person and with them, in the worst case, which
row is the person's. She takes the row's synthetic label for the true one. She succeeds if it is.

Stronger guesses need no row: the label that is most frequent in the person's pattern, in one file
or in all files together. They are the same after rows were put into another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.risk.alignment import Alignment, IfUnaligned, aligned_sets, check_alignment
from understudy.risk.identification import attack_frame, pattern_frame
from understudy.risk.joint import JointAttribute, vote_right
from understudy.risk.label_guesses import (
    count_sets,
    modal_chance,
    row_chance,
)
from understudy.risk.matching import find_targets, labels_of
from understudy.summaries import Spread, counted, number, spread_frame, spread_of

__all__ = ["AttributeRisk", "attribute_risk"]

LabelAttack = Literal["row", "vote", "modal", "pooled_modal"]


@dataclass(frozen=True, repr=False, eq=False)
class AttributeRisk(Shown):
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
    attacks : polars.DataFrame
        One row per attack on the label (`understudy.risk.own_record.attacks`): ``attack``, and the
        expected number of labels guessed right ``worst_case`` and ``as_released``.
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

    _frames: ClassVar[tuple[str, ...]] = (
        "over_sets",
        "per_set",
        "per_variable",
        "attacks",
        "per_pattern",
    )
    n_records: int
    n_sets: int
    per_set: pl.DataFrame
    per_variable: pl.DataFrame
    spreads: Mapping[str, Spread]
    attacks: pl.DataFrame
    joint: JointAttribute
    most_frequent_label: float
    most_frequent_synthetic_label: float
    alignment: Alignment
    _data: Microdata
    _success: Mapping[str, NDArray[np.float64]]  # (record,) by attack

    @property
    def matches(self) -> float:
        """Records whose synthetic label is the true one, mean over sets."""
        return float(self._success["row"].sum())

    @property
    def most_frequent_pooled_label(self) -> float:
        """Labels guessed right from the most frequent label of the pattern over all sets."""
        return float(self._success["pooled_modal"].sum())

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

    def per_record(self, attack: LabelAttack = "row") -> NDArray[np.float64]:
        """Give each record's chance that its label is guessed right. Confidential.

        Parameters
        ----------
        attack : {"row", "vote", "modal", "pooled_modal"}
            How it is guessed; for the row, the share of the sets whose label is the true one.

        Returns
        -------
        float64 (record,)
            In the order of the records.
        """
        return self._success[check_one_of("attack", attack, self._success)]

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

    def _described(self) -> Described:
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
        title = f"Attribute risk of {counted(self.n_records, 'record')}"
        return Described(
            title,
            header,
            rows,
            [
                "  guessing the most frequent label of the pattern: "
                f"{number(self.most_frequent_label)} from the original's distribution, "
                f"{number(self.most_frequent_synthetic_label)} from one set, "
                f"{number(self.most_frequent_pooled_label)} from all sets together",
                f"  {self.alignment}",
                f"  assumes that {self.assumption}",
            ],
            [[self.per_set[name].to_list()] for name in ("matches", "share")],
        )

    def _panels(self) -> Mapping[str, Panel]:
        spread = self.spreads["matches"]
        guesses = {
            "vote of all sets": self.joint.matches,
            "most frequent of the pattern, original": self.most_frequent_label,
            "most frequent of the pattern, one set": self.most_frequent_synthetic_label,
            "most frequent of the pattern, all sets": self.most_frequent_pooled_label,
        }
        values = list(guesses.values())
        return {
            "matches": Panel(
                f"labels right, of {self.n_records:,}",
                ["one set", *guesses],
                [spread.mean, *values],
                [spread.minimum, *values],
                [spread.maximum, *values],
            )
        }


@in_users_kind
@only_our_errors
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
    hits = [labels.of_set(index) == true for index in range(len(sets))]
    matches = [int(np.count_nonzero(hit)) for hit in hits]
    counted, pooled = count_sets(labels, patterns)
    modal = [modal_chance(patterns, *counts) for counts in counted]  # (target,) each
    guesses = [float(chance @ patterns.sizes) for chance in modal]
    any_row = sum(float(row_chance(patterns, *counts) @ patterns.sizes) for counts in counted)
    success = {
        "row": np.mean(hits, axis=0),
        "vote": vote_right(labels),
        "modal": np.mean(modal, axis=0)[patterns.of_record],
        "pooled_modal": modal_chance(patterns, *pooled)[patterns.of_record],
    }  # (record,) each
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
        attacks=_attacks(success, any_row / len(sets)),
        joint=_vote(success["vote"], len(sets)),
        most_frequent_label=float(
            modal_chance(patterns, patterns.keys, patterns.sizes) @ patterns.sizes
        ),
        most_frequent_synthetic_label=sum(guesses) / len(guesses),
        alignment=alignment,
        _data=data,
        _success=success,
    )


def _attacks(success: Mapping[str, NDArray[np.float64]], any_row: float) -> pl.DataFrame:
    sums = {attack: float(chance.sum()) for attack, chance in success.items()}
    return attack_frame(
        {
            "row": (sums["row"], any_row),
            "vote": (sums["vote"], None),
            "modal": (sums["modal"], sums["modal"]),
            "pooled_modal": (sums["pooled_modal"], sums["pooled_modal"]),
        }
    )


def _vote(chance: NDArray[np.float64], n_sets: int) -> JointAttribute:
    return JointAttribute(float(chance.sum()), float(chance.mean()), n_sets)


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
