"""Run the benchmarks: ``python -m benchmarks``, or some of them by name.

Each runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__: list[str] = []

if __name__ == "__main__":
    here = Path(__file__).parent
    every = sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))
    for name in sys.argv[1:] or every:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
