"""A sampled fit as the user sees it: its draws, what they are worth, and the synthetic sets.

The same for every model that is run by chains. A model adds two things: what it calls itself, and
how labels are tabulated and drawn from what it kept of a posterior draw.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_one_of, check_whole
from understudy.display.described import Described
from understudy.display.frame_kinds import Kind
from understudy.display.panels import draw_chains
from understudy.display.result import Shown
from understudy.errors import ConvergenceWarning, warn_user
from understudy.microdata.label_table import LabelTable, true_labels
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed
from understudy.summaries import counted
from understudy.synthesis.chains import NO_DRAWS, ChainDraws, Plan, Summarize
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.contract import DrawnSets, Observation
from understudy.synthesis.diagnostics import (
    ConvergenceTargets,
    diagnose,
    ess_bulk,
    meets,
    spread_cells,
)
from understudy.synthesis.fit_panels import (
    chains_described,
    label_names,
    level_names,
    pattern_names,
)
from understudy.synthesis.labelled_draws import Draws, LabelledArray
from understudy.synthesis.monitored_sums import known_cells, released_sums
from understudy.synthesis.risk_weights import label_surprise
from understudy.synthesis.set_drawing import Drawer, SetDrawing, draw_set, table_drawer
from understudy.synthesis.stored_probabilities import KeptCells

__all__ = ["SampledFit", "by_pattern"]


@dataclass(frozen=True, repr=False, eq=False)
class SampledFit(Shown, ABC):
    """Draws from the posterior of a synthesizer.

    Attributes
    ----------
    settings : object
        What was fitted.
    data : Microdata
        To what.
    plan : Plan
        How long, how many, from which seed. The seed is internal: it redraws everything.
    cells : KeptCells
        Which label probabilities were kept.
    chain_draws : ChainDraws
        All kept draws of all chains.
    weights : float64 (combination,), optional
        Powers that the records' likelihoods were taken to; None: 1 for all.
    """

    _frames: ClassVar[tuple[str, ...]] = ("diagnostics",)
    settings: Any
    data: Microdata
    plan: Plan
    cells: KeptCells
    chain_draws: ChainDraws
    weights: NDArray[np.float64] | None = None

    @abstractmethod
    def _sampler(self) -> str:
        """Name the sampler, for exported files."""

    @abstractmethod
    def _tabulated(self, snapshot: Arrays) -> LabelTable:
        """Tabulate the label probabilities of one kept draw."""

    def _observed(self, seen: Observation) -> LabelTable:
        """Tabulate the label probabilities of a draw that was just observed."""
        return self._tabulated(seen.snapshot)

    def _predictive(self, snapshot: Arrays) -> NDArray[np.float64]:
        """Give p(label | pattern) of one kept draw: (pattern, label)."""
        return by_pattern(self.data, self._table(snapshot))

    def _left_out_weights(self, snapshot: Arrays) -> NDArray[np.float64]:
        """Give what one record with that label contributes to the likelihood: (pattern, label)."""
        return self._predictive(snapshot)

    @property
    def draws_predictive(self) -> bool:
        """Whether sets are drawn from p(label | pattern), and not from another distribution."""
        return True

    def summarizer(self) -> Summarize | None:
        """Make the function that sums up what sets of a draw are drawn from; None if too large."""
        rows = len(self.data.patterns) if self.draws_predictive else self.data.n_combinations
        sums = released_sums(self.data, rows)
        if sums is None:
            return None

        def summarize(seen: Observation) -> dict[str, Any]:
            table = self._observed(seen)
            of_draw = sums.of(table)
            kept: dict[str, Any] = {f"sum {name}": value for name, value in of_draw.sums.items()}
            kept["margins"] = of_draw.margins.astype(np.float32)
            if not self.draws_predictive:
                kept["label_probability"] = sums.label_probability(
                    table, self.cells.patterns, self.cells.labels
                )
            return kept

        return summarize

    def drawer(self, snapshot: Arrays) -> Drawer:
        """Prepare to draw from one kept draw."""
        return table_drawer(self.data, self._tabulated(snapshot))

    @cached_property
    def _without_draws(self) -> Self:
        """What workers need of the fit to draw a set from one of the draws."""
        return replace(self, chain_draws=NO_DRAWS)

    @property
    def targets(self) -> ConvergenceTargets:
        """What the quantities have to meet."""
        return self.plan.until or ConvergenceTargets()

    @property
    def label_targets(self) -> ConvergenceTargets:
        """What each label probability has to meet: limits that allow for their number."""
        n_chains, _, n_kept = self.chain_draws.label_probability.shape
        return self.targets.for_each_of(n_kept, n_chains)

    @cached_property
    def draws(self) -> Draws:
        """Kept draws as labelled arrays.

        ``draws["posterior"]`` has the model's numbers with axes (chain, draw), and
        label_probability with axes (chain, draw, pattern, label), averaged over the records of a
        pattern where they are drawn from different ones; where all of its cells would need too
        much memory, a sample of them, evenly spread, with axes (chain, draw, cell).
        ``draws["released"]`` has the sums that are judged, with axes (chain, draw).
        """
        arrays = {
            name: LabelledArray(values, ("chain", "draw"))
            for name, values in self.chain_draws.scalars.items()
        }
        tables = self.chain_draws.label_probability
        if self.cells.complete:
            shape = (*tables.shape[:2], len(self.data.patterns), -1)
            table = LabelledArray(tables.reshape(shape), ("chain", "draw", "pattern", "label"))
            labels = self.cells.labels[: table.shape[3]]
            coordinates = {
                "pattern": pattern_names(self.data),
                "label": label_names(self.data, labels),
            }
        else:
            table = LabelledArray(tables, ("chain", "draw", "cell"))
            coordinates = {"cell": self._cell_names()}
        arrays["label_probability"] = table
        attributes: dict[str, str | int | float] = {
            "inference_library": "understudy",
            "sampler": self._sampler(),
            "warmup_sweeps": self.plan.warmup,
            "sweeps_per_draw": self.plan.thin,
        }
        sums = {
            name: LabelledArray(values, ("chain", "draw"))
            for name, values in self.chain_draws.sums.items()
        }
        return Draws({"posterior": arrays, "released": sums}, coordinates, attributes)

    def _cell_names(self) -> list[str]:
        """Name the kept label probabilities: pattern -> label."""
        patterns, labels = pattern_names(self.data), label_names(self.data, self.cells.labels)
        pairs = zip(self.cells.patterns, labels, strict=True)
        return [f"{patterns[pattern]} -> {label}" for pattern, label in pairs]

    @only_our_errors
    def diagnostics(
        self, most_cells: int | None = None, known: Sequence[Sequence[str]] = ()
    ) -> pl.DataFrame:
        """Convergence of what sets are drawn from, and of the model's own numbers.

        Parameters
        ----------
        most_cells : int or None
            Label probabilities to look at, evenly spread over all that are kept; None for all.
        known : sequence of sequences of str
            Kept variables that intruders know: the expected match risk of each is judged too. That
            of the one who knows all of them always is.

        Returns
        -------
        polars.DataFrame
            Columns quantity, rhat, ess_bulk, ess_tail, converged, judged: first the sums of label
            probabilities (`released_sums`), then numbers about the model, which are shown and not
            judged, then margins and all kept label probabilities, whose limits allow for their
            number (`diagnostics.rhat_limit`). These are named by their levels, as in
            ``label_probability[female | 20-40 -> North]``.
        """
        table = self._diagnosed if most_cells is None else self._diagnose(most_cells)
        sums = self._match_risks(known)  # judged one by one, beside those that are known already
        more = diagnose(self.targets, sums, {}, threads=self.plan.threads)
        first = len(self.chain_draws.sums)
        # concat would start threads, with which a process can no longer be forked
        return table[:first].vstack(more).vstack(table[first:])

    @cached_property
    def _diagnosed(self) -> pl.DataFrame:
        return self._diagnose(None)

    def _match_risks(self, known: Sequence[Sequence[str]]) -> dict[str, NDArray[np.float64]]:
        """Expected match risk of intruders at every kept snapshot: (chain, snapshot)."""
        weaker = [names for names in known if set(names) != set(self.data.kept)]
        if not weaker or not self.chain_draws.sums:
            return {}
        intruders = {
            f"expected_match_risk ({', '.join(names)} known)": known_cells(self.data, names)
            for names in weaker
        }
        risks = [
            [cells.match_risk(table) for cells in intruders.values()]
            for table in self.label_tables()
        ]  # (snapshot of all chains, intruder)
        series = np.array(risks).T.reshape(len(intruders), self.plan.chains, -1)
        return dict(zip(intruders, series, strict=True))

    def _diagnose(self, most_cells: int | None) -> pl.DataFrame:
        draws, many = self.chain_draws, self.chain_draws.many
        names = {"label_probability": self._cell_names(), "label_margin": level_names(self.data)}
        if most_cells is not None:
            tables = many["label_probability"]
            chosen = spread_cells(tables.shape[2], most_cells)
            many["label_probability"] = tables[:, :, chosen]
            names["label_probability"] = [names["label_probability"][cell] for cell in chosen]
        return diagnose(self.targets, draws.sums, many, draws.scalars, self.plan.threads, names)

    @property
    def converged(self) -> bool:
        """Whether every quantity of `diagnostics` that is judged has met its targets."""
        return meets(self._diagnosed)

    @property
    def autocorrelation_time(self) -> float:
        """Kept draws that make one independent draw, of the slowest sum that is judged."""
        sums = self.chain_draws.sums or self.chain_draws.scalars
        sizes = [ess_bulk(values) for values in sums.values()]
        total = next(iter(sums.values())).size
        return max((total / max(size, 1.0) for size in sizes if size is not None), default=1.0)

    @only_our_errors
    def synthesize(self, m: int = 20, seed: int | None = None) -> DrawnSets:
        """Draw synthetic sets, each from a posterior draw of its own.

        The posterior draws are spread evenly over all chains and along each of them.

        Parameters
        ----------
        m : int
            Number of sets.
        seed : int, optional
            Makes the sets repeatable; the operating system's entropy otherwise.

        Returns
        -------
        DrawnSets
            Row i of every set stands in for record i.
        """
        return self.drawing(m, seed).all()

    def drawing(self, m: int = 20, seed: int | None = None) -> SetDrawing:
        """Settle how `m` sets are drawn, and draw none yet; see `synthesize`."""
        kept_draws = self._spread(m)
        known = check_seed(seed)
        spacing, time = self._spacing(m)
        return SetDrawing(
            data=self.data,
            draw_codes=lambda number: draw_set(
                self._without_draws, self._snapshot(*kept_draws[number]), known, number
            ),
            chain=tuple(chain for chain, _ in kept_draws),
            draw=tuple(self.chain_draws.snapshots[chain][index][0] for chain, index in kept_draws),
            spacing=spacing,
            autocorrelation_time=time,
        )

    def _spacing(self, m: int) -> tuple[float, float]:
        """Tell how far apart in a chain `m` draws lie, and the autocorrelation time; or warn."""
        per_chain = -(-m // self.plan.chains)
        spacing = self._n_draws / per_chain if per_chain > 1 else float("inf")
        time = self.autocorrelation_time
        if spacing < time:
            warn_user(
                f"the posterior draws behind the sets lie {spacing:.3g} draws apart, and it takes "
                f"{time:.3g} to be independent: run longer, or ask for fewer sets",
                ConvergenceWarning,
            )
        return spacing, time

    def label_table(self, index: int, m: int = 20) -> LabelTable:
        """Probabilities that set number `index` of `m` is drawn from (`synthesize`)."""
        return self._tabulated(self._snapshot(*self._spread(m)[index]))

    def label_tables(self) -> Iterator[LabelTable]:
        """Give, for every kept snapshot, the probabilities that sets are drawn from.

        Yields
        ------
        LabelTable
            With axes (row, label), chain after chain; what a row is depends on the model.
        """
        yield from map(self._table, self._snapshots())

    def predictive_tables(self) -> Iterator[NDArray[np.float64]]:
        """Give, for every kept snapshot, the label's distribution given the kept variables.

        That is the model's own p(label | pattern), whatever sets are drawn from: with
        ``class_draw="full"`` a set's labels depend on the true ones, and these do not.

        Yields
        ------
        float64 (pattern, label)
            Rows sum to one. In the order of `label_tables`.
        """
        yield from map(self._predictive, self._snapshots())

    def left_out_weights_tables(self) -> Iterator[NDArray[np.float64]]:
        """Give, for every kept snapshot, what one record contributes to the likelihood.

        Importance weights that take the record of a label in a pattern out of the posterior are
        one over its entry, normalized over the snapshots.

        Yields
        ------
        float64 (pattern, label)
            p(label | pattern) where labels are multinomial, the rate where counts are Poisson, up
            to a factor that is the same in all snapshots. In the order of `label_tables`.
        """
        yield from map(self._left_out_weights, self._snapshots())

    def _table(self, snapshot: Arrays) -> LabelTable:
        """Tabulate a snapshot; the last table is kept for those who go along beside."""
        last: tuple[Arrays, LabelTable] | None = self._last_table.get("last")
        if last is None or last[0] is not snapshot:
            last = self._last_table["last"] = snapshot, self._tabulated(snapshot)
        return last[1]

    @cached_property
    def _last_table(self) -> dict[str, tuple[Arrays, LabelTable]]:
        return {}

    def of_part(self, data: Microdata, combinations: NDArray[np.int64]) -> SampledFit | None:  # noqa: ARG002
        """Give the same draws as seen from some of the combinations, where that saves tables.

        `data` are the records of these combinations alone.
        """
        return None

    def own_chances(self) -> Iterator[NDArray[np.float64]]:
        """Give, for every kept snapshot, p(own label | pattern) of each combination.

        Yields
        ------
        float64 (combination,)
            Of the model's own distribution, as in `predictive_tables`.
        """
        pattern, label = self.data.patterns.of_combination, true_labels(self.data)
        for table in self.predictive_tables():
            yield table[pattern, label]

    def _snapshots(self) -> Iterator[Arrays]:
        for of_chain in self.chain_draws.snapshots:
            for _, snapshot in of_chain:
                yield snapshot

    @cached_property
    def local_sensitivity(self) -> float:
        """Largest weighted ``|log p(label | kept variables)|`` of any record over the kept draws.

        A *local* sensitivity: it belongs to these data and these draws. It is no bound for other
        data, and no guarantee follows from it.
        """
        surprise = label_surprise(self)
        return float((surprise if self.weights is None else self.weights * surprise).max())

    @only_our_errors
    def to_arviz(self) -> Any:
        """Give the draws as an ArviZ data tree (needs the extra ``understudy[arviz]``)."""
        return self.draws.to_arviz()

    def to_netcdf(self, path: str | os.PathLike[str]) -> None:
        """Write the draws as a netCDF file in ArviZ's layout. It is confidential."""
        self.draws.to_netcdf(path)

    @only_our_errors
    def plot(self, var_names: Sequence[str] | str | None = None, axes: Any = None) -> Any:
        """Draw chains, a row per quantity: their densities on the left, their traces on the right.

        Parameters
        ----------
        var_names : sequence of str, optional
            Quantities of ``draws["released"]`` and ``draws["posterior"]`` with axes (chain, draw);
            all that are judged one by one when left out.
        axes : array of matplotlib Axes (quantity, 2), optional
            Where to draw; a new figure when left out.

        Returns
        -------
        array of matplotlib Axes (quantity, 2)
        """
        chains = {**self.chain_draws.sums, **self.chain_draws.scalars}
        judged = list(self.chain_draws.sums or chains)
        listed = [var_names] if isinstance(var_names, str) else list(var_names or judged)
        wanted = [check_one_of("var_names", name, chains) for name in listed]
        return draw_chains({name: chains[name] for name in wanted}, axes)

    def _described(self) -> Described:
        chains = {**self.chain_draws.sums, **self.chain_draws.scalars}
        return chains_described(repr(self), chains, self._diagnosed)

    def _users_kind(self) -> Kind:
        return self.data.backend

    def __repr__(self) -> str:
        """Show how long, how many, and whether it converged."""
        state = "converged" if self.converged else "not converged"
        return (
            f"{type(self).__name__}: {counted(self.plan.chains, 'chain')} of "
            f"{counted(self._n_draws, 'draw')}, "
            f"{self._sampler()} sampler, {state}"
        )

    @property
    def _n_draws(self) -> int:
        return int(self.chain_draws.label_probability.shape[1])

    def _snapshot(self, chain: int, index: int) -> Arrays:
        return self.chain_draws.snapshots[chain][index][1]

    def _spread(self, m: int) -> list[tuple[int, int]]:
        """Choose a chain and one of its snapshots for every set."""
        available = min(len(of_chain) for of_chain in self.chain_draws.snapshots)
        kept = available * self.plan.chains
        check_whole("m", m, 1, kept, do="ask for fewer sets, or keep more draws")
        kept_draws = []
        for number in range(m):
            chain = number % self.plan.chains
            in_chain = (m - chain - 1) // self.plan.chains + 1
            index = int((number // self.plan.chains + 0.5) * available / in_chain)
            kept_draws.append((chain, index))
        return kept_draws


def by_pattern(data: Microdata, table: LabelTable) -> NDArray[np.float64]:
    """Give the rows (pattern, label) of a table that depends on kept variables only."""
    row_of_pattern = np.empty(len(data.patterns), dtype=np.int64)
    row_of_pattern[data.patterns.of_combination] = table.row_of_combination
    return table.probabilities[row_of_pattern]
