"""The compiled kernels on their own; `test_csv_reader` compares them with their slow twins."""

from __future__ import annotations

import numpy as np


def test_missing_values_do_not_slow_the_count() -> None:
    """Rows that differ beside a missing value start their search in different slots."""
    from understudy.microdata.scanning import _row_slot

    codes = np.array([[n, -1] for n in range(1000)], dtype=np.int32)
    assert len({int(_row_slot(codes, row, 1 << 20)) for row in range(1000)}) > 990
