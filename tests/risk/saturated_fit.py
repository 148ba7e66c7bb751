"""A model whose posterior is known: every pattern's labels multinomial under a Dirichlet prior."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import understudy as us
from understudy.microdata.label_table import LabelTable, label_counts
from understudy.randomness import stream


@dataclass(frozen=True)
class SaturatedFit:
    """Exact posterior draws; `leak` is the share of rows that keep their own label.

    The predictive of a label is (n_bg + prior) / (n_b + G prior), and without one record of that
    label (n_bg - 1 + prior) / (n_b - 1 + G prior).
    """

    data: us.Microdata
    prior: float
    n_draws: int = 4000
    leak: float = 0.0
    seed: int = 1

    def draws(self) -> NDArray[np.float64]:
        """Draw label probabilities, (draw, pattern, label)."""
        gamma = stream(self.seed, "saturated").standard_gamma(
            label_counts(self.data) + self.prior, (self.n_draws, *label_counts(self.data).shape)
        )
        shares: NDArray[np.float64] = gamma / gamma.sum(axis=2, keepdims=True)
        return shares

    def label_tables(self) -> Iterator[LabelTable]:
        """Give what rows are drawn from."""
        rows = self.data.patterns.of_combination
        if self.leak == 0:
            yield from (LabelTable(table, rows) for table in self.draws())
            return
        own = np.zeros((self.data.n_combinations, self.data.n_labels))
        own[np.arange(len(own)), self.data.combinations[:, -1]] = self.leak
        own_row = np.arange(len(own), dtype=np.int32)
        for table in self.draws():
            yield LabelTable(own + (1 - self.leak) * table[rows], own_row)

    def predictive_tables(self) -> Iterator[NDArray[np.float64]]:
        """Give the label's distribution given the kept variables."""
        yield from self.draws()

    def left_out_weights_tables(self) -> Iterator[NDArray[np.float64]]:
        """Give what one record contributes to the likelihood."""
        yield from self.draws()
