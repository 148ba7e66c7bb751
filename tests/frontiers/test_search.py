"""Where a search looks next, what is dominated, what is recommended; and coarser data."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data

import understudy as us
from understudy.errors import SettingError
from understudy.findings.frontier_schema import (
    FrontierFindings,
    FrontierPoint,
    MeasuredPoint,
    OrderRatio,
)
from understudy.findings.schema import AttackFindings, OwnRecordFindings
from understudy.frontiers.dials import Curve, Point, curves, grid
from understudy.frontiers.fit_points import first_points
from understudy.frontiers.measure_points import graded_point
from understudy.frontiers.search import dominated, next_points, recommend
from understudy.microdata.coarsening import coarsening_of
from understudy.microdata.codebook import codebook_from, codebook_text
from understudy.pages.frontier_page import frontier_page
from understudy.study.frontier_plan import DialsPlan
from understudy.study.plan import plan_from
from understudy.synthesis.reuse_draws import reuse_draws
from understudy.verdict.thresholds import Thresholds

PLAN = {"data": {"file": "bundled:ce-like", "synthesize": ["county"]}}
pytestmark = pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")


def point(name: str, position: float, ratio: float, **changed: Any) -> FrontierPoint:
    measured = MeasuredPoint(
        name=name,
        title=name,
        kind="backoff",
        group="point",
        dials={},
        settings={},
        m=2,
        fingerprint="",
        ratios=(OrderRatio(order=1, ratio=ratio, error=None),),
        own_record=OwnRecordFindings(evidence="draws", attacks=(), n_records=1),
        **{"converged": True, **changed},
    )
    return FrontierPoint(
        measured=measured,
        position=position,
        position_error=0.0,
        outcome="pass" if position <= 0.25 else "review",
        attack="",
        right_labels=None,
        dominated=False,
    )


def test_the_recommended_point_is_the_most_useful_that_passes() -> None:
    points = [point("a", 0.1, 1.5), point("b", 0.2, 1.1), point("c", 0.3, 0.9)]
    assert recommend(points)[0] == "b"
    unconverged = point("d", 0.2, 1.0, converged=False)
    name, why = recommend([*points, unconverged])
    assert name == "b"
    assert why.startswith("It is the most useful of the 3 points (of 4)")
    assert why.endswith("passes, not counting 1 whose chains have not converged.")
    assert recommend([unconverged])[0] == "d"
    assert recommend(points[2:])[0] is None


def test_the_worst_order_of_tables_counts() -> None:
    """As in a study's verdict; older folders have a mean beside it, which is left out."""
    orders = [{"order": 1, "ratio": 1.3, "error": 0.1}, {"order": 2, "ratio": 1.1, "error": 0.2}]
    old = {**point("a", 0.1, 1.0).measured.model_dump(), "ratios": orders, "ratio": 1.2}
    measured = MeasuredPoint.model_validate({**old, "ratio_error": 0.3})
    assert (measured.ratio, measured.ratio_error) == (1.3, 0.1)
    assert point("a", 0.1, 1.0).measured.model_copy(update={"ratios": ()}).ratio is None


def test_dominated_points() -> None:
    points = [
        point("a", 0.1, 1.5),
        point("b", 0.2, 1.5),
        point("c", 0.2, 1.0),
        point("d", 0.1, 1.5),
    ]
    assert dominated(points) == {"b"}


def test_a_search_halves_the_gap_that_the_limit_lies_in() -> None:
    curve = Curve(DialsPlan(model="backoff", between={"scale": (0.01, 100.0)}), {}, 20)
    names = {value: curve.point(value).name for value in (0.01, 1.0, 100.0)}
    measured = {
        names[0.01]: point(names[0.01], 0.9, 0.8, curve=curve.name, value=0.01),
        names[1.0]: point(names[1.0], 0.4, 1.0, curve=curve.name, value=1.0),
        names[100.0]: point(names[100.0], 0.1, 1.2, curve=curve.name, value=100.0),
    }
    first, second = next_points([curve], measured, 10)
    assert (first.value, second.value) == (10.0, 0.1)
    assert len(next_points([curve], measured, 1)) == 1
    assert next_points([curve], measured, 0) == []
    near = {
        name: own.model_copy(update={"position": 0.1, "outcome": "pass"})
        for name, own in measured.items()
    }
    alike_ratios = (OrderRatio(order=1, ratio=1.0, error=None),)
    alike = {
        name: own.model_copy(
            update={"measured": own.measured.model_copy(update={"ratios": alike_ratios})}
        )
        for name, own in near.items()
    }
    assert next_points([curve], alike, 10) == []


def test_a_search_goes_on_near_the_limit_before_it_looks_elsewhere() -> None:
    """A narrow gap with the limit in it comes before a wide one, until its ends are near."""
    curve = Curve(DialsPlan(model="backoff", between={"scale": (0.01, 100.0)}), {}, 20)

    def along(*ends: tuple[float, float, float]) -> dict[str, FrontierPoint]:
        return {
            (name := curve.point(value).name): point(
                name, position, ratio, curve=curve.name, value=value
            )
            for value, position, ratio in ends
        }

    wide = along((0.01, 0.9, 0.9), (1.0, 0.27, 1.0), (1.5, 0.24, 1.02), (100.0, 0.1, 3.0))
    first, second = next_points([curve], wide, 10)
    assert (first.value, second.value) == (1.2, 12.0)
    near = along((0.01, 0.9, 0.9), (1.0, 0.27, 1.0), (1.15, 0.24, 1.02), (100.0, 0.1, 3.0))
    first, second = next_points([curve], near, 10)
    assert (first.value, second.value) == (11.0, 0.1)


def test_default_dials() -> None:
    plan = plan_from(PLAN)
    listed = list(grid(plan))
    assert {point.kind for point in listed} == {"backoff", "dpmpm", "formal"}
    assert len({point.name for point in listed}) == len(listed)
    assert sum(curve.ends is not None for curve in curves(plan)) == 1
    formal = [point for point in listed if point.kind == "formal"]
    assert [point.value for point in formal] == [20.0, 60.0, 100.0, 160.0]
    modelled = plan_from({**PLAN, "data": {**PLAN["data"], "missing": "model"}})
    assert {point.kind for point in grid(modelled)} == {"dpmpm"}  # others do not take holes
    imputed = {**PLAN, "data": {**PLAN["data"], "missing": "model"}, "imputations": 4}
    assert first_points(plan_from(imputed))
    dial = {"dials": [{"model": "dpmpm", "vary": {"sets": [8, 20]}}]}
    with pytest.raises(SettingError, match="a dial that changes them"):
        first_points(plan_from({**imputed, "frontier": dial}))
    shared = plan_from(
        {**PLAN, "frontier": {"dials": [{"model": "dpmpm", "vary": {"class_draw": ["kept", "full"],
                                                                   "sets": [5, 20]}}]}}
    )  # fmt: skip
    assert len({point.fit_key for point in grid(shared)}) == 1


def declared(*dials: dict[str, Any]) -> list[Point]:
    return first_points(plan_from({**PLAN, "frontier": {"dials": list(dials)}}))


def test_blocks_that_differ_in_what_is_fixed_have_points_of_their_own() -> None:
    """The first block's names do not change when another one is added."""
    first = {"model": "dpmpm", "vary": {"level_prior": [1.0, 0.1]}}
    longer = {**first, "fixed": {"warmup": 20_001, "sampler": "blocked"}}
    other = {**first, "fixed": {"warmup": 20_000}}
    alone = [declared_point.name for declared_point in declared(first)]
    assert alone == ["dpmpm-level-prior-1", "dpmpm-level-prior-0.1"]
    names = [declared_point.name for declared_point in declared(first, longer, other, first)]
    assert names[:2] == alone
    assert names[2] == "dpmpm-level-prior-1-warmup-20001-sampler-blocked"
    assert names[4] == "dpmpm-level-prior-1-warmup-2e-04"
    assert len(names) == 6
    later = declared({**longer, "vary": {"n_classes": [10]}}, first)
    assert [declared_point.name for declared_point in later] == ["dpmpm-n-classes-10", *alone]
    searched = {"model": "backoff", "between": {"scale": [0.1, 10.0]}}
    again = {**searched, "fixed": {"draws": 300}}
    points = declared(searched, again)
    assert len(points) == 6
    assert len({point.curve for point in points}) == 2


def test_chains_of_a_point_go_on_until_they_meet_unless_the_plan_says_how_long() -> None:
    """A study of the point has the lengths of a study."""
    dials = {"model": "dpmpm", "vary": {"level_prior": [1.0]}}
    (free,) = declared(dials)
    assert (free.planned.options["draws"], free.planned.options["until"].most_draws) == (250, 500)
    assert set(free.plan) == {"model", "level_prior"}
    (fixed,) = declared({**dials, "fixed": {"draws": 300}})
    assert (fixed.planned.options["draws"], fixed.planned.options["until"]) == (300, None)
    longer = {**dials, "fixed": {"draws": 300, "until": {"most_draws": 3000}}}
    (point,) = declared(longer)
    assert point.planned.options["until"].most_draws == 3000
    assert point.plan["until"] == {"most_draws": 3000}


def test_values_that_are_nearly_alike_have_points_of_their_own() -> None:
    points = declared({"model": "dpmpm", "vary": {"level_prior": [0.12341, 0.12342, 0.1]}})
    assert [point.name for point in points] == [
        "dpmpm-level-prior-0.12341", "dpmpm-level-prior-0.12342", "dpmpm-level-prior-0.1"
    ]  # fmt: skip


def test_a_vector_as_a_dial_has_a_name_that_a_file_can_have() -> None:
    vectors = [{"county": [0.5 + step / 1000] * 133} for step in (1, 2)]
    points = declared({"model": "dpmpm", "vary": {"level_prior": [*vectors, {"county": [0.5, 1]}]}})
    names = [point.name for point in points]
    assert len(set(names)) == 3
    assert max(map(len, names)) < 100
    assert names[2] == "dpmpm-level-prior-county-0.5-1"


def test_points_that_would_have_one_name_are_refused() -> None:
    """Names are in small letters, and those of variables need not be."""
    steps = [{"Town": 1}, {"town": 1}]
    with pytest.raises(SettingError, match="two different points"):
        declared({"model": "backoff", "vary": {"coarsen": steps}})


def test_another_class_draw_of_the_same_fit_is_that_of_a_fit_of_its_own() -> None:
    data = small_data()
    fit = quiet_fit(us.DPMPM(), data, seed=1)
    direct = quiet_fit(us.DPMPM(class_draw="full"), data, seed=1)
    again = reuse_draws(fit, class_draw="full")
    first, second = (quiet_sets(drawn_from, m=3, seed=7) for drawn_from in (again, direct))
    assert np.array_equal(first.codes, second.codes)
    assert not np.array_equal(first.codes, quiet_sets(fit, m=3, seed=7).codes)
    mine, theirs = again.chain_draws, direct.chain_draws
    kept = [number for number, _ in theirs.snapshots[0]]
    assert np.allclose(mine.label_probability, theirs.label_probability[:, kept])
    for name, values in theirs.sums.items():
        assert np.allclose(mine.sums[name], values[:, kept])
    assert again.diagnostics().equals(again.diagnostics())
    back = reuse_draws(again, class_draw="kept")
    assert np.allclose(back.chain_draws.label_probability, fit.chain_draws.label_probability)


BOOK = {
    "variables": {
        "town": {
            "levels": ["a", "b", "c", "d"],
            "hierarchy": [{"ab": ["a", "b"]}, {"ab": ["a", "b"], "cd": ["c", "d"]}],
        },
        "sex": {"levels": ["f", "m"]},
    },
    "impossible": [{"town": ["a", "b"], "sex": ["f"]}, {"town": ["c"], "sex": ["f"]}],
}


def test_levels_are_merged_by_a_step_of_the_hierarchy() -> None:
    frame = pl.DataFrame({"sex": ["m", "m", "f", "m"], "town": ["a", "b", "d", "c"]})
    data = us.read_microdata(frame, synthesize="town", codebook=BOOK)
    book = codebook_from(BOOK)
    assert coarsening_of(data, book, {"town": 0}) is None
    merged, more = (coarsening_of(data, book, {"town": step}) for step in (1, 2))
    assert merged is not None
    assert more is not None
    coarse, coarser = merged.coarse, more.coarse
    assert coarse.variable("town").levels == ("ab", "c", "d")
    assert coarse.frame()["town"].to_list() == ["ab", "ab", "d", "c"]
    assert coarse.impossible == ({"town": ("ab",), "sex": ("f",)}, {"town": ("c",), "sex": ("f",)})
    assert int(coarse.counts.sum()) == 4
    assert coarser.variable("town").levels == ("ab", "cd")
    assert coarser.impossible == ({"town": ("ab",), "sex": ("f",)},)
    with pytest.raises(SettingError, match="from 1 to 2"):
        coarsening_of(data, book, {"town": 3})
    with pytest.raises(SettingError, match="a hierarchy of"):
        coarsening_of(data, book, {"sex": 1})


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ({}, "merges nothing"),
        ({"ab": ["a"], "ac": ["a"]}, "twice"),
        ({"ax": ["x"]}, "not among the levels"),
    ],
)
def test_hierarchies_that_cannot_be_used(step: dict[str, list[str]], words: str) -> None:
    book = {"variables": {"town": {"levels": ["a", "b"], "hierarchy": [step]}}}
    with pytest.raises(SettingError, match=words):
        codebook_from(book)


def test_a_hierarchy_comes_back_from_toml() -> None:
    import tomllib

    book = codebook_from(BOOK)
    assert codebook_from(tomllib.loads(codebook_text(book))) == book


def attacked(effect: float, totals: float = 0.0) -> MeasuredPoint:
    """A point whose worst attack has this effect, beside 20 records of the exact table."""
    row = {
        "attack": "row", "words": "believe the row", "setting": "worst case", "known": (),
        "with_record": 30.0, "without_record": 30.0 - effect, "effect": effect,
        "standard_error": 0.1, "exact_table": 20.0, "position": effect / 20,
        "position_error": 0.005, "doubtful": 0.0, "totals": totals,
    }  # fmt: skip
    own = OwnRecordFindings(
        evidence="draws", attacks=(AttackFindings.model_validate(row),), n_records=100
    )
    return point("a", 0.0, 1.0).measured.model_copy(update={"own_record": own})


@pytest.mark.parametrize(
    ("effect", "totals", "outcome", "words"),
    [
        (4.9, 0.0, "pass", ""),
        (6.5, 0.0, "pass", "above that by 1.50 records; up to 2"),
        (9.0, 9.0, "pass", "totals alone have an effect of 9"),
        (9.0, 0.0, "review", ""),
    ],
)
def test_points_that_pass_above_the_limit_say_why(
    effect: float, totals: float, outcome: str, words: str
) -> None:
    graded = graded_point(attacked(effect, totals), Thresholds())
    assert graded.outcome == outcome
    assert words in graded.above
    assert bool(graded.above) == bool(words)
    findings = FrontierFindings(
        title="t", n_records=100, n_labels=4, data_fingerprint="", points=(graded,), landmarks=(),
        beside=(), own_record_pass=0.25, own_record_review=1.0, recommended="a", why="Because.",
    )  # fmt: skip
    page = frontier_page(findings)
    assert ("Right of the pass limit, and passing: a." in page) == bool(words)
    assert (">passes</text>" in page) == bool(words)
    assert ("so it passes all the same" in page) == bool(words)
