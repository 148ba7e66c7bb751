"""Pages that a command writes where the user says: confidential, and never over anything else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.errors import OutputError, quoted
from understudy.private_folder import release_above, study_above
from understudy.storage import check_name, new_file

__all__ = ["new_page"]

HEAD = 4096  # bytes at the beginning of a page that hold its title
OUR_TITLE = re.compile(rb"^\s*<!DOCTYPE html>.*\(confidential\)</title>", re.DOTALL)


@contextmanager
def new_page(path: Path) -> Iterator[Path]:
    """Let the body write a page, whole or not at all; only its owner can read it.

    Refused, before anything is computed: a name that does not end in ``.html``, a path in a release
    or in the folder of a study, and one that is taken by anything but an earlier page.
    """
    check_name(path.name)
    came = _came(path)
    if came:
        raise OutputError(
            expected=f"a new file that ends in .html at {quoted(path.name)}, or an earlier page",
            came=came,
            do="choose another path; the page is confidential",
        )
    with new_file(path) as target:
        yield target


def _came(path: Path) -> str:
    """Say what is wrong with a path, or nothing."""
    if path.suffix.lower() != ".html":
        came = "a name with another ending"
    elif release_above(path.parent) is not None:
        came = "one inside a release, whose content is public"
    elif study_above(path.parent) is not None:
        came = "one inside the folder of a study, which holds nothing else"
    elif path.is_symlink():
        came = "a symbolic link, which may lead anywhere"
    elif path.exists() and not path.is_file():
        came = "a folder, or something that is no file"
    elif path.exists() and not _is_page(path):
        came = "a file that is no page of this program"
    else:
        came = ""
    return came


def _is_page(path: Path) -> bool:
    with path.open("rb") as file:
        return OUR_TITLE.match(file.read(HEAD)) is not None
