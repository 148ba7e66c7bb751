"""Newton's method for the concave log-likelihoods of the regressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.utility.regression.arrow_matrix import Arrow, ArrowMatrix

__all__ = ["Maximum", "newton"]

Numbers = NDArray[np.float64]
Information = Numbers | ArrowMatrix
Evaluate = Callable[[Numbers], tuple[float, Numbers, Information]]

ENOUGH = 1e-12  # twice what the log-likelihood can still gain
MOST_STEPS = 100
MOST_HALVINGS = 40


@dataclass(frozen=True, repr=False, eq=False)
class Maximum:
    """Where Newton's method ended.

    Attributes
    ----------
    parameters : float64 (parameter,)
        The maximum.
    information : float64 (parameter, parameter), or ArrowMatrix
        Minus the second derivatives there, as they were evaluated.
    last_step : float64 (parameter,)
        The step that would have come next: large where the maximum lies at infinity.
    value : float
        The log-likelihood.
    steps : int
        How many were taken.
    """

    parameters: Numbers
    information: Any
    last_step: Numbers
    value: float
    steps: int


def newton(evaluate: Evaluate, start: Numbers, shape: Arrow, enough: float = ENOUGH) -> Maximum:
    """Maximize a concave function, halving steps that do not lead upwards.

    `evaluate` gives value, gradient and information (minus the second derivatives, of this shape)
    at parameters, (parameter,); the value is minus infinity outside of the domain, in which `start`
    lies. The search ends where twice the gain in value is not above `enough`.
    """
    parameters = start.copy()
    value, gradient, information = evaluate(parameters)
    step = shape.solve(information, gradient)
    for steps in range(MOST_STEPS):
        gain = float(gradient @ step)
        if gain < enough * (1 + abs(value) * 1e-6):
            return Maximum(parameters, information, step, value, steps)
        length = 1.0
        for _ in range(MOST_HALVINGS):
            trial = parameters + length * step
            tried = evaluate(trial)
            if tried[0] >= value:
                break
            length /= 2
        else:
            return Maximum(parameters, information, step, value, steps)
        parameters = trial
        value, gradient, information = tried
        step = shape.solve(information, gradient)
    return Maximum(parameters, information, step, value, MOST_STEPS)
