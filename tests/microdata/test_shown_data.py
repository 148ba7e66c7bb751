"""Data and sets as a notebook has them: slices, one frame of all sets, levels as bars."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest

import understudy as us

mpl.use("Agg")
FRAME = pl.DataFrame(
    {"sex": ["f", "m"] * 30, "town": ["north", "north", "south"] * 20, "weight": range(60)}
)


@pytest.fixture
def data() -> us.Microdata:
    return us.read_microdata(FRAME, "town", pass_through=["weight"])


@pytest.fixture
def sets(data: us.Microdata) -> us.SyntheticSets:
    return us.Perfect().fit(data).synthesize(4, seed=1)


def test_a_slice_is_synthetic_sets_again(data: us.Microdata, sets: us.SyntheticSets) -> None:
    some = sets[1:3]
    assert isinstance(some, us.SyntheticSets)
    assert len(some) == 2
    assert some[0].equals(sets[1])
    assert us.attribute_risk(data, some).n_sets == 2
    assert len(sets[:0]) == 0


def test_a_slice_of_drawn_sets_keeps_their_draws(data: us.Microdata) -> None:
    with pytest.warns(us.errors.ConvergenceWarning):
        fit = us.BackoffTree().fit(data, chains=2, warmup=2, draws=30, seed=1, progress=False)
    drawn = fit.synthesize(4, seed=1)
    assert drawn[::2].chain == drawn.chain[::2] == (0, 0)
    assert drawn[2:].draw == drawn.draw[2:]


def test_all_sets_as_one_frame(sets: us.SyntheticSets) -> None:
    whole = sets.to_frame()
    assert whole["set"].to_list() == [number for number in (1, 2, 3, 4) for _ in range(60)]
    for number, frame in enumerate(sets, 1):
        assert whole.filter(pl.col("set") == number).drop("set").equals(frame)
    pandas = sets.to_frame("pandas")
    assert isinstance(pandas, pd.DataFrame)
    assert pandas["weight"].tolist() == list(range(60)) * 4
    assert sets[:0].to_frame().columns == whole.columns


def test_a_column_called_set_keeps_its_name() -> None:
    data = us.read_microdata(FRAME.rename({"sex": "set"}), "town", ignore="weight")
    whole = us.Perfect().fit(data).synthesize(1, seed=1).to_frame()
    assert whole.columns == ["set (number)", "set", "town"]


def widths(axes: Any) -> list[float]:
    """Measure the bars of a picture."""
    return [bar.get_width() for bar in axes.patches]


def test_levels_as_bars(data: us.Microdata, sets: us.SyntheticSets) -> None:
    assert widths(data.plot()) == [40, 20]
    counts = [(sets.codes == code).sum() / 4 for code in (0, 1)]
    assert widths(sets.plot()) == counts
    assert widths(sets.plot("sex")) == [30, 30]
    plt.close("all")
    assert data.to_frame().equals(data.frame())


def test_a_notebook_shows_shapes_and_no_level(data: us.Microdata, sets: us.SyntheticSets) -> None:
    for page in (data._repr_html_(), sets._repr_html_()):
        assert "town" in page
        assert "<polyline" in page
        assert "north" not in page


def test_a_baseline_is_fitted_to_a_frame() -> None:
    fit = us.Others().fit(FRAME, synthesize="town", ignore="weight")
    assert fit.data.synthesized == ("town",)
    np.testing.assert_allclose(sum(widths(fit.plot())), 60)
    assert fit.to_frame().is_empty()
    plt.close("all")
