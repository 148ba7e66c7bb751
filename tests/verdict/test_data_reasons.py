"""What the data say before any synthesizer does: every limit from both sides."""

from __future__ import annotations

import pytest
from tests import findings_factory as making
from tests.bad_inputs.cases import covers
from tests.verdict.reasons import of

from understudy.findings.survey_schema import PassedFindings
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import judge


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
