"""A study from file to decision: the table of contents, and the file to read first.

::

    plan → data → levels, for each intruder
                → for each synthesizer: fit → m sets → utility, risk
                → findings → verdict → report

`Study.run` reads as that list. Every stage is a function of the plan, the data and its own stream
of the study's seed; it is written to the confidential folder when it is finished (`stages`), and a
study that was killed goes on with the first stage that is not. What the stages compute lies in the
rooms: `synthesis` fits and draws, `report.collecting` asks `risk` and `utility` for the figures,
`report.verdict` decides, `report.page` shows.

Measured are the files of the synthetic sets, read back, not what was in memory when they were
drawn: the figures belong to exactly those files, whose digests the findings name.
"""

from __future__ import annotations

import io
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel

import understudy
from understudy.errors import ExitCode, Mistakes, SettingError, quoted
from understudy.findings.data import data_findings
from understudy.findings.risk import intruder_findings, risk_findings
from understudy.findings.schema import (
    Convergence,
    DataFindings,
    Findings,
    IntruderFindings,
    RiskFindings,
    SynthesizerFindings,
    UtilityFindings,
)
from understudy.findings.utility import Analysis, utility_findings
from understudy.microdata.codebook import Codebook
from understudy.microdata.synthetic_files import read_synthetic
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import check_seed, child_seed
from understudy.storage import digest_of
from understudy.study.folder import Notes, StudyFolder, check_study_folder
from understudy.study.plan import StudyPlan, plan_from, read_plan
from understudy.study.plan_template import plan_as_toml
from understudy.study.planned_fit import PlannedFit, convergence, read_data, set_files
from understudy.study.progress import Pace, Tell, while_reading
from understudy.synthesis.chains import Progress
from understudy.synthesis.registry import MODELS
from understudy.verdict.verdict import Verdict, judge

__all__ = ["Study"]

Result = TypeVar("Result")
REPORT = "report.html"
LIBRARIES = ("numpy", "numba", "polars", "scipy")
MOST_KNOWN = 5  # kept variables up to which every knowledge of an intruder is measured
NOTES = (
    "paths are relative to the folder of the plan that was given",
    "settings that were left out are here with their defaults; the seed is in study.json",
)


class Study:
    """A study: one plan, run into one folder.

    Parameters
    ----------
    plan : path, mapping or StudyPlan
        What to do: the path of a TOML file, or its content.
    home : path, optional
        The folder that paths in the plan are relative to; the folder of the plan's file, or the
        current one, when left out.

    Examples
    --------
    >>> import understudy as us
    >>> us.Study({"data": {"file": "bundled:ce-like", "synthesize": ["county"]}, "title": "Trial"})
    Study("Trial", not run yet)

    ``us.Study("plan.toml").run("out")`` runs it; the result has ``verdict`` and ``report()``.
    """

    def __init__(
        self,
        plan: StudyPlan | Mapping[str, Any] | str | os.PathLike[str],
        home: str | os.PathLike[str] | None = None,
    ) -> None:
        if isinstance(plan, StudyPlan):
            self.plan, beside = plan, Path()
        elif isinstance(plan, Mapping):
            self.plan, beside = plan_from(plan), Path()
        elif isinstance(plan, str | os.PathLike):
            self.plan, beside = read_plan(plan), Path(plan).parent
        else:
            raise SettingError(
                expected="a plan, or the path of one",
                came=f"a value of type {type(plan).__name__}",
                do="give the path of a plan.toml; understudy init writes a first one",
            )
        self._home = beside if home is None else Path(home)
        self._internal: Path | None = None
        self._findings: Findings | None = None
        self._verdict: Verdict | None = None

    def run(
        self,
        directory: str | os.PathLike[str],
        resume: bool = True,
        progress: Tell | None = None,
    ) -> Study:
        """Run the study, or go on with it where it was stopped.

        Parameters
        ----------
        directory : path
            A new or empty folder, or one that holds this study. Everything goes into its subfolder
            ``internal``, which is confidential.
        resume : bool
            Whether to go on with a study that lies there; otherwise that is refused.
        progress : callable, optional
            Called with a `understudy.study.progress.StudyProgress` as the study goes on.

        Returns
        -------
        Study
            This study, with `findings`, `verdict` and `report`.
        """
        internal = check_study_folder(directory, resume=resume)
        work = _prepared(self.plan, self._home, progress)
        fresh = check_seed(None)
        with StudyFolder(internal, work.identity, self.plan.seed, fresh) as work.folder:
            work.pace = Pace(work.table_of_contents(), work.guesses(), progress)
            work.write_plan()
            work.describe_data()
            for number, known in enumerate(work.intruders, 1):
                work.measure_levels(number, known)
            for name in work.synthesizers:
                work.fit_and_draw(name)
                work.measure_utility(name)
                work.measure_risk(name)
            self._findings = work.collect()
            self._verdict = work.decide(self._findings)
            work.show(self._findings, self._verdict)
        self._internal = internal
        return self

    @property
    def findings(self) -> Findings:
        """What was found; confidential."""
        return self._after(self._findings)

    @property
    def verdict(self) -> Verdict:
        """What was decided, with reasons."""
        return self._after(self._verdict)

    @property
    def exit_code(self) -> ExitCode:
        """How the program ends after this study."""
        return self.verdict.exit_code

    def report(self) -> Path:
        """Give the path of the report, a page that opens in any browser. It is confidential."""
        return self._after(self._internal) / REPORT

    def _after(self, result: Result | None) -> Result:
        if result is None:
            raise SettingError(
                expected="a study that has been run",
                came="one that has not",
                do='call run("folder") first',
            )
        return result

    def __repr__(self) -> str:
        """Show the title and how far it is."""
        state = self._verdict.outcome if self._verdict is not None else "not run yet"
        return f"Study({quoted(self.plan.title)}, {state})"


def _prepared(plan: StudyPlan, home: Path, progress: Tell | None) -> _Work:
    """Read the data and check everything that can be checked before the first computation."""
    data, book = read_data(plan, home, while_reading(progress))
    mistakes = Mistakes()
    for number, one in enumerate(plan.intruders or (), 1):
        for known in one.known:
            with mistakes.noted(f"intruders[{number}].known"):
                data.known([known])
    for number, analysis in enumerate(plan.analyses, 1):
        from understudy.utility.regression.design import make_design
        from understudy.utility.regression.formula import read_formula

        with mistakes.noted(f"analyses[{number}].formula"):
            formula = read_formula(analysis.formula, data)
            with mistakes.noted(f"analyses[{number}].reference"):
                make_design(data, formula, analysis.reference)
    synthesizers = {}
    for name, chosen in plan.chosen_synthesizers(patterns=bool(data.kept)).items():
        with mistakes.noted(f"synthesizer {name}"):
            synthesizers[name] = PlannedFit.of(name, chosen, plan.sets)
    mistakes.tell()
    if plan.intruders is not None:
        intruders = tuple(data.known(one.known) for one in plan.intruders)
    else:
        intruders = (data.kept,) if data.kept else ()
    return _Work(plan, data, book, intruders, synthesizers)


@dataclass
class _Work:
    """The stages, each with what it needs: data, what the plan says of them, where to save."""

    plan: StudyPlan
    data: Microdata
    book: Codebook
    intruders: tuple[tuple[str, ...], ...]
    synthesizers: dict[str, PlannedFit]
    folder: StudyFolder = field(init=False)
    pace: Pace = field(init=False)
    _read_back: tuple[str, SyntheticSets] | None = None

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What the study is: with another one of these it cannot go on."""
        plan = self.plan.model_dump(
            mode="json",
            exclude={"title": True, "seed": True, "thresholds": True, "synthesizers": True,
                     "intruders": True, "data": {"file", "codebook", "catalog"}},
        )  # fmt: skip
        plan["synthesizers"] = {name: one.described() for name, one in self.synthesizers.items()}
        plan["intruders"] = self.intruders
        book = self.book.model_dump_json(exclude={"reviewed"})
        return {
            "plan": plan,
            "data": self.data.fingerprint(),
            "codebook": digest_of(book.encode("utf-8", "surrogatepass")),
            "versions": _versions(),
        }

    def table_of_contents(self) -> list[tuple[str, str]]:
        """All stages in order: their kind, and what they are in words."""
        numbers = range(1, len(self.intruders) + 1)
        listed = [("data", "describing the data")]
        listed += [("levels", f"risk levels of the data, intruder {one}") for one in numbers]
        for name in self.synthesizers:
            listed += [
                (f"fit {name}", f"fitting {name}"),
                ("sets", f"drawing {self.plan.sets} sets of {name}"),
                ("utility", f"utility of {name}"),
                ("risk", f"risk of {name}"),
            ]
        return [*listed, ("findings", "findings"), ("verdict", "verdict"), ("report", "report")]

    def guesses(self) -> dict[str, float]:
        """Seconds that stages take, about: from the bundled data, by records and sets."""
        size = self.data.n_records * self.plan.sets / 124_160
        fits = {
            f"fit {name}": MODELS[one.kind].seconds
            * one.options["chains"]
            * (one.options["warmup"] + one.options["draws"] * one.options["thin"])
            * self.data.n_records
            for name, one in self.synthesizers.items()
        }
        levels = size * self.plan.levels.repeats / 100
        quick = dict.fromkeys(("data", "findings", "verdict"), 0.1)
        rest = {"levels": 12 * levels, "sets": size, "utility": 15 * size, "risk": 5 * size}
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
        declared = all(one.declared for one in self.data.variables)
        found = data_findings(
            self.data, codebook_declared=declared, codebook_reviewed=self.book.reviewed
        )
        book = {
            "variables": [  # with all levels, of which findings list some thousands only
                json.loads(one.model_dump_json()) | {"levels": whole.levels}
                for one, whole in zip(found.variables, self.data.variables, strict=True)
            ],
            "declared": declared,
            "reviewed": self.book.reviewed,
            "missing": {
                one.name: one.missing_code for one in self.data.variables if one.has_missing
            },
            "impossible": self.data.impossible,
        }
        content = json.dumps(book, indent=1).encode("utf-8")
        of = digest_of(content + found.model_dump_json().encode("utf-8"))
        self._stage("data", of, lambda: found, [("codebook.json", content)])

    def measure_levels(self, number: int, known: Sequence[str]) -> None:
        """Stage levels: what the data themselves give away to an intruder."""
        self._stage(
            f"intruder-{number}",
            "",
            lambda: intruder_findings(
                self.data,
                known,
                repeats=self.plan.levels.repeats,
                sets=self.plan.sets,
                seed=self._seed("levels", number),
            ),
        )

    def fit_and_draw(self, name: str) -> None:
        """Stages fit and sets: chains, saved as they go; then the sets, and the fit is dropped."""
        self.pace.start()
        if self.folder.finished(f"{name}-fit") and self.folder.finished(f"{name}-sets"):
            self.pace.end(computed=False)
            self.pace.start()
        else:
            one, notes = self.synthesizers[name], Notes(name)
            with notes.heard():
                fit = one.model.fit(
                    self.data,
                    seed=self._seed("fit", name),
                    checkpoint=self.folder.fit_folder(name),
                    progress=self._tell_fit,
                    **one.options,
                )
            self.pace.end(computed=True)
            self.pace.start()
            with notes.heard():
                drawn = fit.synthesize(self.plan.sets, seed=self._seed("sets", name))
            self.folder.save_findings(f"{name}-fit", "", convergence(fit, drawn), notes)
            self.folder.save(f"{name}-sets", set_files(name, drawn))
        self.pace.end(computed=False)
        self.folder.drop_fit(name)

    def measure_utility(self, name: str) -> None:
        """Stage utility: what an analyst keeps with one synthesizer's sets."""
        self._stage(
            f"{name}-utility",
            self._sets_digest(name),
            lambda: utility_findings(
                self.data,
                self._sets(name),
                analyses=[Analysis(*one.asked) for one in self.plan.analyses],
                rule="partial" if self.data.kept else "full",
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
        """Stage findings: everything that was found, in one file."""
        self.pace.start()
        findings = Findings(
            title=self.plan.title,
            data=self.folder.load_findings("data", DataFindings)[0],
            intruders=tuple(
                self.folder.load_findings(f"intruder-{number}", IntruderFindings)[0]
                for number in range(1, len(self.intruders) + 1)
            ),
            synthesizers=tuple(map(self._synthesizer, self.synthesizers)),
            versions=self.identity["versions"],
            seed=self.folder.seed,
            data_fingerprint=self.identity["data"],
            set_digests={
                name: tuple(self.folder.files(f"{name}-sets").values())
                for name in self.synthesizers
            },
        )
        content = findings.model_dump_json(indent=1).encode("utf-8")
        self._keep("findings", "findings.json", content)
        return findings

    def decide(self, findings: Findings) -> Verdict:
        """Stage verdict: thresholds and findings in, a decision with reasons out."""
        self.pace.start()
        digest = self.folder.files("findings")["findings.json"]
        verdict = judge(findings, self.plan.thresholds).model_copy(update={"findings": digest})
        self._keep("verdict", "verdict.json", verdict.model_dump_json(indent=1).encode("utf-8"))
        return verdict

    def show(self, findings: Findings, verdict: Verdict) -> None:
        """Stage report: the page."""
        from understudy.pages.report import page

        self.pace.start()
        of = digest_of(
            "".join(
                digest
                for stage in ("findings", "verdict")
                for digest in self.folder.files(stage).values()
            ).encode("ascii")
        )
        computed = not self.folder.finished("report", of)
        if computed:
            content = page(findings, verdict).encode("utf-8")
            self.folder.save("report", [(REPORT, content)], of)
        self.pace.end(computed=computed)

    def _synthesizer(self, name: str) -> SynthesizerFindings:
        """Put together what the stages found about one synthesizer."""
        one = self.synthesizers[name]
        convergence, fit_notes = self.folder.load_findings(f"{name}-fit", Convergence)
        utility, utility_notes = self.folder.load_findings(f"{name}-utility", UtilityFindings)
        risk, risk_notes = self.folder.load_findings(f"{name}-risk", RiskFindings)
        return SynthesizerFindings(
            name=name,
            title=one.title,
            kind=one.kind,
            settings=one.in_words(self.data, convergence.draws),
            m=self.plan.sets,
            fully_synthetic=not self.data.kept,
            convergence=convergence,
            utility=utility,
            risk=risk,
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
        """Compute and save what a stage finds, unless it is finished; its notes name whom about."""
        self.pace.start()
        computed = not self.folder.finished(stage, of)
        if computed:
            notes = Notes(about)
            with notes.heard():
                found = compute()
            self.folder.save_findings(stage, of, found, notes, more)
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
            self._read_back = name, read_synthetic(self.data, frames)
        return self._read_back[1]

    def _sets_digest(self, name: str) -> str:
        digests = self.folder.files(f"{name}-sets").values()
        return digest_of("".join(digests).encode("ascii"))

    def _seed(self, *path: str | int) -> int:
        return child_seed(self.folder.seed, "study", *path)

    def _tell_fit(self, run: Progress) -> None:
        remark = "" if run.rhat is None else f"R-hat so far {run.rhat:.3f}"
        self.pace.report(run.sweep / run.n_sweeps, run.seconds_left, remark)


def _versions() -> dict[str, str]:
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = {name: version(name) for name in LIBRARIES}
    return {"understudy": understudy.__version__, "python": python, **libraries}
