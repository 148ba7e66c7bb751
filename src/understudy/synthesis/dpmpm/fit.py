"""A fitted DPMPM: how labels come from a kept draw of weights and level probabilities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.checks import check_whole
from understudy.microdata.label_table import LabelTable, hole_labels
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.randomness import check_seed, stream
from understudy.synthesis.checkpoints import Arrays
from understudy.synthesis.contract import DrawnSets
from understudy.synthesis.dpmpm.imputation import completed, further_draws
from understudy.synthesis.dpmpm.imputed_labels import ImputedEffect, imputed_effect
from understudy.synthesis.dpmpm.parameters import Parameters
from understudy.synthesis.dpmpm.possible_labels import PossibleLabels
from understudy.synthesis.dpmpm.problem import (
    Problem,
    make_problem,
    sampled_variables,
    strength_name,
)
from understudy.synthesis.dpmpm.synthetic_labels import (
    draw_labels,
    label_drawer,
    label_table,
    own_label_chances,
    weighted_label_likelihood,
)
from understudy.synthesis.sampled_fit import SampledFit, by_pattern
from understudy.synthesis.set_drawing import Codes, Drawer, NestedDrawing

__all__ = ["DPMPMFit"]


@dataclass(frozen=True, repr=False, eq=False)
class DPMPMFit(SampledFit):
    """Draws from the posterior of a DPMPM.

    ``draws["posterior"]`` has concentration, occupied_classes, largest_class_share and
    log_likelihood with axes (chain, draw), and label_probability with axes (chain, draw, pattern,
    label).

    Attributes
    ----------
    settings : DPMPM
        What was fitted.
    data : Microdata
        To what.
    plan : Plan
        How long, how many, from which seed. The seed is internal: it redraws everything.
    """

    def _sampler(self) -> str:
        return str(self.settings.sampler)

    def _tabulated(self, snapshot: Arrays) -> LabelTable:
        settings = self.settings
        return label_table(
            self.data, _parameters(snapshot), settings.class_draw, self._possible_labels
        )

    @cached_property
    def _possible_labels(self) -> PossibleLabels:
        return PossibleLabels(self.data)

    @property
    def draws_predictive(self) -> bool:
        """Whether classes are drawn given the kept variables."""
        return bool(self.settings.class_draw == "kept")

    def _predictive(self, snapshot: Arrays) -> NDArray[np.float64]:
        if self.draws_predictive:
            return super()._predictive(snapshot)
        parameters, possible = _parameters(snapshot), self._possible_labels
        return by_pattern(self.data, label_table(self.data, parameters, "kept", possible))

    def _left_out_weights(self, snapshot: Arrays) -> NDArray[np.float64]:
        if self.weights is not None:
            return weighted_label_likelihood(self.data, _parameters(snapshot), self.weights)
        table = self._predictive(snapshot)
        table[:, hole_labels(self.data)] = 1.0  # a record without a label says nothing of labels
        return table

    def of_part(self, data: Microdata, combinations: NDArray[np.int64]) -> DPMPMFit:
        """Give the same draws as seen from some of the combinations: their patterns' rows alone."""
        weights = None if self.weights is None else self.weights[combinations]
        return replace(self, data=data, weights=weights)

    def own_chances(self) -> Iterator[NDArray[np.float64]]:
        """Give p(own label | pattern) of each combination, without a table of all labels."""
        if self.data.impossible or self.data.with_holes:
            yield from super().own_chances()
            return
        for snapshot in self._snapshots():
            yield own_label_chances(self.data, _parameters(snapshot))

    def drawer(self, snapshot: Arrays) -> Drawer:
        """Prepare to draw from one kept draw."""
        return label_drawer(
            self.data, _parameters(snapshot), self.settings.class_draw, self._possible_labels
        )

    @only_our_errors
    def synthesize_imputed(
        self, imputations: int = 5, sets: int = 4, seed: int | None = None
    ) -> DrawnSets:
        """Fill the holes several times, and draw several sets of each imputation.

        For analyses of files without holes: `combine_nested_estimates` has their combining rule.
        What is released by default has its holes put back (`synthesize`).

        Parameters
        ----------
        imputations : int
            Imputations, each from a posterior draw of its own.
        sets : int
            Sets of every imputation, whose kept variables are the same.
        seed : int, optional
            Makes the sets repeatable; the operating system's entropy otherwise.

        Returns
        -------
        DrawnSets
            Set number ``i * sets + j`` is set j of imputation i.
        """
        return self.imputed_drawing(imputations, sets, seed).all()

    def imputed_drawing(
        self, imputations: int, sets: int, seed: int | None = None
    ) -> NestedDrawing:
        """Settle how sets that show imputations are drawn; see `synthesize_imputed`."""
        check_whole("sets", sets, 1)
        kept_draws, known, data = self._spread(imputations), check_seed(seed), self.data
        shown = [name for name in data.with_holes if name in data.kept]

        def impute(number: int) -> tuple[dict[str, NDArray[np.int32]], Iterator[Codes]]:
            generator, parameters, whole = self._imputation(known, number, kept_draws[number])
            drawn = further_draws(generator, *self._state(whole, *kept_draws[number]), parameters)
            labels = (
                draw_labels(generator, whole, given, self.settings.class_draw) for given in drawn
            )
            return {name: whole.codes(name) for name in shown}, labels

        spacing, time = self._spacing(imputations)
        return NestedDrawing(
            data=data,
            imputations=imputations,
            sets=sets,
            impute=impute,
            chain=tuple(chain for chain, _ in kept_draws),
            draw=tuple(self.chain_draws.snapshots[chain][index][0] for chain, index in kept_draws),
            spacing=spacing,
            autocorrelation_time=time,
        )

    def imputed_effect(self, imputations: int, seed: int) -> ImputedEffect | None:
        """Measure what the values that these imputations show tell about labels.

        Sets are drawn again by the same seed; see `understudy.synthesis.dpmpm.imputed_labels`.
        """
        shown = [name for name in self.data.with_holes if name in self.data.kept]

        def filled() -> Iterator[tuple[dict[str, NDArray[np.int32]], Parameters]]:
            for number, kept_draw in enumerate(self._spread(imputations)):
                _, parameters, whole = self._imputation(seed, number, kept_draw)
                yield {name: whole.codes(name) for name in shown}, parameters

        return imputed_effect(self.data, filled())

    def _imputation(
        self, seed: int, number: int, kept_draw: tuple[int, int]
    ) -> tuple[np.random.Generator, Parameters, Microdata]:
        """Fill the holes from a kept draw: the generator to go on with, the draw, and the data."""
        generator, parameters = stream(seed, "impute", number), self._parameters(*kept_draw)
        return (
            generator,
            parameters,
            completed(generator, self.data, parameters, self._possible_labels),
        )

    def _state(
        self, whole: Microdata, chain: int, index: int
    ) -> tuple[Problem, Problem, tuple[float, float], float, NDArray[np.float64]]:
        """Give what further draws for completed data need beside the draw itself."""
        settings = self.settings
        draw, scalars = self.chain_draws.snapshots[chain][index][0], self.chain_draws.scalars
        strengths = [
            scalars[strength_name(name)][chain, draw]
            for name in sampled_variables(self.data, settings.level_prior)
        ]
        return (
            make_problem(whole, settings.level_prior, settings.strength_prior),
            make_problem(self.data, settings.level_prior, settings.strength_prior),
            settings.concentration_prior,
            float(scalars["concentration"][chain, draw]),
            np.array(strengths),
        )

    def _parameters(self, chain: int, index: int) -> Parameters:
        return _parameters(self._snapshot(chain, index))


def _parameters(snapshot: Arrays) -> Parameters:
    return Parameters(snapshot["weights"], snapshot["probabilities"])
