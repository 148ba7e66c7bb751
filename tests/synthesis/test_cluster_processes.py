"""A cluster of processes, started as the docs say: TLS, lost workers, a lost scheduler."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.clusters import (
    QUIET,
    ProcessCluster,
    kill_a_worker,
    kill_after_first_answer,
    make_certificates,
    on_cluster,
    processes_behind_tls,
)
from tests.studies import PLAN, files_of, write_study
from tests.synthesis.test_workers import fitted, same

import understudy as us
from understudy.errors import WorkerError
from understudy.randomness import stream
from understudy.synthesis import workers
from understudy.synthesis.dpmpm.class_counts import SLICE

pytestmark = [pytest.mark.slow, *(pytest.mark.filterwarnings(warning) for warning in QUIET)]
CANARY = "canary county that no disk may see"
MODEL = us.DPMPM(sampler="blocked", n_classes=6, level_prior=1.0)
WITHOUT = 'import sys\nsys.modules["understudy"] = None\n'
OLDER = 'import understudy\nunderstudy.__version__ = "an older one"\n'
DIALS = """
[frontier]
budget = 4
[[frontier.dials]]
model = "backoff"
fixed = { chains = 2, warmup = 4, draws = 12, thin = 1 }
vary = { scale = [0.1, 1.0, 3.0, 10.0] }
[own_record]
refits = 0
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessCluster]:
    with processes_behind_tls(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    """Invent records with enough combinations for three slices."""
    generator, n = stream(8, "combinations for processes"), 2 * SLICE + 700
    rows = np.unique(generator.integers(0, [60, 40, 5], (6 * n, 3)), axis=0)
    rows = generator.permutation(rows)[:n]
    county = np.array([CANARY, *(f"county {number}" for number in range(1, 5))])[rows[:, 2]]
    frame = pl.DataFrame({"age": rows[:, 0].astype(str), "job": rows[:, 1].astype(str)})
    return us.read_microdata(frame.with_columns(county=pl.Series(county)), synthesize="county")


def test_strangers_are_refused(
    cluster: ProcessCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without certificates, and with some that another authority signed."""
    monkeypatch.setattr(workers, "SECONDS_TO_ANSWER", 2)
    assert cluster.address.startswith("tls://127.0.0.1")
    for tls in (None, make_certificates(tmp_path / "others")):
        with (
            pytest.raises(WorkerError, match="a Dask scheduler at"),
            us.on_workers(cluster=cluster.address, tls=tls),
        ):
            pass


@pytest.mark.parametrize(
    ("who", "code", "says"),
    [
        ("worker", WITHOUT, "one with none, "),
        ("worker", OLDER, "one with an older one, "),
        ("scheduler", WITHOUT, "one with none, "),
    ],
    ids=["worker without", "older worker", "scheduler without"],
)
def test_processes_without_the_package_or_with_another_version_are_refused(
    who: str, code: str, says: str, tmp_path: Path
) -> None:
    """In processes of their own: a scheduler without it could not unpack any task either."""
    with (
        processes_behind_tls(tmp_path, 1, {who: code}) as cluster,
        pytest.raises(WorkerError, match=says),
        on_cluster(cluster),
    ):
        pass


@pytest.mark.parametrize("cut", [False, True], ids=["chains", "cut sweeps"])
def test_a_fit_one_worker_of_which_is_killed(
    cluster: ProcessCluster, data: us.Microdata, *, cut: bool
) -> None:
    """The same bytes, and no record on a disk."""
    alone, killed = fitted(data, MODEL), list[int]()

    def kill_once(_: Any) -> None:
        if not killed:
            killed.append(1)
            kill_a_worker()

    with on_cluster(cluster, cut_sweeps=cut):
        assert same(fitted(data, MODEL, progress=kill_once), alone)
        files = [path.read_bytes() for path in cluster.scratch.rglob("*") if path.is_file()]
    assert killed
    assert not any(CANARY.encode() in content for content in files)


def test_a_frontier_one_worker_of_which_is_killed(
    cluster: ProcessCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = write_study(tmp_path / "plan", PLAN + DIALS)
    us.frontier(plan, tmp_path / "alone")
    answered = kill_after_first_answer(monkeypatch)
    with on_cluster(cluster):
        us.frontier(plan, tmp_path / "helped")
    assert sorted(answered) == [0, 1, 2, 3]
    there, here = (files_of(tmp_path / name) for name in ("helped", "alone"))
    differing = {name for name in {*there, *here} if there.get(name) != here.get(name)}
    named = {"study.json", "chosen.toml"}  # which name their folder
    assert {Path(name).name for name in differing} <= named


@pytest.mark.parametrize("cut", [False, True], ids=["chains", "cut sweeps"])
def test_the_scheduler_is_lost_and_the_run_goes_on_without_it(
    data: us.Microdata, tmp_path: Path, *, cut: bool
) -> None:
    """A plain error; what was saved is taken up here, and the bytes are the same."""
    alone, saved, again = fitted(data, MODEL), list[int](), list[int]()
    with processes_behind_tls(tmp_path) as cluster:

        def end_scheduler(run: Any) -> None:
            saved.append(run.sweep)
            cluster.scheduler.kill()
            cluster.scheduler.wait()

        with (
            pytest.raises(WorkerError, match="the scheduler, or one worker after another, is gone"),
            on_cluster(cluster, cut_sweeps=cut),
        ):
            fitted(data, MODEL, checkpoint=tmp_path / "run", progress=end_scheduler)
    resumed = fitted(
        data, MODEL, checkpoint=tmp_path / "run", progress=lambda run: again.append(run.sweep)
    )
    assert again[0] > saved[-1]
    assert same(resumed, alone)
