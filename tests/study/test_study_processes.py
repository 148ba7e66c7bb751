"""Studies, frontiers and reproductions with worker processes that die, and whose scheduler does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.clusters import (
    QUIET,
    SECONDS_TO_START,
    ProcessCluster,
    kill_a_worker,
    kill_after_first_answer,
    on_cluster,
    processes_behind_tls,
)
from tests.studies import PLAN, files_of, plain_page, run_quietly, write_study

import understudy as us
from understudy.errors import WorkerError
from understudy.pages import report
from understudy.randomness import stream
from understudy.reproduction import run as running
from understudy.reproduction.configurations import Scale
from understudy.risk import baselines
from understudy.synthesis import set_drawing
from understudy.synthesis.workers import Workers

pytestmark = [pytest.mark.slow, *(pytest.mark.filterwarnings(warning) for warning in QUIET)]
CANARY = "canary county that no disk may see"
LENGTHS = {"chains": 2, "warmup": 4, "draws": 8, "thin": 1}
SCALE = Scale("quick", 1, 2, 2, ("text",), {"text": {"bundled": LENGTHS, "redrawn": LENGTHS}})
FRONTIER = """
[frontier]
budget = 8
[[frontier.dials]]
model = "backoff"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1 }
vary = { scale = [0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0] }
[own_record]
refits = 0
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    with processes_behind_tls(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Reproduce without workers."""
    return reproduced(tmp_path_factory.mktemp("alone"))


def end_scheduler(cluster: ProcessCluster) -> None:
    cluster.scheduler.kill()
    cluster.scheduler.wait()


def folder_of_files(folder: Path, n_files: int = 6, n_records: int = 40) -> Path:
    """Write invented records as a folder of Parquet files, with a column that passes through."""
    folder.mkdir(parents=True)
    draw = stream(9, "a folder of files")
    for number in range(n_files):
        towns = np.array(["east", "north", "south", "west", CANARY])[draw.integers(0, 5, n_records)]
        frame = {"gender": np.array(["f", "m"])[draw.integers(0, 2, n_records)],
                 "age": np.array(["old", "young"])[draw.integers(0, 2, n_records)],
                 "county": towns, "size": draw.integers(1, 4, n_records)}  # fmt: skip
        pl.DataFrame(frame).write_parquet(folder / f"part-{number}.parquet")
    return folder


def nothing_confidential(folder: Path) -> bool:
    contents = (path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return not any(CANARY.encode() in content for content in contents)


def test_a_study_of_a_folder_has_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no, one, two and three processes: all stages, sets in three slices, parts of repeats."""
    monkeypatch.setattr(report, "page", plain_page)
    monkeypatch.setattr(set_drawing, "RECORDS", 100)
    monkeypatch.setattr(baselines, "ROWS_OF_TASK", 1)
    folder_of_files(tmp_path / "data")
    changed = PLAN.replace('ignore = ["id"]', 'pass_through = ["size"]')
    changed = changed.replace('codebook = "book.toml"\n', "")
    plan = write_study(tmp_path / "plan", changed, file="data.csv")
    plan.write_text(plan.read_text("utf-8").replace("data.csv", "../data"), encoding="utf-8")
    run_quietly(plan, tmp_path / "alone")
    alone = files_of(tmp_path / "alone")
    assert len([path for path in alone if path.endswith(".parquet")]) == 3
    for number in (1, 2, 3):
        with us.on_workers(number):
            run_quietly(plan, tmp_path / f"helped by {number}")
        assert files_of(tmp_path / f"helped by {number}") == alone


def test_a_worker_is_killed_while_counting(cluster: ProcessCluster, tmp_path: Path) -> None:
    """The same data, and nothing of them on a worker's disk, meanwhile or later."""
    folder, done = folder_of_files(tmp_path / "data", 24), list[int]()
    options: dict[str, Any] = {"pass_through": ["size"]}
    alone = us.read_microdata(folder, "county", **options)

    def kill_once(n_done: int, _: int) -> None:
        if not done:
            kill_a_worker()
        done.append(n_done)
        assert nothing_confidential(cluster.scratch)

    with on_cluster(cluster):
        there = us.read_microdata(folder, "county", progress=kill_once, **options)
    assert len(done) == 24
    assert there.fingerprint() == alone.fingerprint()
    assert nothing_confidential(cluster.scratch)


def test_a_worker_is_killed_while_risk_and_tables_are_measured(
    cluster: ProcessCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, killed = us.load_ce_like(), list[str]()
    sets = us.Marginal().fit(data).synthesize(2, seed=1)

    def measured() -> list[Any]:
        inherent = us.inherent_risk(data, "gender", repeats=3, seed=2, sets=2)
        lattice, tables = us.risk_lattice(data, sets), us.table_utility(data, sets, seed=3)
        frames = (inherent.measures, lattice.ranking, tables.tables)
        return [*(frame.write_csv() for frame in frames), tables.truth_floor]

    def in_order(self: Workers, function: Any, tasks: Any, *shared: Any) -> Any:
        for answer in real(self, function, tasks, *shared):
            if function.__module__ not in killed:
                killed.append(function.__module__)
                kill_a_worker()
                self.client.wait_for_workers(2, timeout=SECONDS_TO_START)
            yield answer

    alone, real = measured(), Workers.in_order
    monkeypatch.setattr(baselines, "ROWS_OF_TASK", 1)
    monkeypatch.setattr(Workers, "in_order", in_order)
    with on_cluster(cluster):
        assert measured() == alone
    assert len(killed) == 3  # draws of the baselines, what intruders know, tables


def test_a_worker_is_killed_while_reproducing(
    cluster: ProcessCluster,
    alone: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = kill_after_first_answer(monkeypatch)
    with on_cluster(cluster):
        assert reproduced(tmp_path / "helped") == alone
    assert sorted(answered) == [0, 1, 2, 3]


def reproduced(folder: Path) -> dict[str, str]:
    folder.mkdir(exist_ok=True)
    running.run_all(folder, SCALE, 3, lambda _words, _progress: None)
    return files_of(folder)


def lose_scheduler(cluster: ProcessCluster, answered: list[int], monkeypatch: Any) -> None:
    """Have the scheduler end when a task is answered; a few more may be on their way."""
    real = Workers.as_finished

    def lost(self: Workers, function: Any, tasks: Any) -> Any:
        for at, answer in real(self, function, tasks):
            yield at, answer
            answered.append(at)
            if len(answered) == 1:
                end_scheduler(cluster)

    monkeypatch.setattr(Workers, "as_finished", lost)


def test_a_reproduction_goes_on_without_its_scheduler(
    alone: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was answered is not computed again, and the bytes are the same."""
    answered, said = list[int](), list[str]()
    with processes_behind_tls(tmp_path) as cluster:
        lose_scheduler(cluster, answered, monkeypatch)
        with pytest.raises(WorkerError, match="is gone"), on_cluster(cluster):
            reproduced(tmp_path / "helped")
    assert 0 < len(answered) < 4
    kept = files_of(tmp_path / "helped")
    running.run_all(tmp_path / "helped", SCALE, 3, lambda words, _: said.append(words))
    again = files_of(tmp_path / "helped")
    assert again == alone
    assert {name: again[name] for name in kept} == kept
    parts = {words.removesuffix(": measuring") for words in said if ", population " in words}
    assert len(parts) == 4 - len(answered)


def test_a_frontier_goes_on_without_its_scheduler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, answered = write_study(tmp_path / "plan", PLAN + FRONTIER), list[int]()
    us.frontier(plan, tmp_path / "alone")
    with processes_behind_tls(tmp_path) as cluster:
        lose_scheduler(cluster, answered, monkeypatch)
        with pytest.raises(WorkerError, match="is gone"), on_cluster(cluster):
            us.frontier(plan, tmp_path / "helped")
    assert 0 < len(answered) < 8
    points = sorted((tmp_path / "helped").rglob("point-*"))
    kept = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in points}
    assert kept
    us.frontier(plan, tmp_path / "helped")
    assert {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in kept} == kept
    there, here = (files_of(tmp_path / name) for name in ("helped", "alone"))
    differing = {name for name in {*there, *here} if there.get(name) != here.get(name)}
    named = {"study.json", "chosen.toml"}  # which name their folder
    assert {Path(name).name for name in differing} <= named
