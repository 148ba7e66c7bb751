"""``understudy demo``: a whole study on the bundled data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from understudy.cli.options import AsJson
from understudy.cli.output import paragraph, say_aside
from understudy.cli.run import run_study
from understudy.errors import ExitCode

if TYPE_CHECKING:
    from understudy.study.plan import StudyPlan

__all__ = ["demo", "demo_plan"]

ABOUT = (
    "The bundled sample stands in for a confidential survey: 6,208 invented households. Gender, "
    "income and age may be published, the county may not. The study fits the paper's two "
    "synthesizers and the default one, draws 20 synthetic sets from each, and measures what "
    "analysts keep and what intruders learn."
)
DEMO = """
title = "Demonstration on invented households"
sets = 20

[data]
file = "bundled:ce-like"
synthesize = ["county"]

[[synthesizers]]
model = "dpmpm"
level_prior = 1.0  # the paper's
sampler = "collapsed"  # which knows no limit on the classes
draws = 1000
thin = 15  # enough for this prior

[[synthesizers]]
model = "areal"
warmup = 700  # shorter than usual, so that the demonstration ends in a few minutes
draws = 500
thin = 6

[[synthesizers]]
model = "backoff"  # what a plan that names no synthesizer has

[[intruders]]
known = ["gender"]

[[intruders]]
known = ["gender", "age"]

[[analyses]]
formula = "income ~ county + age + gender"

[own_record]
refits = 0  # no further fits without records whose weights cannot be trusted, for the same reason
"""


def demo(
    *,
    out: Path = Path("understudy-demo"),
    seed: int | None = None,
    memory: str | None = None,
    as_json: AsJson = False,
) -> ExitCode:
    """Run a whole study on the bundled sample, in which nobody real is.

    It takes a few minutes; stopped, it goes on with the same command.

    Parameters
    ----------
    out
        A folder for the study: new, empty, or holding a demonstration.
    seed
        Makes the results repeatable.
    memory
        How much may be used, such as "8 GB" or "25%"; a quarter of the machine's when left out.
    as_json
        Print JSON.
    """
    from understudy.study.run import Study

    say_aside(paragraph(ABOUT))
    return run_study(Study(demo_plan(seed).with_memory(memory)), out, as_json=as_json)


def demo_plan(seed: int | None = None) -> StudyPlan:
    """Give the plan of the demonstration."""
    import tomllib

    from understudy.study.plan import plan_from

    return plan_from(tomllib.loads(DEMO)).with_seed(seed)
