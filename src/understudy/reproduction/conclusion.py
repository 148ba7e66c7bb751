"""What follows for the paper's conclusion: the two synthesizers, population by population.

How a record's class is drawn decides how much of the true label a synthetic one carries, so the
comparison is made for each of the three class draws; which of them the paper used is not certain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.attribute_positions import position_inside
from understudy.reproduction.cell_comparison import fitted_configurations
from understudy.reproduction.chains_apart import APART, is_apart
from understudy.reproduction.configurations import AREAL, CONFIGURATIONS, Configuration
from understudy.reproduction.published import IN_SHORT, printed_cell
from understudy.reproduction.regression_intervals import (
    QUANTITIES,
    our_comparisons,
    printed_comparison,
)

__all__ = ["conclusion_blocks", "in_short"]

RISKS = ("expected_match_risk gender", "expected_match_risk gender, age", "attribute_matches")
SIGNS = ("same", "opposite", "open")


def conclusion_blocks(results: dict[str, Any]) -> list[Block]:
    """Set the two synthesizers against each other, with every class draw."""
    fits = results["populations"][0]["fits"]
    others = fitted_configurations(results, "DPMPM")
    if not others or AREAL not in fits:
        return []
    measures = (*IN_SHORT.values(), *QUANTITIES)
    gaps = {
        configuration.key: _differences(results, configuration) for configuration in others
    }  # (measure, population)
    printed = _printed_differences()  # (measure,)
    signs = {key: _against(printed, gap, measures) for key, gap in gaps.items()}
    return [
        Heading("What follows for the paper's conclusion"),
        Paragraph(
            """
            The paper concludes that the DPMPM keeps more utility and carries more risk. Compared is
            the DP-areal (text) less the DPMPM, both with rows aligned. A sign that is the same in
            all populations is a result about data like these; it need not hold for others. More
            overlap and more significance kept are better; larger deviations are worse.
            """
        ),
        Table(
            "DP-areal minus DPMPM (collapsed sampler, class draw kept)",
            (
                "measure", "paper", "bundled", "all populations",
                f"higher, where R-hat is up to {APART}",
            ),
            _rows(results, others[0], gaps[others[0].key], printed, measures),
            file="differences",
        ),
        Paragraph(
            """
            A record's class is drawn given its kept variables ("kept", understudy's default), the
            whole record with its true label ("full", as in the software that the paper names), or
            nothing ("prior", as in the paper's text). The more a draw conditions on, the more
            labels stay the same.
            """
        ),
        Table(
            "In how many populations the DP-areal (text) is higher than the DPMPM",
            (
                f"measure, of {len(results['populations'])} populations", "paper's sign",
                *(f"{configuration.fit}, {configuration.class_draw}" for configuration in others),
            ),
            [
                (
                    words,
                    "+" if printed[index] > 0 else "-",
                    *(str((gaps[configuration.key][index] > 0).sum()) for configuration in others),
                )
                for index, words in enumerate(measures)
            ],
            file="signs",
        ),
        Paragraph(_what_always_holds(list(signs.values()), measures)),
    ]  # fmt: skip


def in_short(results: dict[str, Any]) -> list[Block]:
    """Say what is found before it is shown: what contradicts, risk by class draw, tables."""
    fits = results["populations"][0]["fits"]
    others = [
        configuration
        for configuration in fitted_configurations(results, "DPMPM")
        if configuration.fit == "collapsed"
    ]
    if not others or AREAL not in fits:
        return []
    known = list(IN_SHORT)
    gaps = {
        configuration.class_draw: _differences(results, configuration) for configuration in others
    }
    count = len(results["populations"])

    def more(draw: str, measures: tuple[str, ...]) -> str:
        higher = [int((gaps[draw][known.index(measure)] > 0).sum()) for measure in measures]
        ends = sorted({min(higher), max(higher)})
        return " to ".join(map(str, ends))

    fitting = [
        configuration.class_draw
        for configuration in others
        if position_inside(results, configuration.key)
    ]
    return [
        Paragraph(
            f"""
            In short. Two printed results contradict the paper's own definitions: the Min baseline
            of identification, and the DP-areal's match risk, which falls as the intruder's
            knowledge grows. The paper finds less risk in the DP-areal than in the DPMPM. Here, with
            rows aligned, the DP-areal has more, by three measures, in {more("kept", RISKS)} of
            {count} populations if the DPMPM draws classes given the kept variables, in
            {more("prior", RISKS)} if it draws them as the paper's text says, and in
            {more("full", RISKS)} if it draws them as the software that the paper names does. The
            printed attribute risk of the DPMPM is compatible with
            {"class draw " + " and ".join(map(str, fitting)) if fitting else "no class draw"}.
            One-way tables of the DP-areal are worse, as printed, in
            {more("kept", ("deviation 1",))} of {count}.
            """
        )
    ]


def _rows(
    results: dict[str, Any],
    dpmpm: Configuration,
    gap: NDArray[np.float64],
    printed: NDArray[np.float64],
    measures: tuple[str, ...],
) -> list[tuple[str, ...]]:
    met = np.array(
        [
            not any(is_apart(population["fits"][key]) for key in (dpmpm.fit, AREAL))
            for population in results["populations"]
        ]
    )  # (population,)
    return [
        (
            words,
            f"{printed[index]:+.2f}",
            f"{gap[index, 0]:+.2f}",
            f"{gap[index].min():+.2f} to {gap[index].max():+.2f}",
            _higher(gap[index][met]),
        )
        for index, words in enumerate(measures)
    ]


def _higher(gap: NDArray[np.float64]) -> str:
    return f"{(gap > 0).sum()} of {gap.size}"


def _differences(results: dict[str, Any], dpmpm: Configuration) -> NDArray[np.float64]:
    """DP-areal minus DPMPM: measures that are always defined, then quantities of regressions."""
    areal = CONFIGURATIONS[AREAL]
    rows = [
        [
            np.mean(_sets(population, areal)[measure]) - np.mean(_sets(population, dpmpm)[measure])
            for population in results["populations"]
        ]
        for measure in IN_SHORT
    ]
    mine, theirs = (
        np.array(our_comparisons(results, configuration), dtype=float)
        for configuration in (areal, dpmpm)
    )
    return np.vstack([np.array(rows), (mine - theirs).T])  # (measure, population)


def _sets(population: dict[str, Any], own: Configuration) -> dict[str, list[float]]:
    configurations = population["fits"][own.fit]["configurations"]
    values: dict[str, list[float]] = configurations[own.key]["values"]
    return values


def _printed_differences() -> NDArray[np.float64]:
    cells = [
        float(printed_cell(measure, "DP-areal")) - float(printed_cell(measure, "DPMPM"))
        for measure in IN_SHORT
    ]
    intervals = np.subtract(printed_comparison("DP-areal"), printed_comparison("DPMPM"))
    return np.concatenate([cells, intervals])  # (measure,)


def _against(
    printed: NDArray[np.float64], gap: NDArray[np.float64], measures: tuple[str, ...]
) -> dict[str, list[str]]:
    """Sort measures by whether all populations have the printed sign, or all the opposite."""
    sorted_by_sign: dict[str, list[str]] = {sign: [] for sign in SIGNS}
    for words, cell, row in zip(measures, printed, gap, strict=True):
        along = row * cell  # (population,)
        sign = "same" if (along > 0).all() else "opposite" if (along < 0).all() else "open"
        sorted_by_sign[sign].append(words)
    return sorted_by_sign


def _what_always_holds(signs: list[dict[str, list[str]]], measures: tuple[str, ...]) -> str:
    """Say what holds for every way of computing the DPMPM."""
    same, opposite = (
        "; ".join(words for words in measures if all(words in words_of[sign] for words_of in signs))
        or "nothing"
        for sign in ("same", "opposite")
    )
    return f"""
        Whatever the sampler and the class draw: the sign that the paper prints, in every
        population, for: {same}; the opposite sign, in every population, for: {opposite}.
        Everything else depends on the class draw, or on the data.
        """
