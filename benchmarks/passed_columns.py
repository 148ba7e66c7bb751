"""Peak memory of a study and of its release by the number of sets, where columns pass through.

``python -m benchmarks.passed_columns [RECORDS]`` (300,000 when left out) writes invented records
with eight numbers and a text beside three categories, which are ignored or pass through, and runs
study and release with 4 and with 16 sets, each in a process of its own. Passed columns that were
held once for every set would make a difference of twelve times their size.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl

from understudy.randomness import stream
from understudy.settings import toml_text

__all__: list[str] = []

LEVELS = {"sex": ("f", "m"), "age": ("a", "b", "c", "d"), "town": ("n", "s", "e", "w")}
NUMBERS = tuple(f"x{number}" for number in range(8))
PASSED = (*NUMBERS, "words")
STEP = """
import resource, sys, warnings
from pathlib import Path
import understudy as us
warnings.simplefilter("ignore")
home, step, approval = Path(sys.argv[1]), *sys.argv[2:]
if step == "run":
    us.Study(home / "plan.toml").run(home / "study")
else:
    us.release(home / "study", home / "public", approval, reason="an invented file for figures",
               guessable_seed=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
PLAN = """\
seed = 1
sets = {sets}
memory = "8 GB"
[data]
file = "records.parquet"
synthesize = ["town"]
{part} = [{names}]
codebook = "codebook.toml"
[baselines]
repeats = 5
[thresholds]
passed_unique_review = 1
true_match_rate_review = 1
own_record_review = 99
small_pattern_share_review = 1
"""


def write(home: Path, n_records: int, sets: int, part: str) -> None:
    """Write records, codebook and plan."""
    draw = stream(1, "benchmark", "passed columns")
    sex, age = draw.integers(0, 2, n_records), draw.integers(0, 4, n_records)
    codes = {"sex": sex, "age": age, "town": (draw.integers(0, 3, n_records) + sex) % 4}
    table = {name: np.array(LEVELS[name])[of_record] for name, of_record in codes.items()}
    numbers = {name: draw.normal(size=n_records) for name in NUMBERS}
    words = [f"a text that passes through, of row {row}" for row in range(n_records)]
    pl.DataFrame({**table, **numbers, "words": words}).write_parquet(home / "records.parquet")
    book = ["reviewed = true"]
    for name, levels in LEVELS.items():
        book += [f"[variables.{name}]", f"levels = [{', '.join(map(toml_text, levels))}]"]
    (home / "codebook.toml").write_text("\n".join(book) + "\n")
    names = ", ".join(map(toml_text, PASSED))
    (home / "plan.toml").write_text(PLAN.format(sets=sets, part=part, names=names))


def peak(home: Path, step: str) -> int:
    """Run a step in a process of its own: its peak memory in MiB."""
    approval = f"Ada Reviewer, {datetime.now(UTC).date()}, read by the whole board and accepted"
    done = subprocess.run(
        [sys.executable, "-c", STEP, os.fspath(home), step, approval],
        capture_output=True,
        text=True,
        check=True,
    )
    return int(done.stdout.split()[-1])


def main() -> None:
    """Print a row for each number of sets, without and with columns that pass through."""
    n_records = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    print("| columns | sets | study, MiB | release, MiB |\n|---|---|---|---|")
    for part in ("ignore", "pass_through"):
        for sets in (4, 16):
            with tempfile.TemporaryDirectory() as temporary:
                home = Path(temporary)
                write(home, n_records, sets, part)
                row = [str(peak(home, step)) for step in ("run", "release")]
            print(f"| {part} | {sets} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
