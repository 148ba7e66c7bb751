"""Coded tables: regrouping against its slow twin."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.naive.combinations import count_rows
from understudy.microdata.coding import regroup


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=40),
    levels=st.sampled_from([[4, 3], [4, 3000], [2**40, 2**40]]),
)
def test_regrouping_agrees_with_its_slow_twin(
    rows: list[tuple[int, int]], levels: list[int]
) -> None:
    """By index, by sorting numbers, and by sorting rows."""
    codes = np.array(rows, dtype=np.int32)
    counts = np.ones(len(rows), dtype=np.int64)
    distinct, sizes, of_record = regroup(
        codes, counts, np.arange(len(rows), dtype=np.int32), levels
    )
    expected = count_rows(rows)
    assert [tuple(row) for row in distinct.tolist()] == expected[0]
    assert (sizes.tolist(), of_record.tolist()) == (expected[1], expected[2])
