"""Compiles the kernels once before the tests: tests that run side by side would all compile them.

Run as ``python -m tests.compile_kernels`` by the Makefile. Two processes share the models; what a
test needs beyond that, it compiles itself.
"""

from __future__ import annotations

import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import understudy as us
from tests.faults.test_fits import FIT, tiny_data

MODELS: dict[str, us.DPMPM | us.DPAreal | us.BackoffTree] = {
    "collapsed": us.DPMPM(sampler="collapsed", level_prior="sampled"),
    "areal text": us.DPAreal(),
    "blocked": us.DPMPM(sampler="blocked", level_prior="sampled"),
    "areal script": us.DPAreal(variant="script"),
    "back-off": us.BackoffTree(),
}


def compile_model(name: str) -> None:
    """Fit a model to a dozen records, and draw from it."""
    warnings.simplefilter("ignore")
    MODELS[name].fit(tiny_data(), chains=2, **FIT).synthesize(2, seed=1)


def main() -> None:
    """Fit all models, two at a time."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(compile_model, MODELS))


if __name__ == "__main__":
    main()
