"""A sampler without swaps and moves: the same steps otherwise, and what it shows."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.microdata.bundled import load_ce_like
from understudy.pages.markdown import markdown_page
from understudy.randomness import stream
from understudy.reproduction.without_swaps import (
    classes_without_swaps,
    sweep_without_swaps,
    without_swaps_blocks,
)
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.problem import make_problem

PRIOR = (0.25, 0.25)


def test_with_one_class_nothing_can_swap_and_both_sweeps_are_the_same() -> None:
    problem = make_problem(load_ce_like(), 1.0)
    states = []
    for sweep in (blocked.step, sweep_without_swaps):
        generator = stream(1, "one class")
        state = blocked.init(generator, problem, 1, 1)
        for _ in range(3):
            state = sweep(generator, problem, state, PRIOR)
        states.append((state, generator.random()))
    (first, own), (second, swapped) = states
    assert own == swapped
    for mine, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_with_several_classes_only_swaps_and_moves_are_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Swaps and moves, put in between the halves of the sweep, make it the sampler's own."""
    problem = make_problem(load_ce_like(), 1.0)
    steps = blocked.draw_sticks

    def swap_first(generator, class_size, concentration, log_weights):  # type: ignore[no-untyped-def]
        level_count = states[-1].level_count
        blocked.swap_neighbours(generator, class_size, level_count, concentration)
        concentration = blocked.move_class(
            generator, class_size, level_count, concentration, *PRIOR
        )
        steps(generator, class_size, concentration, log_weights)

    ends = []
    for sweep in (blocked.step, sweep_without_swaps):
        generator = stream(2, "several classes")
        states = [blocked.init(generator, problem, 6, 6)]
        if sweep is sweep_without_swaps:
            monkeypatch.setattr(blocked, "draw_sticks", swap_first)
        for _ in range(3):
            states.append(sweep(generator, problem, states[-1], PRIOR))
        ends.append(states[-1])
    for mine, theirs in zip(*ends, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_chains_stay_near_their_start_and_the_page_tells_it() -> None:
    classes = classes_without_swaps(load_ce_like(), 1, warmup=5, kept=20)
    assert classes == classes_without_swaps(load_ce_like(), 1, warmup=5, kept=20)
    assert [len(chains) for chains in classes.values()] == [4, 4, 4]
    few, many = (np.array(classes[start]) for start in ("1", "40"))
    assert few[:, 1].max() < many[:, 0].min()
    page = markdown_page(without_swaps_blocks({"populations": [{"without swaps": classes}]}), "x")
    assert f"| 1 | {few[0, 0]:.0f} to {few[0, 1]:.0f} |" in page
    assert without_swaps_blocks({"populations": [{}]}) == []
