"""Streams: repeatable, named, independent of each other and of threads."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import understudy
from understudy.randomness import stream


def test_a_name_is_a_stream() -> None:
    first = stream(1, "fit", "chain", 3).random(5)
    assert np.array_equal(first, stream(1, "fit", "chain", 3).random(5))
    others = [("fit", "chain", 4), ("fit", "chain3"), (), ("fit", "chain", "3")]
    for path in others:
        assert not np.array_equal(first, stream(1, *path).random(5))
    assert not np.array_equal(first, stream(2, "fit", "chain", 3).random(5))


def test_streams_are_pinned() -> None:
    """A change of these numbers changes every seeded result: it needs a line in the change log."""
    assert stream(0).integers(0, 1000, 4).tolist() == PINNED_PLAIN
    assert stream(2**128 - 1, "a", 1).integers(0, 1000, 4).tolist() == PINNED_NAMED


def test_streams_do_not_depend_on_threads() -> None:
    names = [("chain", number) for number in range(20)]
    alone = [stream(7, *name).standard_normal(1000) for name in names]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda name: stream(7, *name).standard_normal(1000), names))
    assert all(np.array_equal(own, other) for own, other in zip(alone, together, strict=True))


def test_streams_are_uniform_and_unrelated() -> None:
    """Means of 400 streams, correlation of neighbours; false-alarm rate below 1e-6 in all."""
    draws = np.array([stream(3, "s", number).random(1000) for number in range(400)])
    z = (draws.mean(axis=1) - 0.5) / np.sqrt(1 / 12 / 1000)
    assert abs(z).max() < 6.5
    correlation = [np.corrcoef(draws[n], draws[n + 1])[0, 1] for n in range(399)]
    assert abs(np.array(correlation)).max() * np.sqrt(1000) < 6.5


def test_names_with_nul_are_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        stream(1, "a\x00b")


def test_nobody_else_makes_generators() -> None:
    makers = {"default_rng", "Generator", "RandomState", "SeedSequence", "Philox", "PCG64"}
    for path in Path(understudy.__file__).parent.rglob("*.py"):
        if path.name == "randomness.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
                called = node.func.id if isinstance(node.func, ast.Name) else called
                assert called not in makers, f"{path.name} line {node.lineno}"
            if isinstance(node, ast.Import):
                assert all(alias.name != "random" for alias in node.names), path.name


PINNED_PLAIN = [362, 38, 291, 779]
PINNED_NAMED = [980, 840, 8, 180]
