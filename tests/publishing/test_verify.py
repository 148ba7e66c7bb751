"""``understudy verify``: a public folder against its manifest, and its signature."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

import understudy as us
from tests.bad_inputs.cases import covers
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, Study
from understudy.errors import OutputError, SettingError
from understudy.publishing import manifest
from understudy.publishing.manifest import build_facts, is_whole_release

needs_ssh = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="no ssh-keygen")


@pytest.fixture
def released(study: Study, public: Path) -> Path:
    """Give a public folder."""
    return us.release(study.folder, public, APPROVAL)


def test_whole_folder(released: Path, command: Command) -> None:
    answer = command("verify", released)
    assert answer.code == 0
    assert "Complete and unchanged: 7 files" in answer.out
    assert "Not signed" in answer.out
    told = json.loads(command("verify", released, "--json").out)
    assert told["whole"] is True
    assert told["made_with"] == f"understudy {us.__version__}"


def test_every_file_of_a_release_is_watched(released: Path, command: Command) -> None:
    """A byte more, a file less, a file more, a link: each is named, and the exit code is 2."""
    for path in sorted(path for path in released.rglob("*") if path.is_file()):
        content = path.read_bytes()
        if path.name != "manifest.json":
            path.write_bytes(content + b" ")
            answer = command("verify", released)
            assert answer.code == 2
            assert f'"{path.name}" was changed' in " ".join(answer.err.split())
        path.unlink()
        assert command("verify", released).code == 2
        path.symlink_to("/dev/null")
        assert command("verify", released).code == 2
        path.unlink()
        path.write_bytes(content)
    (released / "notes.txt").write_text("more")
    assert '"notes.txt" does not belong' in " ".join(command("verify", released).err.split())
    (released / "notes.txt").unlink()
    assert command("verify", released).code == 0
    for folder in (released.parent, released.parent / "nowhere"):
        assert command("verify", folder).code == 2


def test_manifest_names_version_and_plan(study: Study, released: Path, tmp_path: Path) -> None:
    """The plan's digest is keyed: the same plan with another seed has another one."""
    first = json.loads((released / "manifest.json").read_text())
    assert first["made_with"] == f"understudy {us.__version__}"
    assert len(first["plan_digest"]) == 64
    other = Study(tmp_path / "other", seed=study.seed + 1).seal()
    second = us.release(other.folder, tmp_path / "public 2", APPROVAL)
    assert json.loads((second / "manifest.json").read_text())["plan_digest"] != first["plan_digest"]


@pytest.mark.parametrize(
    ("origin", "says"),
    [
        ('{"url": "x", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}', {"commit": "abc123"}),
        (
            '{"url": "file:///else/where/x.whl", "archive_info": {"hash": "sha256=ab"}}',
            {"archive": "sha256=ab"},
        ),
        ('{"url": "file:///else/where/src", "dir_info": {"editable": true}}', {}),
        (None, {"wheel": "understudy-1.2-py3-none-any"}),
        ("{", {}),
    ],
)
def test_wheel_or_commit_where_known(
    monkeypatch: pytest.MonkeyPatch, origin: str | None, says: dict[str, str]
) -> None:
    class Installed:
        version = "1.2"

        def read_text(self, name: str) -> str | None:
            return origin if name == "direct_url.json" else "Tag: py3-none-any\n"

    monkeypatch.setattr(manifest, "distribution", lambda _: Installed())
    assert build_facts() == says


# Signatures


def make_key(path: Path) -> Path:
    """Make an SSH key without a passphrase."""
    call = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "office", "-f", str(path)]
    subprocess.run(call, check=True, capture_output=True)
    return path


@needs_ssh
def test_signature(study: Study, public: Path, tmp_path: Path, command: Command) -> None:
    key, other = make_key(tmp_path / "key"), make_key(tmp_path / "other")
    call = ("release", study.folder, "--to", public, "--approve", APPROVAL)
    assert command(*call, "--sign", key).code == 0
    assert is_whole_release(public)
    assert (public / "manifest.json.sig").is_file()
    assert not (public / "key").exists()
    answer = command("verify", public)
    assert answer.code == 0
    assert "Signed with the key SHA256:" in answer.out
    signers = tmp_path / "signers"
    signers.write_text(f"office@example.org {key.with_suffix('.pub').read_text()}")
    answer = command("verify", public, "--signers", signers)
    assert "Signed by office@example.org" in answer.out
    assert command("verify", public, "--signers", signers, "--signer", "else@example.org").code == 2
    signers.write_text(f"office@example.org {other.with_suffix('.pub').read_text()}")
    answer = command("verify", public, "--signers", signers)
    assert answer.code == 2
    assert "by another key" in answer.err


@needs_ssh
def test_changed_manifest_under_an_old_signature(
    study: Study, public: Path, tmp_path: Path, command: Command
) -> None:
    """A file and its hash in the manifest changed: only the signature shows it."""
    us.release(study.folder, public, APPROVAL, sign=make_key(tmp_path / "key"))
    content = json.loads((public / "manifest.json").read_text())
    text = (public / "README.txt").read_bytes() + b"more"
    (public / "README.txt").write_bytes(text)
    content["files"]["README.txt"]["sha256"] = manifest._hash(public / "README.txt")
    (public / "manifest.json").write_text(json.dumps(content))
    answer = command("verify", public)
    assert answer.code == 2
    assert "one of something else" in answer.err
    (public / "manifest.json.sig").unlink()
    assert command("verify", public).code == 0
    assert command("verify", public, "--signers", tmp_path / "key.pub").code == 2


@needs_ssh
def test_key_that_cannot_sign(study: Study, public: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="an SSH key"):
        us.release(study.folder, public, APPROVAL, sign=tmp_path / "nowhere")
    (tmp_path / "text").write_text("no key")
    with pytest.raises(OutputError, match="a signature by ssh-keygen"):
        us.release(study.folder, public, APPROVAL, sign=tmp_path / "text")
    assert not public.exists()


def test_no_program_to_sign_with(
    study: Study, public: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "text").write_text("no key")
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(SettingError, match="the program ssh-keygen"):
        us.release(study.folder, public, APPROVAL, sign=tmp_path / "text")
    assert not public.exists()


@covers(149)
def test_manifests_that_promise_nothing(released: Path, command: Command) -> None:
    path = released / "manifest.json"
    whole = json.loads(path.read_text())
    (released / "more").mkdir()
    assert 'the folder "more" does not belong' in " ".join(command("verify", released).err.split())
    (released / "more").rmdir()
    assert command("verify", released).code == 0
    without = {name: entry for name, entry in whole["files"].items() if "synthetic" not in name}
    for files, says in [(without, "no data file is listed"), ({}, "is not listed")]:
        path.write_text(json.dumps({**whole, "files": files}))
        answer = command("verify", released)
        assert answer.code == 2
        assert says in " ".join(answer.err.split())
    path.write_text("[" * 100_000)
    answer = command("verify", released)
    assert answer.code == 2
    assert "found one that is not: manifest.json is not there" in " ".join(answer.err.split())
    path.write_text(json.dumps(whole))
    os.mkfifo(released / "manifest.json.sig")
    assert '"manifest.json.sig" is a link, or no file' in command("verify", released).err
