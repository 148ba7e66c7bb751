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
    from understudy.microdata.synthetic import read_synthetic
    from understudy.microdata.table import Microdata, SyntheticSets

__all__ = [
    "Microdata",
    "SyntheticSets",
    "load_ce_like",
    "read_microdata",
    "read_synthetic",
]

__version__ = "0.1.0"

_HOME = {
    "Microdata": "understudy.microdata.table",
    "SyntheticSets": "understudy.microdata.table",
    "load_ce_like": "understudy.microdata.bundled",
    "read_microdata": "understudy.microdata.reading",
    "read_synthetic": "understudy.microdata.synthetic",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
