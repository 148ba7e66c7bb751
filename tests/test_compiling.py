"""Compiled code where nothing can be cached."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from understudy.compiling import compiled


def test_the_program_runs_where_nothing_can_be_cached(tmp_path: Path) -> None:
    """A locked-down server: neither the package nor the home folder may be written to."""
    code = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = []\n"
        "import understudy as us\n"
        "print(us.load_ce_like().n_records)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        check=False,
        timeout=600,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert ended.stdout.strip() == b"6208", ended.stderr[-500:]
    assert ended.stderr.count(b"NUMBA_CACHE_DIR") == 1  # said once, for all loops


@pytest.mark.parametrize("damage", ["cut", "a class that has moved"])
def test_a_cache_that_cannot_be_read_is_made_anew(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numba unpickles an index before it looks whether it is stale."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def double(number: int) -> int:
        return 2 * number

    assert compiled(double)(3) == 6
    (index,) = tmp_path.rglob("*.nbi")
    whole = index.read_bytes()
    cut = pickle.dumps(numba.__version__, protocol=-1) + b"cnowhere_at_all\nMoved\n."
    index.write_bytes(whole[:-9] if damage == "cut" else cut)
    assert compiled(double)(4) == 8
    assert index.read_bytes() == whole
    again = compiled(double)
    assert again(5) == 10
    assert sum(again.stats.cache_hits.values()) == 1
