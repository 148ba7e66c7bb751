"""The commands: what they print, what they write, how they end."""

from __future__ import annotations

import io
import json
import os
import re
import stat
import sys
from itertools import pairwise
from pathlib import Path

import pytest

import understudy
from tests.bad_inputs.cases import SECRET
from tests.conftest import Command, MakeFile
from understudy import cli, load_ce_like
from understudy.errors import ExitCode
from understudy.microdata.codebook import codebook_from
from understudy.study.plan import read_plan

COMMANDS = [name for name in cli.app if not name.startswith("-")]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    return load_ce_like().write(tmp_path / "survey.csv")


def test_help_and_version(command: Command) -> None:
    answer = command("--help")
    assert answer.code == 0
    assert {"compare", "demo", "open", "run", "status", "verify"} <= set(COMMANDS)
    for word in COMMANDS:
        assert re.search(rf"^(│ )?{word} ", answer.out, re.MULTILINE), word
    assert command("--version").out.strip() == understudy.__version__
    assert "--synthesize" in command("check", "--help").out


def test_check(command: Command, survey: Path) -> None:
    answer = command("check", survey, "--synthesize", "county", "--known", "gender,age")
    assert answer.code == 0
    assert answer.err == ""
    words = " ".join(answer.out.split())
    for part in ("6,208 records", "40 patterns", "2,234 combinations", "5,320 conceivable",
                 "smallest pattern has 3 records", "form: 37 records", "DPMPM", "DP-areal",
                 "5 of 40 patterns have fewer than 5", "No codebook was given"):  # fmt: skip
        assert part in words, part
    assert "C001" not in answer.out


def test_check_says_where_the_levels_coincide(command: Command, make_file: MakeFile) -> None:
    """Labels that are spread alike in every pattern: Min is Max, and no place lies between them."""
    rows = [f"{sex},{town}\n" for sex in "fm" for town in "nsew" for _ in range(5)]
    told = command("check", make_file("sex,town\n" + "".join(rows)), "--synthesize", "town").out
    words = " ".join(told.split())
    assert "Min is not below Max for the expected match risk" in words
    skewed = [f"{sex},{town}\n" for sex, town in zip("ffffmmmm", "nnnnssss", strict=True)] * 5
    told = command("check", make_file("sex,town\n" + "".join(skewed)), "--synthesize", "town").out
    assert "Min is not below Max" not in told


def test_check_as_json(command: Command, survey: Path) -> None:
    answer = command("check", survey, "--synthesize", "county", "--known", "gender", "--json")
    told = json.loads(answer.out)
    assert told["records"] == 6208
    assert told["patterns"] == {"number": 40, "smallest": 3, "below_five": 5}
    assert told["combinations"] == 2234
    assert told["smallest_known_group"] == 2946
    assert [line["levels"] for line in told["variables"]] == [2, 4, 5, 133]
    assert told["problems"] == []
    levels = [(line["minimum"], line["maximum"]) for line in told["risk_levels"].values()]
    assert levels[0] == pytest.approx((6208 / 133, 172.552), rel=1e-5)
    assert levels[1] == pytest.approx((2.0, 4.617), rel=1e-3)
    assert set(told["memory_bytes"]) == {
        "DPMPM", "DP-areal", "Back-off tree", "Formal Dirichlet", "20 synthetic sets"
    }  # fmt: skip
    seconds = told["processor_seconds"]
    assert set(seconds) == {"DPMPM", "DP-areal", "Back-off tree"}
    assert 1 < seconds["Back-off tree"] < 30 < seconds["DP-areal"] < 240 < 2 * seconds["DPMPM"]


def test_check_does_not_count_label_probabilities_that_no_fit_keeps(
    command: Command, make_file: MakeFile
) -> None:
    """2,000 patterns by 300 labels: the draws of all cells would take 9.6 GB."""
    rows = "".join(f"p{number % 2000},l{number % 300}\n" for number in range(6000))
    path = make_file("code,label\n" + rows)
    told = json.loads(command("check", path, "--synthesize", "label", "--json").out)
    assert max(told["memory_bytes"].values()) < 1e9


def test_check_says_how_long_a_fit_would_take(command: Command, make_file: MakeFile) -> None:
    """A DP-areal of 300 patterns with up to 8 records of a label: longer than a default limit."""
    counts = [1 + (5 * number + number // 300) % 9 for number in range(3000)]
    rows = "".join(
        f"p{number % 300},l{number // 300}\n" * count for number, count in enumerate(counts)
    )
    said = " ".join(
        command("check", make_file("code,label\n" + rows), "--synthesize", "label").out.split()
    )
    minutes = re.search(r"default fit, at least about: DPMPM .*, DP-areal (\d+) min, Back", said)
    assert minutes is not None
    assert 5 < int(minutes[1]) < 60


def test_check_without_a_column_to_synthesize(command: Command, survey: Path) -> None:
    answer = command("check", survey, "--ignore", "age")
    assert answer.code == 0
    assert 'Ignored: "age"' in answer.out
    assert "Memory" not in answer.out
    assert "default fit" not in answer.out


def test_check_when_nothing_can_be_used(command: Command, make_file: MakeFile) -> None:
    rows = "".join(f"{number / 3:.4f},{'ab'[number % 2]}\n" for number in range(40))
    answer = command("check", make_file("county,a\n" + rows), "--synthesize", "county", "--json")
    told = json.loads(answer.out)
    assert answer.code == 2
    assert "memory_bytes" not in told
    assert told["patterns"]["number"] == 2
    path = make_file("county,a\n" + "".join(f"{n / 3:.4f},{n}\n" for n in range(40)))
    told = json.loads(command("check", path, "--synthesize", "county", "--json").out)
    assert "patterns" not in told


def test_check_sets_columns_aside(command: Command, make_file: MakeFile) -> None:
    rows = "".join(f"{SECRET}{n},{n / 7:.5f},{n},{'xy'[n % 2]}\n" for n in [*range(30), 29])
    path = make_file("id,income,age,county\n" + rows)
    answer = command("check", path, "--synthesize", "county")
    words = " ".join(answer.out.split())
    assert answer.code == 2
    assert '"income": 30 different numbers' in words
    assert '"age": many whole numbers' in words
    assert "set aside, see below" in words
    assert SECRET not in answer.out
    assert command("check", path, "--synthesize", "county", "--ignore", "id,income,age").code == 0


def test_init_and_check_of_the_plan(command: Command, survey: Path, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    answer = command("init", survey, "--synthesize", "county", "--out", folder)
    assert answer.code == 0
    assert "must be reviewed" in " ".join(answer.out.split())
    plan, book = folder / "plan.toml", folder / "codebook.toml"
    assert read_plan(plan).data.file == "../survey.csv"
    drafted = codebook_from(book)
    assert drafted.reviewed is False
    assert len(drafted.variables["county"].levels or ()) == 133
    assert stat.S_IMODE(book.stat().st_mode) == 0o600
    assert command("check", plan).code == 0
    assert command("check", plan, "--synthesize", "age").code == 2
    again = command("init", survey, "--out", folder)
    assert again.code == 2
    assert "already there" in again.err
    assert command("init", survey, "--out", folder, "--overwrite").code == 0
    unfinished = command("check", plan)
    assert unfinished.code == 2
    assert "synthesize" in unfinished.err


def test_init_says_why_columns_are_ignored(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    rows = "".join(f"p{n},{n / 7:.5f},{'xy'[n % 2]}\n" for n in range(30))
    path = make_file("id,income,county\n" + rows)
    assert command("init", path, "--synthesize", "county", "--out", tmp_path).code == 0
    assert read_plan(tmp_path / "plan.toml").data.ignore == ("id", "income")
    assert "identifier" in (tmp_path / "plan.toml").read_text()
    assert command("check", tmp_path / "plan.toml").code == 0
    open_choice = tmp_path / "open"
    open_choice.mkdir()
    answer = command("init", path, "--out", open_choice)
    assert "name the columns to synthesize" in answer.out


def test_init_into_a_folder_that_may_not_be_written(
    command: Command, survey: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    answer = command("init", survey, "--out", tmp_path)
    assert answer.code == 2
    assert "Permission denied" in answer.err


def test_interruption(command: Command, survey: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("understudy.cli.check.inspect_source", stop)
    answer = command("check", survey)
    assert answer.code == ExitCode.INTERRUPTED
    assert "Interrupted" in answer.err


def test_a_fault_of_ours_shows_no_values(
    command: Command, survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError(SECRET)

    monkeypatch.setattr("understudy.cli.check.inspect_source", fail)
    answer = command("check", survey)
    assert answer.code == ExitCode.FAULT_IN_PROGRAM
    assert "KeyError" in answer.err
    assert SECRET not in answer.err


def test_what_reading_would_warn_of_is_advice(command: Command, make_file: MakeFile) -> None:
    path = make_file("Age,age,county\n" + "1,2,x\n2,1,y\n" * 10)
    answer = command("check", path, "--synthesize", "county")
    assert answer.code == 0
    assert answer.err == ""
    assert "differ only in case or spaces" in " ".join(answer.out.split())


def test_closed_output_while_a_command_prints(
    survey: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(io.StringIO):
        n_writes = 0

        def write(self, _: str) -> int:
            Gone.n_writes += 1
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stdout", Gone())
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", os.fspath(survey)])
    assert ended.value.code == 0
    assert Gone.n_writes > 0


def test_every_option_is_explained(command: Command) -> None:
    for name in COMMANDS:
        kinds = r"STR(\.\.\.)?|INT|PATH|CHOICE|FLOAT"
        bare = re.findall(rf"(--[a-z-]+) (?:{kinds}) +│", command(name, "--help").out)
        assert bare == [], name


def test_help_says_all_of_a_command_in_whole_lines(command: Command) -> None:
    """Paragraphs are set anew: no line ends although the next word would have fitted."""
    assert "3 not converged, 4 interrupted" in " ".join(command("run", "--help").out.split())
    for name in COMMANDS:
        cells = re.findall(r"^│ (.*) │$", command(name, "--help").out, re.MULTILINE)
        for line, other in pairwise(cells):
            if other.startswith(" " * 6):
                space = len(line) - len(line.rstrip())
                assert len(other.split()[0]) >= space, (name, line)


def test_no_help_shows_an_empty_default(command: Command) -> None:
    for name in COMMANDS:
        words = " ".join(command(name, "--help").out.replace("│", " ").split())
        assert not re.search(r"default: (\(\)|None|False|\])", words), name


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("init", "survey.csv", "--synthesize", "county"), "--overwrite"),
        (("run", "plan.toml"), "a value of --out for the command run"),
        (("evaluate", "plan.toml", "survey.csv", "--keep", "age"), "found --keep beside it"),
        (("check", "survey.csv", "--synthesize", "conty"), 'nearest: "county"'),
        (("check", "survey.csv", "--synthesize", "county", "--bins", "ag=2"), 'nearest: "age"'),
        (("check", "survey.csv", "--synthesize", "county", "--bins", "ag=2"), "--bins"),
        (("check", "survey.csv", "--synthesize", "county", "--bins", "age"), "--bins such as"),
        (("check", "survey.csv", "--synthesize", "county", "--ignore", "ag"), "list for ignore"),
        (("check", "survey.csv", "--synthesize", "county", "--weight", "w"), "list for the weight"),
        (("evaluate", "survey.csv", "survey.csv"), "(synthesize, --synthesize)"),
        (
            ("check", "survey.csv", "--unused-levels", "kept"),
            '--unused-levels as one of "error", "keep", "drop"; found "kept" (nearest: "keep")',
        ),
        (
            ("evaluate", "survey.csv", "survey.csv", "--repeats", "x"),
            '--repeats as a whole number; found "x"',
        ),
    ],
)
def test_mistakes_name_the_option_or_the_column(
    command: Command, survey: Path, arguments: tuple[str, ...], named: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(survey.parent)
    Path("plan.toml").write_text('[data]\nfile = "survey.csv"\nsynthesize = ["county"]\n')
    answer = command(*arguments)
    assert answer.code == 2
    assert named in answer.err


def test_one_record_is_one_record(command: Command, make_file: MakeFile) -> None:
    told = command("check", make_file("sex,town\nf,n\nm,s\n"), "--synthesize", "town").out
    words = " ".join(told.split())
    assert "The smallest pattern has 1 record (" in words
    assert "Records in the 2 smallest patterns: 1 record each." in words
    assert "1 records" not in words


def test_a_table_of_many_variables_fits_a_terminal(command: Command, make_file: MakeFile) -> None:
    names = [f"variable_{number}" for number in range(12)]
    rows = [",".join(str((row >> number) % 2) for number in range(12)) for row in range(40)]
    text = "\n".join([",".join([*names, "town"]), *(f"{row},t" for row in rows), f"{rows[0]},u"])
    answer = command("check", make_file(text + "\n"), "--synthesize", "town")
    assert "expected match risk, all kept variables known" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 100
