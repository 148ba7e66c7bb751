"""Stand-in data for confidential surveys.

A study goes one way::

    file → microdata → synthesis → m synthetic sets → risk, utility → report → release

`Study` goes the whole way by a plan; `synthesize` gives synthetic frames in one line, for a first
look. Step by step: `read_microdata` takes the confidential file in,
or `load_ce_like` the bundled sample. `DPMPM`, `DPAreal` and `BackoffTree` are models of the labels;
`FormalDirichlet` shows what a formal guarantee costs; `Uniform`, `Marginal`, `Others` and `Perfect`
are baselines; each has ``fit(data)``, and a fit has ``synthesize(m)``.
`identification_risk` and `attribute_risk` say what an intruder learns from synthetic sets,
`inherent_risk` what the baselines give away, `risk_lattice` which knowledge is dangerous,
`attribution_risk` what can be learned without rows; `expected_risk` and `posterior_risk` are exact.
`table_utility`, `regression_utility`, `within_pattern_utility` and `propensity_utility` say what an
analyst keeps, `analysis_utility` lets you ask an analysis of your own, and `combine_estimates` and
`combine_counts` give valid intervals from several sets. `release` is the only function that writes
publishable files. `frontier` turns the dials and finds the most useful point that still protects.

Names are loaded when they are first used, so that importing the package takes no time.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.frontiers.run import frontier
    from understudy.memory import memory_limit
    from understudy.microdata.bundled import load_ce_like
    from understudy.microdata.reading import read_microdata
    from understudy.microdata.synthetic_files import read_synthetic
    from understudy.microdata.table import Microdata, SyntheticSets
    from understudy.publishing.gate import release
    from understudy.risk.attribute import attribute_risk
    from understudy.risk.attribution_without_rows import attribution_risk
    from understudy.risk.baselines import inherent_risk
    from understudy.risk.by_knowledge import risk_lattice
    from understudy.risk.closed_form import expected_risk, posterior_risk
    from understudy.risk.diversity import label_diversity
    from understudy.risk.fully_synthetic import fully_synthetic_risk
    from understudy.risk.identification import identification_risk
    from understudy.risk.informed_intruder import informed_intruder_risk
    from understudy.risk.own_record.effect import own_record_effect
    from understudy.risk.population import population_risk
    from understudy.risk.prediction import prediction_risk
    from understudy.study.run import Study
    from understudy.synthesis.areal.model import DPAreal
    from understudy.synthesis.backoff.model import BackoffTree
    from understudy.synthesis.baselines import Marginal, Others, Perfect, Uniform
    from understudy.synthesis.diagnostics import ConvergenceTargets
    from understudy.synthesis.dpmpm.model import DPMPM
    from understudy.synthesis.formal_dirichlet import FormalDirichlet
    from understudy.synthesis.risk_weights import risk_weights
    from understudy.synthesis.synthesize import synthesize
    from understudy.synthesis.workers import on_workers
    from understudy.utility.analysis import analysis_utility
    from understudy.utility.combining import combine_estimates
    from understudy.utility.counts import combine_counts, count_utility
    from understudy.utility.nested_combining import combine_nested_estimates
    from understudy.utility.propensity import propensity_utility
    from understudy.utility.regression.regression_utility import regression_utility
    from understudy.utility.tables import table_utility
    from understudy.utility.weighted_utility import weighted_utility
    from understudy.utility.within_pattern import within_pattern_utility

__all__ = [  # noqa: RUF022  (plain order of text, as the test of public names has it)
    "BackoffTree",
    "ConvergenceTargets",
    "DPAreal",
    "DPMPM",
    "FormalDirichlet",
    "Marginal",
    "Microdata",
    "Others",
    "Perfect",
    "Study",
    "SyntheticSets",
    "Uniform",
    "analysis_utility",
    "attribute_risk",
    "attribution_risk",
    "combine_counts",
    "combine_estimates",
    "combine_nested_estimates",
    "count_utility",
    "expected_risk",
    "frontier",
    "fully_synthetic_risk",
    "identification_risk",
    "informed_intruder_risk",
    "inherent_risk",
    "label_diversity",
    "load_ce_like",
    "memory_limit",
    "on_workers",
    "own_record_effect",
    "population_risk",
    "posterior_risk",
    "prediction_risk",
    "propensity_utility",
    "read_microdata",
    "read_synthetic",
    "regression_utility",
    "release",
    "risk_lattice",
    "risk_weights",
    "synthesize",
    "table_utility",
    "weighted_utility",
    "within_pattern_utility",
]

__version__ = "0.1.0"

_HOME = {
    "BackoffTree": "understudy.synthesis.backoff.model",
    "ConvergenceTargets": "understudy.synthesis.diagnostics",
    "DPAreal": "understudy.synthesis.areal.model",
    "DPMPM": "understudy.synthesis.dpmpm.model",
    "FormalDirichlet": "understudy.synthesis.formal_dirichlet",
    "Microdata": "understudy.microdata.table",
    "Marginal": "understudy.synthesis.baselines",
    "Others": "understudy.synthesis.baselines",
    "Perfect": "understudy.synthesis.baselines",
    "Study": "understudy.study.run",
    "SyntheticSets": "understudy.microdata.table",
    "Uniform": "understudy.synthesis.baselines",
    "analysis_utility": "understudy.utility.analysis",
    "attribute_risk": "understudy.risk.attribute",
    "attribution_risk": "understudy.risk.attribution_without_rows",
    "combine_counts": "understudy.utility.counts",
    "combine_estimates": "understudy.utility.combining",
    "combine_nested_estimates": "understudy.utility.nested_combining",
    "count_utility": "understudy.utility.counts",
    "expected_risk": "understudy.risk.closed_form",
    "frontier": "understudy.frontiers.run",
    "fully_synthetic_risk": "understudy.risk.fully_synthetic",
    "identification_risk": "understudy.risk.identification",
    "informed_intruder_risk": "understudy.risk.informed_intruder",
    "inherent_risk": "understudy.risk.baselines",
    "label_diversity": "understudy.risk.diversity",
    "load_ce_like": "understudy.microdata.bundled",
    "memory_limit": "understudy.memory",
    "on_workers": "understudy.synthesis.workers",
    "own_record_effect": "understudy.risk.own_record.effect",
    "population_risk": "understudy.risk.population",
    "posterior_risk": "understudy.risk.closed_form",
    "prediction_risk": "understudy.risk.prediction",
    "propensity_utility": "understudy.utility.propensity",
    "read_microdata": "understudy.microdata.reading",
    "read_synthetic": "understudy.microdata.synthetic_files",
    "regression_utility": "understudy.utility.regression.regression_utility",
    "release": "understudy.publishing.gate",
    "risk_lattice": "understudy.risk.by_knowledge",
    "risk_weights": "understudy.synthesis.risk_weights",
    "synthesize": "understudy.synthesis.synthesize",
    "table_utility": "understudy.utility.tables",
    "weighted_utility": "understudy.utility.weighted_utility",
    "within_pattern_utility": "understudy.utility.within_pattern",
}

_RENAMED = {"Targets": "ConvergenceTargets"}


def __getattr__(name: str) -> Any:
    """Load a public name from the module it lives in."""
    if name in _RENAMED:
        warnings.warn(
            f"understudy.{name} is now understudy.{_RENAMED[name]}",
            DeprecationWarning,
            stacklevel=2,
        )
        name = _RENAMED[name]
    if name not in _HOME:
        raise AttributeError(f"module 'understudy' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    """List the public names."""
    return [*__all__, "__version__"]
