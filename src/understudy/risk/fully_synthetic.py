"""Risk of fully synthetic files, whose rows are new people.

No row belongs to any record, so nobody can be matched. Two things remain to be measured.

*Guessing.* The intruder knows all variables of a person but one (or the keys that are named), and
guesses the last from the rows of all files that have these keys: the most frequent value, or the
most frequent of all rows where none has them. Beside it: what the other records of the original
with the same keys tell (Others), what the exact table tells (Perfect), and what the overall
distribution tells (Marginal). The position is (success - Others) / (Perfect - Others): weaker
evidence than a fit's own-record effect, because a model can learn more than Others from other
people.

*Repeating.* A record that is unique in the original, and that a file has verbatim. Some are
repeated by chance. How many is told by *Marginal* (every variable drawn by itself from the other
records), by *Others* (one variable at a time drawn anew from the other records that agree in all
others), and by what *new people* of the same population would repeat: a record that is unique among
n has, by Good and Turing, a share of 2 N2 / (N1 n) of the population on average, N1 and N2 the
numbers of rows that one record and that two records have. (Files among themselves tell nothing:
samples of the original repeat each other as they repeat it.) *Perfect*, rows drawn from the records
themselves, repeats about 63 % of them: nothing that only learned from the records repeats more. A
file with the very rows of the original is a *copy*. Records that *all* files have are counted too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import InputError
from understudy.microdata.data_arguments import check_data
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.risk.attribution_without_rows import attribution_risk, check_keys, codes_of_sets
from understudy.risk.matching import fold_keys
from understudy.risk.own_record.attacks import LEAST
from understudy.summaries import counted, number

__all__ = ["FullySyntheticRisk", "fully_synthetic_risk"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False, eq=False)
class FullySyntheticRisk(Shown):
    """What fully synthetic files give away.

    Attributes
    ----------
    guesses : polars.DataFrame
        One row per target: ``target``, ``keys``, ``success`` (records whose value is guessed right
        from all files), ``marginal``, ``others``, ``perfect``, ``effect`` (success less others),
        ``standard_error`` (as if guesses were independent), ``exact_table`` (perfect less others),
        ``position``, ``position_error``, and of the attribution measures ``disclosive_correct``,
        ``tcap`` and ``dcap``.
    uniques : int
        Records that are unique in the original.
    repeated : float
        Of these, how many a file has verbatim, mean over files.
    repeated_somewhere, repeated_everywhere : int
        How many at least one file has, and how many all of them.
    expected_everywhere : float
        The latter by chance.
    expected_repeats : mapping of str to float
        The same as `repeated` by chance: ``"Marginal"``, ``"Others"`` and ``"new people"``.
    perfect_repeats : float
        The same if rows were drawn from the records themselves, with replacement.
    copies : int
        Files that have the rows of the original, each as often.
    n_records, n_sets : int
        Sizes.
    """

    _frames: ClassVar[tuple[str, ...]] = ("guesses",)
    guesses: pl.DataFrame
    uniques: int
    repeated: float
    repeated_somewhere: int
    repeated_everywhere: int
    expected_everywhere: float
    expected_repeats: Mapping[str, float]
    perfect_repeats: float
    copies: int
    n_records: int
    n_sets: int

    @property
    def position(self) -> float:
        """Highest position of all guesses."""
        return float(max(self.guesses["position"].to_list()))

    @property
    def repeated_excess(self) -> float:
        """Unique records repeated beyond what chance gives: the largest that is known of it."""
        return self.repeated - max(self.expected_repeats.values())

    def _described(self) -> Described:
        """Show a readable table, without any value of the data."""
        rows = [
            (row["target"], number(row["success"]), number(row["marginal"]), number(row["others"]),
             number(row["perfect"]), f"{row['position']:.2f} ± {row['position_error']:.2f}")
            for row in self.guesses.iter_rows(named=True)
        ]  # fmt: skip
        header = ("target", "guessed right", "Marginal", "Others", "Perfect", "position")
        chance = ", ".join(
            f"{number(value)} ({name})" for name, value in self.expected_repeats.items()
        )
        return Described(
            f"Fully synthetic risk of {counted(self.n_records, 'record')}, "
            f"{counted(self.n_sets, 'file')}",
            header,
            rows,
            [
                f"  {number(self.repeated)} of {self.uniques:,} records that are unique in the "
                f"original are in a file verbatim, {self.repeated_somewhere:,} in any; by chance: "
                f"{chance}",
                "  weaker evidence than an own-record effect: a model may learn from all records "
                "what Others does not",
            ],
        )

    def _panels(self) -> Mapping[str, Panel]:
        frame = self.guesses
        return {
            "guesses": Panel(
                f"guessed right, of {self.n_records:,} records",
                frame["target"].to_list(),
                frame["success"].to_list(),
                references={
                    words: frame[name].to_list()
                    for name, words in (
                        ("marginal", "Marginal"),
                        ("others", "Others"),
                        ("perfect", "Perfect"),
                    )
                },
                values_name="from all files",
            )
        }


@in_users_kind
@only_our_errors
def fully_synthetic_risk(
    data: Microdata,
    synthetic: SyntheticSets | Sequence[Any],
    keys: Sequence[str] | str | None = None,
    target: str | None = None,
) -> FullySyntheticRisk:
    """Measure the risk of fully synthetic files, for which rows belong to nobody.

    Parameters
    ----------
    data : Microdata
        The confidential records, with every variable synthesized.
    synthetic : SyntheticSets, or sequence of frames or paths
        Fully synthetic sets; files and frames may have any number of rows.
    keys : sequence of str, optional
        Variables that the intruder knows; all others but the target when left out.
    target : str, optional
        The variable that she guesses; each in turn when left out.

    Returns
    -------
    FullySyntheticRisk
    """
    check_data(data)
    if data.kept or len(data.names) < 2:
        raise InputError(
            expected="data with every variable synthesized, at least two of them",
            came="kept variables" if data.kept else "one variable",
            do="use attribute_risk and own_record_effect, which need kept variables",
        )
    sets = codes_of_sets(data, synthetic)
    targets = data.names if target is None else (target,)
    rows = []
    for name in targets:
        given = [other for other in data.names if other != name] if keys is None else keys
        rows.append(_guess(data, synthetic, sets, check_keys(data, given, name), name))
    repeats = _repeats(data, sets)
    return FullySyntheticRisk(
        guesses=pl.DataFrame(rows, infer_schema_length=None),
        n_records=data.n_records,
        n_sets=len(sets),
        **repeats,
    )


def _guess(
    data: Microdata,
    synthetic: Any,
    sets: Sequence[NDArray[np.integer[Any]]],
    keys: tuple[str, ...],
    target: str,
) -> dict[str, Any]:
    """Guess one variable from others, pooled over all files, and by the baselines."""
    columns = [data.names.index(name) for name in (*keys, target)]
    levels = [data.variable(name).n_levels for name in (*keys, target)]
    own = data.combinations[:, columns]  # (combination, variable)
    made = np.concatenate([codes[:, columns] for codes in sets])  # (row, variable)
    folded, _ = fold_keys(list(np.concatenate([own, made])[:, :-1].T), levels[:-1])
    key = np.unique(folded, return_inverse=True)[1].astype(np.int64)
    n_own, size = len(own), levels[-1]
    value = own[:, -1].astype(np.int64)
    original = _Table(key[:n_own], value, data.counts, size)
    pooled = _Table(key[n_own:], made[:, -1].astype(np.int64), np.ones(len(made)), size)
    counts = data.counts.astype(np.float64)
    success = pooled.modal(key[:n_own], value)
    perfect = original.modal(key[:n_own], value)
    others = original.modal(key[:n_own], value, left_out=True)
    sums = [float(chance @ counts) for chance in (success, others, perfect)]
    effect, exact = sums[0] - sums[1], sums[2] - sums[1]
    error, scale = (sums[0] + sums[1]) ** 0.5, max(exact, LEAST)
    attribution = attribution_risk(data, synthetic, keys, target)
    return {
        "target": target,
        "keys": ", ".join(keys),
        "success": sums[0],
        "marginal": float(np.bincount(value, counts).max()),
        "others": sums[1],
        "perfect": sums[2],
        "effect": effect,
        "standard_error": error,
        "exact_table": exact,
        "position": effect / scale,
        "position_error": error / scale,
        "disclosive_correct": attribution.disclosive_correct,
        "tcap": attribution.tcap,
        "dcap": attribution.dcap,
    }


class _Table:
    """Rows counted by key and value.

    Parameters
    ----------
    key, value : int64 (row,)
        What each row has.
    counts : (row,)
        How often.
    size : int
        All values are smaller.
    """

    def __init__(
        self, key: NDArray[np.int64], value: NDArray[np.int64], counts: NDArray[Any], size: int
    ) -> None:
        self.pairs, pair = np.unique(key * size + value, return_inverse=True)
        self.counts = np.bincount(pair, weights=counts)  # (pair,)
        self.start = np.searchsorted(self.pairs // size, np.arange(int(key.max()) + 2))
        self.overall = np.bincount(value, weights=counts, minlength=size)  # (value,)
        self.size = size

    def modal(
        self, key: NDArray[np.int64], value: NDArray[np.int64], left_out: bool = False
    ) -> Floats:
        """Chance that the most frequent value of each key is this one, ties broken at random.

        A key that has no row takes the most frequent value of all. `left_out` takes one row of the
        pair itself away first.
        """
        chance = np.empty(key.size)
        for index, (k, v) in enumerate(zip(key.tolist(), value.tolist(), strict=True)):
            start, end = self.start[k : k + 2] if k + 1 < self.start.size else (0, 0)
            counts = self.counts[start:end]
            values = self.pairs[start:end] % self.size
            if left_out:
                counts = counts - (values == v)
            if counts.sum() == 0:
                counts, values = self.overall, np.arange(self.size)
                if left_out:
                    counts = counts - (values == v)
            best = counts == counts.max()
            chance[index] = (best & (values == v)).any() / best.sum()
        return chance


def _repeats(data: Microdata, sets: Sequence[NDArray[np.integer[Any]]]) -> dict[str, Any]:
    """Count unique records that files have verbatim, and what chance gives."""
    levels = [data.variable(name).n_levels for name in data.names]
    stacked = np.concatenate([data.combinations, *sets])
    folded, _ = fold_keys(list(stacked.T), levels)
    row = np.unique(folded, return_inverse=True)[1]
    n_rows, n_own = int(row.max()) + 1, data.n_combinations
    ends = np.cumsum([n_own, *(len(codes) for codes in sets)])
    own = row[:n_own]
    files = [
        np.bincount(row[start:end], minlength=n_rows) for start, end in pairwise(ends)
    ]  # rows of each file, (distinct row,)
    original = np.zeros(n_rows, dtype=np.int64)  # (distinct row,)
    original[own] = data.counts
    unique = data.counts == 1
    inside = np.stack([counts[own[unique]] > 0 for counts in files])  # (file, unique record)
    marginal = np.ones(n_own)
    others = np.zeros(n_own)
    for column, name in enumerate(data.names):
        value = data.combinations[:, column].astype(np.int64)
        share = (np.bincount(value, data.counts)[value] - 1) / max(data.n_records - 1, 1)
        marginal *= share
        rest = [other for other in data.names if other != name]
        cells = data.cells(rest)
        alone = cells.sizes[cells.of_combination] == 1
        others += np.where(alone, share, 0.0) / len(data.names)
    n_new = float(np.mean([len(codes) for codes in sets]))
    by_marginal = -np.expm1(n_new * np.log1p(-marginal[unique]))  # (unique record,)
    by_others = others[unique]
    twice = int((data.counts == 2).sum())
    rate = 2.0 * twice / max(int(unique.sum()), 1) * n_new / data.n_records
    again = np.full(by_marginal.size, -np.expm1(-rate))  # (unique record,)
    expected = {
        name: float(chance.sum())
        for name, chance in (
            ("Marginal", by_marginal), ("Others", by_others), ("new people", again)
        )
    }  # fmt: skip
    perfect = -np.expm1(n_new * np.log1p(-1.0 / max(data.n_records, 2)))  # share of the uniques
    everywhere = max(
        float((chance ** len(sets)).sum()) for chance in (by_marginal, by_others, again)
    )
    return {
        "uniques": int(unique.sum()),
        "repeated": float(inside.sum() / len(sets)),
        "repeated_somewhere": int(inside.any(axis=0).sum()),
        "repeated_everywhere": int(inside.all(axis=0).sum()),
        "expected_everywhere": everywhere,
        "expected_repeats": expected,
        "perfect_repeats": float(perfect * unique.sum()),
        "copies": sum(np.array_equal(counts, original) for counts in files),
    }
