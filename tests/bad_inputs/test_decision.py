"""Rows about the decision: limits of zero, rates without matches, R-hats without a spread."""

from __future__ import annotations

from tests import findings_factory as making
from tests.bad_inputs.cases import covers
from understudy.pages.report import page
from understudy.verdict.verdict import Thresholds, judge


@covers(72)
def test_a_threshold_of_zero_is_a_limit() -> None:
    verdict = judge(making.findings(), Thresholds(match_risk_pass=0.0, match_risk_review=0.0))
    (reason,) = [one for one in verdict.reasons if one.subject == "expected match risk"]
    assert reason.outcome == "fail"
    assert reason.limit == 0.0
    at_min = making.synthesizer(identification=(making.identification(2.0),))
    verdict = judge(making.findings([at_min]), Thresholds(match_risk_pass=0.0))
    assert verdict.outcome == "pass"


@covers(77, 80)
def test_undefined_figures_are_words_on_the_page() -> None:
    """No unique match leaves the false match rate undefined; a constant has no R-hat."""
    chains = making.chains()
    row = chains.quantities[0].model_copy(update={"rhat": None, "ess_bulk": None})
    constant = chains.model_copy(
        update={"quantities": (row,), "worst_rhat": None, "least_ess": None}
    )
    found = making.findings([making.synthesizer(convergence=constant)])
    html = page(found, judge(found))
    assert "undefined" in html
    for wrong in ("NaN", ">nan", "None", ">inf"):
        assert wrong not in html
