"""``understudy frontier``: dials against risk and utility, and the recommended point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from understudy.cli.options import AsJson, HelperOptions, helped_by
from understudy.cli.output import paragraph, say, say_interrupted, say_json, study_progress
from understudy.errors import ExitCode
from understudy.interrupts import stoppable

if TYPE_CHECKING:
    from understudy.frontiers.run import Frontier

__all__ = ["frontier"]


def frontier(
    plan: Path,
    /,
    *,
    out: Path,
    budget: int | None = None,
    seed: int | None = None,
    beside: Annotated[
        tuple[str, ...], Parameter(negative="", consume_multiple=True, show_default=False)
    ] = (),
    called: str = "other tool",
    control: Path | None = None,
    choose: str | None = None,
    because: str | None = None,
    register: Path | None = None,
    helpers: HelperOptions = HelperOptions(),
    memory: str | None = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Measure many points of the models' dials and show them on one picture.

    The recommended point is the most useful one whose worst own-record effect passes. A frontier
    that was stopped goes on with the same command and ends with the same bytes; a larger budget
    adds points. Everything is written to the folder "internal" in the given one, and is
    confidential.

    Parameters
    ----------
    plan
        A plan (.toml); its section [frontier] declares dials and budget.
    out
        A folder for the frontier: new, empty, or holding this frontier.
    budget
        How many points at most; replaces the plan's.
    seed
        Makes every number repeatable; replaces the plan's seed.
    beside
        Synthetic files that another tool made of the same data, to be put on the picture.
    called
        Name of the tool that made the files given by --beside.
    control
        People who were not in that tool's synthesis, with the same columns: better evidence.
    choose
        A point that the board picks by its name; the choice is kept in the record.
    because
        Who picked that point, when and why.
    register
        A folder shared by studies, in which this frontier is entered; replaces the plan's.
    memory
        How much may be used, such as "8 GB" or "25%"; replaces the plan's. A quarter of the
        machine's when left out.
    as_json
        Print JSON.
    """
    from understudy.frontiers.run import frontier as measure
    from understudy.study.plan import read_plan

    try:
        with helped_by(helpers), stoppable(), study_progress() as progress:
            measured = measure(
                read_plan(plan).with_memory(memory),
                out,
                home=plan.parent,
                budget=budget,
                seed=seed,
                beside={called: beside} if beside else None,
                control=control,
                choose=choose,
                because=because,
                register=register,
                progress=progress,
            )
    except KeyboardInterrupt:
        return say_interrupted()
    if as_json:
        say_json(_as_json(measured))
    else:
        _show(measured)
    return ExitCode.DONE


def _show(measured: Frontier) -> None:
    say(str(measured))
    say()
    say(
        paragraph(
            "own record: effect of people's own records in the worst attack, as a share of the "
            "exact table's. tables: deviation over that of a synthesizer that knew the population."
        )
    )
    say(f"Picture: {measured.page()}")
    if measured.chosen is not None:
        say(f"Plan of a study at this point: {measured.plan()}")
    say("All of it is confidential.")


def _as_json(measured: Frontier) -> dict[str, Any]:
    return {
        "recommended": measured.recommended,
        "why": measured.findings.why,
        "chosen": measured.chosen,
        "points": measured.points.to_dicts(),
        "landmarks": measured.landmarks.to_dicts(),
        "beside": measured.beside.to_dicts(),
        "page": str(measured.page()),
    }
