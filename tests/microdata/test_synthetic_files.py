"""Synthetic files: read against the data that they replace."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.bad_inputs.cases import accepted
from understudy import SyntheticSets
from understudy.errors import (
    AlignmentError,
    InputError,
    MissingValuesError,
)
from understudy.microdata.synthetic_files import read_synthetic

FRAME = pl.DataFrame(
    {"sex": [1, 2, 2, 1, 9], "county": ["01", "02", "é", "01", "02"], "age": [3, 1, 2, 3, 1]}
)


def test_sets_are_written_and_read_again(tmp_path: Path) -> None:
    data = accepted(FRAME)
    codes = data.codes("county")[None, :, None].repeat(3, axis=0)
    codes[1] = 0
    sets = SyntheticSets(data, codes)
    for ending in (".csv", ".parquet", ".dta", ".sav"):
        folder = tmp_path / ending
        folder.mkdir()
        paths = sets.write(folder, ending)
        assert [path.name for path in paths] == [f"synthetic-0{n}{ending}" for n in (1, 2, 3)]
        again = read_synthetic(data, paths)
        assert (again.codes == codes).all()
    assert len(read_synthetic(data, paths[0])) == 1


def test_synthetic_rows_must_match_the_records(tmp_path: Path) -> None:
    data = accepted(FRAME)
    with pytest.raises(AlignmentError, match="in another order"):
        read_synthetic(data, [FRAME[[1, 0, 2, 3, 4]]])
    with pytest.raises(AlignmentError, match=r"5 records.*found 4"):
        read_synthetic(data, [FRAME[:4]])
    with pytest.raises(InputError, match="at least one synthetic"):
        read_synthetic(data, [])
    holes = FRAME.with_columns(pl.Series("county", ["01", None, "é", "01", "02"]))
    with pytest.raises(MissingValuesError, match="1 of 2 synthetic files"):
        read_synthetic(data, [FRAME, holes])
    with_missing = accepted(holes, missing="level")
    assert read_synthetic(with_missing, [holes]).codes[0, 1, 0] == 3
    assert read_synthetic(with_missing, [FRAME]).codes[0, 1, 0] == 1
    coded = FRAME.with_columns(pl.Series("county", ["01", "??", "é", "01", "02"]))
    assert read_synthetic(with_missing, [coded], na=["??"]).codes[0, 1, 0] == 3
