"""The paper's measures of synthetic sets and of the baselines, under the names of its cells."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import DataWarning
from understudy.microdata.shown_data import level_sizes
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream
from understudy.risk.attribute import attribute_risk
from understudy.risk.baselines import inherent_risk
from understudy.risk.identification import identification_risk
from understudy.utility.regression.regression_utility import regression_utility
from understudy.utility.tables import table_utility

__all__ = [
    "KNOWN",
    "Values",
    "measure_baselines",
    "measure_paired",
    "measure_regression",
    "measure_sets",
    "measure_shuffled",
]

KNOWN = (("gender",), ("gender", "age"))
RATES = ("expected_match_risk", "true_match_rate", "false_match_rate")

Values = dict[str, list[float | None]]  # by measure: one value per set or repeat


def measure_sets(data: Microdata, sets: SyntheticSets, seed: int) -> Values:
    """Measure utility and risk of row-aligned sets, one value per set, by published measure.

    The seed is for the noise floors, which are not kept.
    """
    with warnings.catch_warnings():
        # labels drawn from the prior ignore the kept variables, which looks like shuffled rows
        warnings.filterwarnings("ignore", "Expected labels that are true", DataWarning)
        return _measured(data, sets, seed)


def _measured(data: Microdata, sets: SyntheticSets, seed: int) -> Values:
    values: Values = {}
    tables = table_utility(data, sets, repeats=2, seed=seed).per_set
    for order in (1, 2, 3):
        rows = tables.filter(tables["order"] == order)
        values[f"deviation {order}"] = [value / 100 for value in rows["deviation"].to_list()]
    for known in KNOWN:
        per_set = identification_risk(data, sets, known).per_set
        for rate in RATES:
            values[f"{rate} {', '.join(known)}"] = per_set[rate].to_list()
    _add_attribute(values, attribute_risk(data, sets).per_set["matches"].to_list(), data.n_records)
    return values


def measure_regression(data: Microdata, sets: SyntheticSets, seed: int) -> list[dict[str, Any]]:
    """Set the intervals of the largest counties' coefficients beside the original's."""
    compared = regression_utility(data, sets, reference="largest", seed=seed, repeats=2)
    sizes = level_sizes(data, "county")
    largest = np.argsort(-sizes, kind="stable")[1:6]  # the first one is the reference
    names = [f"county[{data.variable('county').levels[code]}]" for code in largest]
    columns = (
        "coefficient", "original_lower", "original_upper", "combined_lower", "combined_upper",
        "overlap",
    )  # fmt: skip
    rows = {row["coefficient"]: row for row in compared.coefficients.select(columns).to_dicts()}
    return [rows[name] for name in names]


def measure_baselines(
    data: Microdata, repeats: int, seed: int
) -> tuple[dict[str, Values], dict[str, dict[str, float | None]]]:
    """Measure the baselines Min and Max: simulated, one value per repeat, and in closed form."""
    samples: dict[str, Values] = {"Min": {}, "Max": {}}
    exact: dict[str, dict[str, float | None]] = {"Min": {}, "Max": {}}
    for known in KNOWN:
        inherent = inherent_risk(data, known, repeats=repeats, seed=seed)
        for name, baseline in (("Min", inherent.minimum), ("Max", inherent.maximum)):
            for rate in RATES:
                measure = f"{rate} {', '.join(known)}"
                samples[name][measure] = baseline.samples[rate].to_list()
                exact[name][measure] = baseline.expected.measures().get(rate)
            matches = baseline.expected.attribute_matches
            _add_attribute(
                samples[name], baseline.samples["attribute_matches"].to_list(), data.n_records
            )
            exact[name]["attribute_matches"] = matches
            exact[name]["attribute_percent"] = 100 * matches / data.n_records
    return samples, exact


def measure_shuffled(data: Microdata, sets: SyntheticSets, seed: int) -> Values:
    """Measure sets whose whole rows are paired with the records at random.

    The sets stay the same as files; only the pairing is lost.
    """
    orders = [
        stream(seed, "reproduction", "shuffle", number).permutation(data.n_records)
        for number in range(len(sets))
    ]
    return measure_paired(data, sets, orders)


def measure_paired(
    data: Microdata, sets: SyntheticSets, orders: Sequence[NDArray[np.int64]]
) -> Values:
    """Measure sets whose row ``order[i]`` is taken for record i.

    This is the definition written out, record by record, because `understudy.risk` rightly refuses
    rows in another order.
    """
    truth = data.codes("county").astype(np.int64)  # (record,)
    n_labels = data.variable("county").n_levels
    values: Values = {f"{rate} {', '.join(known)}": [] for known in KNOWN for rate in RATES}
    right = []
    for drawn, order in zip(sets.codes, orders, strict=True):
        labels = drawn[:, 0].astype(np.int64)  # (record,)
        for known in KNOWN:
            cells = data.cells(known)
            cell = cells.of_combination[data.of_record].astype(np.int64)  # (record,)
            wanted, made = cell * n_labels + truth, cell * n_labels + labels
            counted = np.bincount(made, minlength=len(cells) * n_labels)[wanted]
            rates = _rates(made[order] == wanted, counted)
            for rate, value in zip(RATES, rates, strict=True):
                values[f"{rate} {', '.join(known)}"].append(value)
        right.append(float((labels[order] == truth).sum()))
    _add_attribute(values, right, data.n_records)
    return values


def _rates(
    true: NDArray[np.bool_], counted: NDArray[np.int64]
) -> tuple[float, float, float | None]:
    risk = float((true / np.maximum(counted, 1)).sum())
    unique = counted == 1
    false = None if not unique.any() else float((unique & ~true).sum() / unique.sum())
    return risk, float((unique & true).mean()), false


def _add_attribute(values: Values, matches: Sequence[float], n_records: int) -> None:
    values["attribute_matches"] = [float(value) for value in matches]
    values["attribute_percent"] = [100 * float(value) / n_records for value in matches]
