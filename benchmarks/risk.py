"""How fast risk is measured: against the quadratic twins, at a million records, and the baselines.

Run with ``python benchmarks/risk.py`` from the repository's root; with ``folds dpmpm`` or ``folds
areal`` it compares own-record effects by weights with those by fits that leave a K-th of the
records out (minutes to hours). All ratios come from this one run; the quadratic twin in Python is
given one set and its time multiplied by the number of sets (its cost per set does not depend on the
others).
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tests.naive import risk as naive  # noqa: E402

import understudy as us  # noqa: E402
from understudy.microdata.coding import regroup  # noqa: E402
from understudy.microdata.label_table import empirical_labels  # noqa: E402
from understudy.microdata.variable import Variable  # noqa: E402
from understudy.randomness import stream  # noqa: E402
from understudy.risk.own_record.refits import leave_out  # noqa: E402

SETS = 20


def timed(work: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """Give the best of some runs and the result."""
    best, result = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - start)
    return best, result


def perfect_sets(data: us.Microdata, m: int) -> us.SyntheticSets:
    """Redraw the labels from their own distribution."""
    table = empirical_labels(data)
    codes = np.empty((m, data.n_records, 1), dtype=np.int32)  # (set, record, variable)
    for index in range(m):
        codes[index, :, 0] = table.draw(stream(1, "benchmark", index), data)
    return us.SyntheticSets(data, codes)


def quadratic(known: NDArray[Any], true: NDArray[Any], sets: NDArray[Any]) -> list[float]:
    """Compare all pairs with NumPy, a thousand records at a time."""
    risks = []
    for made in sets:
        risk = 0.0
        for start in range(0, true.size, 1000):
            part = slice(start, start + 1000)
            same = (known[part, None] == known[None]) & (true[part, None] == made[None])
            counts = same.sum(axis=1)
            hit = made[part] == true[part]
            risk += float((1 / counts[hit]).sum())
        risks.append(risk)
    return risks


def large_data(n: int) -> us.Microdata:
    """Make records with five kept variables and 1,000 labels, related to them."""
    generator = stream(2, "large")
    sizes = {"sex": 2, "age": 10, "income": 8, "size": 6, "tenure": 3}
    columns = [generator.integers(0, size, n) for size in sizes.values()]
    centre = (columns[1] * 97 + columns[2] * 53) % 1000
    label = (centre + np.abs(generator.normal(0, 120, n)).astype(np.int64)) % 1000
    names = {**sizes, "county": 1000}
    codes = np.stack([*columns, label], axis=1).astype(np.int32)
    parts = regroup(
        codes, np.ones(n, dtype=np.int64), np.arange(n, dtype=np.int32), list(names.values())
    )
    variables = tuple(
        Variable(
            name,
            "synthesized" if name == "county" else "kept",
            tuple(str(code) for code in range(size)),
        )
        for name, size in names.items()
    )
    return us.Microdata(variables, *parts)


def gigabytes() -> float:
    """Peak memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def small() -> None:
    """Compare with the quadratic twins at the size of the paper, and time the baselines."""
    data = us.load_ce_like()
    sets = perfect_sets(data, SETS)
    known = ["gender", "age"]
    us.identification_risk(data, sets, known)  # compile
    ours, risk = timed(lambda: us.identification_risk(data, sets, known))
    cells = data.cells(known).of_combination[data.of_record]
    true = data.codes("county")
    arrays, risks = timed(lambda: quadratic(cells, true, sets.codes[:, :, 0]), 1)
    assert np.allclose(risk.per_set["expected_match_risk"].to_numpy(), risks)
    made = sets.codes[0, :, 0].tolist()
    python, slow = timed(lambda: naive.match(cells.tolist(), true.tolist(), made), 1)
    assert np.isclose(float(naive.expected_match_risk(slow)), risks[0])
    print(f"n = 6,208, m = {SETS}, known {known}: whole result with joint attack and guard")
    print(f"  understudy            {ours:10.4f} s")
    print(f"  all pairs, NumPy      {arrays:10.4f} s  {arrays / ours:10.0f} x (no joint, no guard)")
    print(f"  all pairs, Python     {python * SETS:10.4f} s  {python * SETS / ours:10.0f} x")
    us.inherent_risk(data, known, repeats=1, seed=1)
    baselines, _ = timed(lambda: us.inherent_risk(data, known, repeats=100, seed=1))
    print(f"  inherent_risk, 100 repeats of Min and Max: {baselines:.3f} s")
    joint, _ = timed(lambda: us.inherent_risk(data, known, repeats=100, seed=1, sets=SETS), 1)
    print(f"  the same with joint attacks on {SETS} files: {joint:.3f} s")


def large(n: int = 1_000_000) -> None:
    """Measure a million records with three knowledge sets."""
    start = time.perf_counter()
    data = large_data(n)
    sets = perfect_sets(data, SETS)
    print(
        f"n = {n:,}, m = {SETS}, {data.n_combinations:,} combinations, made in "
        f"{time.perf_counter() - start:.1f} s; memory so far {gigabytes():.2f} GB"
    )
    total = 0.0
    for known in (["sex"], ["sex", "age"], list(data.kept)):
        seconds, risk = timed(lambda known=known: us.identification_risk(data, sets, known), 1)  # type: ignore[misc]
        total += seconds
        print(f"  {len(known)} known: {seconds:6.2f} s, risk {risk.expected_match_risk:12,.1f}")
    print(f"  three knowledge sets: {total:.1f} s, peak memory {gigabytes():.2f} GB")
    seconds, _ = timed(lambda: us.attribute_risk(data, sets), 1)
    print(f"  attribute risk: {seconds:.1f} s, peak memory {gigabytes():.2f} GB")


def fold_rows(data: us.Microdata, refit: Callable[[us.Microdata], Any], folds: int) -> list[float]:
    """Right labels by the row and by the pooled modal guess, had a record's fold been left out."""
    fold = stream(5, "folds").permutation(np.arange(data.n_records) % folds)  # (record,)
    pattern = data.patterns.of_combination[data.of_record]
    true = data.combinations[data.of_record, -1]
    right = np.zeros((2, data.n_records))
    for index in range(folds):
        left_out = np.flatnonzero(fold == index)
        less = leave_out(data, left_out)
        tables = np.mean(list(refit(less).predictive_tables()), axis=0)  # (pattern left, label)
        rows = {tuple(codes): row for row, codes in enumerate(less.patterns.codes.tolist())}
        mean = np.stack(
            [
                tables[rows[tuple(codes)]] if tuple(codes) in rows else tables.mean(axis=0)
                for codes in data.patterns.codes.tolist()
            ]
        )  # (pattern, label)
        right[0, left_out] = mean[pattern[left_out], true[left_out]]
        right[1, left_out] = mean.argmax(axis=1)[pattern[left_out]] == true[left_out]
        print(f"  fold {index + 1}: {right[:, left_out].sum(axis=1) * folds}", flush=True)
    return [float(value) for value in right.sum(axis=1)]


def own_record(model: str, folds: int = 5) -> None:
    """Compare the own-record effect by weights with fits in K folds."""
    settings: dict[str, tuple[Any, dict[str, int]]] = {
        "dpmpm": (us.DPMPM(sampler="blocked"), {"warmup": 1500, "draws": 250, "thin": 4}),
        "areal": (us.DPAreal(), {"warmup": 300, "draws": 200}),
    }
    synthesizer, options = settings[model]

    def refit(data: us.Microdata) -> Any:
        return synthesizer.fit(data, seed=3, **options)

    data = us.load_ce_like()
    effect = us.own_record_effect(data, refit(data), "gender", seed=1)
    print(effect, flush=True)
    row, pooled = fold_rows(data, refit, folds)
    print(f"{folds} folds, without the fold: row {row:.1f}, pooled modal {pooled:.0f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["folds"]:
        own_record(sys.argv[2])
    else:
        small()
        large()
