"""Codebooks: what they refuse, and that they print no level."""

from __future__ import annotations

import pytest

from tests.bad_inputs.cases import SECRET, refused
from tests.conftest import Command, MakeFile
from understudy.errors import (
    SettingError,
)
from understudy.microdata.codebook import Codebook, VariableBook

GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"


@pytest.mark.parametrize(
    "lost", [f'{SECRET} = "North"', f"[variables.county.labels]\n{SECRET} = 5"]
)
def test_levels_under_the_wrong_key_of_a_codebook(
    command: Command, make_file: MakeFile, lost: str
) -> None:
    book = make_file(f"[variables.county]\n{lost}\n", "book.toml")
    path = make_file(GOOD)
    refused(command, SettingError, "variables.county", path, "--codebook", book, codebook=book)


def test_a_codebook_prints_shapes_only() -> None:
    book = Codebook(variables={"county": VariableBook(levels=(SECRET,), labels={SECRET: SECRET})})
    assert SECRET not in f"{book!r} {book} {book.variables!r}"
