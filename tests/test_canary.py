"""A token is planted in everything confidential, and must not show outside of ``internal``.

It stands in values, in the name and the values of a column that is ignored, and in the names of the
data's folder and file. Studies end well, are refused, are interrupted and fail; whatever they say,
write and raise is searched for it.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from tests.conftest import Answer, Command
from tests.studies import BOOK, PLAN, plain_page, write_study
from understudy.errors import UnderstudyError
from understudy.pages import report as page

TOKEN = "Quagga7319"  # noqa: S105
FOLDER = f"folder-{TOKEN}"


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """Write a study whose data are full of tokens, and a plan that names their place."""
    inside = write_study(tmp_path / FOLDER, file=f"{TOKEN}.csv")
    data = inside.with_name(f"{TOKEN}.csv")
    text = data.read_text().replace("north", TOKEN).replace(",id", f",id-{TOKEN}")
    lines = text.splitlines()
    data.write_text("\n".join([lines[0], *(f"{line}-{TOKEN}" for line in lines[1:])]) + "\n")
    inside.with_name("book.toml").write_text(BOOK.replace("north", TOKEN))
    written = PLAN.replace("{file}", f"{FOLDER}/{TOKEN}.csv").replace('"id"', f'"id-{TOKEN}"')
    path = tmp_path / "plan.toml"
    path.write_text(written.replace("book.toml", f"{FOLDER}/book.toml"))
    inside.unlink()
    return path


@pytest.fixture
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page", plain_page)


def check(folder: Path, out: Path, *said: str) -> None:
    """Search all that was said, and all files of the study that are not internal."""
    for text in said:
        assert TOKEN not in text
    for path in out.rglob("*"):
        inside = path.relative_to(out)
        assert TOKEN not in str(inside)
        if path.is_file() and inside.parts[0] != "internal":
            assert TOKEN.encode() not in path.read_bytes()
    assert sorted(path.name for path in folder.iterdir()) in (
        sorted([FOLDER, "out", "plan.toml"]),
        sorted([FOLDER, "plan.toml"]),
    )


@pytest.mark.usefixtures("_plain")
def test_a_study_that_ends_well(
    command: Command, plan: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    out = tmp_path / "out"
    for more in ([], ["--json"]):
        answer = command("run", plan, "--out", out, *more)
        assert answer.code == 1, answer.err
        check(tmp_path, out, answer.out, answer.err, caplog.text)
    holding = [path for path in out.rglob("*") if TOKEN.encode() in _bytes(path)]
    assert holding  # the token is in the study, and only in its confidential part
    assert {path.relative_to(out).parts[0] for path in holding} == {"internal"}


def _bytes(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def refuse_level(plan: Path, folder: Path) -> None:
    book = folder / FOLDER / "book.toml"
    book.write_text(book.read_text().replace(f'"{TOKEN}", ', ""))


def refuse_codebook(plan: Path, folder: Path) -> None:
    book = folder / FOLDER / "book.toml"
    book.write_text(book.read_text() + f"[variables.county.labels]\n{TOKEN} = 5\n")


def refuse_ragged(plan: Path, folder: Path) -> None:
    data = folder / FOLDER / f"{TOKEN}.csv"
    data.write_text(data.read_text() + f"{TOKEN},{TOKEN}\n")


def refuse_missing(plan: Path, folder: Path) -> None:
    (folder / FOLDER / f"{TOKEN}.csv").unlink()


def refuse_formula(plan: Path, folder: Path) -> None:
    plan.write_text(plan.read_text() + '[[analyses]]\nformula = "age ~ conty"\n')


def refuse_bins(plan: Path, folder: Path) -> None:
    plan.write_text(plan.read_text() + "[data.bins.county]\ncuts = [1]\n")


@pytest.mark.parametrize(
    "change",
    [refuse_level, refuse_codebook, refuse_ragged, refuse_missing, refuse_formula, refuse_bins],
)
def test_studies_that_are_refused(
    command: Command, plan: Path, tmp_path: Path, change: Callable[[Path, Path], None]
) -> None:
    change(plan, tmp_path)
    answer = command("run", plan, "--out", tmp_path / "out")
    assert answer.code == 2
    with pytest.raises(UnderstudyError) as caught:
        us.Study(plan).run(tmp_path / "out")
    told = "".join(traceback.format_exception(caught.value))
    check(tmp_path, tmp_path / "out", answer.out, answer.err, told)
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("_plain")
def test_other_data(command: Command, plan: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert command("run", plan, "--out", out).code == 1
    data = tmp_path / FOLDER / f"{TOKEN}.csv"
    data.write_text(data.read_text().replace(f",{TOKEN},", ",east,", 1))
    answer = command("run", plan, "--out", out)
    assert answer.code == 2
    assert '"data"' in answer.err
    check(tmp_path, out, answer.out, answer.err)


STAGES = ["intruder_findings", "utility_findings", "risk_findings"]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", [KeyError, KeyboardInterrupt])
def test_studies_that_fail_or_are_interrupted(
    command: Command,
    plan: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    kind: type[BaseException],
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise kind(TOKEN)

    monkeypatch.setattr(f"understudy.study.stages.{stage}", fail)
    answer: Answer = command("run", plan, "--out", tmp_path / "out")
    assert answer.code == (70 if kind is KeyError else 4)
    check(tmp_path, tmp_path / "out", answer.out, answer.err)


def test_a_program_of_its_own(plan: Path, tmp_path: Path) -> None:
    """With everything that a process may leave behind: streams, and files where it was started."""
    started = tmp_path / "out"  # the folder that it is started in is the one above
    ended = subprocess.run(
        [sys.executable, "-X", "dev", "-m", "understudy", "run", plan.name, "--out", "out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(us.__file__).parents[1])},
        capture_output=True,
        check=False,
        timeout=600,
    )
    assert ended.returncode == 1, ended.stderr
    check(tmp_path, started, ended.stdout.decode(), ended.stderr.decode())
