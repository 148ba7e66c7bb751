"""Codebooks drafted from value labels, DDI and tables, and what `init` makes of them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pyreadstat
import pytest

from tests.conftest import Command, MakeFile
from understudy.errors import FileError, FormatError, SettingError
from understudy.microdata.codebook import codebook_from
from understudy.microdata.codebook_drafts import draft_codebook

DDI = """<?xml version="1.0"?>
<codeBook xmlns="ddi:codebook:2_5"><dataDscr>
<var name="county"><labl>County of
  residence</labl>
<catgry><catValu>1</catValu><labl>North</labl></catgry>
<catgry><catValu>2</catValu><labl>South</labl></catgry>
<catgry missing="Y"><catValu>9</catValu><labl>not known</labl></catgry></var>
<var name="sex"><invalrng><item VALUE="8"/></invalrng>
<catgry><catValu>1</catValu><labl>male</labl></catgry>
<catgry><catValu>2</catValu></catgry><catgry><catValu>8</catValu></catgry></var>
<var name="weight"><labl>no categories</labl></var>
</dataDscr></codeBook>
"""
TABLE = 'Variable;Code;Label;Missing\ncounty;1;"North; coast";\ncounty;3;East;no\ncounty;9;?;yes\n'
LABELS = {"county": {1.0: "North", 2.0: "South", 3.0: "East", 9.0: "not known"}}


def labelled(tmp_path: Path, ending: str) -> Path:
    """Write records with value labels, one of which means missing in SPSS."""
    path = tmp_path / f"survey{ending}"
    frame = pl.DataFrame({"county": [1.0, 2.0, 9.0, 2.0] * 5, "sex": ["f", "m", "m", "f", "f"] * 4})
    if ending == ".sav":
        missing: Any = {"county": [{"lo": 8, "hi": 9}]}
        pyreadstat.write_sav(frame, str(path), variable_value_labels=LABELS,
                             missing_ranges=missing, column_labels=["County", "Sex"])  # fmt: skip
    else:
        pyreadstat.write_dta(frame, str(path), variable_value_labels=LABELS)
    return path


def test_ddi(make_file: MakeFile) -> None:
    book = draft_codebook(make_file(DDI, "survey.xml"))
    assert not book.reviewed
    assert list(book.variables) == ["county", "sex"]
    county, sex = book.of("county"), book.of("sex")
    assert (county.levels, county.missing) == (("1", "2"), ("9",))
    assert county.labels == {"1": "North", "2": "South"}
    assert county.description == "County of residence"
    assert (sex.levels, sex.missing, sex.labels) == (("1", "2"), ("8",), {"1": "male"})


def test_a_table(make_file: MakeFile) -> None:
    county = draft_codebook(make_file(TABLE, "levels.csv")).of("county")
    assert (county.levels, county.missing) == (("1", "3"), ("9",))
    assert county.labels == {"1": "North; coast", "3": "East"}
    plain = draft_codebook(make_file("level,label\na,A\nb,B\n", "two.csv"), variable="town")
    assert plain.of("town").labels == {"a": "A", "b": "B"}


def test_value_labels(tmp_path: Path) -> None:
    spss = draft_codebook(labelled(tmp_path, ".sav")).of("county")
    assert (spss.levels, spss.missing) == (("1", "2", "3"), ("9",))
    assert spss.description == "County"
    stata = draft_codebook(labelled(tmp_path, ".dta")).of("county")
    assert stata.levels == ("1", "2", "3", "9")


def test_labels_of_sas(tmp_path: Path) -> None:
    """A catalog has the labels of a SAS file."""
    for name in ("people.sas7bdat", "formats.sas7bcat"):
        packed = (Path(__file__).parent / "sas" / f"{name}.gz").read_bytes()
        (tmp_path / name).write_bytes(gzip.decompress(packed))
    book = draft_codebook(tmp_path / "people.sas7bdat", catalog=tmp_path / "formats.sas7bcat")
    assert book.variables
    assert all(entry.levels and entry.labels for entry in book.variables.values())


@pytest.mark.parametrize(
    ("name", "content", "error", "words"),
    [
        ("a.xml", "<codeBook><var/>", FormatError, "cut off"),
        ("a.xml", "<a><b/></a>", FormatError, "Lifecycle"),
        ("a.xml", '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', FormatError, "do harm"),
        ("a.csv", "town,name\na,b\n", FormatError, "level and label"),
        ("a.csv", "level,label\na,b\n", FormatError, "level and label"),
        ("a.csv", "variable,level\na,b\nc\n", FormatError, "line 3"),
        ("a.csv", b"variable,level\na,\xff\n", FormatError, "encoding"),
        ("a.csv", "", FormatError, "0 bytes"),
        ("a.parquet", "x", FormatError, "found"),
    ],
)
def test_what_is_no_codebook(
    name: str, content: str | bytes, error: type[Exception], words: str, make_file: MakeFile
) -> None:
    with pytest.raises((error, FileError), match=words):
        draft_codebook(make_file(content, name))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="not found"):
        draft_codebook(tmp_path / "nothing.xml")
    pl.DataFrame({"a": ["x"]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(SettingError, match="value labels"):
        draft_codebook(tmp_path / "a.parquet")


def test_init_takes_levels_from_a_description(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """Declared levels that nobody has stay; missing codes are missing; others are added."""
    path = make_file("sex,county\n" + "1,1\n2,2\n1,9\n2,1\n1,2\n2,7\n" * 4)
    ddi = make_file(DDI, "survey.xml")
    options = ("--synthesize", "county", "--out", tmp_path, "--codebook-from", ddi)
    answer = command("init", path, *options)
    assert answer.code == 0, answer.err
    words = " ".join(answer.out.split())
    assert '1 level of "county" in the data was not declared' in words
    assert 'The levels of "county" come from the data: the codebook must be reviewed' in words
    book = codebook_from(tmp_path / "codebook.toml")
    assert book.of("county").levels == ("1", "2", "7")
    assert book.of("county").missing == ("9",)
    assert book.of("sex").missing == ("8",)
    assert command("check", tmp_path / "plan.toml").code == 0
    other = make_file(DDI.replace('name="county"', 'name="x"').replace('"sex"', '"y"'), "b.xml")
    wrong = command("init", path, "--synthesize", "county", "--codebook-from", other)
    assert wrong.code == 2
    assert "levels of others" in wrong.err


def test_init_of_an_spss_file_declares_its_labels(command: Command, tmp_path: Path) -> None:
    path = labelled(tmp_path, ".sav")
    answer = command("init", path, "--synthesize", "county", "--out", tmp_path)
    assert answer.code == 0
    assert "without a value" in answer.out  # a code that the file itself calls missing
    assert "empty cell" not in answer.out
    assert 'The levels of "sex" come from the data' in " ".join(answer.out.split())
    county = codebook_from(tmp_path / "codebook.toml").of("county")
    assert county.levels == ("1", "2", "3")  # nobody lives in the third
    assert command("check", tmp_path / "plan.toml").code == 0
    alone = command("init", path, "--synthesize", "county", "--ignore", "sex", "--out", tmp_path,
                    "--overwrite")  # fmt: skip
    assert "levels come from what was declared; it must" in " ".join(alone.out.split())
