"""Synthetic frames in one line: of the user's own kind, repeatable, by any model."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pytest

import understudy as us
from understudy.errors import UnderstudyError

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
    assert all(one.equals(two) for one, two in zip(first, again, strict=True))
    assert not all(one.equals(two) for one, two in zip(first, other, strict=True))
    assert not first[0].equals(first[1])


def test_wrong_numbers_and_names() -> None:
    with pytest.raises(UnderstudyError, match="m"):
        us.synthesize(FRAME, "town", m=0)
    with pytest.raises(UnderstudyError, match="city"):
        us.synthesize(FRAME, "city")
