"""Bugs planted in reading."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

PARTITIONS = "tests/microdata/test_partitions.py"

MUTANTS = [
    Mutant(
        "partitions: a combination of two files counts once only",
        "microdata/coding.py",
        "self._counts[row] += counts - 1",
        "self._counts[row] = counts",
        PARTITIONS,
    ),
    Mutant(
        "partitions: files in the order in which the system lists them",
        "microdata/partitions.py",
        "sorted(name for name in entries",
        "list(name for name in reversed(list(entries))",
        PARTITIONS,
    ),
    Mutant(
        "partitions: every file numbers its levels in its own way",
        "microdata/partitions.py",
        "known.setdefault(level, len(known) - 1)",
        "known.setdefault(level, len(known) - 1) and levels.index(level)",
        PARTITIONS,
    ),
    Mutant(
        "partitions: types may differ",
        "microdata/partitions.py",
        '("types", "declared", "labels")',
        '("declared", "labels")',
        PARTITIONS,
        "no_data_set",
    ),
]
