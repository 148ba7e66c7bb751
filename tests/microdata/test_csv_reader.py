"""Text tables: the compiled scanner against Python's csv module, and round trips of any text."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.bad_inputs.cases import SECRET, accepted, covers, refused
from tests.conftest import Command, MakeFile
from tests.naive.combinations import count_rows, read_table
from understudy.errors import (
    ColumnError,
    FormatError,
    OutputError,
    SettingError,
)
from understudy.microdata import csv_reader
from understudy.microdata.file_format import open_source

GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)
SHORT = st.sampled_from(
    ["", "a", "b", "A", " ", ",", ";", '"', "\n", "\r\n", "é", "01", "NA", "x" * 9]
)
FIELD = st.one_of(SHORT, TEXT)


@st.composite
def tables(draw: st.DrawFn, field: st.SearchStrategy[str] = FIELD) -> list[list[str]]:
    """Draw a header and at least two records with two different labels."""
    width = draw(st.integers(1, 4))
    names = draw(
        st.lists(field.filter(lambda name: name.strip() and name not in {"_row", "_set"}),
                 min_size=width, max_size=width, unique=True)
    )  # fmt: skip
    names = [f"{name}, name" for name in names]  # a header that is like a record is refused
    rows = draw(st.lists(st.lists(field, min_size=width, max_size=width), min_size=2, max_size=9))
    assume(len({row[0] for row in rows}) > 1)
    return [names, *rows]


def as_csv(table: list[list[str]], delimiter: str = ",", quoting: int = csv.QUOTE_MINIMAL) -> str:
    """Write a table with Python's own writer, which leaves a lone carriage return unquoted."""
    if any("\r" in field for row in table for field in row):
        quoting = csv.QUOTE_ALL
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(table)  # type: ignore[arg-type]
    return out.getvalue()


def read_all(
    path: Path, delimiter: str | None = None
) -> tuple[tuple[str, ...], list[list[str | None]]]:
    """Read every record of a text table with the compiled scanner, as text."""
    source = open_source(path)
    header = csv_reader.read_header(source, None, delimiter)
    table = csv_reader.read_delimited(source, header, header.names)
    columns = [
        np.array([column.levels[code] for code in table.codes[:, index]], dtype=object)
        for index, column in enumerate(table.columns)
    ]
    return header.names, [[column[row] for column in columns] for row in table.of_record]


@given(table=tables(), delimiter=st.sampled_from(",;\t|"), quoting=st.sampled_from([0, 1]))
def test_scanner_agrees_with_its_slow_twin(
    tmp_path: Path, table: list[list[str]], delimiter: str, quoting: int
) -> None:
    """Whatever Python's csv module writes and reads, the scanner reads alike.

    It also tells an empty field from empty text in quotation marks, which the module does not.
    """
    text = as_csv(table, delimiter, quoting)
    assume(not text.startswith("\ufeff"))
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    names, rows = read_all(path, delimiter)
    expected_names, expected_rows = read_table(text, delimiter)
    all_quoted = quoting == csv.QUOTE_ALL or "\r" in text
    unquoted = not all_quoted and len(names) > 1  # a lone empty field is quoted, too
    assert list(names) == expected_names
    assert rows == [[field or (None if unquoted else "") for field in row] for row in expected_rows]


@given(table=tables(), size=st.integers(40, 200))
def test_blocks_may_end_anywhere(tmp_path: Path, table: list[list[str]], size: int) -> None:
    """The result does not depend on where a block of bytes ends, inside a character or a field."""
    text = as_csv(table, quoting=csv.QUOTE_ALL)
    path = tmp_path / "table.csv"
    path.write_text(text, encoding="utf-8", newline="")
    longest = max(len(line.encode()) for line in [as_csv([row], quoting=1) for row in table])
    assume(longest < size)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_reader, "BLOCK", size)
        assert read_all(path, ",")[1] == table[1:]


@given(table=tables())
def test_combinations_agree_with_their_slow_twin(tmp_path: Path, table: list[list[str]]) -> None:
    path = tmp_path / "table.csv"
    path.write_text(as_csv(table, quoting=csv.QUOTE_ALL), encoding="utf-8", newline="")
    source = open_source(path)
    header = csv_reader.read_header(source, None, ",")
    coded = csv_reader.read_delimited(source, header, header.names)
    rows = [[column.levels[code] for column, code in zip(coded.columns, row, strict=True)]
            for row in coded.codes.tolist()]  # fmt: skip
    distinct, counts, of_row = count_rows(table[1:])
    order = {row: number for number, row in enumerate(distinct)}
    assert sorted(map(tuple, rows)) == distinct
    assert [counts[order[tuple(row)]] for row in rows] == coded.counts.tolist()
    assert [order[tuple(rows[row])] for row in coded.of_record.tolist()] == of_row


ENCODINGS = [
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-32",
    "latin-1",
    "cp1252",
    "gb18030",
]


@given(data=st.data(), encoding=st.sampled_from(ENCODINGS), packed=st.booleans())
def test_any_text_comes_back_byte_for_byte(
    tmp_path: Path, data: st.DataObject, encoding: str, packed: bool
) -> None:
    """Any text, any order of columns, any encoding: reading and writing gives the same bytes."""
    characters = st.characters(codec=encoding.removesuffix("-sig"), exclude_characters="\x00\ufeff")
    field = st.one_of(SHORT.filter(lambda text: "é" not in text), st.text(characters, max_size=8))
    table = data.draw(tables(field))
    label = data.draw(st.sampled_from(table[0]))
    assume(len({row[table[0].index(label)] for row in table[1:]}) > 1)
    ending = ".csv.gz" if packed else ".csv"
    first, second = tmp_path / f"first{ending}", tmp_path / f"second{ending}"
    plain = tmp_path / "plain.csv"
    plain.write_text(as_csv(table, quoting=csv.QUOTE_ALL), encoding=encoding, newline="")
    read = {"encoding": encoding, "delimiter": ","}
    held = read_without_warnings(plain, label, **read)
    assert [list(row) for row in held.frame().rows()] == table[1:]
    assert list(held.names) == table[0]
    held.write(first, encoding=encoding, overwrite=True)
    again = read_without_warnings(first, label, **read)
    again.write(second, encoding=encoding, overwrite=True)
    assert first.read_bytes() == second.read_bytes()
    assert again.fingerprint() == held.fingerprint()


def read_without_warnings(path: Path, label: str, **read: str):  # type: ignore[no-untyped-def]
    import warnings

    from understudy import read_microdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read_microdata(path, synthesize=label, missing="level", **read)  # type: ignore[arg-type]


def test_canonical_file_comes_back_as_it_was(tmp_path: Path) -> None:
    text = 'county,a\n"x, y",1\nz,"2 ""q"""\n,1\n'.replace("\n,1", '\n"",1')
    path = tmp_path / "in.csv"
    path.write_text(text)
    assert accepted(path).write(tmp_path / "out.csv").read_text() == text


def test_characters_that_an_encoding_does_not_have(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("county,a\n漢,1\nx,2\n", encoding="utf-8")
    with pytest.raises(OutputError, match="does not have"):
        accepted(path).write(tmp_path / "out.csv", encoding="latin-1")
    assert list(tmp_path.iterdir()) == [path]


def test_record_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "BLOCK", 64)
    path = tmp_path / "in.csv"
    path.write_text("county,free text\nx,short\ny," + "long " * 100 + "\n")
    with pytest.raises(FormatError, match="line 3"):
        accepted(path, ignore="free text")


def test_quoted_empty_text_is_another_level_than_an_empty_field(tmp_path: Path) -> None:
    """Both have no bytes and so one hash; they come back as they were, wherever they stand."""
    path = tmp_path / "a.csv"
    path.write_text('a,b,county\n"",,x\n,"",y\n"","",y\n,,x\n', encoding="utf-8")
    frame = accepted(path, missing="level").frame()
    assert frame["a"].to_list() == ["", None, "", None]
    assert frame["b"].to_list() == [None, "", "", None]


def test_long_free_text_in_an_ignored_column_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("county,free text\nx," + "long " * 10_000 + "\ny,short\n")
    assert accepted(path, ignore="free text").n_records == 2


@pytest.mark.filterwarnings("ignore:the kept column")
def test_wide_characters_grow_in_utf8(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "BLOCK", 64)
    path = tmp_path / "in.csv"
    path.write_text("county,a\n" + "漢字漢字漢字,1\nかな,2\n" * 50, encoding="utf-16")
    assert accepted(path, encoding="utf-16").n_records == 100


@pytest.mark.parametrize(
    "first",
    [f"{SECRET},1971-03-04,Springfield", "1,2,3", "f,20-40,Springfield", "m,20-40,x"],
)
def test_a_file_without_a_header_shows_nothing(
    command: Command, make_file: MakeFile, tmp_path: Path, first: str
) -> None:
    path = make_file(f"{first}\nm,20-40,Springfield\nf,20-40,Shelbyville\n")
    says = "looks like a record"
    refused(command, FormatError, says, path, synthesize="town")
    assert SECRET not in command("init", path, "--out", tmp_path).err
    assert not (tmp_path / "plan.toml").exists()


@covers(146)
@pytest.mark.parametrize("age", ["NA", "n/a", ">65", "unknown", ""])
def test_a_first_record_without_its_number_is_not_shown(
    command: Command, make_file: MakeFile, age: str
) -> None:
    """All other records have a number there, so the first line is taken for names by some rules."""
    records = "".join(f"Person {number},{number % 80},{'xy'[number % 2]}\n" for number in range(60))
    answer = command("check", make_file(f"{SECRET},{age},x\n{records}"))
    assert answer.code == 2
    assert SECRET not in answer.out + answer.err


def test_names_with_a_record_in_them_are_not_listed(command: Command, make_file: MakeFile) -> None:
    path = make_file(f'"a,b\n{SECRET},x\n",c\n1,x\n2,y\n')
    refused(command, ColumnError, "the 2 columns found", path, synthesize="town")


@pytest.mark.parametrize("delimiter", ["\n", '"', "0", "ab", "", "é", 5])
def test_delimiters_that_separate_nothing(
    make_file: MakeFile, tmp_path: Path, delimiter: Any
) -> None:
    data = accepted(make_file(GOOD))
    with pytest.raises(SettingError, match="delimiter"):
        data.write(tmp_path / "out.csv", delimiter=delimiter)
    with pytest.raises(SettingError, match="delimiter"):
        accepted(make_file(GOOD), delimiter=delimiter)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"\na,county\n1,x\n", "empty first line"),
        (b"sep=;\na;county\n1;x\n", "spreadsheet"),
        ("a,county\n1,x\n".encode("utf-32"), "UTF-32"),
        (b"ASCII SPSS PORT FILE" + b" " * 50, "portable file"),
    ],
)
def test_odd_first_lines(command: Command, make_file: MakeFile, content: bytes, says: str) -> None:
    refused(command, FormatError, says, make_file(content))


def test_wide_and_long_tables(make_file: MakeFile) -> None:
    wide = ",".join(f"v{n}" for n in range(5000)) + ",county\n"
    row = ",".join("1" for _ in range(5000))
    path = make_file(wide + f"{row},x\n{row},y\n")
    with pytest.warns(UserWarning, match="single level"):
        assert accepted(path, keep=["v1"]).n_records == 2
    long = make_file(f"note;county\n{'words, ' * 30_000};x\nshort;y\n")
    assert accepted(long, ignore="note").n_records == 2


def test_surrogates_are_not_characters(make_file: MakeFile) -> None:
    path = make_file(b"a,county\n\\ud800,x\nb,y\n")
    refused(None, FormatError, "surrogates, not characters", path, encoding="unicode_escape")
