"""Systems of equations in the shape of an arrow: many small blocks and one border.

Indicators of different levels of one variable never meet in a row. So the information matrix of a
regression on a label with many levels falls into one small block per level, joined only by the
columns that do not involve the label. Eliminating the blocks first makes a fit's cost grow with
the number of levels, not with its cube.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["BORDER", "Arrow"]

Numbers = NDArray[np.float64]
BORDER = -1
TOUCH = 1e-13  # added to a diagonal, relative to it: no singular block can stop a step


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

    def solve(self, matrix: Numbers, right: Numbers) -> Numbers:
        """Solve for a right side (parameter,); a singular matrix gets a touch on its diagonal."""
        from scipy.linalg import cho_solve

        blocks, across = self._parts(matrix)
        own_right = np.where(self.taken, right[self.slots], 0.0)
        joined = np.concatenate([across, own_right[:, :, None]], axis=2)
        solved = np.linalg.solve(blocks, joined)  # (block, slot, border and right side)
        flat = across.reshape(-1, self.border.size)
        reduced = flat.T @ solved.reshape(-1, self.border.size + 1)
        rest = matrix[np.ix_(self.border, self.border)] - reduced[:, :-1]
        result = np.zeros(self.size)
        at_border = cho_solve(_factor(rest), right[self.border] - reduced[:, -1])
        result[self.border] = at_border
        inner = solved[:, :, -1] - solved[:, :, :-1] @ at_border
        result[self.slots[self.taken]] = inner[self.taken]
        return result

    def inverse_diagonal(self, matrix: Numbers) -> Numbers:
        """Diagonal of the inverse: (parameter,)."""
        blocks, across = self._parts(matrix)
        inverses = np.linalg.inv(blocks)
        reach = inverses @ across  # (block, slot, border)
        rest = matrix[np.ix_(self.border, self.border)]
        rest = rest - np.einsum("gkr,gks->rs", across, reach)
        inner = np.linalg.inv(rest)
        diagonal = np.einsum("gkk->gk", inverses) + np.einsum("gkr,rs,gks->gk", reach, inner, reach)
        result = np.empty(self.size)
        result[self.border] = np.diagonal(inner)
        result[self.slots[self.taken]] = diagonal[self.taken]
        return result

    def order(self) -> NDArray[np.int64]:
        """Parameters in an order of elimination that fills nothing up: blocks, then border."""
        return np.concatenate([self.slots[self.taken], self.border])

    def _parts(self, matrix: Numbers) -> tuple[Numbers, Numbers]:
        """The blocks (block, slot, slot), and their products with the border."""
        pair = self.taken[:, :, None] & self.taken[:, None, :]
        blocks = np.where(pair, matrix[self.slots[:, :, None], self.slots[:, None, :]], 0.0)
        slots = np.arange(self.slots.shape[1])
        own = blocks[:, slots, slots]
        blocks[:, slots, slots] = np.where(self.taken, own * (1 + TOUCH) + 1e-290, 1.0)
        across = matrix[self.slots[:, :, None], self.border[None, None, :]]
        return blocks, np.where(self.taken[:, :, None], across, 0.0)


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
