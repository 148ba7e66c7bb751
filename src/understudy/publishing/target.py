"""Where a release goes: which paths are refused, and how a folder appears whole or not at all.

Everything is built in a folder beside the target, closed to others, forced to the disk, and then
renamed. Whoever kills the program finds at the target what was there before, nothing, or all of the
new release, and never a mixture. A release may replace an earlier release and nothing else: a
folder that holds anything the earlier release did not put there is left alone.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

from understudy.checks import check_path
from understudy.errors import OutputError, quoted
from understudy.private_folder import belongs_to_another, study_above
from understudy.publishing.manifest import is_whole_release
from understudy.storage import (
    WINDOWS,
    cannot_write,
    check_name,
    check_safe_to_write,
    take_lock,
    to_disk,
)

__all__ = ["building", "check_target", "move_in"]

FILE_MODE = 0o644
FOLDER_MODE = 0o755
# The same for every file of every release: 1980-01-01, the earliest that a ZIP archive can hold.
MOMENT = 315532800


def check_target(to: str | os.PathLike[str], internal: Path, *, overwrite: bool) -> Path:
    """Refuse a path where a release may not or cannot be put; give it as an absolute one.

    `internal` is the study's confidential folder; `overwrite` allows an earlier release there.
    """
    to = check_path("the path of a folder to release to", to)
    target = Path(os.path.abspath(to))  # noqa: PTH100  (resolve would follow a link)
    check_name(target.name)
    try:
        if target.is_symlink():
            raise OutputError(
                expected=f"a folder of its own at {quoted(target.name)}",
                came="a symbolic link, which may lead anywhere",
                do="name the folder that the link points to, or remove the link",
            )
        _check_apart(target, internal)
        if not target.parent.is_dir():
            raise OutputError(
                expected="a folder that exists to put the release into",
                came=f"{quoted(target.name)} in a folder that does not",
                do="make that folder first",
            )
        check_safe_to_write(target.parent)
        _check_free(target, overwrite=overwrite)
    except OSError as problem:
        raise cannot_write(target, problem) from None
    return target


def _check_apart(target: Path, internal: Path) -> None:
    """Keep the public folder out of the study's, which holds nothing else, and the other way."""
    public, secret = (Path(os.path.realpath(path)) for path in (target, internal))
    study = secret.parent
    inside = public == secret or (public != study and study in public.parents)
    other = study_above(public.parent)  # a study's folder itself is refused below, as not empty
    if inside or other is not None or _among(public.parents, secret):
        raise OutputError(
            expected="a path outside of every study's folder, which is confidential",
            came="one inside of a study's folder",
            do="choose a folder elsewhere",
        )
    if any((folder / "register.json").is_file() for folder in (public, *public.parents)):
        raise OutputError(
            expected="a path outside of every register, which is confidential",
            came="one inside of a register",
            do="choose a folder elsewhere",
        )
    if public in secret.parents or _among(secret.parents, public):
        raise OutputError(
            expected="a path that does not hold the confidential folder",
            came="one that does",
            do="choose a folder elsewhere, never the study's own",
        )


def _among(folders: Iterable[Path], path: Path) -> bool:
    """Tell whether a folder is one of several, under whatever name it is mounted."""
    if not path.exists():
        return False
    return any(folder.exists() and folder.samefile(path) for folder in folders)


def _check_free(target: Path, *, overwrite: bool) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise OutputError(
            expected=f"a folder, or nothing yet, at {quoted(target.name)}",
            came="a file",
            do="choose another name",
        )
    if not any(target.iterdir()):
        return
    earlier = is_whole_release(target)
    if not earlier:
        raise OutputError(
            expected=f"an empty folder, or nothing yet, at {quoted(target.name)}",
            came="a folder that holds files which are no release (or a release that was changed)",
            do="choose another folder; overwriting replaces earlier releases only",
        )
    if not overwrite:
        raise OutputError(
            expected=f"an empty folder, or nothing yet, at {quoted(target.name)}",
            came="an earlier release",
            do="choose another folder, or say that it may be replaced (overwrite, --overwrite)",
        )


@contextmanager
def building(target: Path) -> Iterator[Path]:
    """Make a folder beside the target to build in, closed to others; remove it at the end."""
    try:
        _sweep(target)
        folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=_prefix(target, "new")))
    except OSError as problem:
        raise cannot_write(target, problem) from None
    held = _hold(folder)
    try:
        yield folder
    except OSError as problem:
        raise cannot_write(target, problem) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def _prefix(target: Path, what: str) -> str:
    """Begin the name of a folder beside the target, so that leftovers can be told from others'."""
    return f".understudy-{sha256(os.fsencode(target.name)).hexdigest()[:8]}-{what}-"


def _hold(folder: Path) -> int | None:
    """Lock a folder while it is built in, so that nobody takes it for a leftover."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return None
    if take_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _sweep(target: Path) -> None:
    """Remove what a killed release has left beside the target; what is being built is locked.

    An earlier release that was being replaced goes back if its path is free.
    """
    for folder in target.parent.glob(_prefix(target, "old") + "*"):
        if not target.exists() and is_whole_release(folder):
            folder.rename(target)
    leftovers = [*target.parent.glob(_prefix(target, "*") + "*")]
    for folder in leftovers:
        if folder.is_symlink() or not folder.is_dir() or belongs_to_another(folder):
            continue
        held = _hold(folder)
        if held is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(held)


def move_in(folder: Path, target: Path, *, overwrite: bool) -> None:
    """Make a built folder the target: modes and times set, on the disk, then renamed.

    `overwrite` allows an earlier release there to be replaced.
    """
    for path in sorted(folder.rglob("*"), reverse=True):
        path.chmod(FOLDER_MODE if path.is_dir() else FILE_MODE)
        os.utime(path, (MOMENT, MOMENT))
        to_disk(path)
    folder.chmod(FOLDER_MODE)
    os.utime(folder, (MOMENT, MOMENT))
    to_disk(folder)
    _check_free(target, overwrite=overwrite)  # somebody may have put something there meanwhile
    if target.exists() and any(target.iterdir()):
        _replace(folder, target)
    else:
        _rename(folder, target)
    to_disk(target.parent)


def _rename(folder: Path, target: Path) -> None:
    """Rename a folder, also onto an empty one, which Windows has to see removed first."""
    if WINDOWS and target.exists():
        target.rmdir()
    folder.rename(target)


def _replace(folder: Path, target: Path) -> None:
    """Move an earlier release aside and the new one in; move it back if that fails."""
    aside = Path(tempfile.mkdtemp(dir=target.parent, prefix=_prefix(target, "old")))
    try:
        _rename(target, aside)
        folder.rename(target)
    except OSError:
        with suppress(OSError):
            if not target.exists():
                aside.rename(target)
        raise
    finally:
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)
