"""``understudy run``: a whole study, from a plan to a decision."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.cli.options import AsJson, HelperOptions, helped_by
from understudy.cli.output import (
    paragraph,
    say,
    say_interrupted,
    say_json,
    study_progress,
    table,
)
from understudy.errors import ExitCode
from understudy.interrupts import stoppable
from understudy.summaries import one_in
from understudy.verdict.chain_reasons import CONVERGENCE
from understudy.verdict.risk_reasons import OWN_RECORD

if TYPE_CHECKING:
    from understudy.study.run import Study
    from understudy.verdict.verdict import SynthesizerVerdict, Verdict

__all__ = [
    "COLUMNS",
    "EXPLANATION",
    "run",
    "run_study",
    "show_verdict",
    "verdict_as_json",
    "verdict_row",
]

VERDICTS = {
    "pass": "PASS. All that was judged about {name} lies within the limits.",
    "review": "REVIEW. A person decides, and writes down why.",
    "fail": "DO NOT RELEASE.",
}
TRUE_MATCHES = "true match rate"
# Heading of a column, and which reasons of the verdict it shows: the worst.
COLUMNS = {
    "own record": OWN_RECORD,
    "true matches": TRUE_MATCHES,
    "tables": "table deviation",
    "overlap": "interval overlap",
}
EXPLANATION = (
    "own record: effect of people's own records in the worst attack, as a share of the exact "
    "table's. true matches: share of records with a single, right match. tables: deviation over "
    "that of a synthesizer that knew the population. overlap: of intervals, as a share of "
    "what such a synthesizer reaches. -: not measured."
)
MOST_REASONS = 6


def run(
    plan: Path,
    /,
    *,
    out: Path,
    seed: int | None = None,
    register: Path | None = None,
    frontier: Path | None = None,
    helpers: HelperOptions = HelperOptions(),
    memory: str | None = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Run a study: data, fits, synthetic sets, utility, risk, verdict, report.

    A study that was stopped goes on with the same command and ends with the same bytes. Everything
    is written to the folder "internal" in the given one, and is confidential. Exit codes: 0 pass or
    review, 1 do not release, 2 the input is wrong, 3 not converged, 4 interrupted.

    Parameters
    ----------
    plan
        A plan (.toml); understudy init writes a first one.
    out
        A folder for the study: new, empty, or holding this study.
    seed
        Makes every number repeatable; replaces the plan's seed.
    register
        A folder shared by studies, in which this run and its verdict are entered; replaces the
        plan's.
    frontier
        The folder of a frontier of the same data, on which the report shows where the study lies;
        replaces the plan's.
    memory
        How much may be used, such as "8 GB" or "25%"; replaces the plan's. A quarter of the
        machine's when left out.
    as_json
        Print JSON.
    """
    from understudy.study.plan import read_plan
    from understudy.study.run import Study

    study = Study(read_plan(plan).with_seed(seed).with_memory(memory), home=plan.parent)
    with helped_by(helpers):
        return run_study(study, out, register=register, frontier=frontier, as_json=as_json)


def run_study(
    study: Study,
    out: Path,
    *,
    register: Path | None = None,
    frontier: Path | None = None,
    as_json: bool = False,
) -> ExitCode:
    """Run a study with progress, show its summary, and give the exit code."""
    try:
        with stoppable(), study_progress() as progress:
            study.run(out, progress=progress, register=register, frontier=frontier)
    except KeyboardInterrupt:
        return say_interrupted()
    if as_json:
        say_json(verdict_as_json(study.verdict, study.report()))
    else:
        show_verdict(study.verdict, study.report(), beside=True)
        say(f"To look at it: understudy open {shlex.quote(os.fspath(out))}")
    return study.exit_code


def show_verdict(verdict: Verdict, report: Path, *, beside: bool = False) -> None:
    """Show what was decided and why, and where the report is, which may lie in a study's folder."""
    say(paragraph(f"Verdict: {VERDICTS[verdict.outcome].format(name=verdict.recommended)}"))
    for name, own in verdict.synthesizers.items():
        if not own.converged:
            say(paragraph(f"Not converged: {name}. See the reasons below."))
    if verdict.recommended is not None:
        say(f"Recommended: {verdict.recommended}")
    say()
    rows = [verdict_row(name, own) for name, own in verdict.synthesizers.items()]
    say(table(("synthesizer", "outcome", "converged", *COLUMNS), rows, left=3))
    say(paragraph(EXPLANATION, "  ", "  "))
    say()
    _show_reasons(verdict)
    say(f"Report: {report}")
    say(f"It is confidential{', like everything beside it' if beside else ''}.")


def verdict_row(name: str, verdict: SynthesizerVerdict) -> tuple[str, ...]:
    """Give a synthesizer's row: name, outcome, convergence, and the worst value of each point."""
    shown = (_value(subject, verdict.worst(subject)) for subject in COLUMNS.values())
    return (name, verdict.outcome, _converged(verdict), *shown)


def _value(subject: str, value: float | None) -> str:
    if value is None:
        return "-"
    return one_in(value) if subject == TRUE_MATCHES else f"{value:.2f}"


def _converged(verdict: SynthesizerVerdict) -> str:
    """Say whether chains have converged; a dash where there are none."""
    if not verdict.converged:
        return "NO"
    judged = [reason.found for reason in verdict.reasons if reason.subject == CONVERGENCE]
    return "-" if judged == [None] else "yes"


def _show_reasons(verdict: Verdict) -> None:
    """Show why the verdict is no better: about the data, and the recommended synthesizer."""
    about = {None, verdict.recommended or next(iter(verdict.synthesizers), None)}
    reasons = [
        reason
        for reason in verdict.reasons
        if reason.outcome != "pass" and reason.synthesizer in about
    ]
    if not reasons:
        return
    say("Why")
    for reason in sorted(reasons, key=lambda reason: reason.outcome)[:MOST_REASONS]:
        whom = "" if reason.synthesizer is None else f", {reason.synthesizer}"
        say(paragraph(f"{reason.outcome}{whom}: {reason.words}", "- ", "  "))
    if len(reasons) > MOST_REASONS:
        say(f"- and {len(reasons) - MOST_REASONS} more, in the report")
    say()


def verdict_as_json(verdict: Verdict, report: Path) -> dict[str, Any]:
    """Give what was decided and why, as JSON."""
    return {
        "outcome": verdict.outcome,
        "recommended": verdict.recommended,
        "exit_code": int(verdict.exit_code),
        "synthesizers": {
            name: {
                "outcome": own.outcome,
                "converged": own.converged,
                **{
                    subject.replace(" ", "_").replace("-", "_"): own.worst(subject)
                    for subject in COLUMNS.values()
                },
            }
            for name, own in verdict.synthesizers.items()
        },
        "reasons": [reason.model_dump() for reason in verdict.reasons],
        "report": str(report),
    }
