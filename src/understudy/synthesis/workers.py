"""Work on other processes and machines, by Dask: which workers may help, and what they get.

Inside ``with on_workers(...)`` workers compute segments of chains, slices of the blocked sampler's
sweeps, points of a frontier, fits of a reproduction, and what `spreading.in_order` is asked for.
Each is a function of what it is given, so it comes out the same wherever it is computed, and is
computed again elsewhere if a worker dies. What is finished is saved where the study runs.

Workers hold confidential data in memory. So those that would write memory to their disks are
refused, and local ones are reached by TLS with keys that exist in memory only. Workers with other
versions of what decides the draws are refused too, when they are first seen and in every task, so
that one which joins later changes nothing.
"""

from __future__ import annotations

import os
import sys
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Executor, Future, wait
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from understudy.checks import check_whole
from understudy.errors import (
    SettingError,
    UnderstudyError,
    UnderstudyWarning,
    WorkerError,
    quoted,
    warn_user,
)
from understudy.memory import given_memory, memory_limit
from understudy.spreading import spread_by

__all__ = ["Workers", "current_workers", "deciding_versions", "helped_by_client", "on_workers"]

MOST_WORKERS = 1024
CERTIFICATES = ("ca.pem", "cert.pem", "key.pem")
SECONDS_TO_ANSWER = 30
TASKS_AHEAD = 2  # for each worker, before the first answer is taken
ATTEMPTS = 3  # at a task that fails, after the first
NEVER_TO_DISK = {"target": False, "spill": False, "pause": False}  # shares of workers' memory
# Sent as text, since a worker without the package could not read a function of ours.
WHAT_WORKERS_ARE = """[
    [getattr(__import__("importlib").import_module(name), "__version__", "")
     if __import__("importlib.util").util.find_spec(name) else "none"
     for name in ("understudy", "numpy", "numba", "scipy", "polars")]
    + [".".join(map(str, __import__("sys").version_info[:2]))],
    [__import__("dask").config.get("distributed.worker.memory." + key, None)
     for key in ("target", "spill")],
]"""


def deciding_versions() -> list[str]:
    """Give the versions that decide the results: of this package, its libraries and Python."""
    import numba
    import numpy as np
    import polars as pl
    import scipy

    import understudy

    python = ".".join(map(str, sys.version_info[:2]))
    libraries = [library.__version__ for library in (np, numba, scipy, pl)]
    return [understudy.__version__, *libraries, python]


@dataclass(frozen=True, eq=False)
class Workers:
    """Workers that were looked at, and how to give them work.

    Attributes
    ----------
    client : distributed.Client
        The connection.
    executor : Executor
        Takes functions; what it is given is computed again if a worker dies.
    cut_sweeps : bool, optional
        Whether sweeps are cut into slices; None leaves it to their size.
    """

    client: Any
    executor: Executor
    cut_sweeps: bool | None = None
    _shared: dict[int, tuple[weakref.ref[Any], Any]] = field(default_factory=dict)

    @property
    def number(self) -> int:
        """Count the threads of the workers that are there now: so many tasks run at a time."""
        there = self.client.scheduler_info(n_workers=-1)["workers"].values()
        return sum(worker["nthreads"] for worker in there)

    def share(self, value: Any) -> Any:
        """Make a value that many tasks take; the scheduler keeps it, so it outlives workers."""
        with warnings.catch_warnings(), _noticing_loss():
            warnings.simplefilter("ignore", UserWarning)  # it is large, and sent once
            return self.client.submit(_same, value, pure=False)

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Have a function computed; arguments may be shared values."""
        with _noticing_loss():
            setting = (deciding_versions(), given_memory())
            return self.executor.submit(_checked, *setting, work, *arguments)

    def begin(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Have a function computed, whose result other tasks may take without it coming here."""
        with _noticing_loss():
            setting = (deciding_versions(), given_memory())
            return self.client.submit(
                _checked, *setting, work, *arguments, pure=False, retries=ATTEMPTS
            )

    def as_finished(
        self, function: Callable[..., Any], tasks: Sequence[Sequence[Any]]
    ) -> Iterator[tuple[int, Any]]:
        """Do tasks on workers, and give their numbers and answers as they come."""
        running = {self.submit(_done, function, *task): at for at, task in enumerate(tasks)}
        try:
            while running:
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in sorted(done, key=lambda future: running[future]):
                    yield running.pop(future), self._answer(future)
        finally:
            for future in running:
                future.cancel()

    def result(self, future: Future[Any]) -> Any:
        """Wait for what a worker computes; a scheduler that is gone is an error of its own."""
        with _noticing_loss():
            return future.result()

    def in_order(
        self, function: Callable[..., Any], tasks: Sequence[Any], /, *shared: Any
    ) -> Iterator[Any]:
        """Do tasks on workers, a few ahead, and give the answers in the order of the tasks."""
        waiting = deque[Future[Any]]()
        ahead = TASKS_AHEAD * max(1, self.number)
        sent = [self._sent(value) for value in shared]
        try:
            for task in tasks:
                if len(waiting) >= ahead:
                    yield self._answer(waiting.popleft())
                waiting.append(self.submit(_done, function, task, *sent))
            while waiting:
                yield self._answer(waiting.popleft())
        finally:
            for future in waiting:
                future.cancel()

    def _sent(self, value: Any) -> Any:
        """Share a value, once as long as it is there."""
        key = id(value)

        def forget(_: object) -> None:
            self._shared.pop(key, None)

        if key not in self._shared:
            self._shared[key] = weakref.ref(value, forget), self.share(value)
        return self._shared[key][1]

    def _answer(self, future: Future[Any]) -> Any:
        answer, problem = self.result(future)
        if problem is not None:
            raise problem
        return answer


def _done(function: Callable[..., Any], *arguments: Any) -> tuple[Any, UnderstudyError | None]:
    """Do a task on a worker; an error of ours travels as an answer, since it is no fault there."""
    try:
        return function(*arguments), None
    except UnderstudyError as problem:
        return None, problem.with_traceback(None)


def _same(value: Any) -> Any:
    return value


def _checked(
    versions: list[str], memory: int | None, work: Callable[..., Any], *arguments: Any
) -> Any:
    """Compute on a worker, if it has the same versions; it may have joined after we looked."""
    if deciding_versions() != versions:
        raise _other_versions(versions, deciding_versions())
    with memory_limit(memory):
        return work(*arguments)


def _other_versions(ours: list[str], theirs: list[str]) -> WorkerError:
    return WorkerError(
        expected="a scheduler and workers with understudy, NumPy, Numba, SciPy, Polars, Python "
        f"{', '.join(ours)}",
        came=f"one with {', '.join(theirs)}",
        do="install the same versions there: with others the results may differ",
    )


@contextmanager
def _noticing_loss() -> Iterator[None]:
    """Turn what Dask raises when its scheduler is gone into an error of ours."""
    try:
        yield
    except (CancelledError, OSError) as problem:
        raise _lost(problem) from None
    except Exception as problem:
        if type(problem).__module__.split(".")[0] in {"distributed", "tornado"}:
            raise _lost(problem) from None
        raise


def _lost(problem: BaseException) -> WorkerError:
    return WorkerError(
        expected="workers that finish their work",
        came=f"{type(problem).__name__}: the scheduler, or one worker after another, is gone",
        do="start them again and give the same command, which goes on from what was saved",
    )


_CURRENT: ContextVar[Workers | None] = ContextVar("workers", default=None)


def current_workers() -> Workers | None:
    """Give the workers of the ``with`` block that this runs in; None outside of any."""
    return _CURRENT.get()


@contextmanager
def on_workers(
    workers: int | None = None,
    *,
    cluster: str | None = None,
    tls: str | os.PathLike[str] | None = None,
    cut_sweeps: bool | None = None,
) -> Iterator[None]:
    """Compute on workers, inside of this block (needs the extra ``understudy[dask]``).

    What comes out does not depend on it, byte for byte, whatever the number of workers.

    Parameters
    ----------
    workers : int, optional
        So many processes on this machine.
    cluster : str, optional
        Address of a Dask scheduler, such as ``tls://scheduler:8786``, instead. Start its workers
        with ``DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False`` and ``..._SPILL=False``: workers
        that would write confidential data to their disks are refused.
    tls : path, optional
        A folder with ``ca.pem``, ``cert.pem`` and ``key.pem`` for the cluster.
    cut_sweeps : bool, optional
        Whether all workers take part in every sweep of the DPMPM's blocked sampler, each with some
        of the combinations, instead of each sweeping chains of its own. Left out: where it is
        likely to be faster.

    Examples
    --------
    ``with us.on_workers(4): us.Study("plan.toml").run("out")``
    """
    if (workers is None) == (cluster is None):
        raise SettingError(
            expected="a number of workers, or the address of a cluster",
            came="both" if workers is not None else "neither",
            do="give one of them",
        )
    with ExitStack() as opened:
        if cluster is None:
            client = opened.enter_context(_local(workers))
        else:
            client = opened.enter_context(_connected(cluster, tls))
        opened.enter_context(helped_by_client(client, cut_sweeps))
        yield


@contextmanager
def helped_by_client(client: Any, cut_sweeps: bool | None = None) -> Iterator[Workers]:
    """Look at the workers that a client is connected to, and compute on them inside the block."""
    _check_workers(client)
    executor = client.get_executor(pure=False, retries=ATTEMPTS)
    helping = Workers(client, executor, cut_sweeps)
    token = _CURRENT.set(helping)
    try:
        with spread_by(helping.in_order):
            yield helping
    finally:
        _CURRENT.reset(token)


def _distributed() -> Any:
    """Import Dask, or say how to get it."""
    try:
        import distributed
    except ImportError:
        raise SettingError(
            expected="Dask, which workers need",
            came="no package distributed",
            do='install "understudy[dask]"',
        ) from None
    return distributed


@contextmanager
def _local(workers: int | None) -> Iterator[Any]:
    """Start processes on this machine, which nobody else can connect to."""
    number = check_whole("workers", workers, 1, MOST_WORKERS)
    distributed = _distributed()
    import dask

    closed: dict[str, Any] = {"distributed.worker.http.routes": []}  # no page of a worker
    closed |= {f"distributed.worker.memory.{key}": value for key, value in NEVER_TO_DISK.items()}
    with (
        TemporaryDirectory(prefix="understudy-workers-") as folder,
        dask.config.set({**closed, "temporary-directory": folder}),
        distributed.LocalCluster(
            n_workers=number,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            memory_limit=0,
            dashboard_address=None,
            local_directory=folder,
            security=distributed.Security.temporary(),
            silence_logs="CRITICAL",
            env={"PYTHONWARNINGS": "ignore::UserWarning"},  # ours come back with results
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def _connected(address: str, tls: str | os.PathLike[str] | None) -> Iterator[Any]:
    """Connect to a cluster, with the user's certificates where there are any."""
    distributed = _distributed()
    security = None
    if tls is not None:
        paths = [Path(tls) / name for name in CERTIFICATES]
        if not all(path.is_file() for path in paths):
            raise SettingError(
                expected=f"a folder with {', '.join(CERTIFICATES)}",
                came="a folder in which they are not all to be found",
                do="put the certificate of the authority, your certificate and its key there",
            )
        authority, certificate, key = map(str, paths)
        security = distributed.Security(
            tls_ca_file=authority,
            tls_client_cert=certificate,
            tls_client_key=key,
            require_encryption=True,
        )
    elif not address.startswith(("inproc:", "tls:")):
        warn_user(
            "confidential data will travel to the workers unencrypted: use TLS (tls=, --tls)",
            UnderstudyWarning,
        )
    try:
        client = _client(distributed, address, security)
    except (OSError, TypeError, ValueError) as problem:  # TypeError: TLS without certificates
        raise WorkerError(
            expected=f"a Dask scheduler at {quoted(address)}",
            came=f"none that can be talked to ({type(problem).__name__})",
            do="check the address, that the scheduler runs, and its certificates",
        ) from None
    with client:
        yield client


def _client(distributed: Any, address: str, security: Any) -> Any:
    """Connect to a scheduler; a client that cannot is closed at once.

    Dask would close it when it is collected, which blocks forever if another is starting then.
    """

    class Client(distributed.Client):  # type: ignore[misc]
        def start(self, **options: Any) -> None:
            try:
                super().start(**options)
            except BaseException:
                self.close()
                raise

    return Client(address, security=security, timeout=SECONDS_TO_ANSWER)


def _check_workers(client: Any) -> None:
    """Refuse workers without the package, with other versions, or that write memory to disk.

    The scheduler unpacks every task before a worker does, so it needs the package too.
    """
    answers = client.run(eval, WHAT_WORKERS_ARE, on_error="return")
    if not answers:
        raise WorkerError(
            expected="at least one worker", came="none", do="start workers, then try again"
        )
    ours = deciding_versions()
    there = [client.run_on_scheduler(eval, WHAT_WORKERS_ARE), *answers.values()]
    for versions, _ in there:
        if versions != ours:
            raise _other_versions(ours, versions)
    for _, memory in answers.values():
        if any(share is not False for share in memory):
            raise WorkerError(
                expected="workers that write no memory to disk: it holds confidential data",
                came="one that does where memory is short",
                do="start workers with DASK_DISTRIBUTED__WORKER__MEMORY__TARGET=False and "
                "DASK_DISTRIBUTED__WORKER__MEMORY__SPILL=False",
            )
