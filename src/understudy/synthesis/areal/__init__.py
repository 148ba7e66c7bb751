"""Poisson-lognormal counts with a Dirichlet-process prior: the paper's second synthesizer.

`model` holds the settings and `fit`; `problem` makes the table of counts; `sampler` lists the moves
of a sweep, which lie in `poisson_lognormal` (counts with their log rates integrated out, and exact
draws of log rates), `clusters`, `effects`, `covariance` and `hamiltonian`.
"""

from understudy.synthesis.areal.fit import DPArealFit
from understudy.synthesis.areal.model import DPAreal

__all__ = ["DPAreal", "DPArealFit"]
