"""How much faster than the obvious way: one table of ratios, each measured within one run.

``make bench``. Every row is a ratio of two processor times of this process, a few minutes in all,
and larger is better: ours against a slow twin of the tests, or another library doing the same;
for scaling, how many times more records a second there are with many of them. A line of JSON with
machine, versions and date is added to ``benchmarks/results/ratios.jsonl``; a ratio more than 30 %
below the last one of this machine is reported, and the exit code is then 1.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tests.naive import dpmpm as naive
from tests.naive.utility import tables_of

import understudy as us
from benchmarks.risk import large_data, perfect_sets, quadratic
from understudy.randomness import stream
from understudy.synthesis.dpmpm import blocked, collapsed
from understudy.synthesis.dpmpm.problem import make_problem
from understudy.utility.tables import table_utility

__all__ = ["compare", "last_of", "main"]

RESULTS = Path(__file__).parent / "results" / "ratios.jsonl"
WORSE = 0.7  # share of the stored ratio
LIBRARIES = ("understudy", "numpy", "numba", "polars", "duckdb", "statsmodels")
PRIOR = (0.25, 0.25)


def seconds(work: Callable[[], Any], least: float = 0.3) -> float:
    """Processor time of one call, the least of several; at least so long altogether."""
    work()
    spent: list[float] = []
    while len(spent) < 3 or (sum(spent) < least and len(spent) < 1000):
        begin = time.process_time()
        work()
        spent.append(time.process_time() - begin)
    return min(spent)


def once(work: Callable[[], Any]) -> float:
    """Processor time of one call of something slow."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def sweeps() -> Iterator[tuple[str, float]]:
    """Sweeps of both samplers on the bundled data, against the naive twins of the tests."""
    problem = make_problem(us.load_ce_like(), 1.0)
    generator = stream(1, "benchmark", "ratios")
    at = collapsed.init(generator, problem, 10)
    rows, counts = problem.levels.tolist(), problem.counts.tolist()
    starts = problem.level_start
    local = (problem.levels - starts[:-1]).tolist()  # levels numbered within each variable
    priors = [problem.prior[first:last].tolist() for first, last in pairwise(starts)]
    size = 40  # combinations that the twin sweeps: it is far too slow for all of them
    generator_of_twin = stream(2, "benchmark", "ratios")
    classes = generator_of_twin.integers(0, 10, size)
    members = [[counts[row] * (classes[row] == k) for k in range(12)] for row in range(size)]
    twin = once(
        lambda: naive.move_records(
            generator_of_twin,
            local[:size],
            counts[:size],
            members,
            priors,
            1.0,
            10**9,
        )
    ) / sum(counts[:size])
    ours = seconds(lambda: collapsed.step(generator, problem, at, PRIOR, 10**9)) / sum(counts)
    yield "collapsed sweep, records a second, over the naive twin", twin / ours
    state = blocked.init(generator, problem, 40, 5)
    weights, table = np.exp(state.log_weights).tolist(), state.probabilities.tolist()
    twin = once(lambda: naive.draw_classes(generator, rows, counts, weights, table))
    ours = seconds(lambda: blocked.step(generator, problem, state, PRIOR))
    yield "blocked sweep (40 classes) over drawing its classes naively", twin / ours
    many = problem._replace(counts=problem.counts * 161)
    begun = blocked.init(generator, many, 40, 5)
    larger = seconds(lambda: blocked.step(generator, many, begun, PRIOR))
    yield "blocked sweep, records a second: a million over 6,208", 161 * ours / larger


def risk() -> Iterator[tuple[str, float]]:
    """Identification risk of 20 sets, against comparing all pairs with NumPy, for one of them."""
    data = us.load_ce_like()
    sets = perfect_sets(data, 20)
    cells = data.cells(["gender", "age"]).of_combination[data.of_record]
    codes = sets.codes[:1, :, 0]
    twin = 20 * once(lambda: quadratic(cells, data.codes("county"), codes))
    ours = seconds(lambda: us.identification_risk(data, sets, ["gender", "age"]))
    yield "identification risk of 20 sets over all pairs (NumPy)", twin / ours


def tables() -> Iterator[tuple[str, float]]:
    """All tables of two sets with their noise floors, against Polars counting them alone."""
    data = large_data(200_000)
    sets = perfect_sets(data, 2)
    frames = [data.frame("polars"), *(sets.frame(index, "polars") for index in range(2))]
    wanted = [
        list(names)
        for order in (1, 2, 3)
        for names in tables_of(data.synthesized, data.kept, order)
    ]

    def count() -> None:
        for frame in frames:
            for names in wanted:
                frame.group_by(names).len()

    ours = seconds(partial(table_utility, data, sets, (1, 2, 3), repeats=1, seed=1))
    yield "tables of orders 1 to 3 with floors over Polars group-bys", seconds(count) / ours


def reading() -> Iterator[tuple[str, float]]:
    """A CSV file of 500,000 records, against DuckDB counting its combinations."""
    try:
        import duckdb
    except ImportError:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records.csv"
        large_data(500_000).write(path)
        query = f"select *, count(*) from read_csv('{path}', all_varchar=true) group by all"
        theirs = seconds(lambda: duckdb.execute(query).fetchnumpy())
        ours = seconds(lambda: us.read_microdata(path, synthesize="county"))
    yield "reading 500,000 records over DuckDB counting them", theirs / ours


def regression() -> Iterator[tuple[str, float]]:
    """An ordered logit with few coefficients, against statsmodels."""
    from understudy.utility.regression.design import make_design
    from understudy.utility.regression.formula import read_formula
    from understudy.utility.regression.ordered_logit import fit_ordered_logit

    try:
        from statsmodels.miscmodels.ordinal_model import OrderedModel
    except ImportError:
        return
    data = us.load_ce_like()
    design = make_design(data, read_formula("income ~ age + gender", data))
    codes = np.column_stack([data.codes("age"), data.codes("gender")])
    rows = design.indicators(codes)
    dense = np.zeros((data.n_records, rows.n_columns))
    for term, width in enumerate(rows.widths):
        inside = np.flatnonzero(rows.index[:, term] < width)
        dense[inside, rows.starts[term] + rows.index[inside, term]] = 1.0
    income = data.codes("income")
    model = OrderedModel(income, dense, distr="logit")
    theirs = once(lambda: model.fit(method="bfgs", disp=False, maxiter=500))
    weights = np.ones(data.n_records)
    ours = seconds(lambda: fit_ordered_logit(rows, income, weights))
    yield "ordered logit of 6,208 records over statsmodels", theirs / ours


def machine() -> str:
    """Name the kind of machine, not which one it is."""
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        names = [line for line in cpu.read_text("utf-8").splitlines() if "model name" in line]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {os.cpu_count()} processors"


def last_of(kind: str, stored: list[dict[str, Any]]) -> dict[str, float]:
    """Give the last ratios of this kind of machine; none where there are not any."""
    own = [entry["ratios"] for entry in stored if entry["machine"] == kind]
    return own[-1] if own else {}


def compare(ratios: dict[str, float], before: dict[str, float]) -> list[str]:
    """Name the ratios that are more than 30 % below what they were."""
    return [
        f"{name}: {ratio:.3g}, before {before[name]:.3g}"
        for name, ratio in ratios.items()
        if name in before and ratio < WORSE * before[name]
    ]


def main() -> int:
    """Measure, print the table, store it, and say what has become worse."""
    warnings.simplefilter("ignore")
    ratios: dict[str, float] = {}
    for part in (sweeps, risk, tables, reading, regression):
        for name, ratio in part():
            ratios[name] = float(f"{ratio:.3g}")
            print(f"{name:62} {ratio:10,.2f}", flush=True)
    stored = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] \
        if RESULTS.exists() else []  # fmt: skip
    kind = machine()
    entry = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": kind,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in LIBRARIES},
        "ratios": ratios,
    }
    worse = compare(ratios, last_of(kind, stored))
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    for line in worse:
        print(f"WORSE by more than 30 %: {line}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
