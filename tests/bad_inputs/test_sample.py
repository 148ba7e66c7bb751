"""Rows 54 to 63: the sample as a whole."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.bad_inputs.cases import SECRET, accepted, covers, refused, warned
from tests.conftest import Command, MakeFile
from understudy import randomness
from understudy.errors import LevelError, SettingError


@covers(54, 55)
def test_small_patterns(command: Command, make_file: MakeFile) -> None:
    rows = "".join(f"{number % 4},{number // 4},{'xy'[number % 2]}\n" for number in range(12))
    path = make_file("a,b,county\n" + rows)
    data = warned("12 of 12 patterns.*k-anonymity 1", path)
    assert data.patterns.sizes.tolist() == [1] * 12
    answer = command("check", path, "--synthesize", "county", "--known", "a")
    assert answer.code == 0
    assert "smallest pattern has 1 record (" in " ".join(answer.out.split())
    assert 'group that "a" forms: 3 records' in answer.out


@covers(56)
def test_all_records_alike(command: Command, make_file: MakeFile) -> None:
    path = make_file("a,county\n" + f"1,{SECRET}\n" * 50)
    refused(command, LevelError, "nothing to synthesize", path)


@covers(57)
def test_one_label_holds_nearly_all() -> None:
    frame = pl.DataFrame({"a": ["p", "q"] * 1000, "county": ["x"] * 1998 + ["y"] * 2})
    assert accepted(frame).counts.sum() == 2000


@pytest.mark.filterwarnings("ignore:the kept column")
@covers(58)
def test_duplicate_records() -> None:
    frame = pl.DataFrame({"a": ["p", "q"] * 50, "county": ["x", "y"] * 50})
    data = accepted(frame)
    assert data.n_combinations == 2
    assert data.counts.tolist() == [50, 50]


@covers(59)
def test_many_records_are_read_in_blocks(make_file: MakeFile) -> None:
    """Ten million records are in the benchmarks; here, blocks and growing tables are exercised."""
    draw = randomness.stream(1, "many records")
    codes = draw.integers(0, 3000, size=(300_000, 2))
    frame = pl.DataFrame({"a": codes[:, 0].astype(str), "county": codes[:, 1].astype(str)})
    told: list[tuple[int, int]] = []
    path = make_file(frame.write_csv())
    data = accepted(path, progress=lambda done, total: told.append((done, total)))
    assert data.frame().cast(pl.String).equals(frame)
    assert told[-1] == (path.stat().st_size,) * 2
    assert len(told) > 1
    assert data.n_combinations == frame.unique().height


@covers(60)
def test_more_cells_than_a_machine_number_can_count() -> None:
    draw = randomness.stream(1, "overflow")
    columns = {f"v{n}": draw.integers(0, 1000, 3000).astype(str) for n in range(8)}
    data = warned("single record", pl.DataFrame({**columns, "county": ["x", "y"] * 1500}))
    product = 1
    for variable in data.variables:
        product *= variable.n_levels
    assert data.n_cells == product > 2**63
    assert isinstance(data.n_cells, int)
    sorted_rows = [tuple(row) for row in data.combinations.tolist()]
    assert sorted_rows == sorted(set(sorted_rows))
    assert np.array_equal(data.combinations[data.of_record, 0], data.codes("v0"))


@covers(61)
@pytest.mark.parametrize("name", ["weight", "FINLWT21", "person_wgt", "wt"])
def test_survey_weights_are_not_used_and_it_says_so(
    command: Command, make_file: MakeFile, name: str
) -> None:
    rows = "".join(f"{100 + number % 3},{'xy'[number % 2]}\n" for number in range(30))
    path = make_file(f"{name},county\n{rows}")
    answer = command("check", path, "--synthesize", "county")
    assert "survey weights, which the models do not use" in " ".join(answer.out.split())


BOOK = """
[[impossible]]
age = "<20"
job = ["judge", "surgeon"]
"""


@covers(62)
def test_impossible_combination_in_the_data(command: Command, make_file: MakeFile) -> None:
    rows = "<20,pupil,x\n>60,judge,y\n<20,judge,x\n>60,surgeon,y\n"
    book = make_file(BOOK, "book.toml")
    path = make_file("age,job,county\n" + rows)
    says = "1 record that breaks rule number 1"
    refused(command, LevelError, says, path, "--codebook", book, codebook=book)
    fine = make_file("age,job,county\n" + rows.replace("<20,judge", "<20,pupil"))
    data = accepted(fine, codebook=book)
    assert data.impossible == ({"age": ("<20",), "job": ("judge", "surgeon")},)
    wrong = make_file(BOOK.replace("surgeon", "sorcerer"), "wrong.toml")
    refused(None, SettingError, "1 that the data", fine, codebook=wrong)
    refused(None, SettingError, "rule number 1 about", fine, codebook=book, ignore="job")
    unknown = make_file(BOOK.replace("job", "jobb"), "unknown.toml")
    refused(None, SettingError, 'nearest: "job"', fine, codebook=unknown)


@covers(63)
def test_rules_that_leave_nothing_possible(command: Command, make_file: MakeFile) -> None:
    path = make_file("a,county\n1,x\n2,y\n1,y\n2,x\n")
    book = make_file('[[impossible]]\ncounty = ["x", "y"]\n', "book.toml")
    says = "every record breaks"
    refused(command, SettingError, says, path, "--codebook", book, codebook=book)
    empty = make_file("[[impossible]]\n", "empty.toml")
    refused(command, SettingError, "names no level", path, "--codebook", empty, codebook=empty)
