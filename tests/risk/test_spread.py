"""Figures are written with the digits that a reader can use."""

import pytest

from understudy.risk.spread import UNDEFINED, figure


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"), (7.0, "7"), (1234.0, "1,234"), (1234.56, "1,234.6"), (0.25, "0.250"),
        (0.0123, "0.0123"), (0.0001, "0.0001"), (8.74e-13, "< 0.0001"), (-1e-9, "> -0.0001"),
        (None, UNDEFINED),
    ],
)  # fmt: skip
def test_figure(value: float | None, shown: str) -> None:
    assert figure(value) == shown
