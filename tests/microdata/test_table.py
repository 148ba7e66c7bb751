"""Microdata and synthetic sets: what they hold, and the way back to frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tests.bad_inputs.cases import SECRET, accepted
from understudy import Microdata, SyntheticSets, load_ce_like
from understudy.errors import InputError, SettingError

FRAME = pl.DataFrame(
    {
        "gender": ["f", "m", "f", "m", "f"],
        "county": ["x", SECRET, "x", "z", SECRET],
        "age": ["old", "young", "young", "old", "old"],
    }
)


@pytest.fixture
def data() -> Microdata:
    return accepted(FRAME)


def test_what_is_held(data: Microdata) -> None:
    assert data.names == ("gender", "county", "age")
    assert data.kept == ("gender", "age")
    assert data.synthesized == ("county",)
    assert (data.n_records, data.n_combinations, data.n_cells) == (5, 5, 12)
    assert data.patterns.codes.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert data.patterns.sizes.tolist() == [2, 1, 1, 1]
    assert len(data.labels) == 3
    assert data.codes("county").tolist() == [1, 0, 1, 2, 0]


def test_printing_shows_shapes_only(data: Microdata) -> None:
    shown = repr(data) + repr(data.variables) + repr(data.patterns) + str(data)
    sets = SyntheticSets(data, data.codes("county")[None, :, None])
    shown += repr(sets)
    assert SECRET not in shown
    assert "young" not in shown
    assert "5 records" in shown


def test_frames_come_back_in_kind_and_order(data: Microdata) -> None:
    assert data.frame().cast(pl.String).equals(FRAME)
    native = FRAME.to_pandas()
    from_pandas = accepted(native).frame()
    assert isinstance(from_pandas, pd.DataFrame)
    assert from_pandas.astype(str).equals(native.astype(str))
    from_arrow = accepted(FRAME.to_arrow()).frame()
    assert isinstance(from_arrow, pa.Table)
    assert pl.DataFrame(from_arrow).cast(pl.String).equals(FRAME)
    lazy = accepted(FRAME.lazy())
    assert lazy.fingerprint() == data.fingerprint()


def test_missing_is_null_in_every_frame() -> None:
    frame = FRAME.with_columns(pl.Series("age", ["old", None, None, "old", "old"]))
    data = accepted(frame, missing="level")
    assert data.frame()["age"].null_count() == 2
    assert int(data.frame("pandas")["age"].isna().sum()) == 2
    assert data.frame("pyarrow")["age"].null_count == 2


def test_unknown_names(data: Microdata) -> None:
    with pytest.raises(SettingError, match="nearest"):
        data.variable("contry")
    with pytest.raises(SettingError, match="one of the variables"):
        data.codes("zzz")


def test_fingerprint_notices_everything(data: Microdata) -> None:
    other_value = FRAME.with_columns(pl.Series("age", ["old", "young", "young", "old", "young"]))
    other_order = FRAME[[1, 0, 2, 3, 4]]
    prints = {accepted(frame).fingerprint() for frame in (FRAME, other_value, other_order)}
    prints.add(accepted(FRAME, synthesize="age").fingerprint())
    prints.add(accepted(FRAME, ignore="age").fingerprint())
    book = {"variables": {"county": {"levels": ["x", "z", SECRET]}}}
    prints.add(accepted(FRAME, codebook=book).fingerprint())
    assert len(prints) == 6
    assert data.fingerprint() == accepted(FRAME).fingerprint()


def test_fingerprint_notices_replicate_weights() -> None:
    frame = FRAME.with_columns(*(pl.Series(name, [1.0, 2.0, 1.0, 2.0, 1.0]) for name in "wrst"))

    def printed(table: pl.DataFrame, **design: object) -> str:
        names = {"weight": "w", "ignore": ["t"], "design": {"replicates": ["r", "s"], **design}}
        return accepted(table, **names).fingerprint()  # type: ignore[arg-type]

    changed = frame.with_columns(pl.Series("s", [1.0, 2.0, 1.0, 2.0, 3.0]))
    prints = {printed(frame), printed(changed), printed(frame, method="jk2")}
    assert len(prints) == 3
    assert printed(frame) == printed(frame)


def test_synthetic_sets(data: Microdata) -> None:
    codes = np.array([[0, 1, 2, 0, 1], [2, 2, 2, 2, 2]], dtype=np.uint8)[:, :, None]
    sets = SyntheticSets(data, codes)
    assert len(sets) == 2
    assert [frame["county"].to_list() for frame in sets] == [
        [SECRET, "x", "z", SECRET, "x"],
        ["z"] * 5,
    ]
    assert sets[0].drop("county").cast(pl.String).equals(FRAME.drop("county"))
    assert sets[-1]["county"].to_list() == ["z"] * 5
    assert sets[0].columns == FRAME.columns
    with pytest.raises(IndexError):
        sets[2]
    with pytest.raises(InputError, match="axes"):
        SyntheticSets(data, codes[:, :3])
    with pytest.raises(InputError, match="outside of that range"):
        SyntheticSets(data, codes + 1)


def test_several_synthesized_variables() -> None:
    data = accepted(FRAME, synthesize=["age", "county"])  # type: ignore[arg-type]
    assert data.synthesized == ("county", "age")
    assert data.kept == ("gender",)
    everything = accepted(FRAME, synthesize=["age", "county", "gender"])  # type: ignore[arg-type]
    assert everything.kept == ()


def test_bundled_levels_are_in_the_order_of_the_codebook() -> None:
    data = load_ce_like()
    assert data.variable("age").levels == ("<20", "20-40", "40-60", "60-80", ">80")
    assert data.n_records == 6208
    assert data.patterns.sizes[:6].tolist() == [27, 170, 168, 194, 48, 3]
