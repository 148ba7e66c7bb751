"""What a whole study costs, stage by stage, against records, combinations, classes and sets.

``python -m benchmarks.scale [--records 1000000] [--combinations 20000] [--variables 8] [--sets 5]
[--sweeps 25] [--level-prior 1.0] [--json]`` writes a file of invented records, runs the study of a
plan on it in a process of its own, and prints seconds and peak memory of every stage (``--json``:
for a program too). The label has 500 levels. The chains are short: what a sweep costs is what is
measured, and the default length is that many times more.

Peak memory is the kernel's own mark of the process (Linux), set back where a stage begins.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.randomness import stream

__all__ = ["main", "make_file", "stages_of"]

N_LABELS = 500
KEPT = {
    "age": 9, "income": 8, "sex": 2, "region": 10, "education": 6, "work": 12, "household": 5,
    "tenure": 4, "origin": 7, "health": 5, "transport": 6, "heating": 5,
    "language": 6, "insurance": 4, "commute": 8, "children": 4, "pets": 3,
}  # fmt: skip
N_CLASSES = 30
AT_A_TIME = 100_000  # rows whose levels are drawn, so that millions need little memory
LABELS_PER_PATTERN = 20.0  # distinct ones, about


def make_file(path: Path, n_records: int, n_combinations: int, n_variables: int = 8) -> None:
    """Write records of latent classes with exactly so many distinct combinations, as CSV."""
    draw = stream(1, "benchmark", "scale", n_combinations)
    sizes = [*list(KEPT.values())[: n_variables - 1], N_LABELS]
    tables = [draw.dirichlet(np.full(size, 0.5), N_CLASSES) for size in sizes]  # (class, level)
    weights = draw.dirichlet(np.full(N_CLASSES, 2.0))  # (class,)

    def drawn(n: int, variables: range, classes: NDArray[np.int64]) -> NDArray[np.int64]:
        keys = np.zeros(n, dtype=np.int64)
        for variable in variables:
            cumulative = np.cumsum(tables[variable], axis=1)
            level = np.empty(n, dtype=np.int64)
            for start in range(0, n, AT_A_TIME):
                part = classes[start : start + AT_A_TIME]
                below = cumulative[part] < draw.random(part.size)[:, None]  # (row, level)
                level[start : start + AT_A_TIME] = below.sum(axis=1)
            keys = keys * sizes[variable] + np.minimum(level, sizes[variable] - 1)
        return keys

    wanted = int(n_combinations / LABELS_PER_PATTERN)  # patterns
    if 2 * wanted > np.prod(sizes[:-1], dtype=np.float64):
        sys.exit(f"{n_variables} variables have too few patterns for {n_combinations} combinations")
    last = len(sizes) - 1
    patterns = np.empty(0, dtype=np.int64)
    while patterns.size < wanted:
        classes = draw.choice(N_CLASSES, wanted, p=weights)
        patterns = np.unique(np.append(patterns, drawn(wanted, range(last), classes)))
    patterns = draw.permutation(patterns)[:wanted]
    class_of = draw.choice(N_CLASSES, wanted, p=weights)  # (pattern,)
    popular = draw.gamma(0.7, size=wanted)  # (pattern,)
    cells = np.empty(0, dtype=np.int64)  # (combination,) pattern and label
    while cells.size < n_combinations:
        rows = draw.choice(wanted, n_combinations, p=popular / popular.sum())
        label = drawn(rows.size, range(last, last + 1), class_of[rows])
        even = draw.integers(0, N_LABELS, rows.size)
        label = np.where(draw.random(rows.size) < 0.2, even, label)
        cells = np.unique(np.append(cells, rows * N_LABELS + label))
    cells = draw.permutation(cells)[:n_combinations]
    common = draw.gamma(0.5, size=n_combinations)
    counts = 1 + draw.multinomial(n_records - n_combinations, common / common.sum())
    rows = draw.permutation(np.repeat(np.arange(n_combinations, dtype=np.int32), counts))
    keys = patterns[cells // N_LABELS]
    columns: dict[str, Any] = {"place": _texts(cells % N_LABELS, "p")}
    for name, size in reversed(list(zip(KEPT, sizes[:-1], strict=False))):
        keys, codes = keys // size, keys % size
        columns[name] = _texts(codes, name[0])
    frame = pl.DataFrame(columns)
    with path.open("wb") as file:
        for start in range(0, n_records, 1_000_000):
            part = frame[pl.Series(rows[start : start + 1_000_000])]
            part.write_csv(file, include_header=start == 0)


def _texts(codes: NDArray[np.int64], letter: str) -> pl.Series:
    levels = pl.Series([f"{letter}{code:03d}" for code in range(int(codes.max()) + 1)])
    return levels.gather(pl.Series(codes.astype(np.uint32)))


def plan_of(of: dict[str, Any]) -> dict[str, Any]:
    """Write the plan of a study with short chains."""
    own: dict[str, Any] = {"model": of["model"]}
    if of["model"] == "dpmpm":
        own |= {"chains": 2, "warmup": 1, "draws": of["sweeps"], "thin": 1}
        if of["classes"] is not None:
            own |= {"n_classes": of["classes"], "sampler": "blocked"}
        if of.get("level_prior") is not None:
            own["level_prior"] = of["level_prior"]
    return {
        "data": {"file": of["file"], "synthesize": ["place"]},
        "baselines": {"repeats": of.get("repeats") or "auto"},
        "sets": of["sets"],
        "seed": 1,
        "synthesizers": [own],
        "own_record": {"refits": 0},
    }


def peak_bytes() -> int:
    """Most memory since the mark was set back."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def reset_peak() -> None:
    """Set the kernel's mark of peak memory back to what is held now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measured(of: dict[str, Any]) -> list[dict[str, Any]]:
    """Run the study and say what each stage took."""
    import understudy as us
    from understudy.study.progress import StudyProgress

    warnings.simplefilter("ignore")
    faulthandler.register(signal.SIGUSR1)  # kill -USR1 shows where it is
    stages: list[dict[str, Any]] = []
    now: dict[str, Any] = {}

    def turn(words: str | None) -> None:
        if now:
            stages.append({
                "stage": now["words"],
                "seconds": time.monotonic() - now["begin"],
                "processor_seconds": time.process_time() - now["processor"],
                "peak_bytes": peak_bytes(),
            })  # fmt: skip
            print(line(stages[-1]), file=sys.stderr, flush=True)
        reset_peak()
        now.update(words=words, begin=time.monotonic(), processor=time.process_time())

    def tell(at: StudyProgress) -> None:
        if at.words != now.get("words"):
            turn(at.words)

    us.DPMPM(sampler="blocked").fit(us.load_ce_like(), chains=1, warmup=2, draws=4, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        turn("reading the data")
        study = us.Study(plan_of(of)).run(Path(folder) / "study", progress=tell)
        turn(None)
        assert study.verdict.outcome in {"pass", "review", "fail"}
    return stages


def line(stage: dict[str, Any]) -> str:
    """Write a stage as a line of text."""
    return (
        f"{stage['stage']:36} {stage['seconds']:8.1f} s {stage['processor_seconds']:8.1f} s "
        f"processor {stage['peak_bytes'] / 1e9:6.2f} GB"
    )


def stages_of(of: dict[str, Any], file: Path | None = None) -> list[dict[str, Any]]:
    """Make the file unless it is there, run the study in another process, and give its stages."""
    with tempfile.TemporaryDirectory() as folder:
        file = file or Path(folder) / "records.csv"
        if not file.exists():
            making = "import sys, pathlib, benchmarks.scale as it; " \
                     "it.make_file(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:]))"  # fmt: skip
            sizes = [str(of[name]) for name in ("records", "combinations", "variables")]
            subprocess.run([sys.executable, "-c", making, str(file), *sizes], check=True)
        asked = json.dumps({**of, "file": str(file)})
        command = [sys.executable, "-m", "benchmarks.scale", "--inside", asked]
        answer = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    stages: list[dict[str, Any]] = json.loads(answer.stdout)
    return stages


def main() -> None:
    """Run one study in another process, and print its stages."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in {"records": 1_000_000, "combinations": 20_000, "variables": 8, "sets": 5,
                          "sweeps": 25, "classes": None}.items():  # fmt: skip
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--model", default="dpmpm")
    parser.add_argument("--level-prior", type=float, help="fixed: no first sweeps for its strength")
    parser.add_argument("--repeats", type=int, help="draws of the baselines")
    parser.add_argument("--file", type=Path, help="keep the records here, and use them again")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    given = vars(parser.parse_args())
    if given["inside"]:
        print(json.dumps(measured(json.loads(given["inside"]))))
        return
    of = {**given, "file": None}
    stages = stages_of(of, given["file"])
    if given["json"]:
        print(json.dumps({**of, "stages": stages}))


if __name__ == "__main__":
    main()
