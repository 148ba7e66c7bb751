"""Whom the printed columns are compared with: fits, and the ways of drawing sets from them.

The paper's DPMPM column is set beside both samplers and all three class draws, with the paper's
prior of level probabilities, and beside fits with other priors for the county: a tenth of an
invented record per county, one such record for all counties together, and a prior that is sampled.
Its DP-areal column is set beside both variants of the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.table import Microdata
from understudy.synthesis.areal.model import DPAreal
from understudy.synthesis.chains import Progress
from understudy.synthesis.contract import DrawnSets
from understudy.synthesis.diagnostics import ConvergenceTargets, diagnose, meets
from understudy.synthesis.dpmpm.model import DPMPM

__all__ = [
    "AREAL", "CONFIGURATIONS", "FITS", "FULL", "LEVEL_PRIORS", "PRIORS", "QUICK", "Configuration",
    "FitPlan", "Scale",
]  # fmt: skip


LENGTHS = ("warmup", "draws", "thin")


@dataclass(frozen=True)
class LabelTargets(ConvergenceTargets):
    """Go on until every label probability has converged, whatever slower numbers still do."""

    def reached(
        self,
        sums: Mapping[str, NDArray[np.float64]],  # noqa: ARG002 (not judged here)
        many: Mapping[str, NDArray[np.float32]],
        threads: int,
    ) -> bool:
        """Judge all label probabilities and nothing else, each by the targets themselves."""
        tables = {"label_probability": many["label_probability"]}
        return meets(diagnose(self, {}, tables, threads=threads))

    def for_each_of(self, n_quantities: int, n_chains: int) -> ConvergenceTargets:  # noqa: ARG002
        """Make no allowance for their number."""
        return self


@dataclass(frozen=True)
class FitPlan:
    """One fit: a model, and whose column of the paper it belongs to."""

    key: str
    title: str
    column: str  # "DPMPM" or "DP-areal"
    settings: Any  # a synthesizer

    def run(
        self,
        data: Microdata,
        seed: int,
        lengths: dict[str, int],
        checkpoint: Path | None,
        progress: Callable[[Progress], None] | None,
        threads: int | None = None,
    ) -> Any:
        """Fit it, or go on with a fit that was stopped."""
        chains = {name: lengths[name] for name in LENGTHS}
        most = lengths.get("most_draws")
        until = None if most is None else LabelTargets(most_draws=most)
        return self.settings.fit(
            data,
            seed=seed,
            checkpoint=checkpoint,
            progress=progress or False,
            until=until,
            threads=threads,
            **chains,
        )


COUNTIES = 133
FITS = {
    fit_plan.key: fit_plan
    for fit_plan in (
        FitPlan(
            "collapsed",
            "DPMPM, collapsed sampler",
            "DPMPM",
            DPMPM(sampler="collapsed", level_prior=1.0),
        ),
        FitPlan(
            "blocked",
            "DPMPM, blocked sampler, 40 classes",
            "DPMPM",
            DPMPM(sampler="blocked", level_prior=1.0),
        ),
        FitPlan(
            "tenth",
            "DPMPM, blocked sampler, level prior 0.1",
            "DPMPM",
            DPMPM(sampler="blocked", level_prior={"county": 0.1}),
        ),
        FitPlan(
            "share",
            f"DPMPM, blocked sampler, level prior 1/{COUNTIES}",
            "DPMPM",
            DPMPM(sampler="blocked", level_prior={"county": 1 / COUNTIES}),
        ),
        FitPlan(
            "sampled",
            "DPMPM, blocked sampler, level prior sampled",
            "DPMPM",
            DPMPM(sampler="blocked", level_prior="sampled"),
        ),
        FitPlan("text", "DP-areal as in the paper's text", "DP-areal", DPAreal()),
        FitPlan(
            "script", "DP-areal as in the paper's script", "DP-areal", DPAreal(variant="script")
        ),
    )
}


@dataclass(frozen=True)
class Configuration:
    """One way of making synthetic sets that a printed column may have come from."""

    key: str
    fit: str  # a key of `FITS`
    title: str
    class_draw: str | None = None

    @property
    def column(self) -> str:
        """Whose column of the paper it is compared with."""
        return FITS[self.fit].column

    def draw(self, fit: Any, m: int, seed: int) -> DrawnSets:
        """Draw its synthetic sets."""
        if self.class_draw is not None:
            settings = replace(fit.settings, class_draw=self.class_draw)
            fit = replace(fit, settings=settings)
        sets: DrawnSets = fit.synthesize(m, seed=seed)
        return sets


def _configurations() -> list[Configuration]:
    return [
        *(
            Configuration(
                f"{sampler} {draw}", sampler, f"DPMPM, {sampler}, class draw {draw}", draw
            )
            for sampler in ("collapsed", "blocked")
            for draw in ("kept", "full", "prior")
        ),
        Configuration("tenth kept", "tenth", "DPMPM, level prior 0.1", "kept"),
        Configuration("share kept", "share", f"DPMPM, level prior 1/{COUNTIES}", "kept"),
        Configuration("sampled kept", "sampled", "DPMPM, level prior sampled", "kept"),
        *(
            Configuration(variant, variant, f"DP-areal, {variant}")
            for variant in ("text", "script")
        ),
    ]


CONFIGURATIONS = {configuration.key: configuration for configuration in _configurations()}
LEVEL_PRIORS = {  # configurations that differ in the prior of the county's probabilities alone
    "blocked kept": "1 (the paper's)",
    "tenth kept": "0.1",
    "share kept": f"1/{COUNTIES}",
    "sampled kept": "sampled",
}
AREAL = "text"  # the DP-areal that the DPMPM is set against: the paper's own description


@dataclass(frozen=True)
class Scale:
    """How much is computed.

    Attributes
    ----------
    populations : int
        Redrawn populations besides the bundled one.
    sets, repeats : int
        Synthetic sets of every configuration; repeats of the baselines Min and Max.
    fits : tuple of str
        Keys of `FITS`.
    lengths : dict
        By fit, and by "bundled" or "redrawn": arguments of ``fit`` that are not the usual ones.
        With ``most_draws``, chains go on, ``draws`` at a time, until every label probability has
        converged, and give up there.
    """

    name: str
    populations: int
    sets: int
    repeats: int
    fits: tuple[str, ...]
    lengths: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)

    def length(self, fit: str, population: int) -> dict[str, int]:
        """How long to run a fit of the bundled population (0) or of a redrawn one."""
        usual = signature(FITS[fit].settings.fit).parameters
        own = self.lengths[fit]["redrawn" if population else "bundled"]
        return {**{name: usual[name].default for name in LENGTHS}, **own}


_AREAL = {"warmup": 1000, "draws": 1000, "thin": 7}
_COLLAPSED = {"warmup": 4000, "draws": 1000, "thin": 15}
_BLOCKED = {"warmup": 8000, "draws": 1000, "thin": 30}
# As short as its label probabilities allow. An R-hat below 1.01 in all 5,320 takes some 2,000
# draws, which need not be far apart for most. Of more than 3,000 a chain, not all would be kept.
_AS_LONG_AS_NEEDED = {"warmup": 600, "draws": 150, "thin": 4, "most_draws": 3000}
_SHORT_BLOCKED = {"warmup": 3000, "draws": 200, "thin": 15}
_QUICK_DPMPM = {"warmup": 1000, "draws": 200, "thin": 8}
_QUICK_AREAL = {"warmup": 150, "draws": 80, "thin": 4}

FULL = Scale(
    "full",
    populations=10,
    sets=20,
    repeats=100,
    fits=tuple(FITS),
    lengths={
        "collapsed": {"bundled": _COLLAPSED, "redrawn": _COLLAPSED},
        "blocked": {"bundled": _BLOCKED, "redrawn": _BLOCKED},
        "tenth": {"bundled": _BLOCKED, "redrawn": _BLOCKED},
        "share": {"bundled": _BLOCKED, "redrawn": _BLOCKED},
        "sampled": {"bundled": _BLOCKED, "redrawn": _BLOCKED},
        "text": {"bundled": _AREAL, "redrawn": _AS_LONG_AS_NEEDED},
        "script": {"bundled": _AREAL, "redrawn": _AS_LONG_AS_NEEDED},
    },
)
PRIORS = Scale(
    "priors",
    populations=10,
    sets=20,
    repeats=20,
    fits=("blocked", "tenth", "share", "sampled"),
    lengths={
        key: {"bundled": _SHORT_BLOCKED, "redrawn": _SHORT_BLOCKED}
        for key in ("blocked", "tenth", "share", "sampled")
    },
)
QUICK = Scale(
    "quick",
    populations=2,
    sets=20,
    repeats=20,
    fits=("collapsed", "text"),
    lengths={
        "collapsed": {"bundled": _QUICK_DPMPM, "redrawn": _QUICK_DPMPM},
        "text": {"bundled": _QUICK_AREAL, "redrawn": _QUICK_AREAL},
    },
)
