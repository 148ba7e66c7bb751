"""What is measured about a point: the same risk and the same tables as in a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from understudy.findings.frontier_schema import FrontierPoint, MeasuredPoint, OrderRatio
from understudy.findings.own_record import own_record_findings
from understudy.frontiers.dials import Point
from understudy.microdata.coarsening import Coarsening
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.synthesis.coarsened_fit import CoarsenedFit
from understudy.synthesis.reuse_draws import reuse_draws
from understudy.utility.tables import table_utility
from understudy.verdict.risk_reasons import (
    attack_in_words,
    effect_outcome,
    judged_attack,
    why_above_passes,
)
from understudy.verdict.thresholds import Thresholds

__all__ = ["graded_point", "measure_baseline", "measure_beside", "measure_point"]

Intruders = Sequence[Sequence[str]]


def measure_point(
    fit: Any,
    coarsening: Coarsening | None,
    point: Point,
    intruders: Intruders,
    seeds: Mapping[str, int],
    refit: Callable[[Microdata], Any] | None = None,
    folds: int = 1,
) -> MeasuredPoint:
    """Measure a point from its fit, or from one that differs in the class draw.

    Seeds are by ``sets``, ``tables`` and ``own record``; the last two are the same for all points,
    so that they share baselines and random numbers. `refit` and `folds` are those of
    `own_record_findings`.
    """
    if point.class_draw is not None and point.class_draw != fit.settings.class_draw:
        fit = reuse_draws(fit, class_draw=point.class_draw)
    data = fit.data if coarsening is None else coarsening.coarse
    shown = fit if coarsening is None else CoarsenedFit(fit, coarsening)
    sets = shown.synthesize(point.m, seed=seeds["sets"])
    own_record = own_record_findings(
        data,
        shown,
        intruders,
        sets=point.m,
        refit=refit,
        folds=folds,
        seed=seeds["own record"],
    )
    judged = fit.diagnostics().filter("judged")["rhat"].drop_nulls()
    formal = getattr(fit, "epsilon", None)
    return MeasuredPoint(
        name=point.name,
        title=point.planned.title,
        kind=point.kind,
        group="point",
        dials={name: _words(value) for name, value in point.dials.items()},
        settings=point.planned.in_words(fit.data, int(fit.chain_draws.label_probability.shape[1])),
        m=point.m,
        fingerprint=data.fingerprint(),
        ratios=_ratios(data, sets, seeds["tables"]),
        own_record=own_record,
        converged=fit.converged,
        worst_rhat=_finite(judged.max()),
        epsilon=None if formal is None else float(formal(point.m)),
        confirmed=refit is not None,
        plan=point.plan,
        coarsen=point.coarsen,
        curve=point.curve,
        value=point.value,
    )


def _words(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {part}" for name, part in value.items()) or "none"
    return str(value)


def _finite(value: Any) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def measure_baseline(
    data: Microdata, name: str, fit: Any, m: int, intruders: Intruders, seeds: Mapping[str, int]
) -> MeasuredPoint:
    """Measure one of the four baselines, a landmark of the picture."""
    sets = fit.synthesize(m, seed=seeds["sets"])
    return _without_model(data, name, name.lower(), "baseline", sets, fit, m, intruders, seeds)


def measure_beside(
    data: Microdata,
    name: str,
    sets: SyntheticSets,
    control: Any,
    intruders: Intruders,
    seeds: Mapping[str, int],
) -> MeasuredPoint:
    """Measure files that another tool made."""
    return _without_model(
        data, name, "other", "beside", sets, sets, len(sets), intruders, seeds, control
    )


def _without_model(
    data: Microdata,
    name: str,
    kind: str,
    group: Literal["baseline", "beside"],
    sets: SyntheticSets,
    source: Any,
    m: int,
    intruders: Intruders,
    seeds: Mapping[str, int],
    control: Any = None,
) -> MeasuredPoint:
    own_record = own_record_findings(
        data,
        source,
        intruders,
        sets=m,
        refit=None,
        folds=1,
        seed=seeds["own record"],
        control=control,
    )
    return MeasuredPoint(
        name=name,
        title=name,
        kind=kind,
        group=group,
        dials={},
        settings={},
        m=m,
        fingerprint=data.fingerprint(),
        ratios=_ratios(data, sets, seeds["tables"]),
        own_record=own_record,
    )


def _ratios(data: Microdata, sets: SyntheticSets, seed: int) -> tuple[OrderRatio, ...]:
    """Deviation over the truth-knowing floor by order of tables, with standard errors."""
    tables = table_utility(data, sets, seed=seed)
    listed = []
    for order, floor in tables.truth_floor.items():
        if floor > 0:
            own = tables.per_set.filter(order=order)["deviation"].to_numpy() / floor  # (set,)
            listed.append(OrderRatio(order=order, ratio=float(own.mean()), error=_error(own)))
    return tuple(listed)


def _error(values: Any) -> float | None:
    return float(values.std(ddof=1) / values.size**0.5) if values.size > 1 else None


def graded_point(measured: MeasuredPoint, limits: Thresholds) -> FrontierPoint:
    """Grade a point by its worst own-record effect, as the verdict of a study does."""
    own_record = measured.own_record
    row = next((attack for attack in own_record.attacks if attack.attack == "row"), None)
    if row is None:
        return FrontierPoint(
            measured=measured,
            position=None,
            position_error=None,
            outcome="fail",
            attack=f"not measured ({own_record.evidence})",
            right_labels=None,
            dominated=False,
        )
    worst = judged_attack(own_record, limits)
    return FrontierPoint(
        measured=measured,
        position=worst.position,
        position_error=worst.position_error,
        outcome=effect_outcome(worst, limits),
        attack=attack_in_words(worst, own_record.n_records),
        right_labels=row.with_record,
        dominated=False,
        above=why_above_passes(worst, limits),
    )
