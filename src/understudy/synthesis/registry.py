"""The models that a plan can name, with every fact that other folders need about them.

A new model is one entry here: plans, the explained plan, the progress guess, reports and public
pages all read it. The registry imports no sampler, so that it can be read anywhere at no cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

from pydantic import Field

from understudy.settings import one_mistake

if TYPE_CHECKING:
    from understudy.microdata.table import Microdata

__all__ = [
    "ESS_TARGET",
    "MODELS",
    "RHAT_TARGET",
    "TABLE_BYTES",
    "Model",
    "Setting",
    "default_models",
    "load_model",
    "memory_estimates",
    "time_estimates",
]

# What quantities of every model have to meet unless a fit asks for something else.
RHAT_TARGET, ESS_TARGET = 1.01, 400.0
TABLE_BYTES = 256 * 1024**2  # most bytes that the label probabilities that a fit keeps take

AtLeastOne = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
ShapeAndRate = tuple[Positive, Positive]
MeanAndDeviation = tuple[Annotated[float, Field(allow_inf_nan=False)], Positive]
PriorCount = Positive | Literal["sampled"]
LevelPrior = Annotated[
    PriorCount | dict[str, PriorCount | Annotated[tuple[Positive, ...], Field(strict=False)]],
    one_mistake(
        'should be a number above zero, "sampled", or by variable these or several numbers'
    ),
]

Order = Annotated[
    Literal["auto"] | Annotated[tuple[str, ...], Field(strict=False)],
    one_mistake('should be "auto", or a list of names of kept variables'),
]


class Setting(NamedTuple):
    """A setting of a model, as a plan gives it."""

    type: Any  # what pydantic accepts
    words: str  # explanation in a plan
    public: str | None = None  # its name on public pages; None: it stays internal
    example: Any = None  # in the explained plan, where the default is None


@dataclass(frozen=True)
class Model:
    """All facts about a model.

    Attributes
    ----------
    title : str
        Its name in reports.
    location : str
        ``"module:class"`` of its settings, a `SampledModel`; loaded when it is used.
    words : str
        What it is, in a line of the explained plan.
    public : str
        What it is, on public pages.
    settings : mapping of str to Setting
        The keys of a plan: the fields of the class, in their order.
    colours : (str, str)
        In figures, on a light and on a dark page.
    seconds : callable
        What a sweep takes, about, from the data: the first guess of how long a fit takes.
    chain_bytes : callable
        Memory that a chain takes at default settings, from the data.
    needs_patterns : bool
        Whether it needs kept variables.
    fills_holes : bool
        Whether it takes missing values that are to be modelled: then a plan that names no
        synthesizer has it where there are some.
    by_default : bool
        Whether a plan that names no synthesizer has it.
    formal : bool
        Whether its sets are differentially private in the label. No other model may be called so.
    frontier_lengths : mapping of str to object
        Of its chains at a point of a frontier, which are shorter than a study's.
    frontier_dials : callable, optional
        What a frontier varies unless its plan says it, from the number of sets: keys of a block of
        dials. None: such a frontier has no points of it.
    """

    title: str
    location: str
    words: str
    public: str
    settings: Mapping[str, Setting]
    colours: tuple[str, str]
    seconds: Callable[[Microdata], float]
    chain_bytes: Callable[[Microdata], int]
    needs_patterns: bool = False
    fills_holes: bool = False
    by_default: bool = False
    formal: bool = False
    frontier_lengths: Mapping[str, Any] = field(default_factory=dict)
    frontier_dials: Callable[[int], dict[str, Any]] | None = None


def _dpmpm_bytes(data: Microdata) -> int:
    """Probabilities and counts of every level and class, twice for a while; nothing by record."""
    from understudy.synthesis.dpmpm.costs import enough_classes

    n_levels = sum(variable.n_levels for variable in data.variables)
    return 32 * max(40, enough_classes(data.n_records)) * n_levels


def _areal_pairs(data: Microdata) -> tuple[int, int]:
    """Count the distinct pairs (pattern, count), empty cells included, and the distinct counts."""
    import numpy as np

    of_pattern = data.patterns.of_combination.astype(np.int64)  # (combination,)
    pairs = np.unique(np.stack([of_pattern, data.counts], axis=1), axis=0)
    return len(pairs) + len(data.patterns), np.unique(data.counts).size + 1


def _areal_bytes(data: Microdata) -> int:
    """Rates of every cell, four tables of 50 clusters per pair, integrals of every count."""
    n_pairs, n_counts = _areal_pairs(data)
    return 8 * 2 * len(data.patterns) * data.n_labels + 8 * 4 * 50 * n_pairs + 150_000 * n_counts


def _areal_seconds(data: Microdata) -> float:
    """A part for every pair; and one for every cell, whose rates are drawn."""
    n_pairs, _ = _areal_pairs(data)
    return 2e-3 + 2e-5 * n_pairs + 1e-7 * len(data.patterns) * data.n_labels


def _backoff_bytes(data: Microdata) -> int:
    """Records and probability of every pair of a group and a label, in about six layers."""
    return 16 * 6 * data.n_combinations


RISK_WEIGHTING = {
    "risk_weighting": Setting(
        Annotated[float, Field(ge=0, allow_inf_nan=False)],
        "0: none; how much less a record of high risk in a first fit counts",
        "how much less records of high risk count",
    ),
    "risk": Setting(
        Literal["own_record", "surprise"],
        'that risk: "own_record", or "surprise" of the label',
        "risk that this goes by",
    ),
}

MODELS = {
    "dpmpm": Model(
        title="DPMPM",
        location="understudy.synthesis.dpmpm.model:DPMPM",
        words="classes of records, independent variables within a class",
        public="a Dirichlet process mixture of products of multinomials: every record belongs to a "
        "latent class, and within a class the variables are independent",
        settings={
            "n_classes": Setting(
                AtLeastOne,
                "of the blocked sampler; more where all are in use",
                "classes of the blocked sampler, at the start",
            ),
            "concentration_prior": Setting(
                ShapeAndRate, "shape and rate", "prior of the concentration (shape, rate)"
            ),
            "level_prior": Setting(
                LevelPrior,
                "prior count of every level, 1.0 in the paper, or part of the fit",
                "prior weight of every level",
            ),
            "strength_prior": Setting(
                MeanAndDeviation,
                "of the logarithm of sampled prior counts: mean, deviation",
                "prior of the logarithm of sampled weights (mean, standard deviation)",
            ),
            "sampler": Setting(
                Literal["auto", "collapsed", "blocked"],
                'by size "collapsed", or "blocked", the paper\'s',
                "sampler",
            ),
            "class_draw": Setting(
                Literal["kept", "full", "prior"],
                'a record\'s class given "kept" variables, "full", "prior"',
                "what a record's class is drawn from",
            ),
            **RISK_WEIGHTING,
            "device": Setting(
                Literal["cpu", "gpu"], 'where classes are drawn; "gpu" for millions of combinations'
            ),
        },
        colours=("#b04a00", "#f2a25c"),
        seconds=lambda data: 1e-7 * data.n_records,
        chain_bytes=_dpmpm_bytes,
        fills_holes=True,
        frontier_lengths={
            "warmup": 2000,
            "draws": 250,
            "thin": 30,
            "until": {"most_draws": 500},
        },
        frontier_dials=lambda _: {"vary": {"level_prior": (1.0, 0.3, 0.1)}},
    ),
    "areal": Model(
        title="DP-areal",
        location="understudy.synthesis.areal.model:DPAreal",
        words="counts of patterns by labels, clusters of labels",
        public="Poisson-lognormal counts of every combination of kept variables and label, with a "
        "Dirichlet process prior on the random effects",
        settings={
            "n_clusters": Setting(AtLeastOne, "where the process is cut off", "most clusters"),
            "variant": Setting(
                Literal["text", "script"],
                'the paper\'s text, or the "script" of its supplement',
                "variant of the model",
            ),
            "concentration_prior": Setting(
                ShapeAndRate,
                "shape and rate, here and in the next four lines",
                "prior of the concentration (shape, rate)",
            ),
            "log_rate_precision_prior": Setting(ShapeAndRate, "of log rates in a cluster"),
            "intercept_precision_prior": Setting(ShapeAndRate, "of the clusters' intercepts"),
            "mean_precision_prior": Setting(ShapeAndRate, "of the overall mean"),
            "slope_mean_precision_prior": Setting(ShapeAndRate, "of the slopes' means"),
            "correlation_shape": Setting(
                Positive, "of the slopes' correlations (LKJ)", example=2.0
            ),
            "scale_prior": Setting(
                ShapeAndRate, "degrees of freedom and scale of the slopes' deviations"
            ),
            **RISK_WEIGHTING,
        },
        colours=("#005fa3", "#72b7f2"),
        seconds=_areal_seconds,
        chain_bytes=_areal_bytes,
        needs_patterns=True,
    ),
    "backoff": Model(
        title="Back-off tree",
        location="understudy.synthesis.backoff.model:BackoffTree",
        words="label distributions of groups, around those of larger groups",
        public="label distributions that back off along a tree: the distribution of the labels in "
        "a group of records is a Dirichlet draw around that of the larger group it belongs to",
        settings={
            "order": Setting(
                Order,
                '"auto" grows the tree; or kept variables, one after another',
                "order of the kept variables",
            ),
            "scale": Setting(
                Positive,
                "of all concentrations: large towards Marginal, small towards Perfect",
                "scale of the concentrations",
            ),
            "prior_median": Setting(
                Positive, "of every concentration", "prior median of the concentrations"
            ),
        },
        colours=("#b3125f", "#ff8ab5"),
        seconds=lambda data: 5e-4 + 1e-8 * data.n_combinations,
        chain_bytes=_backoff_bytes,
        by_default=True,
        frontier_lengths={"draws": 250},
        frontier_dials=lambda _: {"between": {"scale": (0.03, 30.0)}},
    ),
    "formal": Model(
        title="Formal Dirichlet",
        location="understudy.synthesis.formal_dirichlet:FormalDirichlet",
        words="labels with a fixed prior: differentially private, at a price",
        public="the labels of every combination of kept variables with a Dirichlet prior that is "
        "fixed before any label is looked at",
        settings={
            "epsilon": Setting(Positive, "of all sets together", "epsilon of all sets together"),
            "sets": Setting(
                AtLeastOne,
                "sets that epsilon is spent on; those of the study when left out",
                "sets that epsilon is spent on",
            ),
        },
        colours=("#66660a", "#d0d05a"),
        seconds=lambda data: 5e-8 * len(data.patterns) * data.n_labels,
        chain_bytes=lambda data: 24 * len(data.patterns) * data.n_labels,
        formal=True,
        frontier_lengths={"draws": 250},
        frontier_dials=lambda sets: {
            "vary": {"epsilon": tuple(float(sets * per_set) for per_set in (1, 3, 5, 8))}
        },
    ),
}


def default_models(*, patterns: bool, holes: bool) -> tuple[str, ...]:
    """Name the models that are used where none is named.

    The data have `patterns` if there are kept variables, and `holes` if missing values are to be
    modelled.
    """
    return tuple(
        name
        for name, model in MODELS.items()
        if (model.fills_holes if holes else model.by_default)
        and (patterns or not model.needs_patterns)
    )


def load_model(name: str) -> Any:
    """Load the class of a model's settings."""
    module, _, settings = MODELS[name].location.partition(":")
    return getattr(import_module(module), settings)


def memory_estimates(data: Microdata, chains: int = 4, kept_draws: int = 1000) -> dict[str, int]:
    """Estimate the bytes that each model needs at its default settings, by title.

    They are those of the chains and their kept label probabilities, of which there are no more than
    fits keep, and of 20 synthetic sets.
    """
    draws = min(TABLE_BYTES, chains * kept_draws * len(data.patterns) * data.n_labels * 4)
    estimates = {model.title: chains * model.chain_bytes(data) + draws for model in MODELS.values()}
    sizes = [data.variable(name).n_levels for name in data.synthesized]
    width = sum(1 if size < 256 else 2 if size < 65_536 else 4 for size in sizes)
    return {**estimates, "20 synthetic sets": 20 * data.n_records * width}


def time_estimates(data: Microdata) -> dict[str, float]:
    """Estimate the processor seconds that each model's fit takes at least, by title.

    Fits of default length, which may go on; the formal Dirichlet, drawn at once, is left out.
    """
    return {
        model.title: load_model(name)().least_seconds(data)
        for name, model in MODELS.items()
        if not model.formal
    }
