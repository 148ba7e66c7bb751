"""What is installed: the wheel, the source archive, and the bounds of the versions below them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from tests.studies import write_study

import understudy

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def bounds(requirements: list[str]) -> dict[str, str]:
    """Give the lower bounds of requirements by name."""
    return dict(re.fullmatch(r"([\w.-]+)\s*>=([\w.]+)", line).groups() for line in requirements)  # type: ignore[union-attr, misc]


def same(version: str, other: str) -> bool:
    """Compare versions of which one may leave zeros out."""
    return version.removesuffix(".0").removesuffix(".0") == other.removesuffix(".0").removesuffix(
        ".0"
    )


def test_the_oldest_versions_are_the_lower_bounds() -> None:
    pinned = dict(
        line.split("==")
        for line in (ROOT / "requirements" / "minimum.txt").read_text("utf-8").split()
    )
    for name, bound in bounds(PROJECT["dependencies"]).items():
        assert same(pinned[name], bound), name


def test_the_conda_recipe_asks_for_the_same() -> None:
    recipe = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    listed = dict(re.findall(r"- ([\w-]+) >=([\d.]+)", recipe))
    listed["matplotlib"] = listed.pop("matplotlib-base")
    assert listed.pop("python") == PROJECT["requires-python"].removeprefix(">=")
    assert listed == bounds(PROJECT["dependencies"])
    assert f'version = "{understudy.__version__}"' in recipe


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {understudy.__version__}\n" in text
    for key in ("cff-version", "title", "abstract", "authors", "license", "keywords", "references"):
        assert re.search(rf"^{key}:", text, re.M), key
    assert re.search(r'^date-released: "\d{4}-\d\d-\d\d"$', text, re.M)
    assert "arXiv:1809.10074" in text
    page = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
    assert f"version = {{{understudy.__version__}}}" in page
    assert "10.48550/arXiv.1809.10074" in page


@pytest.mark.slow
def test_wheel_and_source_archive_install_and_run(tmp_path: Path) -> None:
    """Built without a network by the installed hatchling, installed by pip into empty folders."""
    pytest.importorskip("hatchling")
    run = [sys.executable, "-m"]
    subprocess.run([*run, "hatchling", "build", "-d", str(tmp_path)], cwd=ROOT, check=True)
    (wheel,), (archive,) = tmp_path.glob("*.whl"), tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        names = {name.split("/", 1)[-1] for name in source.getnames()}
        source.extractall(tmp_path, filter="data")
    wanted = {"examples/prepare.py", "examples/r/understudy.R", "CITATION.cff", "tests/conftest.py"}
    assert wanted <= names
    assert not [name for name in names if name.endswith((".nbi", ".nbc", ".pyc"))]
    unpacked = tmp_path / archive.name.removesuffix(".tar.gz")
    subprocess.run([*run, "hatchling", "build", "-t", "wheel"], cwd=unpacked, check=True)
    (again,) = (unpacked / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(again) as other:
        assert sorted(first.namelist()) == sorted(other.namelist())
    people = write_study(tmp_path / "study").with_name("data.csv")
    for number, made in enumerate((wheel, again)):
        target = tmp_path / f"installed-{number}"
        quietly = ["--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
        subprocess.run([*run, "pip", "install", *quietly, "--target", str(target), str(made)],
                       check=True)  # fmt: skip
        path = os.pathsep.join([str(target), *filter(None, sys.path)])
        told = answers(tmp_path, path, sys.executable, "-W", "ignore", "-c", CODE)
        assert str(target) in told
        assert told.split()[-1] == "6208"
        script = str(target / "bin" / "understudy")
        assert answers(tmp_path, path, script, "--version").strip() == understudy.__version__
        assert "40 records" in answers(
            tmp_path, path, script, "check", str(people), "--synthesize", "county", "--ignore", "id"
        )


CODE = """
import understudy
print(understudy.__file__, understudy.load_ce_like().n_records)
"""


def answers(folder: Path, path: str, *command: str) -> str:
    """Run a program beside the installed package, and give what it prints."""
    ended = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout
