"""Poisson-lognormal counts with a Dirichlet-process prior: the paper's second synthesizer.

`model` holds the settings and `fit`; `problem` makes the table of counts; `sampler` lists the moves
of a sweep, which lie in `hamiltonian` (with `leapfrog`), `split_merge`, `clusters`, `log_rates`,
`effects` and `covariance`; `poisson_lognormal` has counts with their log rates integrated out, and
`gradient_table` a coarse table of them that most of the work is done by.
"""
