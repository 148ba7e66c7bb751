"""A whole frontier on tiny data: points, picture, choice, resuming, and what stays internal."""

from __future__ import annotations

import functools
import json
import re
import shutil
import stat
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.clusters import quiet, threads_as_workers
from tests.studies import PLAN, files_of, run_quietly, write_study

import understudy as us
from understudy.cli import main
from understudy.errors import (
    InputError,
    OutputError,
    SettingError,
    UnderstudyError,
)
from understudy.findings.frontier_schema import FrontierPoint
from understudy.frontiers import fit_points, search
from understudy.frontiers.measure_points import measure_point
from understudy.frontiers.run import Frontier
from understudy.memory import most_memory
from understudy.pages.plots.frontier_plot import anchor
from understudy.study.plan import read_plan
from understudy.study.progress import StudyProgress
from understudy.study.stage_warnings import Notes
from understudy.study_register import Register
from understudy.synthesis.workers import Workers

DIALS = (
    PLAN
    + """
[own_record]
refits = 0
[frontier]
budget = 8
[[frontier.dials]]
model = "backoff"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1 }
between = { scale = [0.1, 10.0] }
[[frontier.dials]]
model = "dpmpm"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1 }
vary = { class_draw = ["kept", "full"], sets = [2] }
[[frontier.dials]]
model = "formal"
fixed = { chains = 2, draws = 12 }
vary = { epsilon = [2.0], coarsen = [{}, { county = 1 }] }
"""
)
ONE_POINT = (
    PLAN
    + """
[own_record]
refits = 0
[frontier]
budget = 1
[[frontier.dials]]
model = "backoff"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1 }
vary = { scale = [10.0] }
"""
)
HIERARCHY = """\
hierarchy = [{ coast = ["east", "north"] }]
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_study(tmp_path_factory.mktemp("frontier"), DIALS)
    book = path.parent / "book.toml"
    book.write_text(book.read_text("utf-8") + HIERARCHY, encoding="utf-8")
    return path


def files(folder: Path) -> dict[str, str]:
    """All files, but for those that name the folder or were begun at another time."""
    own = ("study.json", "chosen.toml")
    return {name: digest for name, digest in files_of(folder).items() if not name.endswith(own)}


@pytest.fixture(scope="module")
def measured(plan: Path) -> Frontier:
    return us.frontier(plan, plan.parent / "out")


def test_every_point_is_measured_and_graded(measured: Frontier) -> None:
    names = measured.points["point"].to_list()
    assert names[:4] == [
        "dpmpm-class-draw-kept-m-2",
        "dpmpm-class-draw-full-m-2",
        "formal-epsilon-2",
        "formal-epsilon-2-coarse-county-1",
    ]
    assert names[4:7] == ["backoff-scale-0.1", "backoff-scale-10", "backoff-scale-1"]
    assert len(names) == 8  # the budget
    for point in measured.findings.points:
        assert point.drawable
        assert point.measured.m == 2
        assert point.measured.own_record.evidence == "draws"
        assert [ratio.order for ratio in point.measured.ratios] == [1, 2, 3]
    assert [point.name for point in measured.findings.landmarks] == [
        "Uniform", "Marginal", "Others", "Perfect"
    ]  # fmt: skip
    formal = measured.findings.point("formal-epsilon-2")
    assert formal is not None
    assert formal.measured.epsilon == pytest.approx(2.0)
    assert measured.recommended in {None, *names}
    assert "backoff-scale-0.1" in repr(measured)


def test_frames_have_what_the_page_has(measured: Frontier) -> None:
    points, landmarks = measured.points, measured.landmarks
    assert points.columns == landmarks.columns
    assert {"m", "epsilon", "rhat", "ratio_1", "ratio_2", "ratio_3"} <= set(points.columns)
    formal = points.filter(pl.col("point") == "formal-epsilon-2").to_dicts()[0]
    assert formal["epsilon"] == pytest.approx(2.0)
    assert formal["m"] == 2
    assert landmarks["point"].to_list() == ["Uniform", "Marginal", "Others", "Perfect"]
    assert measured.beside.is_empty()


def test_a_register_has_the_frontier_and_the_number_of_its_points(
    plan: Path, measured: Frontier, tmp_path: Path
) -> None:
    """A study after it is the second run of the same people, and says how many points there were.

    The frontier here had begun before, which is entered, too. A larger budget is no second run.
    """
    assert measured
    shutil.copytree(plan.parent / "out", tmp_path / "out")
    for budget in (8, 9):
        us.frontier(plan, tmp_path / "out", register=tmp_path / "register", budget=budget)
    entries = Register(tmp_path / "register").entries()
    assert [entry["event"] for entry in entries] == ["run", "frontier", "frontier"]
    assert entries[0]["late"] is True
    assert [entry.get("points") for entry in entries] == [None, 8, 9]
    assert len({entry["study"] for entry in entries}) == 1
    study = run_quietly(plan, tmp_path / "study", register=tmp_path / "register")
    assert (study.findings.runs, study.findings.runs_of_data) == (1, 2)
    words = [reason.words for reason in study.verdict.reasons if "register has" in reason.words]
    assert "2 runs of the same people, 1 of them with this plan" in words[0]
    assert "Frontiers among them measured 9 points." in words[0]


def test_the_plans_limit_of_memory_holds(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the threads that measure points."""
    seen: set[int] = set()

    def looked(*arguments: Any, **options: Any) -> Any:
        seen.add(most_memory())
        return measure_point(*arguments, **options)

    monkeypatch.setattr(fit_points, "measure_point", looked)
    limited = read_plan(plan).with_memory("1234 MB")
    us.frontier(limited, tmp_path / "out", home=plan.parent)
    assert seen == {1_234_000_000}


def test_dominated_points_are_those_that_another_beats(measured: Frontier) -> None:
    rows = measured.points.to_dicts()
    for row in rows:
        beaten = any(
            other["position"] <= row["position"]
            and other["ratio"] <= row["ratio"]
            and other is not row
            for other in rows
        )
        assert row["dominated"] == beaten


def test_every_point_is_a_link_to_its_numbers(measured: Frontier) -> None:
    text = measured.page().read_text("utf-8")
    links = set(re.findall(r'data-go="([^"]+)"', text))
    targets = set(re.findall(r'id="([^"]+)"', text))
    findings = measured.findings
    listed = [*findings.points, *findings.landmarks]
    named = {f"frontier-{anchor(point)}" for point in listed}
    assert len(named) == measured.points.height + 4
    assert named <= links & targets
    assert links <= targets
    assert "CONFIDENTIAL" in text
    assert "<script src" not in text
    assert "_blank" not in text


def test_a_killed_frontier_ends_with_the_same_bytes(
    plan: Path, measured: Frontier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert measured
    real, left = measure_point, [3]

    def killed(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(fit_points, "measure_point", killed)
    with pytest.raises(KeyboardInterrupt):
        us.frontier(plan, tmp_path / "again")
    assert not (tmp_path / "again" / "internal" / "frontier.json").exists()
    monkeypatch.setattr(fit_points, "measure_point", real)
    us.frontier(plan, tmp_path / "again")
    assert files(tmp_path / "again") == files(plan.parent / "out")


def test_class_draws_share_a_fit(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[str] = []
    real = us.DPMPM.fit

    @functools.wraps(real)
    def counted(self: us.DPMPM, *arguments: Any, **options: Any) -> Any:
        fits.append(self.class_draw)
        return real(self, *arguments, **options)

    monkeypatch.setattr(us.DPMPM, "fit", counted)
    text = re.sub(r"\[\[frontier.dials\]\]\nmodel = \"(backoff|formal)\"\n(.*\n){2}", "", DIALS)
    (plan.parent / "shared.toml").write_text(text.replace("{file}", "data.csv"), encoding="utf-8")
    alone = us.frontier(plan.parent / "shared.toml", tmp_path / "shared")
    assert alone.points.height == 2
    assert fits == ["kept"]


WEIGHTED = (
    PLAN
    + """
[own_record]
refits = 0
[frontier]
budget = 6
[[frontier.dials]]
model = "dpmpm"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1, sampler = "collapsed" }
vary = { risk_weighting = [0.5, 0.0, 1.0], risk = ["surprise", "own_record"] }
"""
)


def test_weighted_points_share_the_fit_that_the_risks_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six points, two of them without weights and alike; also killed, with the same bytes."""
    plan = write_study(tmp_path / "plan", WEIGHTED)
    fits: list[float] = []
    real = us.DPMPM.fit

    @functools.wraps(real)
    def counted(self: us.DPMPM, *arguments: Any, **options: Any) -> Any:
        fits.append(self.risk_weighting)
        return real(self, *arguments, **options)

    monkeypatch.setattr(us.DPMPM, "fit", counted)
    whole = us.frontier(plan, tmp_path / "whole", seed=3)
    assert sorted(fits) == [0.0, 0.5, 0.5, 1.0, 1.0]
    sensitivities = {
        point.name: point.measured.own_record.local_sensitivity for point in whole.findings.points
    }
    plain = sensitivities["dpmpm-risk-weighting-0-risk-surprise"]
    assert plain is not None
    assert plain == sensitivities["dpmpm-risk-weighting-0-risk-own-record"]
    assert all(value is not None and value > 0 for value in sensitivities.values())
    assert "Local sensitivity: " in whole.page().read_text("utf-8")
    left = [3]

    def killed(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return measure_point(*arguments, **options)

    monkeypatch.setattr(fit_points, "measure_point", killed)
    with pytest.raises(KeyboardInterrupt):
        us.frontier(plan, tmp_path / "again", seed=3)
    monkeypatch.setattr(fit_points, "measure_point", measure_point)
    us.frontier(plan, tmp_path / "again", seed=3)
    assert files(tmp_path / "again") == files(tmp_path / "whole")


def test_a_larger_budget_adds_points(plan: Path, measured: Frontier, tmp_path: Path) -> None:
    assert measured
    shutil.copytree(plan.parent / "out", tmp_path / "out")
    more = us.frontier(plan, tmp_path / "out", budget=9)
    assert more.points["point"].to_list()[:8] == measured.points["point"].to_list()
    assert more.points.height == 9
    with pytest.raises(SettingError, match="a budget for the 7 points"):
        us.frontier(plan, tmp_path / "out", budget=3)


def test_a_finished_search_goes_nowhere_else_after_a_point_was_confirmed(
    plan: Path, measured: Frontier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search sees points as they were first measured; page and record see the confirmed one."""
    shutil.copytree(plan.parent / "out", tmp_path / "out")
    name, seen = "backoff-scale-1", list[bool]()
    real = search.next_points

    def confirmed(self: fit_points.FrontierRun) -> None:
        point = self._measured(name).model_copy(update={"confirmed": True})
        self.folder.save_findings(f"confirmed-{name}", self._of(self.listed[name]), point, Notes())

    def next_points(listed: Any, points: Mapping[str, FrontierPoint], most: int) -> Any:
        seen.extend(point.measured.confirmed for point in points.values())
        return real(listed, points, most)

    monkeypatch.setattr(fit_points.FrontierRun, "confirm_recommended", confirmed)
    us.frontier(plan, tmp_path / "out")
    monkeypatch.setattr("understudy.frontiers.fit_points.next_points", next_points)
    again = us.frontier(plan, tmp_path / "out").findings
    assert seen
    assert not any(seen)
    assert [point.name for point in again.points] == [
        point.name for point in measured.findings.points
    ]
    assert [point.name for point in again.points if point.measured.confirmed] == [name]


def test_a_board_picks_a_point_and_the_choice_is_in_the_record(
    plan: Path, measured: Frontier, tmp_path: Path
) -> None:
    assert measured
    shutil.copytree(plan.parent / "out", tmp_path / "out")
    because = "A. Board, 16 November, fewer labels"
    name = "formal-epsilon-2-coarse-county-1"
    chosen = us.frontier(plan, tmp_path / "out", choose=name, because=because)
    assert chosen.chosen == name
    assert because in chosen.page().read_text("utf-8")
    again = us.frontier(plan, tmp_path / "out")
    assert [entry.because for entry in again.findings.choices] == [because]
    with pytest.raises(SettingError, match="choose as one of"):
        us.frontier(plan, tmp_path / "out", choose="nothing", because=because)
    with pytest.raises(SettingError, match="who picked it"):
        us.frontier(plan, tmp_path / "out", choose=name)
    assert "not on this picture" not in again.page().read_text("utf-8")
    planned = read_plan(chosen.plan())
    assert planned.data.coarsen == {"county": 1}
    assert planned.sets == 2
    assert [synthesizer.model for synthesizer in planned.synthesizers or ()] == ["formal"]
    shutil.copy(chosen.plan(), plan.parent / "chosen.toml")  # it names its frontier
    study = run_quietly(plan.parent / "chosen.toml", tmp_path / "study")
    report = study.report().read_text("utf-8")
    assert "Where this study lies on the frontier" in report
    assert because in report
    county = [variable for variable in study.findings.data.variables if variable.name == "county"]
    assert county[0].levels == ("coast", "south", "west")
    (plan.parent / "other.toml").write_text(ONE_POINT.replace("{file}", "data.csv"), "utf-8")
    other = us.frontier(plan.parent / "other.toml", tmp_path / "out")
    assert "Frontier of 1 point, 40 records" in repr(other)
    assert "It is the only point whose worst" in repr(other)
    assert f"{name} (under other dials; not on this picture)" in other.page().read_text("utf-8")


def test_files_of_other_tools_are_put_beside(
    plan: Path, measured: Frontier, tmp_path: Path
) -> None:
    assert measured
    shutil.copytree(plan.parent / "out", tmp_path / "out")
    original = pl.read_csv(plan.parent / "data.csv")
    other = original.with_columns(pl.col("county").shuffle(seed=1))
    other.write_csv(tmp_path / "syn1.csv")
    original.write_csv(tmp_path / "syn2.csv")
    paths = [tmp_path / "syn1.csv", tmp_path / "syn2.csv"]
    shown = us.frontier(plan, tmp_path / "out", beside={"CART": paths})
    (point,) = shown.findings.beside
    assert point.measured.title == "CART"
    assert point.measured.m == 2
    assert point.measured.own_record.evidence == "others"
    assert shown.recommended == measured.recommended
    known = us.frontier(plan, tmp_path / "out", beside={"CART": paths}, control=original.head(20))
    assert known.findings.beside[0].measured.own_record.evidence == "control group"
    with pytest.raises(SettingError, match="control people alone"):
        us.frontier(plan, tmp_path / "out", control=original.head(20))
    page = shown.page().read_text("utf-8")
    assert "CART" in page
    assert 'data-go="frontier-point-cart"' in page
    assert 'id="frontier-point-cart"' in page


def test_nothing_leaves_the_private_folder(plan: Path, measured: Frontier, tmp_path: Path) -> None:
    out = plan.parent / "out"
    assert [path.name for path in out.iterdir()] == ["internal"]
    assert stat.S_IMODE((out / "internal").stat().st_mode) == 0o700
    assert stat.S_IMODE(measured.page().stat().st_mode) == 0o600
    with pytest.raises(UnderstudyError):
        us.release(out, tmp_path / "public", approve="A. Board, 2026-11-16, no reason")
    assert not (tmp_path / "public").exists()
    with pytest.raises(OutputError):
        us.frontier(plan, out / "internal" / "inside")


def test_a_frontier_of_other_data_is_refused(
    plan: Path, measured: Frontier, tmp_path: Path
) -> None:
    assert measured
    other = write_study(tmp_path, seed=4)
    with pytest.raises(InputError, match="a frontier of the study's own data"):
        run_quietly(other, tmp_path / "study", frontier=plan.parent / "out")
    with pytest.raises(SettingError, match="a finished frontier"):
        run_quietly(other, tmp_path / "study", frontier=tmp_path / "nowhere")


def test_the_command(
    plan: Path, measured: Frontier, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert measured
    shutil.copytree(plan.parent / "out", tmp_path / "out")
    beside = ["--beside", str(plan.parent / "data.csv"), str(plan.parent / "data.csv")]
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        main(["frontier", str(plan), "--out", str(tmp_path / "out"), *beside, "--called", "CART"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert "recommended: " in said
    assert "frontier.html" in said
    with warnings.catch_warnings(), pytest.raises(SystemExit) as ended:
        main(["frontier", str(plan), "--out", str(tmp_path / "out"), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert [point["point"] for point in said["beside"]] == ["CART"]
    assert len(said["landmarks"]) == 4
    assert {"m", "epsilon", "rhat", "ratio_2"} <= set(said["points"][0])
    page = (tmp_path / "out" / "internal" / "frontier.html").read_text("utf-8")
    assert "CART" in page
    with pytest.raises(SystemExit) as ended:
        main(["frontier", str(plan), "--out", str(tmp_path / "out"), "--choose", "x", "--because",
              "me"])  # fmt: skip
    assert ended.value.code == 2


@quiet
@pytest.mark.parametrize(
    ("what", "number"), [("plain", 1), ("plain", 2), ("plain", 3), ("weighted", 2)]
)
def test_points_on_workers_have_the_same_bytes(
    what: str,
    number: int,
    plan: Path,
    measured: Frontier,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Several fits at a time are tasks, also those that weights come from; one spreads chains."""
    alone = plan.parent / "out"
    if what == "weighted":
        plan = write_study(tmp_path / "plan", WEIGHTED)
        alone = us.frontier(plan, tmp_path / "alone", seed=3).folder.parent
    tasks: list[Any] = []
    real = Workers.as_finished

    def listed(self: Workers, function: Any, given: Any) -> Any:
        tasks.extend(given)
        return real(self, function, given)

    monkeypatch.setattr(Workers, "as_finished", listed)
    with threads_as_workers(number) as address, us.on_workers(cluster=address):
        us.frontier(plan, tmp_path / "helped", seed=3 if what == "weighted" else None)
    assert len(tasks) == 5  # fits of the declared points; the last point of the search is alone
    assert files(tmp_path / "helped") == files(alone)


def test_progress_counts_points_that_are_measured(plan: Path, tmp_path: Path) -> None:
    told: list[StudyProgress] = []
    us.frontier(plan, tmp_path / "out", progress=told.append)
    steps = [run.step for run in told]
    assert steps == sorted(steps)
    assert steps[0] == 0
    assert 5 <= steps[-1] <= 8
    assert {run.steps for run in told} == {8}
    fits = {run.words for run in told if run.share is not None}
    assert len(fits) > 2
    assert all(words.startswith("fitting ") for words in fits)
