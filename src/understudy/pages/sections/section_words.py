"""Words and look-ups that several sections use."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.schema import (
    AttackFindings,
    Findings,
    IdentificationFindings,
    IntruderFindings,
    SynthesizerFindings,
)
from understudy.pages.plots.canvas import SeriesStyle, series_styles
from understudy.summaries import shown

__all__ = [
    "BASELINES",
    "attack_words",
    "attacker_words",
    "guarantee_words",
    "identified",
    "known_words",
    "level_words",
    "styled",
    "titles",
]

BASELINES = (
    "Min and Max are baselines of the confidential data, not bounds: Min draws every label with "
    "the same probability, Max draws from the pattern's own distribution."
)


GUARANTEE = (
    "They are differentially private in the label, the kept variables being public, if nobody "
    "looked at the data to declare the levels, the seed stays secret and sets are drawn once. That "
    "covers no number measured on the data, such as those here, and no choice that was made by one."
)
WITHOUT_LEVELS = (
    "The guarantee does not hold yet: levels of {names} were found in the data, which tells that "
    "somebody has each of them. With a codebook that declares them, labels are differentially "
    "private."
)


def guarantee_words(undeclared: Sequence[str]) -> str:
    """Say what holds of sets of the formal Dirichlet, and what it hangs on.

    Needs the synthesized variables whose levels no codebook declares. No other text may say of
    files that they are differentially private.
    """
    if undeclared:
        return WITHOUT_LEVELS.format(names=", ".join(map(shown, undeclared)))
    return GUARANTEE


def titles(findings: Findings) -> list[str]:
    """Titles of the synthesizers, safe to show."""
    return [shown(synthesizer.title) for synthesizer in findings.synthesizers]


def styled(findings: Findings) -> list[tuple[SynthesizerFindings, SeriesStyle]]:
    """Every synthesizer with the style in which it is drawn."""
    return list(zip(findings.synthesizers, series_styles(findings), strict=True))


def known_words(known: Sequence[str]) -> str:
    """Name what an intruder knows."""
    return ", ".join(map(shown, known))


def level_words(findings: Findings, name: str, levels: Sequence[str]) -> list[str]:
    """Write levels of a variable as the codebook calls them."""
    labels = next(
        (variable.labels for variable in findings.data.variables if variable.name == name), {}
    )
    return [shown(labels.get(level, level)) for level in levels]


def identified(
    synthesizer: SynthesizerFindings, intruder: IntruderFindings
) -> IdentificationFindings | None:
    """What this intruder learns from one synthesizer's sets."""
    every = synthesizer.risk.identification
    return next(
        (identification for identification in every if identification.known == intruder.known), None
    )


def attack_words(attack: AttackFindings) -> str:
    """Name an attack, with what the intruder knows."""
    known = f" (known: {known_words(attack.known)})" if attack.known else ""
    return f"{attack.words[:1].upper()}{attack.words[1:]}{known}"


def attacker_words(attack: AttackFindings) -> str:
    """Name an attack, and say whether the intruder knows whose row is whose."""
    rows = (
        "the rows are shuffled"
        if attack.setting == "as released"
        else ("the intruder knows whose row is whose")
    )
    return f"{attack_words(attack)}; {rows}"
