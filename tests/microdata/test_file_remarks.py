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
from understudy.microdata.telling_columns import guessed_share
from understudy.randomness import stream

N = 200


def survey(n_records: int) -> pl.DataFrame:
    generator = stream(21, "remarks")
    sex = generator.integers(0, 2, n_records)
    county = generator.integers(0, 6, n_records)
    return pl.DataFrame({"sex": [f"s{code}" for code in sex], "county": [f"c{c}" for c in county]})


def shuffled(original: pl.DataFrame) -> pl.DataFrame:
    order = stream(22, "remarks").permutation(original.height)
    return original.with_columns(original["county"].gather(order))


@pytest.fixture(scope="module")
def original() -> pl.DataFrame:
    return survey(N)


@pytest.fixture(scope="module")
def synthetic(original: pl.DataFrame) -> pl.DataFrame:
    return shuffled(original)


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


def said(data: Microdata, synthetic: pl.DataFrame, **columns: Any) -> list[str]:
    """What is said about further columns, beyond that they are there."""
    extra = [pl.Series(name, values) for name, values in columns.items()]
    return remarks(data, synthetic.with_columns(extra))[1:]


def digits(frame: pl.DataFrame, name: str) -> np.ndarray:
    """The number in each value of a column."""
    return np.array([int(value[1:]) for value in frame[name]])


@covers(112)
def test_a_label_spread_over_several_columns() -> None:
    """Shares of a secret, none of which tells anything alone, among columns that are harmless.

    With two shares, three, a part and the rest, and with the kept or the synthetic values as one of
    the shares.
    """
    original = survey(10 * N)
    data, synthetic = accepted(original), shuffled(original)
    true, sex = digits(original, "county"), digits(original, "sex")
    drawn = digits(synthetic, "county")
    first, second = stream(24, "remarks").integers(0, 6, (2, 10 * N))
    noise = stream(25, "remarks").integers(0, 3, 10 * N)
    row, together = np.arange(10 * N)[::-1] % 97, 'reproduce the true "county"'
    (two,) = said(data, synthetic, noise=noise, a=first, row=row, b=(true - first) % 6)
    assert two.startswith('the columns "a", "b" of synthetic file 1 together ' + together)
    (three,) = said(data, synthetic, a=first, b=second // 2, c=(true - first - second // 2) % 6)
    assert three.startswith('the columns "a", "b", "c" of synthetic file 1 together ' + together)
    (parts,) = said(data, synthetic, half=true // 2, noise=noise, rest=true % 2)
    assert parts.startswith('the columns "half", "rest" of synthetic file 1 together ' + together)
    (delta,) = said(data, synthetic, delta=(true - drawn) % 6, noise=noise)
    words = 'the column "delta" of synthetic file 1, beside "county", reproduces the true "county"'
    assert delta.startswith(words)
    (beside,) = said(data, synthetic, shifted=(true + 3 * sex) % 6)
    assert beside.startswith('the column "shifted" of synthetic file 1, beside "sex", reproduces')


@covers(112)
@pytest.mark.parametrize("kind", ["number", "begins", "ends", "sorted"])
def test_a_label_within_values_that_nobody_else_has(
    data: Microdata, original: pl.DataFrame, synthetic: pl.DataFrame, kind: str
) -> None:
    """Glued to a random number, or in the order of a file that was sorted by it."""
    true = digits(original, "county")
    salt = stream(26, "remarks").permutation(10 * N)[:N] + 1000
    values: Any = {
        "number": true + salt / 1e5,
        "begins": [f"{7 * code}{number}" for code, number in zip(true, salt, strict=True)],
        "ends": [f"{number}-{code}" for code, number in zip(true, salt, strict=True)],
        "sorted": np.argsort(np.argsort(true)),
    }[kind]
    (told,) = said(data, synthetic, key=[str(value) for value in values])
    assert told.startswith(
        'the column "key" of synthetic file 1 tells the true "county" by the order'
    )


def test_guesses_agree_with_counting_by_hand() -> None:
    """Whoever sees the others alone: the most frequent label among them, and no guess at a tie."""
    generator = stream(27, "remarks")
    for _ in range(50):
        size, cells, labels = generator.integers(1, (30, 9, 5))
        codes = generator.integers(0, cells, size)
        true = generator.integers(0, labels, size)
        right = 0
        for row in range(size):
            others = (codes == codes[row]) & (np.arange(size) != row)
            counts = np.bincount(true[others], minlength=labels)
            right += counts[true[row]] > np.delete(counts, true[row]).max(initial=0)
        assert guessed_share(codes, true) == pytest.approx(right / size)


@covers(112)
@pytest.mark.slow
def test_nothing_is_said_by_chance(data: Microdata, synthetic: pl.DataFrame) -> None:
    """200 files with 5 columns of noise of all kinds: the chance of one remark is below 1e-8.

    Each of some 100 sets of columns is tried, and counts beyond a bound of exp(-30).
    """
    generator = stream(28, "remarks")
    for _ in range(200):
        sizes = generator.integers(2, 3 * N, 5)
        noise = {f"x{size}{number}": generator.integers(0, size, N)
                 for number, size in enumerate(sizes)}  # fmt: skip
        assert said(data, synthetic, **noise) == []


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
