"""Segments of chains, computed in threads of this process or on workers.

Chains are cut into segments because each is saved when it is done (`checkpoints`): a run that was
killed goes on from the last one, and ends with the same bytes as one that was not.

A segment is a function of the chain's state at its beginning, generator included; a chain's first
one begins with nothing but the seed. So it does not matter who computes it, and when.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.errors import SamplerError
from understudy.randomness import stream
from understudy.synthesis.checkpoints import Arrays, generator_arrays, generator_from
from understudy.synthesis.contract import (
    ChainSampler,
    CutSampler,
    Observation,
    WarmingSampler,
)
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.workers import Workers, current_workers

__all__ = ["Chain", "Lengths", "Plan", "Summarize", "computing", "saved_chain", "state_from"]

Lengths = tuple[int, int, int]  # of a segment: warm-up sweeps, first kept draw, kept draws
Summarize = Callable[[Observation], dict[str, Any]]  # arrays and numbers of one draw, by name


@dataclass(frozen=True)
class Plan:
    """How long, how many, from which seed.

    Attributes
    ----------
    chains, warmup, draws, thin : int
        Number of chains, and for each the sweeps that are thrown away, the draws that are kept, and
        the sweeps from one kept draw to the next.
    snapshot_every : int
        Every so many kept draws, what synthesis needs is kept too.
    """

    chains: int
    warmup: int
    draws: int
    thin: int
    seed: int
    threads: int
    snapshot_every: int = 1
    until: ConvergenceTargets | None = None


@dataclass
class Chain:
    """A chain in the making."""

    number: int
    generator: np.random.Generator
    state: Any = None
    segments: list[Arrays] = field(default_factory=list)
    advanced: int = 0  # sweeps of the segment in the making, before the last call


class _Computing:
    """Computes segments of chains in threads of this process."""

    def __init__(
        self, sampler: ChainSampler, plan: Plan, summarize: Summarize | None, pool: Executor
    ) -> None:
        self._arguments = (sampler, plan, summarize)
        self._pool = pool

    def submit(self, chain: Chain, lengths: Lengths) -> Future[Any]:
        """Begin with a segment."""
        return self._pool.submit(_segment, *self._arguments, chain, lengths)

    def result(self, future: Future[Any], chain: Chain) -> Arrays:  # noqa: ARG002
        """Take a segment; the chain has advanced by it."""
        segment: Arrays = future.result()
        return segment


class _ComputingElsewhere(_Computing):
    """Computes segments of chains on workers: a chain's state travels there and back."""

    def __init__(
        self, sampler: ChainSampler, plan: Plan, summarize: Summarize | None, workers: Workers
    ) -> None:
        super().__init__(sampler, plan, summarize, workers.executor)
        self._workers = workers
        self._shared = workers.share(self._arguments)
        self._state_type = sampler.state_type

    def submit(self, chain: Chain, lengths: Lengths) -> Future[Any]:
        """Send a chain's state to a worker."""
        saved = None if chain.state is None else saved_chain(chain)
        return self._workers.submit(_segment_elsewhere, self._shared, chain.number, saved, lengths)

    def result(self, future: Future[Any], chain: Chain) -> Arrays:
        """Take a segment and the chain's new state, or the reason why there is none."""
        segment, saved, advanced, problem = self._workers.result(future)
        if saved is not None:
            generator_from(saved, chain.generator)
            chain.state = state_from(self._state_type, saved)
        if problem is not None:
            chain.advanced, (expected, came, do, sweep) = advanced, problem
            failed = SamplerError(expected, came, do)
            failed.sweep = sweep
            raise failed
        taken: Arrays = segment
        return taken


@contextmanager
def computing(
    sampler: ChainSampler, plan: Plan, summarize: Summarize | None
) -> Iterator[_Computing]:
    """Choose workers where there are some, for chains or for every sweep, threads otherwise."""
    workers = current_workers()
    if workers is not None:
        cut = sampler.cut_over(workers, plan.chains) if isinstance(sampler, CutSampler) else None
        if cut is None:
            yield _ComputingElsewhere(sampler, plan, summarize, workers)
            return
        with ThreadPoolExecutor(plan.chains) as pool:  # they mostly wait
            yield _Computing(cut, plan, summarize, pool)
        return
    with ThreadPoolExecutor(plan.threads) as pool:
        yield _Computing(sampler, plan, summarize, pool)


def _segment_elsewhere(
    shared: tuple[ChainSampler, Plan, Summarize | None],
    number: int,
    saved: Arrays | None,
    lengths: Lengths,
) -> tuple[Arrays | None, Arrays | None, int, tuple[str, str, str, int] | None]:
    """Compute a segment on a worker: it, the chain's state, and what went wrong in which sweep."""
    sampler, plan, _ = shared
    chain = Chain(number, stream(plan.seed, "fit", "chain", number))
    if saved is not None:
        generator_from(saved, chain.generator)
        chain.state = state_from(sampler.state_type, saved)
    try:
        segment = _segment(*shared, chain, lengths)
    except SamplerError as problem:
        told = (problem.expected, problem.came, problem.do, problem.sweep)
        return None, None if chain.state is None else saved_chain(chain), chain.advanced, told
    return segment, saved_chain(chain), 0, None


def saved_chain(chain: Chain) -> Arrays:
    """Take a chain's generator and state out, as arrays."""
    return generator_arrays(chain.generator) | _state_arrays(chain.state)


def _segment(
    sampler: ChainSampler,
    plan: Plan,
    summarize: Summarize | None,
    chain: Chain,
    lengths: Lengths,
) -> Arrays:
    """Compute one segment of a chain: its start, warm-up sweeps, or some kept draws."""
    generator, (warm_sweeps, first, n_kept) = chain.generator, lengths
    chain.advanced = 0
    if chain.state is None:
        chain.state = sampler.start(generator, chain.number)
    warm_up = sampler.warm_up if isinstance(sampler, WarmingSampler) else sampler.advance
    state = warm_up(generator, chain.state, warm_sweeps)
    per_draw: dict[str, list[Any]] = {}  # of every draw: a number, or an array
    numbers: list[int] = []
    snapshots: list[Arrays] = []
    for draw in range(first, first + n_kept):
        chain.advanced = (draw - first) * plan.thin
        state = sampler.advance(generator, state, plan.thin)
        seen = sampler.observe(generator, state)
        kept: dict[str, Any] = {f"scalar {name}": value for name, value in seen.scalars.items()}
        kept |= {"label_probability": seen.label_probability}
        kept |= summarize(seen) if summarize is not None else {}
        for name, value in kept.items():
            per_draw.setdefault(name, []).append(value)
        if draw % plan.snapshot_every == 0:
            numbers.append(draw)
            snapshots.append(seen.snapshot)
        del seen  # its table may be large, and the next draw has another
    chain.state = state
    arrays: Arrays = {name: np.stack(values) for name, values in per_draw.items()}  # (draw, ...)
    if n_kept:
        arrays["snapshot_draw"] = np.array(numbers, dtype=np.int64)  # (snapshot,)
    for number, snapshot in zip(numbers, snapshots, strict=True):
        arrays |= {f"snapshot {number} {name}": value for name, value in snapshot.items()}
    return arrays


def _state_arrays(state: Any) -> Arrays:
    return {f"state {name}": np.array(getattr(state, name)) for name in state._fields}


def state_from(state_type: Any, arrays: Arrays) -> Any:
    """Make a sampler's state of arrays that `saved_chain` gave."""
    values = {name: arrays[f"state {name}"] for name in state_type._fields}
    return state_type(
        **{name: value if value.ndim else value.item() for name, value in values.items()}
    )
