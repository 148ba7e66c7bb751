"""Do chains of the DPMPM meet? One fit of one data set, with the defaults or as it was before them.

``python -m benchmarks.fits DATA [--before] [--seed 1] [--draws N] [--settings JSON]``

DATA is the number of a redrawn population (0: the bundled data), a plan, whose data are read,
``stops`` (50,000 invented records like traffic stops), or a number of records with an ``r`` before
it, drawn from the population behind the bundled data (``r200000``). ``--before`` has a prior count
of 1 for every level, 1,000 draws 15 sweeps apart, and the sampler that went with them. ``--draws``
keeps so many instead of going on until what is judged has converged.

Three lines come out: whether the fit converged, classes, worst R-hat and least effective size of
the sums, the margins and the label probabilities that are judged, processor minutes and wall time;
each chain's classes and log-likelihood; and whether the sets of different chains, 20 in all, differ
by more than chance in any measure of a file.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from typing import Any

import numpy as np
import polars as pl

import understudy as us
from benchmarks.arrival import population_of
from benchmarks.backoff import stops
from benchmarks.comparison import SETS, chain_chances, differs
from benchmarks.heldout import read
from understudy.errors import UnderstudyWarning
from understudy.synthesis.diagnostics import count_failed

OLD_LENGTHS = {"warmup": 4000, "draws": 1000, "thin": 15}
ORDERS = (1, 2, 3)
LARGE = 0.01  # share of the records that a large class has, at least


def data_of(text: str) -> us.Microdata:
    """Read or draw what was asked for."""
    if text == "stops":
        return stops()
    return population_of(int(text[1:])) if text[0] == "r" and text[1:].isdigit() else read(text)


def before(data: us.Microdata) -> us.DPMPM:
    """Give the settings that these data had before level priors were sampled."""
    visits = int(np.minimum(data.counts, 16).sum())
    if data.n_records <= 2 * visits:
        return us.DPMPM(level_prior=1.0, sampler="collapsed")
    return us.DPMPM(level_prior=1.0, sampler="blocked", n_classes=100)


def worst(table: pl.DataFrame, kind: str) -> str:
    """Worst R-hat and least effective size of a kind of judged quantities."""
    if not table.height:
        return f"{kind}: none"
    rhat = table["rhat"].to_numpy().max()
    least = min(table[name].to_numpy().min() for name in ("ess_bulk", "ess_tail"))
    return f"{kind} {rhat:.3f} ({least:.0f})"


def report(text: str, settings: us.DPMPM, data: us.Microdata, **options: Any) -> None:
    """Fit, and print three lines."""
    begin, begin_wall = time.process_time(), time.monotonic()
    fit = settings.fit(data, **options)
    failed = count_failed(fit.diagnostics())
    minutes, wall = (time.process_time() - begin) / 60, (time.monotonic() - begin_wall) / 60
    table = fit.diagnostics().filter("judged")
    many = table["quantity"].str.contains("[", literal=True)
    margins = table["quantity"].str.starts_with("label_margin")
    posterior = fit.draws["posterior"]
    occupied = np.asarray(posterior["occupied_classes"]).mean(axis=1)  # (chain,)
    likelihood = np.asarray(posterior["log_likelihood"]).mean(axis=1)  # (chain,)
    large = np.mean(
        [(fit._parameters(chain, -1).weights > LARGE).sum() for chain in range(fit.plan.chains)]
    )
    kinds = {"sums": ~many, "margins": margins, "labels": many & ~margins}
    print(
        f"{text}: {data.n_records:,} records, {data.n_combinations:,} combinations, "
        f"{data.n_labels} labels; {fit!r}; classes {occupied.mean():.1f}, large {large:.1f}; "
        + ", ".join(worst(table.filter(chosen), kind) for kind, chosen in kinds.items())
        + f"; {failed} of {table.height} not met; {minutes:.1f} processor minutes ({wall:.1f} wall)"
    )
    print(f"  by chain: classes {np.round(occupied, 1)}, log-likelihood {np.round(likelihood)}")
    print(f"  {chains_in_words(data, fit)}", flush=True)


def chains_in_words(data: us.Microdata, fit: Any) -> str:
    """Say whether the chains' sets differ by more than chance."""
    sets = fit.synthesize(m=SETS, seed=2)
    measured = us.table_utility(data, sets, orders=ORDERS, seed=1).per_set
    deviations = [
        measured.filter(pl.col("order") == order)["deviation"].to_list() for order in ORDERS
    ]
    chances = chain_chances(data, sets, deviations)
    *tables, right, matched = (f"{chance:.3f}" for chance in chances)
    return (
        f"sets of different chains {'differ' if differs(chances) else 'differ by chance at most'}: "
        f"probabilities {' / '.join(tables)} (tables of order 1, 2, 3), {right} (right labels), "
        f"{matched} (match risk)"
    )


def main() -> None:
    """Fit what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--before", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--settings", type=json.loads, default={})
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UnderstudyWarning)
    data = data_of(asked.data)
    if asked.before:
        report(f"{asked.data}, before", before(data), data, seed=asked.seed, **OLD_LENGTHS)
    else:
        settings = us.DPMPM(**asked.settings)
        report(asked.data, settings, data, seed=asked.seed, draws=asked.draws)


if __name__ == "__main__":
    main()
