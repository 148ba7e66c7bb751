"""The verdict: every limit, from both sides, and what never passes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import findings_factory as making

from understudy.errors import ExitCode, SettingError
from understudy.findings.schema import AttributeFindings, Findings
from understudy.settings import settings_from
from understudy.summaries import number
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.registry import ESS_TARGET, RHAT_TARGET
from understudy.verdict.grading import Reason, position_between, risk_position
from understudy.verdict.verdict import Thresholds, Verdict, judge


def of(verdict: Verdict, subject: str) -> Reason:
    """Find the one reason with this subject."""
    (found,) = [one for one in verdict.reasons if one.subject == subject]
    return found


def test_plain_findings_pass() -> None:
    verdict = judge(making.findings())
    assert verdict.outcome == "pass"
    assert verdict.recommended == "one"
    assert verdict.exit_code is ExitCode.DONE
    assert {one.outcome for one in verdict.reasons} == {"pass"}
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.parametrize(
    ("match", "outcome"), [(4.0, "pass"), (8.0, "pass"), (8.2, "review"), (10.0, "review"),
                           (10.01, "review"), (10.5, "fail")]
)  # fmt: skip
def test_match_risk_by_its_place(match: float, outcome: str) -> None:
    """Min is 2 and Max 10, so that 8 is position 0.75; two standard errors are 0.02."""
    one = making.synthesizer(identification=(making.identification(match, 4.0),))
    verdict = judge(making.findings([one]))
    assert of(verdict, "expected match risk").outcome == outcome
    assert of(verdict, "expected match risk").found == pytest.approx((match - 2) / 8)
    assert verdict.outcome == outcome
    assert verdict.exit_code is (ExitCode.DO_NOT_RELEASE if outcome == "fail" else ExitCode.DONE)


@pytest.mark.parametrize(("joint", "outcome"), [(4.0, "pass"), (9.0, "review"), (11.0, "fail")])
def test_all_files_are_judged_by_levels_of_their_own(joint: float, outcome: str) -> None:
    one = making.synthesizer(identification=(making.identification(4.0, joint),))
    verdict = judge(making.findings([one]))
    assert of(verdict, "expected match risk").outcome == "pass"
    assert of(verdict, "joint match risk").outcome == outcome


@pytest.mark.parametrize(
    ("own", "joint", "outcomes"),
    [(20.0, 20.0, ("pass", "pass")), (20.0, 38.0, ("pass", "review")), (45.0, 45.0, ("fail",) * 2)],
)
def test_attribute_risk(own: float, joint: float, outcomes: tuple[str, str]) -> None:
    attribute = AttributeFindings(
        matches=making.spread(own, own), joint_matches=joint, most_frequent_label=1.0
    )
    verdict = judge(making.findings([making.synthesizer(attribute=attribute)]))
    assert of(verdict, "attribute risk").outcome == outcomes[0]
    assert of(verdict, "joint attribute risk").outcome == outcomes[1]


def test_every_intruder_is_judged() -> None:
    both = (making.identification(4.0), making.identification(12.0).model_copy(
        update={"known": ("age",)}))  # fmt: skip
    plain = making.findings([making.synthesizer(identification=both)])
    second = plain.intruders[0].model_copy(update={"known": ("age",)})
    verdict = judge(plain.model_copy(update={"intruders": (*plain.intruders, second)}))
    risks = [one for one in verdict.reasons if one.subject == "expected match risk"]
    assert [one.outcome for one in risks] == ["pass", "fail"]
    assert '"age"' in risks[1].words
    assert verdict.outcome == "fail"


def test_an_intruder_without_levels_goes_to_review() -> None:
    verdict = judge(making.findings().model_copy(update={"intruders": ()}))
    assert of(verdict, "expected match risk").outcome == "review"
    assert of(verdict, "attribute risk").outcome == "review"


@pytest.mark.parametrize(("value", "outcome"), [(5.0, "pass"), (5.1, "review"), (5.8, "fail")])
def test_levels_that_coincide_give_no_place(value: float, outcome: str) -> None:
    """Both levels of all files are 5 give or take 0.1, so a place would be noise."""
    plain = making.findings([making.synthesizer(identification=(making.identification(4, value),))])
    same = making.level(5.0, 10.0)
    intruder = plain.intruders[0]
    near = intruder.model_copy(
        update={
            "minimum": intruder.minimum.model_copy(update={"joint": same.joint}),
            "maximum": intruder.maximum.model_copy(update={"joint": same.joint}),
        }
    )
    assert risk_position(value, near, "expected_match_risk", joint=True) is None
    reason = of(judge(plain.model_copy(update={"intruders": (near,)})), "joint match risk")
    assert reason.outcome == outcome
    assert reason.found is None
    assert "too close together" in reason.words


@pytest.mark.parametrize(("rate", "outcome"), [(0.005, "pass"), (0.01, "review"), (0.5, "fail")])
def test_true_match_rate_is_absolute(rate: float, outcome: str) -> None:
    found = making.identification(4.0)
    measures = {**found.measures, "true_match_rate": making.spread(rate, rate)}
    one = making.synthesizer(identification=(found.model_copy(update={"measures": measures}),))
    assert of(judge(making.findings([one])), "true match rate").outcome == outcome


@pytest.mark.parametrize(("ratio", "outcome"), [(0.9, "pass"), (2.0, "pass"), (3, "review"),
                                                (4.1, "fail")])  # fmt: skip
def test_table_deviation(ratio: float, outcome: str) -> None:
    verdict = judge(making.findings([making.synthesizer(tables=making.tables(ratio))]))
    assert of(verdict, "table deviation").outcome == outcome
    assert of(verdict, "table deviation").found == pytest.approx(ratio)


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
    one = making.synthesizer(regressions=(making.regression(overlap, floor),))
    assert of(judge(making.findings([one])), "interval overlap").outcome == outcome


@pytest.mark.parametrize(
    ("overlap", "compared", "outcome"),
    [(0.8, 10, "pass"), (0.8, 5, "pass"), (0.8, 4, "review"), (0.4, 4, "fail")],
)
def test_an_overlap_of_few_coefficients_does_not_pass(
    overlap: float, compared: int, outcome: str
) -> None:
    one = making.synthesizer(regressions=(making.regression(overlap, 0.85, compared),))
    reason = of(judge(making.findings([one])), "interval overlap")
    assert reason.outcome == outcome
    assert (f"over the {compared} of 10 coefficients" in reason.words) == (compared < 10)
    assert ('reference = "largest"' in reason.words) == (compared < 5)


def test_no_analysis_gives_no_reason_about_one() -> None:
    verdict = judge(making.findings([making.synthesizer(regressions=())]))
    assert verdict.outcome == "pass"
    assert not [one for one in verdict.reasons if one.subject == "interval overlap"]


@pytest.mark.parametrize(
    ("sizes", "outcome", "words"),
    [({5: 1}, "pass", "5 records"), ({1: 1}, "review", "one record only"),
     ({1: 30}, "fail", "30 %")],
)  # fmt: skip
def test_smallest_pattern(sizes: dict[int, int], outcome: str, words: str) -> None:
    verdict = judge(making.findings(pattern_sizes=sizes))
    assert of(verdict, "smallest pattern").outcome == outcome
    assert words in of(verdict, "smallest pattern").words
    assert verdict.outcome == outcome


def test_nothing_kept_has_no_patterns_to_judge() -> None:
    verdict = judge(making.findings(kept=(), patterns=()))
    assert not [one for one in verdict.reasons if one.subject == "smallest pattern"]


@pytest.mark.parametrize(
    ("declared", "reviewed", "outcome"),
    [(True, True, "pass"), (True, False, "review"), (False, False, "fail")],
)
def test_codebook(declared: bool, reviewed: bool, outcome: str) -> None:
    found = making.findings(codebook_declared=declared, codebook_reviewed=reviewed)
    assert judge(found).outcome == outcome
    free = judge(found, Thresholds(codebook_required=False))
    assert "codebook" not in {one.subject for one in free.reasons}
    assert "codebook_required is false (by default true)" in of(free, "limits").words
    assert free.outcome == "review"


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
        together |= {one: 1.0 for one in together if "within" in one and "review" in one}
    verdict = judge(making.findings(), settings_from(together, Thresholds, "plan"))
    assert verdict.outcome == "review"
    assert verdict.synthesizers["one"].outcome == "review"
    words = of(verdict, "limits").words
    default = Thresholds.model_fields[name].default
    assert f"{name} is {number(LAXER[name])} (by default {number(default)})" in words


def test_stricter_limits_are_no_reason() -> None:
    strict = Thresholds(match_risk_pass=0.7, overlap_pass=0.9, smallest_pattern=6)
    assert "limits" not in {one.subject for one in judge(making.findings(), strict).reasons}


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


def test_converged_chains_say_what_was_asked_of_them() -> None:
    words = of(judge(making.findings()), "convergence").words
    assert "(required: below 1.01)" in words
    assert "(required: at least 400)" in words


def test_not_converged_never_passes_whatever_else() -> None:
    bad = making.synthesizer(convergence=making.chains(converged=False))
    verdict = judge(making.findings([bad]))
    assert verdict.outcome == "fail"
    assert verdict.recommended is None
    assert verdict.exit_code is ExitCode.NOT_CONVERGED
    assert "NOT converged" in of(verdict, "convergence").words


def test_one_that_converged_is_enough() -> None:
    bad = making.synthesizer("bad", convergence=making.chains(converged=False))
    verdict = judge(making.findings([bad, making.synthesizer("good")]))
    assert (verdict.outcome, verdict.recommended) == ("pass", "good")
    assert verdict.synthesizers["bad"].outcome == "fail"
    assert verdict.exit_code is ExitCode.DONE
    risky = making.synthesizer("risky", identification=(making.identification(50.0),))
    verdict = judge(making.findings([bad, risky]))
    assert verdict.exit_code is ExitCode.DO_NOT_RELEASE


def test_rows_at_random_fail() -> None:
    found = making.identification(0.9).model_copy(update={"alignment": "rows: looks random (...)"})
    verdict = judge(making.findings([making.synthesizer(identification=(found,))]))
    assert of(verdict, "alignment").outcome == "fail"
    assert verdict.outcome == "fail"


def test_fully_synthetic_sets_have_no_row_to_match() -> None:
    one = making.synthesizer(identification=(), attribute=None)
    verdict = judge(making.findings([one]))
    assert verdict.outcome == "pass"
    assert not [reason for reason in verdict.reasons if "risk" in reason.subject]


def test_the_best_utility_among_the_best_outcome_is_recommended() -> None:
    far = making.synthesizer("far", tables=making.tables(1.9))
    near = making.synthesizer("near", tables=making.tables(1.1))
    best = making.synthesizer(
        "best", tables=making.tables(1.0), identification=(making.identification(9.5),)
    )
    verdict = judge(making.findings([far, near, best]))
    assert verdict.recommended == "near"
    assert verdict.synthesizers["best"].outcome == "review"


def test_no_synthesizer_is_no_release() -> None:
    verdict = judge(making.findings([]))
    assert (verdict.outcome, verdict.recommended) == ("fail", None)
    assert verdict.exit_code is ExitCode.DO_NOT_RELEASE


def test_threshold_zero_lets_nothing_above_zero_pass() -> None:
    """Row 72 of the bad inputs: zero is a limit, not "no limit"."""
    zero = Thresholds(
        match_risk_pass=0.0, joint_match_risk_pass=0.0, attribute_risk_pass=0.0,
        joint_attribute_risk_pass=0.0, true_match_rate_pass=0.0, table_deviation_pass=0.0,
        within_pattern_pass=0.0, smallest_pattern=0,
    )  # fmt: skip
    verdict = judge(making.findings(), zero)
    assert verdict.outcome == "review"
    passed = {one.subject for one in verdict.reasons if one.outcome == "pass"}
    assert passed == {"codebook", "smallest pattern", "convergence", "true match rate",
                      "interval overlap"}  # fmt: skip
    assert of(verdict, "true match rate").found == 0.0


def test_limits_must_be_in_order_and_known() -> None:
    with pytest.raises(SettingError, match="match_risk_pass above match_risk_review"):
        settings_from({"match_risk_pass": 2.0}, Thresholds, "plan")
    with pytest.raises(SettingError, match="overlap_pass below overlap_review"):
        settings_from({"overlap_pass": 0.1}, Thresholds, "plan")
    with pytest.raises(SettingError, match="nearest"):
        settings_from({"match_risk_pas": 0.5}, Thresholds, "plan")
    with pytest.raises(SettingError, match="greater than or equal to 0"):
        settings_from({"match_risk_pass": -0.1}, Thresholds, "plan")


@given(st.floats(0, 20), st.floats(0, 20))
def test_more_risk_is_never_judged_better(one: float, other: float) -> None:
    order = ("pass", "review", "fail")

    def outcome(match: float) -> int:
        made = making.synthesizer(identification=(making.identification(match, 4.0),))
        return order.index(judge(making.findings([made])).outcome)

    low, high = sorted((one, other))
    assert outcome(low) <= outcome(high)


def test_place_between() -> None:
    assert position_between(5.0, 0.0, 10.0) == 0.5
    assert position_between(15.0, 0.0, 10.0) == 1.5
    assert position_between(-5.0, 0.0, 10.0) == -0.5
    assert position_between(5.0, 10.0, 10.0) is None
    assert position_between(None, 0.0, 10.0) is None


def test_words_have_the_numbers(study: Findings) -> None:
    verdict = judge(study)
    assert all(one.words.endswith(".") for one in verdict.reasons)
    for one in verdict.reasons:
        if one.subject in {"expected match risk", "attribute risk"}:
            assert f"{round(one.found or 0.0, 2):.2f}".replace("-", "−") in one.words
