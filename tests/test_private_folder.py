"""The confidential folder under attack: prepared by others, with links planted at every instant.

The attacker of most tests acts with the rights of the user, which is more than another user has:
from a folder with mode 0700 everybody else is kept out by the system.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from understudy import private_folder
from understudy.errors import CheckpointError, CheckpointWarning, ExitCode
from understudy.private_folder import PrivateFolder, release_above, study_above
from understudy.storage import Lock, new_file, replace_file, write_manifest
from understudy.study.folder import StudyFolder, check_study_folder
from understudy.synthesis.checkpoints import Checkpoint

SECRET = b"everything that is confidential"
IDENTITY = {"plan": {"sets": 2}}
Foreign = Callable[[Path], None]


@pytest.fixture
def foreign(monkeypatch: pytest.MonkeyPatch) -> Foreign:
    """Give files to another user: really where this user may, else by a pretended owner."""
    given: set[int] = set()
    if os.geteuid() != 0:
        real = private_folder._foreign
        monkeypatch.setattr(
            private_folder, "_foreign", lambda status: real(status) or status.st_ino in given
        )

    def give(path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534, follow_symlinks=False)
        else:
            given.add(path.lstat().st_ino)

    return give


def opened(folder: Path) -> StudyFolder:
    """Open a study's confidential folder."""
    return StudyFolder(check_study_folder(folder, resume=True), IDENTITY, None, 2**127)


@pytest.mark.parametrize("name", ["lock", ".study.json.part", "study.json"])
@pytest.mark.parametrize("kind", ["link", "dangling link", "hard link", "foreign", "pipe"])
def test_a_folder_prepared_with_our_names(
    tmp_path: Path, foreign: Foreign, name: str, kind: str
) -> None:
    """Nothing is followed, overwritten or told to whoever holds the file open."""
    internal, victim = tmp_path / "study" / "internal", tmp_path / "victim"
    internal.mkdir(parents=True)
    internal.chmod(0o777)
    victim.write_bytes(b"precious")
    planted = internal / name
    if kind == "link":
        planted.symlink_to(victim)
    elif kind == "dangling link":
        planted.symlink_to(tmp_path / "new")
    elif kind == "hard link":
        planted.hardlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(planted)
    else:
        planted.touch()
        foreign(planted)
    if (name, kind) == (".study.json.part", "hard link"):  # removed, and the victim keeps its own
        with pytest.warns(CheckpointWarning, match="had access"):
            opened(tmp_path / "study").close()
    else:
        with (
            pytest.raises(CheckpointError, match="a link, or a file that somebody else"),
            pytest.warns(CheckpointWarning, match="had access"),
        ):
            opened(tmp_path / "study")
        assert not [path for path in internal.iterdir() if path.name not in {name, "lock"}]
    assert victim.read_bytes() == b"precious"
    assert not (tmp_path / "new").exists()
    assert stat.S_IMODE(internal.stat().st_mode) == 0o700


@pytest.mark.parametrize("level", ["study", "study/internal"])
def test_a_folder_of_another_user(tmp_path: Path, foreign: Foreign, level: str) -> None:
    (tmp_path / "study" / "internal").mkdir(parents=True)
    (tmp_path / level).chmod(0o777)
    foreign(tmp_path / level)
    with pytest.raises(Exception, match="another user made"):
        opened(tmp_path / "study")
    if level == "study/internal":  # also where it is put there after the first look
        with pytest.raises(CheckpointError, match="belongs to another user"):
            StudyFolder(tmp_path / level, IDENTITY, None, 1)
        with pytest.raises(CheckpointError, match="belongs to another user"):
            Checkpoint(tmp_path / level, {"seed": 1})
        with pytest.raises(CheckpointError, match="belongs to another user"):
            replace_file(tmp_path / level / "approvals.json", SECRET)
    assert not list((tmp_path / "study" / "internal").iterdir())


def test_the_folder_is_closed_before_anything_is_written(tmp_path: Path) -> None:
    internal = tmp_path / "internal"
    internal.mkdir()
    internal.chmod(0o777)
    with StudyFolder(internal, IDENTITY, None, 1) as folder:
        assert stat.S_IMODE(internal.stat().st_mode) == 0o700
        folder.save("a", [("sets/dpmpm/1", SECRET)])
    for path in internal.rglob("*"):
        assert not path.stat().st_mode & 0o077
    internal.chmod(0o755)
    with (
        pytest.warns(CheckpointWarning, match="other users had access"),
        StudyFolder(internal, IDENTITY, None, 1),
    ):
        assert stat.S_IMODE(internal.stat().st_mode) == 0o700


def test_a_drive_without_permissions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    internal = tmp_path / "internal"
    internal.mkdir(mode=0o755)
    monkeypatch.setattr(os, "fchmod", lambda *_: None)
    with pytest.raises(CheckpointError, match="mode cannot be set to 0700"):
        StudyFolder(internal, IDENTITY, None, 1)
    with pytest.raises(CheckpointError, match="mode cannot be set to 0700"):
        Checkpoint(internal, {"seed": 1})
    assert not list(internal.iterdir())


def test_somebody_elses_folder_is_refused_before_its_mode_is_changed(tmp_path: Path) -> None:
    (tmp_path / "letters").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(CheckpointError, match="1 other entries"):
        Checkpoint(tmp_path, {"seed": 1})
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755


@pytest.mark.parametrize("saved", ["study", "fit"])
def test_a_deleted_lock_is_noticed_before_the_next_manifest(tmp_path: Path, saved: str) -> None:
    """A second run takes a new lock; the first one then stops, and can be taken up again."""
    folder = tmp_path / "internal"

    def start() -> Any:
        if saved == "study":
            return StudyFolder(folder, IDENTITY, 1, 1)
        return Checkpoint(folder, {"seed": 1})

    def go_on(run: Any) -> None:
        if saved == "study":
            run.save("a", [("a", SECRET)])
        else:
            run.save(0, 0, {}, {})

    first = start()
    with pytest.raises(CheckpointError, match="in use"):
        start()
    (folder / "lock").unlink()
    second = start()
    go_on(second)
    manifest = next(path for path in folder.glob("*.json"))
    before = manifest.read_bytes()
    with pytest.raises(CheckpointError, match="removed or replaced its lock") as caught:
        go_on(first)
    assert caught.value.exit_code == ExitCode.INTERRUPTED
    assert manifest.read_bytes() == before
    for run in (first, second):
        run.close()
    start().close()


class Attacker:
    """Acts once, right before a numbered call to the operating system."""

    CALLS = ("open", "mkdir", "stat", "lstat", "fstat", "unlink", "replace", "fsync")

    def __init__(self, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], at: int) -> None:
        self._act, self._at = act, at
        self.n_calls = 0
        self._busy = False
        for name in self.CALLS:
            monkeypatch.setattr(os, name, self._watched(getattr(os, name)))

    def _watched(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            if not self._busy:
                self._busy = True
                if self.n_calls == self._at:
                    self._act()
                self.n_calls += 1
                self._busy = False
            return real(*arguments, **options)

        return call


def _link(path: Path, to: Path) -> None:
    """Put a link in the place of whatever is there."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name(f"moved-{path.name}"))
    path.unlink(missing_ok=True)
    if path.parent.is_dir():
        path.symlink_to(to)


PLANTED = (
    "lock",
    "study.json",
    ".study.json.part",
    "report.html",
    ".report.html.part",
    "sets/a/1",
    "sets/a/.1.part",
    "sets/a",
    "sets",
    "",
)


@pytest.mark.parametrize("name", PLANTED)
def test_a_link_planted_at_every_instant(tmp_path: Path, name: str) -> None:
    """Nothing confidential gets to where the link leads, at whatever instant it is planted."""
    instant, n_refused = 0, 0
    while True:
        around = tmp_path / str(instant)
        internal, loot = around / "study" / "internal", around / "loot"
        loot.mkdir(parents=True)
        victim = around / "victim"
        victim.write_bytes(b"precious")
        is_folder = name in {"", "sets", "sets/a"}
        aim = loot if is_folder else victim
        with pytest.MonkeyPatch.context() as patch:
            folder = StudyFolder(internal, IDENTITY, None, 2**127)
            attacker = Attacker(patch, partial(_link, internal / name, aim), instant)
            try:
                folder.save("a", [("sets/a/1", SECRET), ("report.html", SECRET)])
                folder.save("b", [("sets/a/1", SECRET), ("report.html", SECRET)])
            except CheckpointError:
                n_refused += 1
        folder.close()
        assert victim.read_bytes() == b"precious", instant
        assert not list(loot.rglob("*")), instant
        if attacker.n_calls <= instant:
            break
        instant += 1
    assert instant > 40
    assert n_refused > 0


def test_a_folder_moved_away_while_it_is_written(tmp_path: Path) -> None:
    """What was opened is written, what was put in its path is not, and the run stops."""
    internal = tmp_path / "study" / "internal"
    with StudyFolder(internal, IDENTITY, None, 1) as folder:
        internal.rename(tmp_path / "moved")
        internal.mkdir(mode=0o777)
        with pytest.raises(CheckpointError, match="moved the folder"):
            folder.save("a", [("report.html", SECRET)])
        assert not list(internal.iterdir())


def test_other_files_are_not_written_where_anybody_may_swap_them(tmp_path: Path) -> None:
    """In a folder that all may write to, without the sticky bit, a name can be replaced by a link.

    `new_file` hands its temporary name to libraries, which open it by path.
    """
    tmp_path.chmod(0o777)
    with (
        pytest.raises(Exception, match="chmod"),
        new_file(tmp_path / "out.csv") as path,
    ):
        path.write_bytes(SECRET)
    assert not list(tmp_path.iterdir())
    tmp_path.chmod(0o1777)
    with new_file(tmp_path / "out.csv") as path:
        path.write_bytes(SECRET)
    assert (tmp_path / "out.csv").read_bytes() == SECRET


def test_what_lies_above_a_path(tmp_path: Path) -> None:
    with StudyFolder(tmp_path / "study" / "internal", IDENTITY, None, 1):
        pass
    public = tmp_path / "public"
    (public / "figures").mkdir(parents=True)
    (public / "manifest.json").write_text('{"kind": "understudy release", "files": {}}')
    link = tmp_path / "link"
    link.symlink_to(public / "figures")
    for inside in (public, public / "figures", public / "new" / "study", link / "x"):
        assert release_above(inside) == public
    for inside in (tmp_path / "study", tmp_path / "study" / "internal" / "x"):
        assert study_above(inside) == tmp_path / "study"
    for outside in (tmp_path, tmp_path / "new", Path("/")):
        assert release_above(outside) is None
        assert study_above(outside) is None
    (public / "manifest.json").write_text("[" * 100_000)
    assert release_above(public) is None


def test_a_lock_that_is_closed_writes_no_manifest(tmp_path: Path) -> None:
    with PrivateFolder.made(tmp_path / "run") as folder:
        lock = Lock(folder)
        write_manifest(lock, "manifest.json", {"format": 1})
        lock.close()
        with pytest.raises(CheckpointError, match="lock of this run"):
            write_manifest(lock, "manifest.json", {"format": 2})


def test_a_system_without_handles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths stand in for handles: links are refused all the same."""
    monkeypatch.setattr(private_folder, "HANDLES", False)
    internal = tmp_path / "internal"
    with StudyFolder(internal, IDENTITY, None, 1) as folder:
        folder.save("a", [("sets/a/1", SECRET), ("report.html", SECRET)])
        assert folder.finished("a")
        assert folder.read("a", "sets/a/1") == SECRET
        (internal / "report.html").unlink()
        (internal / "report.html").symlink_to(tmp_path / "loot")
        with pytest.raises(CheckpointError, match="a link"):
            folder.save("b", [("report.html", SECRET)])
    (tmp_path / "link").symlink_to(internal)
    for path in (tmp_path / "link", tmp_path / "none"):
        with pytest.raises(CheckpointError, match="a folder of your own"):
            PrivateFolder(path)
    assert not (tmp_path / "loot").exists()


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="none can be made"):
        PrivateFolder.made(tmp_path / "file" / "run")
    with (
        PrivateFolder.made(tmp_path / "run") as folder,
        pytest.raises(CheckpointError, match="none can be made"),
    ):
        folder.inside("x" * 300)
