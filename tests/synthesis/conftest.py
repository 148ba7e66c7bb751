"""Small data and a short, quiet fit for the tests of this folder."""

from __future__ import annotations

import warnings
from typing import Any

import polars as pl
import pytest

import understudy as us
from understudy.errors import DataWarning, UnderstudyWarning
from understudy.randomness import stream

SHORT = {"chains": 2, "warmup": 20, "draws": 60, "thin": 1}


def small_data(synthesize: tuple[str, ...] = ("county",), n_records: int = 120) -> us.Microdata:
    """Invent records of four columns."""
    generator = stream(11, "small data")
    gender = generator.integers(0, 2, n_records)
    age = generator.integers(0, 3, n_records)
    county = (generator.integers(0, 4, n_records) + 2 * gender) % 6
    region = (county + generator.integers(0, 2, n_records)) % 4
    frame = pl.DataFrame(
        {
            "gender": [f"g{code}" for code in gender],
            "age": [f"a{code}" for code in age],
            "county": [f"c{code}" for code in county],
            "region": [f"r{code}" for code in region],
        }
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return us.read_microdata(frame, synthesize=list(synthesize))


def quiet_fit(settings: Any, data: us.Microdata, **options: Any) -> Any:
    """Fit without the warnings that a short run deserves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        return settings.fit(data, **{**SHORT, **options})


def quiet_sets(fit: Any, m: int, seed: int | None = None) -> Any:
    """Draw sets without the warnings that a short run deserves."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        return fit.synthesize(m=m, seed=seed)


@pytest.fixture
def data() -> us.Microdata:
    """Give the small data, county synthesized."""
    return small_data()
