"""Poisson-lognormal counts with a Dirichlet-process prior: the paper's second synthesizer.

`model` holds the settings and `fit`; `problem` makes the table of counts; `sampler` lists the moves
of a sweep, which lie in `hamiltonian`, `poisson_lognormal` (counts with their log rates integrated
out; exchanges of clusters), `clusters`, `log_rates`, `effects` and `covariance`.
"""

from understudy.synthesis.areal.model import DPAreal, DPArealFit

__all__ = ["DPAreal", "DPArealFit"]
