"""Numbers with the digits their error allows; names that cannot do harm."""

from __future__ import annotations

import pytest

from understudy.summaries import (
    counted,
    frequencies,
    number,
    one_in,
    percent,
    percent_exact,
    rhat_number,
    short,
    shown,
    whole,
)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (None, None, "undefined"),
        (12.3456, None, "12.3"),
        (12.3456, 0.2, "12.35"),
        (1234.5, 30.0, "1,234"),
        (0.0, None, "0"),
        (7.0, None, "7"),
        (-1.5, None, "−1.50"),
        (0.000001, None, "< 0.00001"),
        (-0.0000001, None, "> −0.00001"),
        (0.01234, None, "0.0123"),
        (1234.0, None, "1,234"),
        (1234.56, None, "1,235"),
        (1234.56, 2.5, "1,234.6"),
        (0.25, None, "0.250"),
        (0.0001, None, "0.00010"),
        (8.74e-13, None, "< 0.00001"),
        (float("nan"), None, "undefined"),
        (float("inf"), None, "∞"),
        (float("-inf"), 1.0, "−∞"),
    ],
)
def test_number(value: float | None, error: float | None, text: str) -> None:
    assert number(value, error) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(None, "undefined"), (0.0, "0 %"), (0.5, "50 %"), (0.0123, "1.2 %"), (0.00001, "< 0.01 %"),
     (0.0996, "10 %"), (1.0, "100 %")],
)  # fmt: skip
def test_percent(share: float | None, text: str) -> None:
    assert percent(share) == text


def test_names() -> None:
    assert whole(12345.0) == "12,345"
    assert shown("a\u202eb\n") == "a\\u202eb\\n"
    assert short("x" * 300) == "x" * 23 + "…"
    assert short("plain") == "plain"


def test_rhats_have_three_places_on_both_sides_of_one() -> None:
    assert [rhat_number(value) for value in (0.99996, 1.00004, 0.9987, 1.2, None)] == [
        "1.000", "1.000", "0.999", "1.200", "undefined",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rate", "text"),
    [(None, "undefined"), (0.0, "none"), (1 / 4512, "1 in 4,500"), (0.1, "1 in 10"), (0.3, "30 %"),
     (1 / 97, "1 in 97"), (1e-9, "< 1 in 1,000,000"), (1 / 999, "1 in 1,000")],
)  # fmt: skip
def test_small_shares_are_one_in_so_many(rate: float | None, text: str) -> None:
    assert one_in(rate) == text


def test_one_of_something_and_several() -> None:
    assert [counted(n, "record") for n in (0, 1, 1200)] == [
        "0 records",
        "1 record",
        "1,200 records",
    ]
    assert counted(2, "county", "counties") == "2 counties"
    assert percent_exact(0.9915) == "99.2 %"


def test_few_people_have_as_many_digits_as_their_share() -> None:
    """Of 200 people, 5.2 are 2.6 %: "5 of 200, 2.6 %" would not agree with itself."""
    assert frequencies(5.22, 5.99, 200, found=True) == (
        "5.2 of 200 people found, 2.6 %; 6.0 without anybody's own record"
    )
    assert frequencies(115.2, 9.0, 6208) == (
        "115 of 6,208 right, 1.9 %; 9 without anybody's own record"
    )
