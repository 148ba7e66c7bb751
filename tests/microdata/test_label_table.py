"""Label tables: combining labels, and drawing from probabilities."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from tests.bad_inputs.cases import accepted
from understudy import Microdata, load_ce_like
from understudy.errors import (
    InputError,
)
from understudy.microdata.label_table import (
    LabelTable,
    combined_labels,
    empirical_labels,
    split_labels,
    uniform_labels,
)
from understudy.randomness import stream


@pytest.fixture
def two_synthesized() -> Microdata:
    frame = pl.DataFrame({"a": list("ppqq") * 5, "b": list("xyzx") * 5, "c": list("uvuv") * 5})
    return accepted(frame, synthesize=["b", "c"])  # type: ignore[arg-type]


def test_labels_are_combined_and_split(two_synthesized: Microdata) -> None:
    assert two_synthesized.n_labels == 6
    codes = np.array([[0, 0], [0, 1], [2, 1]])
    labels = combined_labels(two_synthesized, codes)
    assert labels.tolist() == [0, 1, 5]
    assert split_labels(two_synthesized, labels).tolist() == codes.tolist()


def test_tables_are_distributions(two_synthesized: Microdata) -> None:
    perfect = empirical_labels(two_synthesized)
    assert perfect.probabilities.shape == (2, 6)
    assert np.allclose(perfect.probabilities.sum(axis=1), 1)
    assert perfect.probabilities[0].tolist() == [0.5, 0, 0, 0.5, 0, 0]
    assert np.allclose(uniform_labels(two_synthesized).probabilities, 1 / 6)


def test_drawing_agrees_with_a_plain_search() -> None:
    data = load_ce_like()
    table = empirical_labels(data)
    labels = table.draw(stream(5, "labels"), data)
    uniform = stream(5, "labels").random(data.n_records)
    cumulative = np.cumsum(table.probabilities, axis=1)
    cumulative /= cumulative[:, -1:]
    rows = table.row_of_combination[data.of_record]
    slow = [
        np.searchsorted(cumulative[row], u, side="right")
        for row, u in zip(rows, uniform, strict=True)
    ]
    assert labels.tolist() == slow
    assert (table.probabilities[rows, labels] > 0).all()


def test_draws_have_the_right_frequencies() -> None:
    """Chi-square of 100,000 draws, 5 degrees of freedom, limit at a false-alarm rate of 1e-6."""
    frame = pl.DataFrame({"a": ["p"] * 100_000, "b": list("uvwxyz") * 16_666 + list("uvwx")})
    with pytest.warns(UserWarning, match="single level"):
        data = accepted(frame, synthesize="b")
    wanted = np.array([[0.4, 0.3, 0.2, 0.05, 0.05, 0.0]])
    table = LabelTable(wanted, np.zeros(data.n_combinations, dtype=np.int32))
    counts = np.bincount(table.draw(stream(6, "frequencies"), data), minlength=6)
    assert counts[5] == 0
    expected = 100_000 * wanted[0, :5]
    assert ((counts[:5] - expected) ** 2 / expected).sum() < 33.4


def test_labels_beyond_counting() -> None:
    from understudy.microdata.label_table import combined_labels

    frame = pl.DataFrame({f"v{n}": [str(k) for k in range(2000)] for n in range(6)})
    with pytest.warns(UserWarning, match="its own level"):
        data = accepted(frame, synthesize=frame.columns)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="machine number"):
        combined_labels(data, data.combinations)
