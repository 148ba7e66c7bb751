"""Attribution without rows: measures that need no row to belong to any record.

The story. The intruder knows some variables of a person (the keys) and looks up in a published
file what the people with these keys have as their target variable. If they all have the same
value she believes it. Rows need not stand in for records, so the measures fit fully synthetic sets,
and files of any tool. Definitions are those that the R package synthpop computes [1]_, written
here as shares where synthpop prints percentages. With N records, key k, target value t:

==========================  ======================================================================
uniques_original (UiO)      records that are alone with their key
uniques_synthetic (UiS)     the same in the synthetic set
uniques_in_synthetic        UiOiS: records alone with their key whose key is in the synthetic set
replicated_uniques (repU)   records alone with their key, and the key is alone in the synthetic set
disclosive_original         Dorig: records with whose key only one target value occurs
disclosive_synthetic        Dsyn: the same in the synthetic set
in_synthetic (iS)           records whose key is in the synthetic set
disclosive (DiS)            records whose key has only one target value in the synthetic set
disclosive_correct (DiSCO)  ... and it is theirs
disclosive_both (DiSDiO)    ... and the key has only that one in the original, too
dcap (DCAPd)                mean share, in the synthetic set, of the true target value in one's key
cap_original (CAPd)         the same, looked up in the original
cap_synthetic (CAPs)        mean share of their own value in their key for the rows of the synthetic
                            set, looked up in the set itself
baseline_cap (baseCAPd)     CAPd without any key
tcap (TCAP)                 DiSCO / iS: of those whose key is in the set, the share about whom it
                            says one thing, and it is true; undefined where iS = 0
precision                   DiSCO / DiS: how often believing is right; undefined where DiS = 0
==========================  ======================================================================

For partially synthetic sets with kept variables as keys the first four are properties of the
original alone, since keys are published as they are.

References
----------
.. [1] Raab, G. M., Nowok, B. and Dibben, C. (2024). Practical privacy metrics for synthetic data.
   arXiv:2406.16826. doi:10.48550/arXiv.2406.16826
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import kind_of
from understudy.display.described import Described
from understudy.display.panels import Panel, spread_panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError, quoted, quoted_list
from understudy.microdata.data_arguments import check_data
from understudy.microdata.synthetic_files import as_sets, read_new_people
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.public_errors import only_our_errors
from understudy.risk.matching import fold_keys
from understudy.summaries import Spread, number, spread_frame, spread_of

__all__ = ["AttributionRisk", "attribution_risk", "check_keys", "codes_of_sets"]

MEASURES = {
    "uniques_original": "UiO",
    "uniques_synthetic": "UiS",
    "uniques_in_synthetic": "UiOiS",
    "replicated_uniques": "repU",
    "disclosive_original": "Dorig",
    "disclosive_synthetic": "Dsyn",
    "in_synthetic": "iS",
    "disclosive": "DiS",
    "disclosive_correct": "DiSCO",
    "disclosive_both": "DiSDiO",
    "dcap": "DCAP",
    "cap_original": "CAP",
    "cap_synthetic": "CAPs",
    "baseline_cap": "baseline CAP",
    "tcap": "TCAP",
    "precision": "DiSCO/DiS",
}


@dataclass(frozen=True, repr=False, eq=False)
class AttributionRisk(Shown):
    """What can be learned about a target variable from keys, without rows.

    Attributes
    ----------
    keys : tuple of str
        Variables that the intruder knows.
    target : str
        The variable that she wants to learn.
    per_set : polars.DataFrame
        One row per set, a column per measure of the module's table, all shares from 0 to 1;
        ``tcap`` is null where no key is in the set, ``precision`` where none is disclosive.
    spreads : mapping of str to Spread
        Mean, minimum, maximum and standard error over sets, by measure.
    n_records, n_sets : int
        Sizes.
    """

    _frames: ClassVar[tuple[str, ...]] = ("over_sets", "per_set")
    keys: tuple[str, ...]
    target: str
    per_set: pl.DataFrame
    spreads: Mapping[str, Spread]
    n_records: int
    n_sets: int

    @property
    def replicated_uniques(self) -> float | None:
        """RepU: share of records that are alone with their key in both files, mean over sets."""
        return self.spreads["replicated_uniques"].mean

    @property
    def disclosive_correct(self) -> float | None:
        """DiSCO: share of records about whom the set says one thing, and it is true; mean."""
        return self.spreads["disclosive_correct"].mean

    @property
    def dcap(self) -> float | None:
        """Share of the true value among the rows with one's keys; mean over records and sets."""
        return self.spreads["dcap"].mean

    @property
    def tcap(self) -> float | None:
        """Of the records whose key is in the set, the share that it discloses rightly; mean."""
        return self.spreads["tcap"].mean

    @property
    def assumption(self) -> str:
        """What the results take for granted."""
        return f"the intruder knows {quoted_list(self.keys)} of a person in the data, and no row"

    def over_sets(self) -> pl.DataFrame:
        """Mean, minimum, maximum and standard error over sets, one row per measure."""
        return spread_frame(self.spreads)

    def _described(self) -> Described:
        """Show a readable table, without any value of the data."""
        rows = [
            (f"{name.replace('_', ' ')} ({short})",
             number(self.spreads[name].mean, missing="undefined (no such keys)"),
             number(self.spreads[name].minimum, missing="-"),
             number(self.spreads[name].maximum, missing="-"),
             f"{self.spreads[name].files}")
            for name, short in MEASURES.items()
        ]  # fmt: skip
        title = f"Attribution of {quoted(self.target)} from {quoted_list(self.keys)}, as shares"
        return Described(
            title,
            ("over sets", "mean", "minimum", "maximum", "sets"),
            rows,
            [f"  {self.n_records:,} records; assumes that {self.assumption}"],
            [[self.per_set[name].to_list()] for name in MEASURES],
        )

    def _panels(self) -> Mapping[str, Panel]:
        words = {name: name.replace("_", " ") for name in MEASURES}
        return {"shares": spread_panel("share, from 0 to 1", self.spreads, words)}


@in_users_kind
@only_our_errors
def attribution_risk(
    data: Microdata,
    synthetic: SyntheticSets | Sequence[Any],
    keys: Sequence[str] | str,
    target: str,
) -> AttributionRisk:
    """Measure what keys tell about a target variable, for partially and fully synthetic sets.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    synthetic : SyntheticSets, or sequence of frames or paths
        Synthetic sets. Where no variable is kept, files and frames may have any number of rows.
    keys : sequence of str
        Variables that the intruder knows, kept or synthesized.
    target : str
        The variable that she wants to learn, usually synthesized.

    Returns
    -------
    AttributionRisk
    """
    names = check_keys(data, keys, target)
    sets = codes_of_sets(data, synthetic)
    measured = [_measure_set(data, codes, names, target) for codes in sets]
    per_set = pl.DataFrame(measured, schema=dict.fromkeys(MEASURES, pl.Float64)).with_row_index(
        "set", offset=1
    )
    return AttributionRisk(
        keys=names,
        target=target,
        per_set=per_set,
        spreads={name: spread_of(per_set[name].to_list()) for name in MEASURES},
        n_records=data.n_records,
        n_sets=len(sets),
    )


def codes_of_sets(
    data: Microdata, synthetic: SyntheticSets | Sequence[Any]
) -> Sequence[NDArray[np.integer[Any]]]:
    """Give the codes of every set, (row, synthesized variable) each.

    Where nothing is kept the rows are new people, and files may have any number of them.
    """
    if data.kept or isinstance(synthetic, SyntheticSets):
        return list(as_sets(data, synthetic).codes)
    return read_new_people(data, synthetic)


def check_keys(data: Microdata, keys: Sequence[str] | str, target: str) -> tuple[str, ...]:
    """Check keys and target, and give the keys in the order of the data."""
    check_data(data)
    listed = [keys] if isinstance(keys, str) else list(keys) if isinstance(keys, Iterable) else []
    strange = [name for name in (target, *listed) if not isinstance(name, str)]
    if strange or not isinstance(keys, Iterable):
        raise SettingError(
            expected="keys as a list of names, and target as a name",
            came=kind_of(strange[0] if strange else keys),
            do=f"name some of {quoted_list(data.names)}",
        )
    for name in (target, *listed):
        data.variable(name)  # says what is wrong with a name that is not there
    if not listed or target in listed:
        raise SettingError(
            expected="at least one key, and a target that is not a key",
            came="no key" if not listed else f"{quoted(target)} as both",
            do="name other variables",
        )
    return tuple(name for name in data.names if name in set(listed))


def _measure_set(
    data: Microdata, codes: NDArray[np.integer[Any]], keys: tuple[str, ...], target: str
) -> dict[str, float | None]:
    """Tabulate keys and target in the original and in one set, and compare."""
    own = [data.combinations[:, data.names.index(name)] for name in (*keys, target)]
    made = [_column(data, codes, name) for name in (*keys, target)]
    columns = [np.concatenate(pair) for pair in zip(own, made, strict=True)]
    levels = [data.variable(name).n_levels for name in (*keys, target)]
    folded, _ = fold_keys(columns[:-1], levels[:-1])
    distinct, key = np.unique(folded, return_inverse=True)  # key of each row
    pairs, pair = np.unique(key * levels[-1] + columns[-1], return_inverse=True)
    n_own, ones = own[0].size, np.ones(codes.shape[0])
    original = np.bincount(pair[:n_own], weights=data.counts, minlength=pairs.size)  # (pair,)
    synthetic = np.bincount(pair[n_own:], weights=ones, minlength=pairs.size)  # (pair,)
    return _compare(original, synthetic, pairs // levels[-1], pairs % levels[-1], distinct.size)


def _column(data: Microdata, codes: NDArray[np.integer[Any]], name: str) -> NDArray[Any]:
    if name in data.synthesized:
        return codes[:, data.synthesized.index(name)]
    return data.codes(name)


def _compare(
    original: NDArray[Any],
    synthetic: NDArray[Any],
    key: NDArray[np.int64],
    value: NDArray[np.int64],
    n_keys: int,
) -> dict[str, float | None]:
    """Compute all measures from two tables over the same pairs of key and target value.

    `original` and `synthetic` are counts with axis (pair,), `key` and `value` say which pair.
    """
    n, n_synthetic = original.sum(), synthetic.sum()
    own = np.bincount(key, weights=original, minlength=n_keys)  # (key,)
    made = np.bincount(key, weights=synthetic, minlength=n_keys)  # (key,)
    alone = own == 1
    only_synthetic = (synthetic == made[key]) & (synthetic > 0)  # (pair,), the key's only value
    only_original = (original == own[key]) & (original > 0)
    share_made = synthetic / np.maximum(made[key], 1)  # (pair,)
    share_own = original / np.maximum(own[key], 1)
    discloses = np.zeros(n_keys, dtype=bool)
    discloses[key[only_synthetic]] = True
    disclosed, correct = own[discloses].sum(), original[only_synthetic].sum()
    in_set = own[made > 0].sum()
    return {
        "uniques_original": float(alone.sum() / n),
        "uniques_synthetic": float((made == 1).sum() / n_synthetic),
        "uniques_in_synthetic": float((alone & (made > 0)).sum() / n),
        "replicated_uniques": float((alone & (made == 1)).sum() / n),
        "disclosive_original": float(original[only_original].sum() / n),
        "disclosive_synthetic": float(synthetic[only_synthetic].sum() / n_synthetic),
        "in_synthetic": float(in_set / n),
        "disclosive": float(disclosed / n),
        "disclosive_correct": float(correct / n),
        "disclosive_both": float(original[only_synthetic & only_original].sum() / n),
        "dcap": float((share_made * original).sum() / n),
        "cap_original": float((share_own * original).sum() / n),
        "cap_synthetic": float((share_made * synthetic).sum() / n_synthetic),
        "baseline_cap": float((np.bincount(value, weights=original) ** 2).sum() / n**2),
        "tcap": float(correct / in_set) if in_set else None,
        "precision": float(correct / disclosed) if disclosed else None,
    }
