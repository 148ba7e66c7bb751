"""The kind of a source file."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.bad_inputs.cases import SECRET, accepted
from tests.conftest import MakeFile
from understudy.microdata import file_format

GOOD = f"gender,county\nf,{SECRET}\nm,south\nf,south\n"


def test_kind_is_found_without_an_ending(make_file: MakeFile, tmp_path: Path) -> None:
    assert accepted(make_file(GOOD, "data")).n_records == 3
    bare = tmp_path / "table"
    pl.DataFrame({"gender": ["f", "m"], "county": ["x", "y"]}).write_parquet(bare)
    assert accepted(bare).n_records == 2
    assert file_format.open_source(bare).kind == "parquet"
