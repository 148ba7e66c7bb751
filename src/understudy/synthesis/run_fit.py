"""`fit`, written once for every model that is run by chains.

A model derives its settings from `SampledModel` and brings its `ChainSampler`. What does not depend
on the model happens here: the options of `fit` and their checks, the identity of a saved run, its
seed, the chains, and the warning about what has not converged.
"""

from __future__ import annotations

import inspect
import math
import os
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, get_args

import numba
import numpy as np
from numpy.typing import NDArray

import understudy
from understudy.checks import check_whole, kind_of
from understudy.display.progress_bar import progress_bar
from understudy.errors import (
    LevelError,
    MissingValuesError,
    SettingError,
    UnderstudyWarning,
    quoted,
    quoted_list,
)
from understudy.microdata.data_arguments import check_data
from understudy.microdata.given_data import given_data
from understudy.microdata.label_table import check_table_fits
from understudy.microdata.table import Microdata
from understudy.private_folder import PrivateFolder
from understudy.public_errors import from_the_user, only_our_errors
from understudy.randomness import check_seed, child_seed
from understudy.storage import digest_of
from understudy.synthesis.chains import (
    NO_DRAWS,
    Plan,
    Progress,
    default_threads,
    run_chains,
)
from understudy.synthesis.checkpoints import Checkpoint
from understudy.synthesis.contract import ChainSampler
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.fit_notes import note_time, warn_of_chains
from understudy.synthesis.registry import TABLE_BYTES
from understudy.synthesis.risk_weights import STEPS, check_weights, risk_weights
from understudy.synthesis.sampled_fit import SampledFit
from understudy.synthesis.stored_probabilities import KeptCells

__all__ = [
    "FitOptions",
    "Prepared",
    "SampledModel",
    "check_holes",
    "check_labels",
]

MOST_CELLS = 100_000  # label probabilities that are kept of a draw at most: each is judged
SNAPSHOT_BYTES = 64 * 1024**2  # about as many bytes per chain for what synthesis needs
MOST_SNAPSHOTS = 250  # and no more of them per chain and `draws`
FEWEST_SNAPSHOTS = 25
DRAWS_AT_A_TIME = 500  # of a chain that goes on
FIT_SECONDS = 1200.0  # processor seconds of a fit that goes on: ten minutes of two cores
MOST_DRAWS = 3000  # of a chain that goes on: of more, fewer label probabilities could be kept
FEWEST_DRAWS = 25
FIRST_FIT = ".first"  # folder in that of a saved run, for the fit that its weights come from
MOST_FIRST_DRAWS = 500  # of a chain of that fit


@dataclass(frozen=True)
class FitOptions:
    """What the user asked `fit` for, checked when it is made.

    Attributes
    ----------
    chains, warmup, draws, thin, seed, threads, checkpoint, until, progress, weights
        The options of `fit`, under their own names.
    """

    chains: int
    warmup: int
    draws: int
    thin: int
    seed: int | None
    threads: int | None
    checkpoint: str | os.PathLike[str] | None
    until: ConvergenceTargets | None
    progress: Callable[[Progress], None] | bool | None
    weights: NDArray[np.float64] | None = None  # (combination,)

    def __post_init__(self) -> None:
        """Check all numbers."""
        check_whole("chains", self.chains, 1)
        check_whole("warmup", self.warmup, 0)
        check_whole("draws", self.draws, 4)
        check_whole("thin", self.thin, 1)
        if self.threads is not None:
            check_whole("threads", self.threads, 1)
        if not (isinstance(self.progress, bool | None) or callable(self.progress)):
            raise SettingError(
                expected="progress as True, False or a function",
                came=kind_of(self.progress),
                do="give progress=False for silence",
            )

    @property
    def most_cells(self) -> int:
        """Count the label probabilities that fit into the memory for them."""
        most = max(self.draws, self.until.most_draws) if self.until is not None else self.draws
        return min(MOST_CELLS, max(1, TABLE_BYTES // (4 * self.chains * most)))

    def plan(self, snapshot_bytes: int) -> Plan:
        """Make the plan of the chains; its seed is still that of the user, or zero."""
        affordable = max(FEWEST_SNAPSHOTS, SNAPSHOT_BYTES // max(snapshot_bytes, 1))
        return Plan(
            chains=self.chains,
            warmup=self.warmup,
            draws=self.draws,
            thin=self.thin,
            seed=check_seed(0 if self.seed is None else self.seed),
            threads=self.threads or default_threads(self.chains),
            snapshot_every=math.ceil(self.draws / min(MOST_SNAPSHOTS, affordable)),
            until=self.until,
        )


FitType = TypeVar("FitType", bound=SampledFit)


class Prepared(NamedTuple):
    """What a model brings to its fit."""

    sampler: ChainSampler
    cells: KeptCells  # which label probabilities `observe` keeps
    snapshot_bytes: int  # about what one draw of what synthesis needs takes


class SampledModel(ABC, Generic[FitType]):
    """Settings of a model that is fitted by chains; a model is a frozen dataclass of this kind.

    A model names its fit and how long its chains run by default::

        @dataclass(frozen=True)
        class MyModel(SampledModel[MyFit], warmup=1000, draws=1000, thin=10):

    and gives `_prepared`. `inspect.signature(MyModel.fit)` shows these defaults. A model with
    ``draws=None`` goes on by default, and gives `_sweep_seconds` too.
    """

    fit_type: ClassVar[type[SampledFit]]
    no_holes: ClassVar[str] = "the model counts whole records"  # why not; empty where it fills them
    whole_tables: ClassVar[bool] = True  # whether labels are drawn from a table by pattern
    no_weights: ClassVar[str] = "the model counts whole records"  # why not; empty where it has them
    most_draws: ClassVar[int] = MOST_DRAWS  # of a chain that goes on by default
    weight_steps: ClassVar[int] = STEPS  # weights are rounded to multiples of one over it

    def __init_subclass__(
        cls, *, warmup: int, draws: int | None, thin: int, chains: int = 4
    ) -> None:
        """Give the class a `fit` of its own, with the defaults of the model."""
        super().__init_subclass__()
        (cls.fit_type,) = get_args(cls.__orig_bases__[0])  # type: ignore[attr-defined]
        shared: Any = SampledModel.fit.__wrapped__  # type: ignore[attr-defined]
        own = types.FunctionType(shared.__code__, shared.__globals__, "fit")
        lengths = {"chains": chains, "warmup": warmup, "draws": draws, "thin": thin}
        own.__kwdefaults__ = {**(shared.__kwdefaults__ or {}), **lengths}
        own.__annotations__ = {**shared.__annotations__, "return": cls.fit_type.__name__}
        own.__doc__ = shared.__doc__
        own.__qualname__, own.__module__ = f"{cls.__qualname__}.fit", cls.__module__
        cls.fit = only_our_errors(own)  # type: ignore[method-assign]

    @abstractmethod
    def _prepared(self, data: Microdata, options: FitOptions) -> Prepared:
        """Check the settings against the data, and make the sampler."""

    def settled(self, data: Microdata) -> Self:  # noqa: ARG002  (for models that have an "auto")
        """Give the settings that a fit of these data has: every "auto" settled."""
        return self

    def _sweep_seconds(self, data: Microdata) -> float:  # noqa: ARG002  (for models that know it)
        """Say how many processor seconds a sweep of a chain takes, about; 0 where that is nothing.

        It settles how long a fit goes on that is given no number of draws, so it depends on the
        data alone and is never measured.
        """
        return 0.0

    def default_until(
        self, data: Microdata, chains: int, warmup: int, thin: int
    ) -> ConvergenceTargets:
        """Say until when chains go on that are given no number of draws: by the data's size.

        Parameters
        ----------
        data : Microdata
            The confidential records.
        chains, warmup, thin : int
            Options of `fit`.

        Returns
        -------
        ConvergenceTargets
        """
        sweeps = FIT_SECONDS / (chains * self._sweep_seconds(data))  # of a chain
        most = int(np.clip((sweeps - warmup) / thin, FEWEST_DRAWS, self.most_draws))
        return ConvergenceTargets(most_draws=most)

    def least_seconds(self, data: Microdata) -> float:
        """Say how many processor seconds a fit of default length takes at least, about.

        Parameters
        ----------
        data : Microdata
            The confidential records.

        Returns
        -------
        float
        """
        given = inspect.signature(self.fit).parameters
        chains, warmup, draws, thin = (
            given[name].default for name in ("chains", "warmup", "draws", "thin")
        )
        settled = self.settled(data)
        if draws is None:
            limit = settled.default_until(data, chains, warmup, thin)
            draws = min(DRAWS_AT_A_TIME, limit.most_draws)
        return float(settled._sweep_seconds(data) * chains * (warmup + draws * thin))

    def _identity(self) -> dict[str, Any]:
        """Give the settings that decide the draws, as JSON: a saved run must have the same."""
        settings: dict[str, Any] = asdict(self)  # type: ignore[call-overload]
        if self._risk_weighting() is None:
            settings.pop("risk_weighting", None)
            settings.pop("risk", None)
        return settings

    def _risk_weighting(self) -> tuple[float, str] | None:
        """Give the dial and the risk that records are weighted by; None for no weights."""
        dial = getattr(self, "risk_weighting", 0.0)
        return (float(dial), self.risk) if dial else None  # type: ignore[attr-defined]

    def _warn_of_limits(self, fit: FitType) -> None:
        """Warn where a limit of the settings was reached."""

    def check_memory(self, data: Microdata) -> None:
        """Refuse data for which the model would need more memory than is allowed."""
        if self.whole_tables or data.impossible:
            check_table_fits(data)

    @only_our_errors
    def fit(
        self,
        data: Any,
        *,
        synthesize: Sequence[str] | str | None = None,
        chains: int = 4,
        warmup: int = 1000,
        draws: int | None = 1000,
        thin: int = 1,
        seed: int | None = None,
        threads: int | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        until: ConvergenceTargets | None = None,
        progress: Callable[[Progress], None] | bool = True,
        weights: Any = None,
        **reading: Any,
    ) -> FitType:
        """Run the sampler.

        Parameters
        ----------
        data : Microdata, frame or path
            The confidential records.
        synthesize : str or sequence of str, optional
            Columns to synthesize, where the records are a frame or a path.
        chains : int
            Independent chains, started far apart. One chain has no R-hat and never counts as
            converged.
        warmup, draws, thin : int
            For each chain: sweeps that are thrown away, draws that are kept, sweeps from one kept
            draw to the next. ``draws=None`` keeps 500 at a time until everything judged has
            converged, or until a limit that the size of the data settles at the start.
        seed : int, optional
            Makes the run repeatable; the operating system's entropy otherwise.
        threads : int, optional
            That work at the same time; as many as there are processors when left out. The draws
            do not depend on it.
        checkpoint : path, optional
            A folder of its own. The run is saved there as it goes; the same call goes on from it.
        until : ConvergenceTargets, optional
            Go on, `draws` at a time, until these targets are met or their limit is reached.
        progress : bool or callable
            A bar in a terminal or a notebook, and nothing elsewhere; False for silence. A function
            is called with a `Progress` after every segment.
        weights : float (combination,), optional
            Powers from 0 to 1 that the likelihood of the records of each distinct combination is
            taken to, in place of those of ``risk_weighting``; such as `risk_weights` makes.
        **reading
            Options of `read_microdata`, where the records are a frame or a path.

        Returns
        -------
        SampledFit
            The draws, and what can be made of them.

        Warns
        -----
        ConvergenceWarning
            When quantities have not converged, or a limit of the settings was reached.
        """
        part = DRAWS_AT_A_TIME if draws is None else draws
        options = FitOptions(chains, warmup, part, thin, seed, threads, checkpoint, until, progress)
        data = given_data(data, synthesize, reading, [field.name for field in fields(options)])
        check_labels(data)
        check_holes(data, self.no_holes)
        settings = self.settled(data)
        settings.check_memory(data)
        weights = check_weights(data, weights, settings.weight_steps)
        if weights is not None or settings._risk_weighting() is not None:
            check_weightable(data, settings.no_weights)
        if weights is None:
            weights = _weights_of_first_fit(settings, data, options)
        options = replace(options, weights=weights)
        if draws is None:
            limit = settings.default_until(data, chains, warmup, thin)
            part = min(part, limit.most_draws)
            options = replace(options, draws=part, until=until or limit)
        prepared = settings._prepared(data, options)
        note_time(settings._sweep_seconds(data), options, FIT_SECONDS)
        plan = options.plan(prepared.snapshot_bytes)
        fit: Any = self.fit_type(settings, data, plan, prepared.cells, NO_DRAWS, weights)
        with _told(progress, type(self).__name__) as told:
            options = replace(options, progress=told)
            fit = _run(fit, prepared.sampler, options, settings._identity())
        warn_of_chains(fit)
        settings._warn_of_limits(fit)
        return fit  # type: ignore[no-any-return]


@contextmanager
def _told(progress: Any, model: str) -> Iterator[Callable[[Progress], None] | None]:
    """Give what is called after every segment: the user's function, a bar, or nothing."""
    if not (progress is True or progress is None):
        yield from_the_user(progress if callable(progress) else None)
        return
    with progress_bar(f"fitting {model}") as show:

        def tell(run: Progress) -> None:
            if show is not None:
                rhat = "" if run.rhat is None else f"R-hat {run.rhat:.3f}"
                show(run.sweep / max(run.n_sweeps, 1), run.seconds_left, rhat)

        yield None if show is None else tell


def check_labels(data: Microdata) -> None:
    """Refuse what are no data, and synthesized variables that leave nothing to draw."""
    check_data(data)
    for name in data.synthesized:
        if data.variable(name).n_levels - data.variable(name).has_holes < 2:
            raise LevelError(
                expected=f"at least two levels in {quoted(name)}, which is to be synthesized",
                came="one level: there is nothing to synthesize",
                do="publish the column as it is, or declare further levels in a codebook",
            )


def check_holes(data: Microdata, reason: str) -> None:
    """Refuse data with holes where the model has a reason to."""
    if reason and data.with_holes:
        raise MissingValuesError(
            expected=f"data without holes: {reason}",
            came=f"missing values to be modelled in {quoted_list(data.with_holes)}",
            do='read the data with missing="level" or "drop", or fit a DPMPM',
        )


def check_weightable(data: Microdata, reason: str) -> None:
    """Refuse weights of likelihoods where the model has a reason to, or the data have."""
    came = "weights, or risk_weighting above 0"
    if reason:
        raise SettingError(
            expected=f"a fit without weights of likelihoods: {reason}",
            came=came,
            do="fit a DPMPM or a DP-areal",
        )
    if data.with_holes or data.impossible:
        raise SettingError(
            expected="data without missing values to be modelled and impossible combinations for a "
            "weighted fit: what they add to the likelihood belongs to no record",
            came=came,
            do='leave the weights out, or read the data with missing="level" and without these '
            "rules",
        )


def _weights_of_first_fit(
    settings: Any, data: Microdata, options: FitOptions
) -> NDArray[np.float64] | None:
    """Fit without weights and take them from there; None where nothing is weighted."""
    weighting = settings._risk_weighting()
    if weighting is None:
        return None
    checkpoint: Any = options.checkpoint
    if checkpoint is not None:
        above = checkpoint if isinstance(checkpoint, PrivateFolder) else None
        above = above or PrivateFolder.made(Path(checkpoint))
        checkpoint = above.inside(FIRST_FIT)
        if above is not options.checkpoint:
            above.close()
    seed = None if options.seed is None else child_seed(options.seed, "first fit")
    with warnings.catch_warnings():  # what is released comes from the second fit, which is judged
        warnings.simplefilter("ignore", UnderstudyWarning)
        first = replace(settings, risk_weighting=0.0).fit(
            data,
            chains=options.chains,
            warmup=options.warmup,
            draws=min(options.draws, MOST_FIRST_DRAWS),
            thin=options.thin,
            seed=seed,
            threads=options.threads,
            checkpoint=checkpoint,
            progress=options.progress,
        )
    return check_weights(data, risk_weights(first, *weighting), settings.weight_steps)


def _run(fit: Any, sampler: ChainSampler, options: FitOptions, settings: Mapping[str, Any]) -> Any:
    """Run the chains of a fit, saved or not; its plan gets the seed that was used."""
    progress: Any = options.progress if callable(options.progress) else None
    summarize = fit.summarizer()
    if options.checkpoint is None:
        plan = replace(fit.plan, seed=check_seed(options.seed))
        draws = run_chains(sampler, plan, None, progress, summarize)
        return replace(fit, plan=plan, chain_draws=draws)
    identity = _identity(fit.data, fit.plan, options.seed, settings, sampler.describe())
    if options.weights is not None:
        identity["weights"] = digest_of(options.weights.tobytes())
    checkpoint = Checkpoint(options.checkpoint, identity)
    try:
        plan = replace(fit.plan, seed=check_seed(checkpoint.identity["seed"]))
        checkpoint.remember_seed(plan.seed)
        draws = run_chains(sampler, plan, checkpoint, progress, summarize)
    finally:
        checkpoint.close()
    return replace(fit, plan=plan, chain_draws=draws)


def _identity(
    data: Microdata,
    plan: Plan,
    seed: int | None,
    settings: Mapping[str, Any],
    moves: Mapping[str, Any],
) -> dict[str, Any]:
    return {
        "data": data.fingerprint(),
        "settings": dict(settings),
        "moves": dict(moves),
        "chains": plan.chains,
        "warmup": plan.warmup,
        "draws": plan.draws,
        "thin": plan.thin,
        "snapshot_every": plan.snapshot_every,
        "until": asdict(plan.until) if plan.until is not None else None,
        "keeps": "sums, margins, label probabilities",
        "seed": None if seed is None else check_seed(seed),
        "versions": {
            "understudy": understudy.__version__,
            "numpy": np.__version__,
            "numba": numba.__version__,
        },
    }
