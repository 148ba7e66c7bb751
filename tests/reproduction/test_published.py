"""The printed cells: complete, and consistent with each other."""

from __future__ import annotations

import numpy as np

from understudy.microdata.bundled.make_ce_like import COUNTIES, PATTERN_SIZES
from understudy.reproduction.published import COUNTIES as PRINTED_COUNTIES
from understudy.reproduction.published import INTERVALS, PUBLISHED, TABLES


def test_every_table_has_cells_and_every_cell_a_table() -> None:
    assert {cell.table for cell in PUBLISHED} == set(TABLES)
    places = [(cell.measure, cell.column) for cell in PUBLISHED]
    assert len(set(places)) == len(places) == 40


def test_percentages_follow_from_counts() -> None:
    counts = {cell.column: cell.value for cell in PUBLISHED if cell.measure == "attribute_matches"}
    shares = {cell.column: cell for cell in PUBLISHED if cell.measure == "attribute_percent"}
    for column, count in counts.items():
        assert count is not None
        assert abs(100 * count / PATTERN_SIZES.sum() - shares[column].value) <= (
            shares[column].rounding + 1e-9
        )


def test_rounding_is_half_a_unit_of_the_last_digit() -> None:
    by_text = {cell.printed: cell.rounding for cell in PUBLISHED}
    assert by_text["9.087"] == 0.0005
    assert by_text["47.25"] == 0.005
    assert by_text["28"] == 0.5


def test_a_risk_without_decimals_is_exact() -> None:
    """The paper prints 0 beside 0.000; half a unit would let any rate pass for it."""
    rounding = {(cell.measure, cell.column): cell.rounding for cell in PUBLISHED}
    assert rounding["true_match_rate gender", "DP-areal"] == 0.0
    assert rounding["true_match_rate gender", "DPMPM"] == 0.0005


def test_undefined_is_no_number() -> None:
    assert all(cell.value is None for cell in PUBLISHED if cell.printed == "NaN")


def test_intervals_are_intervals() -> None:
    for ends in INTERVALS.values():
        assert len(ends) == len(PRINTED_COUNTIES)
        assert all(low < high for low, high in ends)


def test_the_printed_minimum_is_not_what_the_public_counts_give() -> None:
    """Pattern counts and 133 counties are printed; which pattern is whose gender is assumed."""
    by_gender = np.array([PATTERN_SIZES[:20].sum(), PATTERN_SIZES[20:].sum()])
    exact = float((1 - (1 - 1 / len(COUNTIES)) ** by_gender).sum())
    printed = next(
        cell for cell in PUBLISHED
        if (cell.measure, cell.column) == ("expected_match_risk gender", "Min")
    )  # fmt: skip
    assert printed.value == 0
    assert abs(exact - 2.0) < 1e-6
    whole = 1 - (1 - 1 / len(COUNTIES)) ** PATTERN_SIZES.sum()  # no split of it gives less
    assert whole > 0.999
