"""A study of data with missing values that are modelled, and with impossible combinations."""

from __future__ import annotations

import html
import json
import tomllib
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.studies import (
    BOOK,
    CHAINS,
    LONGER,
    PLAN,
    WIDE_LIMITS,
    plain_page,
    run_quietly,
    write_study,
)

import understudy as us
from understudy.errors import UnderstudyError
from understudy.pages import report as page
from understudy.study.plan import read_plan
from understudy.study.stages import prepare
from understudy.summaries import number as written

MODELLED = PLAN.replace("[data]", '[data]\nmissing = "model"')
RULE = '[[impossible]]\ngender = "f"\ncounty = "west"\n'  # which no record of the tiny study has


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every seventh age and every ninth county missing; women in the west impossible."""
    folder = tmp_path_factory.mktemp("holes")
    write_study(folder, MODELLED)
    header, *lines = (folder / "data.csv").read_text(encoding="utf-8").splitlines()
    rows = [line.split(",") for line in lines]
    for number, row in enumerate(rows):
        row[1] = "" if number % 7 == 0 else row[1]
        row[2] = "" if number % 9 == 0 else row[2]
    text = "\n".join([header, *map(",".join, rows)]) + "\n"
    (folder / "data.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_study_puts_holes_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    run_quietly(folder / "plan.toml", folder / "out")
    drawn = pl.read_parquet(folder / "out" / "internal" / "sets" / "dpmpm" / "02.parquet")
    original = pl.read_csv(folder / "data.csv")
    assert drawn["age"].is_null().to_list() == original["age"].is_null().to_list()
    assert drawn["county"].null_count() == 0
    assert original["county"].null_count() > 0


@pytest.mark.slow
def test_a_study_draws_nothing_impossible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)
    plan = write_study(tmp_path)
    (tmp_path / "book.toml").write_text(BOOK + RULE, encoding="utf-8")
    run_quietly(plan, tmp_path / "out")
    for number in ("01", "02"):
        path = tmp_path / "out" / "internal" / "sets" / "dpmpm" / f"{number}.parquet"
        drawn = pl.read_parquet(path).cast(pl.String)
        assert drawn.filter(gender="f", county="west").is_empty()


def test_the_default_synthesizer_fills_holes_and_others_are_refused(folder: Path) -> None:
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    path = folder / "other.toml"
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    path.write_text(text.replace(CHAINS, ""), encoding="utf-8")
    assert list(prepare(read_plan(path), folder, None).synthesizers) == ["dpmpm"]
    path.write_text(text.replace('"dpmpm"', '"backoff"'), encoding="utf-8")
    with pytest.raises(UnderstudyError, match="fit a DPMPM"):
        prepare(read_plan(path), folder, None)


IMPUTED = MODELLED.replace("sets = 2", "sets = 6\nimputations = 3")


@pytest.fixture(scope="module")
def imputed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 240 records whose files show imputed ages, run once."""
    folder = tmp_path_factory.mktemp("imputed")
    plan = write_study(folder, IMPUTED.replace(CHAINS, LONGER) + WIDE_LIMITS, n_records=240)
    table = pl.read_csv(folder / "data.csv").with_row_index()
    table = table.with_columns(
        age=pl.when(pl.col("index") % 7 > 0).then("age"),
        county=pl.when(pl.col("index") % 31 > 0).then("county"),
    )
    table.drop("index").write_csv(folder / "data.csv")
    run_quietly(plan, folder / "out")
    return folder


def sets_of(folder: Path) -> list[pl.DataFrame]:
    """Read the sets, which lie row by row beside the data."""
    paths = sorted((folder / "out" / "internal" / "sets" / "dpmpm").glob("*.parquet"))
    return [pl.read_parquet(path) for path in paths]


@pytest.mark.slow
def test_a_study_whose_files_show_imputations(imputed: Path) -> None:
    """Observed values stay, every hole has a value, those of an imputation are the same."""
    original = pl.read_csv(imputed / "data.csv")
    observed = original["age"].is_not_null()
    drawn = sets_of(imputed)
    assert len(drawn) == 6
    ages = [frame["age"].cast(pl.String) for frame in drawn]
    for column in ages:
        assert column.null_count() == 0
        assert column.filter(observed).equals(original["age"].filter(observed))
    assert ages[0].equals(ages[1])
    assert ages[2].equals(ages[3])
    assert not ages[1].equals(ages[2])
    findings = json.loads((imputed / "out" / "internal" / "findings.json").read_text())
    assert findings["synthesizers"][0]["imputations"] == 3
    effect = findings["synthesizers"][0]["risk"]["own_record"]["imputed"]
    both = pl.col("age").is_null() & pl.col("county").is_not_null()
    assert effect["records"] == effect["measured"] == original.filter(both).height
    assert 0 < effect["with_holes"] < effect["records"]
    verdict = (imputed / "out" / "internal" / "verdict.json").read_text()
    words = f"of {effect['records']} records with imputed values, somebody who knows the model"
    assert words in verdict
    assert f"is right about {written(effect['with_values'])} labels on average" in verdict
    chains = findings["synthesizers"][0]["convergence"]["set_chains"]
    assert chains == []  # sets of an imputation are alike: they are not compared between chains
    assert findings["data"]["holes"] == {"age": 35, "county": 8}
    report = " ".join((imputed / "out" / "internal" / "report.html").read_text().split())
    assert "modelled in age (35), county (8); in the files they are imputed, 3 times" in report
    assert "as if the missing values were missing in the files" in report


@pytest.mark.slow
def test_regressions_of_a_study_use_the_nested_rule(imputed: Path) -> None:
    """Estimates of the findings are those of the files, combined over imputations by the rule."""
    plan = read_plan(imputed / "plan.toml")
    data = us.read_microdata(**plan.data.reading_options(imputed))
    sets = us.read_synthetic(data, sets_of(imputed), imputations=3)
    findings = json.loads((imputed / "out" / "internal" / "findings.json").read_text())
    (regression,) = findings["synthesizers"][0]["utility"]["regressions"]
    utility = us.regression_utility(
        data, sets, "age ~ county + gender", "logistic", rule="nested", repeats=1, seed=1, train=192
    )
    names = [row["name"] for row in regression["coefficients"]]
    assert names == utility.coefficients["coefficient"].to_list()
    assert not any("missing" in name for name in names)
    by_set = utility.per_set.pivot(
        "coefficient", index="set", values=["estimate", "standard_error"]
    )
    shape = (3, 2, len(names))
    estimates = by_set.select(f"estimate_{name}" for name in names).to_numpy().reshape(shape)
    errors = by_set.select(f"standard_error_{name}" for name in names).to_numpy().reshape(shape)
    combined = us.combine_nested_estimates(estimates, errors**2)
    assert np.allclose(utility.coefficients["combined_lower"].to_numpy(), combined.lower)
    verdict = json.loads((imputed / "out" / "internal" / "verdict.json").read_text())
    (reason,) = (reason for reason in verdict["reasons"] if reason["subject"] == "imputed values")
    assert reason["outcome"] == "review"


@pytest.mark.slow
def test_files_that_show_imputations_are_released_with_their_rule(
    imputed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The program on the methods page gives the interval of the nested rule over these files."""
    approval = f"Ada Reviewer, {datetime.now(UTC).date()}, read by the whole board and accepted"
    public = us.release(
        imputed / "out",
        tmp_path / "public",
        approval,
        reason="limits as wide as this",
        guessable_seed=True,
    )
    manifest = json.loads((public / "manifest.json").read_text())
    assert (manifest["combining_rule"], manifest["imputations"]) == ("nested", 3)
    methods = html.unescape((public / "methods.html").read_text())
    assert "Use the rule for imputed and partially synthetic data" in methods
    assert "Values of age that were missing are imputed" in methods
    assert "the same in the 2 files of an imputation" in methods
    codebook = (public / "codebook.html").read_text()
    assert "Values that were missing are imputed" in codebook
    assert "Missing values are written" not in codebook
    book = tomllib.loads((public / "codebook.toml").read_text())
    assert not any(variable.get("missing") for variable in book["variables"].values())
    assert "m = 3 imputations, in their order, r = 2 files" in (public / "README.txt").read_text()
    files = [
        pl.read_csv(path, infer_schema=False) for path in sorted(public.glob("synthetic-*.csv"))
    ]
    assert all(frame["age"].is_in(["old", "young"]).all() for frame in files)
    ages = [frame["age"].value_counts(sort=True).rows() for frame in files]
    assert ages[0] == ages[1]  # the files of an imputation
    program = methods[methods.index("from glob import glob") :].partition("</code>")[0]
    monkeypatch.chdir(public)
    exec(compile(program.partition("</pre>")[0], "example", "exec"), {})  # noqa: S102
    low, middle, high = map(float, capsys.readouterr().out.split())
    shares = np.array([(frame["county"] == "east").mean() for frame in files]).reshape(3, 2)
    expected = us.combine_nested_estimates(shares, shares * (1 - shares) / 240)
    assert middle == pytest.approx(float(expected.estimate))
    assert (low, high) == pytest.approx((float(expected.lower), float(expected.upper)))
    assert us.Study(imputed / "plan.toml").run(imputed / "out").verdict.outcome == "review"


UNMET = """\
[[synthesizers]]
model = "dpmpm"
chains = 4
warmup = 1
draws = 6
thin = 1
"""


@pytest.mark.slow
@pytest.mark.parametrize(("sets", "imputations"), [(10, 5), (4, 2), (8, 4)])
def test_imputations_of_chains_that_have_not_met_reach_verdict_and_report(
    folder: Path, tmp_path: Path, sets: int, imputations: int
) -> None:
    """More, fewer and as many imputations as chains: the verdict says so, and so does the page."""
    plan = MODELLED.replace("sets = 2", f"sets = {sets}\nimputations = {imputations}")
    text = plan.replace(CHAINS, UNMET).replace("{file}", "data.csv") + WIDE_LIMITS
    (tmp_path / "plan.toml").write_text(text, encoding="utf-8")
    (tmp_path / "book.toml").write_text(BOOK, encoding="utf-8")
    (tmp_path / "data.csv").write_bytes((folder / "data.csv").read_bytes())
    study = run_quietly(tmp_path / "plan.toml", tmp_path / "out")
    findings = json.loads((tmp_path / "out" / "internal" / "findings.json").read_text())
    chains = findings["synthesizers"][0]["convergence"]
    assert not chains["converged"]
    assert chains["set_chains"] == []
    reasons = {reason.subject: reason for reason in study.verdict.reasons}
    assert study.verdict.outcome in {"review", "fail"}
    assert reasons["convergence"].outcome == "review"
    assert reasons["imputed values"].outcome == "review"
    report = html.unescape((tmp_path / "out" / "internal" / "report.html").read_text())
    words = " ".join(report.split())
    assert f"in the files they are imputed, {imputations} times" in words
    assert reasons["convergence"].words in words
    with pytest.raises(UnderstudyError):  # not to be released as if they had met
        us.release(
            tmp_path / "out",
            tmp_path / "public",
            f"Ada Reviewer, {datetime.now(UTC).date()}, read by the whole board and accepted",
            guessable_seed=True,
        )
    assert run_quietly(tmp_path / "plan.toml", tmp_path / "out").verdict == study.verdict


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('missing = "model"', 'missing = "level"', "belong to missing values that are modelled"),
        ("imputations = 3", "imputations = 4", "as many sets as the others"),
        ("imputations = 3", "imputations = 6", "at least two"),
        ("[baselines]", "[own_record]\ninformed = true\n[baselines]", "cannot be together"),
        ('codebook = "', 'coarsen = { county = 1 }\ncodebook = "', "cannot be together"),
        ('ignore = ["id"]', 'ignore = ["id", "age"]', "missing values in kept variables"),
    ],
)
def test_imputations_that_cannot_be(folder: Path, old: str, new: str, words: str) -> None:
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    text = IMPUTED.replace("{file}", "data.csv")
    if "age" in new:
        (folder / "book.toml").write_text(
            BOOK.replace("[variables.age]", "[variables.id]"), "utf-8"
        )
    path = folder / "wrong.toml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(UnderstudyError, match=words):
        prepare(read_plan(path), folder, None)


def test_a_plan_without_imputations_is_the_study_that_it_was(folder: Path) -> None:
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    stages = prepare(read_plan(folder / "plan.toml"), folder, None)
    assert "imputations" not in stages.identity["plan"]
    (folder / "more.toml").write_text(IMPUTED.replace("{file}", "data.csv"), encoding="utf-8")
    assert (
        prepare(read_plan(folder / "more.toml"), folder, None).identity["plan"]["imputations"] == 3
    )
