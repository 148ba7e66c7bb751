"""Every condition of the gate: what is refused, in which words, and that nothing was written."""

from __future__ import annotations

import fcntl
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import understudy as us
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study, digest
from understudy.errors import (
    CheckpointError,
    CheckpointWarning,
    ExitCode,
    FileError,
    LevelError,
    NotConvergedError,
    OutputError,
    ReleaseRefused,
    SettingError,
    UnderstudyError,
)
from understudy.findings.schema import VariableFindings


def refused(
    study: Study,
    public: Path,
    kind: type[UnderstudyError],
    says: str,
    approve: Any = APPROVAL,
    **options: Any,
) -> str:
    """Check that nothing is released, that the message has three parts, and nothing is left."""
    before = sorted(str(path) for path in public.parent.rglob("*"))
    with pytest.raises(kind, match=says) as caught:
        us.release(study.folder, public, approve, **options)
    text = str(caught.value)
    assert text.startswith("Expected ")
    assert "; found " in text
    assert " What to do: " in text
    after = [path for path in public.parent.rglob("*") if path.name != "lock"]
    assert [str(path) for path in sorted(after)] == [name for name in before if "lock" not in name]
    return text


def test_what_may_leave_leaves(study: Study, public: Path) -> None:
    assert us.release(study.folder, public, APPROVAL) == public
    assert (public / "manifest.json").is_file()


# The study


@pytest.mark.parametrize("name", ["study.json", "findings.json", "verdict.json", "codebook.json"])
def test_incomplete_study(study: Study, public: Path, name: str) -> None:
    (study.internal / name).unlink()
    refused(study, public, FileError, "not complete")


def test_study_that_never_finished_its_verdict(study: Study, public: Path) -> None:
    """An old verdict lies about, but the study does not count it as finished."""
    study.write_record({"findings.json": digest((study.internal / "findings.json").read_bytes())})
    refused(study, public, FileError, r"verdict\.json is not there or not finished")


def test_no_study_at_all(study: Study, public: Path) -> None:
    for wrong, says in [
        (study.folder.parent / "nowhere", "not found"),
        (study.folder.parent, "one that does not"),
        (study.internal, "the folder above"),
        (study.folder / ("x" * 5000), "not found"),
        (7, "a value of type int"),
    ]:
        with pytest.raises(FileError, match=says):
            us.release(wrong, public, APPROVAL)  # type: ignore[arg-type]
    assert not public.exists()


@pytest.mark.parametrize("content", [b"", b"{", b'{"format": 1}', b"[]", b"\xff\xfe"])
def test_garbled_record(study: Study, public: Path, content: bytes) -> None:
    (study.internal / "study.json").write_bytes(content)
    refused(study, public, FileError, "another form")


def test_other_format(study: Study, public: Path) -> None:
    study.write_study({**study.record(), "format": 1})
    refused(study, public, FileError, "format 1")


def test_record_whose_own_digest_is_wrong_or_gone(study: Study, public: Path) -> None:
    path = study.internal / "study.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps({**written, "seed": 7}))
    refused(study, public, FileError, "changed afterwards")
    path.write_text(json.dumps({**study.record(), "seed": written["seed"]}))
    refused(study, public, FileError, "one without it")
    path.write_text(json.dumps(written, indent=3))  # spaces are no change
    us.release(study.folder, public, APPROVAL)


def test_study_that_is_being_run(study: Study, public: Path) -> None:
    with (study.internal / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(study, public, CheckpointError, "no other process is using")
    us.release(study.folder, public, APPROVAL)


def test_drive_without_locks(study: Study, public: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.warns(CheckpointWarning, match="no locks"):
        assert us.release(study.folder, public, APPROVAL).is_dir()


def test_chains_that_have_not_converged_need_a_reason(study: Study, public: Path) -> None:
    study.converged = False
    study.seal()
    refused(study, public, ReleaseRefused, "a written reason")
    us.release(study.folder, public, APPROVAL, reason="the measures of all chains agree")
    assert "did not agree as closely" in (public / "methods.html").read_text(encoding="utf-8")


def test_chains_that_show_nothing(study: Study, public: Path) -> None:
    study.chains = 1
    study.seal()
    refused(study, public, NotConvergedError, "at least two chains")
    study.chains, study.rhat_target = 4, 1.9
    study.seal()
    refused(study, public, NotConvergedError, "targets of 1.9 and 400")
    study.rhat_target, study.ess_target = 1.05, 3
    study.seal()
    refused(study, public, NotConvergedError, "targets of 1.05 and 3")


@pytest.mark.parametrize("seed", [2026, 2**64, 2**128 - 1])
def test_seed_given_by_hand(study: Study, public: Path, seed: int) -> None:
    """Whatever its size: where it came from was written down."""
    study.seed, study.seed_from = seed, "user"
    study.seal()
    refused(study, public, SettingError, "given by hand")
    us.release(study.folder, public, APPROVAL, guessable_seed=True)


def test_small_seed_of_the_operating_system(study: Study, public: Path) -> None:
    study.seed = 7
    us.release(study.seal().folder, public, APPROVAL)


# What belongs together


def test_changed_set(study: Study, public: Path) -> None:
    path = study.sets / "02.parquet"
    path.write_bytes(path.read_bytes() + b"\0")
    refused(study, public, FileError, "set 2 is another file")


def test_swapped_sets(study: Study, public: Path) -> None:
    first, second = study.sets / "01.parquet", study.sets / "02.parquet"
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    refused(study, public, FileError, "set 1 is another file")


def test_set_too_few_and_too_many(study: Study, public: Path) -> None:
    extra = study.sets / "04.parquet"
    extra.write_bytes((study.sets / "01.parquet").read_bytes())
    refused(study, public, FileError, "4 files, and digests of 3")
    extra.unlink()
    (study.sets / "03.parquet").unlink()
    refused(study, public, FileError, "2 files, and digests of 3")


def test_no_sets(study: Study, public: Path) -> None:
    for path in study.sets.iterdir():
        path.unlink()
    study.sets.rmdir()
    refused(study, public, FileError, "not complete")


def test_verdict_changed_by_hand(study: Study, public: Path) -> None:
    study.outcome = "fail"
    study.seal()
    path = study.internal / "verdict.json"
    path.write_bytes(path.read_bytes().replace(b'"fail"', b'"pass"'))
    refused(study, public, FileError, r"verdict\.json as the study wrote it")


def test_verdict_of_another_study(study: Study, public: Path) -> None:
    other = Study(study.folder.with_name("other"), title="another").seal()
    study.reseal("verdict.json", (other.internal / "verdict.json").read_bytes())
    refused(study, public, FileError, "one on other findings")


def test_findings_of_another_study(study: Study, public: Path) -> None:
    other = Study(study.folder.with_name("other"), title="another").seal()
    content = (other.internal / "findings.json").read_bytes()
    (study.internal / "findings.json").write_bytes(content)
    refused(study, public, FileError, "changed afterwards")
    study.reseal("findings.json", content)
    refused(study, public, FileError, "one on other findings")


def test_findings_about_other_data(study: Study, public: Path) -> None:
    content = (study.internal / "findings.json").read_bytes().replace(b"f1" * 32, b"f2" * 32)
    study.reseal("findings.json", content)
    study.reseal("verdict.json", json.dumps(study.verdict(digest(content))).encode())
    refused(study, public, FileError, "findings about other data")


@pytest.mark.parametrize("change", ["levels", "promise", "variables"])
def test_codebook_of_another_study(study: Study, public: Path, change: str) -> None:
    book = study.codebook()
    if change == "levels":
        book["variables"][2]["levels"] = ["03", "01", "02", "another"]
    elif change == "promise":
        book["reviewed"] = False
    else:
        book["variables"].pop()
    study.reseal("codebook.json", json.dumps(book).encode())
    refused(study, public, FileError, "another one|marked differently")


# The verdict


def test_verdict_fail(study: Study, public: Path, command: Command) -> None:
    study.outcome = "fail"
    study.seal()
    refused(study, public, ReleaseRefused, "do not release", reason="a reason that is no use")
    answer = command("release", study.folder, "--to", public, "--approve", APPROVAL)
    assert answer.code == ExitCode.DO_NOT_RELEASE
    assert not public.exists()


def test_verdict_review_needs_a_reason(study: Study, public: Path) -> None:
    study.outcome = "review"
    study.seal()
    refused(study, public, ReleaseRefused, "written reason")
    for empty in ("", "  ", "...", "ok", "aaaaaaaaaaaaaaaa aaaa", 7):
        refused(study, public, SettingError, "says nothing", reason=empty)
    us.release(study.folder, public, APPROVAL, reason="two small patterns were looked at")
    kept = json.loads((study.internal / "approvals.json").read_text())
    assert kept[0]["written_reason"] == "two small patterns were looked at"


def test_synthesizer_that_was_not_judged(study: Study, public: Path) -> None:
    findings = digest((study.internal / "findings.json").read_bytes())
    verdict = study.verdict(findings) | {"synthesizers": {}}
    study.reseal("verdict.json", json.dumps(verdict).encode())
    refused(study, public, FileError, "the verdict that follows from the findings")


def test_unknown_synthesizer(study: Study, public: Path) -> None:
    text = refused(study, public, SettingError, "dpmpn", synthesizer="dpmpn")
    assert 'nearest: "dpmpm"' in text


def add_second(study: Study, *, converged: bool = True) -> None:
    """Put a second synthesizer into a sealed study."""
    findings = json.loads((study.internal / "findings.json").read_text())
    first = findings["synthesizers"][0]
    chains = first["convergence"] | {"converged": converged}
    findings["synthesizers"].append(first | {"name": "second", "convergence": chains})
    content = json.dumps(findings).encode()
    study.reseal("findings.json", content)
    study.reseal("verdict.json", json.dumps(study.verdict(digest(content))).encode())


@pytest.mark.parametrize("converged", [(False, False), (True, False), (False, True)])
def test_nothing_recommended_because_all_fail(
    study: Study, public: Path, command: Command, converged: tuple[bool, bool]
) -> None:
    """Not the missing name is at fault, whatever the chains did."""
    study.outcome, study.converged = "fail", converged[0]
    add_second(study.seal(), converged=converged[1])
    text = refused(study, public, ReleaseRefused, "at least one of")
    assert '"dpmpm", "second"' in text
    asked = ["release", str(study.folder), "--to", str(public), "--approve", APPROVAL]
    assert command(*asked).code == ExitCode.DO_NOT_RELEASE


def test_files_of_a_second_run_need_a_reason(study: Study, public: Path) -> None:
    """Whoever holds both sets of files knows more than was measured."""
    us.release(study.folder, public, APPROVAL)
    us.release(study.folder, public.with_name("the same again"), APPROVAL)
    study.frames = [study.frame(number) for number in (7, 8, 9)]
    study.seal()
    says = "2 earlier approvals of other files"
    refused(study, public.with_name("second"), ReleaseRefused, says)
    reason = "the first folder was never published"
    us.release(study.folder, public.with_name("second"), APPROVAL, reason=reason)


# The codebook


def test_no_codebook(study: Study, public: Path) -> None:
    study.declared = study.reviewed = False
    study.seal()
    refused(study, public, SettingError, "none: levels that come from the data")


def test_draft_codebook(study: Study, public: Path) -> None:
    study.reviewed = False
    study.seal()
    refused(study, public, SettingError, "a draft")


# The target


def test_target_inside_and_around_the_confidential_folder(study: Study) -> None:
    link = study.folder.with_name("link")
    link.symlink_to(study.internal)
    for target in (
        study.internal,
        study.internal / "public",
        study.internal / "sets" / "deep" / "er",
        study.folder / "elsewhere" / ".." / "internal" / "public",
        link / "public",
        study.folder / "public",
    ):
        with pytest.raises(OutputError, match="outside of every study's folder"):
            us.release(study.folder, target, APPROVAL)
    for target in (study.folder, study.folder.parent):
        with pytest.raises(OutputError, match="does not hold the confidential folder"):
            us.release(study.folder, target, APPROVAL, overwrite=True)


def test_symbolic_link_as_target(study: Study, public: Path) -> None:
    (public.parent / "real").mkdir()
    public.symlink_to(public.parent / "real")
    refused(study, public, OutputError, "symbolic link")
    public.unlink()
    public.symlink_to(public.parent / "dangling")
    refused(study, public, OutputError, "symbolic link", overwrite=True)


@pytest.mark.parametrize("target", ["", "a\0b", 7, None])
def test_no_target(study: Study, target: Any) -> None:
    with pytest.raises(OutputError, match="the path of a folder"):
        us.release(study.folder, target, APPROVAL)


def test_links_in_a_circle(study: Study, public: Path) -> None:
    public.symlink_to(public)
    refused(study, public / "deeper", OutputError, "a folder that does not|system refuses")


def test_parent_must_exist(study: Study, public: Path) -> None:
    refused(study, public / "deeper", OutputError, "a folder that does not")


def test_file_in_the_way(study: Study, public: Path) -> None:
    public.write_text("mine")
    refused(study, public, OutputError, "a file", overwrite=True)
    assert public.read_text() == "mine"


def test_target_that_may_not_be_written(
    study: Study, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def shut(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "mkdtemp", shut)
    refused(study, public, OutputError, "the system refuses")


# Options


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"format": "xlsx"}, "a format as one of"),
        ({"formulas": "keep"}, "refuse.*quote"),
        ({"title": ""}, "the public title"),
        ({"title": "a\nb"}, "the public title"),
        ({"title": "x" * 300}, "the public title"),
        ({"title": None}, "the public title"),
    ],
)
def test_wrong_options(study: Study, public: Path, option: dict[str, Any], says: str) -> None:
    refused(study, public, SettingError, says, **option)


# The sets themselves


def test_impossible_combination(study: Study, public: Path) -> None:
    study.impossible = [{"gender": ["m"], "county": ["01", "02"]}]
    study.seal()
    text = refused(study, public, ReleaseRefused, r"\d+ in set 1")
    assert '"gender", "county"' in text
    study.impossible = [{"gender": ["m"], "county": ["unused", "never"]}, {"other": ["x"]}]
    study.seal()
    us.release(study.folder, public, APPROVAL)
    assert "unused" in (public / "codebook.toml").read_text()
    assert "other" not in (public / "codebook.toml").read_text()


Change = Callable[[pl.DataFrame], pl.DataFrame]
CHANGES: dict[str, tuple[Change, str]] = {
    "a further column": (lambda frame: frame.with_columns(row=pl.lit(1)), "other columns"),
    "a column less": (lambda frame: frame.drop("age"), "other columns"),
    "text": (
        lambda frame: frame.with_columns(pl.col("county").cast(pl.String)),
        "not the codebook's",
    ),
    "another order": (
        lambda frame: frame.with_columns(pl.col("gender").cast(pl.Enum(["m", "f"]))),
        "not the codebook's",
    ),
    "a missing value": (
        lambda frame: frame.with_columns(
            pl.when(pl.int_range(pl.len()) > 0).then(pl.col("county")).alias("county")
        ),
        "missing values",
    ),
    "a row less": (lambda frame: frame.head(239), "239 rows"),
    "no rows": (lambda frame: frame.head(0), "0 rows"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_set_that_is_not_what_the_codebook_says(study: Study, public: Path, what: str) -> None:
    change, says = CHANGES[what]
    study.frames = [change(study.frame(1)), study.frame(2), study.frame(3)]
    study.seal()
    refused(study, public, FileError, says)


def test_set_that_is_no_table(study: Study, public: Path) -> None:
    content = b"PAR1 and nothing else"
    study.reseal("sets/dpmpm/01.parquet", content)
    findings = json.loads((study.internal / "findings.json").read_text())
    findings["set_digests"]["dpmpm"][0] = digest(content)
    study.reseal("findings.json", json.dumps(findings).encode())
    of_findings = digest((study.internal / "findings.json").read_bytes())
    study.reseal("verdict.json", json.dumps(study.verdict(of_findings)).encode())
    refused(study, public, FileError, "cannot be read as a table")


def test_messages_show_no_level(study: Study, public: Path) -> None:
    secret = "Zanzibar-4711"  # noqa: S105
    study.variables[2] = VariableFindings(
        name="county",
        role="synthesized",
        description="",
        levels=("a", f"={secret}"),
        labels={},
    )
    study.seal()
    assert secret not in refused(study, public, LevelError, "formulas")
