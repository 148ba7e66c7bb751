"""Fits that die: at every write, fsync and rename, at any instant; resumed to the same bytes."""

from __future__ import annotations

import hashlib
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import understudy as us
from tests.faults.harness import COUNT, Nursery, Strike, faults_at_every_call
from understudy.errors import UnderstudyWarning
from understudy.randomness import stream
from understudy.synthesis import chains

KILLS = 17  # at random instants, for each of three samplers: 51 in all
INTERRUPTIONS = 30  # from the keyboard, evenly over a run
MODELS: dict[str, us.DPMPM | us.DPAreal] = {
    "collapsed": us.DPMPM(sampler="collapsed", n_classes=3),
    "blocked": us.DPMPM(sampler="blocked", n_classes=3),
    "areal": us.DPAreal(n_clusters=3),
}
FIT: dict[str, Any] = {"warmup": 4, "draws": 8, "thin": 1, "seed": 12}


def tiny_data() -> us.Microdata:
    """Twelve records."""
    frame = pl.DataFrame({"kept": ["a", "b", "b"] * 4, "label": ["x", "y", "y", "x"] * 3})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        return us.read_microdata(frame, synthesize=["label"])


def job(
    folder: str, sampler: str = "collapsed", threads: int = 1, n_chains: int = 2
) -> dict[str, str]:
    """Fit with a saved run; give digests of all draws and of all files."""
    chains.SEGMENT_DRAWS = 4  # so that so short a run has several segments
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        fit = MODELS[sampler].fit(
            tiny_data_once(), chains=n_chains, checkpoint=folder, threads=threads, **FIT
        )
    drawn = hashlib.blake2b(fit.chain_draws.label_probability.tobytes(), digest_size=16)
    for values in fit.chain_draws.scalars.values():
        drawn.update(values.tobytes())
    for _, snapshot in (drawn for chain in fit.chain_draws.snapshots for drawn in chain):
        for array in snapshot.values():
            drawn.update(array.tobytes())
    return {"draws": drawn.hexdigest(), **files_of(Path(folder))}


def files_of(folder: Path) -> dict[str, str]:
    """Digests of everything that lies in a folder but the lock, which names a process."""
    return {
        path.name: hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        for path in sorted(folder.iterdir())
        if path.name != "lock"
    }


DATA: list[us.Microdata] = []


def tiny_data_once() -> us.Microdata:
    """Give the data that the nursery has read."""
    return DATA[0] if DATA else tiny_data()


def warm() -> None:
    """Read the data and compile all samplers."""
    DATA.append(tiny_data())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        for settings in MODELS.values():
            settings.fit(DATA[0], **FIT)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Give a warmed-up process to fork from."""
    with Nursery("tests.faults.test_fits:job", warm="tests.faults.test_fits:warm") as made:
        yield made


@pytest.mark.parametrize("sampler", ["collapsed", "areal"])
def test_a_fault_at_every_write_fsync_and_rename(
    nursery: Nursery, memory_folder: Path, sampler: str
) -> None:
    """Whatever the fault, what is left is whole and the same call ends with the same bytes."""
    asked = {"sampler": sampler, "n_chains": 1}
    calm = nursery.run({**asked, "folder": str(memory_folder / "calm")})
    assert calm.status == "done"
    assert {"write", "fsync", "rename", "unlink"} <= set(calm.calls)
    seen = set()
    for number, fault in enumerate(faults_at_every_call(calm.calls)):
        folder = memory_folder / f"struck-{number}"
        struck = {**asked, "folder": str(folder)}
        ended = nursery.run(struck, fault=fault)
        seen.add(ended.status)
        if ended.status == "raised":
            assert ended.error.startswith("CheckpointError: Expected space for "), fault
            assert not list(folder.glob("*.part")), fault
        again = nursery.run(struck)
        assert again.value == calm.value, fault
    assert seen == {"stopped", "raised"}


@pytest.mark.parametrize("sampler", MODELS)
def test_killed_at_random_instants(nursery: Nursery, memory_folder: Path, sampler: str) -> None:
    """Fifty kills, spread over all lines that a run goes through; two chains at once."""
    generator = stream(61, "kills", sampler)
    asked = {"sampler": sampler, "threads": 2}
    calm = nursery.run({**asked, "folder": str(memory_folder / "calm")}, strike=COUNT)
    killed = 0
    for number in range(KILLS):
        struck = {**asked, "folder": str(memory_folder / f"struck-{number}")}
        line = int(generator.random() * calm.lines)
        ended = nursery.run(struck, strike=Strike(line, signal.SIGKILL))
        killed += ended.status == "killed"
        again = nursery.run(struck)
        assert again.value == calm.value, line
    assert killed > KILLS / 4


def test_killed_again_and_again_in_one_folder(nursery: Nursery, memory_folder: Path) -> None:
    """A run that is killed after every few steps comes to its end all the same."""
    calm = nursery.run({"folder": str(memory_folder / "calm")})
    struck = {"folder": str(memory_folder / "struck")}
    for number in range(100):
        ended = nursery.run(struck, fault=next(_stops_at(7 + number % 9)))
        if ended.status == "done":
            break
    assert number > 3
    assert ended.value == calm.value


def _stops_at(number: int) -> Iterator[Any]:
    return (fault for fault in faults_at_every_call(["write"] * 99) if fault.number == number)


@pytest.mark.parametrize("again", [0.0, 0.002], ids=["once", "twice"])
def test_interrupted_from_the_keyboard(nursery: Nursery, memory_folder: Path, again: float) -> None:
    """Once or twice in a row: it ends as an interruption, and goes on to the same bytes.

    The first comes at lines spread over the run; the second may come at any instant after it, the
    end of the run included.
    """
    calm = nursery.run({"folder": str(memory_folder / "calm")}, strike=COUNT)
    interrupted = 0
    for number in range(INTERRUPTIONS):
        struck = {"folder": str(memory_folder / f"struck-{number}")}
        line = calm.lines * number // INTERRUPTIONS
        ended = nursery.run(struck, strike=Strike(line, signal.SIGINT, again))
        if ended.status == "raised":
            assert ended.error.startswith("KeyboardInterrupt"), line
            interrupted += 1
        assert nursery.run(struck).value == calm.value, line
    assert interrupted > INTERRUPTIONS / 2


def test_interrupted_before_the_job_begins(nursery: Nursery, memory_folder: Path) -> None:
    """A child that is struck before it can answer counts as interrupted."""
    struck = {"folder": str(memory_folder / "struck")}
    for after in (0.0, 0.0005, 0.001):
        ended = nursery.run(struck, signals=[(after, signal.SIGINT), (after, signal.SIGINT)])
        assert ended.status == "done" or ended.error.startswith("KeyboardInterrupt")


def test_asked_to_end(nursery: Nursery, memory_folder: Path) -> None:
    """SIGTERM ends a run at once; it goes on to the same bytes."""
    calm = nursery.run({"folder": str(memory_folder / "calm")}, strike=COUNT)
    struck = {"folder": str(memory_folder / "struck")}
    ended = nursery.run(struck, strike=Strike(calm.lines // 3, signal.SIGTERM))
    assert ended.status == "killed"
    assert ended.signal == signal.SIGTERM
    assert nursery.run(struck).value == calm.value
