"""A fitted DPMPM: how labels come from a kept draw of weights and level probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.label_table import LabelTable
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.dpmpm.labels import draw_labels, label_table
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.sampled_fit import SampledFit, by_pattern

if TYPE_CHECKING:
    from understudy.synthesis.dpmpm.model import DPMPM

__all__ = ["DPMPMFit"]


@dataclass(frozen=True, repr=False, eq=False)
class DPMPMFit(SampledFit):
    """Draws from the posterior of a DPMPM.

    ``draws["posterior"]`` has concentration, occupied_classes, largest_class_share and
    log_likelihood with axes (chain, draw), and label_probability with axes (chain, draw, pattern,
    label).

    Attributes
    ----------
    settings : DPMPM
        What was fitted.
    data : Microdata
        To what.
    plan : Plan
        How long, how many, from which seed. The seed is internal: it redraws everything.
    """

    settings: DPMPM

    def _sampler(self) -> str:
        return self.settings.sampler

    def _tabulated(self, snapshot: Arrays) -> LabelTable:
        return label_table(self.data, _parameters(snapshot), self.settings.class_draw)

    @property
    def draws_predictive(self) -> bool:
        """Whether classes are drawn given the kept variables."""
        return self.settings.class_draw == "kept"

    def _predictive(self, snapshot: Arrays) -> NDArray[np.float64]:
        return by_pattern(self.data, label_table(self.data, _parameters(snapshot), "kept"))

    def _drawn(self, generator: np.random.Generator, snapshot: Arrays) -> NDArray[np.int32]:
        return draw_labels(generator, self.data, _parameters(snapshot), self.settings.class_draw)

    def _parameters(self, chain: int, index: int) -> Parameters:
        return _parameters(self._snapshot(chain, index))


def _parameters(snapshot: Arrays) -> Parameters:
    return Parameters(snapshot["weights"], snapshot["probabilities"])
