"""Rows 64 to 71, 76 and 80 to 87, as they touch a fit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import understudy as us
from tests.bad_inputs.cases import SECRET, covers
from tests.faults.harness import Fault, Nursery
from tests.faults.test_fits import files_of, tiny_data
from understudy.errors import (
    CheckpointError,
    CheckpointWarning,
    ConvergenceWarning,
    InputError,
    LevelError,
    SamplerError,
    SettingError,
    UnderstudyError,
    UnderstudyWarning,
)
from understudy.randomness import stream
from understudy.synthesis.dpmpm import sampler as samplers

SHORT: dict[str, Any] = {"chains": 2, "warmup": 4, "draws": 8, "thin": 1, "seed": 12}
TOO_EARLY = "ignore:.*:understudy.errors.ConvergenceWarning"


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    """Give twelve records."""
    return tiny_data()


def fitted(data: us.Microdata, settings: us.DPMPM | None = None, **options: Any) -> Any:
    """Fit for a moment, without the warning that this was too short."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return (settings or us.DPMPM()).fit(data, **{**SHORT, **options})


def drawn(fit: Any) -> bytes:
    """Give what tells two fits apart."""
    parts = [fit.chain_draws.label_probability, *fit.chain_draws.scalars.values()]
    return b"".join(part.tobytes() for part in parts)


def refused(kind: type[UnderstudyError], says: str, call: Any) -> str:
    """Check that a call is refused with a message of three parts that shows nothing secret."""
    with pytest.raises(kind, match=says) as caught:
        call()
    text = str(caught.value)
    assert text.startswith("Expected ")
    assert "; found " in text
    assert " What to do: " in text
    assert SECRET not in text
    return text


@covers(64, 65)
@pytest.mark.parametrize("m", [0, -1, 17, 10**9, 2.0, "3", None, True])
def test_numbers_of_sets(data: us.Microdata, m: Any) -> None:
    fit = fitted(data)  # 2 chains of 8 draws
    refused(SettingError, "from 1 to 16", lambda: fit.synthesize(m=m, seed=1))


@covers(64)
@pytest.mark.filterwarnings(TOO_EARLY)
def test_one_set_can_be_drawn_and_not_combined(data: us.Microdata) -> None:
    assert len(fitted(data).synthesize(m=1, seed=1)) == 1
    refused(InputError, "two|2", lambda: us.combine_estimates([[1.0]], [[0.5]]))


@covers(66)
@pytest.mark.parametrize("n_classes", [0, -1, 2.5, True, None])
def test_numbers_of_classes(n_classes: Any) -> None:
    refused(SettingError, "n_classes", lambda: us.DPMPM(n_classes=n_classes))


@covers(66)
@pytest.mark.parametrize(("n_classes", "says"), [(1, "independent"), (13, "more classes")])
def test_one_class_and_more_classes_than_records(
    data: us.Microdata, n_classes: int, says: str
) -> None:
    settings = us.DPMPM(sampler="blocked", n_classes=n_classes)
    with pytest.warns(UnderstudyWarning, match=says):
        fitted(data, settings)


@covers(67, 68, 69)
@pytest.mark.parametrize(
    "options",
    [
        {"draws": 0},
        {"draws": -5},
        {"warmup": -1},
        {"warmup": 2.5},
        {"thin": 0},
        {"thin": -1},
        {"thin": 1.5},
        {"chains": 0},
        {"chains": -1},
        {"chains": True},
        {"threads": 0},
    ],
)
def test_lengths_of_a_run(data: us.Microdata, options: dict[str, Any]) -> None:
    refused(SettingError, next(iter(options)), lambda: fitted(data, **options))


@covers(67, 68)
def test_any_length_gives_the_draws_that_were_asked_for(data: us.Microdata) -> None:
    """Draws are counted after the warm-up and after thinning: nothing can be mis-sized."""
    for warmup, draws, thin in ((90, 7, 3), (0, 5, 1), (1, 53, 2), (13, 4, 101)):
        fit = fitted(data, warmup=warmup, draws=draws, thin=thin)
        assert fit.chain_draws.label_probability.shape[:2] == (2, draws)
        assert all(values.shape == (2, draws) for values in fit.chain_draws.scalars.values())


@covers(69)
def test_one_chain_never_counts_as_converged(data: us.Microdata) -> None:
    with pytest.warns(ConvergenceWarning, match="one chain has no R-hat"):
        fit = us.DPMPM().fit(data, **{**SHORT, "chains": 1})
    assert not fit.converged
    assert fit.diagnostics()["rhat"].null_count() == fit.diagnostics().height


@covers(70)
@pytest.mark.parametrize("seed", [-1, 1.0, True, 2**128, "7"])
def test_seeds_of_a_fit_and_of_its_sets(data: us.Microdata, seed: Any) -> None:
    refused(SettingError, "seed", lambda: fitted(data, seed=seed))
    refused(SettingError, "seed", lambda: fitted(data).synthesize(m=1, seed=seed))


@covers(71)
@pytest.mark.parametrize(
    "options",
    [
        {"concentration_prior": (0, 1)},
        {"concentration_prior": (1, -1)},
        {"concentration_prior": (float("nan"), 1)},
        {"concentration_prior": (1, float("inf"))},
        {"concentration_prior": (1, 2, 3)},
        {"concentration_prior": ("a", 1)},
        {"level_prior": 0},
        {"level_prior": -1.0},
        {"level_prior": float("nan")},
        {"level_prior": {"label": [1.0, 0.0]}},
        {"level_prior": {"label": float("inf")}},
    ],
)
def test_priors(options: dict[str, Any]) -> None:
    refused(SettingError, next(iter(options)), lambda: us.DPMPM(**options))


@covers(71)
def test_priors_that_do_not_fit_the_data(data: us.Microdata) -> None:
    short = us.DPMPM(level_prior={"label": [1.0]})
    refused(SettingError, "each of 2 levels", lambda: fitted(data, short))
    unknown = us.DPMPM(level_prior={"lable": 1.0})
    refused(SettingError, "lable", lambda: fitted(data, unknown))


def test_a_label_with_one_level(data: us.Microdata) -> None:
    label = replace(data.variable("label"), levels=("x",))
    variables = tuple(
        label if variable.name == "label" else variable for variable in data.variables
    )
    alone = replace(data, variables=variables)
    refused(LevelError, "nothing to synthesize", lambda: fitted(alone))


@covers(76)
@pytest.mark.parametrize("sampler", ["collapsed", "blocked"])
def test_weights_that_all_vanish(
    data: us.Microdata, sampler: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says in which sweep of which chain, and the state is kept, inside."""
    kind = samplers.CollapsedChain if sampler == "collapsed" else samplers.BlockedChain
    real = kind.advance
    calls = [0]

    def vanish(self: Any, generator: Any, state: Any, n_sweeps: int) -> Any:
        calls[0] += 1
        if calls[0] == (4 if sampler == "collapsed" else 2):  # the blocked one warms up otherwise
            many = 200  # variables of a hundred levels each: 1e-400 is rounded to zero
            problem = self.problem._replace(
                levels=np.arange(0, 100 * many, 100, dtype=np.int32)[None, :],
                counts=np.array([1]),
                level_start=np.arange(0, 100 * many + 1, 100),
                prior=np.ones(100 * many),
                prior_sum=np.full(many, 100.0),
                holes=np.full(many, -1),
            )
            other = kind(problem, self.cells, self.concentration_prior)
            return real(other, generator, other.start(generator, 0), n_sweeps)  # type: ignore[arg-type]
        return real(self, generator, state, n_sweeps)

    monkeypatch.setattr(kind, "advance", vanish)
    settings = us.DPMPM(sampler=sampler, n_classes=3, level_prior=1.0)
    run = {"chains": 1, "warmup": 10, "draws": 60, "thin": 3}
    # calls: sweeps 1 to 10 warm up; none more before the first draw; 11 to 13 make it; 14 fails
    text = refused(
        SamplerError,
        "in sweep 14 of chain 0",
        lambda: fitted(data, settings, **run, checkpoint=tmp_path / "run"),
    )
    assert '"failed-0.npz"' in text
    with np.load(tmp_path / "run" / "failed-0.npz", allow_pickle=False) as kept:
        assert "state concentration" in kept.files
        assert "generator_counter" in kept.files
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700
    calls[0] = 0
    assert "failed-0" not in refused(
        SamplerError, "in sweep 14 of chain 0", lambda: fitted(data, settings, **run)
    )
    monkeypatch.undo()
    again = fitted(data, settings, **run, checkpoint=tmp_path / "run")
    assert drawn(again) == drawn(fitted(data, settings, **run))
    assert not (tmp_path / "run" / "failed-0.npz").exists()


@covers(80)
def test_a_constant_quantity_has_no_rhat(data: us.Microdata) -> None:
    settings = us.DPMPM(sampler="blocked", n_classes=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        table = fitted(data, settings).diagnostics()
    row = next(row for row in table.iter_rows(named=True) if row["quantity"] == "occupied_classes")
    assert row["rhat"] is None
    assert row["converged"]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    """Give a warmed-up process to fork from."""
    with Nursery("tests.faults.test_fits:job", warm="tests.faults.test_fits:warm") as made:
        yield made


@covers(81)
def test_disk_full_at_a_checkpoint(nursery: Nursery, tmp_path: Path) -> None:
    """What was saved before is whole; the message says how many bytes are needed."""
    calm = nursery.run({"folder": str(tmp_path / "calm")})
    struck = {"folder": str(tmp_path / "struck")}
    last = max(number for number, call in enumerate(calm.calls) if call == "write")
    ended = nursery.run(struck, fault=Fault(last, "full"))
    assert ended.status == "raised"
    assert "Expected space for " in ended.error
    assert "bytes" in ended.error
    before = files_of(tmp_path / "struck")
    assert json.loads((tmp_path / "struck" / "manifest.json").read_text())["chains"]
    again = nursery.run(struck)
    assert again.value == calm.value
    assert all(again.value[name] == before[name] for name in before if name.startswith("draws"))


@covers(82)
def test_folders_that_cannot_be_written(
    data: us.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    refused(CheckpointError, "none can be made", lambda: fitted(data, checkpoint=nowhere / "run"))
    real = os.open

    def read_only(path: Any, flags: int, *more: Any, **options: Any) -> int:
        if flags & (os.O_RDWR | os.O_WRONLY):
            raise OSError(30, "Read-only file system")
        return real(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", read_only)
    text = refused(CheckpointError, "Read-only", lambda: fitted(data, checkpoint=tmp_path / "run"))
    assert "change its permissions" in text


@covers(83)
@pytest.mark.parametrize(
    "numbers", [[signal.SIGKILL], [signal.SIGTERM], [signal.SIGINT, signal.SIGINT]], ids=str
)
def test_signals(nursery: Nursery, tmp_path: Path, numbers: list[int]) -> None:
    """A run that was ended by a signal, or interrupted twice, goes on to the same bytes."""
    calm = nursery.run({"folder": str(tmp_path / "calm")})
    for instant in range(6):
        struck = {"folder": str(tmp_path / f"struck-{instant}")}
        first = calm.seconds * (instant + 1) / 8
        signals = [(first + 0.003 * index, number) for index, number in enumerate(numbers)]
        ended = nursery.run(struck, signals=signals)
        assert ended.status in {"killed", "raised", "done"}
        if ended.status == "raised":
            assert ended.error.startswith("KeyboardInterrupt")
        assert nursery.run(struck).value == calm.value


@covers(83)
def test_clock_jumps(data: us.Microdata, monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock on the wall goes back and forth: nothing depends on it."""
    straight = drawn(fitted(data))
    times = iter([1e9, 2e9, 0.0, 5.0] * 1000)
    monkeypatch.setattr(time, "time", lambda: next(times))
    left = []
    again = fitted(data, progress=lambda now: left.append(now.seconds_left))
    assert drawn(again) == straight
    assert min(left) >= 0.0


HOLD = """
import fcntl, os, sys
lock = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(lock, fcntl.LOCK_EX)
os.ftruncate(lock, 0)
os.write(lock, f"process {os.getpid()} on elsewhere".encode())
print("held", flush=True)
sys.stdin.read()
"""


@covers(84)
def test_two_processes_and_one_folder(data: us.Microdata, tmp_path: Path) -> None:
    """The second is refused and told who holds it; the lock of a dead process is no lock."""
    straight = drawn(fitted(data, checkpoint=tmp_path / "run"))
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "run" / "lock")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        text = refused(
            CheckpointError,
            f"process {other.pid} on elsewhere",
            lambda: fitted(data, checkpoint=tmp_path / "run"),
        )
        assert "has died" in text
        other.kill()
    assert drawn(fitted(data, checkpoint=tmp_path / "run")) == straight


@covers(85)
def test_other_data_options_and_versions(
    data: us.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All differences are listed at once; nothing in the folder is touched."""
    fitted(data, checkpoint=tmp_path / "run")
    before = files_of(tmp_path / "run")
    other = replace(data, counts=data.counts[::-1].copy())
    monkeypatch.setattr(us, "__version__", "9.9")
    settings = us.DPMPM(level_prior=2.0, n_classes=7)
    text = refused(
        CheckpointError,
        "differs in",
        lambda: fitted(other, settings, checkpoint=tmp_path / "run", thin=2, seed=13),
    )
    for named in ("data", "level_prior", "n_classes", "thin", "seed", "understudy"):
        assert f'"{named}"' in text
    assert data.fingerprint() not in text
    assert files_of(tmp_path / "run") == before


@covers(86)
@pytest.mark.parametrize("kind", ["draws-0", "state-1", "manifest"])
@pytest.mark.parametrize("damage", ["truncated", "empty", "foreign"])
def test_damaged_saved_runs(data: us.Microdata, tmp_path: Path, kind: str, damage: str) -> None:
    """A damaged part is named and computed again; a damaged manifest is refused."""
    straight = drawn(fitted(data, checkpoint=tmp_path / "run"))
    path = sorted((tmp_path / "run").glob(f"{kind}*"))[-1]
    content = path.read_bytes()
    path.write_bytes(
        {"truncated": content[:-1], "empty": b"", "foreign": b"PK\x03\x04" + b"?" * 99}[damage]
    )
    if kind == "manifest":
        refused(CheckpointError, "manifest", lambda: fitted(data, checkpoint=tmp_path / "run"))
        return
    with pytest.warns(CheckpointWarning, match="damaged"):
        again = fitted(data, checkpoint=tmp_path / "run")
    assert drawn(again) == straight


@covers(86)
@pytest.mark.parametrize("kind", ["draws-0", "state-0", "manifest"])
def test_flipped_bits(data: us.Microdata, tmp_path: Path, kind: str) -> None:
    """Twelve flipped bits, one after another: refused, or the same bytes. Never other draws."""
    generator = stream(91, "bits", kind)
    straight = drawn(fitted(data, checkpoint=tmp_path / "run"))
    path = sorted((tmp_path / "run").glob(f"{kind}*"))[-1]
    for _ in range(12):
        good = path.read_bytes()
        offset, bit = int(generator.integers(len(good))), int(generator.integers(8))
        path.write_bytes(good[:offset] + bytes([good[offset] ^ (1 << bit)]) + good[offset + 1 :])
        if kind == "manifest":
            refused(
                CheckpointError,
                "manifest",
                lambda: fitted(data, checkpoint=tmp_path / "run", seed=None),
            )
            path.write_bytes(good)
            continue
        with pytest.warns(CheckpointWarning, match="damaged"):
            again = fitted(data, checkpoint=tmp_path / "run", seed=None)
        assert drawn(again) == straight


@covers(86)
def test_manifest_of_another_program(data: us.Microdata, tmp_path: Path) -> None:
    for content in ("[1, 2]", '{"format": 1}', '{"name": "x", "version": 3}', "\x00\x01"):
        (tmp_path / "manifest.json").write_text(content)
        refused(
            CheckpointError, "written by something else", lambda: fitted(data, checkpoint=tmp_path)
        )


@covers(87)
def test_folder_with_other_things_in_it(data: us.Microdata, tmp_path: Path) -> None:
    (tmp_path / f"{SECRET}.csv").write_text("a release")
    refused(CheckpointError, "1 other entries", lambda: fitted(data, checkpoint=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [f"{SECRET}.csv"]
