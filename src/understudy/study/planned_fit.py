"""A synthesizer of the plan, ready to fit: its settings, and how long its chains run."""

from __future__ import annotations

import inspect
from dataclasses import asdict, dataclass, replace
from typing import Any

from understudy.errors import SettingError, quoted
from understudy.microdata.table import Microdata
from understudy.study.plan import SynthesizerPlan
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.registry import MODELS, load_model
from understudy.synthesis.run_fit import DRAWS_AT_A_TIME
from understudy.synthesis.set_drawing import Drawing

__all__ = ["PlannedFit", "check_imputable", "drawing_of"]

REFIT_DRAWS = 250  # of each chain that is fitted to other data, where the plan gives no number


@dataclass(frozen=True)
class PlannedFit:
    """A synthesizer of the plan: the model's settings, and how long its chains run."""

    title: str
    kind: str
    model: Any
    options: dict[str, Any]

    @classmethod
    def of(cls, name: str, plan: SynthesizerPlan, sets: int) -> PlannedFit:
        """Make the model, and check that there will be a draw for every set."""
        own = plan.own_settings()
        if "sets" in MODELS[plan.model].settings:
            own.setdefault("sets", sets)
        model = load_model(plan.model)(**own)
        parameters = inspect.signature(model.fit).parameters
        lengths = ("chains", "warmup", "draws", "thin")
        options = {name: parameters[name].default for name in lengths}
        options |= plan.fit_options()
        if options["draws"] is not None and sets > options["chains"] * options["draws"]:
            raise SettingError(
                expected=f"at least as many draws of {quoted(name)} as there are sets, {sets:,}",
                came=f"{options['chains']:,} chains of {options['draws']:,} draws",
                do="keep more draws, or ask for fewer sets",
            )
        until = None if plan.until is None else ConvergenceTargets(**plan.until.model_dump())
        title = MODELS[plan.model].title
        title = title if name == plan.model else f"{title} ({name})"
        return cls(title, plan.model, model, {**options, "until": until})

    @property
    def n_sweeps(self) -> int:
        """Sweeps of all chains together, unless they go on."""
        chains, warmup, draws, thin = (
            self.options[name] for name in ("chains", "warmup", "draws", "thin")
        )
        return int(chains * (warmup + (draws or DRAWS_AT_A_TIME) * thin))

    def refit(self, data: Microdata, seed: int) -> Any:
        """Fit the same model to other data, as long as the plan says and without going on."""
        draws = self.options["draws"] or REFIT_DRAWS
        options = {**self.options, "draws": draws, "until": None}
        return self.model.fit(data, seed=seed, progress=False, **options)

    def described(self) -> dict[str, Any]:
        """All settings, as JSON."""
        until = self.options["until"]
        targets = asdict(until) if until is not None else None
        settings = asdict(self.model)
        if not settings.get("risk_weighting"):
            settings = {
                key: settings[key] for key in settings if key not in {"risk_weighting", "risk"}
            }
        return {"model": self.kind, **settings, **self.options, "until": targets}

    def in_words(self, data: Microdata, kept: int) -> dict[str, str]:
        """All settings as text, as a reader wants them.

        The size of the data settles what was left to it; `kept` are the draws per chain that were
        kept in the end, for targets may ask for more.
        """
        model = self.model.settled(data)
        words = {
            name: _words(value) for name, value in replace(self, model=model).described().items()
        }
        if self.options["draws"] is None:
            lengths = (self.options[name] for name in ("chains", "warmup", "thin"))
            limit = self.options["until"] or model.default_until(data, *lengths)
            words |= {"draws": f"{kept:,} kept", "until": _words(asdict(limit))}
        elif kept != self.options["draws"]:
            words["draws"] = f"{self.options['draws']:,} asked, {kept:,} kept"
        return words


def check_imputable(data: Microdata, imputations: int | None) -> None:
    """Refuse files that show imputed values where no kept variable has missing ones."""
    if imputations is not None and not set(data.kept) & set(data.with_holes):
        raise SettingError(
            expected="missing values in kept variables, where files are to show imputed ones",
            came="none",
            do="leave imputations out",
        )


def drawing_of(fit: Any, sets: int, imputations: int | None, seed: int) -> Drawing:
    """Settle how sets are drawn from a fit: with holes put back, or with imputations."""
    drawing: Drawing = (
        fit.drawing(sets, seed=seed)
        if imputations is None
        else fit.imputed_drawing(imputations, sets // imputations, seed=seed)
    )
    return drawing


def _words(value: Any) -> str:
    """Write a setting as text: nothing that only a program says."""
    if value is None:
        return "–"
    if isinstance(value, dict):
        return ", ".join(
            f"{name.replace('_', ' ')} {_words(entry)}" for name, entry in value.items()
        )
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)
