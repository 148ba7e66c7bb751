"""Coarser files: points that share a fit, and a study that merges levels after its fit."""

from __future__ import annotations

import functools
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.studies import PLAN, run_quietly, write_study

import understudy as us
from understudy.errors import SettingError
from understudy.study.plan import read_plan
from understudy.synthesis.backoff.sampler import BackoffChain

BOOK = """\
reviewed = true
[variables.gender]
levels = ["f", "m"]
hierarchy = [{ person = ["f", "m"] }]
[variables.age]
levels = ["old", "young"]
[variables.county]
levels = ["east", "north", "south", "west"]
hierarchy = [{ coast = ["east", "north"] }]
"""
DIALS = (
    PLAN
    + """
[own_record]
refits = 0
[frontier]
budget = 4
[[frontier.dials]]
model = "dpmpm"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1 }
vary = { class_draw = ["kept", "full"], coarsen = [{}, { county = 1, gender = 1 }] }
"""
)
COARSE = PLAN.replace("[[synth", "[data.coarsen]\ncounty = 1\ngender = 1\n[[synth", 1)
SHOWN = {"east": "coast", "north": "coast", "f": "person", "m": "person"}


def study(folder: Path, plan: str) -> Path:
    path = write_study(folder, plan)
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    return path


def spied(monkeypatch: pytest.MonkeyPatch) -> list[us.Microdata]:
    """List what models are fitted to."""
    fitted: list[us.Microdata] = []
    real = us.DPMPM.fit

    @functools.wraps(real)
    def noted(self: us.DPMPM, data: us.Microdata, **options: Any) -> Any:
        fitted.append(data)
        return real(self, data, **options)

    monkeypatch.setattr(us.DPMPM, "fit", noted)
    return fitted


def test_coarse_points_share_a_fit_and_their_plan_means_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = spied(monkeypatch)
    plan = study(tmp_path / "plan", DIALS)
    name = "dpmpm-class-draw-kept-coarse-county-1-coarse-gender-1"
    shown = us.frontier(plan, tmp_path / "out", choose=name, because="A. Board: fewer towns")
    assert shown.points.height == 4
    assert [data.variable("county").n_levels for data in fitted] == [4]
    fine, coarse = (shown.findings.point(point) for point in ("dpmpm-class-draw-kept", name))
    assert fine is not None
    assert coarse is not None
    assert coarse.measured.fingerprint != fine.measured.fingerprint
    known = {attack.known for attack in coarse.measured.own_record.attacks}
    assert known == {(), ("gender",)}
    chosen = read_plan(shown.plan())
    assert chosen.data.coarsen == {"county": 1, "gender": 1}
    shutil.copy(shown.plan(), plan.parent / "chosen.toml")
    ran = run_quietly(plan.parent / "chosen.toml", tmp_path / "study", frontier=tmp_path / "out")
    assert fitted[-1].variable("county").n_levels == 4
    assert fitted[-1].variable("gender").n_levels == 2
    levels = {variable.name: variable.levels for variable in ran.findings.data.variables}
    assert levels["county"] == ("coast", "south", "west")
    assert levels["gender"] == ("person",)
    assert "Where this study lies on the frontier" in ran.report().read_text("utf-8")


def test_a_coarse_study_merges_the_sets_of_the_fine_one(tmp_path: Path) -> None:
    """The same seed: every coarse set is the fine one with its levels merged, record by record."""
    sets = {}
    for name, plan in (("fine", PLAN), ("coarse", COARSE)):
        run_quietly(study(tmp_path / name, plan), tmp_path / f"{name}-study")
        made = sorted((tmp_path / f"{name}-study" / "internal" / "sets" / "dpmpm").iterdir())
        sets[name] = [pl.read_parquet(path).cast(pl.String) for path in made]
    assert len(sets["fine"]) == 2
    for fine, coarse in zip(sets["fine"], sets["coarse"], strict=True):
        assert fine.with_columns(pl.all().replace(SHOWN)).equals(coarse)


def test_the_informed_intruder_of_coarse_files_is_refused(tmp_path: Path) -> None:
    plan = study(tmp_path / "plan", COARSE + "[own_record]\ninformed = true\n")
    with pytest.raises(SettingError, match="the informed intruder"):
        run_quietly(plan, tmp_path / "study")


SEARCHED = (
    PLAN
    + """
[own_record]
refits = 0
[frontier]
budget = 10
[[frontier.dials]]
model = "backoff"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1 }
vary = { sets = [2, 3] }
between = { scale = [0.1, 10.0] }
"""
)


def test_points_of_a_search_share_the_fits_of_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a value was fitted for another number of sets, its chains are read from the disk."""
    sweeps: list[float] = []
    real = BackoffChain.advance

    def counted(self: Any, generator: Any, state: Any, n_sweeps: int) -> Any:
        sweeps.append(n_sweeps)
        return real(self, generator, state, n_sweeps)

    monkeypatch.setattr(BackoffChain, "advance", counted)
    shown = us.frontier(study(tmp_path / "plan", SEARCHED), tmp_path / "out")
    values = {point.measured.value for point in shown.findings.points}
    assert shown.points.height == 10
    assert len(values) < 10
    assert sum(sweeps) == len(values) * 2 * (4 + 12)
    assert not (tmp_path / "out" / "internal" / "fits").exists()
