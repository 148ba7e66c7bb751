"""Analysis-specific utility: the same regression on the original and on every set.

Two questions are asked. Would an analyst of the sets draw the conclusions that the original
supports (coefficients, intervals, their overlap)? And would a model learned from a set predict as
one learned from the original (the paper's hold-out exercise)? Both stand beside the answer for
perfect sets, drawn here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import as_whole, check_confidence, check_rule, check_whole
from understudy.errors import InputError, SettingError, quoted
from understudy.microdata.argument_checks import check_data
from understudy.microdata.coding import regroup
from understudy.microdata.synthetic_files import as_sets
from understudy.microdata.table import Microdata
from understudy.randomness import check_seed, stream
from understudy.summaries import Spread, number, spread_of, text_table
from understudy.utility.noise_floors import perfect_codes
from understudy.utility.regression.design import Design, make_design, read_formula
from understudy.utility.regression.estimates import Estimates, compare, per_set_frame
from understudy.utility.regression.linear import fit_linear
from understudy.utility.regression.logistic import event_probability, fit_logistic
from understudy.utility.regression.newton import ABSENT, UNFITTED, Fit
from understudy.utility.regression.ordered_logit import category_probabilities, fit_ordered_logit

__all__ = ["RegressionUtility", "regression_utility", "wasserstein"]

Numbers = NDArray[np.float64]
FAMILIES = ("ordered-logit", "logistic", "linear")
MOST_SHOWN = 12
USUAL_TRAIN = 5000  # as in the paper
HELD_OUT = 5  # where there are fewer records, one of so many is held out


@dataclass(frozen=True, repr=False, eq=False)
class RegressionUtility:
    """One regression, on the original and on every set.

    Attributes
    ----------
    formula, family : str
        What was fitted.
    coefficients : frame
        One row per coefficient: estimate, standard error and interval of the original and combined
        over the sets, the overlap of the two intervals, ``overlap_floor`` (the overlap that as many
        perfect sets reach, mean over groups of them) with ``overlap_floor_standard_error`` (null
        with fewer than two groups), whether significance is kept or lost, and why where an estimate
        is missing.
    predictions : frame
        Hold-out predictions: ``source`` (original or synthetic), ``set`` (null for the original),
        ``record`` (place in the data, from 0) and ``prediction`` (expected category from 1 on,
        probability of the event, or expected score). Null where the record has a level that no
        record of the training part has. Empty without a hold-out part.
    distance : Spread or None
        Wasserstein distance between the predictions' distributions, original against each set.
    noise_floor : Spread or None
        The same for simulated perfect sets.
    overlap_floor : Spread or None
        Mean interval overlap of groups of perfect sets, each group as large as the number of sets,
        over the coefficients that the sets and every group have an overlap for. None with one set,
        or without such coefficients.
    overlap_in_common : float or None
        Mean interval overlap of the sets over the same coefficients: what stands beside
        `overlap_floor`.
    n_in_common : int
        How many coefficients those are.
    per_set : frame
        Estimates set by set, with ``status``: a set in which a coefficient is separated, absent
        or aliased says so here.
    train : int
        Records that the models were fitted on.
    """

    formula: str
    family: str
    coefficients: pl.DataFrame
    predictions: pl.DataFrame
    distance: Spread | None
    noise_floor: Spread | None
    overlap_floor: Spread | None
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

    def __repr__(self) -> str:
        """Show the summary; coefficients carry names of levels and are left to the frame."""
        known = self.coefficients.filter(pl.col("overlap").is_not_null())
        words = self.coefficients["significance"].value_counts().rows()
        told = ", ".join(f"{number} {word}" for word, number in sorted(words, key=str) if word)
        failed = self.coefficients.filter(pl.col("note").is_not_null()).height
        rows = [
            ["coefficients", str(self.coefficients.height)],
            ["with both intervals", str(known.height)],
            ["mean interval overlap", number(self.mean_overlap)],
            ["  where perfect sets have one too", number(self.overlap_in_common)],
            ["  so many coefficients", str(self.n_in_common)],
            ["  of perfect sets there", _with_error(self.overlap_floor)],
            ["significance", told or "-"],
            ["with a note (separated, absent, ...)", str(failed)],
        ]
        if self.distance is not None and self.noise_floor is not None:
            rows.append(["Wasserstein distance of predictions", number(self.distance.mean)])
            rows.append(["  of perfect sets", number(self.noise_floor.mean)])
        title = f"Regression utility of {self._sets} sets: {self.family}, {self.train:,} records"
        return text_table(title, ["measure", "value"], rows)


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
        `understudy.utility.regression.design.read_formula`.
    family : {"ordered-logit", "logistic", "linear"}
        Logistic needs a response with two levels, or ``name == level`` on the left. Linear takes
        levels that are numbers as numbers, others by their place, from 1.
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
    rule : {"partial", "full"}
        How estimates are combined; see `understudy.combine_estimates`.
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
    rule, level, repeats = (
        check_rule(rule),
        check_confidence(level),
        check_whole("repeats", repeats, 1),
    )
    data = check_data(data)
    model = _Model.make(data, formula, family, reference)
    sets = as_sets(data, synthetic)
    seed = check_seed(seed)
    chosen, held = _split(data, train, seed)
    names = model.names
    original = model.study(_codes(data, names, None), chosen, held, must=True)
    studied = [model.study(_codes(data, names, drawn), chosen, held) for drawn in sets.codes]
    perfect = []
    for repeat in range(max(repeats, len(sets)) if len(sets) > 1 else repeats):
        generator = stream(seed, "utility", "regression", "perfect", repeat)
        drawn = perfect_codes(generator, data)
        perfect.append(model.study(_codes(data, names, drawn), chosen, held))
    columns = compare(original.estimates, [one.estimates for one in studied], rule, level)
    by_chance = _group_overlaps(original, perfect, len(sets), rule, level)
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
    place = coefficients.get_column_index("overlap") + 1
    for column in reversed(_floor_columns(by_chance)):
        coefficients = coefficients.insert_column(place, column)
    return RegressionUtility(
        formula=formula,
        family=family,
        coefficients=coefficients,
        predictions=_prediction_frame(held, original, studied),
        distance=_distances(original, studied),
        noise_floor=_distances(original, perfect[:repeats]),
        overlap_floor=spread_of(by_chance[:, common].mean(axis=1)) if known else None,
        overlap_in_common=float(own[common].mean()) if known else None,
        n_in_common=common.size if known else 0,
        per_set=per_set_frame(model.design.columns, [one.estimates for one in studied]),
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
    original: _Studied, perfect: Sequence[_Studied], size: int, rule: str, level: float
) -> Numbers:
    """Interval overlaps of groups of as many perfect sets as there are sets.

    Returns
    -------
    float64 (group, coefficient)
        nan where a group has none; no group where there is one set, which has no combining rule.
    """
    groups = len(perfect) // size if size > 1 else 0
    found = np.full((groups, original.estimates.values.size), np.nan)
    for group in range(groups):
        sets = [one.estimates for one in perfect[group * size : (group + 1) * size]]
        found[group] = compare(original.estimates, sets, rule, level)["overlap"].to_numpy()
    return found


def _floor_columns(overlaps: Numbers) -> list[pl.Series]:
    """Mean overlap over the groups that have one, and its standard error, by coefficient."""
    known = [column[~np.isnan(column)] for column in overlaps.T]
    spreads = [spread_of(one) if one.size else None for one in known]
    means = [one.mean if one else None for one in spreads]
    errors = [one.standard_error if one else None for one in spreads]
    return [
        pl.Series("overlap_floor", means, dtype=pl.Float64),
        pl.Series("overlap_floor_standard_error", errors, dtype=pl.Float64),
    ]


@dataclass(frozen=True, repr=False, eq=False)
class _Studied:
    """What one data set gave: estimates, and predictions (held-out record,)."""

    estimates: Estimates
    predictions: Numbers


@dataclass(frozen=True, repr=False, eq=False)
class _Model:
    """A regression that is ready to be fitted to any version of the data."""

    data: Microdata
    design: Design
    family: str
    scores: Numbers  # (level,) the response's levels as numbers

    @classmethod
    def make(
        cls, data: Microdata, formula: str, family: str, reference: Mapping[str, str] | str | None
    ) -> _Model:
        if not isinstance(family, str) or family not in FAMILIES:
            raise SettingError(
                expected=f"a family among {', '.join(FAMILIES)}",
                came="another name",
                do="give one of them",
            )
        design = make_design(data, read_formula(formula, data), reference)
        return cls(data, design, family, _scores(data, design, family))

    @property
    def names(self) -> tuple[str, ...]:
        """Variables on the right, then the response."""
        return (*self.design.formula.names, self.design.formula.response)

    def study(
        self,
        codes: NDArray[np.int32],
        chosen: NDArray[np.int64],
        held: NDArray[np.int64],
        must: bool = False,
    ) -> _Studied:
        """Fit on the chosen records of codes (record, variable) and predict the held-out ones."""
        try:
            fit = self.fit(codes[chosen])
        except InputError:
            if must:
                raise
            nothing = np.full(len(self.design.columns), np.nan)
            status = (UNFITTED,) * nothing.size
            return _Studied(Estimates(nothing, nothing, status), np.full(held.size, np.nan))
        estimates = Estimates(
            fit.coefficients, fit.standard_errors, fit.status, fit.degrees_of_freedom
        )
        return _Studied(estimates, self.predict(fit, codes[held]))

    def fit(self, codes: NDArray[np.int32]) -> Fit:
        """Fit to distinct rows with their numbers of records."""
        levels = [self.data.variable(name).n_levels for name in self.names]
        ones = np.ones(len(codes), dtype=np.int64)
        places = np.arange(len(codes), dtype=np.int32)
        distinct, counts, _ = regroup(codes, ones, places, levels)
        rows = self.design.indicators(distinct[:, :-1])
        response, weights = distinct[:, -1], counts.astype(np.float64)
        if self.family == "linear":
            return fit_linear(rows, self.scores[response], weights)
        if self.family == "logistic":
            return fit_logistic(rows, self.scores[response].astype(np.int64), weights)
        return fit_ordered_logit(rows, response, weights)

    def predict(self, fit: Fit, codes: NDArray[np.int32]) -> Numbers:
        """Predict rows; nan where a row has a column that could not be fitted."""
        rows = self.design.indicators(codes[:, :-1])
        unknown = np.isnan(fit.coefficients)
        predictor = rows.linear(np.where(unknown, 0.0, fit.coefficients))
        if self.family == "linear":
            prediction = fit.intercepts[0] + predictor
        elif self.family == "logistic":
            prediction = event_probability(fit, predictor)
        else:
            prediction = category_probabilities(fit, predictor) @ (1.0 + fit.categories)
        absent = np.array([one == ABSENT for one in fit.status], dtype=np.float64)
        return np.where(rows.linear(absent) > 0, np.nan, prediction)


def _scores(data: Microdata, design: Design, family: str) -> Numbers:
    """The response's levels as numbers, by the needs of the family: (level,)."""
    formula = design.formula
    levels = data.variable(formula.response).levels
    if family == "logistic":
        if formula.event is None and len(levels) != 2:
            raise SettingError(
                expected="a response with two levels for a logistic regression",
                came=f"{len(levels)} levels of {quoted(formula.response)}",
                do="write the level that counts as yes on the left, as in income == Q4 ~ ...",
            )
        event = formula.event if formula.event is not None else levels[1]
        return np.array([float(level == event) for level in levels])
    if formula.event is not None:
        raise SettingError(
            expected="a plain variable as the response",
            came="a level after ==, which belongs to a logistic regression",
            do='leave it out, or give family="logistic"',
        )
    try:
        numbers = np.array([float(level) for level in levels])
    except ValueError:
        numbers = np.full(len(levels), np.nan)
    places = np.arange(1, len(levels) + 1, dtype=np.float64)
    return numbers if np.isfinite(numbers).all() else places


def _split(
    data: Microdata, train: object, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Records to fit on and records to predict, each in the order of the data."""
    everything = np.arange(data.n_records)
    if isinstance(train, str) and train == "auto":
        train = _usual_train(data.n_records)
    if train is None:
        return everything, everything[:0]
    number = as_whole(train)
    if number is None or not 1 < number < data.n_records:
        raise SettingError(
            expected=f"a number of training records from 2 to {data.n_records - 1:,}, auto or none",
            came=f"a {type(train).__name__}" if number is None else f"{number:,}",
            do="give fewer records than the data have, or train=None to fit on all of them",
        )
    order = stream(seed, "utility", "regression", "train").permutation(data.n_records)
    return np.sort(order[:number]), np.sort(order[number:])


def _usual_train(n_records: int) -> int | None:
    """Records to fit on where nobody says: 5,000, or of fewer records four fifths."""
    if n_records > USUAL_TRAIN:
        return USUAL_TRAIN
    held = n_records // HELD_OUT
    return n_records - held if held else None


def _codes(
    data: Microdata, names: tuple[str, ...], drawn: NDArray[np.integer] | None
) -> NDArray[np.int32]:
    """Codes (record, variable) of the original, or with a set's synthesized variables."""
    columns = [
        drawn[:, data.synthesized.index(name)]
        if drawn is not None and name in data.synthesized
        else data.codes(name)
        for name in names
    ]
    return np.column_stack(columns).astype(np.int32)


def wasserstein(first: Numbers, second: Numbers) -> float:
    """Wasserstein distance between two samples: the area between their distribution functions.

    Parameters
    ----------
    first, second : float64 (value,)
        The samples, of any sizes from 1 on.

    Returns
    -------
    float
        In the units of the values: how far, on average, mass has to be moved.
    """
    first, second = np.sort(first), np.sort(second)
    points = np.sort(np.concatenate([first, second]))
    below_first = np.searchsorted(first, points[:-1], side="right") / first.size
    below_second = np.searchsorted(second, points[:-1], side="right") / second.size
    return float(np.sum(np.abs(below_first - below_second) * np.diff(points)))


def _distances(original: _Studied, others: list[_Studied]) -> Spread | None:
    known = original.predictions[~np.isnan(original.predictions)]
    samples = [one.predictions[~np.isnan(one.predictions)] for one in others]
    found = [wasserstein(known, sample) for sample in samples if sample.size and known.size]
    return spread_of(np.array(found)) if found else None


def _prediction_frame(
    held: NDArray[np.int64], original: _Studied, studied: list[_Studied]
) -> pl.DataFrame:
    frames = [
        pl.DataFrame({"record": held, "prediction": one.predictions})
        .with_columns(pl.col("prediction").fill_nan(None))
        .select(
            pl.lit("synthetic" if number else "original").alias("source"),
            pl.lit(number if number else None, pl.Int32).alias("set"),
            "record",
            "prediction",
        )
        for number, one in enumerate([original, *studied])
    ]
    return pl.concat(frames)
