"""Tokens planted where only the study may see them cannot be found in any public byte.

And the order of the rows: the confidential file is sorted, so that its order tells everything, and
nothing of that order is left. The order comes from the operating system and has no seed, so that
these tests cannot have one either; their false-alarm rates are stated.
"""

from __future__ import annotations

import getpass
import io
import json
import socket
from math import factorial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL, SEED, Study, digest
from tests.publishing.looking import disguises, places
from understudy.findings.schema import Findings, Pattern, VariableFindings
from understudy.findings.survey_schema import PassedFindings, WeightedFindings
from understudy.microdata.variable import MISSING
from understudy.publishing import random_rounding
from understudy.publishing.public_plots import public_findings
from understudy.publishing.random_rounding import Printed
from understudy.randomness import unrepeatable_order

TOKEN = "Kanarienvogel4711"  # noqa: S105
REASON = "one small pattern was looked at"
FORMATS = ["csv", "parquet", "stata", "spss"]


def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Study:
    """Make a study with the token everywhere but in what is meant for the public."""
    for name in ("USER", "LOGNAME", "USERNAME", "HOSTNAME"):
        monkeypatch.setenv(name, TOKEN)
    monkeypatch.setattr(socket, "gethostname", lambda: TOKEN)
    monkeypatch.setattr(getpass, "getuser", lambda: TOKEN)
    study = Study(tmp_path / f"study {TOKEN}", name=f"dpmpm-{TOKEN}", title=f"Title {TOKEN}")
    study.settings = {"n_classes": "40", "path": TOKEN, f"{TOKEN}": "1", "seed": TOKEN}
    study.missing = {"age": ["-9"], f"ignored {TOKEN}": [TOKEN], "record_id": [TOKEN]}
    study.variables[2] = study.variables[2].model_copy(
        update={"labels": {"01": "North & Coast", f"level {TOKEN}": f"label {TOKEN}"}}
    )
    study.impossible = [{f"ignored {TOKEN}": [TOKEN]}]
    study.seal()
    _into_findings(study)
    _into_sets(study)
    for name in ("plan.toml", f"plan-{TOKEN}.toml", "lock", "report.html"):
        (study.internal / name).write_text(TOKEN)
    return study


def _into_findings(study: Study) -> None:
    """Plant the token in every internal text of the findings, and in the study's own record."""
    content = json.loads((study.internal / "findings.json").read_text())
    content["versions"][TOKEN] = TOKEN
    content["data"]["patterns"] = [{"levels": [TOKEN, TOKEN], "records": 1}]
    synthesizer = content["synthesizers"][0]
    synthesizer["title"] = synthesizer["kind"] = TOKEN
    synthesizer["notes"] = [TOKEN]
    synthesizer["convergence"]["quantities"][0]["quantity"] = TOKEN
    synthesizer["convergence"]["traces"][0]["quantity"] = TOKEN
    synthesizer["utility"]["tables"]["tables"][0]["table"] = TOKEN
    synthesizer["utility"]["regressions"][0]["formula"] = f"age ~ {TOKEN}"
    synthesizer["utility"]["regressions"][0]["family"] = f"{TOKEN} 1"
    synthesizer["risk"]["by_knowledge"] = {TOKEN: 1.0}
    synthesizer["risk"]["own_record"]["evidence"] = TOKEN
    synthesizer["risk"]["own_record"]["attacks"][0]["words"] = TOKEN
    synthesizer["risk"]["identification"][0]["alignment"] = TOKEN
    synthesizer["risk"]["identification"][0]["records"][0]["levels"] = [TOKEN]
    raw = json.dumps(content).encode()
    study.reseal("findings.json", raw)
    study.reseal("verdict.json", json.dumps(study.verdict(digest(raw))).encode())
    record = study.record()
    record["identity"]["plan"] = {"file": f"{TOKEN}.csv", "ignore": [TOKEN], "title": TOKEN}
    record["identity"]["versions"] = {"host": TOKEN}
    study.write_study(record)


def _into_sets(study: Study) -> None:
    """Plant the token in the remarks of the Parquet files."""
    digests = []
    for number, path in enumerate(sorted(study.sets.iterdir()), start=1):
        raw = io.BytesIO()
        study.frame(number).write_parquet(raw, metadata={TOKEN: TOKEN})
        study.reseal(f"sets/{study.name}/{path.name}", raw.getvalue())
        digests.append(digest(raw.getvalue()))
    content = json.loads((study.internal / "findings.json").read_text())
    content["set_digests"][study.name] = digests
    raw_findings = json.dumps(content).encode()
    study.reseal("findings.json", raw_findings)
    study.reseal("verdict.json", json.dumps(study.verdict(digest(raw_findings))).encode())


def test_the_eye_sees(tmp_path: Path) -> None:
    """The search finds a token in each disguise; otherwise finding nothing means nothing."""
    for number, content in enumerate(disguises(TOKEN).values()):
        (tmp_path / f"{number}.bin").write_bytes(b"before " + content + b" after")
    assert len({spot.split(":")[0] for spot in places(tmp_path, TOKEN)}) == number + 1
    frame = pl.DataFrame({"a": [TOKEN]})
    frame.write_parquet(tmp_path / "values.parquet", compression="zstd")
    frame.head(0).write_parquet(tmp_path / "remarks.parquet", metadata={"x": TOKEN})
    listed = places(tmp_path, TOKEN)
    assert any("values.parquet: parquet values" in spot for spot in listed)
    assert any("remarks.parquet: parquet remarks" in spot for spot in listed)


@pytest.mark.parametrize("form", FORMATS)
def test_tokens_of_the_study_are_not_public(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    study = planted(tmp_path, monkeypatch)
    approval = f"{TOKEN} Reviewer, 2026-01-31, read by {TOKEN} and accepted"
    public = tmp_path / f"public {TOKEN}"
    reason = f"looked at by {TOKEN} and found harmless"
    us.release(study.folder, public, approval, reason=reason, format=form)  # type: ignore[arg-type]
    assert places(public, TOKEN) == []
    assert places(study.internal, TOKEN)
    for number in (1, 2, 3):
        assert (public / "manifest.json").read_text().count(f"synthetic-0{number}") == 1


@pytest.mark.usefixtures("real_plots")
def test_tokens_are_not_in_the_real_plots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_rounding, "CHANCE", 9.0)  # so small a study has numbers then
    study = planted(tmp_path, monkeypatch)
    public = us.release(study.folder, tmp_path / "public", APPROVAL, reason=REASON)
    assert places(public, TOKEN) == []
    assert [path.name for path in (public / "figures").iterdir()] == ["table-deviation.png"]


@pytest.mark.parametrize("form", FORMATS)
def test_marks_of_the_study_are_not_public(study: Study, public: Path, form: str) -> None:
    us.release(study.folder, public, APPROVAL, format=form)  # type: ignore[arg-type]
    content = json.loads((study.internal / "findings.json").read_text())
    record = json.loads((study.internal / "study.json").read_text())
    marks = [content["data_fingerprint"], *content["set_digests"]["dpmpm"], str(SEED), f"{SEED:x}"]
    marks += record["stages"]["all"]["files"].values()
    marks += [str(study.folder), str(public), "Ada Reviewer", "whole board", "Study of the office"]
    marks += ["A private title", "a note", "9.9.9", "host7"]
    for mark in marks:
        assert places(public, mark) == [], mark


def test_plots_see_nothing_that_is_not_public(study: Study) -> None:
    """What the plots are given holds no name, no digest, no exact figure."""
    findings = Findings.model_validate_json((study.internal / "findings.json").read_bytes())
    released = findings.synthesizers[0]
    numbers = {name: Printed(0.25, 0.05) for name in ("tables 1", "tables floor 1", "guess row")}
    shown = public_findings(findings, released, numbers)
    text = shown.model_dump_json()
    for hidden in ("office", "private", "a note", "f1f1", str(SEED), "old", "North", "12345"):
        assert hidden not in text, hidden
    for exact in ("31.7", "117.2", "175.3", "47.2", "671.0", "909.1", "0.98761", "1.77777"):
        assert exact not in text, exact
    for exact in ("0.2312", "0.1156", "61.23", "73.45", "22.7", "1.2121", "0.0198", "474.5"):
        assert exact not in text, exact
    risk, tables = shown.synthesizers[0].risk, shown.synthesizers[0].utility.tables
    assert (risk.identification, risk.attribute, shown.intruders) == ((), None, ())
    assert risk.own_record is None
    assert tables.orders == (1,)
    assert (tables.deviation[0].mean, tables.truth_floor) == (120.0, (120.0,))
    assert Pattern(levels=("f", "old"), records=7) in findings.data.patterns
    assert shown.data.patterns == ()


def test_plots_see_nothing_that_was_measured_later(study: Study) -> None:
    """Weights, columns passed through, registers: what findings gained since changes nothing."""
    findings = Findings.model_validate_json((study.internal / "findings.json").read_bytes())
    released = findings.synthesizers[0]
    weighted = WeightedFindings(
        orders=(1,), deviation=(1.5,), truth_floor=(1.0,), shares=3, mean_overlap=0.5
    )
    column = PassedFindings(name="wt", stored="numbers", values=9, alone=3, unique_with_kept=3)
    richer = released.model_copy(
        update={"utility": released.utility.model_copy(update={"weighted": weighted})}
    )
    data = findings.data.model_copy(
        update={"passed": (column,), "passed_unique": 9, "n_labels": 99}
    )
    more = findings.model_copy(update={"data": data, "synthesizers": (richer,), "runs": 5})
    numbers = {name: Printed(0.25, 0.05) for name in ("tables 1", "tables floor 1")}
    assert public_findings(more, richer, numbers) == public_findings(findings, released, numbers)


# The order of the rows

N = 400


def sorted_study(folder: Path) -> Study:
    """Make a study whose rows are in an order that tells which record each is."""
    numbers = tuple(f"r{number:04d}" for number in range(N))
    study = Study(folder, n_records=N, m=4)
    study.variables = [
        VariableFindings(name="who", role="kept", description="", levels=numbers, labels={}),
        study.variables[2],
    ]
    county = study.variables[1].levels
    study.frames = [
        pl.DataFrame(
            {
                "who": pl.Series(numbers, dtype=pl.Enum(numbers)),
                "county": pl.Series([county[0]] * N, dtype=pl.Enum(county)),
            }
        )
        for _ in range(study.m)
    ]
    return study.seal()


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_order_says_nothing_of_the_confidential_order(tmp_path: Path, form: str) -> None:
    """Rank correlations with the old order and between files, each beyond 6 standard errors.

    For N = 400 a rank correlation times the root of N - 1 is close to normal; 10 comparisons
    give a false alarm with probability 2e-8.
    """
    study = sorted_study(tmp_path / "study")
    public = us.release(study.folder, tmp_path / "public", APPROVAL, reason=REASON, format=form)  # type: ignore[arg-type]
    orders = [np.arange(N)]
    for number in range(1, 5):
        path = public / f"synthetic-0{number}.{form}"
        frame = pl.read_csv(path) if form == "csv" else pl.read_parquet(path)
        rows = frame["who"].cast(pl.String).str.slice(1).cast(pl.Int64).to_numpy()
        assert sorted(rows) == list(range(N))
        orders.append(rows)
    correlation = np.atleast_2d(np.corrcoef(np.array(orders)))
    beyond = np.abs(correlation[np.triu_indices(5, k=1)]) * np.sqrt(N - 1)
    assert beyond.max() < 6


def test_every_order_is_equally_likely() -> None:
    """All 24 orders of 4 rows, 24,000 draws: chi-square with 23 df; false alarm below 1e-9."""
    draws = [tuple(unrepeatable_order(4).tolist()) for _ in range(24_000)]
    seen = pl.Series([str(draw) for draw in draws]).value_counts()["count"].to_numpy()
    assert len(seen) == factorial(4)
    assert ((seen - 1000.0) ** 2 / 1000.0).sum() < 95.0


def test_order_does_not_depend_on_the_generators_of_this_process() -> None:
    """Seeding everything there is to seed changes nothing: 1 / 50! that this fails by chance."""
    orders = []
    for _ in range(2):
        np.random.seed(1)  # noqa: NPY002
        __import__("random").seed(1)
        orders.append(unrepeatable_order(50).tolist())
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == list(range(50))


def test_missing_stays_missing(tmp_path: Path) -> None:
    """The word that stands for missing inside never becomes a public level."""
    study = Study(tmp_path / "study").seal()
    public = us.release(study.folder, tmp_path / "public", APPROVAL, format="parquet")
    assert places(public, MISSING) == []
