"""What is kept of a fit's chains: the diagnostics, thinned traces and ranks of all draws."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.findings.schema import (
    LARGEST_RHAT,
    WORST_CELL,
    WORST_MARGIN,
    Convergence,
    Histogram,
    QuantityRow,
    Trace,
)

__all__ = ["chain_findings", "convergence_findings"]

MOST_POINTS = 250  # of a trace
MOST_TRACES = 8
RANK_BINS = 20
CELL, MARGIN = "label_probability[", "label_margin["


def chain_findings(fit: Any, drawn: Any, intruders: Sequence[Sequence[str]] = ()) -> Convergence:
    """Keep what shows whether a fit has converged, with the sets that were drawn from it.

    The expected match risk of each intruder, by what she knows, is judged too.
    """
    diagnostics = fit.diagnostics(known=intruders) if intruders else fit.diagnostics()
    scalars = {
        name: np.asarray(values)
        for name, values in {**fit.draws["released"], **fit.draws["posterior"]}.items()
        if values.dims == ("chain", "draw")
    }
    return convergence_findings(
        diagnostics=diagnostics,
        scalars=scalars,
        converged=bool(diagnostics.filter("judged")["converged"].all()),
        warmup=fit.plan.warmup,
        thin=fit.plan.thin,
        autocorrelation_time=drawn.autocorrelation_time,
        spacing=drawn.spacing,
        rhat_target=fit.targets.rhat,
        label_rhat_limit=fit.label_targets.rhat,
        ess_target=fit.targets.ess,
        set_chains=drawn.chain if len(drawn.chain) == len(drawn) else (),  # not of imputations
        sums=[np.asarray(values) for values in fit.draws["released"].values()],
    )


def convergence_findings(
    *,
    diagnostics: pl.DataFrame,
    scalars: Mapping[str, NDArray[np.float64]],
    converged: bool,
    warmup: int,
    thin: int,
    autocorrelation_time: float,
    spacing: float,
    rhat_target: float,
    ess_target: float,
    set_chains: Sequence[int] = (),
    label_rhat_limit: float | None = None,
    sums: Sequence[NDArray[np.float64]] = (),
) -> Convergence:
    """Keep what shows whether a fit has converged.

    Parameters
    ----------
    diagnostics : polars.DataFrame
        Columns quantity, rhat, ess_bulk, ess_tail, converged, judged; label probabilities are
        named ``label_probability[PATTERN -> LABEL]``, margins ``label_margin[LABEL]``.
    scalars : mapping of str to float (chain, draw)
        Quantities about the whole posterior.
    converged : bool
        Whether the fit counts as converged.
    warmup, thin : int
        Sweeps before the first kept draw, and sweeps per kept draw.
    autocorrelation_time, spacing : float
        Kept draws that make an independent one, and between neighbouring sets of a chain.
    rhat_target, ess_target : float
        What the quantities had to meet.
    set_chains : sequence of int (set,)
        The chain that each set comes from.
    label_rhat_limit : float, optional
        What the R-hat of each label probability had to be below.
    sums : sequence of float (chain, draw)
        What reaches the release, and decides whether sets are independent draws.
    """
    rows = [_row(row) for row in diagnostics.iter_rows(named=True)]
    cells = [row for row in rows if row.quantity.startswith(CELL)]
    margins = [row for row in rows if row.quantity.startswith(MARGIN)]
    named = [row for row in rows if not row.quantity.startswith((CELL, MARGIN))]
    many = (*margins, *cells)  # with limits of their own
    strict = [row for row in named if row.judged] + [row for row in many if not row.converged]
    strict = strict or list(many)
    first = next(iter(scalars.values()), np.empty((0, 0)))
    return Convergence(
        converged=converged,
        chains=int(first.shape[0]),
        draws=int(first.shape[1]),
        warmup_sweeps=warmup,
        sweeps_per_draw=thin,
        quantities=(*named, *_worst(margins, WORST_MARGIN), *_worst(cells, WORST_CELL)),
        n_cells=len(cells),
        n_cells_failed=sum(not row.converged for row in cells),
        n_margins=len(margins),
        n_margins_failed=sum(not row.converged for row in margins),
        cell_rhats=_rhat_histogram([row.rhat for row in cells]),
        traces=tuple(
            _trace(name, np.asarray(values, dtype=np.float64))
            for name, values in list(scalars.items())[:MOST_TRACES]
            if values.size
        ),
        autocorrelation_time=_finite(autocorrelation_time),
        spacing=_finite(spacing),
        rhat_target=rhat_target,
        ess_target=ess_target,
        worst_rhat=max((row.rhat for row in strict if row.rhat is not None), default=None),
        least_ess=min(
            (size for row in strict for size in (row.ess_bulk, row.ess_tail) if size is not None),
            default=None,
        ),
        set_chains=tuple(set_chains),
        label_rhat_limit=label_rhat_limit,
        set_correlation=_set_correlation(sums, spacing),
    )


def _set_correlation(sums: Sequence[NDArray[np.float64]], spacing: float) -> float | None:
    """Correlation of draws as far apart as neighbouring sets of a chain, worst of the sums.

    Around each chain's own mean: chains that lie apart are another matter. None with one set a
    chain.
    """
    correlations = []
    for values in sums:
        lag = round(spacing) if math.isfinite(spacing) else values.shape[1]
        centred = values - values.mean(axis=1, keepdims=True)  # (chain, draw)
        total = float((centred**2).mean())
        if 0 < lag < values.shape[1] and total > 0:
            products = centred[:, lag:] * centred[:, :-lag]
            correlations.append(float(products.mean()) / total)
    return max(correlations, default=None)


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _row(row: Mapping[str, object]) -> QuantityRow:
    rhat = row["rhat"]
    return QuantityRow(
        quantity=str(row["quantity"]),
        rhat=min(float(rhat), LARGEST_RHAT) if isinstance(rhat, float) else None,
        ess_bulk=_number(row["ess_bulk"]),
        ess_tail=_number(row["ess_tail"]),
        converged=bool(row["converged"]),
        judged=bool(row.get("judged", True)),
    )


def _number(value: object) -> float | None:
    return _finite(value) if isinstance(value, float) else None


def _worst(cells: list[QuantityRow], words: str) -> list[QuantityRow]:
    """Find the worst of many: one that misses a target, of these that with least ESS."""
    if not cells:
        return []
    worst = min(cells, key=lambda row: (row.converged, _least_ess(row), -(row.rhat or 0.0)))
    name = f"{words} {len(cells):,}"
    return [worst.model_copy(update={"quantity": name})]


def _least_ess(row: QuantityRow) -> float:
    """Effective sample size, bulk or tail; infinite where it is undefined."""
    return min(
        (size for size in (row.ess_bulk, row.ess_tail) if size is not None), default=math.inf
    )


def _rhat_histogram(rhats: list[float | None]) -> Histogram | None:
    """Count R-hats in steps of two thousandths, up to a quarter of a unit above 1."""
    values = np.array([rhat for rhat in rhats if rhat is not None])
    if not values.size:
        return None
    edges = np.round(0.99 + 0.002 * np.arange(131), 4)  # 0.99 to 1.25
    counts, _ = np.histogram(np.clip(values, edges[0], edges[-1]), bins=edges)
    last = int(np.flatnonzero(counts)[-1]) + 1
    return Histogram(edges=tuple(edges[: last + 1].tolist()), counts=tuple(counts[:last].tolist()))


def _trace(name: str, values: NDArray[np.float64]) -> Trace:
    chains, draws = values.shape
    points = np.unique(np.linspace(0, draws - 1, min(draws, MOST_POINTS)).round().astype(int))
    return Trace(
        quantity=name,
        draws=tuple((points + 1).tolist()),
        values=tuple(tuple(_rounded(values[chain, points])) for chain in range(chains)),
        ranks=_ranks(values),
    )


def _rounded(values: NDArray[np.float64]) -> list[float]:
    """Round to what a plot can show: six digits."""
    return [float(f"{value:.6g}") for value in values.tolist()]


def _ranks(values: NDArray[np.float64]) -> tuple[tuple[float, ...], ...]:
    """Count, chain by chain, the ranks of all draws in bins; ties are spread over their ranks."""
    flat = values.reshape(-1)
    _, inverse, counts = np.unique(flat, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    edges = np.linspace(0, flat.size, RANK_BINS + 1)  # in ranks
    reached = np.clip(edges[None, :], (ends - counts)[:, None], ends[:, None])
    shares = np.diff(reached, axis=1) / counts[:, None]  # (distinct value, bin)
    chain = np.repeat(np.arange(values.shape[0]), values.shape[1])  # (draw of any chain,)
    per_chain = np.zeros((values.shape[0], counts.size))  # (chain, distinct value)
    np.add.at(per_chain, (chain, inverse.reshape(-1)), 1.0)
    return tuple(tuple(np.round(row, 3).tolist()) for row in per_chain @ shares)
