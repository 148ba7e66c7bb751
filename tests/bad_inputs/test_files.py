"""Rows 1 to 20: files."""

from __future__ import annotations

import gzip
import os
import zipfile
from io import BytesIO
from pathlib import Path

import polars as pl
import pytest

from tests.bad_inputs.cases import SECRET, accepted, covers, refused
from tests.conftest import Command, MakeFile
from understudy.errors import (
    ColumnError,
    FileError,
    FormatError,
    LevelError,
    OutputError,
    SettingError,
)
from understudy.microdata import csv_reader

GOOD = f"gender,county\nf,{SECRET}\nm,south\nf,south\n"


@covers(1)
def test_missing_file(command: Command, tmp_path: Path) -> None:
    refused(command, FileError, "not found", tmp_path / "nothing.csv")


@covers(2)
def test_directory(command: Command, tmp_path: Path) -> None:
    refused(command, FileError, "a directory", tmp_path)


@covers(3)
def test_unreadable(command: Command, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_file(GOOD)
    opened = Path.open

    def no(self: Path, *arguments: object, **options: object) -> object:
        if self == path:
            raise PermissionError(13, "Permission denied", SECRET)
        return opened(self, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", no)
    refused(command, FileError, "Permission denied", path)


@covers(4)
def test_empty(command: Command, make_file: MakeFile) -> None:
    refused(command, FormatError, "0 bytes", make_file(b""))
    refused(command, FormatError, "column names", make_file(b"\n\n"))
    refused(command, FormatError, "column names", make_file(b"\xef\xbb\xbf"))


@covers(5)
def test_header_only(command: Command, make_file: MakeFile) -> None:
    refused(command, FormatError, "at least one record", make_file("gender,county\n"))
    refused(command, FormatError, "at least one record", make_file("gender,county"))


@covers(6)
def test_one_row(command: Command, make_file: MakeFile) -> None:
    path = make_file(f"gender,county\nf,{SECRET}\n")
    refused(command, LevelError, "nothing to synthesize", path)
    book = {
        "variables": {"county": {"levels": [SECRET, "south"]}, "gender": {"levels": ["f", "m"]}}
    }
    assert accepted(path, codebook=book).n_records == 1


@covers(7)
def test_byte_order_mark(make_file: MakeFile) -> None:
    data = accepted(make_file(b"\xef\xbb\xbf" + GOOD.encode()))
    assert data.names == ("gender", "county")


@covers(8)
def test_utf16(command: Command, make_file: MakeFile) -> None:
    path = make_file(GOOD.encode("utf-16"))
    refused(command, FormatError, "UTF-16.*utf-16", path)
    assert accepted(path, encoding="utf-16").n_records == 3
    bare = make_file(GOOD.encode("utf-16-le"))
    refused(command, FormatError, "NUL byte.*utf-16", bare)
    assert accepted(bare, encoding="utf-16-le").n_records == 3


@covers(9)
def test_latin1(command: Command, make_file: MakeFile) -> None:
    path = make_file("gender,county\nf,Århus\nm,Fyn\n".encode("latin-1"))
    refused(command, FormatError, "offset 16.*--encoding", path)
    assert accepted(path, encoding="latin-1").variable("county").levels == ("Fyn", "Århus")
    refused(
        command, SettingError, "text encoding", path, "--encoding", "klingon", encoding="klingon"
    )


@covers(9)
def test_offset_behind_the_first_block(make_file: MakeFile) -> None:
    body = "gender,county\n" + "f,south\nm,north\n" * 100_000
    path = make_file(body.encode() + b"f,\xff\n")
    refused(None, FormatError, f"offset {len(body) + 2:,}", path)


@covers(9)
def test_character_cut_off_at_the_end(make_file: MakeFile) -> None:
    refused(None, FormatError, "offset 17", make_file("gender,county\nf,aé".encode()[:-1]))


@covers(10)
def test_nul_bytes(command: Command, make_file: MakeFile) -> None:
    refused(command, FormatError, "NUL byte in line 3", make_file("a,county\n1,x\n2,y\x00\n"))
    far = "a,county\n" + "1,x\n2,y\n" * 100_000
    refused(None, FormatError, "NUL byte.*line 200002", make_file(far + "1,x\x00\n"))
    refused(None, FormatError, "NUL byte", make_file(far + '1,"x\x00"\n'))
    refused(None, FormatError, "NUL byte", make_file(far + '1,"x"\x00\n'))


@covers(11)
def test_ragged_rows(command: Command, make_file: MakeFile) -> None:
    refused(command, FormatError, "1 field at line 3", make_file(f"a,county\n1,x\n{SECRET}\n2,y\n"))
    refused(command, FormatError, "3 fields at line 4", make_file("a,county\n1,x\n2,y\n1,x,z\n"))
    refused(command, FormatError, "blank line at line 3", make_file("a,county\n1,x\n\n2,y\n"))
    quoted = make_file('a,county\n1,"x\ny\n"\n2,y\n2\n')
    refused(command, FormatError, "1 field at line 6", quoted)


@covers(11)
def test_blank_lines_at_the_end_are_no_records(make_file: MakeFile) -> None:
    assert accepted(make_file("a,county\n1,x\n2,y\n\n\r\n\n")).n_records == 2


@covers(12)
def test_wrong_delimiter(command: Command, make_file: MakeFile) -> None:
    path = make_file(GOOD.replace(",", ";"))
    assert accepted(path).n_records == 3
    refused(command, ValueError, "[Oo]nly one column", path, "--delimiter", ",", delimiter=",")
    refused(command, SettingError, "one ASCII", path, "--delimiter", "::", delimiter="::")


@covers(12)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_found(make_file: MakeFile, delimiter: str) -> None:
    text = 'a;b,county\n"x;y, z",south\nu,north\nv,"a|b"\n'.replace(",", delimiter)
    if delimiter == ";":
        text = 'a;county\n"x;y, z";south\nu;north\nv;"a|b"\n'
    if delimiter == "|":
        text = 'a|county\n"x;y, z"|south\nu|north\nv|"a,b"\n'
    assert accepted(make_file(text)).n_records == 3


@covers(13)
def test_line_ends(make_file: MakeFile) -> None:
    expected = accepted(make_file(GOOD)).fingerprint()
    lines = GOOD.splitlines()
    for ends in (["\r\n"] * 4, ["\r"] * 4, ["\r\n", "\n", "\r", "\n"], ["\n", "\n", "\n", ""]):
        mixed = "".join(line + end for line, end in zip(lines, ends, strict=True))
        assert accepted(make_file(mixed)).fingerprint() == expected


@covers(14)
def test_unterminated_quote(command: Command, make_file: MakeFile) -> None:
    path = make_file('gender,county\nf,x\nm,"y\nf,z\n')
    refused(command, FormatError, "still open.*line 3", path)
    refused(command, FormatError, "quotation marks", make_file('"gender,county\nf,x\n'))
    strange = make_file('gender,county\nf,"x"y\n')
    refused(command, FormatError, "closing quotation mark.*line 2", strange)


@covers(15)
def test_line_break_in_a_label(make_file: MakeFile, tmp_path: Path) -> None:
    text = 'gender,county\nf,"north\nwest"\nm,"south\r\neast"\n'
    path = make_file(text)
    data = accepted(path)
    assert set(data.variable("county").levels) == {"north\nwest", "south\r\neast"}
    assert data.write(tmp_path / "back.csv").read_bytes() == path.read_bytes()


@covers(16)
def test_bomb(command: Command, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_reader, "HARMLESS_SIZE", 1 << 22)
    bomb = make_file(gzip.compress(b"a,county\n" + b"1,x\n" * (1 << 22)), "bomb.csv.gz")
    refused(command, FormatError, "unpacks to at most", bomb)
    with zipfile.ZipFile(packed := BytesIO(), "w") as archive:
        archive.writestr("data.csv", GOOD)
    refused(command, FormatError, "zip archive", make_file(packed.getvalue(), "data.zip"))
    cut = make_file(gzip.compress(GOOD.encode() * 100)[:-20], "cut.csv.gz")
    refused(command, FormatError, "damaged or cut off", cut)


@covers(17)
def test_address_and_pipe(command: Command, tmp_path: Path) -> None:
    refused(command, FileError, "internet address", "https://example.org/data.csv")
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    refused(command, FileError, "a pipe.*resumed", pipe)
    refused(None, FileError, "empty path", "")


@covers(18)
@pytest.mark.parametrize(
    ("magic", "says"),
    [
        (b"PK\x03\x04....", "Excel"),
        (b"\xd0\xcf\x11\xe0....", "old Excel"),
        (b"%PDF-1.7", "PDF"),
        (b"RDX3\n....", "R data"),
        (b"BZh9....", "bzip2"),
    ],
)
def test_other_formats_named_csv(
    command: Command, make_file: MakeFile, magic: bytes, says: str
) -> None:
    refused(command, FormatError, says, make_file(magic))


@covers(18)
def test_parquet_named_csv(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    pl.DataFrame({"gender": ["f", "m"], "county": ["x", "y"]}).write_parquet(path)
    refused(command, FormatError, "content is a Parquet file", path)
    pretender = tmp_path / "data.parquet"
    pretender.write_text(GOOD)
    refused(command, FormatError, "content is a CSV", pretender)
    packed = tmp_path / "data.dta.gz"
    packed.write_bytes(gzip.compress(b"<stata_dta>"))
    refused(command, FormatError, "packed with gzip.*unpack", packed)


@covers(19)
def test_file_changes_while_it_is_read(
    command: Command, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_file(GOOD)
    scan = csv_reader._scan

    def meanwhile(*arguments: object) -> None:
        scan(*arguments)  # type: ignore[arg-type]
        path.write_text(GOOD + "f,north\n")

    monkeypatch.setattr(csv_reader, "_scan", meanwhile)
    refused(None, FileError, "changed or replaced meanwhile", path)

    def gone(*arguments: object) -> None:
        scan(*arguments)  # type: ignore[arg-type]
        path.unlink()

    path.write_text(GOOD)
    monkeypatch.setattr(csv_reader, "_scan", gone)
    assert command("check", path, "--synthesize", "county").code == 2


@covers(20)
def test_symbolic_links(make_file: MakeFile, tmp_path: Path) -> None:
    link = tmp_path / "link.csv"
    link.symlink_to(make_file(GOOD))
    data = accepted(link)
    assert data.n_records == 3
    with pytest.raises(OutputError, match="symbolic link"):
        data.write(link, overwrite=True)


NAMELESS = [
    # Unique text: a name and a diagnosis in every line, the first among them.
    "\n".join(f"{SECRET}-{row} Smith,disease {row},street {row}" for row in range(30)),
    # Levels that repeat, and a number: the first record has the only one of its kind.
    "\n".join([f"{SECRET},rare,31"] + [f"{'ab'[row % 2]},often,{row}" for row in range(30)]),
    # Few records.
    f"{SECRET},flu\nAnn,cold\nBob,ache",
]


@covers(105)
@pytest.mark.parametrize("content", NAMELESS)
def test_first_record_is_never_shown_as_a_header(
    command: Command, make_file: MakeFile, tmp_path: Path, content: str
) -> None:
    path = make_file(content)
    for options in ({}, {"keep": ["age"]}, {"ignore": ["name"]}, {"bins": {"age": "quartiles"}}):
        text = refused(command, FormatError, "may be a record|looks like a record", path, **options)
        assert "rare" not in text
    book = make_file("[variables.county]\ndescription = 'x'\n", "book.toml")
    refused(command, FormatError, "may be a record|looks like", path, "--codebook", book)
    for arguments in (
        ("check", path),
        ("init", path, "--out", tmp_path),
        ("evaluate", path, path, "--synthesize", "county"),
    ):
        answer = command(*arguments)
        assert answer.code == 2
        assert SECRET not in answer.out + answer.err
        assert "--header yes" in " ".join(answer.err.split())
    assert not (tmp_path / "plan.toml").exists()


@covers(105)
def test_a_header_that_is_confirmed(command: Command, make_file: MakeFile) -> None:
    """By the user, by a column that is named, by a codebook; or by what lies below it."""
    path = make_file("name,county\n" + "\n".join(f"p{row},c{row}" for row in range(8)) + "\n")
    assert command("check", path).code == 2
    assert '"county"' in command("check", path, "--header", "yes").out
    refused(command, ColumnError, '"name", "county"', path, "--header", "yes",
            synthesize="town", header="yes")  # fmt: skip
    assert '"name"' in command("check", path, "--synthesize", "county").out
    book = make_file("[variables.name]\ndescription = 'x'\n", "book.toml")
    assert '"county"' in command("check", path, "--codebook", book).out
    repeating = make_file("sex,area\n" + "f,north\nm,south\n" * 10, "b.csv")
    assert '"area"' in command("check", repeating).out
    numbers = make_file("name,age\nAnn,31\nBob,32\n", "c.csv")
    assert '"age"' in command("check", numbers).out
    years = make_file("2019,2020\n1,2\n2,1\n", "d.csv")
    refused(command, FormatError, "looks like a record", years, synthesize="2019")
    assert accepted(years, "2019", header="yes").names == ("2019", "2020")
    refused(None, SettingError, '"auto", "yes"', years, header="no")
