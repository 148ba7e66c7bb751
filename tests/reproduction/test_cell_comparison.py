"""Inside or outside the range over populations, and the page that says so."""

from __future__ import annotations

import csv
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.pages.blocks import Figure, Heading, Paragraph, Table, all_tables
from understudy.pages.html import html_page
from understudy.pages.markdown import markdown_page
from understudy.randomness import stream
from understudy.reproduction.cell_comparison import (
    Comparison,
    compare_all,
    coverage,
    mean_of,
    range_of,
)
from understudy.reproduction.configurations import CONFIGURATIONS, FITS
from understudy.reproduction.level_priors import level_prior_blocks
from understudy.reproduction.published import PUBLISHED
from understudy.reproduction.regression_intervals import compare_intervals
from understudy.reproduction.reproduction_page import page_blocks
from understudy.reproduction.write import cells_as_csv, table_as_csv

DOCS = Path(__file__).parents[2] / "docs"
VARIES = (
    "NOT ALL CHAINS",
    "on the bundled population. Expected match risk",
    "How to read it",
    "Whatever the sampler",
    "Second, the DP-areal",
    "In short.",
    "By the definitions, these two",
    "Every value and table was written",
    "Cells inside, of those that are defined",
    "The rest has not converged",
)  # texts with numbers


def invented(n_populations: int, fits: tuple[str, ...] = tuple(FITS)) -> dict[str, Any]:
    """Make results of the right shape, all measures being 1, 2, ... by population."""
    measures = sorted({cell.measure for cell in PUBLISHED})

    def values(number: int) -> dict[str, list[float]]:
        return {measure: [number + 0.5, number + 1.5] for measure in measures}

    def fit(number: int, key: str) -> dict[str, Any]:
        rows = [
            {
                "coefficient": f"county[{index}]",
                "original_lower": -1.0, "original_upper": 1.0,
                "combined_lower": -1.5, "combined_upper": 0.5, "overlap": 0.75,
            }
            for index in range(5)
        ]  # fmt: skip
        return {
            "converged": key != "script",
            "labels": {"quantities": 10, "failed": 0, "worst_rhat": 1.002, "least_ess": 890.0},
            "rest": {"quantities": 4, "failed": 2, "worst_rhat": 1.02, "least_ess": 99.0},
            "classes": [3.0, 9.0],
            "lengths": {"warmup": 1000, "draws": 100, "thin": 7},
            "configurations": {
                configuration.key: {
                    "chains": [0, 1],
                    "values": values(number),
                    "shuffled": values(number),
                    "regression": rows,
                }
                for configuration in CONFIGURATIONS.values()
                if configuration.fit == key
            },
        }

    populations = [
        {
            "baselines": {
                "samples": {"Min": values(number), "Max": values(number)},
                "exact": {"Min": dict.fromkeys(measures, 2.0), "Max": dict.fromkeys(measures, 4.0)},
            },
            "fits": {key: fit(number, key) for key in fits},
        }
        for number in range(n_populations)
    ]
    return {"scale": "full", "sets": 2, "seed": 1, "populations": populations}


@pytest.mark.parametrize("draw", ["normal", "lognormal", "integers"])
def test_the_range_covers_as_it_says(draw: str) -> None:
    """Ten values and one more, 4,000 times: at least 9/11 of them, whatever the distribution.

    Exactly 9/11 without ties; within 4.5 standard errors, false-alarm rate 1e-5.
    """
    generator = stream(7, "coverage", draw)
    values = {
        "normal": generator.normal(size=(4000, 11)),
        "lognormal": generator.lognormal(0.0, 2.0, size=(4000, 11)),
        "integers": generator.integers(0, 3, size=(4000, 11)).astype(float),
    }[draw]
    inside = 0
    for row in values.tolist():
        ends = range_of(row[:10])
        assert ends is not None
        inside += ends[0] <= row[10] <= ends[1]
    assert coverage(10) == Fraction(9, 11)
    error = 4.5 * float(np.sqrt(9 / 11 * 2 / 11 / 4000))
    assert inside / 4000 > 9 / 11 - error
    assert draw == "integers" or inside / 4000 < 9 / 11 + error


def test_one_population_has_no_range() -> None:
    assert range_of([1.0]) is None
    assert range_of([1.0, None]) is None
    assert range_of([1.0, None, 1.0]) == (1.0, 1.0)
    assert coverage(1) == coverage(0) == 0
    assert mean_of([None, None]) is None
    assert mean_of([None, 2.0]) == 2.0


def test_counts_of_classes_are_judged_only_by_chains_that_have_met() -> None:
    """All fits have 3 to 9 classes; the one that is apart would have widened the range."""
    results = invented(4)
    apart = results["populations"][2]["fits"]["blocked"]
    apart["labels"]["worst_rhat"], apart["classes"] = 1.9, [3.0, 40.0]
    by_key = {
        (comparison.configuration, comparison.cell.measure): comparison
        for comparison in compare_all(results)
    }
    compared = by_key["blocked kept", "classes_upper"]
    assert (compared.over_populations, compared.inside) == ((9.0, 9.0), False)


def test_every_printed_cell_meets_every_configuration_of_its_column() -> None:
    beside = compare_all(invented(4))
    assert {(compared.cell.measure, compared.cell.column) for compared in beside} == {
        (cell.measure, cell.column) for cell in PUBLISHED
    }
    attribute = [compared.configuration for compared in beside if compared.cell.printed == "88.15"]
    assert attribute == ["text", "script", "text shuffled", "script shuffled"]
    classes = [compared.configuration for compared in beside if compared.cell.printed == "28"]
    assert classes == [
        "collapsed kept", "blocked kept", "tenth kept", "share kept", "sampled kept"
    ]  # fmt: skip


def test_priors_of_the_county_are_set_beside_the_printed_cells() -> None:
    """Redrawn means 2, 3, 4: of the printed cells of the DPMPM only 2.497 lies among them."""
    results = invented(4)
    blocks = level_prior_blocks(results, compare_all(results))
    table = next(block for block in blocks if isinstance(block, Table))
    priors = ("prior 1 (the paper's)", "prior 0.1", "prior 1/133", "prior sampled")
    assert table.header[2:] == priors
    rows = {(row[0].text, row[1].text): row for row in table.cells if len(row) > 1}
    match = next(row for (_, printed), row in rows.items() if printed == "2.497")
    assert [cell.text for cell in match[2:]] == ["1.00"] * 4
    tables = next(row for (_, printed), row in rows.items() if printed == "47.908")
    assert [cell.text for cell in tables[2:]] == ["1.00†"] * 4
    results["populations"][0]["fits"]["share"]["labels"]["worst_rhat"] = 1.9
    apart = level_prior_blocks(results, compare_all(results))
    assert "| 9 (chains apart) |" in markdown_page(apart, "")
    assert level_prior_blocks(invented(4, ("blocked", "text")), compare_all(results)) == []


def test_inside_allows_for_rounding_and_leaves_undefined_alone() -> None:
    """Redrawn means 2, 3, 4, bundled 1: 2.497 is inside, 0.952 and 4.708 are not."""
    results = invented(4)
    by_key = {
        (comparison.cell.measure, comparison.cell.column): comparison
        for comparison in compare_all(results)
    }
    compared = by_key["expected_match_risk gender", "Max"]
    assert compared.over_populations == (2.0, 4.0)
    assert compared.value == 1.0
    assert compared.over_sets == (0.5, 1.5)
    assert compared.inside is False
    assert by_key["expected_match_risk gender", "DPMPM"].inside is True
    assert by_key["expected_match_risk gender", "DP-areal"].inside is False  # only the bundled is
    assert by_key["false_match_rate gender", "Min"].inside is None
    for end, inside in ((4.7076, True), (4.7074, False)):
        baseline = results["populations"][3]["baselines"]["samples"]["Max"]
        baseline["expected_match_risk gender"] = [end]
        by_key = {
            (comparison.cell.measure, comparison.cell.column): comparison
            for comparison in compare_all(results)
        }
        assert by_key["expected_match_risk gender", "Max"].inside is inside


def test_a_mean_over_some_sets_says_over_how_many() -> None:
    results = invented(2)
    fits = results["populations"][0]["fits"]
    fits["text"]["configurations"]["text"]["values"]["false_match_rate gender"] = [None, 0.75]
    by_key = {
        (comparison.configuration, comparison.cell.measure): comparison
        for comparison in compare_all(results)
    }
    assert by_key["text", "false_match_rate gender"].sets == (1, 2)
    assert by_key["script", "false_match_rate gender"].sets == (2, 2)
    assert markdown_page(page_blocks(results), "figures").count("0.7500; 1 of 2 sets") == 0
    results = invented(3)
    fits = results["populations"][0]["fits"]
    fits["text"]["configurations"]["text"]["values"]["false_match_rate gender"] = [None, 0.75]
    page = markdown_page(page_blocks(results), "figures")
    assert page.count("| 0.7500 (2.0000–3.0000; 1 of 2 sets)† |") == 2  # overview, every way


def test_intervals_are_compared() -> None:
    """Overlaps 1, 0 and -1; widths as the original's and twice; the last reverses its sign."""
    pairs = [((1.0, 2.0), (1.0, 2.0)), ((-1.0, 1.0), (1.0, 5.0)), ((1.0, 2.0), (-1.0, -0.0))]
    overlap, width, kept = compare_intervals(pairs)
    assert overlap == pytest.approx((1.0 + 0.0 - 1.0) / 3)
    assert width == pytest.approx((1.0 + 2.0 + 1.0) / 3)
    assert kept == pytest.approx(1 / 3)
    reversed_sign = [((1.0, 2.0), (-2.0, -1.0))]
    assert compare_intervals(reversed_sign)[2] == 0.0


def test_positions_of_attribute_matches() -> None:
    """Printed 115.25 between 47.25 and 175.33; ours 1, 2, 3, 4 between 2 and 4, bundled first."""
    page = " ".join(markdown_page(page_blocks(invented(4)), "figures").split())
    assert "| DPMPM, as printed | 115.25 | 0.53 |" in page
    assert "| DP-areal, text | 1.00 (2.00–4.00)† | -0.50 (0.00–1.00) |" in page
    assert "| Max, as printed | 175.33 | |" in page


def test_the_page_tells_all() -> None:
    blocks = page_blocks(invented(4), [Figure("<svg></svg>", "A figure.", "one")])
    page = html_page("T", blocks)
    text = markdown_page(blocks, "figures")
    for printed in ("17.105", "0.851", "[-0.546, -0.027]"):
        assert printed in page
        assert printed in text
    assert "1,700" in page  # sweeps a chain
    assert "hypothesis" in page
    assert "<svg></svg>" in page
    assert "](figures/one.svg)" in text
    assert "QUICK" not in page


def test_the_conclusion_says_which_signs_are_found_again() -> None:
    """The DPMPM with class draw full has more matches than the DP-areal, else it has fewer."""
    results = invented(3)
    for number, population in enumerate(results["populations"]):
        values = population["fits"]["text"]["configurations"]["text"]["values"]
        values["attribute_matches"] = [90.0, 100.0]
        values["deviation 1"] = [100.0, 110.0]
        values["deviation 2"] = [50.0 if number else 0.1]
        for sampler in ("collapsed", "blocked"):
            made = population["fits"][sampler]["configurations"]
            made[f"{sampler} full"]["values"]["attribute_matches"] = [200.0, 210.0]
    page = " ".join(markdown_page(page_blocks(results), "figures").split())
    assert "| measure, of 3 populations | paper's sign |" in page
    assert "| attribute matches | - | 3 | 0 | 3 | 3 | 0 | 3 |" in page
    assert "| two-way deviation / 100 | + | 2 | 2 | 2 | 2 | 2 | 2 |" in page
    whatever = page.partition("Whatever the sampler and the class draw: ")[2]
    same, _, opposite = whatever.partition("Everything else")[0].partition("the opposite sign")
    assert "one-way deviation" in same
    assert "attribute matches" not in same + opposite
    short = page.partition("In short.")[2].partition("Hu and Savitsky")[0]
    assert "in 0 to 3 of 3 populations if the DPMPM draws classes given the kept" in short
    assert "in 0 if it draws them as the software that" in short
    assert "worse, as printed, in 3 of 3" in short


def test_a_cell_outside_the_range_is_marked() -> None:
    """Redrawn means 2, 3, 4: 4.708 and 9.087 lie outside, 2.497 inside."""
    page = markdown_page(page_blocks(invented(4)), "figures")
    assert "| 4.708 | 1.000 (2.000–4.000)† |" in page
    assert "| 2.497 | 1.000 (2.000–4.000) |" in page
    assert "| one-way | 9.087 | 1.000 (2.000–4.000)† |" in page
    assert "| DPMPM, collapsed, class draw kept | 1.000 (2.000–4.000)† |" in page
    assert "over all 3 covers its value with probability at least 1/2, for any" in page


def test_a_position_that_cannot_be_judged_counts_neither_way() -> None:
    """One redrawn population has no range; of three, one is there."""
    for n_populations, told in ((2, False), (4, True)):
        page = " ".join(markdown_page(page_blocks(invented(n_populations)), "figures").split())
        assert ("lies inside the range of aligned rows" in page) is told
        assert ("compatible with no class draw" in page) is not told


def test_more_knowledge_and_the_minimum_are_told_from_the_values() -> None:
    results = invented(2)
    baselines = results["populations"][0]["baselines"]["samples"]["Min"]
    baselines["false_match_rate gender"] = [None, None]
    page = markdown_page(page_blocks(results), "figures")
    assert "| repeats with a unique match, gender known | none |  | 0 of 2 |" in page
    assert "| repeats with a unique match, gender and age known | none |  | 2 of 2 |" in page
    text = " ".join(page.split())
    assert "printed as 0.952 with gender known, and as 0.851 with gender and age known" in text


def test_the_page_says_how_long_chains_may_become() -> None:
    results = invented(2)
    page = " ".join(markdown_page(page_blocks(results), "figures").split())
    assert "judged after 1,200 sweeps and every 600 further ones" in page
    assert "or give up after 12,600" in page
    short = markdown_page(page_blocks({**results, "scale": "quick"}), "figures")
    assert "as long as necessary" not in short


def test_the_documentation_carries_the_page_as_it_is_written_now() -> None:
    """Its figures come from a run of an hour; its headings, tables and prose are compared."""
    carried = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    blocks = page_blocks(invented(4))
    headings = [
        f"{'#' * block.level} {block.text}\n" for block in blocks if isinstance(block, Heading)
    ]
    tables = [table for table in all_tables(blocks) if not table.folded]
    captions = [f"**{table.caption}**\n" for table in tables if not table.file]
    filed = [table for table in tables if table.file]
    captions += [f"[{table.caption}](reproduction/{table.file}.csv)" for table in filed]
    for table in filed:
        with (DOCS / "reproduction" / f"{table.file}.csv").open(encoding="utf-8") as lines:
            assert set(next(csv.reader(lines))[1:]) <= set(table.header[1:])
    ways = (DOCS / "reproduction" / "cells.csv").read_text(encoding="utf-8").splitlines()
    assert ways[0] == cells_as_csv([]).strip()
    assert len(ways) > 150
    prose = [block.words for block in blocks if isinstance(block, Paragraph)]
    fixed = [text for text in prose if not any(sign in text for sign in VARIES)]
    assert len(fixed) >= 8
    missing = [text for text in (*headings, *captions, *fixed) if text not in carried]
    assert not missing
    drawings = re.findall(r"\]\((reproduction/[^)]+\.svg)\)", carried)
    assert len(drawings) == 18
    assert all((DOCS / drawing).is_file() for drawing in drawings)


def test_chains_that_are_apart_are_named_first() -> None:
    results = invented(2)
    assert "NOT ALL CHAINS HAVE CONVERGED" not in html_page("T", page_blocks(results))
    results["populations"][1]["fits"]["blocked"]["labels"]["worst_rhat"] = 1.4
    page = html_page("T", page_blocks(results))
    assert "DPMPM, blocked sampler, 40 classes, on population 1." in " ".join(page.split())
    assert page.index("NOT ALL CHAINS") < page.index("In short.") < page.index("How to read it")
    results["populations"][0]["fits"]["blocked"]["labels"]["worst_rhat"] = 1.4
    page = html_page("T", page_blocks(results))
    assert "DPMPM, blocked sampler, 40 classes, on populations 0, 1." in " ".join(page.split())


def test_fits_that_missed_a_target_stand_apart_from_those_that_converged() -> None:
    results = invented(3)
    for number, (failed, rhat, ess) in enumerate(
        [(0, 1.002, 890.0), (3, 1.2, 9.0), (0, 1.009, 500)]
    ):
        fit = results["populations"][number]["fits"]["text"]
        fit["labels"] |= {"failed": failed, "worst_rhat": rhat, "least_ess": ess}
        fit["lengths"] = {"warmup": 1000, "draws": 100 + number, "thin": 10}
    results["populations"][2]["fits"]["text"]["rest"] |= {"failed": 0, "worst_rhat": 1.03}
    page = markdown_page(page_blocks(results), "figures")
    name = "DP-areal as in the paper's text"
    assert f"| {name} | 1 | 2,010 | 3 of 10 | 1.2000 | 9 | 1 of 1 | 1.0200 | 99 |" in page
    shared = f"| {name} | 0, 2 | 2,000–2,020 | none | 1.0090 | 500 | 1 of 2 | 1.0300 | 99 |"
    assert shared in page
    assert f"The rest has not converged in {3 * len(FITS) - 1} of {3 * len(FITS)} fits." in page
    assert page.index("Some label probability has not") < page.index("Every label probability has")


def test_chains_that_are_apart_are_compared_by_what_they_measure() -> None:
    """Three fits are apart; in one of them two chains differ in the three-way deviation."""
    results = invented(3)
    for number in range(3):
        fit = results["populations"][number]["fits"]["blocked"]
        fit["labels"]["worst_rhat"] = 1.4
        sets = fit["configurations"]["blocked kept"]
        sets["chains"] = [0, 1, 0, 1, 0, 1]
        for measure in sets["values"]:
            sets["values"][measure] = [1.0, 1.1, 1.2, 1.1, 1.1, 1.1]
    page = " ".join(markdown_page(page_blocks(results), "figures").split())
    assert "a difference is shown for: none of these measures." in page
    assert "| three-way deviation / 100 | 0.00 | 0.0 | 0.00 | 0 of 3 | 0 of 0 | 1.000 |" in page
    sets["values"]["deviation 3"] = [1.0, 9.0, 1.2, 9.2, 1.1, 9.1]
    page = " ".join(markdown_page(page_blocks(results), "figures").split())
    assert "a difference is shown for: three-way deviation / 100." in page
    # means over sets 1.1, 1.1 and 5.1; sets of a chain 0.1 apart
    row = "| three-way deviation / 100 | 8.00 | 80.0 | 2.31 | 1 of 3 | 0 of 0 | below 0.001 |"
    assert row in page


def test_a_quick_page_says_so_and_lives_with_fewer_fits() -> None:
    results = invented(2, ("collapsed",)) | {"scale": "quick"}
    page = html_page("T", page_blocks(results))
    assert "THIS IS A QUICK RUN" in page
    assert "What follows for" not in page


def test_a_comparison_goes_into_json() -> None:
    compared: Comparison = compare_all(invented(4))[0]
    assert compared.as_json() == {
        "table": "utility", "measure": "deviation 1", "column": "DPMPM", "paper": 9.087,
        "computed_as": "collapsed kept", "ours": 1.0, "defined_in_sets": [2, 2], "sets": [0.5, 1.5],
        "populations": [2.0, 4.0], "inside": False,
    }  # fmt: skip


def test_every_way_goes_into_a_file() -> None:
    """Redrawn means 2, 3, 4, each of two sets half above and half below; bundled 1."""
    first, second = cells_as_csv(compare_all(invented(4))[:1]).splitlines()
    assert first.endswith(
        "least of sets,most of sets,least of populations,most of populations,inside"
    )
    way = '"DPMPM, collapsed, class draw kept"'
    assert second == f"utility,one-way,DPMPM,9.087,{way},1,2,0.5,1.5,2,4,no"


def test_a_table_goes_into_a_file() -> None:
    table = Table("Two", ("", "paper", "ours"), [("DPMPM",), ("a, b", "1", "2†")], file="two")
    assert table_as_csv(table) == ',paper,ours\nDPMPM\n"a, b",1,2†\n'
