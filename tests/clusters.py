"""Clusters for tests: threads of this process, which start at once, or processes behind TLS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import understudy as us
from understudy.synthesis.workers import Workers, current_workers

__all__ = [
    "QUIET",
    "SECONDS_TO_START",
    "ProcessCluster",
    "kill_a_worker",
    "kill_after_first_answer",
    "make_certificates",
    "on_cluster",
    "processes_behind_tls",
    "quiet",
    "threads_as_workers",
]

QUIET = (  # what Dask and short chains warn of
    "ignore::understudy.errors.UnderstudyWarning",
    "ignore:.*:DeprecationWarning",
    "ignore:.*:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)
NEVER_TO_DISK = {  # as docs/scale.md says how a cluster's workers are started
    "DASK_DISTRIBUTED__WORKER__MEMORY__TARGET": "False",
    "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL": "False",
}
SECONDS_TO_START = 600.0  # bounds a hang, whatever else the machine does


def quiet(test: Any) -> Any:
    """Let a test use a cluster although warnings are errors."""
    for warning in QUIET:
        test = pytest.mark.filterwarnings(warning)(test)
    return test


@contextmanager
def threads_as_workers(number: int = 1, *, memory: dict[str, Any] | None = None) -> Iterator[str]:
    """Start a cluster inside of this process, and give its address."""
    distributed = pytest.importorskip("distributed", reason='needs "understudy[dask]"')
    import dask

    shares = {"target": False, "spill": False} | (memory or {})
    with (
        dask.config.set({f"distributed.worker.memory.{key}": shares[key] for key in shares}),
        distributed.LocalCluster(
            n_workers=number, processes=False, threads_per_worker=1, dashboard_address=None
        ) as cluster,
    ):
        yield cluster.scheduler_address


def make_certificates(folder: Path) -> Path:
    """Make an authority and a certificate signed by it, for an hour, in a folder of their own."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    def named(name: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])

    def signed(subject: str, key: Any, by: Any, *, authority: bool) -> bytes:
        now = datetime.now(UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(named(subject))
            .issuer_name(named("an authority of tests"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=5))
            .not_valid_after(now + timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        )
        return builder.sign(by, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    folder.mkdir(mode=0o700)
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.PKCS8
    (folder / "key.pem").write_bytes(own.private_bytes(serialization.Encoding.PEM, form, plain))
    (folder / "ca.pem").write_bytes(
        signed("an authority of tests", authority, authority, authority=True)
    )
    (folder / "cert.pem").write_bytes(signed("a test", own, authority, authority=False))
    return folder


class ProcessCluster(NamedTuple):
    """A scheduler and workers, each a process of its own."""

    address: str
    tls: Path
    scheduler: subprocess.Popen[bytes]
    scratch: Path  # where workers may write


@contextmanager
def processes_behind_tls(
    folder: Path, number: int = 2, first: dict[str, str] | None = None
) -> Iterator[ProcessCluster]:
    """Start a scheduler and workers by Dask's own commands, with certificates made for them.

    `first` may have code that the "scheduler" or each "worker" runs before anything else.
    """
    distributed = pytest.importorskip("distributed", reason='needs "understudy[dask]"')
    tls, file, scratch = make_certificates(folder / "tls"), folder / "scheduler", folder / "scratch"
    scratch.mkdir()
    secured = ["--tls-ca-file", str(tls / "ca.pem"), "--tls-cert", str(tls / "cert.pem")]
    secured += ["--tls-key", str(tls / "key.pem"), "--scheduler-file", str(file), "--no-dashboard"]
    with ExitStack() as opened:

        def start(kind: str, *options: str) -> subprocess.Popen[bytes]:
            (folder / f"{kind}_first.py").write_text((first or {}).get(kind, ""), "utf-8")
            preload = ("--preload", str(folder / f"{kind}_first.py"))
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", kind, *options, *preload, *secured],
                env={**os.environ, **NEVER_TO_DISK},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=folder,
            )
            opened.callback(_end, [process])
            return process

        scheduler = start("scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", "0")
        options = ("--nthreads", "1", "--local-directory", str(scratch), "--nworkers", str(number))
        start("worker", *options)
        until = time.monotonic() + SECONDS_TO_START
        while not (written := file.read_bytes() if file.exists() else b"").endswith(b"\n}"):
            assert time.monotonic() < until, "the scheduler did not start"
            time.sleep(0.05)  # it may be there and not yet written
        address = json.loads(written)["address"]
        security = distributed.Security(
            tls_ca_file=str(tls / "ca.pem"),
            tls_client_cert=str(tls / "cert.pem"),
            tls_client_key=str(tls / "key.pem"),
            require_encryption=True,
        )
        with distributed.Client(address, security=security) as client:
            client.wait_for_workers(number, timeout=SECONDS_TO_START)
        yield ProcessCluster(address, tls, scheduler, scratch)


def on_cluster(cluster: ProcessCluster, **options: Any) -> Any:
    """Compute on this cluster, inside of a block."""
    return us.on_workers(cluster=cluster.address, tls=cluster.tls, **options)


def kill_a_worker() -> None:
    """Kill one of the workers that are computed on."""
    helping = current_workers()
    assert helping is not None
    os.kill(next(iter(helping.client.run(os.getpid).values())), signal.SIGKILL)


def kill_after_first_answer(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Kill a worker once the first task is answered; give the tasks as they are answered."""
    real, answered = Workers.as_finished, list[int]()

    def as_finished(self: Workers, function: Any, tasks: Any) -> Any:
        for at, answer in real(self, function, tasks):
            if not answered:
                kill_a_worker()
            answered.append(at)
            yield at, answer

    monkeypatch.setattr(Workers, "as_finished", as_finished)
    return answered


def _end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
