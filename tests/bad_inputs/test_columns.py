"""Rows 21 to 30: columns."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

from tests.bad_inputs.cases import SECRET, accepted, covers, refused, warned
from tests.conftest import Command, MakeFile
from understudy.errors import ColumnError, InputError, SettingError

GOOD = f"gender,county\nf,{SECRET}\n" + "m,south\nf,south\n" * 6


@covers(21)
def test_duplicate_names(command: Command, make_file: MakeFile) -> None:
    refused(command, ColumnError, '"a" more than once', make_file("a,a,county\n1,2,x\n1,2,y\n"))
    frame = pd.DataFrame([[1, 2, "x"]], columns=["a", "a", "county"])
    refused(None, ColumnError, '"a" more than once', frame)


@covers(22)
def test_names_of_spaces(command: Command, make_file: MakeFile) -> None:
    refused(command, ColumnError, "column number 1", make_file(" ,county\n1,x\n1,y\n"))
    refused(command, ColumnError, "column number 1, 3", make_file(",county,\n1,x,2\n1,y,2\n"))


@covers(23)
def test_names_nearly_the_same(make_file: MakeFile) -> None:
    path = make_file("Age,age ,county\n1,2,x\n2,1,y\n1,2,x\n2,1,y\n")
    assert warned("case or spaces", path).names == ("Age", "age ", "county")


@covers(24)
def test_column_that_is_not_there(command: Command, make_file: MakeFile) -> None:
    text = refused(command, ColumnError, "not in the data", make_file(GOOD), synthesize="conty")
    assert '"gender", "county"' in text
    assert 'nearest: "county"' in text
    refused(None, ColumnError, "not in the data", make_file(GOOD), keep=["sex"])


@covers(25)
def test_column_with_two_parts(command: Command, make_file: MakeFile) -> None:
    path = make_file(GOOD)
    says = "both synthesized and kept"
    refused(command, SettingError, says, path, "--keep", "gender,county", keep=["gender", "county"])
    refused(None, SettingError, "both synthesized and ignored", path, ignore="county")
    refused(None, SettingError, "both kept and ignored", path, keep="gender", ignore="gender")
    refused(None, SettingError, "at least one column", path, synthesize=[])  # type: ignore[arg-type]
    refused(None, SettingError, "as text", path, keep=[1])


@covers(26)
def test_nothing_kept(make_file: MakeFile) -> None:
    data = accepted(make_file("county\nx\ny\nx\n"))
    assert data.kept == ()
    assert len(data.patterns) == 1
    assert data.patterns.sizes.tolist() == [3]


@covers(27)
@pytest.mark.parametrize("name", ["a=b", "<script>", "../../etc", "a\nb", "a\x1b[31mb", "[bold]x"])
def test_odd_names(command: Command, make_file: MakeFile, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    path = make_file(f"{quoted},county\n1,x\n2,y\n1,y\n")
    assert accepted(path).names == (name, "county")
    answer = command("check", path, "--synthesize", "county")
    assert answer.code == 0
    assert "\x1b" not in answer.out + answer.err
    shown = name.replace("\n", "\\n").replace("\x1b", "\\x1b")
    assert f'"{shown}"' in answer.out
    refused(command, ColumnError, "not in the data", path, synthesize="nothing")


@covers(28)
def test_identifier(command: Command, make_file: MakeFile) -> None:
    rows = "".join(f"{SECRET}{number},{'xy'[number % 2]}\n" for number in range(30))
    path = make_file("id,county\n" + rows)
    refused(command, ColumnError, "identifier", path)
    assert accepted(path, ignore="id").kept == ()


@covers(28)
def test_identifier_to_synthesize() -> None:
    frame = pl.DataFrame({"county": [f"c{n}" for n in range(20)], "a": ["x", "y"] * 10})
    assert warned("every record has its own level", frame).n_records == 20


@covers(29)
def test_more_columns_than_rows(make_file: MakeFile) -> None:
    path = make_file("a,b,c,county\n1,1,1,x\n2,2,2,y\n")
    assert warned("more columns", path).n_records == 2


@covers(30)
def test_reserved_names(command: Command, make_file: MakeFile) -> None:
    path = make_file("_row,county\n1,x\n2,y\n1,x\n2,y\n")
    refused(command, ColumnError, '"_row"', path)
    assert accepted(path, ignore=["_row"]).kept == ()
    z = make_file("z,county\n1,x\n2,y\n1,x\n2,y\n")
    assert accepted(z).names == ("z", "county")


@covers(115)
@pytest.mark.parametrize("n_columns", [8_000, 100_000])
def test_very_many_columns(command: Command, make_file: MakeFile, n_columns: int) -> None:
    """A refusal with the limit, or an answer where few of them are used; both at once."""
    names = [f"v{column}" for column in range(n_columns)]
    rows = [",".join("ab"[(row >> column % 4) & 1] for column in range(n_columns))
            for row in range(16)]  # fmt: skip
    path = make_file("\n".join([",".join(names), *rows]) + "\n")
    limit = rf"at most 1,000 columns .* found {n_columns:,} of {n_columns:,} columns"
    refused(command, ColumnError, limit, path, synthesize="v0")
    doubtful = "may be a record.* at most 1,000 columns can be used"  # few records are sampled
    unknown = doubtful if n_columns > 10_000 else '"v0", "v1"'
    refused(command, InputError, unknown, path, synthesize="w11111")
    few = accepted(path, "v0", keep=["v1", "v2"])
    assert few.n_combinations == 8
    ignored = accepted(path, "v0", ignore=names[500:])
    assert len(ignored.names) == 500
    answer = command("check", path, "--synthesize", "v0", "--keep", "v1")
    assert answer.code == 0
    frame = pl.DataFrame({name: ["a", "b"] for name in names[:8_000]})
    refused(None, ColumnError, "at most 1,000 columns", frame, synthesize="v0")
