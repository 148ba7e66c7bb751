"""Systems of equations in the shape of an arrow: many small blocks and one border.

Indicators of different levels of one variable never meet in a row. So the information matrix of a
regression on a label with many levels falls into one small block per level, joined only by the
columns that do not involve the label. Eliminating the blocks first makes a fit's cost grow with
the number of levels, not with its cube.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["BORDER", "Arrow", "ArrowMatrix", "ArrowProducts"]

Numbers = NDArray[np.float64]
BORDER = -1
TOUCH = 1e-13  # added to a diagonal, relative to it: no singular block can stop a step


class ArrowMatrix(NamedTuple):
    """A symmetric matrix of the shape of an arrow, without its zeros.

    Attributes
    ----------
    blocks : float64 (block, slot, slot)
        Products inside of the blocks; slots that are not taken hold zeros.
    across : float64 (block, slot, border)
        Products of the blocks with the border.
    border : float64 (border, border)
        Products inside of the border.
    """

    blocks: Numbers
    across: Numbers
    border: Numbers


class Arrow:
    """The shape of a matrix: which parameters form a block, which the border.

    Parameters
    ----------
    block : integer (parameter,)
        Number of each parameter's block, or `BORDER`; products between blocks are zero.
    """

    def __init__(self, block: NDArray[np.integer]) -> None:
        self.border = np.flatnonzero(block == BORDER)
        inside = np.flatnonzero(block != BORDER)
        order = inside[np.argsort(block[inside], kind="stable")]
        _, first, sizes = np.unique(block[order], return_index=True, return_counts=True)
        rank = np.arange(order.size) - np.repeat(first, sizes)
        number = np.repeat(np.arange(sizes.size), sizes)
        # (block, slot): the parameter, and whether the slot is taken
        self.slots = np.zeros((sizes.size, int(sizes.max(initial=0))), dtype=np.int64)
        self.taken = np.zeros(self.slots.shape, dtype=bool)
        self.slots[number, rank] = order
        self.taken[number, rank] = True
        self.size = block.size
        # (parameter,): its block, or BORDER; and its slot there, or its position in the border
        self.number = np.full(block.size, BORDER, dtype=np.int64)
        self.position = np.empty(block.size, dtype=np.int64)
        self.number[order], self.position[order] = number, rank
        self.position[self.border] = np.arange(self.border.size)

    def solve(self, matrix: Numbers | ArrowMatrix, right: Numbers) -> Numbers:
        """Solve for a right side (parameter,); a singular matrix gets a touch on its diagonal."""
        from scipy.linalg import cho_solve

        parts = matrix if isinstance(matrix, ArrowMatrix) else self.parts(matrix)
        own_right = np.where(self.taken, right[self.slots], 0.0)
        joined = np.concatenate([parts.across, own_right[:, :, None]], axis=2)
        # (block, slot, border and right side)
        solved = np.linalg.solve(self._touched(parts.blocks), joined)
        # Many small products, which no library of linear algebra spreads over threads.
        reduced = (parts.across.transpose(0, 2, 1) @ solved).sum(axis=0)
        rest = parts.border - reduced[:, :-1]
        result = np.zeros(self.size)
        at_border = cho_solve(_factor(rest), right[self.border] - reduced[:, -1])
        result[self.border] = at_border
        inner = solved[:, :, -1] - solved[:, :, :-1] @ at_border
        result[self.slots[self.taken]] = inner[self.taken]
        return result

    def inverse_diagonal(self, matrix: Numbers) -> Numbers:
        """Diagonal of the inverse: (parameter,)."""
        blocks, across, border = self.parts(matrix)
        inverses = np.linalg.inv(self._touched(blocks))
        reach = inverses @ across  # (block, slot, border)
        rest = border - np.einsum("gkr,gks->rs", across, reach)
        inner = np.linalg.inv(rest)
        diagonal = np.einsum("gkk->gk", inverses) + np.einsum("gkr,rs,gks->gk", reach, inner, reach)
        result = np.empty(self.size)
        result[self.border] = np.diagonal(inner)
        result[self.slots[self.taken]] = diagonal[self.taken]
        return result

    def order(self) -> NDArray[np.int64]:
        """Parameters in an order of elimination that fills nothing up: blocks, then border."""
        return np.concatenate([self.slots[self.taken], self.border])

    def parts(self, matrix: Numbers) -> ArrowMatrix:
        """Cut the parts out of a whole matrix (parameter, parameter)."""
        pair = self.taken[:, :, None] & self.taken[:, None, :]
        blocks = np.where(pair, matrix[self.slots[:, :, None], self.slots[:, None, :]], 0.0)
        across = matrix[self.slots[:, :, None], self.border[None, None, :]]
        across = np.where(self.taken[:, :, None], across, 0.0)
        return ArrowMatrix(blocks, across, matrix[np.ix_(self.border, self.border)])

    def _touched(self, blocks: Numbers) -> Numbers:
        """Blocks that can be inverted: one on the diagonal where a slot is not taken."""
        touched = blocks.copy()
        slots = np.arange(self.slots.shape[1])
        own = touched[:, slots, slots]
        touched[:, slots, slots] = np.where(self.taken, own * (1 + TOUCH) + 1e-290, 1.0)
        return touched


class ArrowProducts:
    """Weighted products of indicators with each other, straight into the parts of an arrow.

    Parameters
    ----------
    shape : Arrow
        The parameters.
    parameters : int64 (row, entry)
        Which parameters have an indicator in a row; -1 for an entry without one.
    """

    def __init__(self, shape: Arrow, parameters: NDArray[np.int64]) -> None:
        from scipy.sparse import csr_array

        n_border = shape.border.size
        self._shapes = (
            (*shape.slots.shape, shape.slots.shape[1]),
            (*shape.slots.shape, n_border),
            (n_border, n_border),
        )
        starts = np.cumsum([0, *(int(np.prod(size)) for size in self._shapes)])
        n_rows, n_entries = parameters.shape
        first = np.repeat(parameters, n_entries, axis=1).ravel()  # (row x entry x entry,)
        second = np.tile(parameters, (1, n_entries)).ravel()
        row = np.repeat(np.arange(n_rows), n_entries**2)
        in_block = shape.number[first] != BORDER
        # Products with the border are stored once: those of the border with a block are left out.
        stored = (first >= 0) & (second >= 0) & (in_block | (shape.number[second] == BORDER))
        first, second, row, in_block = (array[stored] for array in (first, second, row, in_block))
        slot = shape.number[first] * shape.slots.shape[1] + shape.position[first]
        other = shape.position[second]
        both = in_block & (shape.number[second] != BORDER)
        target = np.where(
            both,
            slot * shape.slots.shape[1] + other,
            np.where(
                in_block,
                starts[1] + slot * n_border + other,
                starts[2] + shape.position[first] * n_border + other,
            ),
        )
        self._starts = starts
        self._rows_of_target = csr_array(
            (np.ones(row.size), (target, row)), shape=(int(starts[-1]), n_rows)
        )

    def of(self, weights: Numbers) -> ArrowMatrix:
        """Add the weights (row,) up."""
        flat = self._rows_of_target @ weights
        parts = np.split(flat, self._starts[1:-1])
        return ArrowMatrix(
            *(part.reshape(size) for part, size in zip(parts, self._shapes, strict=True))
        )


def _factor(matrix: Numbers) -> tuple[Numbers, bool]:
    """Cholesky factor, with as small a touch on the diagonal as lets it exist."""
    from scipy.linalg import LinAlgError, cho_factor

    scale = float(np.diagonal(matrix).max(initial=1e-300))
    touch = 0.0
    while True:
        try:
            factor: tuple[Numbers, bool] = cho_factor(matrix + touch * np.eye(len(matrix)))
            return factor
        except LinAlgError:
            touch = max(touch * 10, 1e-14 * scale)
