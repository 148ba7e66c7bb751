"""The Stata and SAS programs cannot be run here; the command that each of them calls can."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import polars as pl
import pyreadstat
import pytest
from tests.conftest import Command

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def called_from_stata() -> list[str]:
    """Give the arguments as Stata puts them together, for two files."""
    program = (EXAMPLES / "stata" / "evaluate.do").read_text(encoding="utf-8")
    line = re.search(r"^shell understudy (.*) > evaluation\.txt 2>&1$", program, re.MULTILINE)
    assert line is not None
    sets = '"synthetic-1.dta" "synthetic-2.dta"'
    return shlex.split(line[1].replace("`sets'", sets))


def called_from_sas() -> list[str]:
    """Give the arguments as SAS puts them together, for files that can be written here."""
    program = (EXAMPLES / "sas" / "evaluate.sas").read_text(encoding="utf-8")
    line = re.search(r'^  x "understudy (.*)";$', program, re.MULTILINE)
    given = re.search(r"^%evaluate\((.*), (.*), (.*), %str\((.*)\)\);$", program, re.MULTILINE)
    assert line is not None
    assert given is not None
    names = ("original", "sets", "synthesize", "known")
    text = line[1].replace('""', '"')
    for name, value in zip(names, given.groups(), strict=True):
        text = text.replace(f"&{name}", value.replace(".sas7bdat", ".xpt"))
    return shlex.split(text)


@pytest.mark.parametrize("arguments", [called_from_stata(), called_from_sas()])
def test_the_command_is_carried_out(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pl.DataFrame(
        {
            "gender": ["f", "m"] * 30,
            "age": ["a", "b", "b"] * 20,
            "county": ["1", "2", "3", "4"] * 15,
        }
    )
    for name in arguments[1 : arguments.index("--synthesize")]:
        write = pyreadstat.write_dta if name.endswith(".dta") else pyreadstat.write_xport
        write(frame, name)
    answer = command(*arguments, "--repeats", 3, "--seed", 1)
    assert answer.code == 1, answer.err  # the files are the original itself
    assert Path("page.html").stat().st_size > 10_000
