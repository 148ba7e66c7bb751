"""Rows 97 to 101: folders that somebody else prepared, opened or put one into the other.

`tests/test_private_folder.py` plants links at every instant.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study
from tests.studies import run_quietly, write_study
from understudy.errors import CheckpointError, OutputError
from understudy.private_folder import PrivateFolder, release_above
from understudy.study.folder import StudyFolder


@covers(97)
@pytest.mark.parametrize("name", ["lock", ".study.json.part"])
def test_folder_prepared_by_somebody_else(tmp_path: Path, command: Command, name: str) -> None:
    """The program ends with a message, and the file behind the link is as it was."""
    plan = write_study(tmp_path / "mine")
    internal, victim = tmp_path / "study" / "internal", tmp_path / "victim"
    internal.mkdir(parents=True)
    internal.chmod(0o777)
    victim.write_text("precious")
    (internal / name).symlink_to(victim)
    answer = command("run", plan, "--out", tmp_path / "study")
    assert answer.code == 2
    assert "a link, or a file that somebody else put there" in answer.err
    assert victim.read_text() == "precious"
    assert not (internal / "study.json").exists()


@covers(98)
def test_link_planted_during_a_run(tmp_path: Path) -> None:
    loot = tmp_path / "loot"
    with StudyFolder(tmp_path / "internal", {}, None, 1) as folder:
        (tmp_path / "internal" / "report.html").symlink_to(loot)
        with pytest.raises(CheckpointError, match="a link"):
            folder.save("report", [("report.html", b"confidential")])
    assert not loot.exists()


@covers(99)
def test_study_that_was_opened_to_others(tmp_path: Path, command: Command) -> None:
    study = Study(tmp_path / "a study").seal()
    study.internal.chmod(0o777)
    call = ("release", study.folder, "--to", tmp_path / "public", "--approve", APPROVAL)
    answer = command(*call)
    assert answer.code == 2
    repair = f"chmod 700 '{study.internal}'"
    assert repair in " ".join(answer.err.split())
    assert not (tmp_path / "public").exists()
    study.internal.chmod(0o700)
    assert command(*call).code == 0


@covers(99)
def test_study_with_a_file_that_links_elsewhere(tmp_path: Path) -> None:
    study = Study(tmp_path / "study").seal()
    real = study.internal / "findings.json"
    real.rename(tmp_path / "findings.json")
    real.symlink_to(tmp_path / "findings.json")
    with pytest.raises(CheckpointError, match="a link"):
        us.release(study.folder, tmp_path / "public", APPROVAL)


@covers(100)
def test_lock_deleted_during_a_run(tmp_path: Path) -> None:
    with StudyFolder(tmp_path / "internal", {}, None, 1) as first:
        (tmp_path / "internal" / "lock").unlink()
        with StudyFolder(tmp_path / "internal", {}, None, 1) as second:
            with pytest.raises(CheckpointError, match="removed or replaced its lock"):
                first.save("a", [("a", b"1")])
            second.save("a", [("a", b"2")])


@covers(101)
def test_confidential_and_public_folders_are_never_one_in_the_other(
    tmp_path: Path, command: Command
) -> None:
    study, other = Study(tmp_path / "study").seal(), Study(tmp_path / "other").seal()
    public = us.release(study.folder, tmp_path / "public", APPROVAL)
    plan = write_study(tmp_path / "mine")
    for out in (public, public / "figures" / "x", public / "new" / "study"):
        with pytest.raises(OutputError, match="inside a release"):
            run_quietly(plan, out)
        answer = command("run", plan, "--out", out)
        assert answer.code == 2
        assert "inside a release" in " ".join(answer.err.split())
    with pytest.raises(OutputError, match="inside a study"):
        run_quietly(plan, other.internal / "x")
    for to in (other.internal / "public", other.internal, other.folder / "public"):
        with pytest.raises(OutputError, match="outside of every study"):
            us.release(study.folder, to, APPROVAL)
        answer = command("release", study.folder, "--to", to, "--approve", APPROVAL)
        assert answer.code == 2
    assert not list(public.rglob("internal"))
    with PrivateFolder(other.internal) as folder:
        assert "public" not in folder.names()


@covers(97)
def test_release_where_anybody_could_replace_its_files(tmp_path: Path, command: Command) -> None:
    """Between building and renaming, another user could put files of their own in its place."""
    study = Study(tmp_path / "study").seal()
    shared = tmp_path / "shared"
    shared.mkdir()
    call = ("release", study.folder, "--to", shared / "public", "--approve", APPROVAL)
    shared.chmod(0o777)
    answer = command(*call)
    assert answer.code == 2
    assert f"chmod o-w {shared}" in " ".join(answer.err.split())
    assert not list(shared.iterdir())
    shared.chmod(0o1777)
    assert command(*call).code == 0


@covers(141)
def test_modules_in_the_folder_that_the_user_works_in(tmp_path: Path) -> None:
    """A planted json.py is not run by the process that parses foreign formats."""
    us.load_ce_like().write(tmp_path / "data.parquet")
    (tmp_path / "json.py").write_text("open('run', 'w').close()\n")
    code = (
        "import sys; sys.path = [entry for entry in sys.path if entry]\n"
        "import understudy as us\n"
        "print(us.read_microdata('data.parquet', 'county').n_records)"
    )
    ended = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout.split() == ["6208"]
    assert not (tmp_path / "run").exists()


@covers(142)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_in_place_of_manifests_are_not_waited_for(tmp_path: Path, command: Command) -> None:
    os.mkfifo(tmp_path / "manifest.json")
    assert release_above(tmp_path / "study") is None
    answer = command("verify", tmp_path)
    assert answer.code == 2
    assert "is not the manifest of a release" in answer.err


@covers(142)
def test_manifests_of_other_users_are_no_releases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manifest.json").write_text('{"kind": "understudy release"}')
    assert release_above(tmp_path / "study") == tmp_path
    monkeypatch.setattr("understudy.private_folder._foreign", lambda _: True)
    assert release_above(tmp_path / "study") is None
