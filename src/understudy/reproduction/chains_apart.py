"""Fits whose chains are apart: which they are, and whether it matters for what is measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.findings.by_chain import RARE, ByChain, by_chain, chance_in_words
from understudy.pages.blocks import Block, Paragraph, Table
from understudy.reproduction.configurations import CONFIGURATIONS, FITS
from understudy.reproduction.published import IN_SHORT

__all__ = ["APART", "apart_blocks", "is_apart", "warning_blocks"]

APART = 1.05  # R-hat of a label probability above which chains count as apart


def warning_blocks(results: dict[str, Any]) -> list[Block]:
    """Say before anything else which fits have chains that are apart."""
    fits = [
        (key, number, fit)
        for number, population in enumerate(results["populations"])
        for key, fit in population["fits"].items()
    ]
    far: dict[str, list[str]] = {}  # populations by fit
    for key, number, fit in fits:
        if is_apart(fit):
            far.setdefault(key, []).append(str(number))
    apart = [
        f"{FITS[key].title}, on population{'s' * (len(numbers) > 1)} {', '.join(numbers)}"
        for key, numbers in far.items()
    ]
    further = sum(fit["labels"]["failed"] > 0 and not is_apart(fit) for *_, fit in fits)
    if not apart and not further:
        return []
    named = (
        f"""
        Label probabilities have an R-hat above {APART} in: {"; ".join(apart)}. There chains stayed
        in different modes; in population 4 of the full run in two of about equal mass. Except for
        class counts, ranges over populations include these fits and may be too wide or shifted:
        sets weight the modes by the number of chains that ended in each.
        """
        if apart
        else ""
    )
    closer = (
        f"""
        In {further}{" further" if apart else ""} fits, of {len(fits)} in all, some label
        probabilities miss an R-hat of 1.01 or 400 effective draws by less.
        """
        if further
        else f"In the others, of {len(fits)} fits in all, every label probability has converged."
    )
    return [
        Paragraph(
            f"""
            NOT ALL CHAINS HAVE CONVERGED. {named} {closer} The end of the page has the fits, and
            compares chains that are apart.
            """
        )
    ]


def apart_blocks(results: dict[str, Any]) -> list[Block]:
    """Compare what is measured between the chains of a fit: where they are apart, and elsewhere."""
    rows, differ = [], []
    for measure, words in IN_SHORT.items():
        groups = [_compared(results, key, measure) for key in results["populations"][0]["fits"]]
        apart = [compared for group in groups for far, compared in group if far]
        others = [compared for group in groups for far, compared in group if not far]
        if not apart:
            continue
        smallest = min(compared.chance for compared in apart)
        if smallest < RARE / (len(apart) * len(IN_SHORT)):
            differ.append(words)
        rows.append(
            (
                words,
                f"{max(compared.gap for compared in apart):.2f}",
                f"{max(compared.gap_in_spreads for compared in apart):.1f}",
                f"{_over_populations(groups):.2f}",
                f"{sum(compared.chance < RARE for compared in apart)} of {len(apart)}",
                f"{sum(compared.chance < RARE for compared in others)} of {len(others)}",
                chance_in_words(smallest),
            )
        )
    if not rows:
        return []
    return [
        Paragraph(
            f"""
            Do chains that are apart also give different results? Sets come from all chains in turn.
            An analysis of variance, with the sets of a chain taken as independent, gives the
            probability of differences between chains at least as large as those observed. Allowing
            for the number of comparisons, a difference is shown for:
            {"; ".join(differ) or "none of these measures"}. With few sets per chain, means up to
            about two standard deviations of a set apart can go unnoticed, so the table has the
            largest gaps too.
            """
        ),
        Table(
            "Measures on the sets of single chains",
            (
                "measure",
                "largest gap, chains apart",
                "in standard deviations of a set",
                "standard deviation over populations",
                f"probability below {RARE}, chains apart",
                f"probability below {RARE}, other fits",
                "smallest probability, chains apart",
            ),
            rows,
            file="chains",
        ),
    ]


def is_apart(fit: dict[str, Any]) -> bool:
    """Tell whether some label probability has chains that are apart."""
    return bool(fit["labels"]["worst_rhat"] > APART)


def _compared(results: dict[str, Any], key: str, measure: str) -> list[tuple[bool, ByChain]]:
    """Tell for every population whether the fit's chains are apart, and compare its chains."""
    usual = next(
        configuration.key for configuration in CONFIGURATIONS.values() if configuration.fit == key
    )
    comparisons = []
    for population in results["populations"]:
        fit = population["fits"][key]
        sets = fit["configurations"][usual]
        compared = by_chain(sets["values"][measure], sets["chains"])
        if compared is not None:
            comparisons.append((is_apart(fit), compared))
    return comparisons


def _over_populations(groups: list[list[tuple[bool, ByChain]]]) -> float:
    """Standard deviation over populations, of the same fit."""
    variances = [
        np.var([np.mean(compared.means) for _, compared in group], ddof=1)
        for group in groups
        if len(group) > 1
    ]
    return float(np.sqrt(np.mean(variances))) if variances else float("nan")
