"""Plans and settings: read, written, and explained."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import MakeFile
from understudy import read_microdata
from understudy.errors import SettingError
from understudy.microdata.codebook import Codebook, VariableBook, codebook_from, codebook_text
from understudy.plan import DataPlan, plan_text, read_plan
from understudy.settings import toml_key, toml_text

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)


def test_a_first_plan_explains_every_key() -> None:
    text = plan_text("data.csv", ["a", "county"], ["county"], {"id": "an\nidentifier"}, "book.toml")
    for key in DataPlan.model_fields:
        assert f"{key} = " in text or f"[data.{key}." in text, key
    assert tomllib.loads(text)["data"]["ignore"] == ["id"]


def test_a_plan_reads_the_data_beside_it(make_file: MakeFile) -> None:
    make_file("age,id,county\n" + "".join(f"{n},{n},{'xy'[n % 2]}\n" for n in range(40)))
    make_file('[variables.county]\nlevels = ["y", "x"]\n', "book.toml")
    plan = make_file(
        '[data]\nfile = "data.csv"\nsynthesize = ["county"]\nignore = ["id"]\n'
        'codebook = "book.toml"\n[data.bins.age]\ncuts = [10, 20]\nnames = ["a", "b", "c"]\n',
        "plan.toml",
    )
    options = read_plan(plan).data.reading_options(plan.parent)
    data = read_microdata(**options)
    assert data.variable("county").levels == ("y", "x")
    assert data.variable("age").levels == ("a", "b", "c")
    assert data.patterns.sizes.tolist() == [10, 10, 20]


@given(columns=st.lists(NAMES, min_size=1, max_size=4, unique=True), reason=NAMES)
def test_any_names_make_a_plan_that_can_be_read(columns: list[str], reason: str) -> None:
    text = plan_text(columns[0], columns, columns[:1], dict.fromkeys(columns[1:], reason), None)
    plan = tomllib.loads(text)["data"]
    assert plan["file"] == columns[0]
    assert plan["synthesize"] == columns[:1]
    assert plan["ignore"] == columns[1:]


@given(
    levels=st.lists(NAMES, min_size=1, max_size=4, unique=True), name=NAMES, label=NAMES, text=NAMES
)
def test_any_codebook_comes_back(
    tmp_path: Path, levels: list[str], name: str, label: str, text: str
) -> None:
    book = Codebook(
        reviewed=True,
        variables={
            name: VariableBook(levels=tuple(levels), labels={label: text}, description=text)
        },
        impossible=({name: (levels[0],)},),
    )
    path = tmp_path / "book.toml"
    path.write_text(codebook_text(book, ["note"]), encoding="utf-8", newline="")
    assert codebook_from(path) == book


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[variables.a]\nlevels = []", "empty list"),
        ('[variables.a]\nlevels = ["x", "x"]', "twice"),
        ('[variables.a]\nlevels = ["x"]\nmissing = ["x"]', "in common"),
        ("impossible = 5", "impossible"),
        ("[[impossible]]\na = []", "names no level"),
        ("[[impossible]]\na = 1", "impossible"),
        ("reviewed = 1", "reviewed"),
    ],
)
def test_mistakes_in_a_codebook(make_file: MakeFile, text: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        codebook_from(make_file(text, "book.toml"))


def test_toml_words() -> None:
    assert toml_key("plain_key-1") == "plain_key-1"
    assert tomllib.loads(f"{toml_key('a b')} = {toml_text(chr(127))}") == {"a b": "\x7f"}


def test_many_mistakes_are_counted() -> None:
    wrong: dict[str, object] = {"variables": {f"v{n}": {"levels": []} for n in range(30)}}
    with pytest.raises(SettingError, match=r"found 30: .*and 10 more"):
        codebook_from(wrong)
