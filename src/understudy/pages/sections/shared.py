"""Words and look-ups that several sections use."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.schema import (
    Findings,
    IdentificationFindings,
    IntruderFindings,
    SynthesizerFindings,
)
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.summaries import shown

__all__ = ["BASELINES", "identified", "known_words", "styled", "titles", "unconverged"]

BASELINES = (
    "Min and Max are baselines of the confidential data, not bounds: Min draws every label with "
    "the same probability, Max draws from the pattern's own distribution."
)


def titles(findings: Findings) -> list[str]:
    """Titles of the synthesizers, safe to show."""
    return [shown(synthesizer.title) for synthesizer in findings.synthesizers]


def unconverged(findings: Findings) -> list[str]:
    """Titles of the synthesizers whose chains have not converged."""
    every = findings.synthesizers
    return [shown(each.title) for each in every if not each.convergence.converged]


def styled(findings: Findings) -> list[tuple[SynthesizerFindings, SeriesStyle]]:
    """Every synthesizer with the style in which it is drawn."""
    return list(zip(findings.synthesizers, series_styles(findings), strict=True))


def known_words(known: Sequence[str]) -> str:
    """Name what an intruder knows."""
    return ", ".join(map(shown, known))


def identified(
    synthesizer: SynthesizerFindings, intruder: IntruderFindings
) -> IdentificationFindings | None:
    """What this intruder learns from one synthesizer's sets."""
    every = synthesizer.risk.identification
    return next((each for each in every if each.known == intruder.known), None)
