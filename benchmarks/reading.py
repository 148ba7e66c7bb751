"""Reading ten million records, against DuckDB counting the same combinations of the same file.

Each measurement runs in a process of its own, so that peak memory is its own, and three times in
turn, so that both meet the same machine; the table shows the best time of each. Compiled code is
warmed up on a small file first, since it is compiled once per installation.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from understudy.randomness import stream

__all__ = ["main"]

N_RECORDS = 10_000_000
N_COMBINATIONS = 100_000
LEVELS = {
    "county": 133,
    "age": 5,
    "income": 4,
    "gender": 2,
    "region": 10,
    "occupation": 20,
    "education": 7,
    "industry": 50,
}
REPEATS = 3

OURS = """
import json, resource, sys, time, warnings
warnings.simplefilter("ignore")
import understudy as us
us.load_ce_like()
start = time.perf_counter()
data = us.read_microdata(sys.argv[1], synthesize="county")
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak, data.n_records, data.n_combinations]))
"""

DUCKDB = """
import json, resource, sys, time
import duckdb
path = sys.argv[1]
start = time.perf_counter()
connection = duckdb.connect(config={"memory_limit": "2GB"})
connection.execute("set enable_progress_bar = false")
table = f"read_csv('{path}', all_varchar=true)" if path.endswith("csv") else f"'{path}'"
query = f"select sum(n), count(*) from (select *, count(*) as n from {table} group by all)"
records, combinations = connection.execute(query).fetchone()
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps([seconds, peak, int(records), int(combinations)]))
"""


def make_records() -> pl.DataFrame:
    """Draw records with exactly the wanted number of distinct combinations."""
    draw = stream(1, "benchmark", "reading")
    sizes = list(LEVELS.values())
    codes = np.unique(draw.integers(0, sizes, size=(2 * N_COMBINATIONS, len(sizes))), axis=0)
    codes = draw.permutation(codes)[:N_COMBINATIONS]  # (combination, variable)
    rows = np.concatenate(
        [np.arange(N_COMBINATIONS), draw.integers(0, N_COMBINATIONS, N_RECORDS - N_COMBINATIONS)]
    )
    draw.shuffle(rows)
    return pl.DataFrame(
        {
            name: pl.Series([f"{name[:3]}{level:04d}" for level in range(size)]).gather(
                codes[rows, column]
            )
            for column, (name, size) in enumerate(LEVELS.items())
        }
    )


def make_files(folder: str) -> None:
    """Write the records as CSV and as Parquet."""
    frame = make_records()
    frame.write_csv(Path(folder) / "records.csv")
    frame.write_parquet(Path(folder) / "records.parquet")


def measure(program: str, path: Path) -> list[float]:
    """Run one program on one file: seconds, peak bytes, records, combinations."""
    ended = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, check=True
    )
    answer: list[float] = json.loads(ended.stdout)
    assert answer[2:] == [N_RECORDS, N_COMBINATIONS], answer
    return answer


def main() -> None:
    """Print seconds, peak memory and the ratio for CSV and Parquet."""
    with tempfile.TemporaryDirectory() as folder:
        # In another process: a child's peak memory starts at that of its parent.
        making = "import sys, benchmarks.reading as it; it.make_files(sys.argv[1])"
        subprocess.run([sys.executable, "-c", making, folder], check=True)
        print(f"reading {N_RECORDS:,} records, 8 columns, {N_COMBINATIONS:,} combinations")
        print(f"{'file':8} {'understudy':>12} {'DuckDB':>9} {'ratio':>6} {'peak memory':>12}")
        for path in sorted(Path(folder).iterdir()):
            ours, theirs = [], []
            for _ in range(REPEATS):
                ours.append(measure(OURS, path))
                theirs.append(measure(DUCKDB, path))
            mine, other = min(run[0] for run in ours), min(run[0] for run in theirs)
            peak = max(run[1] for run in ours) / 1e9
            kind = path.suffix[1:]
            print(f"{kind:8} {mine:10.2f} s {other:7.2f} s {mine / other:6.2f} {peak:9.2f} GB")


if __name__ == "__main__":
    main()
