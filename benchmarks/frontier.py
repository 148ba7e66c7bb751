"""How long a frontier takes: six points of the DPMPM and twenty of the back-off tree.

``python -m benchmarks.frontier`` measures those of ``examples/bundled/frontier.toml``, each with
the baselines. ``python -m benchmarks.frontier rpart PLAN OUT`` puts files of R's rpart, drawn as
synthpop's default does, on the frontier in the folder OUT, which is made if it is not there.
``python -m benchmarks.frontier show PLAN OUT NAME`` writes a finished one's points to
``docs/research/frontier-NAME.csv``, and its picture beside them; that of the bundled data, which
opens the page on frontiers, to ``docs/frontier.svg``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import polars as pl

import understudy as us
from understudy.errors import UnderstudyWarning
from understudy.findings.frontier_schema import FrontierPoint
from understudy.microdata.table import Microdata
from understudy.pages.plots.canvas import standalone_svg
from understudy.pages.plots.frontier_plot import frontier_svg
from understudy.study.plan import StudyPlan, read_plan
from understudy.study.stages import prepare

__all__: list[str] = []

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
PLAN = HERE.parent / "examples" / "bundled" / "frontier.toml"
POINTS = {"dpmpm": 6, "backoff": 20}
CALLED = "rpart, as synthpop's default does it"
SETS, SEED = 20, 1


def only(plan: StudyPlan, model: str, points: int) -> StudyPlan:
    """The same frontier with the dials of one model."""
    dials = tuple(dial for dial in plan.frontier.dials or () if dial.model == model)
    frontier = plan.frontier.model_copy(update={"dials": dials, "budget": points})
    return plan.model_copy(update={"frontier": frontier})


def speed() -> None:
    """Print wall clock and processor seconds; half of these is what two idle cores need."""
    plan = read_plan(PLAN)
    for model, points in POINTS.items():
        with tempfile.TemporaryDirectory() as folder:
            wall, used = time.perf_counter(), time.process_time()
            measured = us.frontier(only(plan, model, points), folder, progress=False)
            wall, used = time.perf_counter() - wall, time.process_time() - used
        print(
            f"{measured.points.height} points of {model}: {wall:.0f} s, {used:.0f} processor "
            f"seconds, converged {measured.points['converged'].to_list()}"
        )


def rpart_sets(data: Microdata, folder: Path) -> list[pl.DataFrame]:
    """Draw labels in R: predictors as numbers in the order of their levels."""
    records, (label,) = data.frame(), data.synthesized
    coded = {"label": records[label].cast(pl.String)}
    for name in data.kept:
        order = {level: code for code, level in enumerate(data.variable(name).levels)}
        coded[name] = records[name].cast(pl.String).replace_strict(order)
    pl.DataFrame(coded).write_csv(folder / "records.csv")
    drawn = folder / "labels.csv"
    script = str(HERE / "rpart_sets.R")
    command = ["Rscript", script, str(folder / "records.csv"), str(SETS), str(SEED), str(drawn)]
    subprocess.run(command, check=True)
    labels = pl.read_csv(drawn, infer_schema=False)
    return [records.with_columns(column.alias(label)) for column in labels]


def beside(path: Path, out: Path) -> None:
    """Put rpart's files on a frontier."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        data = prepare(read_plan(path), path.parent, None).data
    with tempfile.TemporaryDirectory() as folder:
        sets = rpart_sets(data, Path(folder))
    print(us.frontier(path, out, beside={CALLED: sets}).beside)


def show(path: Path, out: Path, name: str) -> None:
    """Write the points of a frontier, and its picture, where the docs have them."""
    findings = us.frontier(path, out, progress=False).findings
    points = [*findings.points, *findings.landmarks, *findings.beside]
    rows = [_row(point, point.name == findings.recommended) for point in points]
    pl.DataFrame(rows).write_csv(DOCS / "research" / f"frontier-{name}.csv")
    picture = frontier_svg(findings, "frontier", linked=False)
    if picture is not None:
        drawn = DOCS / ("frontier.svg" if name == "bundled" else f"research/frontier-{name}.svg")
        drawn.write_text(standalone_svg(picture) + "\n", encoding="utf-8")


def _row(point: FrontierPoint, recommended: bool) -> dict[str, str]:
    measured = point.measured
    said = [point.name]
    if recommended:
        said.append("recommended, confirmed by fits" if measured.confirmed else "recommended")
    if measured.converged is False:
        said.append(f"R-hat {measured.worst_rhat:.2f}")
    grade = "passes" if point.outcome == "pass" else point.outcome
    return {
        "point": ", ".join(said),
        "files": str(measured.m),
        "worst own-record effect": _digits(point.position),
        "standard error": _digits(point.position_error),
        "grade": f"{grade}, above the limit" if point.above else grade,
        **{f"order {ratio.order}": _digits(ratio.ratio) for ratio in measured.ratios},
        "right labels": "" if point.right_labels is None else f"{point.right_labels:,.1f}",
    }


def _digits(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    if sys.argv[1:2] == ["rpart"]:
        beside(Path(sys.argv[2]), Path(sys.argv[3]))
    elif sys.argv[1:2] == ["show"]:
        show(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
    else:
        speed()
