"""What is kept of the utility measures: sums, histograms, coefficients and panels.

Where there is more than a reader can look at, the larger deviations, the larger patterns and the
more frequent labels are kept.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import InputError
from understudy.findings.data import listed_patterns
from understudy.findings.label_counts import label_counts, pair_counts
from understudy.findings.schema import (
    Coefficient,
    Histogram,
    PatternShares,
    Regression,
    SpreadFindings,
    TableRow,
    Tables,
    UtilityFindings,
    WithinPattern,
)
from understudy.findings.survey_schema import WeightedFindings
from understudy.microdata.label_table import combined_labels
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream
from understudy.spreading import in_order
from understudy.work_done import Parts, in_parts

__all__ = ["Analysis", "utility_findings"]

MOST_TABLES = 60
MOST_COEFFICIENTS = 200
MOST_VALUES = 401  # of a histogram of whole numbers; more are put into intervals
PREDICTION_BINS = 60
FLOOR_SETS = 5  # perfect sets whose signed deviations are shown
LARGEST_PANELS = 48  # panels of the largest patterns
FARTHEST_PANELS = 16  # and of those farthest above their floor
MOST_LABELS = 200  # of a panel
FAR = 3.0  # standard deviations above the floor that chance hardly reaches
DIGITS = 5  # of shares: what a plot can show
MOST_PROPENSITY_CELLS = 2000  # levels of the largest table that a propensity model is tried with


class Analysis(NamedTuple):
    """A regression that analysts will run; see `understudy.regression_utility`."""

    formula: str
    family: str
    train: int | Literal["auto"] | None = "auto"
    reference: Mapping[str, str] | str | None = None


def utility_findings(
    data: Microdata,
    sets: SyntheticSets,
    *,
    analyses: Sequence[Analysis],
    rule: str,
    seed: int,
    repeats: int = 20,
) -> UtilityFindings:
    """Measure what an analyst keeps with these sets, row by row beside the data.

    `rule` says how estimates are combined: "partial", "full" or "nested".
    """
    done = Parts(6, 4 * max(len(analyses), 1), 3, 2, 1, 1)
    asked = [(analysis, rule, seed, repeats) for analysis in analyses]
    return UtilityFindings(
        tables=done(_tables(data, sets, seed)),
        regressions=done(tuple(in_parts(in_order(_regression, asked, sets), len(asked)))),
        within=done(_within(data, sets, listed_patterns(data), seed)),
        weighted=done(_weighted(data, sets, rule, seed)),
        labels=done(label_counts(data, sets)),
        pairs=done(pair_counts(data, sets)),
    )


def _weighted(
    data: Microdata, sets: SyntheticSets, rule: str, seed: int
) -> WeightedFindings | None:
    """Compare weighted tables and shares, where the data have survey weights."""
    from understudy.utility.weighted_utility import weighted_utility

    if data.survey is None:
        return None
    utility = weighted_utility(data, sets, rule=rule, seed=seed)
    return WeightedFindings(
        orders=tuple(utility.deviation),
        deviation=tuple(utility.deviation.values()),
        truth_floor=tuple(utility.truth_floor.values()),
        shares=utility.shares.height,
        mean_overlap=utility.mean_overlap,
    )


def _tables(data: Microdata, sets: SyntheticSets, seed: int) -> Tables:
    """Compare tables, with the noise floor and the signed deviations of perfect sets."""
    from understudy.utility.tables import signed_deviations, table_utility

    done = Parts(8, 1, 1, 1, 2)
    utility = done(table_utility(data, sets, seed=seed))
    orders = tuple(utility.deviation)
    signed = done(signed_deviations(data, sets, orders))
    perfect = done(signed_deviations(data, _perfect_sets(data, seed), orders))
    uniform = done(signed_deviations(data, _uniform_set(data, seed), orders))
    per_set = utility.per_set
    return Tables(
        orders=orders,
        deviation=tuple(
            SpreadFindings.of(per_set.filter(pl.col("order") == order)["deviation"].to_list())
            for order in orders
        ),
        noise_floor=tuple(utility.noise_floor[order] for order in orders),
        truth_floor=tuple(utility.truth_floor[order] for order in orders),
        tables=_table_rows(utility.tables),
        signed=tuple(_histogram(*signed[order]) for order in orders),
        signed_floor=tuple(_histogram(*perfect[order]) for order in orders),
        propensity_ratio=done(_propensity(data, sets, seed)),
        minimum=tuple(float(np.abs(uniform[order][0]) @ uniform[order][1]) for order in orders),
    )


def _perfect_sets(data: Microdata, seed: int) -> SyntheticSets:
    from understudy.utility.noise_floors import perfect_codes

    codes = [
        perfect_codes(stream(seed, "report", "perfect", number), data)
        for number in range(FLOOR_SETS)
    ]
    return SyntheticSets(data, np.stack(codes))


def _uniform_set(data: Microdata, seed: int) -> SyntheticSets:
    """One set of the baseline Uniform: every label drawn from all labels alike."""
    generator = stream(seed, "report", "uniform")
    codes = [
        generator.integers(0, data.variable(name).n_levels, data.n_records, dtype=np.int32)
        for name in data.synthesized
    ]
    return SyntheticSets(data, np.stack(codes, axis=-1)[None])


def _table_rows(tables: pl.DataFrame) -> tuple[TableRow, ...]:
    """The tables with the largest deviations for their floor, in the order they were made."""
    ratio = pl.col("deviation") / pl.col("truth_floor").clip(lower_bound=1e-9)
    kept = (
        tables.with_row_index("row")
        .sort(ratio, "row", descending=[True, False])
        .head(MOST_TABLES)
        .sort("row")
    )
    return tuple(
        TableRow(
            order=row["order"],
            table=row["table"],
            cells=row["cells"],
            deviation=row["deviation"],
            noise_floor=row["noise_floor"],
            truth_floor=row["truth_floor"],
        )
        for row in kept.iter_rows(named=True)
    )


def _histogram(values: NDArray[np.int64], cells: NDArray[np.int64]) -> Histogram:
    """Draw up cells (value,) by their deviations: each value, or intervals where they reach far."""
    if not values.size:
        return Histogram(edges=(), counts=())
    low, high = int(values.min()), int(values.max())
    width = -(-(high - low + 1) // MOST_VALUES)  # whole numbers in an interval
    n_bins = -(-(high - low + 1) // width)
    counts = np.bincount((values - low) // width, weights=cells, minlength=n_bins)
    edges = [low - 0.5 + width * bin_number for bin_number in range(n_bins + 1)]
    return Histogram(edges=tuple(edges), counts=tuple(counts.astype(np.int64).tolist()))


def _propensity(data: Microdata, sets: SyntheticSets, seed: int) -> float | None:
    """Ratio of the propensity score's error to a right synthesizer's; None where too large."""
    sizes = [variable.n_levels for variable in data.variables]
    pairs = [a * b for i, a in enumerate(sizes) for b in sizes[i + 1 :]]
    if sum(sizes) + sum(pairs) > MOST_PROPENSITY_CELLS:
        return None
    from understudy.utility.propensity import propensity_utility

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ratio = propensity_utility(data, sets, seed=seed).ratio_to_truth
    except InputError:
        return None
    return float(ratio) if math.isfinite(ratio) else None


def _regression(task: tuple[Analysis, str, int, int], sets: SyntheticSets) -> Regression:
    """Fit one regression to the original and every set, and keep what can be looked at."""
    from understudy.utility.regression.regression_utility import regression_utility

    (formula, family, train, reference), rule, seed, repeats = task
    utility = regression_utility(
        sets.data,
        sets,
        formula,
        family,
        train,
        seed,
        reference=reference,
        rule=rule,
        repeats=repeats,
    )
    coefficients = [_coefficient(row) for row in utility.coefficients.iter_rows(named=True)]
    original, synthetic = _predictions(utility.predictions)
    distance = utility.distance
    return Regression(
        formula=formula,
        family=family,
        train=utility.train,
        coefficients=tuple(_least_overlapping(coefficients)),
        mean_overlap=utility.mean_overlap,
        overlap_floor=utility.overlap_floor.mean if utility.overlap_floor else None,
        overlap_truth_floor=utility.overlap_truth_floor.mean
        if utility.overlap_truth_floor
        else None,
        predictions_original=original,
        predictions_synthetic=synthetic,
        distance=None
        if distance is None or distance.mean is None or not math.isfinite(distance.mean)
        else SpreadFindings.stored(distance),
        distance_floor=utility.noise_floor.mean if utility.noise_floor else None,
        distance_truth_floor=utility.truth_floor.mean if utility.truth_floor else None,
        overlap_in_common=utility.overlap_in_common,
        n_in_common=utility.n_in_common,
        n_coefficients=len(coefficients),
        n_failed=sum(coefficient.note is not None for coefficient in coefficients),
    )


def _coefficient(row: dict[str, object]) -> Coefficient:
    def number(name: str) -> float | None:
        value = row[name]
        return value if isinstance(value, float) and math.isfinite(value) else None

    return Coefficient(
        name=str(row["coefficient"]),
        original=number("original"),
        original_lower=number("original_lower"),
        original_upper=number("original_upper"),
        combined=number("combined"),
        combined_lower=number("combined_lower"),
        combined_upper=number("combined_upper"),
        overlap=number("overlap"),
        overlap_floor=number("overlap_floor"),
        overlap_truth_floor=number("overlap_truth_floor"),
        note=None if row["note"] is None else str(row["note"]),
    )


def _least_overlapping(coefficients: list[Coefficient]) -> list[Coefficient]:
    """Keep those that overlap least, in their own order, where there are too many."""
    by_overlap = sorted(
        range(len(coefficients)),
        key=lambda index: (_overlap(coefficients[index]), index),
    )
    return [coefficients[index] for index in sorted(by_overlap[:MOST_COEFFICIENTS])]


def _overlap(coefficient: Coefficient) -> float:
    return math.inf if coefficient.overlap is None else coefficient.overlap


def _predictions(predictions: pl.DataFrame) -> tuple[Histogram | None, Histogram | None]:
    """Histograms of predictions on common edges: of the original, and of all sets together."""
    known = predictions.filter(pl.col("prediction").is_finite())
    original = known.filter(pl.col("source") == "original")["prediction"].to_numpy()
    synthetic = known.filter(pl.col("source") != "original")["prediction"].to_numpy()
    if not original.size or not synthetic.size:
        return None, None
    both = np.concatenate([original, synthetic])
    low, high = float(both.min()), float(both.max())
    edges = np.linspace(low, high if high > low else low + 1.0, PREDICTION_BINS + 1)
    rounded = tuple(float(f"{edge:.8g}") for edge in edges.tolist())
    first, second = (
        Histogram(edges=rounded, counts=tuple(np.histogram(values, edges)[0].tolist()))
        for values in (original, synthetic)
    )
    return first, second


def _within(
    data: Microdata, sets: SyntheticSets, listed: NDArray[np.int64], seed: int
) -> WithinPattern:
    """Compare distributions of labels within patterns; `listed` are those that are reported."""
    from understudy.utility.within_pattern import within_pattern_utility

    utility = within_pattern_utility(data, sets, seed=seed)
    sizes = data.patterns.sizes
    above = utility.spreads_above[listed]
    largest = np.argsort(-sizes[listed], kind="stable")[:LARGEST_PANELS]
    farthest = np.argsort(-above, kind="stable")[:FARTHEST_PANELS]
    shares = _label_shares(data, sets, listed[np.union1d(largest, farthest)].tolist())
    weights = sizes / sizes.sum()
    return WithinPattern(
        distance=tuple(utility.distance[listed].tolist()),
        noise_floor=tuple(utility.noise_floor[listed].tolist()),
        truth_floor=tuple(utility.truth_floor[listed].tolist()),
        spreads_above=tuple(value if math.isfinite(value) else None for value in above.tolist()),
        shares=tuple(shares.get(pattern) for pattern in listed.tolist()),
        mean_distance=float(weights @ utility.distance),
        mean_floor=float(weights @ utility.noise_floor),
        mean_truth_floor=float(weights @ utility.truth_floor),
        n_far=int((utility.spreads_above > FAR).sum()),
    )


def _label_shares(
    data: Microdata, sets: SyntheticSets, patterns: list[int]
) -> dict[int, PatternShares]:
    """Shares of labels in some patterns: in the original, and over the sets."""
    of_record = data.patterns.of_combination[data.of_record]  # (record,)
    order = np.argsort(of_record, kind="stable")
    starts = np.searchsorted(of_record[order], np.arange(len(data.patterns) + 1))
    columns = [data.names.index(name) for name in data.synthesized]
    true = combined_labels(data, data.combinations[:, columns])[data.of_record]  # (record,)
    shares = {}
    for pattern in patterns:
        rows = order[starts[pattern] : starts[pattern + 1]]
        drawn = combined_labels(data, sets.codes[:, rows, :])  # (set, record of the pattern)
        shares[pattern] = _shares(true[rows], drawn)
    return shares


def _shares(true: NDArray[np.int64], drawn: NDArray[np.int64]) -> PatternShares:
    labels = np.unique(np.concatenate([true, drawn.reshape(-1)]))
    size = true.size

    def share(values: NDArray[np.int64]) -> NDArray[np.float64]:
        counts = np.bincount(np.searchsorted(labels, values), minlength=labels.size)
        return np.asarray(counts / size)

    original = share(true)  # (label,)
    per_set = np.stack([share(labels_of_set) for labels_of_set in drawn])  # (set, label)
    mean = per_set.mean(axis=0)
    kept = np.sort(np.argsort(-np.maximum(original, mean), kind="stable")[:MOST_LABELS])

    def numbers(values: NDArray[np.float64]) -> tuple[float, ...]:
        return tuple(np.round(values[kept], DIGITS).tolist())

    return PatternShares(
        labels=tuple(labels[kept].tolist()),
        original=numbers(original),
        synthetic=numbers(mean),
        lowest=numbers(per_set.min(axis=0)),
        highest=numbers(per_set.max(axis=0)),
        n_others=int(labels.size - kept.size),
    )
