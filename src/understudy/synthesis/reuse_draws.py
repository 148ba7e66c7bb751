"""The same posterior draws with another class draw: one fit serves several points of a frontier.

What is judged about convergence belongs to what sets are drawn from, so it is worked out anew, from
the kept snapshots.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from understudy.synthesis.chains import ChainDraws
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.contract import Observation
from understudy.synthesis.sampled_fit import SampledFit

__all__ = ["reuse_draws"]


def reuse_draws(fit: Any, **settings: Any) -> Any:
    """Give a fit with other settings, none of which has a part in the chains.

    Settings are such as ``class_draw="full"``; the new fit has draws at the snapshots alone.
    """
    other: SampledFit = replace(fit, settings=replace(fit.settings, **settings))
    draws, summarize = fit.chain_draws, other.summarizer()
    n_kept = min(map(len, draws.snapshots))

    def seen(snapshot: Arrays) -> dict[str, Any]:
        nothing = np.empty(0, dtype=np.float32)
        kept = {} if summarize is None else summarize(Observation({}, nothing, snapshot))
        if "label_probability" not in kept:
            table = other._predictive(snapshot)[fit.cells.patterns, fit.cells.labels]
            kept["label_probability"] = table.astype(np.float32)
        return kept

    snapshots = [chain[:n_kept] for chain in draws.snapshots]
    listed = [[seen(snapshot) for _, snapshot in chain] for chain in snapshots]
    arrays = {
        name: np.array([[kept[name] for kept in chain] for chain in listed])
        for name in listed[0][0]
    }  # (chain, snapshot) or (chain, snapshot, quantity)
    numbers = np.array([[number for number, _ in chain] for chain in snapshots])
    chains = np.arange(len(snapshots))[:, np.newaxis]  # (chain, 1)
    chain_draws = ChainDraws(
        scalars={name: values[chains, numbers] for name, values in draws.scalars.items()},
        label_probability=arrays.pop("label_probability"),
        snapshots=[
            [(index, snapshot) for index, (_, snapshot) in enumerate(chain)] for chain in snapshots
        ],
        margins=arrays.pop("margins", None),
        sums={name.removeprefix("sum "): values for name, values in arrays.items()},
    )
    return replace(other, chain_draws=chain_draws)
