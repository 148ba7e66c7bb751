"""How many classes a chain of the paper's length occupies if classes never swap.

The paper's interval of occupied classes is far from ours. A blocked sampler without swaps and moves
does not find back from where it got caught, so such chains are run from few and from all classes,
put together from the steps of our own sampler, swaps and moves left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata
from understudy.pages.blocks import Block, Paragraph, Table
from understudy.randomness import stream
from understudy.reproduction.published import printed_cell
from understudy.synthesis.dpmpm import blocked
from understudy.synthesis.dpmpm.model import DPMPM
from understudy.synthesis.dpmpm.problem import Problem, make_problem

__all__ = ["classes_without_swaps", "sweep_without_swaps", "without_swaps_blocks"]

STARTS = (1, 5, 40)
CHAINS = 4
N_CLASSES = 40
WARMUP, KEPT = 5000, 5000
ENDS = (0.025, 0.975)


def classes_without_swaps(
    data: Microdata, seed: int, warmup: int = WARMUP, kept: int = KEPT
) -> dict[str, list[list[float]]]:
    """Give every chain's 95 % interval of occupied classes, by the number at the start."""
    return {
        str(start): [
            np.quantile(_occupied(data, seed, start, chain, warmup + kept)[warmup:], ENDS).tolist()
            for chain in range(CHAINS)
        ]
        for start in STARTS
    }


def _occupied(data: Microdata, seed: int, start: int, chain: int, sweeps: int) -> NDArray[np.int64]:
    """Count classes in use, sweep by sweep: (sweep,)."""
    settings = DPMPM(sampler="blocked", n_classes=N_CLASSES, level_prior=1.0)
    problem = make_problem(data, settings.level_prior)
    generator = stream(seed, "reproduction", "without swaps", start, chain)
    state = blocked.init(generator, problem, N_CLASSES, start)
    counted = np.empty(sweeps, dtype=np.int64)
    for sweep in range(sweeps):
        state = sweep_without_swaps(generator, problem, state, settings.concentration_prior)
        counted[sweep] = np.count_nonzero(state.class_size)
    return counted


def sweep_without_swaps(
    generator: np.random.Generator,
    problem: Problem,
    state: blocked.State,
    concentration_prior: tuple[float, float],
) -> blocked.State:
    """Do all that `blocked.step` does but swaps and moves; the state's arrays are written over."""
    class_size, level_count, log_weights, probabilities, concentration = state[:5]
    blocked.draw_classes(
        generator, problem, log_weights, probabilities, class_size, level_count, None, 1
    )
    blocked.draw_sticks(generator, class_size, concentration, log_weights)
    blocked.draw_levels(generator, problem, level_count, class_size, probabilities)
    drawn = blocked.draw_concentration(
        generator, log_weights[-1], class_size.size, *concentration_prior
    )
    return state._replace(concentration=drawn)


def without_swaps_blocks(results: dict[str, Any]) -> list[Block]:
    """Set the intervals by start beside the printed one."""
    by_start = results["populations"][0].get("without swaps")
    if by_start is None:
        return []
    printed = " to ".join(printed_cell(f"classes_{end}", "DPMPM") for end in ("lower", "upper"))
    within = "; ".join(
        f"{min(ends[0] for ends in chains):.0f} to {max(ends[1] for ends in chains):.0f} from "
        f"{start} class{'es' * (start != '1')}"
        for start, chains in by_start.items()
    )
    return [
        Paragraph(
            f"""
            Both samplers here let classes swap or come and go, and find the same few classes of the
            bundled population from every start. Without such moves a large class at the end of the
            sticks keeps all classes before it occupied: 95 % intervals of chains of the paper's
            length ({KEPT:,} sweeps after {WARMUP:,}) lie within {within}. That the printed
            {printed} comes from such chains is a hypothesis. Synthetic data hardly depend on
            classes of a few records.
            """
        ),
        Table(
            f"Occupied classes of {N_CLASSES}, no swaps, 95 % interval (printed: {printed})",
            ("classes at the start", *(f"chain {chain + 1}" for chain in range(CHAINS))),
            [
                (start, *(f"{ends[0]:.0f} to {ends[1]:.0f}" for ends in chains))
                for start, chains in by_start.items()
            ],
            file="classes-without-swaps",
        ),
    ]
