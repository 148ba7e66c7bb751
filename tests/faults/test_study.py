"""Studies that die: at every write, fsync and rename, at any instant; resumed to the same bytes.

For the faults at every call the measures are taken from an undisturbed run, since they are the same
in all of the some hundred runs; the kills at random instants strike a study that computes it all.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import understudy as us
from tests.faults.harness import Ended, Nursery, faults_at_every_call
from tests.studies import PLAN, files_of, plain_page, run_quietly, write_study
from understudy.errors import CheckpointError, CheckpointWarning, ExitCode, UnderstudyWarning
from understudy.findings.schema import (
    IntruderFindings,
    OwnRecordFindings,
    RiskFindings,
    UtilityFindings,
)
from understudy.pages import report as page
from understudy.randomness import stream
from understudy.study import stages
from understudy.study.plan import read_plan
from understudy.study.progress import StudyProgress
from understudy.synthesis import chains

KILLS = 50
PAGE_KILLS = 5  # with the page that is really drawn, which takes its time
AREAL = """\
[[synthesizers]]
model = "areal"
n_clusters = 3
chains = 2
warmup = 4
draws = 8
thin = 1
[[intruders]]
"""
BOTH = PLAN.replace("[[intruders]]\n", AREAL)
SHORT = PLAN.replace("chains = 2", "chains = 1").replace("warmup = 4", "warmup = 0")
MEASURES: dict[str, tuple[str, type[BaseModel]]] = {
    "intruder_findings": ("intruder-1", IntruderFindings),
    "own_record_findings": ("dpmpm-own-record", OwnRecordFindings),
    "utility_findings": ("dpmpm-utility", UtilityFindings),
    "risk_findings": ("dpmpm-risk", RiskFindings),
}
LOADED = (
    "matplotlib.figure", "scipy.optimize", "scipy.stats", "understudy.study.run",
    "understudy.risk.identification", "understudy.risk.attribute", "understudy.risk.baselines",
    "understudy.risk.by_knowledge", "understudy.risk.own_record.effect",
    "understudy.utility.tables", "understudy.utility.propensity",
    "understudy.utility.within_pattern",
)  # fmt: skip


def job(plan: str, folder: str, measured: str = "", drawn: bool = False) -> dict[str, str]:
    """Run a study; give digests of all files. Measures may come from one that is finished.

    The report's page is a plain one, unless the real one is asked to be `drawn`.
    """
    if not drawn:
        page.page = plain_page
    chains.SEGMENT_DRAWS = 4  # so that so short a fit has several segments
    for name, (stage, kind) in MEASURES.items() if measured else ():
        path = Path(measured) / "internal" / "stages" / f"{stage}.json"
        earlier_findings = kind.model_validate_json(
            json.dumps(json.loads(path.read_text())["findings"])
        )
        setattr(stages, name, lambda *_, earlier_findings=earlier_findings, **__: earlier_findings)
    run_quietly(Path(plan), Path(folder))
    return files_of(Path(folder))


def warm() -> None:
    """Load everything, read data, compile the samplers.

    What else there is to compile needs the data frame library at work, which would not survive
    a fork.
    """
    for name in LOADED:
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        plan = write_study(Path(folder))
        data = us.read_microdata(**read_plan(plan).data.reading_options(plan.parent))
        for settings in (us.DPMPM(), us.DPAreal(n_clusters=3)):
            settings.fit(data, chains=2, warmup=4, draws=8, thin=1, seed=1)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Give a warmed-up process to fork from."""
    with Nursery("tests.faults.test_study:job", warm="tests.faults.test_study:warm") as made:
        yield made


def test_a_fault_at_every_write_fsync_and_rename(nursery: Nursery, memory_folder: Path) -> None:
    """Whatever the fault, what is left is whole and the same call ends with the same bytes."""
    asked = {"plan": str(write_study(memory_folder / "confidential", SHORT))}
    whole = nursery.run({**asked, "folder": str(memory_folder / "whole")})
    asked["measured"] = str(memory_folder / "whole")
    calm = nursery.run({**asked, "folder": str(memory_folder / "calm")})
    assert calm.value == whole.value
    assert {"write", "fsync", "rename", "unlink"} <= set(calm.calls)
    seen = set()
    for number, fault in enumerate(faults_at_every_call(calm.calls)):
        if fault.kind == "full" and calm.calls[fault.number] == "fsync":
            continue  # the same as a full disk at the write or rename before it
        struck = {**asked, "folder": str(memory_folder / f"struck-{number}")}
        ended = nursery.run(struck, fault=fault)
        seen.add(ended.status)
        if ended.status == "raised":
            assert ended.error.startswith("CheckpointError: Expected space for "), fault
            assert not list(Path(struck["folder"]).rglob("*.part")), fault
        assert nursery.run(struck).value == calm.value, fault
    assert seen == {"stopped", "raised"}


def killed_until_done(
    nursery: Nursery, asked: dict[str, Any], kills: Iterator[float], number: int
) -> tuple[int, Ended]:
    """Run a study in one folder again and again, with a signal after a random time."""
    killed = 0
    while True:
        ended = nursery.run(asked, signals=[(next(kills), number)])
        if ended.status == "done":
            return killed, ended
        killed += 1


@pytest.mark.parametrize(
    ("drawn", "most"), [(False, KILLS), (True, PAGE_KILLS)], ids=["plain page", "real page"]
)
def test_killed_at_random_instants(
    nursery: Nursery, memory_folder: Path, drawn: bool, most: int
) -> None:
    """A study with both models is killed again and again until it comes to its end."""
    plan = str(write_study(memory_folder / "confidential", BOTH))
    calm = nursery.run({"plan": plan, "folder": str(memory_folder / "calm"), "drawn": drawn})
    assert calm.status == "done", calm.error
    report = (memory_folder / "calm" / "internal" / "report.html").read_text()
    assert ("<svg" in report) == drawn
    assert {"dpmpm", "areal"} == {path.split("/")[2] for path in calm.value if "/sets/" in path}
    generator = stream(62, "kills", str(drawn))
    kills = iter(lambda: float(generator.random()) * calm.seconds, None)
    killed, round_ = 0, 0
    while killed < most:
        asked = {"plan": plan, "folder": str(memory_folder / f"struck-{round_}"), "drawn": drawn}
        more, ended = killed_until_done(nursery, asked, kills, signal.SIGKILL)
        assert ended.value == calm.value
        killed, round_ = killed + more, round_ + 1


def test_interrupted_and_asleep(nursery: Nursery, memory_folder: Path) -> None:
    """Ctrl-C, once and twice; and a machine that sleeps for a moment in the middle."""
    plan = str(write_study(memory_folder / "confidential"))
    calm = nursery.run({"plan": plan, "folder": str(memory_folder / "calm")})
    for times in (1, 2):
        asked = {"plan": plan, "folder": str(memory_folder / f"struck-{times}")}
        at = calm.seconds * 0.4
        signals = [(at + 0.002 * more, signal.SIGINT) for more in range(times)]
        ended = nursery.run(asked, signals=signals)
        assert ended.status == "done" or ended.error.startswith("KeyboardInterrupt")
        assert nursery.run(asked).value == calm.value
    asked["folder"] = str(memory_folder / "asleep")
    at = calm.seconds * 0.5
    ended = nursery.run(asked, signals=[(at, signal.SIGSTOP), (at + 0.3, signal.SIGCONT)])
    assert ended.value == calm.value


@pytest.fixture
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)
    monkeypatch.setattr(chains, "SEGMENT_DRAWS", 4)


@pytest.mark.usefixtures("_plain")
def test_the_clock_jumps(memory_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = write_study(memory_folder / "confidential")
    run_quietly(plan, memory_folder / "calm")
    generator = stream(63, "clock")

    def jumping() -> float:
        return float(generator.normal(0.0, 1e9))

    monkeypatch.setattr("time.monotonic", jumping)
    monkeypatch.setattr("time.time", jumping)
    told: list[StudyProgress] = []
    run_quietly(plan, memory_folder / "out", progress=told.append)
    monkeypatch.undo()
    assert files_of(memory_folder / "out") == files_of(memory_folder / "calm")
    assert all((line.seconds_left or 0) >= 0 <= (line.study_seconds_left or 0) for line in told)


@pytest.mark.usefixtures("_plain")
def test_the_newest_checkpoint_is_corrupt(memory_folder: Path) -> None:
    """The segments before it are used, that is said, and the end is the same."""
    plan = write_study(memory_folder / "confidential")
    run_quietly(plan, memory_folder / "calm")

    def stop(now: StudyProgress) -> None:
        if now.words == "fitting dpmpm" and (now.share or 0.0) > 0.9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_quietly(plan, memory_folder / "out", progress=stop)
    newest = sorted((memory_folder / "out" / "internal" / "fits" / "dpmpm").glob("draws-0-*"))[-1]
    newest.write_bytes(newest.read_bytes()[:-9])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        us.Study(plan).run(memory_folder / "out")
    said = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, CheckpointWarning)
    ]
    assert any("chain 0" in text and "computed again" in text for text in said)
    assert files_of(memory_folder / "out") == files_of(memory_folder / "calm")


@pytest.mark.usefixtures("_plain")
def test_the_disk_is_full_at_the_end(memory_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says how many bytes are needed, and the exit code that the study can go on."""
    plan = write_study(memory_folder / "confidential")
    real = os.fsync
    calls = 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > 60:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"space for [\d,]+ bytes") as caught:
        run_quietly(plan, memory_folder / "out")
    assert caught.value.exit_code == ExitCode.INTERRUPTED
    monkeypatch.setattr(os, "fsync", real)
    run_quietly(plan, memory_folder / "out")
    run_quietly(plan, memory_folder / "calm")
    assert files_of(memory_folder / "out") == files_of(memory_folder / "calm")


def test_a_place_that_cannot_be_written(memory_folder: Path) -> None:
    """Where even the owner may make no folder."""
    plan = write_study(memory_folder / "confidential")
    with pytest.raises(CheckpointError, match="none can be made"):
        run_quietly(plan, Path("/proc/understudy"))
