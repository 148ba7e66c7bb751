"""How much faster than the obvious way: one table of ratios, each measured within one run.

``make bench``. Every row is a ratio of two processor times of this process, a few minutes in all,
and larger is better: ours against a slow twin of the tests, or another library doing the same;
for scaling, how many times more records a second there are with many of them. A line of JSON with
machine, versions and date is added to ``benchmarks/results/ratios.jsonl``, and
``docs/ratios.svg`` is drawn from all of them. A ratio more than 30 % below the median of the last
five of this kind of machine is reported, and the exit code is then 1. Rows of a library that is not
installed are left out (``pip install numpyro anonymeter sdmetrics`` for all of them).

The attacks of anonymeter and SDMetrics are other measures of risk than ours; those rows only say
what measuring anything takes.
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
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from tests.naive import dpmpm as naive
from tests.naive.utility import tables_of

import understudy as us
from benchmarks.gpu_sweep import invented
from benchmarks.risk import large_data, perfect_sets, quadratic
from benchmarks.small_multiples import Series, draw_small_multiples
from understudy.randomness import stream
from understudy.synthesis.areal.problem import problem_of_counts
from understudy.synthesis.areal.sampler import ArealChain
from understudy.synthesis.diagnostics import ess_bulk
from understudy.synthesis.dpmpm import blocked, collapsed
from understudy.synthesis.dpmpm.problem import Problem, make_problem
from understudy.synthesis.stored_probabilities import KeptCells
from understudy.utility.tables import table_utility

__all__ = ["compare", "main", "usual"]

RESULTS = Path(__file__).parent / "results" / "ratios.jsonl"
FIGURE = Path(__file__).parents[1] / "docs" / "ratios.svg"
WORSE = 0.7  # share of the usual ratio
LAST = 5  # runs that say what is usual
LIBRARIES = ("understudy", "numpy", "numba", "polars", "duckdb", "statsmodels", "numpyro",
             "anonymeter", "sdmetrics", "pandas")  # fmt: skip
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


def naive_sweep(problem: Problem) -> float:
    """Seconds of the collapsed sampler's naive twin, for every record."""
    rows, counts, starts = problem.levels, problem.counts.tolist(), problem.level_start
    local = (rows - starts[:-1]).tolist()  # levels numbered within each variable
    priors = [problem.prior[first:last].tolist() for first, last in pairwise(starts)]
    size = 40  # combinations that the twin sweeps: it is far too slow for all of them
    generator = stream(2, "benchmark", "ratios")
    classes = generator.integers(0, 10, size)
    members = [[counts[row] * (classes[row] == k) for k in range(12)] for row in range(size)]
    of_all = (local[:size], counts[:size], members, priors, 1.0, 10**9)
    spent = once(lambda: naive.move_records(generator, *of_all))
    return float(spent / sum(counts[:size]))


def sweeps() -> Iterator[tuple[str, float]]:
    """Sweeps of both samplers on the bundled data, against the naive twins of the tests."""
    problem = make_problem(us.load_ce_like(), 1.0)
    generator = stream(1, "benchmark", "ratios")
    at = collapsed.init(generator, problem, 10)
    ours = seconds(lambda: collapsed.step(generator, problem, at, PRIOR, 10**9))
    of_record = ours / problem.n_records
    yield "collapsed sweep, records a second, over the naive twin", naive_sweep(problem) / of_record
    state = blocked.init(generator, problem, 40, 5)
    rows, counts = problem.levels.tolist(), problem.counts.tolist()
    weights, table = np.exp(state.log_weights).tolist(), state.probabilities.tolist()
    twin = once(lambda: naive.draw_classes(generator, rows, counts, weights, table))
    ours = seconds(lambda: blocked.step(generator, problem, state, PRIOR))
    yield "blocked sweep (40 classes) over drawing its classes naively", twin / ours
    many = problem._replace(counts=problem.counts * 161)
    begun = blocked.init(generator, many, 40, 5)
    larger = seconds(lambda: blocked.step(generator, many, begun, PRIOR))
    yield "blocked sweep, records a second: a million over 6,208", 161 * ours / larger


def effective(model: Any, **lengths: int) -> tuple[float, float]:
    """Effective draws a processor second of the bundled data's label margins; sweeps a second."""
    data = us.load_ce_like()
    model.fit(data, chains=2, warmup=2, draws=4, thin=1, seed=1, progress=False)  # compiled
    begin = time.process_time()
    fit = model.fit(data, chains=2, seed=1, progress=False, **lengths)
    kept = lengths["draws"] * lengths["thin"]
    spent = (time.process_time() - begin) * kept / (kept + lengths["warmup"])
    table = fit.diagnostics()
    margins = table["quantity"].str.starts_with("label_margin")
    return float(table.filter(margins)["ess_bulk"].median()) / spent, 2 * kept / spent


def draws() -> Iterator[tuple[str, float]]:
    """Effective draws a second: the median over the expected records of every label."""
    lengths = {"warmup": 1000, "draws": 400, "thin": 5}
    one_by_one, swept = effective(us.DPMPM(sampler="collapsed", level_prior=1.0), **lengths)
    together, _ = effective(us.DPMPM(sampler="blocked", level_prior=1.0), **lengths)
    data = us.load_ce_like()
    twin = 1.0 / (naive_sweep(make_problem(data, 1.0)) * data.n_records)  # sweeps a second
    yield "effective draws a second: blocked over collapsed sampler", together / one_by_one
    yield (
        "effective draws a second: faster sampler over the naive twin",
        max(together, one_by_one) / (one_by_one / swept * twin),
    )
    tree, _ = effective(us.BackoffTree(), warmup=200, draws=500, thin=3)
    yield "effective draws a second: back-off tree over DPMPM", tree / max(together, one_by_one)
    areal, _ = effective(us.DPAreal(), warmup=300, draws=100, thin=6)
    yield "effective draws a second: DP-areal over DPMPM", areal / max(together, one_by_one)


def numpyro() -> Iterator[tuple[str, float]]:
    """The DP-areal model on a tiny table, by NumPyro's NUTS: its least effective label."""
    try:
        import jax
        from numpyro.infer import MCMC, NUTS
        from tests.statistics.reference import areal_numpyro as reference
    except ImportError:
        return
    own = reference.SETTINGS
    table = np.array(own["table"])  # (pattern, label)
    kernel = NUTS(reference.model, target_accept_prob=own["target_acceptance"])
    kept = 1000
    run = MCMC(kernel, num_warmup=300, num_samples=kept, progress_bar=False)
    keys = jax.random.split(jax.random.PRNGKey(1), 3)
    run.warmup(keys[0], jax.numpy.array(table), "text")
    run.run(keys[1], jax.numpy.array(table), "text")  # compiled
    begin = time.process_time()
    run.run(keys[2], jax.numpy.array(table), "text")
    rates = np.exp(np.asarray(run.get_samples()["log_rates"]))  # (draw, pattern, label)
    theirs = least_effective(rates / rates.sum(axis=-1, keepdims=True), begin)
    patterns, labels = table.shape
    design = np.hstack([np.ones((patterns, 1)), np.eye(patterns)])
    cells = KeptCells(*np.divmod(np.arange(table.size), labels), complete=True)
    scale, priors = own["scale_prior"], own["gamma_priors"]
    model = us.DPAreal(n_clusters=own["n_clusters"], scale_prior=tuple(scale), **priors)
    chain = ArealChain(problem_of_counts(table, design), cells, model.priors(), 3, 500)
    generator = stream(3, "benchmark", "ratios")
    state = chain.advance(generator, chain.start(generator, 1), 500)
    drawn = np.empty((kept, table.size))
    begin = time.process_time()
    for row in drawn:
        state = chain.advance(generator, state, 1)
        row[:] = chain.observe(generator, state).label_probability
    ours = least_effective(drawn, begin)
    yield "tiny DP-areal, least effective label a second, over NumPyro", ours / theirs


def least_effective(drawn: Any, begin: float) -> float:
    """Smallest bulk effective size a processor second, of quantities (draw, ...)."""
    spent = time.process_time() - begin
    rows = drawn.reshape(len(drawn), -1).T  # (quantity, draw)
    return min(ess_bulk(row[None, :]) or 0.0 for row in rows) / spent


def other_measures() -> Iterator[tuple[str, float]]:
    """Both risks of one set, every record attacked, against other libraries' attacks on them."""
    data = us.load_ce_like()
    sets = perfect_sets(data, 1)
    original, made = data.frame("pandas"), sets.frame(0, "pandas")
    kept = list(data.kept)

    def both() -> None:
        us.identification_risk(data, sets, kept)
        us.attribute_risk(data, sets)

    ours = seconds(both)
    with suppress(ImportError):
        from anonymeter.evaluators import InferenceEvaluator

        attacked = 500

        def infer() -> None:
            attack = InferenceEvaluator(
                original,
                made,
                aux_cols=kept,
                secret="county",  # noqa: S106
                n_attacks=attacked,
            )
            attack.evaluate(n_jobs=1)

        infer()
        theirs = once(infer) * data.n_records / attacked
        yield "both risks of a set over anonymeter's inference attack", theirs / ours
    with suppress(ImportError):
        from sdmetrics.single_table import CategoricalCAP

        size = 1000

        def cap() -> None:
            CategoricalCAP.compute(
                original.head(size), made, key_fields=kept, sensitive_fields=["county"]
            )

        theirs = once(cap) * data.n_records / size
        yield "both risks of a set over SDMetrics' CategoricalCAP", theirs / ours


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


def scaling() -> Iterator[tuple[str, float]]:
    """How many times more is done a second where there is ten times as much: 1 is in proportion."""
    data = [large_data(records) for records in (20_000, 200_000)]
    sets = [perfect_sets(own, 2) for own in data]
    problems = [invented(combinations) for combinations in (20_000, 200_000)]
    states = [blocked.init(stream(4, "benchmark", "ratios"), own, 40, 40) for own in problems]

    def sweep(at: int) -> None:
        blocked.step(stream(5, "benchmark", "ratios"), problems[at], states[at], PRIOR)

    def speed_up(work: Callable[[int], Any]) -> float:
        few, many = (seconds(partial(work, at)) for at in range(2))
        return 10 * few / many

    size = "a second: 200,000 over 20,000"
    yield f"blocked sweep, combinations {size}", speed_up(sweep)
    yield (
        f"identification risk, records {size}",
        speed_up(lambda at: us.identification_risk(data[at], sets[at], ["sex", "age"])),
    )
    yield (
        f"tables with floors, records {size}",
        speed_up(lambda at: table_utility(data[at], sets[at], (1, 2, 3), repeats=1, seed=1)),
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"records-{own.n_records}.csv" for own in data]
        for own, path in zip(data, paths, strict=True):
            own.write(path)
        yield (
            f"reading, records {size}",
            speed_up(lambda at: us.read_microdata(paths[at], synthesize="county")),
        )


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


PARTS = (sweeps, draws, numpyro, risk, other_measures, tables, reading, scaling, regression)


def machine() -> str:
    """Name the kind of machine, not which one it is."""
    model = platform.processor() or platform.machine()
    cpu = Path("/proc/cpuinfo")
    if cpu.exists():
        names = [line for line in cpu.read_text("utf-8").splitlines() if "model name" in line]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {os.cpu_count()} processors"


def versions() -> dict[str, str]:
    """Give the versions of what is installed."""
    listed = {"python": platform.python_version()}
    for name in LIBRARIES:
        with suppress(PackageNotFoundError):
            listed[name] = version(name)
    return listed


def usual(kind: str, stored: list[dict[str, Any]]) -> dict[str, float]:
    """Give the median of each ratio's last five of this kind of machine, which no run can move."""
    own = [entry["ratios"] for entry in stored if entry["machine"] == kind]
    names = {name for ratios in own for name in ratios}
    return {name: median([run[name] for run in own if name in run][-LAST:]) for name in names}


def compare(ratios: dict[str, float], before: dict[str, float]) -> list[str]:
    """Name the ratios that are more than 30 % below what they were."""
    return [
        f"{name}: {ratio:.3g}, before {before[name]:.3g}"
        for name, ratio in ratios.items()
        if name in before and ratio < WORSE * before[name]
    ]


def draw(stored: list[dict[str, Any]]) -> None:
    """Draw every ratio over time, of the kind of machine that the last run was on."""
    own = [entry for entry in stored if entry["machine"] == stored[-1]["machine"]]
    names = dict.fromkeys(name for entry in own for name in entry["ratios"])
    panels = []
    for name in names:
        runs = [entry for entry in own if name in entry["ratios"]]
        dates = [entry["date"][5:] for entry in runs]
        panels.append(Series(name, dates, [entry["ratios"][name] for entry in runs]))
    draw_small_multiples(FIGURE, "Ratios of make bench over time, log scale", panels)


def main() -> int:
    """Measure, print the table, store it, and say what has become worse."""
    warnings.simplefilter("ignore")
    ratios: dict[str, float] = {}
    failed: list[str] = []
    for part in PARTS:
        try:
            for name, ratio in part():
                ratios[name] = float(f"{ratio:.3g}")
                print(f"{name:62} {ratio:10,.2f}", flush=True)
        except Exception as problem:  # noqa: BLE001  (what others measured is stored)
            failed.append(f"{part.__name__}: {type(problem).__name__}: {problem}")
    stored = [json.loads(line) for line in RESULTS.read_text("utf-8").splitlines()] \
        if RESULTS.exists() else []  # fmt: skip
    kind = machine()
    entry = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": kind,
        "versions": versions(),
        "ratios": ratios,
    }
    worse = compare(ratios, usual(kind, stored))
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")
    draw([*stored, entry])
    for line in worse:
        print(f"WORSE by more than 30 %: {line}")
    for line in failed:
        print(f"FAILED: {line}")
    return 1 if worse or failed else 0


if __name__ == "__main__":
    sys.exit(main())
