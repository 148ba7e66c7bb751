"""Running chains: as threads or on workers, in segments, saved as they go, until targets are met.

A chain is a function of its own generator, the stream ``("fit", "chain", number)`` of the seed, so
the draws are the same whatever the number of threads and wherever a run was cut into segments.
Threads and workers only compute; collecting, saving and reporting happen in the calling thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SamplerError, quoted
from understudy.interrupts import postponed_interrupts
from understudy.randomness import stream
from understudy.synthesis.checkpoints import (
    Arrays,
    Checkpoint,
    generator_from,
)
from understudy.synthesis.contract import ChainSampler
from understudy.synthesis.diagnostics import rhat_of
from understudy.synthesis.segments import (
    Chain,
    Lengths,
    Plan,
    Summarize,
    computing,
    saved_chain,
    state_from,
)

__all__ = [
    "NO_DRAWS",
    "ChainDraws",
    "Plan",
    "Progress",
    "Summarize",
    "default_threads",
    "processors",
    "run_chains",
]

SEGMENT_DRAWS = 50  # kept draws in a segment


class Progress(NamedTuple):
    """How far a run has come."""

    sweep: int  # sweeps done, all chains together
    n_sweeps: int  # sweeps to do, as far as that is known
    seconds: float  # since the run was started or resumed
    seconds_left: float  # at the speed so far
    rhat: float | None  # largest of the judged sums so far; None before there is one

    @property
    def words(self) -> str:
        """Say how well the chains agree so far; nothing before that is known."""
        return "" if self.rhat is None else f"R-hat so far {self.rhat:.3f}"


@dataclass(frozen=True, eq=False)
class ChainDraws:
    """All kept draws of all chains.

    Attributes
    ----------
    scalars : dict of float64 (chain, draw)
        Numbers about the model that do not depend on the numbering of classes.
    label_probability : float32 (chain, draw, cell)
        Label probabilities that sets are drawn from.
    snapshots : list of list of (int, dict)
        By chain: the draw's number, and what synthesis needs of it.
    sums : dict of float64 (chain, draw)
        Sums of label probabilities; empty where their table is too large.
    margins : float32 (chain, draw, level), optional
        Expected records with each level of a synthesized variable.
    """

    scalars: dict[str, NDArray[np.float64]]
    label_probability: NDArray[np.float32]
    snapshots: list[list[tuple[int, Arrays]]]
    sums: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    margins: NDArray[np.float32] | None = None

    @property
    def many(self) -> dict[str, NDArray[np.float32]]:
        """Give the kinds of judged quantities of which there are many: (chain, draw, quantity)."""
        margins = {} if self.margins is None else {"label_margin": self.margins}
        return {**margins, "label_probability": self.label_probability}


NO_DRAWS = ChainDraws({}, np.empty((0, 0, 0), dtype=np.float32), [])


def run_chains(
    sampler: ChainSampler,
    plan: Plan,
    checkpoint: Checkpoint | None = None,
    progress: Callable[[Progress], None] | None = None,
    summarize: Summarize | None = None,
) -> ChainDraws:
    """Run all chains to the end of the plan, or until the plan's targets are met.

    Segments are saved to the checkpoint, and complete ones taken from there. `progress` is called
    after every segment, in the calling thread. `summarize` adds to every observation what it means
    for the sets that are drawn from it.
    """
    chains = [_resumed(sampler, plan, number, checkpoint) for number in range(plan.chains)]
    reporter = _Reporter(plan, progress, chains)
    n_draws = plan.draws
    while True:
        _run_to(sampler, plan, chains, n_draws, checkpoint, reporter, summarize)
        draws = _collected(chains, len(_segments(plan, n_draws)))
        if plan.until is None or n_draws >= plan.until.most_draws:
            return draws
        if plan.until.reached(draws.sums, draws.many, plan.threads):
            return draws
        del draws  # before longer ones are put together: they take much memory
        n_draws = min(n_draws + plan.draws, plan.until.most_draws)
        reporter.n_draws = n_draws


def _resumed(
    sampler: ChainSampler, plan: Plan, number: int, checkpoint: Checkpoint | None
) -> Chain:
    """Take up a chain where its saved segments end, or at its start."""
    chain = Chain(number, stream(plan.seed, "fit", "chain", number))
    if checkpoint is not None:
        chain.segments, saved = checkpoint.load(number)
        if saved is not None:
            generator_from(saved, chain.generator)
            chain.state = state_from(sampler.state_type, saved)
    return chain


def _segments(plan: Plan, n_draws: int) -> list[Lengths]:
    """Cut a chain into segments: warm-up sweeps, first kept draw, kept draws."""
    length = SEGMENT_DRAWS * plan.thin
    warm = [(min(length, plan.warmup - done), 0, 0) for done in range(0, plan.warmup, length)]
    # A plan may be prolonged by any number of draws: segments start anew at each multiple.
    kept = []
    for part in range(0, n_draws, plan.draws):
        last = min(part + plan.draws, n_draws)
        kept += [
            (0, done, min(SEGMENT_DRAWS, last - done)) for done in range(part, last, SEGMENT_DRAWS)
        ]
    return warm + kept


def _run_to(
    sampler: ChainSampler,
    plan: Plan,
    chains: list[Chain],
    n_draws: int,
    checkpoint: Checkpoint | None,
    reporter: _Reporter,
    summarize: Summarize | None,
) -> None:
    """Compute all segments that are missing up to this number of draws."""
    segments = _segments(plan, n_draws)
    with postponed_interrupts() as interrupts, computing(sampler, plan, summarize) as compute:
        running: dict[Future[Any], Chain] = {}

        def submit(chain: Chain) -> None:
            if len(chain.segments) < len(segments):
                running[compute.submit(chain, segments[len(chain.segments)])] = chain

        for chain in chains:
            submit(chain)
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: running[future].number):
                    chain = running.pop(future)
                    try:
                        chain.segments.append(compute.result(future, chain))
                    except SamplerError as problem:
                        raise _located(problem, chain, segments, plan, checkpoint) from None
                    if checkpoint is not None:
                        saved = saved_chain(chain)
                        number = len(chain.segments) - 1
                        checkpoint.save(chain.number, number, chain.segments[-1], saved)
                    submit(chain)
                    reporter.report()
                interrupts.raise_postponed()
        except BaseException:
            for future in running:
                future.cancel()
            raise


def _located(
    problem: SamplerError,
    chain: Chain,
    segments: list[Lengths],
    plan: Plan,
    checkpoint: Checkpoint | None,
) -> SamplerError:
    """Say in which sweep a sampler gave up, and save the state in which it did."""
    done = sum(warm + kept * plan.thin for warm, _, kept in segments[: len(chain.segments)])
    sweep = done + chain.advanced + problem.sweep
    do = problem.do
    if checkpoint is not None and chain.state is not None:
        saved = saved_chain(chain)
        name = checkpoint.save_failed(chain.number, saved)
        do += f"; the state is in {quoted(name)} of the saved run, which is confidential"
    came = f"{problem.came}, in sweep {sweep:,} of chain {chain.number}"
    return SamplerError(problem.expected, came, do)


def _collected(chains: list[Chain], n_segments: int) -> ChainDraws:
    """Join the first segments of all chains; a resumed chain may already have more."""
    kept = [
        [segment for segment in chain.segments[:n_segments] if "label_probability" in segment]
        for chain in chains
    ]

    def joined(name: str) -> NDArray[Any]:
        """Put the draws of all chains into one array: (chain, draw, ...)."""
        parts = [[segment[name] for segment in segments] for segments in kept]
        shape = (len(parts), sum(map(len, parts[0])), *parts[0][0].shape[1:])
        whole = np.empty(shape, dtype=parts[0][0].dtype)
        for of_chain, own in zip(whole, parts, strict=True):
            np.concatenate(own, out=of_chain)
        return whole

    def named(start: str) -> dict[str, NDArray[np.float64]]:
        names = [name for name in kept[0][0] if name.startswith(start)]
        return {name.removeprefix(start): joined(name) for name in names}

    snapshots = [
        [
            (int(number), _snapshot(segment, int(number)))
            for segment in segments
            for number in segment["snapshot_draw"]
        ]
        for segments in kept
    ]
    return ChainDraws(
        scalars=named("scalar "),
        label_probability=joined("label_probability"),
        snapshots=snapshots,
        sums=named("sum "),
        margins=joined("margins") if "margins" in kept[0][0] else None,
    )


def _snapshot(segment: Arrays, number: int) -> Arrays:
    start = f"snapshot {number} "
    return {
        name.removeprefix(start): value for name, value in segment.items() if name.startswith(start)
    }


class _Reporter:
    """Tells the caller how far the run has come."""

    def __init__(
        self, plan: Plan, tell: Callable[[Progress], None] | None, chains: list[Chain]
    ) -> None:
        self._plan, self._tell, self._chains = plan, tell, chains
        self.n_draws = plan.draws
        self._begin = time.monotonic()
        self._done_before = self._sweeps()

    def _sweeps(self) -> int:
        total = 0
        segments = _segments(self._plan, self.n_draws)
        for chain in self._chains:
            for warm, _, kept in segments[: len(chain.segments)]:
                total += warm + kept * self._plan.thin
        return total

    def report(self) -> None:
        """Call the caller's function, if there is one."""
        if self._tell is None:
            return
        done = self._sweeps()
        everything = self._plan.chains * (self._plan.warmup + self.n_draws * self._plan.thin)
        seconds = time.monotonic() - self._begin
        speed = max(done - self._done_before, 1) / max(seconds, 1e-9)
        self._tell(Progress(done, everything, seconds, (everything - done) / speed, self._rhat()))

    def _rhat(self) -> float | None:
        kept = [
            [segment for segment in chain.segments if "label_probability" in segment]
            for chain in self._chains
        ]
        shared = min(len(segments) for segments in kept)
        if shared == 0:
            return None
        rhats = [
            rhat_of(
                np.stack(
                    [
                        np.concatenate([segment[name] for segment in segments[:shared]])
                        for segments in kept
                    ]
                )
            )
            for name in kept[0][0]
            if name.startswith("sum ")
        ]
        return max((rhat for rhat in rhats if rhat is not None), default=None)


def processors() -> int:
    """Count the processors that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count() or 1


def default_threads(chains: int) -> int:
    """One thread per chain, as far as there are processors for them."""
    return max(1, min(chains, processors()))
