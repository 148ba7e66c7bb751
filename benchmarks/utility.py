"""How long the utility measures take: tables at a million records, regressions beside statsmodels.

Run ``python -m benchmarks.utility``; ``--records 100000`` makes the tables smaller. Ratios are of
one run on one machine. statsmodels is timed on one fit, and its time for all fits is that time
multiplied: it does the same work on every set.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import polars as pl

from understudy.microdata.bundled import load_ce_like
from understudy.microdata.coding import regroup
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream
from understudy.utility.noise_floors import perfect_codes
from understudy.utility.propensity import propensity_utility
from understudy.utility.regression.design import make_design
from understudy.utility.regression.formula import read_formula
from understudy.utility.regression.ordered_logit import fit_ordered_logit
from understudy.utility.regression.regression_utility import regression_utility
from understudy.utility.tables import table_utility
from understudy.utility.within_pattern import within_pattern_utility

LEVELS = {"gender": 2, "income": 4, "age": 5, "size": 6, "tenure": 8, "county": 133}
SETS = 20
TRAIN = 5000


def invented(n: int) -> Microdata:
    """Make n records of six variables, the county depending on two of the others."""
    generator = stream(1, "benchmark", "data")
    codes = {name: generator.integers(0, levels, n) for name, levels in LEVELS.items()}
    shift = generator.integers(0, 30, n)
    codes["county"] = (generator.geometric(0.03, n) + codes["income"] * shift) % LEVELS["county"]
    frame = pl.DataFrame({name: pl.Series(own).cast(pl.String) for name, own in codes.items()})
    return read_microdata(frame, synthesize=["county"])


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Run something once and say how many seconds it took."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def peak() -> float:
    """Most memory this process has held so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def tables(n: int) -> list[list[str]]:
    """Time all tables of orders 1 to 3 and the distances within patterns."""
    data = invented(n)
    generator = stream(2, "benchmark", "sets")
    sets = SyntheticSets(
        data, np.stack([perfect_codes(generator, data).astype(np.uint8) for _ in range(SETS)])
    )
    before = peak()
    seconds, utility = timed(lambda: table_utility(data, sets, seed=1))
    shape = f"n = {n:,}, 6 variables, {data.n_combinations:,} combinations, m = {SETS}"
    rows = [
        [f"all {utility.tables.height} tables of orders 1-3, {shape}", f"{seconds:.1f} s",
         f"peak {peak():,.0f} MB ({before:,.0f} MB before)"],
    ]  # fmt: skip
    seconds, _ = timed(lambda: within_pattern_utility(data, sets))
    rows.append([f"within {len(data.patterns):,} patterns, same data", f"{seconds:.1f} s", ""])
    return rows


def regressions() -> Iterator[list[str]]:
    """Time ordered logits with 133 labels, ours and statsmodels'."""
    data = load_ce_like()
    generator = stream(3, "benchmark", "regression")
    sets = [perfect_codes(generator, data)[:, 0] for _ in range(SETS)]
    chosen = generator.permutation(data.n_records)[:TRAIN]
    formula = read_formula("income ~ county + age + gender", data)
    design = make_design(data, formula)
    response = data.codes("income")[chosen]

    def rows_of(county: Any) -> Any:
        return np.column_stack([county, data.codes("age"), data.codes("gender")])[chosen]

    def fit(county: Any) -> Any:  # on distinct rows, as regression_utility does
        codes = np.column_stack([rows_of(county), response])
        levels = [data.variable(name).n_levels for name in ("county", "age", "gender", "income")]
        every = np.arange(TRAIN, dtype=np.int32)
        distinct, counts, _ = regroup(codes, np.ones(TRAIN, dtype=np.int64), every, levels)
        rows = design.indicators(distinct[:, :-1])
        return fit_ordered_logit(rows, distinct[:, -1], counts.astype(np.float64))

    fit(data.codes("county"))  # what is loaded when first used is not counted
    ours, fits = timed(lambda: [fit(county) for county in sets])
    separated = sum("separated" in set_fit.status for set_fit in fits)
    what = f"{SETS} ordered logits, 133 labels, n = {TRAIN:,}"
    yield [what, f"{ours:.2f} s", f"{separated} of {SETS} sets separated somewhere"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from statsmodels.miscmodels.ordinal_model import OrderedModel

        dense = dense_design(design, rows_of(data.codes("county")))
        own = fit(data.codes("county"))
        seconds, other = timed(
            lambda: OrderedModel(response, dense, distr="logit").fit(
                method="bfgs", disp=False, maxiter=500
            )
        )
    apart = float(np.nanmax(np.abs(other.params[: dense.shape[1]] - own.coefficients)))
    remark = f"largest difference of a coefficient {apart:.1e}"
    yield ["statsmodels OrderedModel (bfgs), one fit", f"{seconds:.1f} s", remark]
    theirs = SETS * seconds
    yield [f"  the same, times {SETS}", f"{theirs:.0f} s", f"ratio {theirs / ours:,.0f}"]


def dense_design(design: Any, codes: Any) -> Any:
    """Write the indicators out as a matrix."""
    rows = design.indicators(codes)
    matrix = np.zeros((len(codes), rows.n_columns))
    for term, width in enumerate(rows.widths):
        inside = np.flatnonzero(rows.index[:, term] < width)
        matrix[inside, rows.starts[term] + rows.index[inside, term]] = 1.0
    return matrix


def whole_figures() -> list[list[str]]:
    """Time the public functions on the bundled sample, noise floors included."""
    data = load_ce_like()
    generator = stream(4, "benchmark", "whole")
    sets = SyntheticSets(data, np.stack([perfect_codes(generator, data) for _ in range(SETS)]))
    runs: dict[str, Callable[[], Any]] = {
        "table_utility": lambda: table_utility(data, sets, seed=1),
        "within_pattern_utility": lambda: within_pattern_utility(data, sets),
        "regression_utility, 41 fits": lambda: regression_utility(data, sets, seed=1),
        "propensity_utility, main effects and pairs, 30 fits": lambda: propensity_utility(
            data, sets, seed=1
        ),
    }
    return [
        [f"{name}, bundled data, m = {SETS}", f"{timed(run)[0]:.2f} s", ""]
        for name, run in runs.items()
    ]


def main() -> None:
    """Run everything and print one table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--part", choices=["all", "tables", "whole", "regressions"], default="all")
    given = parser.parse_args()
    records, chosen = given.records, given.part
    table_utility(load_ce_like(), [load_ce_like().frame()], seed=1)  # compiles the counting
    parts: dict[str, Callable[[], Iterable[list[str]]]] = {
        "tables": lambda: tables(records),
        "whole": whole_figures,
        "regressions": regressions,
    }
    for name, part in parts.items():
        if chosen in {"all", name}:
            for what, took, remark in part():
                print(f"{what:<88}  {took:>8}  {remark}", flush=True)


if __name__ == "__main__":
    main()
