"""A study of weighted data, from plan to release: groups of the weight, replicates or strata."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.studies import CHAINS, PLAN, WIDE_LIMITS, run_quietly, write_study

import understudy as us
from understudy.randomness import stream
from understudy.study.plan import read_plan

N, REPLICATES = 240, [f"rw{number}" for number in range(1, 7)]
BACKOFF = """\
[[synthesizers]]
model = "backoff"
chains = 4
draws = 200
until = { rhat = 1.1, ess = 50, most_draws = 4000 }
"""
WEIGHTED = (
    PLAN.replace(CHAINS, BACKOFF)
    .replace('ignore = ["id"]', 'ignore = ["id"]\nweight = "w"\nweight_groups = 3')
    .replace("[baselines]", '[[intruders]]\nknown = ["gender", "age"]\n[baselines]')
)
DESIGNS = {
    "replicates": f'[data.design]\nreplicates = {json.dumps(REPLICATES)}\nmethod = "bootstrap"\n',
    "strata": '[data.design]\nstrata = "stratum"\npsu = "cluster"\n',
}


def write_weighted(folder: Path, design: str) -> Path:
    """Write a study of 240 records with weights that depend on the county, and its design."""
    text = WEIGHTED.replace("[[synthesizers]]", DESIGNS[design] + "[[synthesizers]]", 1)
    if design == "replicates":
        text = text.replace('ignore = ["id"', 'ignore = ["id", "stratum", "cluster"')
    else:
        text = text.replace('ignore = ["id"', f'ignore = ["id", {json.dumps(REPLICATES)[1:-1]}')
    plan = write_study(folder, text + WIDE_LIMITS, n_records=N)
    generator = stream(2, "a weighted study")
    table = pl.read_csv(folder / "data.csv", infer_schema=False)
    weights = np.where(table["county"] == "east", 2.0, 5.0) * generator.gamma(8.0, 1 / 8, N)
    counts = generator.multinomial(
        N, np.full(N, 1 / N), size=len(REPLICATES)
    )  # (replicate, record)
    table.with_columns(
        pl.Series("w", weights),
        pl.Series("stratum", np.arange(N) % 4),
        pl.Series("cluster", np.arange(N) % 40 // 4),
        *(pl.Series(name, weights * own) for name, own in zip(REPLICATES, counts, strict=True)),
    ).write_csv(folder / "data.csv")
    return plan


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_a_weighted_study_from_plan_to_release(design: str, tmp_path: Path) -> None:
    plan = write_weighted(tmp_path, design)
    run_quietly(plan, tmp_path / "out")
    internal = tmp_path / "out" / "internal"
    findings = json.loads((internal / "findings.json").read_text())
    options = read_plan(plan).data.reading_options(tmp_path)
    data = us.read_microdata(**options)
    assert data.kept == ("gender", "age", "weight group")
    shown = data.released
    assert findings["data"]["kept"] == ["gender", "age"]
    sets = us.read_synthetic(
        shown, [pl.read_parquet(path) for path in sorted(internal.glob("sets/backoff/*.parquet"))]
    )
    weighted = us.weighted_utility(shown, sets, repeats=1, seed=1)
    (measured,) = findings["synthesizers"]
    assert measured["utility"]["weighted"]["mean_overlap"] == pytest.approx(weighted.mean_overlap)
    assert measured["utility"]["weighted"]["deviation"] == pytest.approx(
        list(weighted.deviation.values())
    )
    by_known = {
        tuple(intruder["known"]): intruder["population"] for intruder in findings["intruders"]
    }
    assert set(by_known) == {("gender",), ("gender", "age")}
    for known, population in by_known.items():
        expected = us.population_risk(shown, known).expected_matches
        assert population["expected_matches"] == pytest.approx(expected)
    report = " ".join((internal / "report.html").read_text().split())
    assert "that the survey weights stand for" in report
    assert "Design-based intervals" in report
    verdict = json.loads((internal / "verdict.json").read_text())
    assert "weighted tables" in {reason["subject"] for reason in verdict["reasons"]}

    approval = f"Ada Reviewer, {datetime.now(UTC).date()}, read by the whole board and accepted"
    public = us.release(
        tmp_path / "out", tmp_path / "public", approval, reason="limits as wide as this",
        guessable_seed=True,
    )  # fmt: skip
    for path in public.glob("synthetic-*.csv"):
        assert pl.read_csv(path).columns == ["gender", "age", "county"]
    for path in public.iterdir():
        if path.suffix in {".html", ".txt", ".toml", ".json"}:
            text = path.read_text()
            assert "weight group" not in text
            assert "stratum" not in text
            assert "rw1" not in text


def test_other_replicates_are_other_data(tmp_path: Path) -> None:
    plan = write_weighted(tmp_path, "replicates")
    options = read_plan(plan).data.reading_options(tmp_path)
    before = us.read_microdata(**options).fingerprint()
    table = pl.read_csv(tmp_path / "data.csv").with_columns(pl.col("rw3") * 2)
    table.write_csv(tmp_path / "data.csv")
    assert us.read_microdata(**options).fingerprint() != before
