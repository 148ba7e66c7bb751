"""Interruptions: postponed while threads are waited for, and never a program that does not end."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from understudy.errors import ExitCode
from understudy.interrupts import postponed_interrupts, stoppable


def test_stopping_leaves_signals_as_they_were() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with stoppable():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


ENDING = """
import atexit, os, signal, sys, time
from understudy.interrupts import stoppable
def again():
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.2)
if sys.argv[1] == "last":
    atexit.register(again)  # runs after all that is registered later
try:
    with stoppable():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(600)
except KeyboardInterrupt:
    if sys.argv[1] == "soon":
        again()
sys.exit(4)
"""


@pytest.mark.parametrize("when", ["soon", "last"])
def test_a_signal_while_the_program_ends(when: str) -> None:
    """It ends as an interrupted one, and not by the signal."""
    ended = subprocess.run(
        [sys.executable, "-c", ENDING, when], capture_output=True, check=False, timeout=600
    )
    assert ended.returncode == ExitCode.INTERRUPTED
    assert b"Traceback" not in ended.stderr


def _interrupted(*, asks: bool) -> list[str]:
    """Tell how far a block comes that is interrupted at its beginning."""
    reached = []
    try:
        with postponed_interrupts() as interrupts:
            signal.raise_signal(signal.SIGINT)
            reached.append("after the signal")
            if asks:
                interrupts.raise_postponed()
            reached.append("end of the block")
        reached.append("after the block")
    except KeyboardInterrupt:
        reached.append("interrupted")
    return reached


def test_an_interruption_is_raised_where_it_may_and_at_the_end() -> None:
    """Whoever runs the tests in the background may have SIGINT ignored."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        _check_interruptions()
    finally:
        signal.signal(signal.SIGINT, outside)


def _check_interruptions() -> None:
    before = signal.getsignal(signal.SIGINT)
    assert _interrupted(asks=True) == ["after the signal", "interrupted"]
    assert _interrupted(asks=False) == ["after the signal", "end of the block", "interrupted"]
    assert signal.getsignal(signal.SIGINT) is before


def test_chains_interrupted_before_every_line_of_a_thread_pool_end() -> None:
    """Fails on a pool that is interrupted anywhere: it holds a lock that its thread waits for."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.interrupted_chains"],
        capture_output=True,
        check=True,
        timeout=600,
    )
    assert int(ended.stdout) > 50
