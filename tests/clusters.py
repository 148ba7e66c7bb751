"""Clusters for tests, inside of this process: they start in a fraction of a second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["QUIET", "quiet", "threads_as_workers"]

QUIET = (  # what Dask and short chains warn of
    "ignore::understudy.errors.UnderstudyWarning",
    "ignore:.*:DeprecationWarning",
    "ignore:.*:ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


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
