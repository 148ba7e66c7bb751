"""Chains on workers: the same bytes, work done again, and who may not help."""

from __future__ import annotations

import gc
import os
import signal
import warnings
from collections import Counter
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.clusters import QUIET, threads_as_workers
from tests.studies import files_of, plain_page, run_quietly, write_study

import understudy as us
from understudy.cli.options import HelperOptions, helped_by
from understudy.cli.run import run as run_command
from understudy.errors import SamplerError, SettingError, UnderstudyWarning, WorkerError
from understudy.findings.risk import risk_findings
from understudy.findings.utility import Analysis, utility_findings
from understudy.pages import report
from understudy.randomness import stream
from understudy.risk import baselines
from understudy.risk.own_record import from_draws
from understudy.synthesis import set_drawing, workers
from understudy.synthesis.dpmpm.class_counts import SLICE
from understudy.synthesis.dpmpm.costs import cutting_pays
from understudy.synthesis.workers import Workers

distributed = pytest.importorskip("distributed", reason='needs "understudy[dask]"')
pytestmark = [pytest.mark.filterwarnings(warning) for warning in QUIET]
CANARY = "canary county that no disk may see"


def fitted(data: us.Microdata, model: Any, **options: Any) -> Any:
    return model.fit(
        data, **{"chains": 3, "warmup": 60, "draws": 6, "thin": 1, "seed": 4, **options}
    )


def same(first: Any, second: Any) -> bool:
    """Compare all draws, and sets drawn from them, bit by bit."""
    parts = [
        (fit.chain_draws.label_probability, *fit.chain_draws.scalars.values(),
         *fit.chain_draws.sums.values(), fit.synthesize(2, seed=1).codes)
        for fit in (first, second)
    ]  # fmt: skip
    return all(np.array_equal(own, other) for own, other in zip(*parts, strict=True))


@pytest.mark.parametrize(
    ("model", "number"),
    [
        (us.DPMPM(sampler="blocked", level_prior=1.0), 1),
        (us.DPMPM(sampler="blocked", level_prior=1.0), 3),
        (us.DPMPM(sampler="collapsed"), 2),
        (us.BackoffTree(), 2),
        (us.DPAreal(n_clusters=5), 2),
    ],
    ids=["blocked", "blocked by three", "collapsed", "backoff", "areal"],
)
def test_the_same_bytes_as_without(model: Any, number: int) -> None:
    data = us.load_ce_like()
    lengths = {"warmup": 4, "draws": 4} if isinstance(model, us.DPAreal) else {}
    alone = fitted(data, model, **lengths)
    with threads_as_workers(number) as address, us.on_workers(cluster=address):
        assert same(fitted(data, model, **lengths), alone)
    assert workers.current_workers() is None


@pytest.fixture(scope="module")
def many() -> us.Microdata:
    """Invent records with enough combinations for four slices, the last one short."""
    generator, n = stream(7, "many combinations"), 3 * SLICE + 900
    rows = np.unique(generator.integers(0, [60, 50, 5], (6 * n, 3)), axis=0)
    rows = generator.permutation(rows)[:n]
    frame = pl.DataFrame(
        {name: rows[:, column].astype(str) for column, name in enumerate(("age", "job", "county"))}
    )
    return us.read_microdata(frame, synthesize="county")


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_cut_sweep_is_that_of_one_machine(
    many: us.Microdata, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, with level priors given and sampled; chains stay here, so none is sent."""
    from understudy.synthesis.dpmpm import sampler

    monkeypatch.setattr(sampler, "FIRST_SWEEPS", 3)
    for prior in (1.0, "sampled"):
        model = us.DPMPM(sampler="blocked", n_classes=6, level_prior=prior)
        lengths = {"chains": 2, "warmup": 2, "draws": 4}
        alone = fitted(many, model, **lengths)
        with (
            threads_as_workers(number) as address,
            us.on_workers(cluster=address, cut_sweeps=True),
            pytest.MonkeyPatch.context() as patched,
        ):
            patched.setattr("understudy.synthesis.segments._segment_elsewhere", None)
            patched.setattr(sampler, "log_likelihood", None)
            assert same(fitted(many, model, **lengths), alone)


def test_risk_and_tables_are_those_of_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Task by task, whoever does them; the data and the sets are sent once."""
    data, asked, sent = us.load_ce_like(), list[str](), list[str]()
    sets = us.Marginal().fit(data).synthesize(2, seed=1)

    def measured() -> list[Any]:
        inherent = us.inherent_risk(data, "gender", repeats=3, seed=2, sets=2)
        tables = us.table_utility(data, sets, repeats=2, seed=3)
        risk = risk_findings(data, sets, [("gender",), ("income",)], by_knowledge=True)
        analyses = [
            Analysis(f"income ~ {terms}", "linear", None) for terms in ("county", "county + age")
        ]
        utility = utility_findings(data, sets, analyses=analyses, rule="partial", seed=4, repeats=2)
        frames = [
            inherent.measures,
            *(baseline.attacks for baseline in inherent.baselines.values()),
        ]
        return [
            *(frame.write_csv() for frame in (*frames, tables.tables)),
            tables.truth_floor,
            risk,
            utility,
        ]

    def in_order(self: Workers, function: Any, tasks: Any, *shared: Any) -> Any:
        asked.extend([function.__name__] * len(tasks))
        return real(self, function, tasks, *shared)

    def share(self: Workers, value: Any) -> Any:
        sent.append(type(value).__name__)
        return real_share(self, value)

    real, real_share, alone = Workers.in_order, Workers.share, measured()
    monkeypatch.setattr(baselines, "ROWS_OF_TASK", 3 * data.n_records)  # a repeat of two files
    monkeypatch.setattr(Workers, "in_order", in_order)
    monkeypatch.setattr(Workers, "share", share)
    with threads_as_workers(2) as address, us.on_workers(cluster=address):
        assert measured() == alone
    assert Counter(asked) == {"attacked": 12, "in_closed_form": 4, "_measure": 3 * 7,
                              "_deviations": 3 * 7, "_identification": 2,
                              "_regression": 2}  # fmt: skip
    assert sent.count("SyntheticSets") == 1


def test_own_records_are_left_out_as_on_one_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of patterns have generators of their own; what is not simulated does not notice."""
    data, asked, real = us.load_ce_like(), list[str](), Workers.in_order
    model = us.DPMPM(sampler="blocked", level_prior=1.0, class_draw="full")
    fit = fitted(data, model, draws=30)

    def measured() -> tuple[Any, ...]:
        return us.own_record_effect(data, fit, ["gender"], sets=2, seed=5).attacks

    def in_order(self: Workers, function: Any, tasks: Any, *shared: Any) -> Any:
        asked.extend([function.__name__] * len(tasks))
        return real(self, function, tasks, *shared)

    first = [own.random() for own in from_draws._generators(stream(1, "slices"), 3)]
    assert len(set(first)) == 3
    whole = measured()
    monkeypatch.setattr(from_draws, "PATTERNS", 16)  # 40 patterns in three slices
    cut = measured()
    monkeypatch.setattr(Workers, "in_order", in_order)
    with threads_as_workers(2) as address, us.on_workers(cluster=address):
        assert measured() == cut
    assert asked == ["_attack_slice"] * 3
    for alone, other in zip(whole, cut, strict=True):
        simulated = alone.attack in {
            "vote",
            "modal",
            "pooled_modal",
            "match_all_files",
            "match_best",
        }
        tolerance = 1e-9 if not simulated else 3 * (alone.standard_error or 0.0)
        assert other.effect == pytest.approx(alone.effect, abs=tolerance)


def test_sweeps_are_cut_where_that_is_faster(many: us.Microdata) -> None:
    ones = np.ones(5_000_000, dtype=np.int64)
    size = ones.size
    assert cutting_pays(ones, size, 600, 400, chains=4, workers=50)
    assert not cutting_pays(ones, size, 600, 400, chains=4, workers=4)  # each has a chain to sweep
    assert not cutting_pays(ones[:6000], 6000, 600, 400, chains=4, workers=50)
    assert not cutting_pays(ones, size, 600_000, 400, chains=4, workers=50)  # too much to send
    assert not cutting_pays(ones[:200_000], 200_000, 100, 400, chains=4, workers=50)
    assert cutting_pays(ones[:200_000], 10 * 200_000, 100, 400, chains=4, workers=50)
    model = us.DPMPM(sampler="blocked", n_classes=6, level_prior=1.0)
    weights = np.full(many.n_combinations, 0.5)  # sums of weights depend on their order
    lengths: dict[str, Any] = {"chains": 2, "warmup": 1, "draws": 4, "weights": weights}
    alone = fitted(many, model, **lengths)
    with threads_as_workers() as address, us.on_workers(cluster=address, cut_sweeps=True):
        assert same(fitted(many, model, **lengths), alone)


def test_a_run_that_was_stopped_goes_on_with_workers(tmp_path: Path) -> None:
    data, model = us.load_ce_like(), us.DPMPM(sampler="blocked", level_prior=1.0)
    alone = fitted(data, model, warmup=60)

    def stop(_: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(data, model, warmup=60, checkpoint=tmp_path / "run", progress=stop)
    with threads_as_workers() as address, us.on_workers(cluster=address):
        again = fitted(data, model, warmup=60, checkpoint=tmp_path / "run")
    assert same(again, alone)


def test_a_sampler_that_gives_up_elsewhere_says_so_as_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from understudy.synthesis.dpmpm import blocked

    def failing(*arguments: Any) -> Any:
        return real(*arguments)._replace(failed=True)

    real = blocked.step
    monkeypatch.setattr(blocked, "step", failing)
    data, messages = us.load_ce_like(), []
    model = us.DPMPM(sampler="blocked", level_prior=1.0)
    for cluster in (False, True):
        with ExitStack() as opened:
            if cluster:
                address = opened.enter_context(threads_as_workers())
                opened.enter_context(us.on_workers(cluster=address))
            with pytest.raises(SamplerError, match="in sweep 1 of chain 0") as refused:
                fitted(data, model, chains=1)
        messages.append(str(refused.value))
    assert messages[0] == messages[1]


def test_workers_with_other_versions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    other = ["another", *workers.deciding_versions()[1:]]
    with threads_as_workers() as address:
        monkeypatch.setattr(workers, "deciding_versions", lambda: other)
        with (
            pytest.raises(WorkerError, match="Numba, SciPy, Polars, Python another, "),
            us.on_workers(cluster=address),
        ):
            pass
    with pytest.raises(WorkerError, match="with others the results may differ"):
        workers._checked(["an older one"], None, os.getpid)


def test_workers_without_the_package_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = workers.WHAT_WORKERS_ARE.replace('"understudy"', '"no_such_package"')
    monkeypatch.setattr(workers, "WHAT_WORKERS_ARE", asked)
    with (
        threads_as_workers() as address,
        pytest.raises(WorkerError, match="found one with none, "),
        us.on_workers(cluster=address),
    ):
        pass


@pytest.mark.parametrize("share", [{"target": 0.6}, {"spill": 0.7}], ids=["target", "spill"])
def test_workers_that_would_write_memory_to_disk_are_refused(share: dict[str, float]) -> None:
    with (
        threads_as_workers(memory=share) as address,
        pytest.raises(WorkerError, match="no memory to disk"),
        us.on_workers(cluster=address),
    ):
        pass


def test_what_workers_write_to_disk_is_found(tmp_path: Path) -> None:
    """The control of all tests with a canary: what such a worker holds lies on its disk."""
    import dask

    frame = pl.DataFrame({"sex": ["f", "m"] * 20, "county": [CANARY, "a county"] * 20})
    data = us.read_microdata(frame, synthesize="county")
    with (
        dask.config.set({"temporary-directory": str(tmp_path)}),
        threads_as_workers(memory={"target": 1e-9}) as address,
        distributed.Client(address) as client,
    ):
        client.submit(workers._same, data).result()
        files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert any(CANARY.encode() in content for content in files)


def test_what_is_asked_for_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for wrong in ({}, {"workers": 2, "cluster": "tcp://one:1"}):
        with pytest.raises(SettingError, match="a number of workers, or the address"):
            us.on_workers(**wrong).__enter__()  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"ca\.pem, cert\.pem, key\.pem"):
        us.on_workers(cluster="tls://localhost:1", tls=tmp_path).__enter__()
    monkeypatch.setattr(workers, "SECONDS_TO_ANSWER", 1)
    for address in ("tcp://127.0.0.1:9", "tls://127.0.0.1:9"):  # the latter lacks certificates
        before = clients()
        with pytest.raises(WorkerError, match="a Dask scheduler at") as refused:
            us.on_workers(cluster=address).__enter__()
        made = [client for client in clients() if client not in before]
        assert [client.status for client in made] == ["closed"]  # or it blocks the next one
        del refused  # which kept it


def test_traffic_without_tls_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything travels; there is no scheduler at either address."""
    monkeypatch.setattr(workers, "SECONDS_TO_ANSWER", 1)
    for address, warned in (("tcp://127.0.0.1:9", True), ("tls://127.0.0.1:9", False)):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", UnderstudyWarning)
            with pytest.raises(WorkerError, match="a Dask scheduler at"):
                us.on_workers(cluster=address).__enter__()
        assert any("unencrypted" in str(warning.message) for warning in said) == warned


def clients() -> list[Any]:
    """List the clients that are in memory, closed or not."""
    return [client for client in gc.get_objects() if issubclass(type(client), distributed.Client)]


def test_an_empty_cluster_is_refused() -> None:
    with (
        threads_as_workers(0) as address,
        pytest.raises(WorkerError, match="at least one worker"),
        us.on_workers(cluster=address),
    ):
        pass


def kill_one_at_first_report(killed: list[int]) -> Any:
    """Kill a worker's process when the first segment is there, and again never."""

    def tell(_: Any) -> None:
        helping = workers.current_workers()
        if not killed and helping is not None:
            processes = helping.client.run(os.getpid)
            killed.append(next(iter(processes.values())))
            os.kill(killed[0], signal.SIGKILL)

    return tell


@pytest.mark.slow
def test_processes_one_of_which_is_killed(tmp_path: Path) -> None:
    """The same bytes when a process dies, behind TLS, and nothing is left on disk."""
    towns = [CANARY, "a county", "another county"] * 40
    frame = pl.DataFrame({"sex": ["f", "m"] * 60, "county": towns})
    data = us.read_microdata(frame, synthesize="county")
    model, killed = us.DPMPM(sampler="blocked", level_prior=1.0), list[int]()
    alone = fitted(data, model, warmup=200)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TMPDIR", str(tmp_path))
        patched.setattr("tempfile.tempdir", str(tmp_path))
        with us.on_workers(2):
            helping = workers.current_workers()
            assert helping is not None
            assert helping.client.scheduler.address.startswith("tls://127.0.0.1")
            assert helping.number == 2
            there = fitted(data, model, warmup=200, progress=kill_one_at_first_report(killed))
            files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert same(there, alone)
    assert len(killed) == 1
    assert not any(CANARY.encode() in content for content in files)
    assert not list(tmp_path.iterdir())


def test_a_study_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its sets of 40 records are drawn and written in three slices."""
    monkeypatch.setattr(report, "page", plain_page)
    monkeypatch.setattr(set_drawing, "RECORDS", 15)
    plan = write_study(tmp_path)
    run_quietly(plan, tmp_path / "alone")
    sets = sorted((tmp_path / "alone").rglob("sets/dpmpm/*.parquet"))
    assert [pq.ParquetFile(path).num_row_groups for path in sets] == [3, 3]
    with threads_as_workers(2) as address:
        run_command(plan, out=tmp_path / "helped", helpers=HelperOptions(cluster=address))
    assert files_of(tmp_path / "helped") == files_of(tmp_path / "alone")


def test_options_of_the_command_line_are_those_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []

    def recorded(*arguments: Any, **options: Any) -> Any:
        asked.append((arguments, options))
        return nullcontext()

    monkeypatch.setattr(workers, "on_workers", recorded)
    given = ({"workers": 3}, {"cluster": "tls://one:1", "tls": tmp_path})
    for options in given:
        with helped_by(HelperOptions(**options)):
            pass
    assert asked == [
        ((3,), {"cluster": None, "tls": None}),
        ((None,), {"cluster": "tls://one:1", "tls": tmp_path}),
    ]


def test_certificates_without_a_cluster_are_refused(tmp_path: Path) -> None:
    helpers = HelperOptions(tls=tmp_path)
    with pytest.raises(SettingError, match="beside certificates"), helped_by(helpers):
        pass
