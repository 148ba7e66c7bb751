"""The first call after an installation: when chains start, with no compiled code kept.

``python -m benchmarks.first_call [--runs 3]``

Every run is a process of its own with an empty cache folder, so that all loops are compiled in it.
A line a run: seconds of wall clock and of the processor, Python's start included, until the package
is imported, the data are read, a chain has done its first sweep, the first piece of the warm-up is
behind the chains, splits and merges included, and the fit has ended. The last run uses the cache of
the one before: what later calls take.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

STEPS = ("imported", "read", "swept", "first piece", "fitted")
PROGRAM = """
import time
def say(step):
    print(step, time.clock_gettime(time.CLOCK_MONOTONIC), time.process_time(), flush=True)
import understudy as us
say("imported")
data = us.load_ce_like()
say("read")
from understudy.synthesis.dpmpm import collapsed
sweep, swept = collapsed.step, []
def step(*given):
    done = sweep(*given)
    if not swept:
        swept.append(done)
        say("swept")
    return done
collapsed.step = step
first = []
def progress(now):
    if not first:
        first.append(now)
        say("first piece")
us.DPMPM().fit(data, chains=2, warmup=100, draws=100, thin=1, seed=1, progress=progress)
say("fitted")
"""


def first_call(cache: str) -> list[str]:
    """Run the program with a cache folder; give wall and processor seconds of each step."""
    begin = _now()
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        env={**os.environ, "NUMBA_CACHE_DIR": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.rsplit(maxsplit=2) for line in ended.stdout.splitlines()]
    assert [line[0] for line in lines] == list(STEPS)
    return [f"{float(at) - begin:.1f} ({float(spent):.1f})" for _, at, spent in lines]


def _now() -> float:
    import time

    return time.clock_gettime(time.CLOCK_MONOTONIC)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    print("seconds of wall clock (of the processor)")
    print(f"{'':14}" + "".join(f"{step:>16}" for step in STEPS))
    for number in range(asked.runs):
        with tempfile.TemporaryDirectory() as folder:
            print(f"{'first call':14}" + "".join(f"{text:>16}" for text in first_call(folder)))
            if number == asked.runs - 1:
                later = first_call(folder)
                print(f"{'later call':14}" + "".join(f"{text:>16}" for text in later))
