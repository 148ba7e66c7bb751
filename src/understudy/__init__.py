"""Stand-in data for confidential surveys.

A study goes one way::

    file → microdata → synthesis → m synthetic sets → risk, utility → report → release

`read_microdata` takes the confidential file in, or `load_ce_like` the bundled sample.

Names are loaded when they are first used, so that importing the package takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.microdata.bundled import load_ce_like
    from understudy.microdata.reading import read_microdata
    from understudy.microdata.table import Microdata, SyntheticSets
    from understudy.utility.analysis import analysis_utility
    from understudy.utility.combining import combine_estimates
    from understudy.utility.counts import combine_counts, count_utility
    from understudy.utility.propensity import propensity_utility
    from understudy.utility.regression import regression_utility
    from understudy.utility.tables import table_utility
    from understudy.utility.within_pattern import within_pattern_utility

__all__ = [
    "Microdata",
    "SyntheticSets",
    "analysis_utility",
    "combine_counts",
    "combine_estimates",
    "count_utility",
    "load_ce_like",
    "propensity_utility",
    "read_microdata",
    "regression_utility",
    "table_utility",
    "within_pattern_utility",
]

__version__ = "0.1.0"

_HOME = {
    "Microdata": "understudy.microdata.table",
    "SyntheticSets": "understudy.microdata.table",
    "analysis_utility": "understudy.utility.analysis",
    "combine_counts": "understudy.utility.counts",
    "combine_estimates": "understudy.utility.combining",
    "count_utility": "understudy.utility.counts",
    "load_ce_like": "understudy.microdata.bundled",
    "propensity_utility": "understudy.utility.propensity",
    "read_microdata": "understudy.microdata.reading",
    "regression_utility": "understudy.utility.regression",
    "table_utility": "understudy.utility.tables",
    "within_pattern_utility": "understudy.utility.within_pattern",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
