"""The stages of a study: what each one computes, from what, and what it saves.

Sets are measured as read back from their files, not as they were in memory when they were drawn:
the findings belong to exactly those files, whose digests they name.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel

from understudy.errors import Mistakes, SettingError, UnderstudyError, quoted
from understudy.findings.chains import chain_findings
from understudy.findings.data import data_findings
from understudy.findings.frontier_schema import FrontierFindings
from understudy.findings.own_record import (
    informed_findings,
    own_record_findings,
    with_imputed,
    with_own_record,
)
from understudy.findings.risk import enough_repeats, intruder_findings, risk_findings
from understudy.findings.schema import (
    Convergence,
    DataFindings,
    Findings,
    IntruderFindings,
    OwnRecordFindings,
    RiskFindings,
    SynthesizerFindings,
    UtilityFindings,
)
from understudy.findings.utility import Analysis, utility_findings
from understudy.microdata.coarsening import Coarsening, coarsening_of
from understudy.microdata.codebook import Codebook, codebook_from
from understudy.microdata.reading import read_microdata
from understudy.microdata.synthetic_files import read_synthetic
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import child_seed
from understudy.storage import digest_of
from understudy.study.folder import REPORT, StudyFolder
from understudy.study.memory_needs import check_memory
from understudy.study.parquet_file import parquet_file
from understudy.study.plan import StudyPlan
from understudy.study.plan_template import plan_as_toml
from understudy.study.planned_fit import PlannedFit, check_imputable, drawing_of
from understudy.study.progress import Pace, Tell, while_reading
from understudy.study.stage_warnings import Notes
from understudy.study.versions import versions
from understudy.summaries import counted
from understudy.synthesis.chains import Progress
from understudy.synthesis.coarsened_fit import CoarsenedFit
from understudy.synthesis.registry import MODELS
from understudy.synthesis.run_fit import check_holes
from understudy.synthesis.set_drawing import Drawing
from understudy.verdict.verdict import Verdict, judge
from understudy.work_done import telling

__all__ = ["MOST_KNOWN", "Stages", "prepare"]

PASSED = "passed.parquet"
LATER_KEYS = ("coarsen", "pass_through", "weight", "weight_groups", "design")
OWN_RECORD, ADDED = 0.8, "what own records add"  # the larger part of drawing sets
MOST_KNOWN = 5  # kept variables up to which every knowledge of an intruder is measured
NOTES = (
    "paths are relative to the folder of the plan that was given",
    "settings that were left out are here with their defaults; the seed is in study.json",
)


def prepare(plan: StudyPlan, home: Path, progress: Tell | None) -> Stages:
    """Read the data and check everything that can be checked before the first computation."""
    whole, coarsening, book = _read_data(plan, home, while_reading(progress))
    data = (whole if coarsening is None else coarsening.coarse).released
    mistakes = Mistakes()
    if plan.own_record.informed and coarsening is not None:
        with mistakes.noted("own_record.informed"):
            raise SettingError(
                expected="files of the levels that models are fitted to, for the informed intruder",
                came="levels that are merged afterwards",
                do="leave data.coarsen out, or informed",
            )
    for number, intruder in enumerate(plan.intruders or (), 1):
        for name in intruder.known:
            with mistakes.noted(f"intruders[{number}].known"):
                data.known([name])
    for number, analysis in enumerate(plan.analyses, 1):
        from understudy.utility.regression.design import make_design
        from understudy.utility.regression.formula import read_formula

        with mistakes.noted(f"analyses[{number}].formula"):
            formula = read_formula(analysis.formula, data)
            with mistakes.noted(f"analyses[{number}].reference"):
                make_design(data, formula, analysis.reference)
    synthesizers = {}
    with mistakes.noted("imputations"):
        check_imputable(data, plan.imputations)
    parts = {"patterns": bool(data.kept), "holes": bool(data.with_holes)}
    for name, planned in plan.chosen_synthesizers(**parts).items():
        with mistakes.noted(f"synthesizer {name}"):
            synthesizers[name] = PlannedFit.of(name, planned, plan.sets)
            check_holes(data, synthesizers[name].model.no_holes)
            synthesizers[name].model.check_memory(whole)
    mistakes.tell()
    check_memory(whole, plan.sets, synthesizers)
    if plan.intruders is not None:
        intruders = tuple(data.known(intruder.known) for intruder in plan.intruders)
    else:
        intruders = (data.kept,) if data.kept else ()
    return Stages(plan, data, whole, coarsening, book, intruders, synthesizers)


def _read_data(
    plan: StudyPlan, home: Path, progress: Callable[[int, int], None] | None
) -> tuple[Microdata, Coarsening | None, Codebook]:
    """Read the data of a plan, what is merged in them, and the codebook that belongs to them.

    The name of the confidential file, which may tell something, is kept out of messages.
    """
    options = plan.data.reading_options(home)
    source = options["source"]
    try:
        data = read_microdata(**options, progress=progress)
        book = codebook_from(options["codebook"])
        return data, coarsening_of(data, book, plan.data.coarsen), book
    except UnderstudyError as problem:
        words = [problem.expected, problem.came, problem.do]
        for name in (quoted(source), quoted(Path(source).name)):
            words = [part.replace(name, "the plan's data file") for part in words]
        raise type(problem)(*words) from None


@dataclass
class Stages:
    """The stages, each with what it needs: the data, what the plan asks for, where to save."""

    plan: StudyPlan
    data: Microdata  # what files show
    fit_data: Microdata  # with what models alone use, and no level merged
    coarsening: Coarsening | None
    book: Codebook
    intruders: tuple[tuple[str, ...], ...]
    synthesizers: dict[str, PlannedFit]
    folder: StudyFolder = field(init=False)
    pace: Pace = field(init=False)
    _read_back: tuple[str, SyntheticSets] | None = None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the study is: with any other it cannot go on."""
        plan = self.plan.model_dump(
            mode="json",
            exclude={"title": True, "seed": True, "thresholds": True, "synthesizers": True,
                     "intruders": True, "register_folder": True, "frontier": True, "memory": True,
                     "data": {"file", "codebook", "catalog"}},
        )  # fmt: skip
        plan["synthesizers"] = {
            name: planned.described() for name, planned in self.synthesizers.items()
        }
        plan["intruders"] = self.intruders
        if self.plan.imputations is None:
            del plan["imputations"]
        for key in LATER_KEYS:  # left out, they are no part of what a study is
            if getattr(self.plan.data, key) == type(self.plan.data).model_fields[key].get_default(
                call_default_factory=True
            ):
                del plan["data"][key]
        book = self.book.model_dump_json(exclude={"reviewed"})
        return {
            "plan": plan,
            "data": self.fit_data.fingerprint(),
            "codebook": digest_of(book.encode("utf-8", "surrogatepass")),
            "versions": versions(),
        }

    @property
    def repeats(self) -> int:
        """How often the baselines are drawn."""
        planned = self.plan.baselines.repeats
        return planned if planned != "auto" else enough_repeats(self.data, self.plan.sets)

    def listed(self) -> list[tuple[str, str]]:
        """All stages in order: their kind, and what they are in words."""
        numbers = range(1, len(self.intruders) + 1)
        listed = [("data", "describing the data")]
        listed += [("baselines", f"baselines of the data, intruder {number}") for number in numbers]
        for name in self.synthesizers:
            listed += [
                (f"fit {name}", f"fitting {name}"),
                ("sets", f"drawing {counted(self.plan.sets, 'set')} of {name}"),
                ("utility", f"utility of {name}"),
                ("risk", f"risk of {name}"),
            ]
        return [*listed, ("findings", "findings"), ("verdict", "verdict"), ("report", "report")]

    def guessed_seconds(self) -> dict[str, float]:
        """Seconds that stages take, about: from the bundled data, by records and sets."""
        size = self.data.n_records * self.plan.sets / 124_160
        fits = {
            f"fit {name}": MODELS[planned.kind].seconds(self.data) * planned.n_sweeps
            for name, planned in self.synthesizers.items()
        }
        baselines = 12 * size * self.repeats / 100
        quick = dict.fromkeys(("data", "findings", "verdict"), 0.1)
        rest = {"baselines": baselines, "sets": size, "utility": 15 * size, "risk": 5 * size}
        return {**fits, **quick, **rest, "report": 10.0}

    def write_plan(self) -> None:
        """Keep the plan as it was used, defaults included."""
        text = "".join(f"# {note}\n" for note in NOTES)
        text += plan_as_toml(self.plan.model_copy(update={"seed": None}))
        content = text.encode("utf-8")
        if not self.folder.finished("plan", digest_of(content)):
            self.folder.save("plan", [("plan.toml", content)], digest_of(content))

    def describe_data(self) -> None:
        """Stage data: variables, patterns, and the public side of the codebook."""
        variables = self.data.variables
        declared = all(variable.declared for variable in variables)
        findings = data_findings(
            self.data, codebook_declared=declared, codebook_reviewed=self.book.reviewed
        )
        book = {
            "variables": [  # with all levels, of which findings list some thousands only
                json.loads(listed.model_dump_json()) | {"levels": whole.levels}
                for listed, whole in zip(findings.variables, variables, strict=True)
            ],
            "declared": declared,
            "reviewed": self.book.reviewed,
            "missing": {
                variable.name: variable.missing_code
                for variable in variables
                if variable.has_missing
            },
            "impossible": self.data.impossible,
        }
        more = []
        if self.data.passed is not None:
            book["passed"] = [column.model_dump(include={"name", "stored"})
                              for column in findings.passed]  # fmt: skip
            book["columns"] = self.data.passed.order
            more = [(PASSED, parquet_file([self.data.passed.frame]))]
        content = json.dumps(book, indent=1).encode("utf-8")
        of = digest_of(content + findings.model_dump_json().encode("utf-8"))
        self._stage("data", of, lambda: findings, [("codebook.json", content), *more])

    def measure_baselines(self, number: int, known: Sequence[str]) -> None:
        """Stage baselines: what the data themselves give away to an intruder."""
        self._stage(
            f"intruder-{number}",
            "",
            lambda: intruder_findings(
                self.data,
                known,
                repeats=self.repeats,
                sets=self.plan.sets,
                seed=self._seed("levels", number),
            ),
        )

    def fit_and_draw(self, name: str) -> None:
        """Stages fit and sets: chains, saved as they go; then the sets, and the fit is dropped."""
        self.pace.start()
        stages = (f"{name}-fit", f"{name}-own-record", f"{name}-sets")
        if all(map(self.folder.finished, stages)):
            self.pace.end(computed=False)
            self.pace.start()
        else:
            planned, notes = self.synthesizers[name], Notes(name)
            with notes.caught():
                fit = planned.model.fit(
                    self.fit_data,
                    seed=self._seed("fit", name),
                    checkpoint=self.folder.fit_folder(name),
                    progress=self._tell_fit,
                    **planned.options,
                )
            self.pace.end(computed=True)
            self.pace.start()
            merged = fit if self.coarsening is None else CoarsenedFit(fit, self.coarsening)
            with notes.caught():
                drawing = drawing_of(
                    merged, self.plan.sets, self.plan.imputations, self._seed("sets", name)
                )
                with telling(lambda share: self.pace.done(OWN_RECORD * share, ADDED)):
                    own_record = self._own_record(name, merged, drawing)
            chains = chain_findings(fit, drawing, self.intruders)
            self.folder.save_findings(f"{name}-fit", "", chains, notes)
            self.folder.save_findings(f"{name}-own-record", "", own_record, Notes(name))
            self.folder.save(f"{name}-sets", self._parquet_files(name, drawing))
        self.pace.end(computed=False)
        self.folder.drop_fit(name)

    def _own_record(self, name: str, fit: Any, drawing: Drawing) -> OwnRecordFindings:
        """Measure what people's own records add, while the fit's draws are in memory."""
        if not self.data.kept:
            return OwnRecordFindings(evidence="", attacks=(), n_records=self.data.n_records)
        planned, seed = self.synthesizers[name], self._seed("refit", name)
        folds = self.plan.own_record.refits

        def refit(data: Microdata) -> Any:
            return planned.refit(data, seed)

        findings = own_record_findings(
            self.fit_data if self.coarsening is None else self.coarsening.coarse,
            fit,
            self.intruders,
            sets=self.plan.sets,
            refit=refit if folds else None,
            folds=max(folds, 1),
            seed=self._seed("own record", name),
        )
        findings = with_imputed(findings, fit, self.plan.imputations, self._seed("sets", name))
        if not self.plan.own_record.informed:
            return findings
        informed = informed_findings(self.fit_data, fit, drawing.all(), refit)
        return findings.model_copy(update={"informed": informed})

    def measure_utility(self, name: str) -> None:
        """Stage utility: what an analyst keeps with one synthesizer's sets."""
        self._stage(
            f"{name}-utility",
            self._sets_digest(name),
            lambda: utility_findings(
                self.data,
                self._sets(name),
                analyses=[Analysis(*analysis.asked) for analysis in self.plan.analyses],
                rule=self._sets(name).combining_rule,
                seed=self._seed("utility", name),
            ),
            about=name,
        )

    def measure_risk(self, name: str) -> None:
        """Stage risk: what intruders learn from one synthesizer's sets."""
        self._stage(
            f"{name}-risk",
            self._sets_digest(name),
            lambda: risk_findings(
                self.data,
                self._sets(name),
                self.intruders,
                by_knowledge=len(self.data.kept) <= MOST_KNOWN,
            ),
            about=name,
        )

    def collect(self) -> Findings:
        """Stage findings: everything that was measured, in one file."""
        self.pace.start()
        intruders = tuple(
            self.folder.load_findings(f"intruder-{number}", IntruderFindings)[0]
            for number in range(1, len(self.intruders) + 1)
        )
        runs = self.folder.registered_runs()
        findings = Findings(
            title=self.plan.title,
            data=self.folder.load_findings("data", DataFindings)[0],
            intruders=intruders,
            synthesizers=tuple(self._synthesizer(name, intruders) for name in self.synthesizers),
            versions=self.identity["versions"],
            seed=self.folder.seed,
            data_fingerprint=self.identity["data"],
            set_digests={
                name: tuple(self.folder.files(f"{name}-sets").values())
                for name in self.synthesizers
            },
            runs=None if runs is None else runs.same_plan,
            runs_of_data=None if runs is None else runs.same_data,
            frontier_points=0 if runs is None else runs.points,
            registered_late=self.folder.registered_late,
        )
        content = findings.model_dump_json(indent=1).encode("utf-8")
        self._keep("findings", "findings.json", content)
        return findings

    def decide(self, findings: Findings) -> Verdict:
        """Stage verdict: thresholds and findings in, a decision with reasons out."""
        self.pace.start()
        digest = self.folder.files("findings")["findings.json"]
        verdict = judge(findings, self.plan.thresholds).model_copy(update={"findings": digest})
        content = verdict.model_dump_json(indent=1).encode("utf-8")
        self._keep("verdict", "verdict.json", content)
        facts = {"verdict": verdict.outcome, "verdict_digest": digest_of(content)}
        self.folder.enter("verdict", facts)
        self.folder.note_finish(digest_of(content))
        return verdict

    def show(
        self, findings: Findings, verdict: Verdict, frontier: FrontierFindings | None = None
    ) -> None:
        """Stage report: the page, with the last frontier of the data where there is one."""
        from understudy.pages.report import page

        self.pace.start()
        parts = [
            digest
            for stage in ("findings", "verdict")
            for digest in self.folder.files(stage).values()
        ]
        parts += [] if frontier is None else [frontier.model_dump_json()]
        of = digest_of("".join(parts).encode("utf-8"))
        computed = not self.folder.finished("report", of)
        if computed:
            content = page(findings, verdict, frontier).encode("utf-8")
            self.folder.save("report", [(REPORT, content)], of)
        self.pace.end(computed=computed)

    def _synthesizer(self, name: str, intruders: Sequence[IntruderFindings]) -> SynthesizerFindings:
        """Put together what the stages measured about one synthesizer."""
        planned = self.synthesizers[name]
        convergence, fit_notes = self.folder.load_findings(f"{name}-fit", Convergence)
        utility, utility_notes = self.folder.load_findings(f"{name}-utility", UtilityFindings)
        risk, risk_notes = self.folder.load_findings(f"{name}-risk", RiskFindings)
        own_record, _ = self.folder.load_findings(f"{name}-own-record", OwnRecordFindings)
        return SynthesizerFindings(
            name=name,
            title=planned.title,
            kind=planned.kind,
            settings=planned.in_words(self.fit_data, convergence.draws),
            m=self.plan.sets,
            imputations=self.plan.imputations,
            fully_synthetic=not self.data.kept,
            convergence=convergence,
            utility=utility,
            risk=with_own_record(risk, own_record, intruders) if self.data.kept else risk,
            notes=tuple(dict.fromkeys([*fit_notes, *utility_notes, *risk_notes])),
        )

    def _stage(
        self,
        stage: str,
        of: str,
        compute: Callable[[], BaseModel],
        more: Sequence[tuple[str, bytes]] = (),
        about: str | None = None,
    ) -> None:
        """Compute and save what a stage measures, unless it is finished."""
        self.pace.start()
        computed = not self.folder.finished(stage, of)
        if computed:
            notes = Notes(about)
            with notes.caught(), telling(self.pace.done):
                findings = compute()
            self.folder.save_findings(stage, of, findings, notes, more)
        self.pace.end(computed=computed)

    def _keep(self, stage: str, name: str, content: bytes) -> None:
        """Save a file that is made in no time, unless it is there with the same bytes."""
        computed = not self.folder.finished(stage, digest_of(content))
        if computed:
            self.folder.save(stage, [(name, content)], digest_of(content))
        self.pace.end(computed=computed)

    def _sets(self, name: str) -> SyntheticSets:
        """Read the sets of a synthesizer back from their files."""
        if self._read_back is None or self._read_back[0] != name:
            stage = f"{name}-sets"
            frames = (
                pl.read_parquet(io.BytesIO(self.folder.read(stage, path)))
                for path in self.folder.files(stage)
            )
            sets = read_synthetic(self.data, frames, imputations=self.plan.imputations)
            self._read_back = name, sets
        return self._read_back[1]

    def _parquet_files(self, name: str, drawing: Drawing) -> Iterator[tuple[str, bytes]]:
        """Draw every set and write it as a Parquet file, rows beside the records.

        Columns that pass through lie beside them once, and are joined to the sets at release.
        """
        width = max(2, len(str(len(drawing))))
        for number, slices in enumerate(drawing.slices(), start=1):
            yield f"sets/{name}/{number:0{width}d}.parquet", parquet_file(slices)
            self.pace.done(OWN_RECORD + (1.0 - OWN_RECORD) * number / len(drawing))

    def _sets_digest(self, name: str) -> str:
        digests = self.folder.files(f"{name}-sets").values()
        return digest_of("".join(digests).encode("ascii"))

    def _seed(self, *path: str | int) -> int:
        return child_seed(self.folder.seed, "study", *path)

    def _tell_fit(self, run: Progress) -> None:
        self.pace.report(run.sweep / run.n_sweeps, run.seconds_left, run.words)
