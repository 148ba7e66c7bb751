"""Checks of plain arguments: what each takes, and that its error has no value of the data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import checks
from understudy.errors import InputError, OutputError, SettingError

VALUE = "Sunnydale"


@pytest.mark.parametrize(
    ("check", "arguments", "given"),
    [
        (checks.check_whole, ("m", 3, 1), 3),
        (checks.check_whole, ("m", np.int64(3), 1, 3), 3),
        (checks.check_number, ("x", -2.5), None),
        (checks.check_positive, ("x", 1e-9), None),
        (checks.check_confidence, (0.95,), 0.95),
        (checks.check_one_of, ("rule", "full", checks.RULES), "full"),
        (checks.check_rule, ("partial",), "partial"),
        (checks.check_shape_and_rate, ("prior", [1, 0.25], "(1, 1)"), (1.0, 0.25)),
        (checks.check_path, ("a folder", "here"), Path("here")),
        (checks.check_texts, ("county", "names"), ["county"]),
        (checks.check_texts, (("county", "age"), "names"), ["county", "age"]),
        (checks.as_whole, (7,), 7),
        (checks.as_whole, (True,), None),
    ],
)
def test_what_is_right_is_given_back(
    check: Callable[..., Any], arguments: tuple[Any, ...], given: Any
) -> None:
    assert check(*arguments) == given


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        *((checks.check_whole, ("m", wrong, 1, 9)) for wrong in (0, 10, 2.0, True, None, VALUE)),
        *((checks.check_number, ("x", wrong)) for wrong in (True, np.nan, VALUE, None)),
        *((checks.check_positive, ("x", wrong)) for wrong in (0, -1.0, np.inf, np.nan, VALUE)),
        *((checks.check_confidence, (wrong,)) for wrong in (0, 1, 95, np.nan, True, VALUE)),
        *((checks.check_rule, (wrong,)) for wrong in ("nested", None, 1)),
        *((checks.check_shape_and_rate, ("p", wrong, "")) for wrong in (1, (1,), (1, 0), VALUE)),
        *((checks.check_texts, (wrong, "names")) for wrong in (1, None, ["a", 1])),
    ],
)
def test_what_is_wrong_is_refused(check: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    with pytest.raises(SettingError) as refused:
        check(*arguments)
    assert VALUE not in str(refused.value)


@pytest.mark.parametrize("path", ["", "a\0b", 3, None])
def test_what_is_no_path_is_refused_as_the_caller_says(path: object) -> None:
    for kind in (InputError, OutputError):
        with pytest.raises(kind):
            checks.check_path("a file", path, kind)


def test_the_nearest_name_is_told() -> None:
    with pytest.raises(SettingError, match=r"nearest: \"partial\""):
        checks.check_one_of("the rule", "partail", ["partial", "full"])


def test_numbers_are_arrays_of_floats_or_nothing() -> None:
    assert checks.as_numbers([1, 2]).dtype == np.float64  # type: ignore[union-attr]
    for wrong in (["a"], [True], [[1], [1, 2]], object()):
        assert checks.as_numbers(wrong) is None
