"""``understudy reproduce``: the paper's tables and figures beside ours, on invented populations."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.options import AsJson, HelperOptions, Switch, has_memory, helped_by
from understudy.cli.output import paragraph, say, say_aside, say_json, study_progress, table
from understudy.errors import ExitCode
from understudy.study.progress import StudyProgress

if TYPE_CHECKING:
    from understudy.reproduction.run import Said
    from understudy.synthesis.chains import Progress

__all__ = ["reproduce"]


@has_memory
def reproduce(
    *,
    out: Path = Path("understudy-reproduction"),
    quick: Switch = False,
    priors: Switch = False,
    seed: int = 1,
    helpers: HelperOptions = HelperOptions(),
    memory: str | None = None,  # noqa: ARG001  (of the decorator)
    as_json: AsJson = False,
) -> ExitCode:
    """Compute every printed cell of the paper, and write them beside it as a page.

    The populations are invented, so nothing written is confidential. Stop it at any time: the same
    command goes on.

    Parameters
    ----------
    out
        Folder for the page and for what is finished so far.
    quick
        A preview in a few minutes: two redrawn populations, short chains, two of seven models.
    priors
        The DPMPM alone with four priors of the county's probabilities, short chains.
    seed
        Decides every draw.
    memory
        How much may be used, such as "8 GB" or "25%"; a quarter of the machine's when left out.
    as_json
        Print the cells as JSON.
    """
    from understudy.reproduction.configurations import FULL, PRIORS, QUICK
    from understudy.reproduction.write import write_all

    with helped_by(helpers), _shown() as show:
        made = write_all(out, QUICK if quick else PRIORS if priors else FULL, seed, show)
    if as_json:
        say_json([cell.as_json() for cell in made.comparisons])
    else:
        for printed in made.tables:
            say(printed.caption)
            say(table(printed.header, [[cell.text for cell in row] for row in printed.cells]))
            say()
        judged = [cell for cell in made.comparisons if cell.inside is not None]
        inside = sum(bool(cell.inside) for cell in judged)
        say(
            paragraph(
                f"{inside} of {len(judged)} comparisons of a printed cell with a way of "
                "computing it lie inside the range over populations; the page lists them all."
            )
        )
        if not made.converged:
            say("NOT ALL FITS HAVE CONVERGED: the page names them.")
        say(f"The page: {made.page}")
        say(f"The report on the bundled population: {made.report}")
    return ExitCode.DONE if made.converged else ExitCode.NOT_CONVERGED


@contextmanager
def _shown() -> Iterator[Said]:
    """Show what is being done on the error stream; without a terminal, also a line per part."""
    last = ""
    with study_progress() as tell:

        def show(words: str, run: Progress | None) -> None:
            nonlocal last
            if words != last and not sys.stderr.isatty():
                say_aside(words)
            last = words
            now = StudyProgress(words, 0, 0, None, None, None)
            if run is not None:
                share = run.sweep / run.n_sweeps
                now = StudyProgress(words, 0, 0, share, run.seconds_left, None, run.words)
            tell(now)

        yield show
