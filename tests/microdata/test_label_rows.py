"""Rows of labels that occur, against tables of all labels: the same draws, the same risk."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.microdata.label_rows import (
    dense_rows,
    others_table,
    perfect_table,
    whole_table,
)
from understudy.microdata.label_table import empirical_labels, others_labels
from understudy.randomness import stream

PAIRS = [(perfect_table, empirical_labels), (others_table, others_labels)]


def scattered() -> us.Microdata:
    """Invent records of which many are alone in their pattern."""
    draw = stream(3, "label rows")
    frame = pl.DataFrame({name: draw.integers(0, 12, 300).astype(str) for name in ("a", "b", "t")})
    return us.read_microdata(frame, "t")


def both() -> list[Any]:
    return [us.load_ce_like(), scattered()]


@pytest.mark.filterwarnings("ignore::understudy.errors.DataWarning")
@pytest.mark.parametrize(("sparse", "dense"), PAIRS)
@pytest.mark.parametrize("which", [0, 1])
def test_the_same_table_and_the_same_draws(sparse: Any, dense: Any, which: int) -> None:
    data = both()[which]
    assert which == 0 or (data.patterns.sizes == 1).sum() > 10
    table, rows = dense(data), sparse(data)
    whole = whole_table(rows.rows, data.n_labels)
    assert np.array_equal(
        whole[rows.row_of_combination], table.probabilities[table.row_of_combination]
    )
    for repeat in range(3):
        drawn = [source.draw(stream(repeat, "draw"), data) for source in (rows, table)]
        assert np.array_equal(*drawn)


@pytest.mark.filterwarnings("ignore::understudy.errors.DataWarning")
@pytest.mark.parametrize(("sparse", "dense"), PAIRS)
@pytest.mark.parametrize("known", [["a"], ["a", "b"]])
def test_the_same_expected_risk(sparse: Any, dense: Any, known: list[str]) -> None:
    data = scattered()
    risks = [us.expected_risk(data, make(data), known) for make in (sparse, dense)]
    for field in fields(risks[0])[1:]:
        own, other = (getattr(risk, field.name) for risk in risks)
        assert np.isclose(own, other, rtol=1e-12), field.name


def test_a_table_becomes_rows_and_a_table_again() -> None:
    table = stream(4, "table").dirichlet(np.ones(4), 3)
    table[1, 2] = 0.0
    assert np.array_equal(whole_table(dense_rows(table), 4), table)
    assert dense_rows(table).labels.tolist() == [0, 1, 2, 3, 0, 1, 3, 0, 1, 2, 3]
