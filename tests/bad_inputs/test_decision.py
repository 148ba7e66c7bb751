"""Rows about the decision: limits of zero, rates without matches, R-hats without a spread."""

from __future__ import annotations

from tests import findings_factory as making
from tests.bad_inputs.cases import covers
from understudy.pages.report import page
from understudy.verdict.risk_reasons import OWN_RECORD
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import judge


@covers(72)
def test_a_threshold_of_zero_is_a_limit() -> None:
    strict = Thresholds(own_record_pass=0.0, own_record_review=0.0, own_record_least=0.0)
    verdict = judge(making.findings(), strict)
    (reason,) = [reason for reason in verdict.reasons if reason.subject == OWN_RECORD]
    assert reason.outcome == "fail"
    assert reason.limit == 0.0
    nobody = making.own_record(making.attack(position=0.0))
    verdict = judge(making.findings([making.synthesizer(own_record=nobody)]), strict)
    assert verdict.outcome == "pass"


@covers(77, 80)
def test_undefined_values_are_words_on_the_page() -> None:
    """No unique match leaves the false match rate undefined; a constant has no R-hat."""
    chains = making.chains()
    row = chains.quantities[0].model_copy(update={"rhat": None, "ess_bulk": None})
    constant = chains.model_copy(
        update={"quantities": (row,), "worst_rhat": None, "least_ess": None}
    )
    findings = making.findings([making.synthesizer(convergence=constant)])
    html = page(findings, judge(findings))
    assert "undefined" in html
    for wrong in ("NaN", ">nan", "None", ">inf"):
        assert wrong not in html
