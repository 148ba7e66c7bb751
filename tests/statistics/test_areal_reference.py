"""The DP-areal posterior on a tiny table against a program that shares nothing with it.

``reference/areal_numpyro.json`` holds figures of NumPyro's NUTS, with the settings that made them;
the program lies beside it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import understudy as us
from understudy.randomness import stream
from understudy.synthesis.areal.problem import problem_of_counts
from understudy.synthesis.areal.sampler import ArealChain
from understudy.synthesis.diagnostics import ess_bulk
from understudy.synthesis.stored_probabilities import KeptCells

STORED: dict[str, Any] = json.loads(
    (Path(__file__).parent / "reference" / "areal_numpyro.json").read_text(encoding="utf-8")
)
CHAINS, DRAWS = 2, 4_000


@pytest.mark.parametrize("variant", ["text", "script"])
def test_posterior_means_agree_with_the_reference(variant: Literal["text", "script"]) -> None:
    """27 means, four standard errors of the difference: false-alarm rate below 2e-3."""
    settings = STORED["settings"]
    table = np.array(settings["table"])
    n_patterns, n_labels = table.shape
    design = np.hstack([np.ones((n_patterns, 1)), np.eye(n_patterns)])
    problem = problem_of_counts(table, design)
    cells = KeptCells(
        np.repeat(np.arange(n_patterns), n_labels), np.tile(np.arange(n_labels), n_patterns), True
    )
    priors: dict[str, Any] = {name: tuple(two) for name, two in settings["gamma_priors"].items()}
    model = us.DPAreal(
        n_clusters=settings["n_clusters"],
        variant=variant,
        scale_prior=(settings["scale_prior"][0], settings["scale_prior"][1]),
        **priors,
    )
    assert model.priors().correlation_shape == settings["correlation_shape"][variant]
    chain = ArealChain(problem, cells, model.priors(), settings["n_clusters"], 300)
    drawn: dict[str, list[list[float]]] = {}
    for number in range(CHAINS):
        generator = stream(74, "reference", variant, number)
        state = chain.advance(generator, chain.start(generator, number), 400)
        for summaries in drawn.values():
            summaries.append([])
        for _ in range(DRAWS):
            state = chain.advance(generator, state, 2)
            seen = chain.observe(generator, state)
            values = dict(seen.scalars)
            for pattern in range(n_patterns):
                for label in range(n_labels):
                    share = float(seen.label_probability[pattern * n_labels + label])
                    values[f"label_probability[{pattern},{label}]"] = share
                    values[f"label_probability[{pattern},{label}]^2"] = share**2
            for name, value in values.items():
                drawn.setdefault(name, [[] for _ in range(number + 1)])[number].append(value)
    for name, expected in STORED["variants"][variant]["quantities"].items():
        ours = np.array(drawn[name])  # (chain, draw)
        size = ess_bulk(ours) or 1.0
        error = np.hypot(ours.std() / np.sqrt(size), expected["standard_error"])
        assert abs(ours.mean() - expected["mean"]) < 4 * error, name
