"""Rows 96, 102, 103, 108 to 111 and 113: what leaves, who says so, and what is remembered.

The whole of each is in tests/publishing: test_random_rounding, test_methods_page, test_refusals,
test_approval, test_tampering and test_study_register.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import understudy as us
from tests import findings_factory as making
from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study
from understudy.publishing.public_summary import BY_HAND
from understudy.verdict.relaxed import RUNS
from understudy.verdict.verdict import judge

CALL = ("--approve", APPROVAL)


def text_of(public: Path) -> str:
    """Everything that is published but the data and the manifest, which has their hashes."""
    names = ("methods.html", "codebook.html", "codebook.toml", "README.txt")
    return "".join((public / name).read_text(encoding="utf-8") for name in names)


@covers(102)
def test_neighbouring_findings_print_the_same(tmp_path: Path) -> None:
    """Right guesses and matches that differ by one person, as one other label makes them."""
    said = []
    for number, more in enumerate((0.0, 1.0, -1.0)):
        study = Study(tmp_path / f"study {number}")
        study.attribute, study.risk, study.unique = 117.0 + more, 31.0 + more, 22.0 - more
        public = us.release(study.seal().folder, tmp_path / f"public {number}", APPROVAL)
        said.append(text_of(public))
    assert said[0] == said[1] == said[2]


@covers(103)
def test_prior_that_holds_the_counts(tmp_path: Path) -> None:
    study = Study(tmp_path / "study", settings={"level_prior": "131, 72, 68, 28, 1"})
    public = us.release(study.seal().folder, tmp_path / "public", APPROVAL)
    assert BY_HAND in text_of(public)
    assert "131" not in text_of(public)


@covers(109)
@pytest.mark.parametrize("seed", [1, 2**64, 2**127 + 1])
def test_seed_by_hand(tmp_path: Path, command: Command, seed: int) -> None:
    study = Study(tmp_path / "study", seed=seed, seed_from="user").seal()
    answer = command("release", study.folder, "--to", tmp_path / "public", *CALL)
    assert answer.code == 2
    assert "given by hand" in answer.err
    assert str(seed) not in answer.err or seed == 1


@covers(110)
@pytest.mark.parametrize(
    ("key", "says"),
    [("digest", "with the digest of itself"), ("seed", "another form"), ("approvals", "form")],
)
def test_keys_removed_from_the_record(
    tmp_path: Path, command: Command, key: str, says: str
) -> None:
    study = Study(tmp_path / "study", outcome="review").seal()
    path = study.internal / "study.json"
    content = json.loads(path.read_text())
    del content[key]
    path.write_text(json.dumps(content))
    answer = command("release", study.folder, "--to", tmp_path / "public", *CALL)
    assert answer.code == 2
    assert says in " ".join(answer.err.split())


@covers(110)
def test_approvals_removed(tmp_path: Path, command: Command) -> None:
    study = Study(tmp_path / "study").seal()
    us.release(study.folder, tmp_path / "public", APPROVAL)
    (study.internal / "approvals.json").unlink()
    answer = command("release", study.folder, "--to", tmp_path / "second", *CALL)
    assert answer.code == 2
    assert "approvals.json" in answer.err


@covers(111)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Ada Reviewer, 0001-01-01, read by the whole board", 2),
        ("Ada Reviewer, 2026-01-31, asdf asdf asdf", 2),
        ("Ada\x1b[2J Reviewer, 2026-01-31, read by the whole board", 2),
        ("Ada Reviewer, 2026-01-31, aaaa bbbb cccc dddd", 2),
        ("xx, 2026-01-31, read by the whole board", 2),
        ("Ad\u0430 Reviewer, 2026-01-31, read by the whole board", 2),
        ("Ada Reviewer, 2026-01-31, needed for a usability test", 0),
    ],
)
def test_approvals(tmp_path: Path, command: Command, text: str, code: int) -> None:
    study = Study(tmp_path / "study").seal()
    call = ("release", study.folder, "--to", tmp_path / "public", "--approve", text)
    answer = command(*call)
    assert answer.code == code
    assert "\x1b" not in answer.err


@covers(113)
def test_weaker_intruders_and_repeated_runs_are_said() -> None:
    plain = making.findings()
    weaker = plain.model_copy(update={"intruders": ()})
    assert any(reason.subject == "intruders" for reason in judge(weaker).reasons)
    repeated = plain.model_copy(update={"runs": 7, "runs_of_data": 9})
    (reason,) = [reason for reason in judge(repeated).reasons if reason.subject == RUNS]
    assert reason.outcome == "review"
    assert "9 runs of the same people, 7 of them with this plan" in reason.words
    late = plain.model_copy(update={"runs": 1, "runs_of_data": 1, "registered_late": True})
    (reason,) = [reason for reason in judge(late).reasons if reason.subject == RUNS]
    assert reason.outcome == "review"
    assert "begun before it was entered" in reason.words


@covers(96)
def test_no_file_passes_without_a_measured_risk() -> None:
    unmeasured = making.synthesizer(identification=(), attribute=None, own_record=None)
    verdict = judge(making.findings([unmeasured]))
    assert verdict.outcome == "fail"
    assert any("was not measured" in reason.words for reason in verdict.reasons)


@covers(108)
def test_codebook_taken_from_the_file_is_said() -> None:
    observed = making.findings(observed_only=("sex", "town"), rare_levels={"town": 2})
    (reason,) = [reason for reason in judge(observed).reasons if reason.subject == "codebook"]
    assert reason.outcome == "review"
    assert "exactly those that somebody has" in reason.words
    assert '2 of "town"' in reason.words
