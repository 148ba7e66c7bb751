"""Two printed results that the definitions exclude: shown by computation, with no claim of a cause.

That more knowledge cannot lower the expected match risk of row-aligned files, and that the Min
baseline cannot be 0, follow from the definitions for any data. Everything else here is what our own
invented data show, and a hypothesis.
"""

from __future__ import annotations

from typing import Any

from understudy.pages.blocks import Block, Heading, Paragraph, Table
from understudy.reproduction.attribute_positions import position_inside
from understudy.reproduction.cell_comparison import Comparison, mean_of
from understudy.reproduction.configurations import AREAL
from understudy.reproduction.published import printed_cell

__all__ = ["contradiction_blocks"]

GENDER, GENDER_AGE = "expected_match_risk gender", "expected_match_risk gender, age"
INTRUDERS = {"gender": "gender", "gender, age": "gender and age"}


def contradiction_blocks(results: dict[str, Any], comparisons: list[Comparison]) -> list[Block]:
    """Set both, each with the computation that shows it."""
    bundled = results["populations"][0]
    return [
        Heading("Two printed results that contradict the definitions"),
        *_minimum(bundled),
        *_alignment(bundled),
        *_explained(results, comparisons),
    ]


def _minimum(bundled: dict[str, Any]) -> list[Block]:
    baselines = bundled["baselines"]
    rows = []
    for known, words in INTRUDERS.items():
        measure = f"expected_match_risk {known}"
        samples = baselines["samples"]["Min"][measure]
        rows.append(
            (
                f"expected match risk, {words} known",
                printed_cell(measure, "Min"),
                f"{baselines['exact']['Min'][measure]:.2f}",
                f"{mean_of(samples):.2f} ({min(samples):.2f} to {max(samples):.2f})",
            )
        )
    for known, words in INTRUDERS.items():
        rates = baselines["samples"]["Min"][f"false_match_rate {known}"]
        unique = sum(rate is not None for rate in rates)
        rows.append(
            (
                f"repeats with a unique match, {words} known",
                "none",
                "",
                f"{unique} of {len(rates)}",
            )
        )
    return [
        Paragraph(
            """
            First, the paper's text gives the Min baseline of identification as 0, without a unique
            match. If every label is redrawn uniformly over G labels, the expected match risks of
            the n records of a known cell add up to 1 - (1 - 1/G)^n. Whichever pattern has which
            gender and age, the sum over cells is at least that of one cell with all 6,208 records,
            which is 1.00. Our results agree that no match is unique where gender is known, but not
            where age is known too.
            """
        ),
        Table(
            "The Min baseline",
            ("measure", "paper", "closed form", "simulated: mean (smallest to largest)"),
            rows,
        ),
    ]


def _alignment(bundled: dict[str, Any]) -> list[Block]:
    return [
        Paragraph(
            f"""
            Second, the DP-areal's expected match risk is printed as
            {printed_cell(GENDER, "DP-areal")} with gender known, and as
            {printed_cell(GENDER_AGE, "DP-areal")} with gender and age known: it falls as knowledge
            grows, which the paper remarks on. In files whose row i stands in for record i it
            cannot, for any data and any synthesizer: a record is among the candidates if its
            synthetic label is the true one, and further knowledge can only take other candidates
            away.
            """
        ),
        Paragraph(
            """
            If rows are paired with records at random, record i is matched with probability c/n
            times 1/c. So the expected match risk is on average the share of records with any
            candidate: at most 1, and falling with knowledge. A single pairing scatters around that.
            """
        ),
        *_pairing(bundled),
    ]


def _explained(results: dict[str, Any], comparisons: list[Comparison]) -> list[Block]:
    """Word the hypothesis, with what speaks for it and against it."""
    if AREAL not in results["populations"][0]["fits"]:
        return []
    judged = [position_inside(results, key) for key in (AREAL, f"{AREAL} shuffled")]
    aligned, shuffled = ("outside" if inside is False else "inside" for inside in judged)
    position = f"""
        The printed position of the DP-areal's attribute matches lies {aligned} the range of aligned
        rows and {shuffled} that of shuffled ones.
        """
    tables = [
        comparison
        for comparison in comparisons
        if (comparison.configuration, comparison.cell.table) == (AREAL, "utility")
    ]
    outside = sum(table.inside is False for table in tables)
    tables_differ = f"""
        And {outside} of its {len(tables)} printed table deviations, which no pairing affects, lie
        outside: the paper's sets, or its data, differ from ours in more than the pairing.
        """
    return [
        Paragraph(
            f"""
            By the definitions, these two printed values cannot both come from row-aligned files.
            That rows were not aligned in that computation is a hypothesis; it is not proven, and
            other causes are possible. In its favour, both values are near 1 and fall with
            knowledge, as with shuffled rows.
            {"" if None in judged else position}
            {tables_differ if outside else ""}
            """
        )
    ]


def _pairing(bundled: dict[str, Any]) -> list[Block]:
    """Say in words what alignment and shuffling give."""
    if "collapsed" not in bundled["fits"] or "text" not in bundled["fits"]:
        return []
    areal = bundled["fits"]["text"]["configurations"]["text"]
    dpmpm = bundled["fits"]["collapsed"]["configurations"]["collapsed kept"]

    def values(measure: str) -> tuple[str, ...]:
        ours = (areal["values"], dpmpm["values"], areal["shuffled"])
        means = (f"{mean_of(sets[measure]):.2f}" for sets in ours)
        return (*means, printed_cell(measure, "DP-areal"))

    words = "{} with rows aligned (the DPMPM {}), {} with rows shuffled, and {} is printed"
    return [
        Paragraph(
            f"""
            The DP-areal (text), on the bundled population. Expected match risk, gender known:
            {words.format(*values(GENDER))}. Gender and age known:
            {words.format(*values(GENDER_AGE))}. Attribute matches, which depend far more on
            the data: {words.format(*values("attribute_matches"))}.
            """
        )
    ]
