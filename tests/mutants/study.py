"""Bugs planted in studies."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "study: sets take no memory",
        "study/memory_needs.py",
        "(OF_RECORD + OF_ROW * sets)",
        "(OF_RECORD + OF_ROW)",
        "tests/test_memory.py",
        "needs_grow",
    ),
    Mutant(
        "memory: utility takes none",
        "study/memory_needs.py",
        "needs[words] = PROGRAM + OF_COUNTS * data.n_records + cells",
        "needs[words] = PROGRAM",
        "tests/test_memory.py",
        "grow",
    ),
    Mutant(
        "study: warnings of a stage are kept and never shown",
        "study/stage_warnings.py",
        "                warn_user(named, category)\n",
        "                self.about = named and self.about\n",
        "tests/study/test_stage_warnings.py",
        "caller",
    ),
    Mutant(
        "study: a stage shows what the caller ignores",
        "study/stage_warnings.py",
        "                warnings.filters, warnings.showwarning = outside\n",
        "                warnings.showwarning = outside[1]\n",
        "tests/study/test_stage_warnings.py",
        "caller",
    ),
    Mutant(
        "study: a set's file lacks the second slice of its records",
        "study/parquet_file.py",
        "itertools.chain((first, second), rest)",
        "itertools.chain((first,), rest)",
        "tests/study/test_parquet_file.py",
        "in_order",
    ),
]
