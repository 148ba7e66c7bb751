"""A tree grown by recursion and predictions from whole tables, slow and obvious."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["grow_naively", "predict_naively"]


def grow_naively(
    generator: np.random.Generator,
    codes: NDArray[np.int32],
    rows: NDArray[np.float64],
    sizes: NDArray[np.int64],
    trees: int,
    large: int,
    smallest: int,
) -> list[list[NDArray[np.int64]]]:
    """Give the leaves of every tree that have small patterns, from rows (pattern, label)."""
    grown = []
    for _ in range(trees):
        drawn = generator.poisson(rows).astype(np.float64)
        every = np.arange(sizes.size)
        grown.append(list(_grow(generator, codes, drawn, sizes, every, large, smallest)))
    return grown


def _grow(
    generator: np.random.Generator,
    codes: NDArray[np.int32],
    rows: NDArray[np.float64],
    sizes: NDArray[np.int64],
    node: NDArray[np.int64],
    large: int,
    smallest: int,
) -> Iterator[NDArray[np.int64]]:
    """Split some patterns until they are leaves."""
    if (sizes[node] >= large).all():
        return
    filled = node[sizes[node] > 0]
    varies = np.flatnonzero((codes[filled] != codes[filled[0]]).any(axis=0))
    if varies.size == 0 or sizes[node].sum() < smallest:
        yield node
        return
    tried = generator.permutation(varies)[: (varies.size + 1) // 2]
    splits = [_split(codes[filled, variable], rows[filled]) for variable in tried]
    best = int(np.argmax([purity for purity, _ in splits]))
    groups = [filled[group] for group in splits[best][1]]
    largest = int(np.argmax([sizes[group].sum() for group in groups]))
    groups[largest] = np.concatenate([groups[largest], node[sizes[node] == 0]])
    for group in groups:
        yield from _grow(generator, codes, rows, sizes, group, large, smallest)


def _split(levels: NDArray[np.int32], rows: NDArray[np.float64]) -> tuple[float, list[Any]]:
    """Split by levels: the summed purity, sum of squares over sums, and who is in which group."""
    groups = [np.flatnonzero(levels == level) for level in np.unique(levels)]
    purity = 0.0
    for group in groups:
        inside = rows[group].sum(axis=0)
        purity += float((inside**2).sum() / max(inside.sum(), 1.0))
    return purity, groups


def predict_naively(
    grown: list[list[NDArray[np.int64]]], shares: NDArray[np.float64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Average over trees what a pattern's leaf says; its own shares where it is in none."""
    predicted = np.zeros_like(shares)
    for leaves in grown:
        said = shares.copy()
        for members in leaves:
            said[members] = sizes[members] @ shares[members] / sizes[members].sum()
        predicted += said / len(grown)
    return predicted
