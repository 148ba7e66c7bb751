"""The back-off model as the user sees it: settings, checked once, and its sampler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from understudy.checks import check_positive, kind_of
from understudy.errors import SettingError, quoted
from understudy.microdata.table import Microdata
from understudy.synthesis.backoff.fit import BackoffFit
from understudy.synthesis.backoff.problem import make_problem
from understudy.synthesis.backoff.sampler import BackoffChain, group_cells
from understudy.synthesis.registry import MODELS
from understudy.synthesis.run_fit import FitOptions, Prepared, SampledModel

__all__ = ["BackoffTree"]


@dataclass(frozen=True)
class BackoffTree(SampledModel[BackoffFit], warmup=250, draws=None, thin=3):
    """Label distributions that back off along a tree of groups of records.

    The label's distribution in a group of records is Dirichlet around that of the larger group it
    belongs to. Groups are made by the kept variables, in a fixed order or grown where a split gains
    marginal likelihood. There are no classes, and chains from concentrations of 1, 30, 1,000 and
    30,000 meet within seconds. Where the number of draws is left to it, a fit keeps 500 of a chain,
    and 500 more up to 1,500 where what is judged has not converged.

    Parameters
    ----------
    order : "auto" or sequence of str
        "auto" grows the tree: by any kept variable, different ones in different branches, levels
        put together where that pays, until no split gains. Otherwise names of kept variables, by
        which records are split one after another; those that it leaves out are not used.
    scale : float
        Multiplies all concentrations once they are drawn: a large one leads to the marginal
        distribution of the label (`Marginal`), one near zero to that of the pattern (`Perfect`).
    prior_median : float
        Prior median of every concentration c: c / (c + prior_median) is uniform on (0, 1).

    References
    ----------
    MacKay, D. J. C. and Bauman Peto, L. C. (1995), "A hierarchical Dirichlet language model",
    Natural Language Engineering 1, doi:10.1017/S1351324900000218.
    Teh, Y. W., Jordan, M. I., Beal, M. J. and Blei, D. M. (2006), "Hierarchical Dirichlet
    processes", Journal of the American Statistical Association 101,
    doi:10.1198/016214506000000302.

    Examples
    --------
    >>> from understudy.synthesis.backoff.model import BackoffTree
    >>> BackoffTree(order=["income", "age"]).order
    ('income', 'age')
    """

    no_weights: ClassVar[str] = (
        "the back-off tree draws which records of a group count in the larger group around it, and "
        "parts of records cannot be drawn"
    )
    no_holes: ClassVar[str] = (
        "the back-off tree sorts every record into one leaf, which asks for all its values"
    )
    whole_tables: ClassVar[bool] = False
    most_draws: ClassVar[int] = 1500  # few need more than 500; of more, less of a draw is kept
    order: Literal["auto"] | Sequence[str] = "auto"
    scale: float = 1.0
    prior_median: float = 1000.0

    def __post_init__(self) -> None:
        """Check all settings."""
        if self.order != "auto":
            if isinstance(self.order, str) or not isinstance(self.order, Sequence):
                raise SettingError(
                    expected='order as "auto" or as a list of names of kept variables',
                    came=quoted(self.order) if isinstance(self.order, str) else kind_of(self.order),
                    do='give a list such as ["income", "age"]',
                )
            object.__setattr__(self, "order", tuple(map(str, self.order)))
        check_positive("scale", self.scale)
        check_positive("prior_median", self.prior_median)

    def _sweep_seconds(self, data: Microdata) -> float:
        """Say what a sweep takes, about."""
        return MODELS["backoff"].seconds(data)

    def _prepared(self, data: Microdata, options: FitOptions) -> Prepared:
        problem = make_problem(data, None if self.order == "auto" else tuple(self.order))
        cells = group_cells(data, problem, options.most_cells)
        n_tables = int(np.count_nonzero(problem.forest.counts == 0))
        chain = BackoffChain(cells, self.prior_median, self.scale)
        return Prepared(chain, cells, 4 * n_tables + 8 * problem.forest.n_groups)
