"""Chains of a sampler that does nothing, interrupted before every line of Python's thread pools.

Run as ``python -m tests.interrupted_chains``, by `tests.test_interrupts`: a defect shows as a
process that never ends.
"""

from __future__ import annotations

import signal
import sys
from typing import Any, NamedTuple

import numpy as np

from understudy.synthesis.chains import Plan, run_chains
from understudy.synthesis.contract import Observation

POOLS = ("concurrent/futures/_base.py", "concurrent/futures/thread.py", "threading.py")
PLAN = Plan(chains=2, warmup=0, draws=2, thin=1, seed=1, threads=2)


class _State(NamedTuple):
    """The state of a chain that has none."""

    number: Any


class _Idle:
    """A sampler that draws nothing."""

    state_type = _State

    def describe(self) -> dict[str, Any]:
        return {}

    def start(self, _generator: np.random.Generator, _chain: int) -> _State:
        return _State(np.zeros(1))

    def advance(self, _generator: np.random.Generator, state: _State, _sweeps: int) -> _State:
        return state

    def observe(self, _generator: np.random.Generator, _state: _State) -> Observation:
        return Observation(scalars={}, label_probability=np.ones(1, np.float32), snapshot={})


class _Interruption:
    """Interrupts the main thread before one line of the thread pools."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.n_seen = 0

    def trace(self, frame: Any, event: str, _argument: object) -> Any:
        if not frame.f_code.co_filename.endswith(POOLS):
            return None if event == "call" else self.trace
        if event == "line":
            self.n_seen += 1
            if self.n_seen == self.line:
                signal.raise_signal(signal.SIGINT)
        return self.trace


def interrupt_at(line: int) -> tuple[bool, int]:
    """Run chains; give whether they were interrupted, and how many lines there were."""
    interruption = _Interruption(line)
    sys.settrace(interruption.trace)
    try:
        run_chains(_Idle(), PLAN)
    except KeyboardInterrupt:
        return True, interruption.n_seen
    finally:
        sys.settrace(None)
    return False, interruption.n_seen


def main() -> None:
    """Interrupt at one line after the other, until there are no more."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    line = interrupted = 0
    while True:
        line += 1
        came, n_lines = interrupt_at(line)
        interrupted += came
        if not came and line > n_lines:
            break
    print(interrupted)


if __name__ == "__main__":
    main()
