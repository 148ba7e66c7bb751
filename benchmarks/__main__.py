"""Run the ratios (``python -m benchmarks``, ``make bench``), or other benchmarks by name.

Each runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import subprocess
import sys

__all__: list[str] = []

if __name__ == "__main__":
    for name in sys.argv[1:] or ["ratios"]:
        print(f"== {name}", flush=True)
        ended = subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False)
        if ended.returncode:
            sys.exit(ended.returncode)
