"""Fits whose chains have not met: which they are, and whether it matters for what is measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.report.by_chain import ByChain, by_chain
from understudy.reproduction.blocks import Block, Table, Text
from understudy.reproduction.contenders import CONTENDERS, FITS

__all__ = ["apart_blocks", "warning_blocks"]

APART = 1.05  # R-hat of a label probability above which chains count as apart
RARE = 0.05
MEASURES = {
    "deviation 1": "one-way deviation / 100",
    "deviation 2": "two-way deviation / 100",
    "deviation 3": "three-way deviation / 100",
    "expected_match_risk gender": "expected match risk, gender known",
    "expected_match_risk gender, age": "expected match risk, gender and age known",
    "attribute_matches": "attribute matches",
}


def warning_blocks(results: dict[str, Any]) -> list[Block]:
    """Say before anything else which fits have chains that are apart."""
    apart = [
        f"{FITS[key].title} on population {number}"
        for number, one in enumerate(results["populations"])
        for key, fit in one["fits"].items()
        if _is_apart(fit)
    ]
    if not apart:
        return []
    return [
        Text(
            f"""
            NOT ALL CHAINS HAVE MET. Label probabilities have an R-hat above {APART} in:
            {"; ".join(apart)}. Ranges over populations and prediction intervals include these
            fits and may be wider, or elsewhere, than they should be, those of occupied classes
            above all. The end of the page has every fit, and what the chains that are apart
            measure, each on its own.
            """
        )
    ]


def apart_blocks(results: dict[str, Any]) -> list[Block]:
    """Compare what is measured between the chains of a fit: where they are apart, and elsewhere."""
    rows, differ = [], []
    for measure, words in MEASURES.items():
        groups = [_compared(results, key, measure) for key in results["populations"][0]["fits"]]
        apart = [found for group in groups for is_apart, found in group if is_apart]
        met = [found for group in groups for is_apart, found in group if not is_apart]
        if not apart:
            continue
        smallest = min(one.chance for one in apart)
        if smallest < RARE / (len(apart) * len(MEASURES)):
            differ.append(words)
        rows.append(
            (
                words,
                f"{max(one.gap for one in apart):.2f}",
                f"{max(one.gap for one in met):.2f}" if met else "",
                f"{_over_populations(groups):.2f}",
                f"{sum(one.chance < RARE for one in apart)} of {len(apart)}",
                f"{sum(one.chance < RARE for one in met)} of {len(met)}",
                "below 0.001" if smallest < 0.001 else f"{smallest:.3f}",
            )
        )
    if not rows:
        return []
    return [
        Text(
            f"""
            Do chains that are apart also measure differently? Sets come from all chains in turn.
            If all chains stand for the same file, the means of their sets differ by chance alone;
            the chance of differences as large as those found is worked out by an analysis of
            variance, and lies below {RARE} once in twenty times when there is no difference. Every
            sampler and variant is compared with its usual class draw. Allowing for the number of
            comparisons, it matters which chain a set comes from for:
            {"; ".join(differ) or "none of these measures"}.
            """
        ),
        Table(
            "Measures on the sets of single chains",
            (
                "measure",
                "largest gap, chains apart",
                "largest gap, others",
                "standard deviation over populations",
                f"chance below {RARE}, chains apart",
                f"chance below {RARE}, others",
                "smallest chance, chains apart",
            ),
            tuple(rows),
        ),
    ]


def _is_apart(fit: dict[str, Any]) -> bool:
    return bool(fit["labels"]["worst_rhat"] > APART)


def _compared(results: dict[str, Any], key: str, measure: str) -> list[tuple[bool, ByChain]]:
    """Tell for every population whether the fit's chains are apart, and compare its chains."""
    usual = next(one.key for one in CONTENDERS.values() if one.fit == key)
    found = []
    for one in results["populations"]:
        fit = one["fits"][key]
        sets = fit["contenders"][usual]
        compared = by_chain(sets["values"][measure], sets["chains"])
        if compared is not None:
            found.append((_is_apart(fit), compared))
    return found


def _over_populations(groups: list[list[tuple[bool, ByChain]]]) -> float:
    """Standard deviation over populations, of the same fit."""
    variances = [
        np.var([np.mean(one.means) for _, one in group], ddof=1)
        for group in groups
        if len(group) > 1
    ]
    return float(np.sqrt(np.mean(variances))) if variances else float("nan")
