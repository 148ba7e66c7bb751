"""The data as the DPMPM's kernels see them: levels numbered through, combinations, priors.

Every sampler of the model works on the same small arrays. Their levels are numbered through all
variables, so that one row of level probabilities serves a whole class, and a combination is a list
of such numbers. Kept variables with a single level tell nothing and are left out.

A missing value that is to be modelled is a hole: the last level of its variable, with prior count
0. Given the class, variables are independent, so summing over all values of a hole leaves out its
factor and nothing else: everywhere a hole has probability 1, and is not counted among the records
that tell of its variable. Distinct combinations with holes stay distinct combinations. Where rules
restrict what a hole may be, see `structural_zeros`.

A weighted problem has a number from 0 to 1 for every combination: the power to which a record's
likelihood in its class is taken. Then counts of levels are sums of these weights, and numbers of
records stay what they are: the prior of the partition is the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingError, quoted, quoted_list
from understudy.microdata.structural_zeros import possible_completions, rule_boxes
from understudy.microdata.table import Microdata
from understudy.microdata.variable import Variable
from understudy.synthesis.dpmpm.structural_zeros import kind_probabilities

__all__ = [
    "NO_HOLE",
    "LevelPrior",
    "Problem",
    "Records",
    "make_problem",
    "model_levels",
    "model_variables",
    "records_of",
    "sampled_variables",
    "strength_name",
    "with_strengths",
]

Sampled = Literal["sampled"]
LevelPrior = float | Sampled | Mapping[str, float | Sampled | Sequence[float]]

MANY_LEVELS = 10  # from so many levels on, "sampled" for all variables takes in kept ones too
START_STRENGTH = 0.2  # of sampled strengths; from 1 chains need thousands of sweeps
NO_HOLE = -1
NO_BOXES = np.empty((0, 0), dtype=np.bool_)  # (box, level)
NONE_SAMPLED = np.empty(0, dtype=np.int64)  # (sampled variable,)
NO_KINDS = np.empty((0, 0), dtype=np.int32)  # (combination, 1 + variable)
NO_KIND_OF_BOX = np.empty(0, dtype=np.int64)  # (box,)
UNWEIGHTED = np.empty(0, dtype=np.int64)  # (no combination,) whole numbers: counts stay such


class Problem(NamedTuple):
    """What a kernel needs to know of the data and of the prior on level probabilities.

    Levels are numbered through the variables: the kept variables first, then the synthesized.
    """

    levels: NDArray[np.int32]  # (combination, variable) numbers of the levels
    counts: NDArray[np.int64]  # (combination,) records with each combination
    level_start: NDArray[np.int64]  # (variable + 1,) number of each variable's first level
    prior: NDArray[np.float64]  # (level,) Dirichlet prior counts
    prior_sum: NDArray[np.float64]  # (variable,) their sums
    holes: NDArray[np.int64]  # (variable,) number of the level that is a hole; negative: no hole
    sampled: NDArray[np.int64] = NONE_SAMPLED  # (sampled variable,) whose prior counts are sampled
    strength_prior: tuple[float, float] = (0.0, 1.5)  # mean and deviation of their logarithms
    impossible: NDArray[np.bool_] = NO_BOXES  # (box, level) disjoint boxes that no record is in
    weights: NDArray[Any] = UNWEIGHTED  # (combination,) float64 powers of likelihoods, or none
    kinds: NDArray[np.int32] = (
        NO_KINDS  # (combination, 1 + variable) kind behind all levels; levels
    )
    completions: NDArray[np.bool_] = NO_BOXES  # (box, level) what holes may be, where rules say it
    kind_of_box: NDArray[np.int64] = NO_KIND_OF_BOX  # (box,) the kind of record whose holes

    @property
    def n_records(self) -> int:
        """Number of records."""
        return int(self.counts.sum())

    def with_kinds(
        self, probabilities: NDArray[np.float64]
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Give levels and probabilities (level, class) with the kind of a record as a variable."""
        if not self.kinds.size:
            return self.levels, probabilities
        kinds = kind_probabilities(
            self.completions, self.kind_of_box, self.level_start, probabilities
        )
        return self.kinds, np.vstack([probabilities, kinds])

    def level_counts(self, members: NDArray[np.integer[Any]], first: int = 0) -> NDArray[Any]:
        """Count (level, class) members (combination from the first on, class), or sum weights."""
        block = slice(first, first + len(members))
        masses = members if not self.weights.size else members * self.weights[block, None]
        kind = np.float64 if self.weights.size else np.int64
        counted = np.zeros((self.prior.size, members.shape[1]), dtype=kind)  # (level, class)
        for variable in range(self.levels.shape[1]):
            np.add.at(counted, self.levels[block, variable], masses)
        return counted


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
    many = [name for name in data.predictors if _n_model_levels(data.variable(name)) >= MANY_LEVELS]
    return (*many, *data.synthesized)


def strength_name(variable: str) -> str:
    """Name the sampled strength of a variable among the numbers that are kept of a draw."""
    return "level_prior_" + re.sub(r"\W", "_", variable)


def make_problem(
    data: Microdata,
    level_prior: LevelPrior = 1.0,
    strength_prior: tuple[float, float] = (0.0, 1.5),
    weights: NDArray[np.float64] | None = None,
) -> Problem:
    """Bring the data and the level prior into the form of the kernels.

    The level prior is the prior count of every level; or, by the name of a variable, a number,
    "sampled", or one number per level. Variables that a mapping does not name get 1. "sampled"
    alone is for all synthesized variables, and for kept ones with many levels. The strength prior
    is mean and standard deviation of the logarithm of sampled prior counts. Weights,
    (combination,), are powers of the records' likelihoods.
    """
    names = model_variables(data)
    columns = [data.names.index(name) for name in names]
    variables = [data.variables[column] for column in columns]
    sizes = [variable.n_levels for variable in variables]
    level_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)  # (variable + 1,)
    levels = data.combinations[:, columns] + level_start[:-1].astype(np.int32)  # (comb., variable)
    order = np.lexsort(levels.T[::-1])  # neighbours share their first levels, as samplers like it
    _check_names(level_prior, data, names)
    sampled = sampled_variables(data, level_prior)
    per_variable = [
        _with_hole(
            variable,
            np.full(_n_model_levels(variable), START_STRENGTH)
            if variable.name in sampled
            else _prior_counts(variable.name, _n_model_levels(variable), level_prior),
        )
        for variable in variables
    ]
    problem = Problem(
        levels=np.ascontiguousarray(levels[order], dtype=np.int32),
        counts=data.counts[order].astype(np.int64),
        level_start=level_start,
        prior=np.concatenate(per_variable),
        prior_sum=np.array([counts.sum() for counts in per_variable]),
        holes=np.where(
            [variable.has_holes for variable in variables], level_start[1:] - 1, NO_HOLE
        ).astype(np.int64),
        sampled=np.array([names.index(name) for name in sampled], dtype=np.int64),
        strength_prior=strength_prior,
        impossible=rule_boxes(data, names, level_start) if data.impossible else NO_BOXES,
        weights=UNWEIGHTED if weights is None else weights[order],
    )
    return _with_completions(problem, data, names, data.combinations[order][:, columns])


def _with_completions(
    problem: Problem, data: Microdata, names: Sequence[str], codes: NDArray[np.int32]
) -> Problem:
    """Add what rules say of holes; `codes` are (combination, variable) in the problem's order."""
    if not data.impossible or not data.with_holes:
        return problem
    kinds, kind_of_box, boxes = possible_completions(data, names, codes)
    if not kinds.any():
        return problem
    numbers = kinds[:, None] + problem.prior.size  # (combination, 1), behind the levels
    return problem._replace(
        kinds=np.ascontiguousarray(np.hstack([numbers, problem.levels]), dtype=np.int32),
        completions=boxes,
        kind_of_box=kind_of_box,
    )


def model_levels(problem: Problem, variable: int) -> tuple[int, int]:
    """Give the first level of a variable and the one behind its last, holes left out."""
    last = problem.level_start[variable + 1] - (problem.holes[variable] != NO_HOLE)
    return int(problem.level_start[variable]), int(last)


def with_strengths(problem: Problem, strengths: NDArray[np.float64]) -> Problem:
    """Give the problem with these prior counts of its sampled variables: (sampled variable,)."""
    if not problem.sampled.size:
        return problem
    prior, prior_sum = problem.prior.copy(), problem.prior_sum.copy()  # (level,), (variable,)
    for variable, strength in zip(problem.sampled, strengths, strict=True):
        first, last = model_levels(problem, variable)
        prior[first:last] = strength
        prior_sum[variable] = strength * (last - first)
    return problem._replace(prior=prior, prior_sum=prior_sum)


class Records(NamedTuple):
    """The part of a problem that moves of records look at, compiled faster than all of it."""

    levels: NDArray[np.int32]  # (combination, variable)
    counts: NDArray[np.int64]  # (combination,)
    level_start: NDArray[np.int64]  # (variable + 1,)
    prior: NDArray[np.float64]  # (level,)
    prior_sum: NDArray[np.float64]  # (variable,)
    holes: NDArray[np.int64]  # (variable,)
    weights: NDArray[Any]  # (combination,) or none


def records_of(problem: Problem) -> Records:
    """Give what moves of records look at."""
    return Records(*(getattr(problem, name) for name in Records._fields))


def _n_model_levels(variable: Variable) -> int:
    """Count the levels of a variable, a hole left out."""
    return variable.n_levels - variable.has_holes


def _with_hole(variable: Variable, counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the hole's prior count of 0 to those of the levels."""
    return np.append(counts, 0.0) if variable.has_holes else counts


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
