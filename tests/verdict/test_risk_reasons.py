"""What an intruder learns: every limit from both sides."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests import findings_factory as making
from tests.bad_inputs.cases import covers
from tests.verdict.reasons import of

from understudy.errors import ExitCode
from understudy.findings.schema import AttackFindings, FullySyntheticFindings
from understudy.randomness import stream
from understudy.verdict.grading import Reason
from understudy.verdict.risk_reasons import (
    FALSE_ALARM,
    OWN_RECORD,
    _chance_repeats,
    _copies,
)
from understudy.verdict.verdict import judge


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
