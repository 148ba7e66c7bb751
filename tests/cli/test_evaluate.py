"""``understudy evaluate``: judging files of any origin."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import understudy as us
from tests.conftest import Command
from tests.studies import write_study
from understudy import (
    Microdata,
    SyntheticSets,
    attribute_risk,
    identification_risk,
    inherent_risk,
    load_ce_like,
    table_utility,
    within_pattern_utility,
)
from understudy.cli import output
from understudy.cli.output import progress_line
from understudy.microdata.label_table import empirical_labels, split_labels
from understudy.randomness import stream
from understudy.study.progress import StudyProgress


@pytest.fixture(scope="module")
def data() -> Microdata:
    return load_ce_like()


@pytest.fixture(scope="module")
def sets(data: Microdata) -> SyntheticSets:
    table = empirical_labels(data)
    drawn = [split_labels(data, table.draw(stream(1, "evaluate", k), data)) for k in range(3)]
    return SyntheticSets(data, np.stack(drawn))


@pytest.mark.parametrize(
    "ending",
    [
        ".csv",
        ".parquet",
        *(pytest.param(other, marks=pytest.mark.slow) for other in (".dta", ".sav")),
    ],
)
def test_values_are_those_of_the_measures(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets, ending: str
) -> None:
    original = data.write(tmp_path / f"original{ending}")
    files = sets.write(tmp_path, ending)
    answer = command(
        "evaluate", original, *files, "--synthesize", "county", "--known", "gender", "--known",
        "gender,age", "--seed", 1, "--repeats", 5, "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    assert (told["records"], told["files"], told["rows"]) == (6208, 3, "aligned")
    for shown, known in zip(told["identification"], (["gender"], ["gender", "age"]), strict=True):
        risk = identification_risk(data, sets, known=known)
        assert shown["known"] == known
        assert shown["expected_match_risk"]["mean"] == pytest.approx(risk.expected_match_risk)
        assert shown["unique_matches"]["all_files_together"] == risk.joint.unique_matches
        assert shown["random_linkage"] == pytest.approx(risk.random_linkage)
    assert told["attribute"]["matches"]["mean"] == attribute_risk(data, sets).matches
    tables = table_utility(data, sets, seed=1)
    for order in (1, 2, 3):
        shown = told["utility"]["tables"][f"{order}-way"]
        assert shown["deviation"] == pytest.approx(tables.deviation[order])
        assert shown["noise_floor"] == pytest.approx(tables.noise_floor[order])
    within = within_pattern_utility(data, sets)
    assert told["utility"]["within_pattern"]["mean_distance"] == pytest.approx(
        within.distance.mean()
    )
    level = told["attribute"]["matches"]
    assert level["minimum_level"] == pytest.approx(6208 / 133)
    assert level["maximum_level"] == pytest.approx(172.552, rel=1e-5)


def test_the_readable_table(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets
) -> None:
    original, files = data.write(tmp_path / "original.csv"), sets.write(tmp_path)
    answer = command(
        "evaluate", original, *files, "--synthesize", "county", "--repeats", 3,
        "--formula", "income ~ county + age + gender",
    )  # fmt: skip
    assert answer.code == 0
    words = " ".join(answer.out.split())
    for part in ("3 synthetic files of 6,208 records", "expected match risk", "Min", "Max",
                 "paired at random", "baselines of the", "most frequent label", "noise floor",
                 "3-way", "Within-pattern utility", "interval overlap"):  # fmt: skip
        assert part in words
    assert "C001" not in answer.out


def test_files_that_would_look_safe_are_refused(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets
) -> None:
    original = data.write(tmp_path / "original.csv")
    shuffled = sets[0].sample(fraction=1.0, shuffle=True, seed=1)
    shuffled.write_csv(tmp_path / "shuffled.csv")
    recoded = sets[0].with_columns(pl.col("county").to_physical().cast(pl.String))
    recoded.write_csv(tmp_path / "recoded.csv")
    for name, says in (("shuffled", "in another order"), ("recoded", "coded differently")):
        answer = command("evaluate", original, tmp_path / f"{name}.csv", "--synthesize", "county")
        assert answer.code == 2
        assert says in answer.err
    only_labels = sets[0].with_columns(pl.Series("county", shuffled["county"]))
    only_labels.write_csv(tmp_path / "labels.csv")
    answer = command(
        "evaluate", original, tmp_path / "labels.csv", "--synthesize", "county", "--repeats", 3
    )
    assert "note: " in answer.err
    assert "randomly paired rows" in answer.err


def test_mixed_up_rows_can_stop_the_program(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets
) -> None:
    original = data.write(tmp_path / "original.csv")
    labels = sets[0]["county"].sample(fraction=1.0, shuffle=True, seed=1)
    sets[0].with_columns(county=labels).write_csv(tmp_path / "labels.csv")
    options = ("--synthesize", "county", "--repeats", 2, "--if-unaligned", "error")
    answer = command("evaluate", original, tmp_path / "labels.csv", *options)
    assert answer.code == 2
    told = command("evaluate", original, tmp_path / "labels.csv", *options[:4], "--json")
    assert told.code == 0
    assert json.loads(told.out)["warnings"]


@pytest.mark.slow
def test_all_files_together_stand_beside_their_own_levels(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets
) -> None:
    """Perfect sets lie at the Max level, one by one and together (within 6 standard errors)."""
    original, files = data.write(tmp_path / "original.csv"), sets.write(tmp_path)
    options = ("--synthesize", "county", "--repeats", 40, "--seed", 1, "--json")
    told = json.loads(command("evaluate", original, *files, *options).out)
    level = inherent_risk(data, known=data.kept, repeats=40, seed=1, sets=3).maximum
    shown = told["attribute"]["matches"]
    spread = level.joint_spreads["attribute_matches"]
    assert shown["all_files_together_maximum_level"] == pytest.approx(spread.mean)
    assert spread.standard_error is not None
    wide = 6 * spread.standard_error * 40**0.5
    assert abs(shown["all_files_together"] - spread.mean) < wide


def test_fully_synthetic_files_are_compared_without_rows(
    command: Command, tmp_path: Path, data: Microdata
) -> None:
    original = data.write(tmp_path / "original.csv")
    options = ("--synthesize", "county,age", "--ignore", "gender,income", "--json")
    told = json.loads(command("evaluate", original, original, *options).out)
    assert told["fully_synthetic"]
    assert "identification" not in told
    assert told["utility"]["tables"]["2-way"]["deviation"] == 0
    readable = command("evaluate", original, original, *options[:-1])
    assert readable.code == 0
    assert "each belongs to no record" in " ".join(readable.out.split())
    assert command("evaluate", original, original, *options[:-1], "--known", "age").code == 2


def test_levels_that_would_be_too_large_do_not_stop_the_rest(
    command: Command,
    tmp_path: Path,
    data: Microdata,
    sets: SyntheticSets,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("understudy.cli.evaluate.LARGEST_TABLE", 1)
    original, files = data.write(tmp_path / "original.csv"), sets.write(tmp_path)
    answer = command(
        "evaluate", original, files[0], "--synthesize", "county", "--known", "gender, age"
    )
    assert answer.code == 0
    assert "were not computed" in " ".join(answer.out.split())


def test_a_plan_in_place_of_options(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets
) -> None:
    original, files = data.write(tmp_path / "original.csv"), sets.write(tmp_path)
    assert command("init", original, "--synthesize", "county", "--out", tmp_path).code == 0
    answer = command("evaluate", tmp_path / "plan.toml", files[0], "--repeats", 2, "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["identification"][0]["known"] == ["gender", "income", "age"]


@pytest.mark.slow
def test_own_records_against_a_control_group(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets
) -> None:
    """The original's own rows as control: then nobody's record matters, by the row."""
    original, files = data.write(tmp_path / "original.csv"), sets.write(tmp_path)
    asked = ["evaluate", original, *files, "--synthesize", "county", "--repeats", 2, "--seed", 1]
    alone = json.loads(command(*asked, "--json").out)["own_record"]
    assert alone["evidence"] == "others"
    assert {attack["setting"] for attack in alone["attacks"]} == {"worst case", "as released"}
    with_control = json.loads(command(*asked, "--control", original, "--json").out)["own_record"]
    assert with_control["evidence"] == "control group"
    released = next(
        attack
        for attack in with_control["attacks"]
        if (attack["attack"], attack["setting"]) == ("pooled_modal", "as released")
    )
    assert released["effect"] == pytest.approx(0.0, abs=1e-6)
    words = command(*asked).out
    assert "without anybody's own record" in words
    assert "weaker evidence" in words


def test_a_report_with_the_verdict_of_a_study(
    command: Command, tmp_path: Path, data: Microdata, sets: SyntheticSets
) -> None:
    """The same page and limits; the exit code is the verdict's. The original itself fails."""
    original, files = data.write(tmp_path / "original.csv"), sets.write(tmp_path)
    page = tmp_path / "page.html"
    asked = ["--synthesize", "county", "--known", "gender,age", "--repeats", 2, "--seed", 1]
    asked += ["--report", page]
    answer = command("evaluate", original, *files, *asked)
    words = " ".join(answer.out.split())
    assert "Verdict: " in words
    assert f"Report: {page}" in answer.out
    assert "files fail - " in words  # no codebook was given; no chains
    html = page.read_text(encoding="utf-8")
    assert "Files of another tool" in html
    assert ": no chains." in html
    assert page.stat().st_mode & 0o777 == 0o600
    told = json.loads(command("evaluate", original, original, *asked, "--json").out)
    assert told["outcome"] == "fail"
    assert told["exit_code"] == 1
    assert told["synthesizers"]["files"]["own_record_effect"] > 1
    assert {"codebook", "own-record effect"} <= {
        reason["subject"] for reason in told["reasons"] if reason["outcome"] == "fail"
    }
    nowhere = command("evaluate", original, *files, *asked[:-1], tmp_path / "no" / "page.html")
    assert nowhere.code == 2
    assert not nowhere.out


def test_a_report_about_fully_synthetic_files(
    command: Command, tmp_path: Path, data: Microdata
) -> None:
    original = data.write(tmp_path / "original.csv")
    options = ("--synthesize", "county,age", "--ignore", "gender,income")
    page = tmp_path / "page.html"
    answer = command("evaluate", original, original, *options, "--report", page, "--json")
    told = json.loads(answer.out)
    assert told["outcome"] == "fail"
    assert any(
        reason["synthesizer"] == "files" and reason["outcome"] == "fail"
        for reason in told["reasons"]
    )
    assert page.exists()


def test_bins_codebook_and_levels_without_a_plan(command: Command, tmp_path: Path) -> None:
    """Files may hold numbers or the names of their groups; patterns are named by their levels."""
    ages = [20, 30, 45, 61] * 10
    original = pl.DataFrame({"age": ages, "town": ["a", "b"] * 20})
    original.write_csv(tmp_path / "original.csv")
    groups = ["<40" if age < 40 else ">=40" for age in ages]
    original.write_csv(tmp_path / "numbers.csv")
    original.with_columns(age=pl.Series(groups)).write_csv(tmp_path / "groups.csv")
    (tmp_path / "book.toml").write_text('[variables.town]\nlevels = ["a", "b"]\n')
    options = ("--synthesize", "town", "--bins", "age=40", "--codebook", tmp_path / "book.toml",
               "--repeats", 5, "--seed", 1)  # fmt: skip
    files = [tmp_path / f"{name}.csv" for name in ("numbers", "groups")]
    answer = command("evaluate", tmp_path / "original.csv", *files, *options)
    assert answer.code == 0, answer.err
    assert re.search(r"\n  age +records", answer.out)
    assert re.search(r"\n  >=40 +20 ", answer.out)
    page = tmp_path / "page.html"
    assert command("evaluate", tmp_path / "original.csv", *files, *options, "--report", page).code
    assert "40" in page.read_text()
    quartiles = [word if word != "age=40" else "age=median" for word in options]
    refused = command("evaluate", tmp_path / "original.csv", files[0], *quartiles)
    assert refused.code == 2
    assert "--bins with cut points" in refused.err


@pytest.fixture(scope="module")
def weighted(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An original with a weight, strata and a date, and two synthetic files that carry two."""
    folder = tmp_path_factory.mktemp("weighted")
    generator = stream(2, "weighted")
    n = 400
    frame = pl.DataFrame(
        {
            "age": [f"a{code}" for code in generator.integers(0, 3, n)],
            "final_weight": [f"{value:.2f}" for value in generator.gamma(4, 100, n)],
            "stratum": [f"s{code}" for code in generator.integers(0, 5, n)],
            "day": [f"2024-03-{1 + code % 28:02d}" for code in range(n)],
            "county": [f"c{code}" for code in generator.integers(0, 4, n)],
        }
    )
    frame.write_csv(folder / "original.csv")
    files = [folder / "original.csv"]
    for number in (1, 2):
        labels = frame["county"].sample(fraction=1.0, shuffle=True, seed=number)
        drawn = frame.drop("stratum").with_columns(county=labels)
        drawn.write_csv(folder / f"synthetic-{number}.csv")
        files.append(folder / f"synthetic-{number}.csv")
    return files


WEIGHTED = ("--synthesize", "county", "--weight", "final_weight", "--strata", "stratum",
            "--pass-through", "final_weight,day", "--repeats", 2, "--seed", 1)  # fmt: skip


def test_weights_and_columns_that_pass_through(command: Command, weighted: list[Path]) -> None:
    answer = command("evaluate", *weighted, *WEIGHTED, "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    data = us.read_microdata(
        weighted[0], synthesize=["county"], weight="final_weight",
        design={"strata": "stratum"}, pass_through=["final_weight", "day"],
    )  # fmt: skip
    utility = us.weighted_utility(data, weighted[1:], seed=1)
    risk = us.population_risk(data)
    assert told["weighted"]["mean_overlap_of_shares"] == pytest.approx(utility.mean_overlap)
    assert told["weighted"]["tables"]["1-way"]["deviation"] == pytest.approx(utility.deviation[1])
    assert told["population"][0]["people"] == pytest.approx(risk.population)
    assert told["population"][0]["known"] == ["age"]
    columns = told["passed_through"]["columns"]
    assert [column["name"] for column in columns] == ["final_weight", "day"]
    assert told["passed_through"]["made_unique"] > 300  # nearly every weight occurs once
    assert not any("further columns" in remark for remark in told["warnings"])
    shown = command("evaluate", *weighted, *WEIGHTED)
    assert "people that they stand for" in shown.out
    assert "mean overlap of weighted shares" in shown.out
    assert 'Passed through unchanged: "final_weight", "day"' in shown.out


def test_columns_that_pass_through_must_be_those_of_the_original(
    command: Command, weighted: list[Path], tmp_path: Path
) -> None:
    changed = pl.read_csv(weighted[1], infer_schema=False)
    changed = changed.with_columns(final_weight=pl.col("final_weight") + "1")
    changed.write_csv(tmp_path / "changed.csv")
    told = json.loads(
        command("evaluate", weighted[0], tmp_path / "changed.csv", *WEIGHTED, "--json").out
    )
    remarks = [remark for remark in told["warnings"] if "passes through" in remark]
    assert len(remarks) == 1
    assert '"final_weight"' in remarks[0]


def test_the_report_of_weighted_files(
    command: Command, weighted: list[Path], tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    answer = command("evaluate", *weighted, *WEIGHTED, "--report", page)
    assert answer.code in (0, 1), answer.err
    html = page.read_text()
    assert "weighted tables" in html
    assert "final_weight" in html
    assert "are alone in the population, too" in html


@pytest.mark.parametrize("to_page", [False, True])
def test_a_log_shows_how_much_is_measured(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to_page: bool
) -> None:
    """Without a terminal: lines with a share and the time left, with a report and without."""
    told: list[StudyProgress] = []

    @contextmanager
    def remembered() -> Iterator[Any]:
        yield told.append

    monkeypatch.setattr(output, "_progress_lines", remembered)
    write_study(tmp_path)
    people = tmp_path / "data.csv"
    report = ["--report", tmp_path / "page.html"] if to_page else []
    command("evaluate", people, people, "--synthesize", "county", "--ignore", "id", "--repeats", 2,
            "--formula", "county ~ age", "--family", "linear" if to_page else "ordered-logit",
            "--seed", 1, *report)  # fmt: skip
    measured = [now for now in told if now.words == "measuring the files"]
    shares = [now.share for now in measured if now.share is not None]
    assert shares == sorted(shares)
    assert len(shares) > 10
    assert shares[-1] == 1.0
    assert progress_line(measured[-2], 3.0).startswith("understudy, after 3 s: measuring the files")
