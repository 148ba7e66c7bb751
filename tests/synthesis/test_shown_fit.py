"""A fit as a notebook has it: from a frame, with names in its diagnostics, and as a picture."""

from __future__ import annotations

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
import pytest

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.synthesis.backoff.fit import BackoffFit

mpl.use("Agg")
FRAME = pd.DataFrame(
    {"sex": ["f", "m"] * 60, "town": ["north", "north", "south"] * 40, "id": range(120)}
)


@pytest.fixture(scope="module")
def fit() -> BackoffFit:
    with pytest.warns(us.errors.ConvergenceWarning):
        return us.BackoffTree().fit(
            FRAME, synthesize="town", ignore="id", chains=2, warmup=2, draws=40, seed=1
        )


def test_a_frame_is_read_on_the_way(fit: BackoffFit) -> None:
    known = us.read_microdata(FRAME, "town", ignore="id")
    assert fit.data.fingerprint() == known.fingerprint()
    assert isinstance(fit.synthesize(1, seed=1)[0], pd.DataFrame)


def test_what_cannot_be_read_is_refused(fit: BackoffFit) -> None:
    with pytest.raises(InputError, match="synthesize="):
        us.BackoffTree().fit(FRAME)
    with pytest.raises(SettingError, match='nearest: "draws"'):
        us.BackoffTree().fit(fit.data, draw=4)
    with pytest.raises(SettingError, match="leave it out"):
        us.BackoffTree().fit(fit.data, synthesize="town")


def test_diagnostics_name_patterns_and_labels(fit: BackoffFit) -> None:
    names = fit.diagnostics()["quantity"].to_list()
    assert "label_margin[north]" in names
    assert {name for name in names if name.startswith("label_probability")} == {
        f"label_probability[{sex} -> {town}]" for sex in "fm" for town in ("north", "south")
    }
    few = fit.diagnostics(most_cells=2)["quantity"].to_list()
    assert {"label_probability[f -> north]", "label_probability[m -> south]"} < set(few)
    assert isinstance(fit.to_frame(), pd.DataFrame)


def test_levels_of_several_variables_are_told_apart() -> None:
    frame = FRAME.assign(home=FRAME["town"])
    with pytest.warns(us.errors.ConvergenceWarning):
        fit = us.BackoffTree().fit(
            frame, synthesize=["town", "home"], ignore="id", chains=2, warmup=2, draws=30, seed=1
        )
    names = fit.diagnostics()["quantity"].to_list()
    assert {"label_margin[town north]", "label_margin[home north]"} < set(names)
    assert "label_probability[f -> north | south]" in names


def test_chains_are_drawn_as_densities_and_traces(fit: BackoffFit) -> None:
    axes = fit.plot()
    assert axes.shape == (len(fit.draws["released"]), 2)
    name = "expected_matches"
    _, own = plt.subplots(1, 2)
    assert (fit.plot(name, axes=own) == own).all()
    drawn = [line.get_ydata().tolist() for line in own[1].lines]
    assert drawn == fit.draws["released"][name].values.tolist()
    plt.close("all")
    with pytest.raises(SettingError, match='nearest: "expected_matches"'):
        fit.plot("expected_match")


def test_a_notebook_shows_every_quantity_with_its_chains(fit: BackoffFit) -> None:
    page = fit._repr_html_()
    quantities = {**fit.draws["released"]}
    assert all(name.replace("_", " ") in page for name in quantities)
    assert page.count("<polyline") >= 2 * len(quantities)
    assert repr(fit) in page
