"""The data as the DPMPM's kernels see them: levels numbered through, combinations, priors.

Every sampler of the model works on the same small arrays. Their levels are numbered through all
variables, so that one row of level probabilities serves a whole class, and a combination is a list
of such numbers. Kept variables with a single level tell nothing and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingError, quoted, quoted_list
from understudy.microdata.table import Microdata

__all__ = [
    "LevelPrior",
    "Problem",
    "make_problem",
    "model_variables",
    "sampled_variables",
    "with_strengths",
]

Sampled = Literal["sampled"]
LevelPrior = float | Sampled | Mapping[str, float | Sampled | Sequence[float]]

MANY_LEVELS = 10  # from so many levels on, "sampled" for all variables takes in kept ones too
START_STRENGTH = 0.2  # of sampled strengths; from 1 chains need thousands of sweeps
NONE_SAMPLED = np.empty(0, dtype=np.int64)  # (sampled variable,)


class Problem(NamedTuple):
    """What a kernel needs to know of the data and of the prior on level probabilities.

    Levels are numbered through the variables: the kept variables first, then the synthesized.
    """

    levels: NDArray[np.int32]  # (combination, variable) numbers of the levels
    counts: NDArray[np.int64]  # (combination,) records with each combination
    level_start: NDArray[np.int64]  # (variable + 1,) number of each variable's first level
    prior: NDArray[np.float64]  # (level,) Dirichlet prior counts
    prior_sum: NDArray[np.float64]  # (variable,) their sums
    sampled: NDArray[np.int64] = NONE_SAMPLED  # (sampled variable,) whose prior counts are sampled
    strength_prior: tuple[float, float] = (0.0, 1.5)  # mean and deviation of their logarithms

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())


def model_variables(data: Microdata) -> tuple[str, ...]:
    """Name the variables of the model: kept ones with several levels, then synthesized ones."""
    return (*data.predictors, *data.synthesized)


def sampled_variables(data: Microdata, level_prior: LevelPrior) -> tuple[str, ...]:
    """Name the variables whose prior counts are sampled, in the order of the model."""
    if isinstance(level_prior, Mapping):
        return tuple(
            name for name in model_variables(data) if isinstance(level_prior.get(name), str)
        )
    if not isinstance(level_prior, str):
        return ()
    many = [name for name in data.predictors if data.variable(name).n_levels >= MANY_LEVELS]
    return (*many, *data.synthesized)


def make_problem(
    data: Microdata,
    level_prior: LevelPrior = 1.0,
    strength_prior: tuple[float, float] = (0.0, 1.5),
) -> Problem:
    """Bring the data and the level prior into the form of the kernels.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    level_prior : float, "sampled" or mapping
        Prior count of every level; or, by the name of a variable, a number, "sampled", or one
        number per level. Variables that a mapping does not name get 1. "sampled" alone is for all
        synthesized variables, and for kept ones with many levels.
    strength_prior : (float, float)
        Mean and standard deviation of the logarithm of sampled prior counts.

    Returns
    -------
    Problem
    """
    names = model_variables(data)
    columns = [data.names.index(name) for name in names]
    sizes = [data.variables[column].n_levels for column in columns]
    level_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)  # (variable + 1,)
    levels = data.combinations[:, columns] + level_start[:-1].astype(np.int32)  # (comb., variable)
    order = np.lexsort(levels.T[::-1])  # neighbours share their first levels, as samplers like it
    _check_names(level_prior, data, names)
    sampled = sampled_variables(data, level_prior)
    per_variable = [
        np.full(size, START_STRENGTH) if name in sampled else _prior_counts(name, size, level_prior)
        for name, size in zip(names, sizes, strict=True)
    ]
    return Problem(
        levels=np.ascontiguousarray(levels[order], dtype=np.int32),
        counts=data.counts[order].astype(np.int64),
        level_start=level_start,
        prior=np.concatenate(per_variable),
        prior_sum=np.array([counts.sum() for counts in per_variable]),
        sampled=np.array([names.index(name) for name in sampled], dtype=np.int64),
        strength_prior=strength_prior,
    )


def with_strengths(problem: Problem, strengths: NDArray[np.float64]) -> Problem:
    """Give the problem with these prior counts of its sampled variables: (sampled variable,)."""
    if not problem.sampled.size:
        return problem
    prior, prior_sum = problem.prior.copy(), problem.prior_sum.copy()  # (level,), (variable,)
    for variable, strength in zip(problem.sampled, strengths, strict=True):
        first, last = problem.level_start[variable], problem.level_start[variable + 1]
        prior[first:last] = strength
        prior_sum[variable] = strength * (last - first)
    return problem._replace(prior=prior, prior_sum=prior_sum)


def _prior_counts(name: str, size: int, level_prior: LevelPrior) -> NDArray[np.float64]:
    given = level_prior.get(name, 1.0) if isinstance(level_prior, Mapping) else level_prior
    given = 1.0 if isinstance(given, str) else given  # "sampled", and this one has few levels
    counts = np.asarray(given, dtype=np.float64)  # () or (level,)
    if counts.ndim == 1 and counts.size != size:
        raise SettingError(
            expected=f"a level prior with one number for each of {size} levels of {quoted(name)}",
            came=f"{counts.size} numbers",
            do="give one number per level, in the order of the levels, or a single number",
        )
    return np.broadcast_to(counts, (size,)).astype(np.float64)


def _check_names(level_prior: LevelPrior, data: Microdata, names: Sequence[str]) -> None:
    if isinstance(level_prior, Mapping):
        unknown = [name for name in level_prior if name not in data.names]
        if unknown:
            raise SettingError(
                expected=f"level priors for some of {quoted_list(names)}",
                came=f"{quoted_list(unknown)}",
                do="use names of the data's variables",
            )
