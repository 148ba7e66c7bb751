"""Stand-in data for confidential surveys.

A study goes one way::

    file → microdata → synthesis → m synthetic sets → risk, utility → report → release

`read_microdata` takes the confidential file in, or `load_ce_like` the bundled sample. `DPMPM` is a
model of the labels, `Perfect` and `Uniform` are the data's own levels; each has ``fit(data)``, and
a fit has ``synthesize(m)``.

Names are loaded when they are first used, so that importing the package takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.microdata.bundled import load_ce_like
    from understudy.microdata.reading import read_microdata
    from understudy.microdata.table import Microdata, SyntheticSets
    from understudy.synthesis.diagnostics import Targets
    from understudy.synthesis.dpmpm import DPMPM
    from understudy.synthesis.reference_levels import Perfect, Uniform

__all__ = [
    "DPMPM",
    "Microdata",
    "Perfect",
    "SyntheticSets",
    "Targets",
    "Uniform",
    "load_ce_like",
    "read_microdata",
]

__version__ = "0.1.0"

_HOME = {
    "DPMPM": "understudy.synthesis.dpmpm",
    "Microdata": "understudy.microdata.table",
    "Perfect": "understudy.synthesis.reference_levels",
    "SyntheticSets": "understudy.microdata.table",
    "Targets": "understudy.synthesis.diagnostics",
    "Uniform": "understudy.synthesis.reference_levels",
    "load_ce_like": "understudy.microdata.bundled",
    "read_microdata": "understudy.microdata.reading",
}


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
