"""Identification risk by knowledge: for every set of kept variables that an intruder might know.

What an intruder knows is an assumption. Here the risk is measured for every set of kept variables,
the sets are ranked, and the least knowledge that brings the risk above a threshold is named. More
knowledge never lowers the expected match risk: a record's own row stays among its candidates, and
candidates can only drop out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import polars as pl

from understudy.checks import check_number, check_whole
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError, quoted_list
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.risk.alignment import IfUnaligned, aligned_sets, check_alignment
from understudy.risk.identification import match_sets
from understudy.risk.matching import NO_UNIQUE_MATCHES, find_targets, labels_of
from understudy.spreading import in_order
from understudy.summaries import counted, number, spread_of

__all__ = ["RiskLattice", "risk_lattice"]

MOST_SUBSETS = 5000
SHOWN = 20


@dataclass(frozen=True, repr=False, eq=False)
class RiskLattice(Shown):
    """Identification risk for every set of kept variables, the most dangerous first.

    Attributes
    ----------
    subsets : tuple of tuple of str
        The sets of known variables, in the order of `ranking`.
    ranking : polars.DataFrame
        One row per set: ``known``, ``variables`` (how many), ``cells`` (occupied), then means over
        the synthetic sets of ``expected_match_risk`` (with ``minimum`` and ``maximum``),
        ``true_match_rate``, ``false_match_rate`` (null where undefined), ``unique_matches`` and
        ``random_linkage``.
    n_sets : int
        Synthetic sets that the means are over.
    """

    _frames: ClassVar[tuple[str, ...]] = ("ranking",)
    subsets: tuple[tuple[str, ...], ...]
    ranking: pl.DataFrame
    n_sets: int

    def least_knowledge(self, threshold: float) -> tuple[tuple[str, ...], ...]:
        """Find the least knowledge that brings the expected match risk above a threshold.

        Parameters
        ----------
        threshold : float
            Of the expected match risk, mean over sets.

        Returns
        -------
        tuple of tuple of str
            Sets of variables above the threshold of which no smaller part is, fewest variables
            first, then the most dangerous; empty where no knowledge suffices.
        """
        check_number("threshold", threshold)
        risks = self.ranking["expected_match_risk"].to_list()
        above = [
            subset for subset, risk in zip(self.subsets, risks, strict=True) if risk > threshold
        ]
        least: list[tuple[str, ...]] = []
        for subset in sorted(above, key=len):  # stable: within a size the ranking's order stays
            if not any(set(smaller) <= set(subset) for smaller in least):
                least.append(subset)
        return tuple(least)

    def _described(self) -> Described:
        """Show the most dangerous sets as a readable table."""
        rows = [
            (quoted_list(subset), f"{row['cells']:,}", number(row["expected_match_risk"]),
             number(row["true_match_rate"]),
             number(row["false_match_rate"], missing=NO_UNIQUE_MATCHES),
             number(row["unique_matches"]))
            for subset, row in zip(
                self.subsets, self.ranking.head(SHOWN).iter_rows(named=True), strict=False
            )
        ]  # fmt: skip
        header = ("known, with the true label", "cells", "expected match risk", "true match rate",
                  "false match rate", "unique matches")  # fmt: skip
        title = f"Identification risk by knowledge, means over {counted(self.n_sets, 'set')}"
        more = self.ranking.height - len(rows)
        remarks = [f"  and {more} less dangerous sets of variables"] if more else []
        return Described(title, header, rows, remarks)

    def _panels(self) -> Mapping[str, Panel]:
        return {
            "expected_match_risk": Panel(
                "expected match risk",
                [", ".join(subset) for subset in self.subsets],
                self.ranking["expected_match_risk"].to_list(),
                self.ranking["minimum"].to_list(),
                self.ranking["maximum"].to_list(),
            )
        }


@in_users_kind
@only_our_errors
def risk_lattice(
    data: Microdata,
    synthetic: SyntheticSets | Sequence[Any],
    most_variables: int | None = None,
    *,
    if_unaligned: IfUnaligned = "warn",
) -> RiskLattice:
    """Measure identification risk for every set of kept variables.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    synthetic : SyntheticSets, or sequence of frames or paths
        Synthetic sets whose row i stands in for record i.
    most_variables : int, optional
        Look only at sets of at most so many variables; all when left out.
    if_unaligned : {"warn", "error"}
        What to do if rows look paired with the records at random.

    Returns
    -------
    RiskLattice
    """
    sets = aligned_sets(data, synthetic)
    subsets = _subsets(data, most_variables)
    check_alignment(labels_of(sets), if_unaligned)
    measured = list(zip(subsets, in_order(_measure, subsets, sets), strict=True))
    measured.sort(key=lambda pair: (-pair[1]["expected_match_risk"], len(pair[0])))
    ranking = pl.DataFrame(
        [row for _, row in measured], schema_overrides={"false_match_rate": pl.Float64}
    )
    return RiskLattice(tuple(subset for subset, _ in measured), ranking, len(sets))


def _subsets(data: Microdata, most_variables: int | None) -> list[tuple[str, ...]]:
    kept = data.kept
    largest = len(kept) if most_variables is None else most_variables
    check_whole("most_variables", largest, 1)
    subsets: list[tuple[str, ...]] = []
    for size in range(1, min(largest, len(kept)) + 1):
        for subset in combinations(kept, size):
            subsets.append(subset)
            if len(subsets) > MOST_SUBSETS:
                raise SettingError(
                    expected=f"at most {MOST_SUBSETS:,} sets of known variables",
                    came=f"more, from {len(kept)} kept variables ({quoted_list(kept)})",
                    do="limit the sets with most_variables",
                )
    return subsets


def _measure(known: tuple[str, ...], sets: SyntheticSets) -> dict[str, Any]:
    labels, n_records = labels_of(sets), sets.data.n_records
    targets = find_targets(sets.data, known, labels.of_combination, labels.size)
    matches = match_sets(targets, labels).matches
    risk = spread_of([counts.expected_match_risk for counts in matches])
    return {
        "known": ", ".join(known),
        "variables": len(known),
        "cells": targets.cell_sizes.size,
        "expected_match_risk": risk.mean,
        "minimum": risk.minimum,
        "maximum": risk.maximum,
        "true_match_rate": spread_of([counts.true_matches / n_records for counts in matches]).mean,
        "false_match_rate": spread_of([counts.false_match_rate for counts in matches]).mean,
        "unique_matches": spread_of([counts.unique_matches for counts in matches]).mean,
        "random_linkage": spread_of([counts.random_linkage for counts in matches]).mean,
    }
