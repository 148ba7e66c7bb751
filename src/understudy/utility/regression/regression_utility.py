"""Analysis-specific utility: the same regression on the original and on every set.

Two questions are asked. Would an analyst of the sets draw the conclusions that the original
supports (coefficients, intervals, their overlap)? And would a model learned from a set predict as
one learned from the original (the paper's hold-out exercise)? Both are given beside the answer for
perfect sets, drawn here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import as_whole, check_confidence, check_whole, kind_of
from understudy.display.described import Described
from understudy.display.panels import Panel, estimates_panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError
from understudy.microdata.data_arguments import check_data
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.summaries import Spread, counted, number, spread_of
from understudy.utility.estimates import Rule, compare, per_set_frame
from understudy.utility.noise_floors import perfect_codes
from understudy.utility.regression.regression_model import RegressionModel, SetFit
from understudy.work_done import Parts, in_parts

__all__ = ["RegressionUtility", "regression_utility", "wasserstein"]

Numbers = NDArray[np.float64]
USUAL_TRAIN = 5000  # as in the paper
ORIGINALS = 5  # perfect sets that play the original's role, for the truth-knowing floors
HELD_OUT = 5  # where there are fewer records, one of so many is held out


@dataclass(frozen=True, repr=False, eq=False)
class RegressionUtility(Shown):
    """One regression, on the original and on every set.

    Attributes
    ----------
    formula, family : str
        What was fitted.
    coefficients : frame
        One row per coefficient: estimate, standard error and interval of the original and combined
        over the sets, the overlap of the two intervals, ``overlap_floor`` (the overlap that as many
        perfect sets reach, mean over groups of them) with ``overlap_floor_standard_error`` (null
        with fewer than two groups), ``overlap_truth_floor`` (the same with a perfect set in the
        original's role: what a synthesizer that knew the population would reach), whether
        significance is kept or lost, and why where an estimate is missing.
    predictions : frame
        Hold-out predictions: ``source`` (original or synthetic), ``set`` (null for the original),
        ``record`` (row in the data, from 0) and ``prediction`` (expected category from 1 on,
        probability of the event, or expected score). Null where the record has a level that no
        record of the training part has. Empty without a hold-out part.
    distance : Spread or None
        Wasserstein distance between the predictions' distributions, original against each set.
    noise_floor : Spread or None
        The same for simulated perfect sets.
    truth_floor : Spread or None
        The same with each of five perfect sets in the original's role: what a synthesizer that
        knew the population would score.
    overlap_floor : Spread or None
        Mean interval overlap of groups of perfect sets, each group as large as the number of sets,
        over the coefficients that the sets and every group have an overlap for. None with one set,
        or without such coefficients.
    overlap_truth_floor : Spread or None
        The same with each of five perfect sets in the original's role, over the coefficients that
        they have, too: what a synthesizer that knew the population would reach.
    overlap_in_common : float or None
        Mean interval overlap of the sets over the same coefficients: what is compared with
        `overlap_floor`.
    n_in_common : int
        How many coefficients those are.
    per_set : frame
        Estimates set by set, with ``status``: a set in which a coefficient is separated, absent
        or aliased says so here.
    train : int
        Records that the models were fitted on.
    """

    _frames: ClassVar[tuple[str, ...]] = ("coefficients", "per_set", "predictions")
    formula: str
    family: str
    coefficients: pl.DataFrame
    predictions: pl.DataFrame
    distance: Spread | None
    noise_floor: Spread | None
    truth_floor: Spread | None
    overlap_floor: Spread | None
    overlap_truth_floor: Spread | None
    overlap_in_common: float | None
    n_in_common: int
    per_set: pl.DataFrame
    train: int
    _sets: int = field(repr=False)

    @property
    def mean_overlap(self) -> float | None:
        """Mean interval overlap of the coefficients that have one."""
        mean = self.coefficients["overlap"].mean()
        return float(mean) if isinstance(mean, float) else None

    def _described(self) -> Described:
        """Show the summary; coefficients carry names of levels and are left to the frame."""
        known = self.coefficients.filter(pl.col("overlap").is_not_null())
        words = self.coefficients["significance"].value_counts().rows()
        kept = ", ".join(f"{count} {word}" for word, count in sorted(words, key=str) if word)
        failed = self.coefficients.filter(pl.col("note").is_not_null()).height
        rows = [
            ["coefficients", str(self.coefficients.height)],
            ["with both intervals", str(known.height)],
            ["mean interval overlap", number(self.mean_overlap)],
            ["  of coefficients that resampled sets estimate", number(self.overlap_in_common)],
            ["  their number", str(self.n_in_common)],
            ["  resampled floor", _with_error(self.overlap_floor)],
            ["  truth floor", _with_error(self.overlap_truth_floor)],
            ["significance", kept or "-"],
            ["with a note (separated, absent, ...)", str(failed)],
        ]
        if self.distance is not None and self.noise_floor is not None:
            rows.append(["Wasserstein distance of predictions", number(self.distance.mean)])
            rows.append(["  of perfect sets", number(self.noise_floor.mean)])
            rows.append(["  of a synthesizer that knows the truth", _with_error(self.truth_floor)])
        records = counted(self.train, "record")
        title = f"Regression utility of {counted(self._sets, 'set')}: {self.family}, {records}"
        return Described(title, ["measure", "value"], rows)

    def _panels(self) -> Mapping[str, Panel]:
        names = self.coefficients["coefficient"].to_list()
        return {"coefficients": estimates_panel("coefficient", names, self.coefficients)}


@in_users_kind
@only_our_errors
def regression_utility(
    data: Microdata,
    synthetic: Any,
    formula: str = "income ~ county + age + gender",
    family: str = "ordered-logit",
    train: int | Literal["auto"] | None = "auto",
    seed: int | None = None,
    *,
    reference: Mapping[str, str] | str | None = None,
    rule: str = "partial",
    level: float = 0.95,
    repeats: int = 20,
) -> RegressionUtility:
    """Fit one regression to the original and to every set, and compare.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    synthetic : SyntheticSets, or a list of frames or paths
        The sets, row by row beside the data.
    formula : str
        Such as ``income ~ county + age + gender``; see
        `understudy.utility.regression.formula.read_formula`.
    family : {"ordered-logit", "logistic", "linear"}
        Logistic needs a response with two levels, or ``name == level`` on the left. Linear takes
        levels that are numbers as numbers, others by their position, from 1.
    train : int or "auto", optional
        Records drawn at random to fit on, the same in the original and every set; the others are
        predicted. "auto" is 5,000 where there are more records than that, else four fifths of
        them, so that a fifth is left to predict. None fits on all records and predicts none.
    seed : int, optional
        Makes the draw of records and the noise floor repeatable.
    reference : mapping of str to str, or "largest", optional
        Level that the other levels of a variable are compared with; the first that occurs when
        left out. A reference level with few records can be separated in a set, and all levels of
        its variable with it: "largest" takes the levels with most records.
    rule : {"partial", "full", "nested"}
        How estimates are combined; see `understudy.combine_estimates`. Nested where sets show
        imputed values (`understudy.combine_nested_estimates`): then the original, and perfect sets,
        are fitted to their records without missing values in the formula's variables, the sets to
        all of their records.
    level : float
        Of the intervals.
    repeats : int
        Perfect sets that the noise floors are simulated from. For `overlap_floor` they are combined
        in groups of as many as there are sets; where `repeats` is less than that, further perfect
        sets are drawn to make one group.

    Returns
    -------
    RegressionUtility

    Examples
    --------
    >>> import understudy as us
    >>> data = us.load_ce_like()
    >>> same = data.frame()
    >>> found = us.regression_utility(
    ...     data, [same, same], "income ~ age + gender", repeats=2, seed=1)
    >>> found.distance.mean, found.mean_overlap
    (0.0, 1.0)
    """
    data, level = check_data(data), check_confidence(level)
    repeats = check_whole("repeats", repeats, 1)
    sets = as_sets(data, synthetic)
    combining = Rule.of(sets, rule)
    model = RegressionModel.make(data, formula, family, reference, whole=bool(sets.filled))
    seed = check_seed(seed)
    chosen, held = _split(data, train, seed)
    original = model.study(None, chosen, held)
    n_perfect = max(repeats, len(sets)) if len(sets) > 1 else repeats
    done = Parts(len(sets), n_perfect, ORIGINALS)
    studied = (
        model.study(
            drawn, chosen, held, {name: codes[index] for name, codes in sets.filled.items()}
        )
        for index, drawn in enumerate(sets.codes)
    )
    fits = done(list(in_parts(studied, len(sets))))

    def perfect_fits(role: str, size: int) -> list[SetFit]:
        generators = (stream(seed, "utility", "regression", role, index) for index in range(size))
        made = (model.study(perfect_codes(own, data), chosen, held) for own in generators)
        return done(list(in_parts(made, size)))

    perfect = perfect_fits("perfect", n_perfect)
    originals = perfect_fits("perfect original", ORIGINALS)
    columns = compare(original.estimates, [fit.estimates for fit in fits], combining, level)
    plain = Rule("partial") if sets.filled else combining  # perfect sets have nothing imputed
    by_chance = _group_overlaps(original, perfect, len(sets), plain, level)
    of_truth = [_group_overlaps(other, perfect, len(sets), plain, level) for other in originals]
    own = columns["overlap"].to_numpy()
    common = np.flatnonzero(~np.isnan(own) & ~np.isnan(by_chance).any(axis=0))
    known = common.size > 0 and len(by_chance) > 0
    coefficients = pl.DataFrame(
        {
            "term": pl.Series(list(model.design.term_of_column), dtype=pl.String),
            "coefficient": pl.Series(list(model.design.columns), dtype=pl.String),
            **columns,
        }
    )
    after = coefficients.get_column_index("overlap") + 1
    for column in reversed(_floor_columns(by_chance, np.concatenate(of_truth))):
        coefficients = coefficients.insert_column(after, column)
    return RegressionUtility(
        formula=formula,
        family=family,
        coefficients=coefficients,
        predictions=_prediction_frame(held, original, fits),
        distance=_distances(original, fits),
        noise_floor=_distances(original, perfect[:repeats]),
        truth_floor=_mean_distances(originals, perfect[:repeats]),
        overlap_floor=spread_of(by_chance[:, common].mean(axis=1)) if known else None,
        overlap_truth_floor=_mean_overlaps(of_truth, common) if known else None,
        overlap_in_common=float(own[common].mean()) if known else None,
        n_in_common=common.size if known else 0,
        per_set=per_set_frame(model.design.columns, [fit.estimates for fit in fits]),
        train=int(chosen.size),
        _sets=len(sets),
    )


def _with_error(spread: Spread | None) -> str:
    if spread is None:
        return "-"
    if spread.standard_error is None:
        return number(spread.mean)
    return f"{number(spread.mean)} (standard error {number(spread.standard_error, digits=2)})"


def _group_overlaps(
    original: SetFit, perfect: Sequence[SetFit], size: int, rule: Rule, level: float
) -> Numbers:
    """Interval overlaps of groups of as many perfect sets as there are sets.

    They are (group, coefficient), nan where a group has none; there is no group where there is one
    set, which has no combining rule.
    """
    groups = len(perfect) // size if size > 1 else 0
    overlaps = np.full((groups, original.estimates.values.size), np.nan)
    for group in range(groups):
        sets = [fit.estimates for fit in perfect[group * size : (group + 1) * size]]
        overlaps[group] = compare(original.estimates, sets, rule, level)["overlap"].to_numpy()
    return overlaps


def _mean_overlaps(of_truth: Sequence[Numbers], common: NDArray[np.int64]) -> Spread | None:
    """Mean overlap with each perfect set in the original's role, over what they have in common."""
    overlaps = np.array([groups[:, common].mean(axis=0) for groups in of_truth])
    known = ~np.isnan(overlaps).any(axis=0)  # (common coefficient,)
    return spread_of(overlaps[:, known].mean(axis=1)) if known.any() else None


def _floor_columns(overlaps: Numbers, of_truth: Numbers) -> list[pl.Series]:
    """Mean overlaps over the groups that have one, and a standard error, by coefficient."""
    truths = [spread_of(column[~np.isnan(column)]).mean for column in of_truth.T]
    spreads = [spread_of(column[~np.isnan(column)]) for column in overlaps.T]
    means = [spread.mean for spread in spreads]
    errors = [spread.standard_error for spread in spreads]
    return [
        pl.Series("overlap_floor", means, dtype=pl.Float64),
        pl.Series("overlap_floor_standard_error", errors, dtype=pl.Float64),
        pl.Series("overlap_truth_floor", truths, dtype=pl.Float64),
    ]


def _split(
    data: Microdata, train: object, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Records to fit on and records to predict, each in the order of the data."""
    everything = np.arange(data.n_records)
    if isinstance(train, str) and train == "auto":
        train = _usual_train(data.n_records)
    if train is None:
        return everything, everything[:0]
    n_train = as_whole(train)
    if n_train is None or not 1 < n_train < data.n_records:
        raise SettingError(
            expected=f"a number of training records from 2 to {data.n_records - 1:,}, auto or none",
            came=kind_of(train) if n_train is None else f"{n_train:,}",
            do="give fewer records than the data have, or train=None to fit on all of them",
        )
    order = stream(seed, "utility", "regression", "train").permutation(data.n_records)
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def _usual_train(n_records: int) -> int | None:
    """The default: 5,000, or of fewer records four fifths."""
    if n_records > USUAL_TRAIN:
        return USUAL_TRAIN
    held = n_records // HELD_OUT
    return n_records - held if held else None


def wasserstein(first: Numbers, second: Numbers) -> float:
    """Wasserstein distance between two samples: the area between their distribution functions.

    It is in the units of the values: how far, on average, mass has to be moved.
    """
    first, second = np.sort(first), np.sort(second)
    points = np.sort(np.concatenate([first, second]))
    below_first = np.searchsorted(first, points[:-1], side="right") / first.size
    below_second = np.searchsorted(second, points[:-1], side="right") / second.size
    return float(np.sum(np.abs(below_first - below_second) * np.diff(points)))


def _distances(original: SetFit, others: list[SetFit]) -> Spread | None:
    first, *samples = [fit.predictions[~np.isnan(fit.predictions)] for fit in (original, *others)]
    distances = [wasserstein(first, sample) for sample in samples if sample.size and first.size]
    return spread_of(distances) if distances else None


def _mean_distances(originals: list[SetFit], others: list[SetFit]) -> Spread | None:
    """Mean distance from each perfect set in the original's role; they are independent."""
    spreads = [_distances(fit, others) for fit in originals]
    means = [spread.mean for spread in spreads if spread is not None]
    return spread_of(means) if means else None


def _prediction_frame(
    held: NDArray[np.int64], original: SetFit, fits: list[SetFit]
) -> pl.DataFrame:
    frames = [
        pl.DataFrame({"record": held, "prediction": fit.predictions})
        .with_columns(pl.col("prediction").fill_nan(None))
        .select(
            pl.lit("synthetic" if set_number else "original").alias("source"),
            pl.lit(set_number or None, pl.Int32).alias("set"),
            "record",
            "prediction",
        )
        for set_number, fit in enumerate([original, *fits])
    ]
    return pl.concat(frames)
