"""The command from nothing to its page: resumed, refused, and the same bytes again."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import ClassVar

import polars as pl
import pytest
from tests.clusters import quiet, threads_as_workers
from tests.studies import plain_page

import understudy as us
from understudy.cli import main
from understudy.errors import CheckpointError
from understudy.pages import report
from understudy.reproduction import configurations as contenders
from understudy.reproduction import run as running
from understudy.reproduction import write as writing
from understudy.reproduction.configurations import Scale
from understudy.reproduction.run import INTRUDERS
from understudy.synthesis.diagnostics import SCHEMA

pytestmark = [
    pytest.mark.filterwarnings("ignore::understudy.errors.ConvergenceWarning"),
]

SHORT = {"warmup": 4, "draws": 4, "thin": 1}
LENGTHS = {"bundled": SHORT, "redrawn": SHORT}
PROLONGED = {"bundled": SHORT, "redrawn": {**SHORT, "most_draws": 10}}
TINY = Scale("quick", 1, 2, 2, ("collapsed", "text"), {"collapsed": LENGTHS, "text": PROLONGED})


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Run the command once, on the smallest scale."""
    folder = tmp_path_factory.mktemp("paper")
    patch = pytest.MonkeyPatch()
    patch.setattr(contenders, "QUICK", TINY)
    with pytest.raises(SystemExit) as ended, patch.context():
        main(["reproduce", "--quick", "--out", str(folder), "--seed", "3"])
    patch.undo()
    assert ended.value.code == 3  # so few draws never count as converged
    return folder


def test_it_writes_a_page_a_report_and_pages_for_the_documentation(made: Path) -> None:
    page = (made / "reproduction.html").read_text(encoding="utf-8")
    assert "THIS IS A QUICK RUN" in page
    assert "Some label probability has not converged" in page
    assert page.count("<figure>") == 18  # deviations, 3 densities, predictions, 3 levels, 10 grids
    assert "default-src 'none'" in page
    assert "http" not in page.replace("http://www.w3.org", "").replace("http-equiv", "")
    report = (made / "report.html").read_text(encoding="utf-8")
    assert "not converged" in report.lower()
    drawings = sorted(path.name for path in (made / "documentation" / "reproduction").glob("*.svg"))
    cells = (made / "cells.csv").read_text(encoding="utf-8")
    assert cells == (made / "documentation" / "reproduction" / "cells.csv").read_text("utf-8")
    assert cells.count("DPMPM, collapsed, class draw prior, rows shuffled") == 8
    assert len(drawings) == 18
    text = (made / "documentation" / "reproduction.md").read_text(encoding="utf-8")
    assert all(f"(reproduction/{name})" in text for name in drawings)
    for name in ("settings", "intervals", "compatible", "fits"):
        assert f"(reproduction/{name}.csv)" in text
        assert (made / "documentation" / "reproduction" / f"{name}.csv").is_file()
    for name in drawings:
        svg = (made / "documentation" / "reproduction" / name).read_text(encoding="utf-8")
        assert "var(--" not in svg


@pytest.mark.slow
@quiet
def test_parts_on_workers_have_the_same_bytes(made: Path, tmp_path: Path) -> None:
    """Missing parts as tasks; one that was begun here goes on here, with its chains on workers."""
    said: list[str] = []
    parts = tmp_path / "parts"
    shutil.copytree(made / "parts", parts)
    for path in [*parts.glob("population-01-*"), *parts.glob("*baselines*"), parts / INTRUDERS]:
        path.unlink(missing_ok=True)
    (parts / "fit-01-collapsed").mkdir()
    with threads_as_workers(2) as address, us.on_workers(cluster=address):
        running.run_all(parts, TINY, 3, lambda words, _: said.append(words))
    assert said[0] == "parts on workers: 3"  # two baselines and a fit
    assert "part 5 of 6, population 1 of 1: DPMPM, collapsed sampler" in said
    for path in sorted((made / "parts").iterdir()):
        assert (parts / path.name).read_bytes() == path.read_bytes(), path.name


def test_chains_go_on_where_that_is_asked_for_and_their_real_length_is_kept(made: Path) -> None:
    lengths = [
        json.loads((made / "parts" / f"population-0{number}-text.json").read_bytes())["lengths"]
        for number in (0, 1)
    ]
    assert lengths == [SHORT, {**SHORT, "draws": 10}]


def test_the_least_effective_size_is_that_of_bulk_or_tail() -> None:
    rows = [("classes", 1.02, 90.0, 80.0, False, False)]
    rows += [("log_score", 1.02, 90.0, 85.0, False, True)]
    rows += [
        (f"label_probability[{cell}]", 1.001, 900.0, 700.0 + cell, True, True) for cell in range(3)
    ]

    class Judged:
        draws: ClassVar[dict[str, dict[str, float]]] = {"posterior": {}}

        def diagnostics(self, most_cells: int | None) -> pl.DataFrame:
            assert most_cells is None
            return pl.DataFrame(rows, schema=SCHEMA, orient="row")

    convergence = running._convergence(Judged())
    assert not convergence["converged"]
    assert (convergence["labels"]["failed"], convergence["labels"]["least_ess"]) == (0, 700.0)
    assert (convergence["rest"]["failed"], convergence["rest"]["least_ess"]) == (2, 80.0)


def test_what_is_finished_is_not_done_again(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("computed again")

    before = (made / "reproduction.html").read_bytes()
    for name in ("measure_sets", "measure_baselines", "synthesizer_findings"):
        monkeypatch.setattr(running, name, never)
    again = writing.write_all(made, TINY, 3, lambda *_: None)
    assert again.page.read_bytes() == before
    assert not again.converged


@pytest.fixture
def _undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the drawings, which take long; earlier tests have looked at them."""
    monkeypatch.setattr(writing, "paper_figures", lambda _: [])
    monkeypatch.setattr(report, "page", plain_page)


@pytest.mark.usefixtures("_undrawn")
def test_a_part_that_was_lost_is_computed_to_the_same_bytes(made: Path) -> None:
    part = made / "parts" / "population-01-collapsed.json"
    before = part.read_bytes()
    part.unlink()
    said: list[str] = []
    writing.write_all(made, TINY, 3, lambda words, _: said.append(words))
    assert part.read_bytes() == before
    assert any("population 1" in words for words in said)
    assert not any("population 0" in words for words in said)


def test_another_seed_is_refused(made: Path) -> None:
    with pytest.raises(CheckpointError, match="another seed"):
        writing.write_all(made, TINY, 4, lambda *_: None)


@pytest.mark.usefixtures("_undrawn")
def test_cells_as_json(
    made: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(contenders, "QUICK", TINY)
    with pytest.raises(SystemExit):
        main(["reproduce", "--quick", "--out", str(made), "--seed", "3", "--json"])
    cells = json.loads(capsys.readouterr().out)
    assert {cell["column"] for cell in cells} == {"Min", "DPMPM", "DP-areal", "Max"}
