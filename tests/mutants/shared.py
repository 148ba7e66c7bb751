"""Bugs planted in modules that every folder uses."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "frontier: a larger budget counts the points of a registered frontier again",
        "study_register.py",
        'entry["study"]: int(entry.get("points", 0))',
        'entry["points"]: int(entry.get("points", 0))',
        "tests/frontiers/test_frontier.py",
        "register",
    ),
    Mutant(
        "register: runs are not counted",
        "study_register.py",
        'if entry.get("event") == "run" and',
        'if entry.get("event") == "release" and',
        "tests/publishing/test_study_register.py",
        "several_runs",
    ),
    Mutant(
        "checkpoints: digests not compared",
        "storage.py",
        "return content if digest_of(content) == digest else None",
        "return content if digest_of(content) else None",
        "tests/synthesis/test_checkpoints.py",
        "flipped or truncated",
    ),
    Mutant(
        "locks: a process is asked by a signal that ends it on Windows",
        "storage.py",
        "    if WINDOWS:\n        return False",
        "    if not WINDOWS:\n        return False",
        "tests/test_other_systems.py",
        "locks",
    ),
    Mutant(
        "progress: a part within a part tells the share of that part alone",
        "work_done.py",
        "self.start + end * length)",
        "end)",
        "tests/test_work_done.py",
    ),
    Mutant(
        "release: an order that can be repeated",
        "randomness.py",
        'np.frombuffer(os.urandom(8 * n), dtype="<u8")',
        "np.random.default_rng(1).integers(2**60, size=n)",
        "tests/publishing/test_canaries.py",
        "order",
    ),
    Mutant(
        "register: a broken chain counts",
        "chained_log.py",
        'if entry.get("previous") != head_of(entries[:number]):',
        'if "previous" not in entry:',
        "tests/publishing/test_tampering.py",
        "forged_log",
    ),
]
