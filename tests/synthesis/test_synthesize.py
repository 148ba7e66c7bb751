"""Synthetic frames in one line: of the user's own kind, repeatable, by any model."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd
import polars as pl
import pytest

import understudy as us
from understudy.errors import UnderstudyError, UnderstudyWarning

FRAME = pl.DataFrame(
    {
        "id": [str(number) for number in range(60)],
        "sex": ["f", "m"] * 30,
        "town": ["north", "north", "south"] * 20,
    }
)


def test_frames_of_the_kind_that_came() -> None:
    sets = us.synthesize(FRAME.to_pandas(), "town", m=3, seed=1, ignore=["id"], model=us.Marginal())
    assert len(sets) == 3
    assert all(isinstance(frame, pd.DataFrame) for frame in sets)
    assert list(sets[0].columns) == ["sex", "town"]
    assert list(sets[0]["sex"]) == FRAME["sex"].to_list()


def test_the_same_seed_gives_the_same_frames_and_another_does_not() -> None:
    first, again, other = (
        us.synthesize(FRAME, ["town"], m=2, seed=seed, ignore="id") for seed in (1, 1, 2)
    )
    assert all(frame.equals(two) for frame, two in zip(first, again, strict=True))
    assert not all(frame.equals(two) for frame, two in zip(first, other, strict=True))
    assert not first[0].equals(first[1])


def test_the_default_model_is_one_that_takes_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = []

    def load(name: str) -> Any:
        chosen.append(name)
        return lambda: us.DPMPM(n_classes=2)

    monkeypatch.setattr("understudy.synthesis.synthesize.load_model", load)
    few: dict[str, Any] = {"chains": 1, "warmup": 2, "draws": 4}
    fit = us.DPMPM.fit
    monkeypatch.setattr(us.DPMPM, "fit", lambda self, data, **options: fit(
        self, data, **options, **few))  # fmt: skip
    holed = FRAME.with_columns(sex=pl.when(pl.int_range(60) % 7 > 0).then("sex"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        for missing in ("model", "level"):
            sets = us.synthesize(holed, "town", m=2, ignore="id", missing=missing, progress=False)
            assert sets[0]["sex"].null_count() == 9
    assert chosen == ["dpmpm", "backoff"]


def test_wrong_numbers_and_names() -> None:
    with pytest.raises(UnderstudyError, match="m"):
        us.synthesize(FRAME, "town", m=0)
    with pytest.raises(UnderstudyError, match="city"):
        us.synthesize(FRAME, "city")
