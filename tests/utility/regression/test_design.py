"""Formulas, designs and their products against dense matrices."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import utility as naive
from tests.utility.example_surveys import (
    data_from,
    income_survey,
    rows_of,
    some_data,
)

import understudy as us
from understudy.errors import SettingError
from understudy.randomness import stream
from understudy.utility.regression.aliasing import independent_columns
from understudy.utility.regression.arrow_matrix import BORDER, Arrow
from understudy.utility.regression.design import make_design
from understudy.utility.regression.formula import read_formula
from understudy.utility.regression.logistic import BinaryLikelihood

with warnings.catch_warnings():
    warnings.simplefilter("ignore")


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_products_with_a_design_are_those_of_a_matrix(seed: int) -> None:
    data = some_data(seed, n=40, labels=4)
    formula = read_formula("sex ~ town * age", data)
    design = make_design(data, formula)
    rows = design.indicators(np.column_stack([data.codes(name) for name in formula.names]))
    matrix = naive.indicator_matrix(design.columns, rows_of(data.frame()))
    generator = stream(seed, "test", "products")
    weights = generator.random(40)
    slopes: Any = generator.normal(size=matrix.shape[1])
    np.testing.assert_allclose(rows.linear(slopes), matrix @ slopes)
    np.testing.assert_allclose(rows.sums(weights), matrix.T @ weights)
    gram = rows.gram(weights)
    np.testing.assert_allclose(gram, matrix.T @ (weights[:, None] * matrix))
    between = rows.block[:, None] != rows.block[None, :]
    inside = (rows.block[:, None] != BORDER) & (rows.block[None, :] != BORDER)
    assert not gram[between & inside].any()
    chosen = independent_columns(gram, np.diagonal(gram))
    assert chosen.size == np.linalg.matrix_rank(matrix)
    shape = Arrow(rows.block)
    other = independent_columns(gram, np.diagonal(gram), order=shape.order())
    assert other.size == chosen.size
    positive = gram + np.eye(len(gram))
    right = generator.normal(size=len(gram))
    np.testing.assert_allclose(shape.solve(positive, right), np.linalg.solve(positive, right))
    np.testing.assert_allclose(
        shape.inverse_diagonal(positive), np.diagonal(np.linalg.inv(positive))
    )


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_products_of_an_arrow_are_those_of_the_whole_matrix(seed: int) -> None:
    """The parts that `ArrowProducts` adds up, against those cut out of the whole Gram matrix."""
    data = some_data(seed, n=40, labels=4)
    formula = read_formula("sex ~ town * age", data)
    rows = make_design(data, formula).indicators(
        np.column_stack([data.codes(name) for name in formula.names])
    )
    generator = stream(seed, "test", "products")
    weights, events = generator.random(40), generator.random(40)
    columns = generator.random(rows.n_columns) < 0.7
    model = BinaryLikelihood(rows, events, 2 * weights, columns)
    _, _, parts = model.evaluate(np.zeros(model.shape.size))  # every chance is a half
    whole = model.shape.parts(rows.gram_with_intercept(weights / 2, columns))
    for part, expected in zip(parts, whole, strict=True):
        np.testing.assert_allclose(part, expected, atol=1e-14)


def test_formulas() -> None:
    data = data_from(
        {"y": ["0", "1"], "my town": ["a", "b"], "x+": ["p", "q"], "w": ["k", "l"]}, ["my town"]
    )
    read = read_formula("y ~ `my town`*w + `x+`", data)
    assert read.terms == (("my town",), ("w",), ("x+",), ("my town", "w"))
    assert read_formula("y == 1 ~ my town", data).event == "1"
    assert read_formula("y~w+my town+w:my town", data).terms[2] == ("my town", "w")
    for text in ("y", "y ~ ", "y ~ w +", "~ w", "y ~ w ~ w", "y ~ z", "y ~ w:my town", "y ~ y",
                 "y == 7 ~ w", "y ~ w = 1", "y ~ w == k", "y ~ w w2", "", "y ~ `w"):  # fmt: skip
        with pytest.raises(SettingError, match="Expected"):
            read_formula(text, data)
    with pytest.raises(SettingError, match="Expected"):
        read_formula(3, data)  # type: ignore[arg-type]


def test_reference_levels() -> None:
    data = income_survey(11)
    named = us.regression_utility(
        data, [data.frame()] * 2, "income ~ age", train=None, repeats=1, reference={"age": "a1"}
    )
    assert named.coefficients["coefficient"].to_list() == ["age[a0]", "age[a2]"]
    largest = make_design(data, read_formula("income ~ age", data), "largest")
    counts = np.bincount(data.codes("age"))
    assert f"age[a{counts.argmax()}]" not in largest.columns
    for reference in ({"age": "b"}, {"sex": "s0"}, "smallest"):
        with pytest.raises(SettingError, match="reference"):
            make_design(data, read_formula("income ~ age", data), reference)
