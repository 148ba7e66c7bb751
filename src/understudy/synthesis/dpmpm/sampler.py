"""The DPMPM's two samplers as chains: where they start, what a sweep is, what is kept of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SamplerError
from understudy.microdata.label_table import hole_labels, split_labels
from understudy.microdata.table import Microdata
from understudy.synthesis.contract import Observation
from understudy.synthesis.dpmpm import blocked, collapsed
from understudy.synthesis.dpmpm.class_counts import n_slices
from understudy.synthesis.dpmpm.costs import count_products, cutting_pays, enough_classes
from understudy.synthesis.dpmpm.cut_sweeps import ClassesOnWorkers
from understudy.synthesis.dpmpm.gpu_classes import GpuClasses
from understudy.synthesis.dpmpm.parameters import (
    Parameters,
    draw_parameters,
    label_probabilities,
    log_likelihood,
)
from understudy.synthesis.dpmpm.possible_labels import PossibleLabels
from understudy.synthesis.dpmpm.problem import (
    START_STRENGTH,
    Problem,
    strength_name,
    with_strengths,
)
from understudy.synthesis.dpmpm.split_merge import split_or_merge
from understudy.synthesis.dpmpm.structural_zeros import box_probabilities, impossible_share
from understudy.synthesis.dpmpm.synthetic_labels import label_table
from understudy.synthesis.stored_probabilities import KeptCells, choose_cells
from understudy.synthesis.workers import Workers

__all__ = ["STARTS", "BlockedChain", "CollapsedChain", "LabelCells", "label_cells"]

STARTS = (1, 5, 40, 100)  # classes that chains start from, one after another
MANY_RECORDS = 10_000  # from which on collapsed chains from few classes take long to have many
FIRST_SWEEPS = 200  # before the classes of a chain with sampled strengths are taken apart
GROWTH = 1.5  # so many times more classes where all are occupied
SPLIT_MERGE_SHARE = 0.1  # share of sweeps with a split or merge


@dataclass(frozen=True, eq=False)
class LabelCells(KeptCells):
    """Which label probabilities are kept, and the levels they belong to.

    Attributes
    ----------
    kept_levels : int64 (used pattern, kept variable)
        Numbers of the levels of the patterns that are looked at.
    label_levels : int64 (label, synthesized variable)
        Numbers of the levels of the labels that are looked at.
    cells : int64 (cell, 2)
        Rows of `kept_levels` and of `label_levels`.
    never : int64 (cell that is never drawn,)
        Cells whose label has a hole, or is impossible in the pattern.
    possible : PossibleLabels or None
        Where whether a label is possible depends on missing values of the pattern.
    """

    kept_levels: NDArray[np.int64]
    label_levels: NDArray[np.int64]
    cells: NDArray[np.int64]
    never: NDArray[np.int64]
    possible: PossibleLabels | None = None


def label_cells(data: Microdata, problem: Problem, most_cells: int) -> LabelCells:
    """Keep all cells (pattern, label), or `most_cells` evenly spread ones if there are more."""
    kept = choose_cells(data, most_cells)
    distinct, label_row = np.unique(kept.labels, return_inverse=True)
    possible = PossibleLabels(data)
    used, pattern_row = np.unique(kept.patterns, return_inverse=True)
    never = np.isin(kept.labels, hole_labels(data))  # (cell,)
    if data.impossible:
        never |= possible.impossible[kept.patterns, kept.labels]
    n_kept = len(data.predictors)
    columns = np.array([data.kept.index(name) for name in data.predictors], dtype=np.int64)
    return LabelCells(
        kept_levels=data.patterns.codes[np.ix_(used, columns)] + problem.level_start[:n_kept],
        label_levels=split_labels(data, distinct) + problem.level_start[n_kept:-1],
        cells=np.stack([pattern_row, label_row], axis=1).astype(np.int64),
        never=np.flatnonzero(never),
        patterns=kept.patterns,
        labels=kept.labels,
        complete=kept.complete,
        possible=possible if possible.holes_matter else None,
    )


@dataclass(frozen=True, eq=False)
class _Chain:
    """What the chains of both samplers share."""

    problem: Problem
    cells: LabelCells
    concentration_prior: tuple[float, float]
    sampled: tuple[str, ...] = field(default=(), kw_only=True)  # variables with sampled strengths

    def _described(self, sampler: str, **moves: Any) -> dict[str, Any]:
        start = {"start_strength": START_STRENGTH} if self.sampled else {}
        return {"sampler": sampler, "starts": list(STARTS), **moves, **start}

    def _observed(
        self, parameters: Parameters, state: collapsed.State | blocked.State
    ) -> Observation:
        weights, probabilities = parameters
        table = label_probabilities(
            self.cells.kept_levels, self.cells.label_levels, self.cells.cells, *parameters
        )
        table[self.cells.never] = 0.0
        likelihood = self._log_likelihood(parameters)
        if self.problem.impossible.size:
            table = self._possible(parameters, table)
            share = impossible_share(
                self.problem.impossible, self.problem.level_start, weights, probabilities.T
            )
            likelihood -= self.problem.n_records * np.log1p(-share)
        scalars = {
            "concentration": float(state.concentration),
            "occupied_classes": float(np.count_nonzero(state.class_size)),
            "largest_class_share": float(state.class_size.max() / state.class_size.sum()),
            "log_likelihood": float(likelihood),
        }
        for name, strength in zip(self.sampled, state.strengths, strict=True):
            scalars[strength_name(name)] = float(strength)
        return Observation(scalars, table, {"weights": weights, "probabilities": probabilities})

    def _log_likelihood(self, parameters: Parameters) -> float:
        weights, probabilities = parameters
        levels, whole = self.problem.with_kinds(probabilities.T)  # (level or kind, class)
        of_class = np.ascontiguousarray(whole.T)  # (class, level or kind)
        threads = self._threads()
        with _pool(threads) as pool:
            return log_likelihood(levels, self.problem.counts, weights, of_class, pool, threads)

    def _threads(self) -> int:
        """Count the threads that work on the same sweep; nothing depends on them."""
        return 1

    def _possible(self, parameters: Parameters, table: NDArray[np.float32]) -> NDArray[np.float32]:
        """Condition kept label probabilities on what is possible: float32 (cell,)."""
        cells = self.cells
        if cells.possible is None:
            shares: NDArray[np.float32] = table
            shares /= self._possible_in_pattern(parameters)[cells.cells[:, 0]]
            return shares
        data = cells.possible.data
        tabulated = label_table(data, parameters, "kept", cells.possible)
        by_pattern = np.empty(len(data.patterns), dtype=np.int64)  # (pattern,) rows
        by_pattern[data.patterns.of_combination] = tabulated.row_of_combination
        rows = by_pattern[cells.patterns]  # (cell,)
        return tabulated.probabilities[rows, cells.labels].astype(np.float32)

    def _possible_in_pattern(self, parameters: Parameters) -> NDArray[np.float32]:
        """Probability that the label is possible, given the pattern: float32 (used pattern,)."""
        boxes, kept = self.problem.impossible, self.cells.kept_levels
        n_variables = self.problem.prior_sum.size
        labels = box_probabilities(
            boxes,
            self.problem.level_start,
            parameters.probabilities.T,
            range(kept.shape[1], n_variables),
        )  # (box, class)
        given = np.tile(parameters.weights, (kept.shape[0], 1))  # (used pattern, class)
        within = np.ones((kept.shape[0], boxes.shape[0]))  # (used pattern, box)
        for levels in kept.T:
            given *= parameters.probabilities[:, levels].T
            within *= boxes[:, levels].T
        given /= given.sum(axis=1, keepdims=True)
        return np.asarray(1.0 - (given * (within @ labels)).sum(axis=1), dtype=np.float32)

    def _refuse(self, sweep: int) -> None:
        problem = SamplerError(
            expected="at least one class that a record can join",
            came="a combination to which every class gives a probability that is rounded to zero",
            do="use fewer variables, or a larger level prior; what was saved before is whole",
        )
        problem.sweep = sweep
        raise problem


def _pool(threads: int) -> AbstractContextManager[ThreadPoolExecutor | None]:
    """Give the threads beside the calling one, `threads` in all."""
    return ThreadPoolExecutor(threads - 1) if threads > 1 else nullcontext()


class CollapsedChain(_Chain):
    """Chains of the collapsed sampler."""

    state_type = collapsed.State

    def describe(self) -> dict[str, Any]:
        """Settings of the moves."""
        brought_up = {"many_records": MANY_RECORDS} if self._brought_up() else {}
        return self._described("collapsed", split_merge_share=SPLIT_MERGE_SHARE, **brought_up)

    def _brought_up(self) -> bool:
        return bool(self.sampled) and self.problem.n_records > MANY_RECORDS

    def start(self, generator: np.random.Generator, chain: int) -> collapsed.State:
        """Start from one class, few or many; with many records and sampled strengths from many."""
        n_records = self.problem.n_records
        n_classes = min(STARTS[chain % len(STARTS)], n_records)
        if self._brought_up():
            n_classes = max(n_classes, enough_classes(n_records) // 2)
        return collapsed.init(generator, self.problem, n_classes)

    def advance(
        self, generator: np.random.Generator, state: collapsed.State, n_sweeps: int
    ) -> collapsed.State:
        """Make sweeps: records one by one, and now and then a split or merge."""
        visits = int(self.problem.counts.max(initial=0))
        for sweep in range(n_sweeps):
            state, info = collapsed.step(
                generator, self.problem, state, self.concentration_prior, visits
            )
            if info.failed:
                self._refuse(sweep + 1)
            if generator.random() < SPLIT_MERGE_SHARE:
                state, _ = split_or_merge(generator, self.problem, state)
        return state

    def observe(self, generator: np.random.Generator, state: collapsed.State) -> Observation:
        """Draw weights and level probabilities, and work out what does not depend on labels."""
        problem = with_strengths(self.problem, state.strengths)
        parameters = draw_parameters(
            generator, problem, state.class_size, state.level_count, state.concentration
        )
        return self._observed(parameters, state)


@dataclass(frozen=True, eq=False)
class BlockedChain(_Chain):
    """Chains of the blocked sampler.

    With given level priors they are the paper's: cut off at `n_classes`. With sampled ones, chains
    from few classes are brought up before the warm-up, and one in which all classes are occupied
    during the warm-up gets more. What is kept is drawn with as many as it has then.
    """

    n_classes: int = 40
    threads: int = 1  # that work on the same sweep; what is drawn does not depend on it
    on_gpu: GpuClasses | None = None
    on_workers: ClassesOnWorkers | None = None  # which change nothing of what is drawn either
    state_type = blocked.State

    def describe(self) -> dict[str, Any]:
        """Settings of the moves."""
        grown = {"first_sweeps": FIRST_SWEEPS, "warm_up_growth": GROWTH} if self.sampled else {}
        return self._described(
            "blocked", n_classes=self.n_classes, class_moves=blocked.CLASS_MOVES, **grown
        )

    def cut_over(self, workers: Workers, chains: int) -> BlockedChain | None:
        """Give the same sampler with its combinations on workers; None where chains are spread."""
        counts, wanted = self.problem.counts, workers.cut_sweeps
        if self.on_gpu is not None or self.problem.weights.size or self.problem.kinds.size:
            return None
        if n_slices(counts.size) < 2:
            return None
        if wanted is None:
            sizes = (self.problem.prior.size, self.n_classes)
            products = count_products(self.problem.levels)
            wanted = cutting_pays(counts, products, *sizes, chains, workers.number)
        return replace(self, on_workers=ClassesOnWorkers(workers, self.problem)) if wanted else None

    def start(self, generator: np.random.Generator, chain: int) -> blocked.State:
        """Start from one class, few or many; where strengths are sampled, take them apart."""
        divided = max(1, self.n_classes // 2) if self.sampled else self.n_classes
        started = min(STARTS[chain % len(STARTS)], divided)
        state = blocked.init(generator, self.problem, self.n_classes, started)
        if not self.sampled:
            return state
        state = self.warm_up(generator, state, FIRST_SWEEPS)
        return blocked.divide(generator, self.problem, state, divided)

    def advance(
        self, generator: np.random.Generator, state: blocked.State, n_sweeps: int
    ) -> blocked.State:
        """Make sweeps, with further threads where there are enough combinations for them."""
        return self._swept(generator, state, n_sweeps, grows=False)

    def warm_up(
        self, generator: np.random.Generator, state: blocked.State, n_sweeps: int
    ) -> blocked.State:
        """Make sweeps; where strengths are sampled and all classes occupied, there are more."""
        return self._swept(generator, state, n_sweeps, grows=bool(self.sampled))

    def _swept(
        self, generator: np.random.Generator, state: blocked.State, n_sweeps: int, grows: bool
    ) -> blocked.State:
        elsewhere = self.on_gpu or self.on_workers
        threads = self._threads() if not elsewhere else 1
        with _pool(threads) as pool:
            for sweep in range(n_sweeps):
                state = blocked.step(
                    generator,
                    self.problem,
                    state,
                    self.concentration_prior,
                    pool,
                    threads,
                    elsewhere,
                )
                if state.failed:
                    self._refuse(sweep + 1)
                if grows and self.n_classes > 1 and state.class_size.all():
                    n_classes = int(GROWTH * state.class_size.size) + 1
                    state = blocked.widen(generator, self.problem, state, n_classes)
        return state

    def observe(self, generator: np.random.Generator, state: blocked.State) -> Observation:  # noqa: ARG002
        """Take the weights and level probabilities as they are."""
        weights = np.exp(state.log_weights)  # (class,)
        parameters = Parameters(
            weights / weights.sum(), np.ascontiguousarray(state.probabilities.T)
        )
        return self._observed(parameters, state)

    def _threads(self) -> int:
        return min(self.threads, n_slices(self.problem.counts.size))

    def _log_likelihood(self, parameters: Parameters) -> float:
        elsewhere = self.on_gpu or self.on_workers
        if elsewhere is not None:
            return elsewhere.log_likelihood(*parameters)
        return super()._log_likelihood(parameters)
