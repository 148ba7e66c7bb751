"""Weights of records from their risk in a first fit: the dial of the pseudo posterior.

A record of weight w has its likelihood taken to the power w: 1 is the ordinary posterior, 0 leaves
the record out. With a risk r from 0 to 1 of every distinct combination, taken from a fit without
weights, and a dial d,

    w = 1 - d r,  and 0 where that is negative.

Two risks are offered:

``own_record``
    what a record adds to the probability that its own row shows its label, as a share of what it
    adds in the exact table: E p - E[p / L] / E[1 / L], with p the probability of the label and L
    what the record contributes to the likelihood. A share outside 0 to 1 is cut off.
``surprise``
    the largest ``|log p|`` over the kept draws, scaled so that the least surprising record has 0
    and the most surprising one 1. That is what bounds the local sensitivity.

Nothing here makes a file differentially private: the weights come from the data.

References
----------
Hu, J., Savitsky, T. D. and Williams, M. R., "Risk-weighted data synthesizers for microdata
dissemination", CHANCE 33(1), 2020; arXiv:2006.01230 and arXiv:2205.05003.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.checks import as_numbers, check_number, check_one_of, kind_of
from understudy.errors import SettingError
from understudy.microdata.label_table import true_labels
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors

__all__ = [
    "RISKS",
    "check_dial",
    "check_weights",
    "label_surprise",
    "record_risks",
    "risk_weights",
    "weights_of",
]

RISKS = ("own_record", "surprise")
STEPS = 65_536  # weights are multiples of 1 / STEPS, or coarser, so that sums of them are exact

Floats = NDArray[np.float64]


def check_dial(dial: object, risk: object) -> None:
    """Check how strongly risk counts, and which risk."""
    check_number("risk_weighting", dial)
    if not 0.0 <= float(dial) < np.inf:  # type: ignore[arg-type]
        raise SettingError(
            expected="risk_weighting as a number from 0 (no weights) on",
            came="a negative number",
            do="give for example 0.5; at 1 the riskiest records have no weight",
        )
    check_one_of("risk", risk, RISKS)


def check_weights(data: Microdata, weights: Any, steps: int = STEPS) -> Floats | None:
    """Check weights of the distinct combinations and round them; None where all are one.

    They are rounded to whole multiples of 1 / `steps`.
    """
    if weights is None:
        return None
    numbers = as_numbers(weights)
    if numbers is None or numbers.shape != (data.n_combinations,):
        raise SettingError(
            expected=f"one weight for each of the {data.n_combinations:,} distinct combinations",
            came=kind_of(weights) if numbers is None else f"numbers of shape {numbers.shape}",
            do="give an array in the order of data.combinations, such as risk_weights makes",
        )
    if not ((numbers >= 0.0) & (numbers <= 1.0)).all():
        raise SettingError(
            expected="weights from 0 to 1",
            came=f"{int((~((numbers >= 0.0) & (numbers <= 1.0))).sum()):,} others",
            do="divide by the largest weight, or cut them off",
        )
    rounded: Floats = np.rint(numbers * steps) / steps
    return None if (rounded == 1.0).all() else rounded


def label_surprise(fit: Any) -> Floats:
    """Largest |log p(own label | kept variables)| over the kept draws: (combination,)."""
    least = np.full(fit.data.n_combinations, np.inf)
    most = np.zeros(fit.data.n_combinations)
    for own in fit.own_chances():
        least, most = np.minimum(least, own), np.maximum(most, own)
    with np.errstate(divide="ignore"):
        surprise: Floats = np.maximum(-np.log(least), np.log(most))
    return np.where(np.isfinite(surprise), surprise, 0.0)  # a label with a hole is never drawn


@only_our_errors
def risk_weights(fit: Any, dial: float = 1.0, risk: str = "own_record") -> Floats:
    """Turn the risk of records in a fit into weights of their likelihood in another one.

    Parameters
    ----------
    fit : SampledFit
        Without weights.
    dial : float
        How strongly risk counts: 0 gives weights of one, 1 the weight 0 to the risk 1.
    risk : {"own_record", "surprise"}
        What the own record adds to the probability of its label, as a share of what it adds in the
        exact table; or the largest log probability, in absolute value, between the least and the
        most surprising record's.

    Returns
    -------
    float64 (combination,)
        From 0 to 1, in the order of ``fit.data.combinations``; ``fit(data, weights=...)`` takes it.
    """
    check_dial(dial, risk)
    return weights_of(record_risks(fit)[risk], dial)


def record_risks(fit: Any) -> dict[str, Floats]:
    """Give every risk of the records of each distinct combination: (combination,) from 0 to 1."""
    return dict(zip(RISKS, (_own_record(fit), _surprise(fit)), strict=True))


def weights_of(risks: Floats, dial: float) -> Floats:
    """Turn risks (combination,) into weights, rounded."""
    weights: Floats = np.rint(np.clip(1.0 - dial * risks, 0.0, 1.0) * STEPS) / STEPS
    return weights


def _surprise(fit: Any) -> Floats:
    surprise = label_surprise(fit)
    spread = float(np.ptp(surprise))
    scaled: Floats = (surprise - surprise.min()) / (spread if spread > 0.0 else 1.0)
    return scaled


def _own_record(fit: Any) -> Floats:
    data = fit.data
    pattern, label = data.patterns.of_combination, true_labels(data)
    mean, above, below = np.zeros((3, data.n_combinations))  # sums of p, p / L and 1 / L
    n_draws = 0
    for table, likelihood in zip(
        fit.predictive_tables(), fit.left_out_weights_tables(), strict=True
    ):
        own, inverse = table[pattern, label], 1.0 / np.maximum(likelihood[pattern, label], 1e-300)
        mean += own
        above += own * inverse
        below += inverse
        n_draws += 1
    effect = mean / n_draws - above / below
    exact = _exact_effect(data)
    share: Floats = np.divide(effect, exact, out=np.zeros_like(effect), where=exact > 0.0)
    return np.minimum(np.maximum(share, 0.0), 1.0)


def _exact_effect(data: Microdata) -> Floats:
    """What a record adds to the probability of its own label in the exact table: (combination,).

    Without a record that is alone in its pattern, the label's overall distribution is left.
    """
    pattern, label = data.patterns.of_combination, true_labels(data)
    n, of_label = data.n_records, np.bincount(label, data.counts)[label]  # (combination,)
    size = data.patterns.sizes[pattern].astype(np.float64)
    others = (data.counts - 1.0) / np.maximum(size - 1.0, 1.0)
    others = np.where(size > 1, others, (of_label - 1.0) / max(n - 1.0, 1.0))
    effect: Floats = data.counts / size - others
    return effect
