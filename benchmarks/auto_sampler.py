"""Which sampler of the DPMPM gives more effective draws a second, by data and level prior.

``python -m benchmarks.auto_sampler DATA [--priors 1.0 0.3 0.1 sampled] [--seed 1] [--draws 1000]``
prints what is measured, and a line of comma-separated figures for every prior.

DATA is what `benchmarks.fits` takes: the number of a redrawn population (0: the bundled data), a
plan, or ``r2000`` for so many records. Both samplers keep 1,000 draws, 15 sweeps apart, after 4,000
sweeps, with the number of classes that ``sampler="auto"`` would have. What counts is the least
effective size of all judged quantities, bulk and tail, over the processor seconds of the whole fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any, Literal

import understudy as us
from benchmarks.fits import data_of
from understudy.errors import UnderstudyWarning
from understudy.synthesis.dpmpm.costs import enough_classes

SAMPLERS: tuple[Literal["collapsed", "blocked"], ...] = ("collapsed", "blocked")
WARMUP, THIN = 4000, 15
HEADER = (
    "data,records,level prior,collapsed: R-hat,least effective,processor seconds,"
    "blocked: R-hat,least effective,processor seconds,blocked over collapsed: seconds,"
    "effective draws a second"
)


def measured(
    data: us.Microdata, prior: Any, sampler: Literal["collapsed", "blocked"], **options: Any
) -> tuple[float, float, float]:
    """Worst R-hat, least effective size, processor seconds."""
    n_classes = max(us.DPMPM().n_classes, enough_classes(data.n_records))
    model = us.DPMPM(sampler=sampler, level_prior=prior, n_classes=n_classes)
    begin = time.process_time()
    fit = model.fit(data, warmup=WARMUP, thin=THIN, progress=False, **options)
    spent = time.process_time() - begin
    judged = fit.diagnostics().filter("judged")
    least = min(judged[name].drop_nulls().to_numpy().min() for name in ("ess_bulk", "ess_tail"))
    return float(judged["rhat"].drop_nulls().to_numpy().max()), float(least), spent


def row(name: str, data: us.Microdata, prior: Any, **options: Any) -> str:
    """Measure both samplers and write what was seen."""
    collapsed, blocked = (measured(data, prior, sampler, **options) for sampler in SAMPLERS)
    seconds = blocked[2] / collapsed[2]
    pays = (blocked[1] / blocked[2]) / (collapsed[1] / collapsed[2])
    of = [f"{rhat:.3f},{least:.0f},{spent:.1f}" for rhat, least, spent in (collapsed, blocked)]
    return f'{name},"{data.n_records:,}",{prior},{",".join(of)},{seconds:.2f},{pays:.2f}'


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--priors", nargs="+", default=["1.0", "0.3", "0.1", "sampled"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draws", type=int, default=1000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UnderstudyWarning)
    data = data_of(asked.data)
    for sampler in SAMPLERS:  # compiles
        for prior in (1.0, "sampled"):
            model = us.DPMPM(sampler=sampler, level_prior=prior)
            model.fit(us.load_ce_like(), warmup=20, draws=10, thin=1, seed=1, progress=False)
    print(HEADER)
    for prior in asked.priors:
        given = prior if prior == "sampled" else float(prior)
        print(row(asked.data, data, given, seed=asked.seed, draws=asked.draws), flush=True)


if __name__ == "__main__":
    main()
