"""The reproduction as a page: each table of the paper beside ours, and what follows from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

import understudy
from understudy.reproduction.blocks import Block, Drawing, Heading, Table, Text
from understudy.reproduction.chains_apart import apart_blocks, is_apart, warning_blocks
from understudy.reproduction.comparison import Beside, compare_all, mean_of
from understudy.reproduction.contenders import CONTENDERS, FITS
from understudy.reproduction.intervals import interval_blocks
from understudy.reproduction.places import place_blocks
from understudy.reproduction.published import IN_SHORT, PUBLISHED, TABLES

__all__ = ["TITLE", "page_blocks"]

TITLE = "The paper, cell by cell"
COLUMNS = ("Min", "DPMPM", "DP-areal", "Max")
USUAL = ("collapsed kept", "text", "Min", "Max")  # shown first
GENDER, GENDER_AGE = "expected_match_risk gender", "expected_match_risk gender, age"


def page_blocks(results: dict[str, Any], drawings: Sequence[Drawing] = ()) -> list[Block]:
    """Set the whole page.

    Parameters
    ----------
    results : dict
        From `running.run_all`.
    drawings : sequence of Drawing
        The figures of the paper, drawn from our study.
    """
    beside = compare_all(results)
    return [
        Heading(TITLE, 1),
        *_introduction(results),
        *(block for name in TABLES for block in _table(name, beside, results)),
        *interval_blocks(results),
        *_compatibility(beside),
        *_contradictions(results),
        *_conclusion(results),
        *_convergence(results),
        *_figures(drawings),
    ]


def _introduction(results: dict[str, Any]) -> list[Block]:
    count = len(results["populations"]) - 1
    short = (
        []
        if results["scale"] == "full"
        else [
            Text(
                """
            THIS IS A QUICK RUN: few populations, short chains, only some of the samplers. Read
            it as a preview; understudy reproduce without --quick makes the real page.
            """
            )
        ]
    )
    return [
        *short,
        *warning_blocks(results),
        Text(
            """
            Hu and Savitsky's data are confidential. What is public is the number of records
            (6,208), the counts of the 40 patterns, the number of counties (133) and the printed
            results. This page computes every printed cell on invented data with the same
            pattern counts, whose own maximum risk levels come close to the printed ones.
            """
        ),
        Text(
            f"""
            How to read it. "Ours" is the mean over {results["sets"]} synthetic sets of the bundled
            population; "over sets" gives the least and the largest of them. "Over populations" is
            the range of such means over {count} further populations, from other seeds of the same
            program; where all of them give the same figure, nothing can be predicted from it and
            the cell is not judged, but for counts of classes, which are whole numbers. Fits whose
            chains are apart say nothing about those and are left out there. In the first table of
            each kind, "ours" is the DPMPM with the collapsed sampler and class draw kept, and the
            DP-areal as in the paper's text. A printed cell is "inside" if it lies in the 95 %
            prediction interval for one more such
            population, allowing for rounding in print. Outside means: not explained by chance in
            the data and in the draws, if the paper's data are like ours; they need not be. Nothing
            was tuned to the printed results of any synthesizer; only the data's own Max levels were
            used in making the program that draws the populations, so that cells of Max lie inside
            by construction.
            """
        ),
        Text(
            f"""
            Every figure and table was written by understudy reproduce (version
            {understudy.__version__}, seed {results["seed"]}); none was typed.
            """
        ),
    ]


def _table(name: str, beside: list[Beside], results: dict[str, Any]) -> list[Block]:
    """Set one of the paper's tables: as the paper sets it, then every way of computing it."""
    own = [one for one in beside if one.cell.table == name]
    columns = [one for one in COLUMNS if any(cell.cell.column == one for cell in own)]
    header = ["", *(f"{column}, {whose}" for column in columns for whose in ("paper", "ours"))]
    overview = []
    for row in dict.fromkeys(one.cell.row for one in own):
        cells = [row]
        for column in columns:
            found = [
                one
                for one in own
                if (one.cell.row, one.cell.column) == (row, column) and one.contender in USUAL
            ]
            cells += _overview_cells(found[0]) if found else ["", ""]
        overview.append(tuple(cells))
    rows: list[tuple[str, ...]] = []
    for key, group in groupby(own, lambda one: (one.cell.row, one.cell.column, one.cell.printed)):
        rows.append(("{}: {}, printed {}".format(*key),))
        rows += [_detail(one) for one in group]
    return [
        Heading(TABLES[name]),
        Table(
            f"{TABLES[name]}: as the paper sets it (* outside the prediction interval)",
            tuple(header),
            tuple(overview),
            overview=True,
        ),
        Table(
            "Every way of computing it",
            (
                "computed as",
                "ours",
                "over sets",
                "over populations",
                "prediction interval",
                "printed cell inside",
            ),
            tuple(rows),
        ),
        *(place_blocks(results) if name == "attribute" else []),
    ]


def _overview_cells(one: Beside) -> list[str]:
    mark = "*" if one.inside is False else ""
    return [one.cell.printed + mark, _figure(one.value, one.cell.printed)]


def _detail(one: Beside) -> tuple[str, ...]:
    printed = one.cell.printed
    defined, sets = one.sets
    counted = f" ({defined} of {sets} sets)" if 0 < defined < sets else ""
    return (
        _title(one.contender),
        _figure(one.value, printed) + counted,
        _range(one.over_sets, printed),
        _range(_ends(one.over_populations), printed),
        _range(one.interval, printed),
        _inside(one.inside),
    )


def _compatibility(beside: list[Beside]) -> list[Block]:
    """Count, for every contender, which printed cells it is compatible with."""
    rows = []
    for contender in dict.fromkeys(one.contender for one in beside):
        if contender in ("Min", "Max"):
            continue
        judged = [one for one in beside if one.contender == contender and one.inside is not None]
        cells = []
        for table in TABLES:
            own = [one for one in judged if one.cell.table == table]
            cells.append(f"{sum(bool(one.inside) for one in own)} of {len(own)}" if own else "")
        rows.append((_title(contender), *cells))
    return [
        Heading("Which computation is compatible with which printed cells"),
        Text(
            """
            Cells inside, of those printed. With many cells some fall outside by chance (one in
            twenty if all assumptions hold), and the cells of a table are not independent of
            each other: the two attribute cells are one fact, as a number and in per cent, and
            populations differ so much in it that its interval excludes little.
            """
        ),
        Table(
            "Printed cells inside the prediction interval",
            ("computed as", "tables", "identification", "attribute", "classes"),
            tuple(rows),
        ),
    ]


def _contradictions(results: dict[str, Any]) -> list[Block]:
    bundled = results["populations"][0]
    level_rows = []
    for measure, words in ((GENDER, "gender"), (GENDER_AGE, "gender and age")):
        samples = bundled["levels"]["samples"]["Min"][measure]
        level_rows.append(
            (
                f"expected match risk, {words} known",
                _printed(measure, "Min"),
                f"{bundled['levels']['exact']['Min'][measure]:.2f}",
                f"{mean_of(samples):.2f} ({min(samples):.2f} to {max(samples):.2f})",
            )
        )
    pairing_rows = []
    for fit in bundled["fits"].values():
        for key, found in fit["contenders"].items():
            for measure, words in (
                (GENDER, "match risk, gender"),
                (GENDER_AGE, "match risk, gender and age"),
                ("attribute_matches", "attribute matches"),
            ):
                pairing_rows.append(
                    (
                        _title(key),
                        words,
                        _printed(measure, CONTENDERS[key].column),
                        f"{mean_of(found['values'][measure]):.2f}",
                        f"{mean_of(found['shuffled'][measure]):.2f}",
                    )
                )
    return [
        Heading("Two printed results that contradict the definitions"),
        Text(
            """
            First, the Min level of identification is printed as 0, with no unique matches. If
            every label is redrawn uniformly over G labels, a record in a known cell of n
            records is matched with expected risk whose sum over records is the number of known
            cells, less a little: the sum over cells of 1 - (1 - 1/G)^n. It depends only on the
            pattern counts and on G, both of which the paper prints. The closed form and a
            simulation agree, and neither is 0.
            """
        ),
        Table(
            "The Min level",
            ("measure", "paper", "closed form", "simulated: mean (least to largest)"),
            tuple(level_rows),
        ),
        Text(
            """
            Second, the DP-areal column of identification lies below that level. If the rows of
            a synthetic file are paired with the records at random, record i is matched with
            probability c/n times 1/c, so that the expected match risk is the share of records
            with any candidate: at most 1 for any data and any synthesizer.
            """
        ),
        *_pairing(bundled),
        Table(
            "Rows aligned, and whole rows shuffled, on the bundled population",
            ("computed as", "measure", "paper", "aligned", "shuffled"),
            tuple(pairing_rows),
            numbers=2,
        ),
        Text(
            """
            What follows from the definitions is that the printed Min and DP-areal
            identification figures cannot all be what the definitions give on row-aligned files.
            That rows were not aligned in that computation is a hypothesis which fits these
            figures; it is not proven, and other causes are possible. The paper's own remark
            that the DP-areal risk falls as the intruder's knowledge grows fits it too: with
            aligned rows more knowledge never lowers the expected match risk.
            """
        ),
    ]


def _pairing(bundled: dict[str, Any]) -> list[Block]:
    """Say in words what alignment and shuffling give."""
    if "collapsed" not in bundled["fits"] or "text" not in bundled["fits"]:
        return []
    areal = bundled["fits"]["text"]["contenders"]["text"]
    dpmpm = bundled["fits"]["collapsed"]["contenders"]["collapsed kept"]

    def figures(measure: str) -> tuple[str, ...]:
        ours = (areal["values"], dpmpm["values"], areal["shuffled"])
        return (*(f"{mean_of(one[measure]):.2f}" for one in ours), _printed(measure, "DP-areal"))

    words = "{} with rows aligned (the DPMPM {}), {} with rows shuffled, and {} is printed"
    return [
        Text(
            f"""
            The DP-areal (text), on the bundled population. Expected match risk, gender known:
            {words.format(*figures(GENDER))}. Gender and age known:
            {words.format(*figures(GENDER_AGE))}. Attribute matches, which depend on the data far
            more (see the range over populations above):
            {words.format(*figures("attribute_matches"))}.
            """
        )
    ]


def _conclusion(results: dict[str, Any]) -> list[Block]:
    """Set the two synthesizers against each other, population by population."""
    fits = results["populations"][0]["fits"]
    if "collapsed" not in fits or "text" not in fits:
        return []
    rows = []
    found: dict[str, list[str]] = {"same": [], "opposite": [], "open": []}
    met = np.array(
        [
            not any(is_apart(one["fits"][key]) for key in ("collapsed", "text"))
            for one in results["populations"]
        ]
    )  # (population,)
    for measure, words in IN_SHORT.items():
        difference = np.array([_difference(one, measure) for one in results["populations"]])
        higher = difference > 0  # (population,)
        printed = _sign(_printed(measure, "DPMPM"), _printed(measure, "DP-areal"))
        found[_against(printed, difference)].append(words)
        rows.append(
            (
                words,
                printed,
                f"{difference[0]:+.2f}",
                f"{difference.min():+.2f} to {difference.max():+.2f}",
                f"{higher.sum()} of {higher.size}",
                f"{higher[met].sum()} of {met.sum()}",
            )
        )
    return [
        Heading("What follows for the paper's conclusion"),
        Text(
            """
            The paper concludes that the DPMPM keeps more utility and carries more risk. Below,
            DP-areal (text) minus DPMPM (collapsed, class draw kept) on the same population, so
            that differences between populations cancel. A sign that is the same in all
            populations is a result about data made like these; it need not hold for others.
            """
        ),
        Table(
            "DP-areal minus DPMPM",
            (
                "measure",
                "paper",
                "bundled",
                "all populations",
                "DP-areal higher in",
                "of those whose chains have met",
            ),
            tuple(rows),
        ),
        Text(
            f"""
            In words. The difference has the sign that the paper prints, in every population, for:
            {"; ".join(found["same"]) or "nothing"}. It has the opposite sign, in every population,
            for: {"; ".join(found["opposite"]) or "nothing"}. The populations disagree, so that
            nothing follows, on: {"; ".join(found["open"]) or "nothing"}.
            """
        ),
    ]


def _difference(one: dict[str, Any], measure: str) -> float:
    """DP-areal minus DPMPM on one population, of a measure that is always defined."""
    areal = one["fits"]["text"]["contenders"]["text"]["values"][measure]
    dpmpm = one["fits"]["collapsed"]["contenders"]["collapsed kept"]["values"][measure]
    return float(np.mean(areal) - np.mean(dpmpm))


def _convergence(results: dict[str, Any]) -> list[Block]:
    rows = []
    for number, one in enumerate(results["populations"]):
        for key, fit in one["fits"].items():
            cells = [cell for part in (fit["labels"], fit["rest"]) for cell in _judged(part)]
            lengths = fit["lengths"]
            sweeps = lengths["warmup"] + lengths["draws"] * lengths["thin"]
            rows.append((f"{number}: {FITS[key].title}", f"{sweeps:,}", *cells))
    return [
        Heading("Have the chains converged?"),
        Text(
            """
            Asked for are an R-hat below 1.01 and effective sample sizes of at least 400.
            Sets of the DP-areal, and of the DPMPM with the class draw kept, are drawn from the
            label probabilities, so every one of them is judged; the rest are the numbers of classes
            or clusters in use, the concentration, the precision of log rates and the
            log-likelihood, which move more slowly. Where label probabilities say NO with an R-hat
            up to 1.05, figures from that fit are not to be relied on to their last digit; above,
            they are not to be relied on, except as far as the comparison by chain below goes; where
            only the rest says NO, that holds for what this page says of class counts.
            Population 0 is the bundled one; for the others the DP-areal has shorter chains. The
            blocked sampler has twice its usual sweeps, being the slower one to mix.
            """
        ),
        Table(
            "Every fit behind this page",
            (
                "population: fit",
                "sweeps a chain",
                "label probabilities converged",
                "worst R-hat",
                "least bulk ESS",
                "rest converged",
                "its worst R-hat",
                "its least bulk ESS",
            ),
            tuple(rows),
            numbers=1,
        ),
        *apart_blocks(results),
    ]


def _judged(part: dict[str, Any]) -> tuple[str, str, str]:
    """Say whether all quantities of a part have converged, and the worst R-hat and ESS."""
    passed = f"NO: {part['failed']} of {part['quantities']}" if part["failed"] else "yes"
    return passed, f"{part['worst_rhat']:.3f}", f"{part['least_ess']:,.0f}"


def _figures(drawings: Sequence[Drawing]) -> list[Block]:
    return (
        [Heading("The paper's figures, on the bundled population"), *drawings] if drawings else []
    )


def _printed(measure: str, column: str) -> str:
    found = [one.printed for one in PUBLISHED if (one.measure, one.column) == (measure, column)]
    return found[0] if found else ""


def _against(printed: str, difference: NDArray[np.float64]) -> str:
    """Tell whether the differences of all populations have the printed sign, or the opposite."""
    along = difference * float(printed)  # (population,)
    return "same" if (along > 0).all() else "opposite" if (along < 0).all() else "open"


def _sign(dpmpm: str, areal: str) -> str:
    return f"{float(areal) - float(dpmpm):+.2f}"


def _title(contender: str) -> str:
    if contender in ("Min", "Max"):
        return f"level {contender}"
    key = contender.removesuffix(" shuffled")
    return CONTENDERS[key].title + (", rows shuffled" if key != contender else "")


def _digits(printed: str) -> int:
    return max(2, len(printed.partition(".")[2]))


def _figure(value: float | None, printed: str) -> str:
    return "undefined" if value is None else f"{value:.{_digits(printed)}f}"


def _ends(values: Sequence[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None


def _range(ends: tuple[float, float] | None, printed: str) -> str:
    if ends is None:
        return ""
    return f"{_figure(ends[0], printed)} – {_figure(ends[1], printed)}"


def _inside(inside: bool | None) -> str:
    return "" if inside is None else "yes" if inside else "no"
