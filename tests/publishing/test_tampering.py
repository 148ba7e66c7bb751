"""What somebody with the internal folder might try: every file changed, removed or forged."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study, digest
from tests.publishing.test_refusals import refused
from understudy.errors import ApprovalNeeded, ExitCode, FileError, SettingError, UnderstudyError
from understudy.publishing.approval import Approval, approvers_so_far
from understudy.storage import json_digest

SECOND = "Bob Second, 2026-02-01, looked at by the data protection officer"


def files_of(study: Study) -> list[str]:
    """All files of a study, by path in the internal folder."""
    return sorted(
        path.relative_to(study.internal).as_posix()
        for path in study.internal.rglob("*")
        if path.is_file() and path.name != "lock"
    )


def test_every_file_of_a_study_is_watched(study: Study, public: Path) -> None:
    """A byte more in any of them, or any of them gone: nothing is released."""
    us.release(study.folder, public, APPROVAL)
    names = files_of(study)
    assert len(names) == 9
    for name in names:
        path = study.internal / name
        content = path.read_bytes()
        for change in (content + b" x", content[:-2], b"", None):
            path.unlink() if change is None else path.write_bytes(change)
            with pytest.raises(UnderstudyError):
                us.release(study.folder, public.with_name("second"), APPROVAL)
            path.write_bytes(content)
    assert not public.with_name("second").exists()
    us.release(study.folder, public.with_name("second"), APPROVAL)


def test_every_value_of_the_record_is_watched(study: Study, public: Path) -> None:
    """Each key removed, or its value changed, with the digest of the whole as it was."""
    path = study.internal / "study.json"
    written = json.loads(path.read_text())
    for key in written:
        for content in (
            {name: value for name, value in written.items() if name != key},
            {**written, key: 0},
            {**written, key: None},
        ):
            if content != written:  # there is no register, so that removing it changes nothing
                path.write_text(json.dumps(content))
                refused(study, public, FileError, "study")
    path.write_text(json.dumps(written))
    us.release(study.folder, public, APPROVAL)


Forge = Callable[[dict[str, Any]], None]
FORGERIES: dict[str, Forge] = {
    "outcome": lambda verdict: verdict.update(outcome="pass"),
    "outcome of one": lambda verdict: verdict["synthesizers"]["dpmpm"].update(outcome="pass"),
    "recommended": lambda verdict: verdict.update(recommended=None),
    "both": lambda verdict: (
        verdict.update(outcome="pass"),
        verdict["synthesizers"]["dpmpm"].update(outcome="pass"),
    )[0],
}


@pytest.mark.parametrize("what", FORGERIES)
@pytest.mark.parametrize("outcome", ["review", "fail"])
def test_verdict_forged_with_all_its_digests(
    study: Study, public: Path, what: str, outcome: str
) -> None:
    """The findings are judged again: what follows from them counts, not what is written."""
    study.outcome = outcome
    study.seal()
    verdict = study.verdict(digest((study.internal / "findings.json").read_bytes()))
    before = json.dumps(verdict)
    FORGERIES[what](verdict)
    if json.dumps(verdict) == before:
        return
    study.reseal("verdict.json", json.dumps(verdict).encode())
    refused(study, public, FileError, "the verdict that follows from the findings")


def test_limits_widened_in_the_verdict_need_a_reason(study: Study, public: Path) -> None:
    study.outcome = "fail"
    study.thresholds = {"small_pattern_share_review": 1.0}
    study.seal()
    refused(study, public, UnderstudyError, "a written reason")


def test_sets_of_another_run_with_forged_findings(study: Study, public: Path) -> None:
    """The digests of the sets are in the findings and in the record: both have to agree."""
    other = Study(study.folder.with_name("other"))
    other.frames = [other.frame(number) for number in (7, 8, 9)]
    other.seal()
    for path in other.sets.iterdir():
        (study.sets / path.name).write_bytes(path.read_bytes())
    refused(study, public, FileError, "set 1 is another file")
    content = (other.internal / "findings.json").read_bytes()
    study.reseal("findings.json", content)
    study.reseal("verdict.json", json.dumps(study.verdict(digest(content))).encode())
    refused(study, public, FileError, "findings about others")


def test_seed_of_another_study(study: Study, public: Path) -> None:
    study.write_study({**study.record(), "seed": 4})
    refused(study, public, FileError, "findings of another seed")


def test_path_that_leads_out_of_the_folder(study: Study, public: Path) -> None:
    record = study.record()
    record["stages"]["all"]["files"]["../secret"] = digest(b"")
    study.write_study(record)
    refused(study, public, FileError, "leads elsewhere")


# Approvals


def approvals(study: Study) -> list[dict[str, Any]]:
    """Read the log of approvals."""
    entries: list[dict[str, Any]] = json.loads((study.internal / "approvals.json").read_text())
    return entries


def write_approvals(study: Study, entries: list[dict[str, Any]]) -> None:
    """Write the log of approvals."""
    (study.internal / "approvals.json").write_text(json.dumps(entries))


def test_approvals_that_were_removed(study: Study, public: Path) -> None:
    us.release(study.folder, public, APPROVAL)
    (study.internal / "approvals.json").unlink()
    says = "no such file, although approvals were given"
    refused(study, public.with_name("second"), FileError, says)


def test_forged_log(study: Study, tmp_path: Path) -> None:
    """An entry changed, removed, swapped or added, with and without a chain that fits."""
    for number in range(3):
        us.release(study.folder, tmp_path / f"public {number}", APPROVAL)
    whole = approvals(study)
    assert [entry["previous"] for entry in whole] == [None, *map(json_digest, whole[:-1])]
    forged = {
        "changed": [{**whole[0], "approved_by": "Nobody"}, *whole[1:]],
        "removed in the middle": [whole[0], whole[2]],
        "swapped": [whole[1], whole[0], whole[2]],
        "added": [*whole, {**whole[2], "previous": "x"}],
        "last removed": whole[:2],
        "last changed": [*whole[:2], {**whole[2], "reason": "another reason, given later"}],
        "added with a chain": [*whole, {**whole[2], "previous": json_digest(whole[2])}],
        "none": [],
    }
    for what, entries in forged.items():
        write_approvals(study, entries)
        with pytest.raises(FileError, match=r"entry|approvals"):
            us.release(study.folder, tmp_path / what, APPROVAL)
    write_approvals(study, whole)
    us.release(study.folder, tmp_path / "whole", APPROVAL)


def test_kill_between_record_and_log(study: Study, public: Path) -> None:
    """The next head was written down, the entry was not, or it was: both are whole."""
    us.release(study.folder, public, APPROVAL)
    record, entries = study.record(), approvals(study)
    study.write_study({**record, "approvals": {"head": None, "next": json_digest(entries[0])}})
    us.release(study.folder, public.with_name("second"), APPROVAL)
    study.write_study({**record, "approvals": {"head": json_digest(entries[0]), "next": "ab"}})
    write_approvals(study, entries)
    us.release(study.folder, public.with_name("third"), APPROVAL)


def test_two_people_have_to_approve(study: Study, public: Path, command: Command) -> None:
    study.approvers = 2
    study.seal()
    call = ("release", study.folder, "--to", public, "--approve")
    answer = command(*call, APPROVAL)
    assert answer.code == ExitCode.WRONG_INPUT
    assert "that of 1, which is recorded; no file was written" in " ".join(answer.err.split())
    for same in (APPROVAL, APPROVAL.replace("Ada Reviewer", "reviewer, ADA")):
        with pytest.raises(ApprovalNeeded, match="that of 1"):
            us.release(study.folder, public, same)
    assert not public.exists()
    us.release(study.folder, public, SECOND)
    assert public.is_dir()
    assert [entry.get("manifest_sha256") is None for entry in approvals(study)] == [
        True,
        True,
        True,
        False,
    ]


def test_approval_of_other_files_does_not_count(study: Study, public: Path) -> None:
    study.approvers = 2
    study.seal()
    with pytest.raises(ApprovalNeeded):
        us.release(study.folder, public, APPROVAL)
    study.frames = [study.frame(number) for number in (7, 8, 9)]
    study.seal()
    with pytest.raises(ApprovalNeeded, match="that of 1"):
        us.release(study.folder, public, SECOND)
    assert not public.exists()


def test_forged_second_approval(study: Study, public: Path) -> None:
    study.approvers = 2
    study.seal()
    with pytest.raises(ApprovalNeeded):
        us.release(study.folder, public, APPROVAL)
    (first,) = approvals(study)
    forged = {**first, "approved_by": "Bob Second", "previous": json_digest(first)}
    write_approvals(study, [first, forged])
    refused(study, public, FileError, "not the last that was given")


def test_fewer_approvers_in_the_record(study: Study, public: Path) -> None:
    """The number is part of what the study is; changing it breaks the record's digest."""
    study.approvers = 2
    study.seal()
    path = study.internal / "study.json"
    path.write_text(path.read_text().replace('"approvers": 2', '"approvers": 1'))
    refused(study, public, FileError, "changed afterwards")


def test_seed_is_called_drawn_by_hand(study: Study, public: Path) -> None:
    study.seed_from = "user"
    study.seal()
    refused(study, public, SettingError, "given by hand")
    path = study.internal / "study.json"
    path.write_text(path.read_text().replace('"user"', '"operating system"'))
    refused(study, public, FileError, "changed afterwards")


@covers(147)
@pytest.mark.parametrize(
    "name", ["Ja\u200dne Doe", "JaneDoe", "Doe, Jane", "Jane Doe_", "JANE  DOE.", "Jané Doe"]
)
def test_one_person_is_not_two(name: str) -> None:
    entry = {"approved_by": "Jane Doe", "files": "f"}
    approval = Approval(name, date(2026, 1, 31), "read by the board")
    assert len(approvers_so_far([entry], "f", approval)) == 1
    other = Approval("Bob Ray", date(2026, 1, 31), "read by the board")
    assert len(approvers_so_far([entry], "f", other)) == 2
