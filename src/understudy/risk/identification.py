"""Identification: whether an intruder can find the row of the person she is looking for.

The story. The intruder knows, from elsewhere, some kept variables of a person (her knowledge) and
the person's true label, and knows that the person is in the data. She looks for rows of a
published file that have these values. If c rows match she picks one of them at random. She
succeeds if it is the person's own row, and she is convinced of having succeeded if c = 1.

T/c is added up in `matching` (`count_matches`), its loop in `match_kernels`; over draws from a
table of probabilities its expectation is in `closed_form`.
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
from understudy.display.panels import Panel, spread_panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import quoted_list
from understudy.microdata.frames import enum_column
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.risk.alignment import Alignment, IfUnaligned, aligned_sets, check_alignment
from understudy.risk.joint import JointIdentification, joint_identification
from understudy.risk.matching import (
    NO_UNIQUE_MATCHES,
    CountIn,
    Labels,
    MatchCounts,
    PerRecord,
    Targets,
    count_matches,
    find_targets,
    labels_of,
)
from understudy.summaries import Spread, counted, number, spread_frame, spread_of

__all__ = [
    "IdentificationRisk",
    "SetMatches",
    "attack_frame",
    "identification_risk",
    "match_sets",
    "pattern_frame",
]

Quantity = Literal["match_probability", "unique_match", "true_match"]
MEASURES = {
    "expected_match_risk": "expected match risk",
    "true_match_rate": "true match rate",
    "false_match_rate": "false match rate",
    "unique_matches": "unique matches",
}


@dataclass(frozen=True, repr=False, eq=False)
class IdentificationRisk(Shown):
    """What an intruder with this knowledge can do, over all synthetic sets.

    Attributes
    ----------
    known : tuple of str
        Kept variables that the intruder knows, besides the true label.
    count_in : {"synthetic", "original"}
        Where c was counted.
    n_records, n_sets : int
        Targets of the attack, and files attacked one by one.
    per_set : polars.DataFrame
        One row per set: ``expected_match_risk``, ``true_match_rate``, ``false_match_rate`` (null
        where there are no unique matches), ``unique_matches``, ``true_matches``,
        ``random_linkage``, ``random_within_cells``, ``as_released``.
    spreads : mapping of str to Spread
        Mean, minimum, maximum and standard error over sets, by measure, and how many sets each is
        taken over.
    joint : JointIdentification
        The intruder who holds all sets at once; her c is always counted in the synthetic sets.
    random_linkage : float
        The expected match risk if rows were paired with records at random: at most 1 whatever the
        data. With c counted in the synthetic set it is the share of records with any candidate,
        with c counted in the original the share of rows that equal any record. Mean over sets.
    random_within_cells : float
        The same if rows were paired at random within the cells of the known variables: what the
        file's tables alone give away, and at most the number of known cells.
    as_released : float
        The expected match risk if a person's row is any row of her pattern: every released file has
        an order of its own. Mean over sets.
    alignment : Alignment
        Whether the rows look paired with their records at all.
    """

    _frames: ClassVar[tuple[str, ...]] = ("over_sets", "per_set", "attacks", "per_pattern")
    known: tuple[str, ...]
    count_in: CountIn
    n_records: int
    n_sets: int
    per_set: pl.DataFrame
    spreads: Mapping[str, Spread]
    joint: JointIdentification
    random_linkage: float
    random_within_cells: float
    as_released: float
    alignment: Alignment
    _data: Microdata
    _sums: PerRecord

    @property
    def expected_match_risk(self) -> float:
        """Sum over records of T/c, mean over sets."""
        return _defined(self.spreads["expected_match_risk"])

    @property
    def true_match_rate(self) -> float:
        """Share of records with c = 1 and T = 1, mean over sets."""
        return _defined(self.spreads["true_match_rate"])

    @property
    def false_match_rate(self) -> float | None:
        """Share of unique matches that are wrong, mean over sets that have any; else None."""
        return self.spreads["false_match_rate"].mean

    @property
    def unique_matches(self) -> float:
        """Records with c = 1, mean over sets."""
        return _defined(self.spreads["unique_matches"])

    @property
    def best_match_risk(self) -> float:
        """Expected match risk of one file or of all: the larger, as files may be thrown away."""
        return max(self.expected_match_risk, self.joint.expected_match_risk)

    @property
    def attacks(self) -> pl.DataFrame:
        """Expected records found, by attack, in the worst case and as released."""
        one_file, released = self.expected_match_risk, self.as_released
        return attack_frame(
            {
                "match_one_file": (one_file, released),
                "match_all_files": (self.joint.expected_match_risk, None),
                "match_best": (self.best_match_risk, released),
            }
        )

    @property
    def assumption(self) -> str:
        """What the results take for granted."""
        return (
            "the intruder knows the person is in the data, knows the true label and "
            f"{quoted_list(self.known)}, and matches one file at a time"
        )

    def over_sets(self) -> pl.DataFrame:
        """Mean, minimum, maximum and standard error over sets, one row per measure."""
        return spread_frame(self.spreads)

    def per_record(self, quantity: Quantity = "match_probability") -> NDArray[np.float64]:
        """Give each record's own risk. Confidential.

        Parameters
        ----------
        quantity : {"match_probability", "unique_match", "true_match"}
            T/c, whether c = 1, or whether c = 1 and T = 1, each as a mean over sets.

        Returns
        -------
        float64 (record,)
            In the order of the records.
        """
        sums = {
            "match_probability": self._sums.probability,
            "unique_match": self._sums.unique,
            "true_match": self._sums.true_unique,
        }
        return np.asarray(sums[check_one_of("quantity", quantity, sums)] / self.n_sets)

    def per_pattern(self) -> pl.DataFrame:
        """Add up the records' risks by pattern of the kept variables. Confidential.

        Returns
        -------
        polars.DataFrame
            One row per pattern: the kept variables (one named like a column of results is called
            "NAME (variable)"), ``records``, and means over sets of
            ``expected_match_risk``, ``unique_matches`` and ``true_matches``.
        """
        return pattern_frame(
            self._data,
            {
                "expected_match_risk": self.per_record(),
                "unique_matches": self.per_record("unique_match"),
                "true_matches": self.per_record("true_match"),
            },
        )

    def _described(self) -> Described:
        """Show a readable table, without any value of the data."""
        rows = []
        for name, words in MEASURES.items():
            spread = self.spreads[name]
            together: float | None = getattr(self.joint, name)
            rows.append(
                (
                    words,
                    number(spread.mean, spread.standard_error, missing=NO_UNIQUE_MATCHES),
                    number(spread.minimum, missing="-"),
                    number(spread.maximum, missing="-"),
                    number(spread.standard_error, missing="-"),
                    f"{spread.files}",
                    number(together, missing=NO_UNIQUE_MATCHES),
                )
            )
        title = (
            f"Identification risk of {counted(self.n_records, 'record')}, known: "
            f"{quoted_list(self.known)} and the true label"
        )
        joint = "all sets joint" + (", c in synthetic" if self.count_in == "original" else "")
        header = ("over sets", "mean", "minimum", "maximum", "std. error", "sets", joint)
        return Described(
            title,
            header,
            rows,
            [
                f"  rows paired at random: {number(self.random_linkage)} (at most 1); at random "
                f"within known cells: {number(self.random_within_cells)}; as released, at random "
                f"within patterns: {number(self.as_released)}",
                f"  {self.alignment}",
                f"  c counted in the {self.count_in} data; assumes that {self.assumption}",
            ],
            [[self.per_set[name].to_list()] for name in MEASURES],
        )

    def _panels(self) -> Mapping[str, Panel]:
        spread = self.spreads["expected_match_risk"]
        others = {
            "all sets joint": self.joint.expected_match_risk,
            "as released": self.as_released,
            "rows at random within known cells": self.random_within_cells,
            "rows at random": self.random_linkage,
        }
        values = list(others.values())
        together = (self.joint.true_match_rate, self.joint.false_match_rate)
        return {
            "expected_match_risk": Panel(
                f"records found, of {self.n_records:,}",
                ["one set", *others],
                [spread.mean, *values],
                [spread.minimum, *values],
                [spread.maximum, *values],
            ),
            "rates": spread_panel(
                "rate",
                self.spreads,
                {name: MEASURES[name] for name in ("true_match_rate", "false_match_rate")},
                {"all sets joint": together},
            ),
        }


def _defined(spread: Spread) -> float:
    if spread.mean is None:  # pragma: no cover - measures that are defined in every set
        raise AssertionError("a measure that is always defined has no mean")
    return spread.mean


@in_users_kind
@only_our_errors
def identification_risk(
    data: Microdata,
    synthetic: SyntheticSets | Sequence[Any],
    known: Sequence[str] | str,
    count_in: CountIn = "synthetic",
    *,
    if_unaligned: IfUnaligned = "warn",
) -> IdentificationRisk:
    """Measure how well an intruder can find the rows of people she knows something about.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    synthetic : SyntheticSets, or sequence of frames or paths
        Synthetic sets whose row i stands in for record i, made by any tool.
    known : sequence of str
        Kept variables that the intruder knows besides the true label.
    count_in : {"synthetic", "original"}
        Where the c rows with the person's values are counted. The synthetic set is what an
        intruder has; the original is how the paper's words can also be read.
    if_unaligned : {"warn", "error"}
        What to do if rows look paired with the records at random.

    Returns
    -------
    IdentificationRisk

    Notes
    -----
    With c_i rows of the synthetic set equal to record i's true values and T_i = 1 if row i is one
    of them: expected match risk sum T_i/c_i, true match rate #{c_i T_i = 1}/n, false match rate
    #{c_i (1 - T_i) = 1}/s with s = #{c_i = 1}, as in Reiter and Mitra (2009). Exact, with one
    look-up per row and set.

    References
    ----------
    Reiter, J. P. and Mitra, R. (2009). Estimating risks of identification disclosure in
    partially synthetic data. Journal of Privacy and Confidentiality, 1(1), 99-110.

    Examples
    --------
    >>> import understudy as us
    >>> data = us.load_ce_like()
    >>> copy = us.SyntheticSets(data, data.codes("county")[None, :, None])
    >>> round(us.identification_risk(data, copy, known=["gender"]).expected_match_risk)
    266
    """
    check_one_of("count_in", count_in, ("synthetic", "original"))
    sets = aligned_sets(data, synthetic)
    names = data.known(known)
    labels = labels_of(sets)
    alignment = check_alignment(labels, if_unaligned)
    targets = find_targets(data, names, labels.of_combination, labels.size)
    matched = match_sets(targets, labels, count_in)
    per_set = _per_set(matched.matches, data.n_records).with_columns(
        as_released=pl.Series(_as_released(targets, labels, matched, count_in), dtype=pl.Float64)
    )
    return IdentificationRisk(
        known=names,
        count_in=count_in,
        n_records=data.n_records,
        n_sets=len(sets),
        per_set=per_set,
        spreads={name: spread_of(per_set[name].to_list()) for name in MEASURES},
        joint=joint_identification(targets, matched.matched, matched.counts),
        random_linkage=_defined(spread_of(per_set["random_linkage"].to_list())),
        random_within_cells=_defined(spread_of(per_set["random_within_cells"].to_list())),
        as_released=_defined(spread_of(per_set["as_released"].to_list())),
        alignment=alignment,
        _data=data,
        _sums=matched.sums,
    )


@dataclass(frozen=True, repr=False, eq=False)
class SetMatches:
    """All sets matched with the same targets."""

    matches: list[MatchCounts]  # one per set
    matched: NDArray[np.int32]  # (set, record)
    counts: NDArray[np.int64]  # (set, target)
    sums: PerRecord


def match_sets(targets: Targets, labels: Labels, count_in: CountIn = "synthetic") -> SetMatches:
    """Match every set, one by one."""
    n_sets, n_records = len(labels.sets), targets.of_record.size
    matched = np.empty((n_sets, n_records), dtype=np.int32)  # (set, record)
    counts = np.empty((n_sets, len(targets)), dtype=np.int64)  # (set, target)
    sums, matches = PerRecord.zeros(n_records), []
    for index in range(n_sets):
        matched[index], counts[index] = targets.match_rows(labels.of_set(index))
        candidates = counts[index] if count_in == "synthetic" else targets.sizes
        hit = matched[index] == targets.of_record
        matches.append(count_matches(targets, candidates, hit, sums, counts[index]))
    return SetMatches(matches, matched, counts, sums)


def _as_released(
    targets: Targets, labels: Labels, matched: SetMatches, count_in: CountIn
) -> list[float]:
    """Expected match risk of each set if rows are paired at random within patterns.

    A record with label g in a pattern of n rows, M of which have label g, has T = 1 with
    probability M/n.
    """
    data = labels.sets.data
    patterns = find_targets(data, data.kept, labels.of_combination, labels.size)
    target = np.zeros(len(patterns), dtype=np.int64)  # (pair of pattern and label,)
    target[patterns.of_record] = targets.of_record
    share = patterns.sizes / patterns.cell_sizes[patterns.cell]
    risks = []
    for index in range(len(labels.sets)):
        rows = patterns.match_rows(labels.of_set(index))[1]
        candidates = matched.counts[index] if count_in == "synthetic" else targets.sizes
        risks.append(float((share * rows / np.maximum(candidates[target], 1)).sum()))
    return risks


def _per_set(matches: Sequence[MatchCounts], n_records: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "set": list(range(1, len(matches) + 1)),
            "expected_match_risk": [counts.expected_match_risk for counts in matches],
            "true_match_rate": [counts.true_matches / n_records for counts in matches],
            "false_match_rate": [counts.false_match_rate for counts in matches],
            "unique_matches": [counts.unique_matches for counts in matches],
            "true_matches": [counts.true_matches for counts in matches],
            "random_linkage": [counts.random_linkage for counts in matches],
            "random_within_cells": [counts.within_cells for counts in matches],
        },
        schema_overrides={"false_match_rate": pl.Float64},
    )


def attack_frame(success: dict[str, tuple[float, float | None]]) -> pl.DataFrame:
    """Put attacks into a frame: ``attack``, ``worst_case``, ``as_released`` (null: not possible).

    Each has its expected records in the worst case and as released.
    """
    return pl.DataFrame(
        [(attack, *both) for attack, both in success.items()],
        schema={"attack": pl.String, "worst_case": pl.Float64, "as_released": pl.Float64},
        orient="row",
    )


def pattern_frame(data: Microdata, sums: Mapping[str, NDArray[Any]]) -> pl.DataFrame:
    """Add up quantities of records, (record,) each, by pattern, with its levels. Confidential.

    A variable named like one of them, or like the number or share of records, becomes "NAME
    (variable)".
    """
    patterns = data.patterns
    taken = {"records", "share", *sums}
    of_record = patterns.of_combination[data.of_record]  # (record,)
    columns: dict[str, Any] = {
        f"{name} (variable)" if name in taken else name: enum_column(
            data.variable(name), patterns.codes[:, column]
        )
        for column, name in enumerate(patterns.names)
    }
    columns["records"] = patterns.sizes
    for name, values in sums.items():
        columns[name] = np.bincount(of_record, weights=values, minlength=len(patterns))
    return pl.DataFrame(columns)
