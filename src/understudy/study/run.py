"""A study from file to decision: the table of contents, and the file to read first.

::

    plan → data → baselines, for each intruder
                → for each synthesizer: fit → m sets → utility, risk
                → findings → verdict → report

`Study.run` reads as that list; `stages` says what each stage does. A stage is a function of the
plan, the data and its own stream of the study's seed. It is written to the confidential folder when
it is finished (`folder`), and a study that was killed goes on with the first stage that is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from understudy.checks import kind_of
from understudy.display.described import Described
from understudy.errors import ExitCode, SettingError, quoted
from understudy.findings.schema import Findings
from understudy.memory import memory_limit
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed
from understudy.study.folder import REPORT, StudyFolder, check_study_folder
from understudy.study.plan import StudyPlan, plan_from, read_plan
from understudy.study.progress import Pace, Tell, told
from understudy.study.saved_frontier import last_frontier
from understudy.study.stages import prepare
from understudy.verdict.verdict import Verdict

__all__ = ["Study"]

Result = TypeVar("Result")


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
                came=kind_of(plan),
                do="give the path of a plan.toml; understudy init writes a first one",
            )
        self._home = beside if home is None else Path(home)
        self._internal: Path | None = None
        self._findings: Findings | None = None
        self._verdict: Verdict | None = None

    @only_our_errors
    def run(
        self,
        directory: str | os.PathLike[str],
        resume: bool = True,
        progress: Tell | bool = True,
        register: str | os.PathLike[str] | None = None,
        frontier: str | os.PathLike[str] | None = None,
    ) -> Study:
        """Run the study, or go on with it where it was stopped.

        Parameters
        ----------
        directory : path
            A new or empty folder, or one that holds this study. Everything goes into its subfolder
            ``internal``, which is confidential.
        resume : bool
            Whether to go on with a study that lies there; otherwise that is refused.
        progress : bool or callable
            A bar in a terminal or a notebook, and nothing elsewhere; False for silence. A function
            is called with a `understudy.study.progress.StudyProgress` as the study goes on.
        register : path, optional
            A folder shared by studies, in which this run and its verdict are entered; the plan's
            when left out.
        frontier : path, optional
            The folder of a frontier of the same data: the report shows where the study lies on it;
            the plan's when left out.

        Returns
        -------
        Study
            This study, with `findings`, `verdict` and `report`.
        """
        with memory_limit(self.plan.memory), told(progress, "study") as tell:
            return self._run(directory, resume, tell, register, frontier)

    def _run(
        self,
        directory: str | os.PathLike[str],
        resume: bool,
        progress: Tell | None,
        register: str | os.PathLike[str] | None,
        frontier: str | os.PathLike[str] | None,
    ) -> Study:
        internal = check_study_folder(directory, resume=resume)
        stages = prepare(self.plan, self._home, progress)
        last = last_frontier(self._frontier_folder(frontier), stages.data)
        fresh = check_seed(None)
        with StudyFolder(internal, stages.identity, self.plan.seed, fresh) as stages.folder:
            named = self.register_folder(register)
            stages.folder.use_register(named, stages.fit_data.people_digest())
            stages.pace = Pace(stages.listed(), stages.guessed_seconds(), progress)
            stages.write_plan()
            stages.describe_data()
            for number, known in enumerate(stages.intruders, 1):
                stages.measure_baselines(number, known)
            for name in stages.synthesizers:
                stages.fit_and_draw(name)
                stages.measure_utility(name)
                stages.measure_risk(name)
            self._findings = stages.collect()
            self._verdict = stages.decide(self._findings)
            stages.show(self._findings, self._verdict, last)
        self._internal = internal
        return self

    @property
    def home(self) -> Path:
        """The folder that paths in the plan are relative to."""
        return self._home

    def register_folder(self, named: str | os.PathLike[str] | None) -> Path | None:
        """Give the register that is named, or else the plan's."""
        if named is not None:
            return Path(named)
        planned = self.plan.register_folder
        return None if planned is None else self._home / planned

    def _frontier_folder(self, named: str | os.PathLike[str] | None) -> Path | None:
        if named is not None:
            return Path(named)
        planned = self.plan.frontier.folder
        return None if planned is None else self._home / planned

    @property
    def findings(self) -> Findings:
        """What was measured; confidential."""
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

    def _repr_html_(self) -> str:
        """Show the title, and the verdict once there is one, in a notebook."""
        own = Described(repr(self)).html()
        return own if self._verdict is None else own + self._verdict._repr_html_()

    def plot(self, panel: str | None = None, ax: Any = None) -> Any:
        """Draw the verdict's reasons.

        Parameters
        ----------
        panel : str, optional
            Which of its panels; the first when left out.
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure when left out.
        """
        return self.verdict.plot(panel, ax)

    def __repr__(self) -> str:
        """Show the title and how far it is."""
        state = self._verdict.outcome if self._verdict is not None else "not run yet"
        return f"Study({quoted(self.plan.title)}, {state})"
