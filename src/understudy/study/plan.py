"""The plan of a study, read from a TOML file: data, synthesizers, intruders, analyses, thresholds.

Only ``[data]`` must be there; everything else has a default. `plan_template.plan_text` writes a
plan in which every key is explained. Paths in a plan are relative to the plan's own folder.

Left out, the synthesizer is the back-off tree with its defaults, which gives an answer within a
minute or two (docs/comparison.md has the numbers; the paper's models are used where a plan names
them), the intruder is the worst that the data allow for, one who knows every kept variable, and
there is no regression.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, Field, create_model, field_validator, model_validator

from understudy.errors import SettingError, nearest, quoted
from understudy.microdata.bins import Bins
from understudy.microdata.codebook import Codebook, codebook_from
from understudy.microdata.file_format import is_remote
from understudy.microdata.survey_design import DesignColumns
from understudy.randomness import check_seed
from understudy.settings import Settings, one_mistake, read_settings, settings_from
from understudy.storage import WINDOWS_NAMES
from understudy.study.frontier_plan import FrontierPlan
from understudy.synthesis.registry import ESS_TARGET, MODELS, RHAT_TARGET, default_models
from understudy.verdict.thresholds import Thresholds

__all__ = [
    "MODEL_PLANS",
    "AnalysisPlan",
    "BaselinesPlan",
    "DataPlan",
    "IntruderPlan",
    "ModelPlan",
    "OwnRecordPlan",
    "StudyPlan",
    "SynthesizerPlan",
    "UntilPlan",
    "plan_from",
    "read_plan",
]

BUNDLED = "bundled:"
Train = Annotated[
    Annotated[int, Field(ge=1)] | Literal["auto", "all"],
    one_mistake('should be a number of records, "auto" or "all"'),
]


Repeats = Annotated[
    Annotated[int, Field(ge=1)] | Literal["auto"],
    one_mistake('should be a number of draws, at least 1, or "auto"'),
]


class DataPlan(Settings):
    """Which data, and how to read them; see `understudy.read_microdata` for each key.

    ``coarsen`` merges levels by steps of the codebook's hierarchies, by variable: in files, and in
    what is measured. Models are fitted to the levels as they are.
    """

    file: str
    synthesize: tuple[str, ...] = Field(min_length=1)
    keep: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    pass_through: tuple[str, ...] = ()
    weight: str | None = None
    weight_groups: int | None = Field(default=None, ge=2, le=100)
    design: DesignColumns = DesignColumns()
    codebook: str | None = None
    missing: Literal["error", "level", "drop", "model"] = "error"
    na: tuple[str, ...] = ()
    unused_levels: Literal["error", "keep", "drop"] = "error"
    encoding: str | None = None
    delimiter: str | None = None
    header: Literal["auto", "yes"] = "auto"
    catalog: str | None = None
    bins: dict[str, Bins] = Field(default_factory=dict)
    coarsen: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)

    def reading_options(self, folder: Path) -> dict[str, Any]:
        """Give the arguments of `understudy.read_microdata`, paths made relative to a folder."""
        options: dict[str, Any] = {name: getattr(self, name) for name in type(self).model_fields}
        options["source"], bundled = self._source(folder)
        del options["file"], options["coarsen"]
        if self.catalog is not None:
            options["catalog"] = folder / self.catalog
        options["codebook"] = codebook_from(folder / self.codebook) if self.codebook else bundled
        return options

    def _source(self, folder: Path) -> tuple[Path | str, Codebook | None]:
        """Find the file, and the codebook that comes with bundled data."""
        if is_remote(self.file):
            return self.file, None
        if not self.file.startswith(BUNDLED):
            return folder / self.file, None
        from understudy.microdata.bundled import BUNDLED_DATA

        name = self.file.removeprefix(BUNDLED)
        if name not in BUNDLED_DATA:
            raise SettingError(
                expected=f"bundled data: {', '.join(BUNDLED + known for known in BUNDLED_DATA)}",
                came=f"{quoted(self.file)}{nearest(name, BUNDLED_DATA)}",
                do="use a name from the list, or the path of a file",
            )
        return BUNDLED_DATA[name]


class UntilPlan(Settings):
    """When chains may end early, and how long to go on; see `understudy.ConvergenceTargets`."""

    rhat: float = Field(default=RHAT_TARGET, gt=1, allow_inf_nan=False)
    ess: float = Field(default=ESS_TARGET, gt=0, allow_inf_nan=False)
    most_draws: int = Field(default=20_000, ge=4)


class SynthesizerPlan(Settings):
    """What every synthesizer has: a name, chains, and how long they run.

    Settings that are left out are the model's own defaults.
    """

    name: str | None = None
    chains: int | None = Field(default=None, ge=1)
    warmup: int | None = Field(default=None, ge=0)
    draws: int | None = Field(default=None, ge=4)
    thin: int | None = Field(default=None, ge=1)
    until: UntilPlan | None = None
    model: str

    @field_validator("name")
    @classmethod
    def _name_of_a_folder(cls, name: str | None) -> str | None:
        if name is not None and (
            not re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", name) or name in WINDOWS_NAMES
        ):
            raise ValueError(
                "should be 1 to 40 small letters, digits, - and _ (not con, nul, com1 ...)"
            )
        return name

    def own_settings(self) -> dict[str, Any]:
        """Settings of the model itself that are not left out."""
        own = type(self).model_fields.keys() - SynthesizerPlan.model_fields.keys()
        given = {name: getattr(self, name) for name in type(self).model_fields if name in own}
        return {name: value for name, value in given.items() if value is not None}

    def fit_options(self) -> dict[str, Any]:
        """How long the chains run, where that is not left out."""
        given = {name: getattr(self, name) for name in ("chains", "warmup", "draws", "thin")}
        return {name: value for name, value in given.items() if value is not None}


def _plan_of(name: str) -> type[SynthesizerPlan]:
    """Make the plan of a model: its keys are the model's settings, all of which may be left out."""
    location = MODELS[name].location.replace(":", ".")
    own: dict[str, Any] = {"model": (Literal[name], ...)} | {
        key: (setting.type | None, None) for key, setting in MODELS[name].settings.items()
    }
    return create_model(
        f"{name.title()}Plan",
        __base__=SynthesizerPlan,
        __doc__=f"Settings of `{location}`.",
        **own,
    )


MODEL_PLANS = {name: _plan_of(name) for name in MODELS}
if TYPE_CHECKING:
    ModelPlan = SynthesizerPlan
else:
    ModelPlan = Annotated[reduce(or_, MODEL_PLANS.values()), Field(discriminator="model")]


class IntruderPlan(Settings):
    """What an intruder knows besides the true label: some of the kept variables."""

    known: tuple[str, ...] = Field(min_length=1)


class AnalysisPlan(Settings):
    """A regression that analysts will run; see `understudy.regression_utility`."""

    formula: str
    family: Literal["ordered-logit", "logistic", "linear"] = "ordered-logit"
    train: Train = "auto"
    reference: Literal["largest"] | dict[str, str] | None = None

    @property
    def asked(self) -> tuple[str, str, Any, Any]:
        """Formula, family, records to fit on (None: all of them) and reference levels."""
        train = None if self.train == "all" else self.train
        return self.formula, self.family, train, self.reference


class BaselinesPlan(Settings):
    """How the data's own baselines are drawn."""

    repeats: Repeats = "auto"


class OwnRecordPlan(Settings):
    """How the effect of people's own records is measured.

    Attributes
    ----------
    refits : int
        Fits without the records whose importance weights cannot be trusted.
    informed : bool
        Whether to measure what the files tell an intruder who knows the model and every record but
        one: one further fit for every set.
    """

    refits: int = Field(default=1, ge=0)
    informed: bool = False


class StudyPlan(Settings):
    """A whole study.

    Attributes
    ----------
    title : str
        Of the report.
    sets : int
        How many synthetic sets each synthesizer draws (the paper's m).
    imputations : int, optional
        Where missing values are modelled: files show imputed values of kept variables, and the sets
        are of so many imputations. Left out, the holes are put back.
    seed : int, optional
        Makes everything repeatable. It is internal: whoever has it can redraw a release.
    memory : str, optional
        How much may be used, such as "8 GB" or "25%"; a quarter of the machine's when left out.
    approvers : int
        Different people whose approval a release needs before files are written.
    register_folder : str, optional
        The key ``register``: a folder shared by studies, in which runs, verdicts and releases are
        entered.
    data, synthesizers, intruders, analyses, baselines, own_record, thresholds, frontier
        The sections of the plan; ``[levels]`` is an older name of ``[baselines]``.
    """

    keys_may_be_levels: ClassVar[bool] = False

    title: str = Field(default="A study of synthetic data", min_length=1, max_length=200)
    sets: int = Field(default=20, ge=1, le=1000)
    imputations: int | None = Field(default=None, ge=2, le=500)
    seed: int | None = Field(default=None, ge=0, lt=2**128)
    memory: str | None = None
    approvers: int = Field(default=1, ge=1, le=9)
    register_folder: str | None = Field(
        default=None, min_length=1, validation_alias="register", serialization_alias="register"
    )  # a field named register would hide a method
    data: DataPlan
    synthesizers: tuple[ModelPlan, ...] | None = None
    intruders: tuple[IntruderPlan, ...] | None = None
    analyses: tuple[AnalysisPlan, ...] = ()
    baselines: BaselinesPlan = Field(
        default=BaselinesPlan(), validation_alias=AliasChoices("baselines", "levels")
    )
    own_record: OwnRecordPlan = OwnRecordPlan()
    thresholds: Thresholds = Thresholds()
    frontier: FrontierPlan = FrontierPlan()

    @model_validator(mode="after")
    def _check(self) -> StudyPlan:
        if self.synthesizers == ():
            raise ValueError("has an empty list of synthesizers: leave it out for the default ones")
        if self.analyses and self.sets < 2:
            raise ValueError("has analyses, and one set: intervals need at least two sets")
        if self.imputations is not None:
            self._check_imputations(self.imputations)
        names = [plan.name or plan.model for plan in self.synthesizers or ()]
        if len(set(names)) < len(names):
            raise ValueError("has two synthesizers of the same name: give each a name of its own")
        return self

    def _check_imputations(self, imputations: int) -> None:
        """Refuse imputations that do not go with the rest of the plan."""
        if self.data.missing != "model":
            raise ValueError('has imputations, which belong to missing values that are modelled: '
                             'write missing = "model" in [data], or leave them out')  # fmt: skip
        if self.sets % imputations or self.sets < 2 * imputations:
            raise ValueError(
                f"has {self.sets:,} sets of {imputations:,} imputations: every imputation needs as "
                "many sets as the others, and at least two"
            )
        if self.data.coarsen or self.own_record.informed:
            raise ValueError("has imputations beside coarsen or informed, which cannot be together")

    def with_seed(self, seed: int | None) -> StudyPlan:
        """Give the same plan with another seed, or with its own for None."""
        return self if seed is None else self.model_copy(update={"seed": check_seed(seed)})

    def with_memory(self, memory: str | None) -> StudyPlan:
        """Give the same plan with another limit of memory, or with its own for None."""
        return self if memory is None else self.model_copy(update={"memory": memory})

    def chosen_synthesizers(
        self, *, patterns: bool = True, holes: bool = False
    ) -> dict[str, SynthesizerPlan]:
        """Give the synthesizers by name, the default ones where the plan has none.

        The data have `patterns` if there are kept variables, and `holes` if missing values are to
        be modelled.
        """
        if self.synthesizers is not None:
            return {plan.name or plan.model: plan for plan in self.synthesizers}
        return {
            name: MODEL_PLANS[name](model=name)
            for name in default_models(patterns=patterns, holes=holes)
        }


def plan_from(content: Mapping[str, Any]) -> StudyPlan:
    """Check a plan that is given as a mapping, such as parsed TOML; name all that is wrong."""
    return settings_from(dict(content), StudyPlan, "plan")


def read_plan(path: str | os.PathLike[str]) -> StudyPlan:
    """Read a plan from a TOML file, or name all that is wrong with it."""
    return read_settings(path, StudyPlan, "plan")
