"""The register: shopping for a seed that passes can be seen, also after folders are deleted."""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path

import polars as pl
import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study, digest
from tests.publishing.test_refusals import refused
from tests.studies import PLAN, plain_page, run_quietly, write_study
from understudy.errors import (
    CheckpointError,
    FileError,
    OutputError,
    ReleaseRefused,
    SettingError,
    UnderstudyWarning,
)
from understudy.pages import report
from understudy.randomness import DRAWN, GIVEN
from understudy.storage import json_digest
from understudy.study_register import Register
from understudy.verdict.relaxed import RUNS

UNSEEDED = PLAN.replace("seed = 5\n", "")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a plan without a seed, and a page that costs nothing."""
    monkeypatch.setattr(report, "page", plain_page)
    return write_study(tmp_path / "home", UNSEEDED)


def runs_said(study: us.Study) -> tuple[str, str]:
    """What the verdict says about repeated runs."""
    (reason,) = [reason for reason in study.verdict.reasons if reason.subject == RUNS]
    return reason.outcome, reason.words


@covers(144)
@pytest.mark.slow
def test_shopping_for_a_seed_is_seen(plan: Path, tmp_path: Path, command: Command) -> None:
    """Three runs of the same data and plan; the folder of the first is deleted."""
    register = tmp_path / "register"
    first = run_quietly(plan, tmp_path / "a", register=register)
    assert runs_said(first)[0] == "pass"
    shutil.rmtree(tmp_path / "a")
    second = run_quietly(plan, tmp_path / "b", register=register)
    assert runs_said(second)[0] == "review"
    plan.write_text(f'register = "../register"\n{plan.read_text()}')
    third = run_quietly(plan, tmp_path / "c")
    outcome, words = runs_said(third)
    assert outcome == "review"
    assert "3 runs of the same people, 3 of them with this plan" in words
    run_quietly(plan, tmp_path / "c")  # going on is no further run
    entries = Register(register).entries()
    assert [entry["event"] for entry in entries] == ["run", "verdict"] * 3
    assert {entry["seed_from"] for entry in entries if entry["event"] == "run"} == {DRAWN}
    assert len({entry["study"] for entry in entries}) == 3
    answer = command("run", plan, "--out", tmp_path / "c", "--register", tmp_path / "another")
    assert answer.code == 2
    assert "another one" in answer.err
    # another plan for the same data is named as well, and a seed given by hand is known as such
    other = plan.read_text().replace("draws = 8", "draws = 9")
    plan.write_text(f"seed = {2**100}\n{other}")
    outcome, words = runs_said(run_quietly(plan, tmp_path / "d"))
    assert outcome == "review"
    assert "4 runs of the same people, 1 of them with this plan" in words
    assert Register(register).entries()[-2]["seed_from"] == GIVEN
    record = json.loads((tmp_path / "d" / "internal" / "study.json").read_text())
    assert record["seed_from"] == GIVEN
    assert str(2**100) not in (register / "register.json").read_text()


def registered(study: Study, folder: Path, runs: int = 1) -> Register:
    """Enter a sealed study in a register, as one of several runs."""
    register = Register(folder)
    record = study.record()
    facts = {"data": "p1" * 32, "plan": json_digest(record["identity"]["plan"])}
    for number in range(1, runs):
        register.add("run", {"study": f"other {number}", **facts})
    register.add("run", {"study": "this", **facts})
    verdict = digest((study.internal / "verdict.json").read_bytes())
    entry = register.add("verdict", {"study": "this", "verdict_digest": verdict})
    kept = {"folder": str(register.folder), "study": "this", "entry": entry, "people": "p1" * 32}
    study.write_study({**record, "register": kept})
    return register


def test_release_is_entered(study: Study, public: Path, tmp_path: Path, command: Command) -> None:
    register = registered(study, tmp_path / "register")
    call = ("release", study.folder, "--to", public, "--approve", APPROVAL)
    answer = command(*call, "--register", tmp_path / "register")
    assert answer.code == 0
    assert "The register has 1 run of the same data and plan." in answer.out
    last = register.entries()[-1]
    assert (last["event"], last["approved_by"]) == ("release", "Ada Reviewer")
    assert study.record()["register"]["entry"] == json_digest(last)
    us.release(study.folder, public.with_name("second"), APPROVAL)


def test_one_of_several_runs_needs_a_reason(study: Study, public: Path, tmp_path: Path) -> None:
    """Also where the others were made after this one was judged."""
    registered(study, tmp_path / "register", runs=5)
    refused(study, public, ReleaseRefused, "5 runs in the register")
    us.release(study.folder, public, APPROVAL, reason="the first four had a wrong codebook")
    kept = json.loads((study.internal / "approvals.json").read_text())[0]
    assert kept["runs"] == {"same plan": 5, "same data": 5}


def test_register_that_was_tampered_with(study: Study, public: Path, tmp_path: Path) -> None:
    register = registered(study, tmp_path / "register", runs=3)
    path = tmp_path / "register" / "register.json"
    whole = register.entries()
    reason = "looked at by the whole board"
    for entries, says in [
        (whole[1:], "does not follow"),
        (whole[:-1], "one without it"),
        ([{**whole[0], "data": "other"}, *whole[1:]], "does not follow"),
        ([], "one without it"),
    ]:
        path.write_text(json.dumps(entries))
        refused(study, public, FileError, says, reason=reason)
    path.write_text("[1]")
    refused(study, public, FileError, "cannot be read", reason=reason)
    path.write_text(json.dumps([{"previous": None, "event": "run", "data": whole[0]["data"]}]))
    refused(study, public, FileError, "entries about studies", reason=reason)
    shutil.rmtree(tmp_path / "register")
    refused(study, public, FileError, "the register of this study", reason=reason)


def test_verdict_and_findings_forged_with_all_digests(
    study: Study, public: Path, tmp_path: Path
) -> None:
    """Whoever rewrites the whole internal folder is found out by the register."""
    study.outcome = "fail"
    registered(study.seal(), tmp_path / "register")
    kept = study.record()["register"]
    study.outcome = "pass"
    study.seal()
    study.write_study({**study.record(), "register": kept})
    refused(study, public, FileError, "the verdict that the register has")


def test_register_that_the_study_is_not_in(study: Study, public: Path, tmp_path: Path) -> None:
    refused(study, public, ReleaseRefused, "entered in the register", register=tmp_path / "r")
    registered(study, tmp_path / "register")
    refused(study, public, SettingError, "another one", register=tmp_path / "r")


@covers(143)
def test_register_in_a_bad_place(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to(tmp_path)
    for name in ("file", "link"):
        with pytest.raises(CheckpointError):
            Register(tmp_path / name)
    made = Register(tmp_path / "deep" / "register")
    assert made.folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.docx").write_text("")
    (tmp_path / "full").chmod(0o755)
    with pytest.raises(OutputError, match="one that holds other things"):
        Register(tmp_path / "full")
    assert (tmp_path / "full").stat().st_mode & 0o777 == 0o755


@covers(143)
def test_registers_and_releases_lie_apart(study: Study, public: Path, tmp_path: Path) -> None:
    register = registered(study, tmp_path / "register")
    refused(study, register.folder / "public", OutputError, "inside of a register")
    us.release(study.folder, public, APPROVAL)
    for folder in (public, public / "register"):
        with pytest.raises(OutputError, match="inside a release"):
            Register(folder)
    with pytest.raises(OutputError, match="inside a study"):
        Register(study.folder / "register")


@covers(144)
def test_the_same_people_are_known_again(tmp_path: Path) -> None:
    """Sorted rows, a longer codebook, another kept column: the same labels, so the same people."""
    frame = pl.DataFrame({"sex": ["f", "m", "m", "f"], "age": ["old", "old", "new", "old"],
                          "town": ["south", "north", "north", "west"]})  # fmt: skip
    book = {"variables": {"town": {"levels": ["east", "north", "south", "west"]}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        plain, *alike = (
            us.read_microdata(frame, "town").people_digest(),
            us.read_microdata(frame.sort("town"), "town").people_digest(),
            us.read_microdata(frame, "town", ignore="sex").people_digest(),
            us.read_microdata(frame, "town", codebook=book, unused_levels="keep").people_digest(),
        )
        other = us.read_microdata(frame.head(3), "town").people_digest()
    assert alike == [plain] * 3
    assert other != plain


@covers(144)
@pytest.mark.slow
def test_a_study_that_is_registered_afterwards(plan: Path, tmp_path: Path) -> None:
    """Whoever registers only the run that passed is found out."""
    run_quietly(plan, tmp_path / "a")
    outcome, words = runs_said(run_quietly(plan, tmp_path / "a", register=tmp_path / "register"))
    assert outcome == "review"
    assert "begun before it was entered" in words
    assert Register(tmp_path / "register").entries()[0]["late"] is True
    assert runs_said(run_quietly(plan, tmp_path / "a"))[0] == "review"  # and stays so
