"""The verdict: every limit, from both sides, and what never passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import findings_factory as making
from tests.bad_inputs.cases import covers

from understudy.errors import ExitCode, SettingError
from understudy.findings.schema import AttackFindings, Findings, FullySyntheticFindings
from understudy.findings.survey_schema import PassedFindings
from understudy.randomness import stream
from understudy.settings import settings_from
from understudy.summaries import number
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.registry import ESS_TARGET, RHAT_TARGET
from understudy.verdict.grading import Reason, position_between
from understudy.verdict.risk_reasons import (
    FALSE_ALARM,
    OWN_RECORD,
    _chance_repeats,
    _copies,
)
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import Verdict, judge


def of(verdict: Verdict, subject: str) -> Reason:
    """Find the one reason with this subject."""
    (only,) = [reason for reason in verdict.reasons if reason.subject == subject]
    return only


def test_plain_findings_pass() -> None:
    verdict = judge(making.findings())
    assert verdict.outcome == "pass"
    assert verdict.recommended == "one"
    assert verdict.exit_code is ExitCode.DONE
    assert {reason.outcome for reason in verdict.reasons} == {"pass"}
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def judged(*attacks: AttackFindings, **more: Any) -> Reason:
    """Judge one synthesizer by these attacks."""
    own = making.own_record(*attacks, **more)
    return of(judge(making.findings([making.synthesizer(own_record=own)])), OWN_RECORD)


@pytest.mark.parametrize(
    ("position", "error", "outcome"),
    [(-0.2, 0.0, "pass"), (0.0, 0.0, "pass"), (0.25, 0.0, "pass"), (0.29, 0.0, "pass"),
     (0.31, 0.0, "review"), (1.0, 0.0, "review"), (1.04, 0.0, "review"), (1.06, 0.0, "fail"),
     (1.06, 5.0, "review"), (1.3, 5.0, "review"), (1.4, 5.0, "fail")],
)  # fmt: skip
def test_own_record_effect(position: float, error: float, outcome: str) -> None:
    """The exact table's effect is 40 records: two records more than a limit are 0.05 of it."""
    reason = judged(making.attack(position=position, error=error))
    assert reason.outcome == outcome
    assert reason.found == position
    synthesizer = making.synthesizer(
        own_record=making.own_record(making.attack(position=position, error=error))
    )
    verdict = judge(making.findings([synthesizer]))
    assert verdict.outcome == outcome
    assert verdict.exit_code is (ExitCode.DO_NOT_RELEASE if outcome == "fail" else ExitCode.DONE)


def test_a_fraction_of_a_record_never_fails_a_file() -> None:
    """An effect of 6.35 records where the exact table has 5.99."""
    assert judged(making.attack(position=6.35 / 5.99, exact=5.99)).outcome == "review"
    assert judged(making.attack(position=5.0, exact=0.3)).outcome == "pass"


def test_another_seed_cannot_turn_review_into_fail() -> None:
    """Effects that vary by their standard error around the exact table's, for 400 seeds.

    Three standard errors are exceeded with probability 0.0013, 0.5 times on average; more than 5
    times with probability below 1e-4.
    """
    generator = stream(7, "positions around one")
    exact, error = 115.0, 8.0
    failed = sum(
        judged(making.attack("pooled_modal", effect / exact, exact, error)).outcome == "fail"
        for effect in generator.normal(exact, error, 400)
    )
    assert failed <= 5


def test_the_worst_attack_is_named_with_natural_frequencies() -> None:
    reason = judged(
        making.attack("row", 0.1),
        making.attack("match_one_file", 0.9, exact=1.0),
        making.attack("pooled_modal", 0.6),
        making.attack("row", 0.02, setting="as released"),
    )
    assert "most frequent label of the pattern, all files" in reason.words
    assert "44 of 100 right, 44 %; 20 without anybody's own record" in reason.words
    assert "as released, the worst is 0.02" in reason.words
    assert reason.outcome == "review"


def test_a_match_names_its_intruder() -> None:
    reason = judged(making.attack("match_best", 0.9))
    assert 'who knows "sex"' in reason.words
    assert "people found" in reason.words


def test_weak_evidence_and_weights_are_said() -> None:
    assert "weaker evidence" in judged(evidence="others").words
    assert "30 records the weights" in judged(unreliable=40, refitted=10).words
    assert "weights" not in judged(unreliable=40, refitted=40).words


def test_no_measured_risk_never_passes() -> None:
    for own in (None, making.own_record().model_copy(update={"attacks": ()})):
        verdict = judge(making.findings([making.synthesizer(own_record=own)]))
        assert of(verdict, OWN_RECORD).outcome == "fail"
        assert verdict.outcome == "fail"


@pytest.mark.parametrize(
    ("repeated", "chance", "outcome"),
    [(3.0, 4.0, "pass"), (5.9, 4.0, "pass"), (7.0, 4.0, "review"), (12.0, 4.0, "fail"),
     (1.0, 0.0, "pass"), (3.0, 0.0, "fail")],
)  # fmt: skip
def test_fully_synthetic_sets_have_a_verdict_of_their_own(
    repeated: float, chance: float, outcome: str
) -> None:
    risk = FullySyntheticFindings(
        uniques=50,
        repeated=repeated,
        repeated_somewhere=9,
        expected_repeats={"Others": chance, "Marginal": chance / 2},
    )
    guess = making.attack(position=0.1, setting="as released")
    synthesizer = making.synthesizer(
        identification=(),
        attribute=None,
        own_record=making.own_record(guess, evidence="others"),
        fully_synthetic_risk=risk,
    )
    verdict = judge(making.findings([synthesizer], kept=()))
    assert of(verdict, "repeated records").outcome == outcome
    assert of(verdict, OWN_RECORD).outcome == "pass"
    assert verdict.outcome == outcome


@covers(148)
@pytest.mark.parametrize(
    ("repeated", "copies", "outcome"),
    [(63.0, 0, "pass"), (80.0, 0, "fail"), (63.0, 1, "fail")],
)
def test_fully_synthetic_sets_that_hold_the_data_fail(
    repeated: float, copies: int, outcome: str
) -> None:
    """Beyond rows drawn from the records themselves and chance, or with a copy among them."""
    risk = FullySyntheticFindings(
        uniques=100,
        repeated=repeated,
        repeated_somewhere=100,
        expected_repeats={"Others": 63.0},
        perfect_repeats=63.2,
        copies=copies,
    )
    synthesizer = making.synthesizer(
        identification=(),
        attribute=None,
        own_record=making.own_record(making.attack(position=0.1, setting="as released")),
        fully_synthetic_risk=risk,
    )
    reason = of(judge(making.findings([synthesizer], kept=())), "repeated records")
    assert reason.outcome == outcome
    assert ("the very rows" in reason.words) == bool(copies)
    assert ("drawn from the records themselves" in reason.words) == (repeated > 70)


def test_files_that_are_the_confidential_file_fail() -> None:
    """Unless the kept variables decide the label, so that every set is a copy."""
    synthesizer = making.synthesizer()
    copied = synthesizer.model_copy(
        update={"risk": synthesizer.risk.model_copy(update={"copies": 1, "copy_log_chance": -20.0})}
    )
    reason = of(judge(making.findings([copied])), "copies")
    assert reason.outcome == "fail"
    assert "every label is the true one" in reason.words
    decided = copied.model_copy(
        update={"risk": copied.risk.model_copy(update={"copy_log_chance": -1.0})}
    )
    reasons = judge(making.findings([decided])).reasons
    assert "copies" not in {reason.subject for reason in reasons}


@pytest.mark.parametrize(("doubtful", "outcome"), [(0.0, "pass"), (7.9, "pass"), (8.1, "review")])
def test_records_in_doubt_count_as_if_their_own_labels_alone_told(
    doubtful: float, outcome: str
) -> None:
    """Effect 4 of the exact table's 40: two records beyond a quarter of that are 8 more."""
    reason = judged(making.attack("row", 0.1, doubtful=doubtful), unreliable=40, refitted=10)
    assert reason.outcome == outcome
    assert reason.found == 0.1
    assert f"worst would be {(4 + doubtful) / 40:.2f}" in reason.words


@pytest.mark.parametrize(
    ("effect", "error", "outcome"),
    [(7.9, 0.0, "pass"), (8.1, 0.0, "review"), (8.1, 1.0, "pass"), (12.0, 1.0, "review")],
)
def test_an_effect_of_the_totals_alone_passes(effect: float, error: float, outcome: str) -> None:
    """The exact table has clear modes, and an effect of 4; the totals' own is 6."""
    reason = judged(making.attack("modal", effect / 4.0, 4.0, error, totals=6.0))
    assert (reason.outcome == "pass") == (outcome == "pass")


def test_copies_that_chance_explains_are_no_point() -> None:
    """Labels that the kept variables nearly decide: four patterns of ten, nine of them alike.

    Sets drawn from the exact table are copies by chance, one in 670; the number of those among 20
    files alarms at most as often as promised (20,000 times; beyond four standard errors once in
    30,000 seeds). Three copies are beyond chance.
    """
    n_sets, alarms = 20, []
    log_chance = 4 * (9 * np.log(0.9) + np.log(0.1)) / 2  # four patterns of ten people
    generator = stream(9, "copies")
    drawn = generator.random((20_000, n_sets)) < np.exp(log_chance)
    for copies in drawn.sum(axis=1).tolist():
        synthesizer = making.synthesizer()
        risk = synthesizer.risk.model_copy(update={"copies": copies, "copy_log_chance": log_chance})
        alarms.append(bool(_copies(risk, n_sets)))
    assert sum(alarms) <= 20_000 * FALSE_ALARM + 4 * (20_000 * FALSE_ALARM) ** 0.5
    certain = synthesizer.risk.model_copy(update={"copies": 3, "copy_log_chance": log_chance})
    assert _copies(certain, n_sets)


def test_records_in_all_files_may_be_chance() -> None:
    """Poisson numbers, 20,000 of them for each mean: rarely alarms, and a tenfold number always."""
    for mean in (0.0, 0.3, 4.0, 60.0):
        numbers = stream(3, "everywhere").poisson(mean, 20_000)
        values, counts = np.unique(numbers, return_counts=True)
        alarms = sum(
            count
            for value, count in zip(values.tolist(), counts.tolist(), strict=True)
            if not _chance_repeats(everywhere(value, mean), 2.0)
        )
        assert alarms <= 20_000 * FALSE_ALARM + 4 * (20_000 * FALSE_ALARM) ** 0.5
        assert not _chance_repeats(everywhere(int(10 * mean) + 6, mean), 2.0)


def everywhere(number: int, mean: float) -> FullySyntheticFindings:
    """Records that all files have, and how many do by chance."""
    return FullySyntheticFindings(
        uniques=1000,
        repeated=1.0,
        repeated_somewhere=number,
        repeated_everywhere=number,
        expected_everywhere=mean,
        expected_repeats={"Others": 1.0},
    )


def test_weaker_intruders_are_named() -> None:
    verdict = judge(making.findings(kept=("sex", "age")))
    assert of(verdict, "intruders").outcome == "review"
    assert "intruders" not in {reason.subject for reason in judge(making.findings()).reasons}


@pytest.mark.parametrize(("rate", "outcome"), [(0.005, "pass"), (0.01, "review"), (0.5, "fail")])
def test_true_match_rate_is_absolute(rate: float, outcome: str) -> None:
    identification = making.identification(4.0)
    measures = {**identification.measures, "true_match_rate": making.spread(rate, rate)}
    synthesizer = making.synthesizer(
        identification=(identification.model_copy(update={"measures": measures}),)
    )
    assert of(judge(making.findings([synthesizer])), "true match rate").outcome == outcome


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
    assert not [reason for reason in verdict.reasons if reason.subject == "smallest pattern"]


@pytest.mark.parametrize(
    ("declared", "reviewed", "outcome"),
    [(True, True, "pass"), (True, False, "review"), (False, False, "fail")],
)
def test_codebook(declared: bool, reviewed: bool, outcome: str) -> None:
    findings = making.findings(codebook_declared=declared, codebook_reviewed=reviewed)
    assert judge(findings).outcome == outcome
    free = judge(findings, Thresholds(codebook_required=False))
    assert "codebook" not in {reason.subject for reason in free.reasons}
    assert "codebook_required is false (by default true)" in of(free, "limits").words
    assert free.outcome == "review"


def test_undeclared_columns_are_named() -> None:
    findings = making.findings(codebook_declared=False, undeclared=("town",))
    assert 'levels of "town"' in of(judge(findings), "codebook").words


def test_a_codebook_that_only_has_what_was_observed_is_named() -> None:
    """Row 108 of the bad inputs: it may have been taken from the file."""
    same = making.findings(observed_only=("sex", "town"))
    assert of(judge(same), "codebook").outcome == "pass"
    assert "exactly those that somebody has" in of(judge(same), "codebook").words
    rare = making.findings(observed_only=("sex", "town"), rare_levels={"town": 2})
    assert of(judge(rare), "codebook").outcome == "review"
    assert 'only one or two records have: 2 of "town"' in of(judge(rare), "codebook").words
    wider = making.findings(observed_only=("sex",), rare_levels={"town": 2})
    assert of(judge(wider), "codebook").outcome == "pass"


def test_group_facts() -> None:
    assert of(judge(making.findings()), "group facts").outcome == "pass"
    told = of(judge(making.findings(dominated_patterns=2, dominated_records=30)), "group facts")
    assert told.outcome == "review"
    assert "In 2 patterns (30 records)" in told.words
    assert '"sex"' in of(judge(making.findings(deciding=("sex",))), "group facts").words


@pytest.mark.parametrize(
    ("unique", "decides", "outcome"),
    [(0, False, "review"), (1, False, "review"), (2, False, "review"), (50, False, "review"),
     (51, False, "fail"), (0, True, "fail")],
)  # fmt: skip
def test_columns_passed_through(unique: int, decides: bool, outcome: str) -> None:
    column = PassedFindings(
        name="wt", stored="numbers", values=90, alone=80, unique_with_kept=unique, decides=decides
    )
    verdict = judge(making.findings(passed=(column,), passed_unique=unique))
    reason = of(verdict, "columns passed through")
    assert reason.outcome == verdict.outcome == outcome
    assert f'"wt" (numbers) {unique}' in reason.words
    assert ("reads the secret from it" in reason.words) == decides
    assert "as in a name or an identifier" in reason.words


@pytest.mark.parametrize(
    ("alone", "weight", "outcome"), [(50, False, "pass"), (51, False, "review"), (90, True, "pass")]
)
def test_values_of_their_own_are_reviewed_even_where_all_are_alone_already(
    alone: int, weight: bool, outcome: str
) -> None:
    column = PassedFindings(
        name="wt", stored="text", values=90, alone=alone, unique_with_kept=0, weight=weight
    )
    reason = of(judge(making.findings(passed=(column,))), "columns passed through")
    assert reason.outcome == outcome


@covers(150)
def test_columns_passed_through_that_tell_the_label_together() -> None:
    column = PassedFindings(name="a", stored="text", values=6, alone=0, unique_with_kept=0)
    both = making.findings(passed=(column,), passed_together=(("a", "b"),))
    reason = of(judge(both), "columns passed through")
    assert reason.outcome == "fail"
    assert '"a", "b" together nearly decides what is synthesized' in reason.words


def test_nothing_passed_through_is_no_reason() -> None:
    assert "columns passed through" not in {
        reason.subject for reason in judge(making.findings()).reasons
    }


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
def test_more_risk_is_never_judged_better(one: float, other: float) -> None:
    order = ("pass", "review", "fail")

    def outcome(position: float) -> int:
        own = making.own_record(making.attack(position=position))
        made = making.synthesizer(own_record=own)
        return order.index(judge(making.findings([made])).outcome)

    low, high = sorted((one, other))
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
