"""What follows for the paper's conclusion: the two synthesizers, population by population.

How a record's class is drawn decides how much of the true label a synthetic one carries, so the
comparison is made for each of the three class draws; which of them the paper used is not certain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.chains_apart import APART, is_apart
from understudy.reproduction.configurations import AREAL, CONFIGURATIONS, Configuration
from understudy.reproduction.intervals import QUANTITIES, figures_of, printed_figures
from understudy.reproduction.positions_table import place_inside
from understudy.reproduction.published import IN_SHORT, printed_cell

__all__ = ["conclusion_blocks", "in_short"]

RISKS = ("expected_match_risk gender", "expected_match_risk gender, age", "attribute_matches")
WHOSE = {
    "kept": "class draw kept (understudy's default)",
    "full": "class draw full (as the software that the paper names)",
    "prior": "class draw prior (as the paper's text says)",
}
SIGNS = ("same", "opposite", "open")


def conclusion_blocks(results: dict[str, Any]) -> list[Block]:
    """Set the two synthesizers against each other, with every class draw."""
    fits = results["populations"][0]["fits"]
    others = [one for one in CONFIGURATIONS.values() if one.column == "DPMPM" and one.fit in fits]
    if not others or AREAL not in fits:
        return []
    measures = (*IN_SHORT.values(), *QUANTITIES)
    gaps = {one.key: _differences(results, one) for one in others}  # (measure, population)
    printed = _printed_differences()  # (measure,)
    found = {key: _against(printed, gap, measures) for key, gap in gaps.items()}
    return [
        Heading("What follows for the paper's conclusion"),
        Paragraph(
            """
            The paper concludes that the DPMPM keeps more utility and carries more risk. Below, the
            DP-areal (text) minus the DPMPM, both with rows aligned, population by population, so
            that differences between populations cancel. A sign that is the same in all
            populations is a result about data made like these; it need not hold for others. More
            overlap and more significance kept are better; larger deviations are worse.
            """
        ),
        Table(
            "DP-areal minus DPMPM (collapsed sampler, class draw kept)",
            (
                "measure", "paper", "bundled", "all populations", "DP-areal higher in",
                f"of those with an R-hat up to {APART}",
            ),
            tuple(_rows(results, others[0], gaps[others[0].key], printed, measures)),
        ),
        Paragraph(
            """
            A synthetic label comes from a class, and the class of a record is drawn given its kept
            variables ("kept"), given the whole record with its true label ("full"), or from the
            weights of the classes alone ("prior"). The more a draw knows, the more labels come out
            as they were. The paper's text describes "prior", and the software that it names does
            "full", so the comparison has to be made with each.
            """
        ),
        Table(
            "In how many populations the DP-areal (text) is higher than the DPMPM",
            ("measure", "paper's sign", *(f"{one.fit}, {one.class_draw}" for one in others)),
            tuple(
                (
                    words,
                    "+" if printed[place] > 0 else "-",
                    *(_higher(gaps[one.key][place]) for one in others),
                )
                for place, words in enumerate(measures)
            ),
        ),
        *(
            Paragraph(_in_words(WHOSE[one.class_draw or ""], found[one.key]))
            for one in others
            if one.fit == others[0].fit
        ),
        Paragraph(_whatever(list(found.values()), measures)),
    ]  # fmt: skip


def in_short(results: dict[str, Any]) -> list[Block]:
    """Say what is found before it is shown: what contradicts, risk by class draw, tables."""
    fits = results["populations"][0]["fits"]
    others = [one for one in CONFIGURATIONS.values() if one.fit == "collapsed" and one.fit in fits]
    if not others or AREAL not in fits:
        return []
    places = list(IN_SHORT)
    gaps = {one.class_draw: _differences(results, one) for one in others}
    count = len(results["populations"])

    def more(draw: str, measures: tuple[str, ...]) -> str:
        found = [int((gaps[draw][places.index(one)] > 0).sum()) for one in measures]
        ends = sorted({min(found), max(found)})
        return " to ".join(map(str, ends))

    fitting = [one.class_draw for one in others if place_inside(results, one.key).startswith("yes")]
    return [
        Paragraph(
            f"""
            In short. Two printed results contradict the paper's own definitions: the Min level of
            identification, and the DP-areal's match risk, which falls as the intruder's knowledge
            grows. The paper finds less risk in the DP-areal than in the DPMPM. Here, with rows
            aligned, the DP-areal has more, by three measures, in {more("kept", RISKS)} of {count}
            populations if the DPMPM draws classes given the kept variables, in
            {more("prior", RISKS)} if it draws them as the paper's text says, and in
            {more("full", RISKS)} if it draws them as the software does that the paper names. The
            printed attribute risk of the DPMPM is compatible with class draw
            {" and ".join(map(str, fitting)) or "none of them"}. One-way tables of the DP-areal are
            worse, as printed, in {more("kept", ("deviation 1",))} of {count}.
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
            not any(is_apart(one["fits"][key]) for key in (dpmpm.fit, AREAL))
            for one in results["populations"]
        ]
    )  # (population,)
    return [
        (
            words,
            f"{printed[place]:+.2f}",
            f"{gap[place, 0]:+.2f}",
            f"{gap[place].min():+.2f} to {gap[place].max():+.2f}",
            _higher(gap[place]),
            _higher(gap[place][met]),
        )
        for place, words in enumerate(measures)
    ]


def _higher(gap: NDArray[np.float64]) -> str:
    return f"{(gap > 0).sum()} of {gap.size}"


def _differences(results: dict[str, Any], dpmpm: Configuration) -> NDArray[np.float64]:
    """DP-areal minus DPMPM: measures that are always defined, then figures of regressions."""
    areal = CONFIGURATIONS[AREAL]
    rows = [
        [
            np.mean(_sets(one, areal)[measure]) - np.mean(_sets(one, dpmpm)[measure])
            for one in results["populations"]
        ]
        for measure in IN_SHORT
    ]
    mine, theirs = (np.array(figures_of(results, one), dtype=float) for one in (areal, dpmpm))
    return np.vstack([np.array(rows), (mine - theirs).T])  # (measure, population)


def _sets(population: dict[str, Any], one: Configuration) -> dict[str, list[float]]:
    found: dict[str, list[float]] = population["fits"][one.fit]["contenders"][one.key]["values"]
    return found


def _printed_differences() -> NDArray[np.float64]:
    cells = [
        float(printed_cell(measure, "DP-areal")) - float(printed_cell(measure, "DPMPM"))
        for measure in IN_SHORT
    ]
    intervals = np.subtract(printed_figures("DP-areal"), printed_figures("DPMPM"))
    return np.concatenate([cells, intervals])  # (measure,)


def _against(
    printed: NDArray[np.float64], gap: NDArray[np.float64], measures: tuple[str, ...]
) -> dict[str, list[str]]:
    """Sort measures by whether all populations have the printed sign, or all the opposite."""
    found: dict[str, list[str]] = {sign: [] for sign in SIGNS}
    for words, cell, row in zip(measures, printed, gap, strict=True):
        along = row * cell  # (population,)
        sign = "same" if (along > 0).all() else "opposite" if (along < 0).all() else "open"
        found[sign].append(words)
    return found


def _in_words(whose: str, found: dict[str, list[str]]) -> str:
    same, opposite, unsettled = ("; ".join(found[sign]) or "nothing" for sign in SIGNS)
    return f"""
        With {whose}: the sign that the paper prints, in every population, for: {same}. The opposite
        sign, in every population, for: {opposite}. The populations disagree, so that nothing
        follows, on: {unsettled}.
        """


def _whatever(found: list[dict[str, list[str]]], measures: tuple[str, ...]) -> str:
    """Say what holds for every way of computing the DPMPM."""
    same, opposite = (
        "; ".join(words for words in measures if all(words in one[sign] for one in found))
        or "nothing"
        for sign in ("same", "opposite")
    )
    return f"""
        Whatever the sampler and the class draw: the sign that the paper prints, in every
        population, for: {same}; the opposite sign, in every population, for: {opposite}. What is
        not in these two lists depends on the class draw, or on the data.
        """
