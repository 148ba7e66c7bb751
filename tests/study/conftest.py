"""What the tests of studies share: a plan, and a run that counts what it computes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from tests.studies import plain_page, run_quietly, write_study

import understudy as us
from understudy.pages import report as page
from understudy.study import stages
from understudy.synthesis.dpmpm.model import DPMPM

Counted = dict[str, int]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return write_study(tmp_path / "confidential")


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Count what is computed, with a page that costs nothing."""
    counts: Counted = {}

    def count(owner: Any, name: str, real: Callable[..., Any]) -> None:
        @wraps(real)
        def call(*given: Any, **options: Any) -> Any:
            counts[name] = counts.get(name, 0) + 1
            return real(*given, **options)

        monkeypatch.setattr(owner, name, call)

    count(page, "page", plain_page)
    count(DPMPM, "fit", DPMPM.fit)
    for name in ("intruder_findings", "own_record_findings", "utility_findings", "risk_findings"):
        count(stages, name, getattr(stages, name))
    return counts


@pytest.fixture
def run(counted: Counted) -> Callable[..., us.Study]:
    """Run quietly, with a page that costs nothing."""
    return run_quietly
