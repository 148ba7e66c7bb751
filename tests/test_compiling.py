"""Compiled code where nothing can be cached."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_program_runs_where_nothing_can_be_cached(tmp_path: Path) -> None:
    """A locked-down server: neither the package nor the home folder may be written to."""
    code = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = []\n"
        "import understudy as us\n"
        "print(us.load_ce_like().n_records)"
    )
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        capture_output=True,
        check=False,
        timeout=300,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert ended.stdout.strip() == b"6208", ended.stderr[-500:]
