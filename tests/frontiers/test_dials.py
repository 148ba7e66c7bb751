"""Dials that cannot be turned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import understudy as us
from understudy.errors import (
    SettingError,
)


@pytest.mark.parametrize(
    ("dials", "words"),
    [
        ({"model": "backof"}, "should name a model"),
        ({"model": "backoff", "vary": {"scal": [1]}}, "has no dial scal"),
        ({"model": "backoff", "between": {"scale": [2.0, 1.0]}}, "not the smaller one"),
        ({"model": "backoff", "vary": {"scale": [1]}, "between": {"scale": [1.0, 2.0]}}, "both"),
        ({"model": "backoff", "vary": {"scale": [-1.0]}}, "greater than 0"),
    ],
)
def test_dials_that_cannot_be_turned(dials: dict[str, Any], words: str, tmp_path: Path) -> None:
    plan = {
        "data": {"file": "bundled:ce-like", "synthesize": ["county"]},
        "frontier": {"dials": [dials]},
    }
    with pytest.raises(SettingError, match=words):
        us.frontier(plan, tmp_path / "out")
