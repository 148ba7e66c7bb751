"""The verdict: every limit, from both sides, and what never passes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import findings_factory as making
from tests.verdict.reasons import of

from understudy.errors import ExitCode, SettingError
from understudy.findings.schema import Findings
from understudy.settings import settings_from
from understudy.summaries import number
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.registry import ESS_TARGET, RHAT_TARGET
from understudy.verdict.grading import position_between
from understudy.verdict.risk_reasons import (
    OWN_RECORD,
)
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import Verdict, judge


def test_plain_findings_pass() -> None:
    verdict = judge(making.findings())
    assert verdict.outcome == "pass"
    assert verdict.recommended == "one"
    assert verdict.exit_code is ExitCode.DONE
    assert {reason.outcome for reason in verdict.reasons} == {"pass"}
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


LAXER = {"overlap_pass": 0.7, "overlap_review": 0.5, "smallest_pattern": 4}
LAXER |= {
    name: field.default * 1.25
    for name, field in Thresholds.model_fields.items()
    if name not in {*LAXER, "codebook_required"}
}


@pytest.mark.parametrize("name", LAXER)
def test_every_laxer_limit_goes_to_review_and_is_named(name: str) -> None:
    """What a plan loosens cannot pass without a person; what it tightens can."""
    together = {name: LAXER[name]}
    if name.endswith("_pass") and name != "overlap_pass":  # pass may not lie above review
        together[f"{name.removesuffix('_pass')}_review"] = 100 if "rate" not in name else 1.0
        shares = [subject for subject in together if subject.startswith(("within", "passed"))]
        together |= {share: 1.0 for share in shares if "review" in share}
    verdict = judge(making.findings(), settings_from(together, Thresholds, "plan"))
    assert verdict.outcome == "review"
    assert verdict.synthesizers["one"].outcome == "review"
    words = of(verdict, "limits").words
    default = Thresholds.model_fields[name].default
    assert f"{name} is {number(LAXER[name])} (by default {number(default)})" in words


def test_stricter_limits_are_no_reason() -> None:
    strict = Thresholds(own_record_pass=0.2, overlap_pass=0.9, smallest_pattern=6)
    assert "limits" not in {reason.subject for reason in judge(making.findings(), strict).reasons}


@pytest.mark.parametrize(
    ("target", "words"),
    [({"rhat_target": 1.1}, "R-hat has to be below 1.10 (by default 1.01)"),
     ({"ess_target": 50.0}, "the effective sample size has to reach 50 (by default 400)")],
)  # fmt: skip
def test_chains_with_laxer_targets_go_to_review(target: dict[str, float], words: str) -> None:
    chains = making.chains().model_copy(update=target)
    verdict = judge(making.findings([making.synthesizer(convergence=chains)]))
    assert verdict.outcome == "review"
    assert words in of(verdict, "limits").words
    assert of(verdict, "limits").synthesizer == "one"
    assert verdict.synthesizers["one"].converged
    assert (ConvergenceTargets().rhat, ConvergenceTargets().ess) == (RHAT_TARGET, ESS_TARGET)


def test_converged_chains_say_what_was_required() -> None:
    words = of(judge(making.findings()), "convergence").words
    assert "R-hat below 1.01" in words
    assert "at least 400" in words


def test_not_converged_goes_to_review_and_says_what_is_not_covered() -> None:
    bad = making.synthesizer(convergence=making.chains(converged=False))
    verdict = judge(making.findings([bad]))
    assert verdict.outcome == "review"
    assert verdict.recommended == "one"
    assert not verdict.synthesizers["one"].converged
    assert verdict.exit_code is ExitCode.DONE
    words = of(verdict, "convergence").words
    assert "have not converged: 1 of 1 quantities" in words
    assert "combining rules" in words


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"chains": 1}, "One chain"), ({"worst_rhat": 1000.0}, "broke"),
     ({"set_correlation": 0.6}, "depend on each other")],
)  # fmt: skip
def test_chains_that_show_nothing_fail(changes: dict[str, Any], words: str) -> None:
    chains = making.chains().model_copy(update=changes)
    verdict = judge(making.findings([making.synthesizer(convergence=chains)]))
    assert verdict.outcome == "fail"
    assert verdict.exit_code is ExitCode.NOT_CONVERGED
    assert words in of(verdict, "convergence").words


def test_numbers_about_the_model_are_shown_and_not_judged() -> None:
    chains = making.chains()
    row = chains.quantities[0].model_copy(
        update={"quantity": "concentration", "judged": False, "converged": False}
    )
    shown = chains.model_copy(update={"quantities": (*chains.quantities, row)})
    assert (shown.n_judged, shown.n_failed) == (1, 0)
    verdict = judge(making.findings([making.synthesizer(convergence=shown)]))
    assert verdict.outcome == "pass"
    assert "1 number about the model" in of(verdict, "convergence").words


def test_one_that_passes_is_enough() -> None:
    bad = making.synthesizer("bad", convergence=making.chains(converged=False))
    verdict = judge(making.findings([bad, making.synthesizer("good")]))
    assert (verdict.outcome, verdict.recommended) == ("pass", "good")
    assert verdict.synthesizers["bad"].outcome == "review"
    risky = making.synthesizer("risky", own_record=making.own_record(making.attack(position=2.0)))
    single = making.synthesizer(
        "single", convergence=making.chains().model_copy(update={"chains": 1})
    )
    verdict = judge(making.findings([single, risky]))
    assert verdict.exit_code is ExitCode.DO_NOT_RELEASE


def test_labels_paired_at_random_are_looked_at() -> None:
    identification = making.identification(0.9).model_copy(
        update={"alignment": "rows: looks random in set 1 of 2 (5 true labels)"}
    )
    verdict = judge(making.findings([making.synthesizer(identification=(identification,))]))
    assert of(verdict, "alignment").outcome == "review"
    assert "at random in set 1 of 2 (5 true labels). Either" in of(verdict, "alignment").words
    assert verdict.outcome == "review"


def test_the_best_utility_among_the_best_outcome_is_recommended() -> None:
    far = making.synthesizer("far", tables=making.tables(1.4))
    near = making.synthesizer("near", tables=making.tables(1.1))
    best = making.synthesizer(
        "best",
        tables=making.tables(1.0),
        own_record=making.own_record(making.attack(position=0.9)),
    )
    verdict = judge(making.findings([far, near, best]))
    assert verdict.recommended == "near"
    assert verdict.synthesizers["best"].outcome == "review"
    tables = making.tables(1.15)
    uneven = tables.model_copy(update={"deviation": (making.spread(8.0, 8.0), tables.deviation[1])})
    mixed = making.synthesizer("mixed", tables=uneven)  # nearer on average, not in the worst order
    assert judge(making.findings([far, near, mixed])).recommended == "near"


def test_no_synthesizer_is_no_release() -> None:
    verdict = judge(making.findings([]))
    assert (verdict.outcome, verdict.recommended) == ("fail", None)
    assert verdict.exit_code is ExitCode.DO_NOT_RELEASE


def test_threshold_zero_lets_nothing_above_zero_pass() -> None:
    """Row 72 of the bad inputs: zero is a limit, not "no limit"."""
    zero = Thresholds(
        own_record_pass=0.0, true_match_rate_pass=0.0, table_deviation_pass=0.0,
        within_pattern_pass=0.0, smallest_pattern=0,
    )  # fmt: skip
    verdict = judge(making.findings(), zero)
    assert verdict.outcome == "review"
    passed = {reason.subject for reason in verdict.reasons if reason.outcome == "pass"}
    assert passed == {"codebook", "smallest pattern", "group facts", "convergence",
                      "true match rate", "interval overlap"}  # fmt: skip
    assert of(verdict, "true match rate").found == 0.0


def test_limits_must_be_in_order_and_known() -> None:
    with pytest.raises(SettingError, match="own_record_pass above own_record_review"):
        settings_from({"own_record_pass": 2.0}, Thresholds, "plan")
    with pytest.raises(SettingError, match="overlap_pass below overlap_review"):
        settings_from({"overlap_pass": 0.1}, Thresholds, "plan")
    with pytest.raises(SettingError, match="nearest"):
        settings_from({"own_record_pas": 0.5}, Thresholds, "plan")
    with pytest.raises(SettingError, match="greater than or equal to 0"):
        settings_from({"own_record_pass": -0.1}, Thresholds, "plan")


@given(st.floats(-2, 5), st.floats(-2, 5))
def test_more_risk_is_never_judged_better(first: float, other: float) -> None:
    order = ("pass", "review", "fail")

    def outcome(position: float) -> int:
        own = making.own_record(making.attack(position=position))
        made = making.synthesizer(own_record=own)
        return order.index(judge(making.findings([made])).outcome)

    low, high = sorted((first, other))
    assert outcome(low) <= outcome(high)


def test_position_between() -> None:
    assert position_between(5.0, 0.0, 10.0) == 0.5
    assert position_between(15.0, 0.0, 10.0) == 1.5
    assert position_between(-5.0, 0.0, 10.0) == -0.5
    assert position_between(5.0, 10.0, 10.0) is None
    assert position_between(None, 0.0, 10.0) is None


def test_words_have_the_numbers(study: Findings) -> None:
    verdict = judge(study)
    assert all(reason.words.endswith(".") for reason in verdict.reasons)
    for judged in verdict.reasons:
        if judged.subject == OWN_RECORD:
            assert f"{round(judged.found or 0.0, 2):.2f}".replace("-", "−") in judged.words
