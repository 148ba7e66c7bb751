"""What the report shows of the bundled population, for the two synthesizers of the paper.

The fits are those that the comparison makes anyway; their results go through the same functions as
in any study.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from understudy.findings.chains import chain_findings
from understudy.findings.data import data_findings
from understudy.findings.risk import intruder_findings, risk_findings
from understudy.findings.schema import Findings, IntruderFindings, SynthesizerFindings
from understudy.findings.utility import Analysis, utility_findings
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.reproduction.configurations import CONFIGURATIONS
from understudy.reproduction.measures import KNOWN

__all__ = ["intruders_findings", "shown_of", "study_findings", "synthesizer_findings"]

SHOWN = {  # configuration, with its name, title and kind in the report
    "collapsed kept": ("dpmpm", "DPMPM", "dpmpm"),
    "blocked kept": ("dpmpm", "DPMPM", "dpmpm"),
    "text": ("areal", "DP-areal", "areal"),
}
ANALYSIS = Analysis("income ~ county + age + gender", "ordered-logit", 5000)


def shown_of(fits: Collection[str]) -> list[str]:
    """List the configurations that the report shows: of the DPMPM one sampler alone."""
    dpmpm = "collapsed kept" if "collapsed" in fits else "blocked kept"
    return [key for key in (dpmpm, "text") if CONFIGURATIONS[key].fit in fits]


def synthesizer_findings(
    data: Microdata, key: str, fit: Any, sets: SyntheticSets, seed: int
) -> SynthesizerFindings:
    """Collect what the report shows of one configuration's sets."""
    name, title, kind = SHOWN[key]
    return SynthesizerFindings(
        name=name,
        title=title,
        kind=kind,
        settings={"computed as": key},
        m=len(sets),
        fully_synthetic=False,
        convergence=chain_findings(fit, sets),
        utility=utility_findings(data, sets, analyses=[ANALYSIS], rule="partial", seed=seed),
        risk=risk_findings(data, sets, KNOWN, by_knowledge=True),
        notes=(),
    )


def intruders_findings(
    data: Microdata, repeats: int, sets: int, seed: int
) -> tuple[IntruderFindings, ...]:
    """Collect the data's baselines for both intruders of the paper."""
    return tuple(
        intruder_findings(data, known, repeats=repeats, sets=sets, seed=seed) for known in KNOWN
    )


def study_findings(
    data: Microdata,
    intruders: Sequence[IntruderFindings],
    synthesizers: Sequence[SynthesizerFindings],
    seed: int,
    versions: dict[str, str],
) -> Findings:
    """Put them together as the findings of a study."""
    return Findings(
        title="The paper's study on the bundled population",
        data=data_findings(data, codebook_declared=True, codebook_reviewed=True),
        intruders=tuple(intruders),
        synthesizers=tuple(synthesizers),
        versions=versions,
        seed=seed,
        data_fingerprint=data.fingerprint(),
        set_digests={},
    )
