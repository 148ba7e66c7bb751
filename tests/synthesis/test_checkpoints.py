"""Saved runs: killed at any instant and resumed to the same bytes, or refused with the reason."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.synthesis.conftest import quiet_fit, small_data
from tests.synthesis.test_fit import bytes_of

import understudy as us
from understudy.errors import CheckpointError, CheckpointWarning
from understudy.synthesis.checkpoints import Checkpoint, generator_arrays, generator_from

LONG = {"chains": 2, "warmup": 100, "draws": 300, "thin": 4, "seed": 12}

# It kills itself once so many segments are saved: no clock of another process decides when.
PROGRAM = """
import os, pathlib, signal, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[2])
from tests.synthesis.conftest import small_data
import understudy as us
from understudy.private_folder import PrivateFolder
replace = PrivateFolder.replace
def replace_and_die(folder, name, content):
    replace(folder, name, content)
    if len(list(pathlib.Path(sys.argv[1]).glob("draws-*"))) >= int(sys.argv[4]):
        os.kill(os.getpid(), signal.SIGKILL)
PrivateFolder.replace = replace_and_die
us.DPMPM(sampler=sys.argv[3], n_classes=8).fit(
    small_data(), chains=2, warmup=100, draws=300, thin=4, seed=12, threads=2,
    checkpoint=sys.argv[1])
"""


def resumed(folder: Path, data: us.Microdata, **options: Any) -> Any:
    sampler = options.pop("sampler", "collapsed")
    settings = us.DPMPM(sampler=sampler, n_classes=8)
    return quiet_fit(settings, data, **{**LONG, "checkpoint": folder, **options})


@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_killed_at_any_instant_and_resumed_to_the_same_bytes(tmp_path: Path, sampler: Any) -> None:
    data = small_data()
    straight = quiet_fit(us.DPMPM(sampler=sampler, n_classes=8), data, **LONG)
    root = Path(__file__).parents[2]
    folder = tmp_path / "run"
    for segments in (1, 4, 7):
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(folder), str(root), sampler, str(segments)],
            env={**os.environ, "PYTHONPATH": str(root / "src")},
            cwd=root,
            check=False,
        )
        assert ended.returncode == -signal.SIGKILL
    assert bytes_of(resumed(folder, data, sampler=sampler)) == bytes_of(straight)
    # and once more from the complete folder, with nothing left to do
    assert bytes_of(resumed(folder, data, sampler=sampler)) == bytes_of(straight)


def test_in_pieces_with_a_target_the_same_bytes(tmp_path: Path) -> None:
    data = small_data()
    until = us.ConvergenceTargets(rhat=1.0001, ess=1e6, most_draws=130)
    options = {**LONG, "draws": 50, "until": until}
    straight = quiet_fit(us.DPMPM(), data, **options)
    calls = 0

    def stop(_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet_fit(us.DPMPM(), data, **options, checkpoint=tmp_path / "run", progress=stop)
    pieces = quiet_fit(us.DPMPM(), data, **options, checkpoint=tmp_path / "run")
    assert bytes_of(pieces) == bytes_of(straight)


def test_a_run_without_a_seed_goes_on_with_its_own(tmp_path: Path) -> None:
    data = small_data()
    first = resumed(tmp_path / "run", data, seed=None)
    second = resumed(tmp_path / "run", data, seed=None)
    assert bytes_of(first) == bytes_of(second)
    assert first.plan.seed == second.plan.seed


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"seed": 13}, "seed"),
        ({"draws": 301}, "draws"),
        ({"thin": 5}, "thin"),
        ({"warmup": 101}, "warmup"),
        ({"chains": 3}, "chains"),
        ({"sampler": "blocked"}, "sampler"),
        ({"until": us.ConvergenceTargets()}, "until"),
    ],
)
def test_other_options_are_refused_and_named(
    tmp_path: Path, data: us.Microdata, options: dict[str, Any], named: str
) -> None:
    resumed(tmp_path / "run", data)
    with pytest.raises(CheckpointError, match=f'"{named}"'):
        resumed(tmp_path / "run", data, **options)


def test_other_data_and_versions_are_refused_and_named(
    tmp_path: Path, data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed(tmp_path / "run", data)
    with pytest.raises(CheckpointError, match='"data"') as caught:
        resumed(tmp_path / "run", small_data(n_records=119))
    assert data.fingerprint() not in str(caught.value)
    monkeypatch.setattr(us, "__version__", "9.9")
    with pytest.raises(
        CheckpointError, match=r'"understudy" of "versions" \(saved "0.1.0", now "9.9"\)'
    ):
        resumed(tmp_path / "run", data)


@pytest.mark.parametrize("damage", ["truncated", "empty", "flipped", "gone"])
@pytest.mark.parametrize("kind", ["draws", "state"])
def test_damaged_newest_segment_is_said_and_computed_again(
    tmp_path: Path, data: us.Microdata, damage: str, kind: str
) -> None:
    folder = tmp_path / "run"
    straight = bytes_of(resumed(folder, data))
    newest = sorted(folder.glob(f"{kind}-0-*"))[-1]
    content = newest.read_bytes()
    if damage == "gone":
        newest.unlink()
    else:
        flipped = content[:50] + bytes([content[50] ^ 1]) + content[51:]
        newest.write_bytes({"truncated": content[:-9], "empty": b"", "flipped": flipped}[damage])
    with pytest.warns(CheckpointWarning, match="chain 0"):
        again = _loud(folder, data)
    assert bytes_of(again) == straight


def _loud(folder: Path, data: us.Microdata) -> Any:
    import warnings

    from understudy.errors import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return us.DPMPM(n_classes=8).fit(data, **LONG, checkpoint=folder)  # type: ignore[arg-type]


def test_damaged_old_segment_starts_the_chain_anew(tmp_path: Path, data: us.Microdata) -> None:
    folder = tmp_path / "run"
    straight = bytes_of(resumed(folder, data))
    sorted(folder.glob("draws-1-*"))[1].unlink()
    with pytest.warns(CheckpointWarning, match="0 of"):
        again = _loud(folder, data)
    assert bytes_of(again) == straight


@pytest.mark.parametrize("content", ["", "{", "[]", '{"format": 2, "identity": {}, "chains": {}}'])
def test_foreign_manifest_is_refused(tmp_path: Path, data: us.Microdata, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(CheckpointError, match="manifest"):
        resumed(tmp_path, data)


def test_folder_with_other_things_is_refused(tmp_path: Path, data: us.Microdata) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(CheckpointError, match="1 other entries"):
        resumed(tmp_path, data)
    with pytest.raises(CheckpointError, match="none can be made"):
        resumed(tmp_path / "letter.txt" / "run", data)


def test_second_process_is_refused(tmp_path: Path, data: us.Microdata) -> None:
    first = Checkpoint(tmp_path / "run", {"seed": 1})
    with pytest.raises(CheckpointError, match=f"process {os.getpid()}"):
        resumed(tmp_path / "run", data)
    first.close()
    first.close()
    resumed(tmp_path / "run", data)


def test_full_disk_leaves_what_was_saved_whole(
    tmp_path: Path, data: us.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    straight = bytes_of(quiet_fit(us.DPMPM(n_classes=8), data, **LONG))
    real, calls = os.fsync, 0

    def full(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 30:
            raise OSError(28, "No space left on device")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CheckpointError, match=r"space for [\d,]+ bytes"):
        resumed(tmp_path / "run", data)
    assert not list((tmp_path / "run").glob("*.part"))
    monkeypatch.undo()
    assert bytes_of(resumed(tmp_path / "run", data)) == straight


def test_folder_is_private_and_nothing_is_pickled(tmp_path: Path, data: us.Microdata) -> None:
    folder = tmp_path / "run"
    resumed(folder, data)
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in folder.glob("*.npz"):
        with np.load(path, allow_pickle=False) as arrays:
            assert all(arrays[name].dtype != object for name in arrays.files)
    assert len(list(folder.glob("state-0-*"))) == 2
    assert json.loads((folder / "manifest.json").read_text())["identity"]["chains"] == 2


def test_generator_state_goes_out_and_back_in() -> None:
    from understudy.randomness import stream

    generator = stream(1, "a")
    generator.random(7)
    generator.integers(0, 10, 3, dtype=np.int32)
    saved = generator_arrays(generator)
    ahead = generator.random(5), generator.integers(0, 10, 3, dtype=np.int32)
    again = generator_from(saved, stream(2, "b"))
    assert np.array_equal(again.random(5), ahead[0])
    assert np.array_equal(again.integers(0, 10, 3, dtype=np.int32), ahead[1])


def test_interrupted_inside_an_entry_of_the_archive(
    data: us.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where closing the archive would fail: the interruption waits until it is written whole."""
    options: dict[str, Any] = {"seed": 4, "threads": 1}
    settings = us.DPMPM(level_prior=1.0, sampler="collapsed")
    calm = quiet_fit(settings, data, **options)
    opening = zipfile.ZipFile.open
    opened: list[Any] = []

    def interrupted(archive: zipfile.ZipFile, *arguments: Any, **named: Any) -> Any:
        opened.append(opening(archive, *arguments, **named))
        if len(opened) == 12:
            signal.raise_signal(signal.SIGINT)
        return opened[-1]

    with monkeypatch.context() as planted:
        planted.setattr(zipfile.ZipFile, "open", interrupted)
        with pytest.raises(KeyboardInterrupt):
            quiet_fit(settings, data, checkpoint=tmp_path / "run", **options)
    assert len(opened) == 18  # all entries of the segment
    again = quiet_fit(settings, data, checkpoint=tmp_path / "run", **options)
    assert np.array_equal(again.chain_draws.label_probability, calm.chain_draws.label_probability)
