"""A frontier in the making: points fitted, measured and saved, one group after another.

While points are measured the next is fitted. Every point is saved when it is finished, and which
point comes next depends on saved ones alone: a frontier that was killed goes on to the same bytes.
"""

from __future__ import annotations

import io
import json
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_one_of
from understudy.errors import SettingError, quoted
from understudy.findings.frontier_schema import (
    Choice,
    FrontierFindings,
    FrontierPoint,
    MeasuredPoint,
)
from understudy.frontiers.background import Background
from understudy.frontiers.dials import Point, curves, grid
from understudy.frontiers.measure_points import (
    graded_point,
    measure_baseline,
    measure_beside,
    measure_point,
)
from understudy.frontiers.point_tasks import FitTask, do_fit_task
from understudy.frontiers.search import dominated, next_points, recommend
from understudy.microdata.coarsening import Coarsening, coarsening_of
from understudy.microdata.synthetic_files import read_synthetic
from understudy.microdata.table import Microdata
from understudy.randomness import child_seed
from understudy.storage import digest_of
from understudy.study.folder import StudyFolder
from understudy.study.frontier_plan import FrontierPlan
from understudy.study.plan import MODEL_PLANS, StudyPlan
from understudy.study.plan_template import plan_as_toml
from understudy.study.progress import StudyProgress, Tell
from understudy.study.saved_frontier import RECORD
from understudy.study.stage_warnings import Notes
from understudy.study.stages import Stages
from understudy.synthesis.baselines import Marginal, Others, Perfect, Uniform
from understudy.synthesis.chains import Progress, processors
from understudy.synthesis.risk_weights import record_risks, weights_of
from understudy.synthesis.workers import Workers, current_workers

__all__ = ["CHOSEN", "PAGE", "FrontierRun", "first_points"]

PAGE, CHOSEN = "frontier.html", "chosen.toml"
BASELINES = (Uniform(), Marginal(), Others(), Perfect())
LONGEST_NAME = 60
NOTES = (
    "The plan of a study at the point that was chosen on a frontier.",
    "Put it beside the plan that the frontier was made from: paths are relative to that folder,",
    "also that of the frontier, on which the study's report shows its point.",
)


def first_points(plan: StudyPlan) -> list[Point]:
    """List the points that a plan declares, each once; check that its budget is enough."""
    points: dict[str, Point] = {}
    for point in grid(plan):
        if points.setdefault(point.name, point).key != point.key:
            raise SettingError(
                expected="dials whose points have names of their own",
                came=f"two different points that would both be called {quoted(point.name)}",
                do="write the values that differ in another way",
            )
    if plan.imputations is not None and any(
        point.coarsen or point.m != plan.sets for point in points.values()
    ):
        raise SettingError(
            expected="as many sets of the levels as they are at every point, beside imputations",
            came="a dial that changes them",
            do="leave the dial out, or imputations",
        )
    if len(points) > plan.frontier.budget:
        raise SettingError(
            expected=f"a budget for the {len(points)} points that the plan declares",
            came=f"{plan.frontier.budget}",
            do="raise the budget, or declare fewer values",
        )
    return list(points.values())


@dataclass
class FrontierRun:
    """A frontier in the making."""

    stages: Stages
    folder: StudyFolder
    tell: Tell | None
    named: str  # the frontier's own folder, as the plan of the chosen point names it
    begin: float = field(default_factory=time.monotonic)
    listed: dict[str, Point] = field(default_factory=dict)  # by name, in the order of the search
    _needed_again: set[str] = field(default_factory=set)  # curves whose fits others may share
    _measured_now: int = 0  # points, in this run of the program
    _coarse: dict[str, Coarsening | None] = field(default_factory=dict)

    @property
    def plan(self) -> StudyPlan:
        """The plan."""
        return self.stages.plan

    def measure_landmarks(self) -> None:
        """Measure the four baselines."""
        with Background(processors()) as behind:
            for baseline in BASELINES:
                name = type(baseline).__name__
                stage = f"landmark-{name.lower()}"
                if not self.folder.finished(stage, str(self.plan.sets)):
                    self._report(f"measuring the baseline {name}")
                    behind.start(
                        partial(self._measure_landmark, baseline, name),
                        partial(self._save_landmark, stage),
                    )

    def _measure_landmark(self, baseline: Any, name: str) -> MeasuredPoint:
        data, sets = self.stages.data, self.plan.sets
        seeds, intruders = self._seeds(name), self.stages.intruders
        return measure_baseline(data, name, baseline.fit(data), sets, intruders, seeds)

    def _save_landmark(self, stage: str, measured: MeasuredPoint) -> None:
        self.folder.save_findings(stage, str(self.plan.sets), measured, Notes())

    def measure_beside(self, beside: Mapping[str, Sequence[Any]], control: Any) -> None:
        """Measure files of other tools; those of an earlier call stay."""
        data = self.stages.data
        for name, sources in beside.items():
            if not name or "\n" in name or len(name) > LONGEST_NAME:
                raise SettingError(
                    expected=f"a name of 1 to {LONGEST_NAME} characters for the files of a tool",
                    came="another one",
                    do="give a short name",
                )
            sets = read_synthetic(data, sources)
            of = digest_of(sets.codes.tobytes() + str(control is not None).encode())
            stage = f"beside-{digest_of(name.encode())[:12]}"
            if not self.folder.finished(stage, of):
                self._report(f"measuring {name}")
                seeds = self._seeds(name)
                measured = measure_beside(data, name, sets, control, self.stages.intruders, seeds)
                self.folder.save_findings(stage, of, measured, Notes())

    def measure_points(self) -> None:
        """Measure the declared points, then search until the budget is spent."""
        budget, listed = self.plan.frontier.budget, curves(self.plan)
        alike = Counter(curve.shared for curve in listed if curve.ends is not None)
        self._needed_again = {
            curve.name for curve in listed if curve.ends is not None and alike[curve.shared] > 1
        }
        self._measure(first_points(self.plan))
        while more := next_points(listed, self._searched(), budget - len(self.listed)):
            self._measure(more)
        for point in self.listed.values():
            if point.curve in self._needed_again:
                self.folder.drop_fit(self._fit_name(point))

    def confirm_recommended(self) -> None:
        """Measure the recommended point again, with fits where weights cannot be trusted."""
        folds = self.plan.own_record.refits
        while folds:
            name, _ = recommend(list(self._graded().values()))
            if name is None or self._measured(name).confirmed:
                return
            if not self._measured(name).own_record.unreliable:
                return
            self._confirm(self.listed[name], folds)

    def _confirm(self, point: Point, folds: int) -> None:
        self._report(f"confirming {point.name}")
        seed = self._seed("refit", point.name)

        def refit(data: Microdata) -> Any:
            return point.planned.refit(data, seed)

        fit, seeds = self._fit(point), self._seeds(point.name)
        measured = measure_point(
            fit, self._coarsening(point), point, self.stages.intruders, seeds, refit, folds
        )
        self.folder.save_findings(f"confirmed-{point.name}", self._of(point), measured, Notes())
        self.folder.drop_fit(self._fit_name(point))

    def choose(self, name: str, because: str) -> None:
        """Enter a point that a board picked."""
        check_one_of("choose", name, self.listed, "use a name from the list of points on the page")
        entries = [*self._choices(), Choice(point=name, because=because)]
        content = json.dumps([entry.model_dump() for entry in entries], indent=1)
        self.folder.save("choices", [("choices.json", content.encode("utf-8"))])

    def finish(self) -> FrontierFindings:
        """Grade all points, and write the record, the page and the plan of the chosen point."""
        from understudy.pages.frontier_page import frontier_page

        findings = self._findings()
        self._keep(RECORD, findings.model_dump_json(indent=1))
        self._keep(PAGE, frontier_page(findings))
        chosen = findings.point(findings.chosen)
        if chosen is not None:
            self._keep(CHOSEN, self._plan_of(chosen.measured))
        return findings

    def _findings(self) -> FrontierFindings:
        points = list(self._graded().values())
        behind = dominated(points)
        points = [point.model_copy(update={"dominated": point.name in behind}) for point in points]
        recommended, why = recommend(points)
        limits, data = self.plan.thresholds, self.stages.data

        def others(kind: str) -> tuple[FrontierPoint, ...]:
            stages = [stage for stage in self.folder.stages() if stage.startswith(f"{kind}-")]
            loaded = [self.folder.load_findings(stage, MeasuredPoint)[0] for stage in stages]
            return tuple(graded_point(measured, limits) for measured in loaded)

        return FrontierFindings(
            title=self.plan.title,
            n_records=data.n_records,
            n_labels=data.n_labels,
            data_fingerprint=data.fingerprint(),
            points=tuple(points),
            landmarks=others("landmark"),
            beside=others("beside"),
            own_record_pass=limits.own_record_pass,
            own_record_review=limits.own_record_review,
            recommended=recommended,
            why=why,
            choices=tuple(self._choices()),
            undeclared=tuple(name for name in data.synthesized if not data.variable(name).declared),
            versions=self.stages.identity["versions"],
        )

    def _plan_of(self, measured: MeasuredPoint) -> str:
        content = dict(measured.plan or {})
        data = self.plan.data.model_copy(update={"coarsen": self._steps(measured.coarsen)})
        synthesizer = MODEL_PLANS[measured.kind].model_validate_json(json.dumps(content))
        plan = self.plan.model_copy(
            update={
                "seed": None,
                "sets": measured.m,
                "data": data,
                "synthesizers": (synthesizer,),
                "frontier": FrontierPlan(folder=self.named),
            }
        )
        return "".join(f"# {note}\n" for note in (*NOTES, f"Point: {measured.name}")) + (
            plan_as_toml(plan)
        )

    def _measure(self, points: Iterable[Point]) -> None:
        """Fit and measure points; those with the same chains share a fit."""
        groups: dict[str, list[Point]] = {}
        for point in points:
            self.listed[point.name] = point
            if not self.folder.finished(f"point-{point.name}", self._of(point)):
                groups.setdefault(point.fit_key, []).append(point)
        workers = current_workers()
        firsts = {
            first.fit_key for group in groups.values() if (first := group[0].first) is not None
        }
        if workers is not None and len(groups) >= max(2, workers.number):
            self._measure_elsewhere(workers, list(groups.values()), firsts)
            return
        with Background(processors()) as behind:
            for group in sorted(groups.values(), key=lambda group: group[0].first is not None):
                fit = self._fit(group[0])
                if group[0].fit_key in firsts:
                    self._keep_risks(group[0], partial(record_risks, fit))
                behind.start(self._measuring(fit, group), partial(self._save, group))

    def _measure_elsewhere(
        self, workers: Workers, groups: Sequence[Sequence[Point]], firsts: Container[str]
    ) -> None:
        """Fit and measure points on workers, every group as a task; those with weights last."""
        data = workers.share(self._fine)
        for weighted in (False, True):
            asked = [group for group in groups if (group[0].first is not None) is weighted]
            tasks = [(data, self._fit_task(group, firsts)) for group in asked]
            self._report(f"fitting {len(tasks)} points on workers")
            for at, (measured, risks) in workers.as_finished(do_fit_task, tasks):
                if risks is not None:
                    self._keep_risks(asked[at][0], partial(dict, risks))
                self._save(asked[at], measured)

    def _fit_task(self, group: Sequence[Point], firsts: Container[str]) -> FitTask:
        """Put together what a worker needs beside the data."""
        model, options = self._fit_arguments(group[0])
        points = [(point, self._coarsening(point), self._seeds(point.name)) for point in group]
        risks = group[0].fit_key in firsts
        return FitTask(model, options, points, self.stages.intruders, risks)

    def _measuring(self, fit: Any, group: Sequence[Point]) -> Callable[[], list[MeasuredPoint]]:
        intruders = self.stages.intruders

        def measure() -> list[MeasuredPoint]:
            return [
                measure_point(
                    fit, self._coarsening(point), point, intruders, self._seeds(point.name)
                )
                for point in group
            ]

        return measure

    def _save(self, group: Sequence[Point], every: Sequence[MeasuredPoint]) -> None:
        for point, measured in zip(group, every, strict=True):
            self.folder.save_findings(f"point-{point.name}", self._of(point), measured, Notes())
            self._measured_now += 1
        if not any(point.curve in self._needed_again for point in group):
            self.folder.drop_fit(self._fit_name(group[0]))

    def _fit(self, point: Point) -> Any:
        model, options = self._fit_arguments(point)
        options["progress"] = self._report(f"fitting {point.name}")
        checkpoint = self.folder.fit_folder(self._fit_name(point))
        return model.fit(self._fine, checkpoint=checkpoint, **options)

    def _fit_arguments(self, point: Point) -> tuple[Any, dict[str, Any]]:
        """Give a point's model, and what its ``fit`` is given beside data and checkpoint."""
        model = point.planned.model
        if point.class_draw is not None:  # one for all: chains do not depend on it
            model = replace(model, class_draw="kept")
        return model, {
            "seed": self._seed("fit", digest_of(point.fit_key.encode())),
            "weights": self._weights(point),
            "progress": False,
            **point.planned.options,
        }

    def _weights(self, point: Point) -> NDArray[np.float64] | None:
        """Weights of a point's records; the risks are kept, as other dials need the same."""
        first, model = point.first, point.planned.model
        if first is None:
            return None
        stage = f"risks-{self._fit_name(first)}"
        if not self.folder.finished(stage):
            self._keep_risks(first, partial(record_risks, self._fit(first)))
            self.folder.drop_fit(self._fit_name(first))
        with np.load(io.BytesIO(self.folder.read(stage, f"stages/{stage}.npz"))) as risks:
            return weights_of(risks[model.risk], model.risk_weighting)

    def _keep_risks(self, first: Point, risks: Callable[[], Any]) -> None:
        """Keep the risks of all records in a fit without weights."""
        stage, content = f"risks-{self._fit_name(first)}", io.BytesIO()
        if not self.folder.finished(stage):
            np.savez(content, **risks())
            self.folder.save(stage, [(f"stages/{stage}.npz", content.getvalue())])

    def _fit_name(self, point: Point) -> str:
        return digest_of(point.fit_key.encode())[:16]

    @property
    def _fine(self) -> Microdata:
        """What models are fitted to: no level merged."""
        return self.stages.fit_data.released

    def _steps(self, coarsen: Mapping[str, int]) -> dict[str, int]:
        """Give the levels that files of a point merge: those of the plan, and its own."""
        return {**self.plan.data.coarsen, **coarsen}

    def _coarsening(self, point: Point) -> Coarsening | None:
        steps = self._steps(point.coarsen)
        key = json.dumps(steps, sort_keys=True)
        if key not in self._coarse:
            self._coarse[key] = coarsening_of(self._fine, self.stages.book, steps)
        return self._coarse[key]

    def _of(self, point: Point) -> str:
        """Digest of what a point is made from."""
        merged = json.dumps(self._steps(point.coarsen), sort_keys=True)
        return digest_of(f"{point.fit_key} {point.class_draw} {point.m} {merged}".encode())

    def _measured(self, name: str) -> MeasuredPoint:
        """Read what was measured about a point, the confirmed numbers where there are some."""
        of, confirmed = self._of(self.listed[name]), f"confirmed-{name}"
        stage = confirmed if self.folder.finished(confirmed, of) else f"point-{name}"
        return self.folder.load_findings(stage, MeasuredPoint)[0]

    def _searched(self) -> dict[str, FrontierPoint]:
        """Grade points as they were first measured: a finished search goes nowhere else."""
        limits = self.plan.thresholds
        first = {
            name: self.folder.load_findings(f"point-{name}", MeasuredPoint)[0]
            for name in self.listed
        }
        return {name: graded_point(measured, limits) for name, measured in first.items()}

    def _graded(self) -> dict[str, FrontierPoint]:
        limits = self.plan.thresholds
        return {name: graded_point(self._measured(name), limits) for name in self.listed}

    def _choices(self) -> list[Choice]:
        if not self.folder.finished("choices"):
            return []
        entries = json.loads(self.folder.read("choices", "choices.json"))
        return [Choice.model_validate(entry) for entry in entries]

    def _keep(self, name: str, text: str) -> None:
        content = text.encode("utf-8")
        if not self.folder.finished(name, digest_of(content)):
            self.folder.save(name, [(name, content)], digest_of(content))

    def _seed(self, *path: str) -> int:
        return child_seed(self.folder.seed, "frontier", *path)

    def _seeds(self, name: str) -> dict[str, int]:
        return {
            "sets": self._seed("sets", name),
            "tables": self._seed("tables"),
            "own record": self._seed("own record"),
        }

    def _report(self, words: str) -> Callable[[Progress], None] | bool:
        """Tell what is being done; gives what a fit is told to tell, False where nobody asks."""
        tell = self.tell
        if tell is None:
            return False
        done = sum(
            self.folder.finished(f"point-{name}", self._of(point))
            for name, point in self.listed.items()
        )
        steps, spent = self.plan.frontier.budget, time.monotonic() - self.begin
        left = spent / self._measured_now * (steps - done) if self._measured_now else None
        step_seconds_left = None if left is None else left / max(steps - done, 1)
        tell(StudyProgress(words, done, steps, None, step_seconds_left, left))

        def of_fit(run: Progress) -> None:
            share = run.sweep / run.n_sweeps
            tell(StudyProgress(words, done, steps, share, run.seconds_left, left, run.words))

        return of_fit
