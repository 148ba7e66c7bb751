"""Columns that nobody asked about, and originals that are called synthetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.bad_inputs.cases import accepted, covers
from tests.conftest import Command
from understudy import Microdata, read_microdata, read_synthetic
from understudy.microdata.file_remarks import file_remarks
from understudy.randomness import stream

N = 200


@pytest.fixture(scope="module")
def original() -> pl.DataFrame:
    generator = stream(21, "remarks")
    sex = generator.integers(0, 2, N)
    county = generator.integers(0, 6, N)
    return pl.DataFrame({"sex": [f"s{code}" for code in sex], "county": [f"c{c}" for c in county]})


@pytest.fixture(scope="module")
def synthetic(original: pl.DataFrame) -> pl.DataFrame:
    order = stream(22, "remarks").permutation(N)
    return original.with_columns(original["county"].gather(order))


@pytest.fixture(scope="module")
def data(original: pl.DataFrame) -> Microdata:
    return accepted(original)


def remarks(data: Microdata, *frames: Any) -> list[str]:
    return file_remarks(data, read_synthetic(data, frames), frames)


@covers(112)
def test_the_original_called_synthetic(
    data: Microdata, original: pl.DataFrame, synthetic: pl.DataFrame
) -> None:
    assert remarks(data, synthetic) == []
    (told,) = remarks(data, synthetic, original)
    assert told.startswith("synthetic file 2 is the original")


@covers(112)
@pytest.mark.parametrize("kind", ["text", "recoded", "finer", "nearly"])
def test_a_column_that_tells_the_label(
    data: Microdata, original: pl.DataFrame, synthetic: pl.DataFrame, kind: str
) -> None:
    """As it is, under other names, split into finer groups, or right for nineteen in twenty."""
    true = original["county"].to_list()
    extra = {
        "text": true,
        "recoded": [str(7 * int(label[1:])) for label in true],
        "finer": [f"{label}-{row % 3}" for row, label in enumerate(true)],
        "nearly": [label if row % 20 else "c0" for row, label in enumerate(true)],
    }[kind]
    told = remarks(data, synthetic.with_columns(pl.Series("old", extra)))
    assert len(told) == 2
    assert 'further columns, which no measure here covers: "old"' in told[0]
    assert '"old" of synthetic file 1 reproduces the true "county"' in told[1]
    assert not any(f"c{code}" in text for text in told for code in range(6))


@covers(112)
def test_harmless_columns_are_named_only(
    data: Microdata, original: pl.DataFrame, synthetic: pl.DataFrame
) -> None:
    """A number of its own for every row tells nothing; nor do the kept variables, or noise."""
    noise = stream(23, "remarks").integers(0, 9, N)
    harmless = synthetic.with_columns(
        pl.Series("row", np.arange(N)),
        pl.Series("noise", noise),
        original["sex"].alias("again"),
        pl.Series("real", noise / 7.0),
    )
    (told,) = remarks(data, harmless)
    assert '"row", "noise", "again", "real"' in told


@covers(112)
def test_evaluate_says_it(
    command: Command, tmp_path: Path, original: pl.DataFrame, synthetic: pl.DataFrame
) -> None:
    original.write_csv(tmp_path / "original.csv")
    synthetic.with_columns(original["county"].alias("old")).write_csv(tmp_path / "1.csv")
    answer = command(
        "evaluate", tmp_path / "original.csv", tmp_path / "1.csv", tmp_path / "original.csv",
        "--synthesize", "county", "--repeats", 2, "--seed", 1,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    said = " ".join(answer.err.split())
    assert '"old" of synthetic file 1 reproduces the true "county"' in said
    assert "synthetic file 2 is the original" in said


@covers(148)
def test_nearly_the_original(data: Microdata, original: pl.DataFrame) -> None:
    changed = original["county"].to_list()
    changed[0] = "c0" if changed[0] != "c0" else "c1"
    (told,) = remarks(data, original.with_columns(county=pl.Series(changed)))
    assert told == "synthetic file 1 is nearly the original: 99.5% of its labels are the true ones"


@covers(148)
def test_fully_synthetic_files_that_are_the_original(original: pl.DataFrame) -> None:
    data = read_microdata(original, synthesize=["sex", "county"])
    (told,) = remarks(data, original.sort("county"))
    assert told == "synthetic file 1 is the original: it has the very same rows"
    other = original.with_columns(county=pl.Series(["c0"] * N))
    assert remarks(data, other) == []
