"""A fitted DP-areal model: label probabilities are shares of a pattern's rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import LabelTable
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.sampled_fit import SampledFit

if TYPE_CHECKING:
    from understudy.synthesis.areal.model import DPAreal

__all__ = ["DPArealFit"]


@dataclass(frozen=True, repr=False, eq=False)
class DPArealFit(SampledFit):
    """Draws from the posterior of a DP-areal model.

    ``draws["posterior"]`` has concentration, occupied_clusters, log_rate_precision and
    log_likelihood with axes (chain, draw), and label_probability with axes (chain, draw, pattern,
    label).

    Attributes
    ----------
    settings : DPAreal
        What was fitted.
    data : Microdata
        To what.
    plan : Plan
        How long, how many, from which seed. The seed is internal: it redraws everything.
    """

    settings: DPAreal

    def _sampler(self) -> str:
        return f"areal {self.settings.variant}"

    def _tabulated(self, snapshot: Arrays) -> LabelTable:
        return LabelTable(snapshot["probabilities"], self.data.patterns.of_combination)

    def _left_out_weights(self, snapshot: Arrays) -> NDArray[np.float64]:
        """Give the Poisson rates: a count that loses one record loses this factor."""
        rates: NDArray[np.float64] = snapshot["probabilities"] * snapshot["pattern_rates"][:, None]
        return rates
