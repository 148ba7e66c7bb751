"""Fits whose chains have not met: which they are, and whether it matters for what is measured."""

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
        for number, one in enumerate(results["populations"])
        for key, fit in one["fits"].items()
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
        Label probabilities have an R-hat above {APART} in: {"; ".join(apart)}. There the chains
        stayed in different places; for population 4 of the full run that was traced to two modes
        of about equal mass (the page on the DPMPM has it). Ranges over populations and prediction
        intervals include these fits, but for counts of classes, and may be wider, or elsewhere,
        than they should be: sets weigh the places by the number of chains that ended in each.
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
            NOT ALL CHAINS HAVE MET. {named} {closer} The end of the page has every fit, and what
            chains that are apart measure, each on its own.
            """
        )
    ]


def apart_blocks(results: dict[str, Any]) -> list[Block]:
    """Compare what is measured between the chains of a fit: where they are apart, and elsewhere."""
    rows, differ = [], []
    for measure, words in IN_SHORT.items():
        groups = [_compared(results, key, measure) for key in results["populations"][0]["fits"]]
        apart = [found for group in groups for far, found in group if far]
        met = [found for group in groups for far, found in group if not far]
        if not apart:
            continue
        smallest = min(one.chance for one in apart)
        if smallest < RARE / (len(apart) * len(IN_SHORT)):
            differ.append(words)
        rows.append(
            (
                words,
                f"{max(one.gap for one in apart):.2f}",
                f"{max(one.gap_in_spreads for one in apart):.1f}",
                f"{max(one.gap_in_spreads for one in met):.1f}" if met else "",
                f"{_over_populations(groups):.2f}",
                f"{sum(one.chance < RARE for one in apart)} of {len(apart)}",
                f"{sum(one.chance < RARE for one in met)} of {len(met)}",
                chance_in_words(smallest),
            )
        )
    if not rows:
        return []
    return [
        Paragraph(
            f"""
            Do chains that are apart also measure differently? Sets come from all chains in turn.
            If all chains stood for the same file, the means of their sets would differ by chance
            alone; the chance of differences as large as those found is worked out by an analysis of
            variance, which takes the sets of a chain as independent, and lies below {RARE} once in
            twenty times when there is no difference. Each sampler and variant is compared with its
            usual class draw. Allowing for the number of comparisons, a difference is shown for:
            {"; ".join(differ) or "none of these measures"}. With few sets a chain, means up to
            about two spreads of a set apart can go unseen, so the table has the largest gaps too:
            in the measure's own units, in spreads (standard deviations) of a set, and beside the
            standard deviation over populations, which says how much a gap can matter for the
            comparison with the paper.
            """
        ),
        Table(
            "Measures on the sets of single chains",
            (
                "measure",
                "largest gap, chains apart",
                "in spreads of a set",
                "other fits, in spreads",
                "standard deviation over populations",
                f"chance below {RARE}, chains apart",
                f"chance below {RARE}, other fits",
                "smallest chance, chains apart",
            ),
            tuple(rows),
        ),
    ]


def is_apart(fit: dict[str, Any]) -> bool:
    """Tell whether some label probability has chains that are apart."""
    return bool(fit["labels"]["worst_rhat"] > APART)


def _compared(results: dict[str, Any], key: str, measure: str) -> list[tuple[bool, ByChain]]:
    """Tell for every population whether the fit's chains are apart, and compare its chains."""
    usual = next(one.key for one in CONFIGURATIONS.values() if one.fit == key)
    found = []
    for one in results["populations"]:
        fit = one["fits"][key]
        sets = fit["contenders"][usual]
        compared = by_chain(sets["values"][measure], sets["chains"])
        if compared is not None:
            found.append((is_apart(fit), compared))
    return found


def _over_populations(groups: list[list[tuple[bool, ByChain]]]) -> float:
    """Standard deviation over populations, of the same fit."""
    variances = [
        np.var([np.mean(one.means) for _, one in group], ddof=1)
        for group in groups
        if len(group) > 1
    ]
    return float(np.sqrt(np.mean(variances))) if variances else float("nan")
