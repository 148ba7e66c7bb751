"""Columns that pass through: in every file as in the source, with its types and its order."""

from __future__ import annotations

import datetime as dt
import gc
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from understudy.errors import ColumnError, DataWarning, SettingError
from understudy.randomness import stream

N = 30
TEXT = '''\
wt,sex,note,town,day
01.50,f,"a, ""b""",n,2020-01-02
,m,"",s,2020-01-03
3e-05,f,"x;y,",n,2020-01-04
-4,m,plain,s,
'''


def frame(n: int = N) -> pl.DataFrame:
    """Make a file in which columns of every type pass through."""
    generator = stream(1, "columns that pass through")
    return pl.DataFrame(
        {
            "wt": generator.random(n),
            "sex": generator.choice(["f", "m"], n),
            "day": [dt.date(2020, 1, 1) + dt.timedelta(days=day) for day in range(n)],
            "town": generator.choice(["n", "s"], n),
            "n": range(n),
            "ok": [None if row % 3 == 0 else row % 2 == 0 for row in range(n)],
        }
    ).with_columns(pl.when(pl.col("n") > 2).then("wt").alias("wt"))


THROUGH = ["wt", "day", "n", "ok"]


def first_set(source: Any, **options: Any) -> Any:
    """Read a source and draw one set."""
    data = us.read_microdata(source, synthesize="town", **options)
    return us.Perfect().fit(data).synthesize(1, seed=1)


def test_text_stays_as_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TEXT, encoding="utf-8")
    sets = first_set(tmp_path / "a.csv", pass_through=["wt", "note", "day"])
    sets.write(tmp_path)
    before = [line.split(",n,")[0].split(",s,")[0] for line in TEXT.splitlines()]
    after = (tmp_path / "synthetic-01.csv").read_text(encoding="utf-8").splitlines()
    assert after[0] == "wt,sex,note,town,day"
    assert [line.split(",n,")[0].split(",s,")[0] for line in after] == before


@pytest.mark.parametrize("kind", ["polars", "lazy", "pandas", "parquet", "stata", "spss"])
def test_types_stay(kind: str, tmp_path: Path) -> None:
    table = frame()
    source: Any = table
    if kind == "lazy":
        source = table.lazy()
    elif kind == "pandas":
        pd = pytest.importorskip("pandas")
        source = pd.DataFrame({name: table[name].to_list() for name in table.columns})
        source["day"] = pd.to_datetime(source["day"])
    elif kind == "parquet":
        source = tmp_path / "a.parquet"
        table.write_parquet(source)
    elif kind in {"stata", "spss"}:
        source = tmp_path / ("a.dta" if kind == "stata" else "a.sav")
        write = pyreadstat.write_dta if kind == "stata" else pyreadstat.write_sav
        write(table.with_columns(pl.col("ok", "n").cast(pl.Float64)), str(source))
    sets = first_set(source, pass_through=THROUGH)
    synthetic = sets.frame(0, "polars")
    assert synthetic.columns == table.columns
    for name in THROUGH:
        own = synthetic[name]
        if name == "day" and kind == "pandas":
            own = own.cast(pl.Date)
        if name == "ok" and kind in {"stata", "spss"}:
            own = own.cast(pl.Boolean)
        if name == "ok" and kind == "pandas":  # a pandas column of objects is read as text
            own = own == "true"
        assert own.dtype == table[name].dtype
        assert own.to_list() == table[name].to_list()
    if kind == "pandas":
        assert sets[0]["day"].dtype.kind == "M"


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".dta", ".sav"])
def test_every_format_has_them(ending: str, tmp_path: Path) -> None:
    sets = first_set(frame().drop("ok"), pass_through=["wt", "day", "n"])
    (path,) = sets.write(tmp_path, ending)
    again = us.read_microdata(path, synthesize="town", pass_through=["wt", "day", "n"]).passed
    assert again is not None
    assert again.frame["n"].cast(pl.Int64).to_list() == list(range(N))
    assert again.frame["wt"].cast(pl.Float64).to_list() == pytest.approx(frame()["wt"].to_list())


def test_records_that_are_dropped_are_dropped_from_them_too() -> None:
    table = frame().with_columns(pl.when(pl.col("n") % 4 > 0).then("sex").alias("sex"))
    with pytest.warns(DataWarning):
        sets = first_set(table, pass_through=["n"], missing="drop", ignore=["wt", "day", "ok"])
    assert sets.frame(0, "polars")["n"].to_list() == [row for row in range(N) if row % 4]


@pytest.mark.filterwarnings("ignore::understudy.errors.ConvergenceWarning")
def test_models_do_not_see_them() -> None:
    table = frame(200)
    without: dict[str, Any] = {}
    fits = [
        us.BackoffTree().fit(
            us.read_microdata(table, synthesize="town", keep=["sex"], **options),
            chains=2, warmup=5, draws=10, seed=3,
        )
        for options in (without, {"pass_through": THROUGH})
    ]  # fmt: skip
    first, second = (fit.synthesize(2, seed=4).codes for fit in fits)
    assert (first == second).all()


def test_the_data_are_other_data_when_one_of_their_values_changes() -> None:
    prints = {
        us.read_microdata(table, synthesize="town", pass_through=THROUGH).fingerprint()
        for table in (frame(), frame(), frame().with_columns(pl.col("n") + 1))
    }
    assert len(prints) == 2


def addresses(table: pl.DataFrame) -> tuple[int, ...]:
    """Say where in memory the values of the columns that pass through lie."""
    newest = pl.CompatLevel.newest()
    return tuple(table[name].to_arrow(compat_level=newest).buffers()[1].address
                 for name in (*THROUGH, "words"))  # fmt: skip


@pytest.mark.parametrize("m", [2, 12])
def test_sets_share_them(m: int) -> None:
    """However many frames are held at once, their values lie in memory once."""
    table = frame().with_columns(words=pl.format("words longer than twelve bytes {}", "n"))
    data = us.read_microdata(table, synthesize="town", pass_through=[*THROUGH, "words"])
    assert data.passed is not None
    sets = us.Perfect().fit(data).synthesize(m, seed=1)
    held = [data.passed.frame, *(sets.frame(index, "polars") for index in range(m)), *sets[1:]]
    assert len(held) == 2 * m
    assert len({addresses(set_frame) for set_frame in held}) == 1


def most_allocated(m: int, use: Callable[[Any], object]) -> int:
    """Draw m sets, use them, and give the most bytes that Python and NumPy held meanwhile."""
    n, names = 4_000, [f"x{number}" for number in range(10)]
    table = pl.DataFrame({"sex": ["f", "m"] * (n // 2), "town": ["n", "s", "s", "n"] * (n // 4),
                          **dict.fromkeys(names, np.arange(n) / 7)})  # fmt: skip
    data = us.read_microdata(table.to_pandas(), synthesize="town", pass_through=names)
    sets = us.Perfect().fit(data).synthesize(m, seed=1)
    gc.collect()
    tracemalloc.start()
    use(sets)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_frames_with_copies_are_made_one_by_one() -> None:
    """A pandas frame has values of its own: going through the sets holds one frame's, not m."""
    pytest.importorskip("pandas")

    def go_through(sets: Any) -> None:
        for made in sets:
            del made

    few, many, kept = (*(most_allocated(m, go_through) for m in (2, 16)), most_allocated(16, list))
    assert many < 1.2 * few
    assert kept > 5 * many


@covers(155)
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"pass_through": ["wtt"]}, ColumnError, "nearest"),
        ({"pass_through": ["sex"], "keep": ["sex"]}, SettingError, "one role"),
        ({"pass_through": ["town"]}, SettingError, "one role"),
        ({"pass_through": ["wt"], "ignore": ["wt"]}, SettingError, "one role"),
        ({"pass_through": ["wt"], "keep": []}, SettingError, "stand for nobody"),
        ({"pass_through": [3]}, SettingError, "names of columns"),
        ({"weight": "n", "keep": []}, SettingError, "nobody's weight"),
    ],
)
def test_what_cannot_pass(options: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        us.read_microdata(frame(), synthesize="town", **options)


def test_values_that_no_file_can_hold() -> None:
    table = frame().with_columns(pl.Series("list", [[1]] * N))
    with pytest.raises(ColumnError, match="which passes through"):
        us.read_microdata(table, synthesize="town", pass_through=["list"], keep=["sex"])
