"""What a plan chose: the data, read; its synthesizers, ready to fit; what is kept of their fits."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import SettingError, UnderstudyError, quoted
from understudy.findings.chains import convergence_findings
from understudy.findings.schema import Convergence
from understudy.microdata.codebook import Codebook, codebook_from
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.study.plan import StudyPlan, SynthesizerPlan
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.registry import MODELS, load_model

__all__ = ["PlannedFit", "convergence", "read_data", "set_files"]


def read_data(
    plan: StudyPlan, home: Path, progress: Callable[[int, int], None] | None = None
) -> tuple[Microdata, Codebook]:
    """Read the data of a plan, and the codebook that belongs to them.

    The name of the confidential file, which may tell something, is kept out of messages.
    """
    options = plan.data.reading_options(home)
    source = options["source"]
    try:
        data = read_microdata(**options, progress=progress)
        return data, codebook_from(options["codebook"])
    except UnderstudyError as problem:
        words = [problem.expected, problem.came, problem.do]
        for name in (quoted(source), quoted(source.name)):
            words = [part.replace(name, "the plan's data file") for part in words]
        raise type(problem)(*words) from None


@dataclass(frozen=True)
class PlannedFit:
    """A synthesizer of the plan: the model's settings, and how long its chains run."""

    title: str
    kind: str
    model: Any
    options: dict[str, Any]

    @classmethod
    def of(cls, name: str, chosen: SynthesizerPlan, sets: int) -> PlannedFit:
        """Make the model, and check that there will be a draw for every set."""
        model = load_model(chosen.model)(**chosen.own_settings())
        taken = inspect.signature(model.fit).parameters
        options = {one: taken[one].default for one in ("chains", "warmup", "draws", "thin")}
        options |= chosen.fit_options()
        if sets > options["chains"] * options["draws"]:
            raise SettingError(
                expected=f"at least as many draws of {quoted(name)} as there are sets, {sets:,}",
                came=f"{options['chains']:,} chains of {options['draws']:,} draws",
                do="keep more draws, or ask for fewer sets",
            )
        until = None if chosen.until is None else ConvergenceTargets(**chosen.until.model_dump())
        title = MODELS[chosen.model].title
        title = title if name == chosen.model else f"{title} ({name})"
        return cls(title, chosen.model, model, {**options, "until": until})

    def described(self) -> dict[str, Any]:
        """All settings, as JSON."""
        until = self.options["until"]
        words = asdict(until) if until is not None else None
        return {"model": self.kind, **asdict(self.model), **self.options, "until": words}

    def in_words(self, data: Microdata, kept: int) -> dict[str, str]:
        """All settings as text, as a reader wants them.

        Parameters
        ----------
        data : Microdata
            What was fitted: its size settles what was left to it.
        kept : int
            Draws per chain that were kept in the end: targets may ask for more.
        """
        model = self.model.settled(data)
        told = {
            name: _words(value) for name, value in replace(self, model=model).described().items()
        }
        if kept != self.options["draws"]:
            told["draws"] = f"{self.options['draws']:,} asked, {kept:,} kept"
        return told


def _words(value: Any) -> str:
    """Write a setting as text: nothing that only a program says."""
    if value is None:
        return "–"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_words(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def convergence(fit: Any, drawn: Any) -> Convergence:
    """Keep what shows whether a fit has converged."""
    scalars = {
        name: np.asarray(values)
        for name, values in fit.draws["posterior"].items()
        if values.dims == ("chain", "draw")
    }
    return convergence_findings(
        diagnostics=fit.diagnostics(),
        scalars=scalars,
        converged=fit.converged,
        warmup=fit.plan.warmup,
        thin=fit.plan.thin,
        autocorrelation_time=drawn.autocorrelation_time,
        spacing=drawn.spacing,
        rhat_target=fit.targets.rhat,
        ess_target=fit.targets.ess,
        set_chains=drawn.chain,
    )


def set_files(name: str, drawn: SyntheticSets) -> Iterator[tuple[str, bytes]]:
    """Write every set as a Parquet file, rows beside the records."""
    width = max(2, len(str(len(drawn))))
    for index in range(len(drawn)):
        buffer = io.BytesIO()
        drawn.frame(index, "polars").write_parquet(buffer)
        yield f"sets/{name}/{index + 1:0{width}d}.parquet", buffer.getvalue()
