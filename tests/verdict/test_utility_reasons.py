"""What an analyst keeps: every limit from both sides."""

from __future__ import annotations

import pytest
from tests import findings_factory as making
from tests.verdict.reasons import of

from understudy.verdict.verdict import judge


@pytest.mark.parametrize(("ratio", "outcome"), [(0.9, "pass"), (1.5, "pass"), (3, "review"),
                                                (3.1, "fail")])  # fmt: skip
def test_table_deviation(ratio: float, outcome: str) -> None:
    verdict = judge(making.findings([making.synthesizer(tables=making.tables(ratio))]))
    assert of(verdict, "table deviation").outcome == outcome
    assert of(verdict, "table deviation").found == pytest.approx(ratio)


def test_the_worst_order_of_tables_is_judged() -> None:
    tables = making.tables(1.0).model_copy(update={"truth_floor": (10.0, 5.0)})
    verdict = judge(making.findings([making.synthesizer(tables=tables)]))
    assert of(verdict, "table deviation").found == pytest.approx(4.0)


def test_a_noise_floor_of_zero() -> None:
    flat = making.tables(0.0).model_copy(update={"truth_floor": (0.0, 0.0)})
    assert judge(making.findings([making.synthesizer(tables=flat)])).outcome == "pass"
    off = making.tables(1.0).model_copy(update={"truth_floor": (0.0, 20.0)})
    reason = of(judge(making.findings([making.synthesizer(tables=off)])), "table deviation")
    assert reason.outcome == "fail"


@pytest.mark.parametrize(("distance", "outcome"), [(0.1, "pass"), (0.3, "pass"), (0.35, "review"),
                                                   (0.9, "fail")])  # fmt: skip
def test_within_pattern(distance: float, outcome: str) -> None:
    verdict = judge(making.findings([making.synthesizer(distance=distance)]))
    assert of(verdict, "within pattern").outcome == outcome


@pytest.mark.parametrize(
    ("overlap", "floor", "outcome"),
    [(0.9, 0.8, "pass"), (0.6, 0.8, "review"), (0.3, 0.8, "fail"), (None, 0.8, "review"),
     (0.8, None, "review")],
)  # fmt: skip
def test_overlap_relative_to_perfect_sets(
    overlap: float | None, floor: float | None, outcome: str
) -> None:
    synthesizer = making.synthesizer(regressions=(making.regression(overlap, floor),))
    assert of(judge(making.findings([synthesizer])), "interval overlap").outcome == outcome


@pytest.mark.parametrize(
    ("overlap", "compared", "outcome"),
    [(0.8, 10, "pass"), (0.8, 5, "pass"), (0.8, 4, "review"), (0.4, 4, "fail")],
)
def test_an_overlap_of_few_coefficients_does_not_pass(
    overlap: float, compared: int, outcome: str
) -> None:
    synthesizer = making.synthesizer(regressions=(making.regression(overlap, 0.85, compared),))
    reason = of(judge(making.findings([synthesizer])), "interval overlap")
    assert reason.outcome == outcome
    assert (f"over the {compared} of 10 coefficients" in reason.words) == (compared < 10)
    assert ('reference = "largest"' in reason.words) == (compared < 5)


def test_no_analysis_gives_no_reason_about_one() -> None:
    verdict = judge(making.findings([making.synthesizer(regressions=())]))
    assert verdict.outcome == "pass"
    assert not [reason for reason in verdict.reasons if reason.subject == "interval overlap"]
