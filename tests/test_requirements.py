"""The lock files are complete: the Makefile installs what they list and asks for nothing else."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENTRY = re.compile(
    r"([\w.-]+==[\w.!+-]+(?: ; [^\\\n]+)?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n"
)
EXTRAS = {"run.txt": (), "test.txt": ("test", "docs")}  # as `make lock` has them


def locked(name: str) -> dict[str, str]:
    """Read the versions for this Python; every line must be a version with its hashes."""
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    assert ENTRY.sub("", text) == ""
    entries = [Requirement(pinned) for pinned, _ in ENTRY.findall(text)]
    here = [entry for entry in entries if entry.marker is None or entry.marker.evaluate()]
    versions = {str(canonicalize_name(entry.name)): str(entry.specifier)[2:] for entry in here}
    assert len(versions) == len(here)
    return versions


def asked_for(extras: Iterable[str]) -> Iterator[Requirement]:
    """What pyproject.toml names, without and with extras, and what builds the package."""
    build = (ROOT / "requirements" / "build.in").read_text(encoding="utf-8").splitlines()
    texts = [*PROJECT["dependencies"], *(line for line in build if not line.startswith("#"))]
    for extra in extras:
        texts += PROJECT["optional-dependencies"][extra]
    yield from map(Requirement, texts)


@pytest.mark.parametrize("name", EXTRAS)
def test_all_that_is_needed_is_locked(name: str) -> None:
    """Every requirement of every locked package too, in versions that fit one another."""
    versions = locked(name)
    waiting, seen = list(asked_for(EXTRAS[name])), set()
    while waiting:
        needed = waiting.pop()
        package = str(canonicalize_name(needed.name))
        assert package in versions, f"{package} is not in {name}"
        assert needed.specifier.contains(versions[package], prereleases=True), needed
        for extra in {"", *needed.extras}:
            if (package, extra) not in seen:
                seen.add((package, extra))
                further = map(Requirement, metadata.requires(package) or ())
                waiting += [
                    requirement
                    for requirement in further
                    if requirement.marker is None or requirement.marker.evaluate({"extra": extra})
                ]
    assert seen


def test_both_files_agree() -> None:
    run, test = locked("run.txt"), locked("test.txt")
    assert run.items() <= test.items()
