"""Bugs planted in studies and in what commands show of them."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

EVALUATE = "tests/cli/test_evaluate.py"

MUTANTS = [
    Mutant(
        "progress: a part within a part tells the share of that part alone",
        "work_done.py",
        "self.start + end * length)",
        "end)",
        "tests/test_work_done.py",
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
        "study: sets take no memory",
        "study/memory_needs.py",
        "(OF_RECORD + OF_ROW * sets)",
        "(OF_RECORD + OF_ROW)",
        "tests/test_memory.py",
        "needs_grow",
    ),
    Mutant(
        "cli: baselines Min and Max are exchanged",
        "cli/baseline_rows.py",
        "for labels in (uniform_labels, perfect))",
        "for labels in (perfect, uniform_labels))",
        "tests/cli/test_commands.py",
        "check",
    ),
    Mutant(
        "cli: draws of a baseline stand where its exact value is known",
        "cli/evaluate.py",
        "return baseline.spreads[name].mean if exact is None else exact",
        "return baseline.spreads[name].mean",
        EVALUATE,
        "values_are_those",
    ),
    Mutant(
        "memory: threads do not know the limit",
        "microdata/coding.py",
        "count = copy_context().run",
        "count = lambda work, *given: work(*given)",
        "tests/test_memory.py",
        "reading",
    ),
    Mutant(
        "memory: the limit stays behind where work goes to workers",
        "synthesis/workers.py",
        "with memory_limit(memory):",
        "with memory_limit(None):",
        "tests/test_memory.py",
        "workers",
    ),
    Mutant(
        "memory: utility takes none",
        "study/memory_needs.py",
        "needs[words] = PROGRAM + OF_COUNTS * data.n_records + cells",
        "needs[words] = PROGRAM",
        "tests/test_memory.py",
        "grow",
    ),
]
