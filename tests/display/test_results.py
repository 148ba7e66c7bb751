"""Every result: a text, a table in a notebook, axes in and out, frames in the user's own kind."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.frontiers.test_search import point
from tests.risk.saturated_fit import SaturatedFit
from tests.risk.test_informed_intruder import PRIOR, files
from tests.risk.test_informed_intruder import survey as invented_survey

import understudy as us
from understudy.display.described import Described, sparkline
from understudy.display.frame_kinds import in_kind
from understudy.display.panels import COLOURS
from understudy.display.result import Shown
from understudy.errors import SettingError
from understudy.findings.frontier_schema import FrontierFindings
from understudy.frontiers.run import Frontier
from understudy.pages.plots.canvas import LIGHT
from understudy.synthesis.sampled_fit import SampledFit
from understudy.verdict.verdict import judge

mpl.use("Agg")
KNOWN = ["sex", "age"]
WITHOUT_PANDAS = {"informed intruder", "combined", "frontier"}  # made from no pandas frame
ELSEWHERE = {"Verdict", "Microdata", "SyntheticSets", "ShownData", "ShownSets"}


def made_frame() -> pd.DataFrame:
    """Make 240 records: two kept variables, and a town that depends on one of them."""
    generator = np.random.default_rng(5)
    sex, age = generator.integers(2, size=240), generator.integers(3, size=240)
    town = (sex + generator.integers(3, size=240)) % 4
    columns = {"sex": sex, "age": age, "town": town}
    return pd.DataFrame({name: codes.astype(str) for name, codes in columns.items()})


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    return us.read_microdata(made_frame(), "town")


@pytest.fixture(scope="module")
def sets(data: us.Microdata) -> us.SyntheticSets:
    return us.Perfect().fit(data).synthesize(3, seed=1)


Measure = Callable[[us.Microdata, us.SyntheticSets], Any]
MEASURES: dict[str, Measure] = {
    "identification": lambda data, sets: us.identification_risk(data, sets, known=KNOWN),
    "identification joint": lambda data, sets: us.identification_risk(data, sets, KNOWN).joint,
    "attribute": us.attribute_risk,
    "attribute joint": lambda data, sets: us.attribute_risk(data, sets).joint,
    "attribution": lambda data, sets: us.attribution_risk(data, sets, KNOWN, "town"),
    "baselines": lambda data, _: us.inherent_risk(data, known=KNOWN, repeats=2, seed=1),
    "baseline": lambda data, _: us.inherent_risk(data, known=KNOWN, repeats=2, seed=1).minimum,
    "lattice": us.risk_lattice,
    "diversity": lambda data, _: us.label_diversity(data),
    "own record": lambda data, sets: us.own_record_effect(data, sets, known=[KNOWN]),
    "expected": lambda data, _: us.expected_risk(data, us.Perfect().fit(data).table, KNOWN),
    "posterior": lambda data, _: us.posterior_risk(
        data, us.Perfect().fit(data).label_tables() * 2, KNOWN
    ),
    "prediction": lambda data, sets: us.prediction_risk(data, sets, seed=1),
    "tables": us.table_utility,
    "within patterns": us.within_pattern_utility,
    "propensity": lambda data, sets: us.propensity_utility(data, sets, repeats=2, seed=1),
    "counts": lambda data, sets: us.count_utility(data, sets, ["town", "sex"], seed=1),
    "regression": lambda data, sets: us.regression_utility(
        data, sets, "sex ~ town", family="logistic", train=200, seed=1
    ),
    "analysis": lambda data, sets: us.analysis_utility(data, sets, share_of_first_town),
    "fully synthetic": lambda *_: us.fully_synthetic_risk(*all_drawn()),
    "informed intruder": lambda *_: informed_risk(),
    "population": lambda *_: us.population_risk(weighted_data()),
    "weighted": lambda *_: us.weighted_utility(
        weighted_data(), [made_frame().assign(weight="1.5")] * 2, seed=1
    ),
    "combined": lambda *_: us.combine_estimates([0.2, 0.3, 0.4], [0.01, 0.02, 0.01]),
    "frontier": lambda *_: Frontier(
        FrontierFindings(
            title="", n_records=1, n_labels=2, data_fingerprint="", landmarks=(), beside=(),
            points=(point("a", 0.1, 1.5), point("b", 0.2, 1.1)), own_record_pass=0.25,
            own_record_review=0.75, recommended="b", why="",
        ),
        Path(),
    ),
    "reference fit": lambda data, _: us.Perfect().fit(data),
}  # fmt: skip


def all_drawn() -> tuple[us.Microdata, list[pd.DataFrame]]:
    """Give data of which every column is synthesized, and a file of other people."""
    frame = made_frame()
    return us.read_microdata(frame, list(frame.columns)), [frame.sample(frac=1.0, random_state=1)]


def informed_risk() -> Any:
    """Measure what an intruder learns who knows all others."""
    data = invented_survey()
    fit = SaturatedFit(data, PRIOR, 50)
    sets = files(SaturatedFit(data, PRIOR, 2), 2)
    return us.informed_intruder_risk(data, fit, sets, lambda less: SaturatedFit(less, PRIOR, 50))


def weighted_data() -> us.Microdata:
    """Give data with survey weights."""
    return us.read_microdata(made_frame().assign(weight="1.5"), "town", weight="weight")


def share_of_first_town(frame: Any) -> tuple[float, float]:
    """Estimate a share and its variance."""
    share = float((frame["town"] == "0").mean())
    return share, share * (1 - share) / len(frame)


@pytest.mark.parametrize("name", MEASURES)
def test_a_result_shows_itself_four_ways(
    name: str, data: us.Microdata, sets: us.SyntheticSets
) -> None:
    result = MEASURES[name](data, sets)
    page = result._repr_html_()
    words = html.unescape(re.sub(r"<[^>]*>", " ", page)).replace("\xa0", " ").split()
    assert set(repr(result).split()) <= set(words)  # the notebook says all that the text says
    for panel in result._panels():
        _, axes = plt.subplots()
        assert result.plot(panel, ax=axes) is axes
        assert len(axes.get_yticklabels()) == min(40, len(result._panels()[panel].names))
        plt.close("all")
    assert isinstance(result.plot(), mpl.axes.Axes)
    plt.close("all")
    for table in result._frames or (None,):
        own: type = pl.DataFrame if name in WITHOUT_PANDAS else pd.DataFrame
        assert isinstance(result.to_frame(table), own)
        assert isinstance(result.to_frame(table, kind="pandas"), pd.DataFrame)
        assert isinstance(result.to_frame(table, kind="polars"), pl.DataFrame)


# They need several sets, or make their own.
OF_SEVERAL_SETS = {
    *("informed intruder", "combined", "analysis"),
    *("counts", "weighted", "regression"),
}


@pytest.mark.parametrize("name", [name for name in MEASURES if name not in OF_SEVERAL_SETS])
def test_one_of_something_is_written_so(
    name: str, data: us.Microdata, sets: us.SyntheticSets
) -> None:
    """Of a single set: "1 set", never "1 sets"."""
    said = repr(MEASURES[name](data, sets[:1]))
    assert not re.search(r"\b1 (sets|files|records|terms|levels|patterns)\b", said), said


def test_no_result_is_left_out(data: us.Microdata, sets: us.SyntheticSets) -> None:
    """Whatever shows itself is among those above, or is tested beside them."""
    made = {type(measure(data, sets)) for measure in MEASURES.values()}
    ours = [kind for kind in subclasses(Shown) if kind.__module__.startswith("understudy.")]
    missing = [kind for kind in ours if not any(issubclass(shown, kind) for shown in made)]
    fits = {kind for kind in missing if issubclass(kind, SampledFit)}
    assert {kind.__name__ for kind in set(missing) - fits} <= ELSEWHERE


def subclasses(kind: type) -> set[type]:
    """List all that inherit from a class."""
    classes: set[type] = set(kind.__subclasses__())
    return classes.union(*map(subclasses, classes))


def test_polars_data_give_polars_frames(sets: us.SyntheticSets) -> None:
    data = us.read_microdata(pl.from_pandas(made_frame()), "town")
    assert isinstance(us.attribute_risk(data, list(sets)).to_frame(), pl.DataFrame)


def test_wrong_names_list_the_right_ones(data: us.Microdata, sets: us.SyntheticSets) -> None:
    result = us.attribute_risk(data, sets)
    with pytest.raises(SettingError, match='"per_set"'):
        result.to_frame("per_sets")
    with pytest.raises(SettingError, match='"matches"'):
        result.plot("match")
    with pytest.raises(SettingError, match='"polars", "pandas", "pyarrow"'):
        result.to_frame(kind="numpy")  # type: ignore[arg-type]


def test_frames_keep_their_types_without_pyarrow() -> None:
    frame = pl.DataFrame(
        {
            "level": pl.Series(["b", "a", None], dtype=pl.Enum(["a", "b", "c"])),
            "count": [1, None, 3],
            "size": [1, 2, 3],
            "share": [0.5, None, 1.0],
            "known": [True, None, False],
            "words": ["x", None, "z"],
        }
    )
    pandas = in_kind(frame, "pandas")
    assert list(pandas["level"].cat.categories) == ["a", "b", "c"]
    assert pandas["count"].dtype == "Int64"
    assert pandas["size"].dtype == np.int64
    assert pandas["share"].isna().tolist() == [False, True, False]
    assert pandas["known"].dtype == "boolean"
    assert pandas["words"].tolist() == ["x", None, "z"]


def test_a_verdict_and_its_reasons(study: Any) -> None:
    verdict = judge(study)
    assert verdict.outcome in verdict._repr_html_()
    assert len(verdict.plot().get_yticklabels()) == len(verdict._panels()["reasons"].names) > 0
    plt.close("all")


def test_texts_are_escaped_and_made_visible() -> None:
    page = Described("<b>", ["a&b"], [["\u202e<i>"]]).html()
    assert "&lt;b&gt;" in page
    assert "a&amp;b" in page
    assert "\u202e" not in page
    assert "<i>" not in page


def test_a_small_line_spans_its_numbers() -> None:
    line = sparkline([[1.0, None, 3.0], [2.0]])
    assert 'aria-label="from 1 to 3"' in line
    assert re.findall(r'points="([^"]*)"', line) == ["2.0,18.0 94.0,2.0", "2.0,10.0"]
    assert sparkline([[1.0]]) == sparkline([]) == ""
    assert sparkline([[float("nan"), None]]) == ""


def test_colours_are_those_of_the_report() -> None:
    assert COLOURS["original"] == LIGHT["original"]
    assert COLOURS["synthetic"] == LIGHT["dpmpm"]
