"""Combining rules: one estimate and a valid interval from m synthetic sets.

The rules differ by what was synthesized. Where some variables stay as they are (partial), each
set carries the sampling error of the original and the sets differ by the drawing alone. Where all
variables are synthetic (full), the variance within a set has to be taken off again, and what is
left can be negative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import as_numbers, check_confidence, check_rule
from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown
from understudy.errors import InputError
from understudy.public_errors import only_our_errors
from understudy.summaries import counted, estimate_number

__all__ = [
    "CombinedEstimates",
    "combine_estimates",
    "interval_overlap",
    "quantile",
    "significance",
]

Numbers = NDArray[np.float64]
ROUNDING = 1e-8  # relative difference of covariances that is the computer's, not the user's
NORMAL = 1e12  # degrees of freedom from which t is the normal distribution, to all digits


@dataclass(frozen=True, repr=False, eq=False)
class CombinedEstimates(Shown):
    """Estimates of one or several quantities, combined over m sets.

    All arrays have the axis (quantity,), or no axis where a single quantity was given.

    Attributes
    ----------
    estimate : float64
        Mean of the sets' estimates.
    variance : float64
        Of the combined estimate; after the fallback where the rule gave a negative one.
    standard_error : float64
        Its square root.
    within : float64
        Mean of the sets' variances.
    between : float64
        Variance of the sets' estimates, divisor m - 1.
    degrees_of_freedom : float64
        Of the t distribution; infinite for the normal one.
    lower, upper : float64
        Ends of the interval.
    negative : bool
        Where the full rule gave a negative variance and the mean variance within the sets was
        taken instead.
    covariance : float64 (quantity, quantity), optional
        Of the combined estimates, where covariance matrices were given.
    rule : {"partial", "full"}
        Which rule.
    level : float
        Of the intervals.
    sets : int
        m.
    note : str or None
        What the reader must know beside the values, such as quantities without an error.
    """

    _frames: ClassVar[tuple[str, ...]] = ("estimates",)
    estimate: Numbers
    variance: Numbers
    standard_error: Numbers
    within: Numbers
    between: Numbers
    degrees_of_freedom: Numbers
    lower: Numbers
    upper: Numbers
    negative: NDArray[np.bool_]
    covariance: Numbers | None
    rule: str
    level: float
    sets: int
    note: str | None = None

    def _described(self) -> Described:
        """Show the estimates with their intervals, and say where the rule was replaced."""
        columns = np.vstack(
            [self.estimate, self.standard_error, self.lower, self.upper, self.degrees_of_freedom]
        )  # (column, quantity)
        rows = [
            [str(index), *map(estimate_number, values)]
            for index, values in enumerate(columns.T.tolist(), start=1)
        ]
        title = f"Combined over {counted(self.sets, 'set')} by the rule for {self.rule} synthesis"
        header = ["quantity", "estimate", "standard error", "lower", "upper", "df"]
        remarks = []
        n_negative = int(np.sum(self.negative))
        if n_negative:
            remarks.append(
                f"negative variance by the rule in {n_negative} of {len(rows)}: the mean "
                "variance within the sets is shown, and the interval is a substitute"
            )
        if self.note is not None:
            remarks.append(self.note)
        return Described(title, header, rows, remarks)

    def _panels(self) -> Mapping[str, Panel]:
        estimates, lower, upper = (
            np.atleast_1d(values).tolist() for values in (self.estimate, self.lower, self.upper)
        )
        names = [f"quantity {index}" for index in range(1, len(estimates) + 1)]
        axis = f"combined estimate and {self.level:.0%} interval"
        return {"estimates": Panel(axis, names, estimates, lower, upper)}

    @property
    def estimates(self) -> pl.DataFrame:
        """One row per quantity: estimate, standard error, interval and degrees of freedom."""
        names = ("estimate", "standard_error", "lower", "upper", "degrees_of_freedom")
        return pl.DataFrame({name: np.atleast_1d(getattr(self, name)) for name in names})


@only_our_errors
def combine_estimates(
    estimates: Any, variances: Any, rule: str = "partial", *, level: float = 0.95
) -> CombinedEstimates:
    """Combine the estimates from m synthetic sets.

    With mean estimate q, mean variance u and variance b between the sets:

    - ``partial``: variance u + b/m, t with (m - 1)(1 + u/(b/m))² degrees of freedom;
    - ``full``: variance (1 + 1/m) b - u, t with (m - 1)(1 - u/((1 + 1/m) b))² degrees of freedom.
      Where it is not positive, u and the normal distribution are used and `negative` says so.

    Where b is 0 the degrees of freedom are infinite.

    Parameters
    ----------
    estimates : array (set,) or (set, quantity)
        One estimate per set, or a vector of them.
    variances : array of the same shape, or (set, quantity, quantity)
        Squared standard errors, or covariance matrices.
    rule : {"partial", "full"}
        What kind of synthetic data the sets are.
    level : float
        Of the intervals.

    References
    ----------
    Reiter, J. P. (2003). Inference for partially synthetic, public use microdata sets. Survey
    Methodology 29(2), 181-188.

    Raghunathan, T. E., Reiter, J. P. and Rubin, D. B. (2003). Multiple imputation for statistical
    disclosure limitation. Journal of Official Statistics 19(1), 1-16.

    Examples
    --------
    >>> combined = combine_estimates([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    >>> float(combined.estimate), round(float(combined.variance), 4)
    (2.0, 0.8333)
    >>> float(combined.degrees_of_freedom)
    12.5
    """
    rule, level = check_rule(rule), check_confidence(level)
    values, spreads, matrices = _check(estimates, variances)
    n_sets = values.shape[0]
    within = spreads.mean(axis=0)
    between = values.var(axis=0, ddof=1)
    between = np.where(np.all(values == values[0], axis=0), 0.0, between)  # no rounding left
    if rule == "partial":
        variance, freedom = _partial(within, between, n_sets)
        negative = np.zeros(within.shape, dtype=bool)
    else:
        variance, freedom, negative = _full(within, between, n_sets)
    estimate = values.mean(axis=0)
    error = np.sqrt(variance)
    reach = quantile(freedom, level) * error
    return CombinedEstimates(
        estimate=estimate,
        variance=variance,
        standard_error=error,
        within=within,
        between=between,
        degrees_of_freedom=freedom,
        lower=estimate - reach,
        upper=estimate + reach,
        negative=negative,
        covariance=_covariance(values, matrices, rule),
        rule=rule,
        level=level,
        sets=n_sets,
    )


def _check(estimates: Any, variances: Any) -> tuple[Numbers, Numbers, Numbers | None]:
    """Numbers of the right shape: estimates, variances, and covariance matrices where given."""
    values, spreads = as_numbers(estimates), as_numbers(variances)
    if values is None or spreads is None:
        raise InputError(
            expected="estimates and variances as arrays of numbers",
            came="something that is not",
            do="give one estimate and one variance per set, or rows of them of equal length",
        )
    matrices = spreads if spreads.ndim == 3 and values.ndim == 2 else None
    if values.ndim not in {1, 2} or spreads.shape not in {values.shape, _squared(values.shape)}:
        raise InputError(
            expected="estimates with axes (set,) or (set, quantity) and variances to match",
            came=f"shapes {values.shape} and {spreads.shape}",
            do="give a variance, the squared standard error, for every estimate",
        )
    if values.shape[0] < 2:
        raise InputError(
            expected="at least 2 synthetic sets, for the variance between them",
            came=str(values.shape[0]),
            do="make more sets: no rule gives a valid interval from one",
        )
    if matrices is not None:
        spreads = np.diagonal(matrices, axis1=1, axis2=2)
        _check_matrices(matrices)
    if not (np.isfinite(values).all() and np.isfinite(spreads).all() and (spreads >= 0).all()):
        raise InputError(
            expected="finite estimates and variances that are not negative",
            came="others",
            do="leave out quantities that cannot be estimated in every set",
        )
    return values, spreads, matrices


def _check_matrices(matrices: Numbers) -> None:
    """Check covariance matrices (set, quantity, quantity) as a whole, not their diagonals alone."""
    if not np.isfinite(matrices).all():
        raise InputError(
            expected="covariance matrices of finite numbers",
            came="others",
            do="leave out quantities that cannot be estimated in every set",
        )
    size = np.sqrt(np.abs(np.diagonal(matrices, axis1=1, axis2=2)))
    scale = size[:, :, None] * size[:, None, :]
    apart = np.abs(matrices - matrices.transpose(0, 2, 1))
    if (apart > ROUNDING * scale).any():
        raise InputError(
            expected="covariance matrices that are symmetric",
            came="others",
            do="give the covariance of quantities a and b the same at (a, b) and at (b, a)",
        )
    if (np.abs(matrices) > (1 + ROUNDING) * scale).any():
        raise InputError(
            expected="covariances within the bounds that the variances set (correlations from -1 "
            "to 1)",
            came="others",
            do="give covariance matrices, not correlations or inverses",
        )


def _squared(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape, shape[-1]) if len(shape) == 2 else shape


def _partial(within: Numbers, between: Numbers, n_sets: int) -> tuple[Numbers, Numbers]:
    drawing = between / n_sets
    with np.errstate(over="ignore"):  # sets that hardly differ: as good as normal
        ratio = np.divide(within, drawing, out=np.full_like(within, np.inf), where=drawing > 0)
        return within + drawing, (n_sets - 1) * (1 + ratio) ** 2


def _full(
    within: Numbers, between: Numbers, n_sets: int
) -> tuple[Numbers, Numbers, NDArray[np.bool_]]:
    gross = (1 + 1 / n_sets) * between
    variance = gross - within
    negative = variance < 0
    replaced = negative | (gross == 0)
    ratio = np.divide(within, gross, out=np.zeros_like(within), where=~replaced)
    freedom = np.where(replaced, np.inf, (n_sets - 1) * (1 - ratio) ** 2)
    freedom = np.where(freedom > 0, freedom, np.inf)  # a variance of exactly 0
    return np.where(replaced, within, variance), freedom, negative


def _covariance(values: Numbers, matrices: Numbers | None, rule: str) -> Numbers | None:
    if matrices is None:
        return None
    n_sets = values.shape[0]
    centred = values - values.mean(axis=0)
    between = centred.T @ centred / (n_sets - 1)
    within: Numbers = matrices.mean(axis=0)
    combined: Numbers = within + between / n_sets
    return combined if rule == "partial" else (1 + 1 / n_sets) * between - within


def quantile(freedom: Any, level: float) -> Numbers:
    """How many standard errors an interval of this level reaches to either side.

    Degrees of freedom are those of the t distribution, infinite for the normal one.
    """
    from scipy.special import ndtri, stdtrit

    chance = 0.5 + level / 2
    degrees = np.asarray(freedom, dtype=np.float64)
    finite = degrees < NORMAL
    finite_quantile: Numbers = stdtrit(np.where(finite, degrees, 1.0), chance)
    return np.where(finite, finite_quantile, ndtri(chance))


def interval_overlap(
    lower: Numbers, upper: Numbers, other_lower: Numbers, other_upper: Numbers
) -> Numbers:
    """How much two intervals overlap: the mean of the common part's shares in each.

    Parameters
    ----------
    lower, upper, other_lower, other_upper : float64 (quantity,)
        Ends of the two intervals.

    Returns
    -------
    float64 (quantity,)
        1 for equal intervals, 0 where they touch; negative where they are apart, the gap in place
        of the common part. nan where an interval has no length, unless they are equal.

    References
    ----------
    Karr, A. F., Kohnen, C. N., Oganian, A., Reiter, J. P. and Sanil, A. P. (2006). A framework for
    evaluating the utility of data altered to protect confidentiality. The American Statistician
    60(3), 224-232. doi:10.1198/000313006X124640
    """
    common = np.minimum(upper, other_upper) - np.maximum(lower, other_lower)
    first, second = upper - lower, other_upper - other_lower
    long = (first > 0) & (second > 0)
    shares = np.divide(common, first, out=np.full_like(common, np.nan), where=long)
    others = np.divide(common, second, out=np.full_like(common, np.nan), where=long)
    equal = (lower == other_lower) & (upper == other_upper)
    return np.where(equal, 1.0, 0.5 * (shares + others))


def significance(
    lower: Numbers, upper: Numbers, other_lower: Numbers, other_upper: Numbers
) -> list[str]:
    """Say for each quantity whether the sets tell what the original tells.

    ``kept`` (both intervals lie on the same side of 0), ``lost`` (only the original's excludes 0),
    ``gained`` (only the sets' does), ``reversed`` (on different sides) or ``none``.
    """
    first = np.sign(lower) * (np.sign(lower) == np.sign(upper))
    second = np.sign(other_lower) * (np.sign(other_lower) == np.sign(other_upper))
    words = {(0, 0): "none", (1, 0): "lost", (0, 1): "gained"}
    return [
        words.get((abs(own), abs(other)), "kept" if own == other else "reversed")
        for own, other in zip(first.astype(int).tolist(), second.astype(int).tolist(), strict=True)
    ]
