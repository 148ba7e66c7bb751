"""Run the benchmarks: ``python -m benchmarks``, or some of them by name."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

__all__: list[str] = []

if __name__ == "__main__":
    here = Path(__file__).parent
    every = sorted(path.stem for path in here.glob("*.py") if not path.stem.startswith("_"))
    for name in sys.argv[1:] or every:
        importlib.import_module(f"benchmarks.{name}").main()
