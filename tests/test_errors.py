"""The tree of errors, and the one grammar of messages."""

from __future__ import annotations

import pickle

import polars as pl
import pytest

import understudy as us
from understudy import errors
from understudy.errors import (
    DataWarning,
    ExitCode,
    InputError,
    UnderstudyError,
    nearest,
    quoted,
    quoted_list,
)


def all_errors(root: type[Exception]) -> list[type[Exception]]:
    return [root, *(error for child in root.__subclasses__() for error in all_errors(child))]


def test_the_tree_is_drawn_in_the_docstring() -> None:
    for kind in [*all_errors(errors.UnderstudyError), *all_errors(errors.UnderstudyWarning)]:
        if kind.__module__ == "understudy.errors":
            assert kind.__name__ in (errors.__doc__ or "")
            assert kind.__doc__


def test_a_message_has_three_parts() -> None:
    problem = InputError(expected="tea", came="coffee", do="boil water")
    assert str(problem) == "Expected tea; found coffee. What to do: boil water."
    assert isinstance(problem, ValueError)
    again = pickle.loads(pickle.dumps(problem))  # noqa: S301
    assert (str(again), again.do) == (str(problem), "boil water")


def test_every_error_has_an_exit_code_of_the_contract() -> None:
    assert {code.value for code in ExitCode} == {0, 1, 2, 3, 4, 70}
    assert UnderstudyError("a", "b", "c").exit_code == 2


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("age", '"age"'),
        ("a\nb", '"a\\nb"'),
        ("\x1b[31m", '"\\x1b[31m"'),
        ("\u202eevil", '"\\u202eevil"'),
        ("é", '"é"'),
        ("x" * 100, '"' + "x" * 59 + '…"'),
    ],
)
def test_names_are_shown_safely(name: str, shown: str) -> None:
    assert quoted(name) == shown


def test_lists_of_names_and_nearest_names() -> None:
    assert quoted_list([]) == "none"
    assert quoted_list("ab") == '"a", "b"'
    assert quoted_list(range(20)).endswith("and 8 more")
    assert nearest("conty", ["county", "age"]) == ' (nearest: "county")'
    assert nearest("zzz", ["county"]) == ""


def test_warnings_name_the_line_of_the_users_program() -> None:
    ages = ["old", "young"] * 4
    frame = pl.DataFrame({"age": ages, "AGE": ages, "county": ["north", "south"] * 4})
    with pytest.warns(DataWarning) as caught:
        us.read_microdata(frame, synthesize="county")
    assert {warning.filename for warning in caught} == {__file__}
