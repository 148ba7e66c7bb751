"""From the dials of a plan to points: every one a synthesizer, a number of sets, and data.

Points that differ only in what is done with the posterior draws (class draw, number of sets, levels
that are merged in the files) have the same `fit_key` and share one fit. Points whose records are
weighted by risk share the fit that the risks come from.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from understudy.settings import settings_from
from understudy.storage import digest_of
from understudy.study.frontier_plan import COARSEN, SETS, DialsPlan
from understudy.study.plan import MODEL_PLANS, StudyPlan, SynthesizerPlan
from understudy.study.planned_fit import PlannedFit
from understudy.synthesis.registry import MODELS

__all__ = ["Curve", "Point", "curves", "default_dials", "grid", "middle"]

CLASS_DRAW = "class_draw"
LONGEST_NAME = 200  # characters: files are named after points
BEGINNING = 40  # characters of a longer one, before its digest


@dataclass(frozen=True, eq=False)
class Point:
    """One point, before it is measured.

    Attributes
    ----------
    name : str
        Small letters, digits, dots and dashes.
    dials : dict
        What distinguishes it.
    planned : PlannedFit
        The model and how long its chains run.
    plan : dict
        The synthesizer of a study at this point, whose chains run as long as a study's.
    m : int
        Sets.
    coarsen : dict of str to int
        Steps of hierarchies, by variable.
    curve : str
        Names points that differ in one number.
    value : float or None
        That number.
    """

    name: str
    dials: dict[str, Any]
    planned: PlannedFit
    plan: dict[str, Any]
    m: int
    coarsen: dict[str, int]
    curve: str
    value: float | None

    @property
    def kind(self) -> str:
        """The model."""
        return self.planned.kind

    @property
    def class_draw(self) -> str | None:
        """How classes are drawn, for a model that has them."""
        return getattr(self.planned.model, CLASS_DRAW, None)

    @property
    def first(self) -> Point | None:
        """The point that the weights of its records come from; None where nothing is weighted."""
        model = self.planned.model
        if not getattr(model, "risk_weighting", 0.0):
            return None
        plain = replace(model, risk_weighting=0.0, risk="own_record")
        return replace(self, planned=replace(self.planned, model=plain))

    @property
    def fit_key(self) -> str:
        """What decides the chains, as text."""
        settings = {**self.planned.described(), CLASS_DRAW: None}
        return json.dumps(settings, sort_keys=True, default=list)

    @property
    def key(self) -> str:
        """What decides the files, as text."""
        merged = json.dumps(self.coarsen, sort_keys=True)
        return f"{self.fit_key} {self.class_draw} {self.m} {merged}"


@dataclass(frozen=True, eq=False)
class Curve:
    """Points of one model along one number.

    Attributes
    ----------
    dials : DialsPlan
        Where it was declared.
    fixed : dict
        Values of the other dials.
    sets : int
        Of the study.
    apart : str
        What tells its names from those of an earlier curve with the same dials.
    """

    dials: DialsPlan
    fixed: dict[str, Any]
    sets: int
    apart: str = ""

    @property
    def ends(self) -> tuple[str, float, float] | None:
        """The dial that is searched, with its ends; None for a single point."""
        for dial, (low, high) in self.dials.between.items():
            return dial, low, high
        return None

    @property
    def name(self) -> str:
        """The model and the values of the other dials."""
        return _name(self.dials.model, self.fixed, self.apart)

    @property
    def shared(self) -> str:
        """What its fits depend on: those of curves that are alike in it serve all of them."""
        return json.dumps(
            [self.ends, self.point(None if self.ends is None else self.ends[1]).fit_key]
        )

    def point(self, value: float | None = None) -> Point:
        """Make the point at one value of the number."""
        model = self.dials.model
        varied = dict(self.fixed)
        if self.ends is not None and value is not None:
            varied[self.ends[0]] = value
        settings = {key: given for key, given in varied.items() if key not in {SETS, COARSEN}}
        m = int(varied.get(SETS, self.sets))
        content = {"model": model, **self.dials.fixed, **settings}
        lengths = MODELS[model].frontier_lengths
        if "draws" in content:  # as many as the plan says
            lengths = {key: length for key, length in lengths.items() if key != "until"}
        whole = {**lengths, **content}
        plan: SynthesizerPlan = settings_from(whole, MODEL_PLANS[model], f"dial of {model}")
        return Point(
            name=_name(model, varied, self.apart),
            dials=varied,
            planned=PlannedFit.of(model, plan, m),
            plan=content,
            m=m,
            coarsen={key: step for key, step in varied.get(COARSEN, {}).items() if step},
            curve=self.name,
            value=value if value is not None else _only_number(settings),
        )


def _only_number(settings: Mapping[str, Any]) -> float | None:
    """Give the one setting that varies, where it is a number."""
    values = [value for value in settings.values() if isinstance(value, int | float)]
    return float(values[0]) if len(values) == len(settings) == 1 else None


def _name(model: str, varied: Mapping[str, Any], apart: str) -> str:
    parts = [model]
    for dial, value in varied.items():
        if dial == COARSEN:
            parts += [f"coarse-{key}-{step}" for key, step in value.items() if step]
        elif dial == SETS:
            parts.append(f"m-{value}")
        else:
            parts.append(f"{dial}-{_text(value)}")
    name = re.sub(r"[^a-z0-9.]+", "-", "-".join([*parts, apart]).lower()).strip("-.")
    if len(name) > LONGEST_NAME:
        name = f"{name[:BEGINNING]}-{digest_of(name.encode())[:12]}"
    return name


def _text(value: Any) -> str:
    """Write a value: four digits where they are all of it."""
    if isinstance(value, int | float):
        short = f"{value:.4g}"
        return short if float(short) == value else repr(value)
    return value if isinstance(value, str) else json.dumps(value, default=list)


def _apart(first: DialsPlan, dials: DialsPlan) -> str:
    """Say in what the fixed settings of a block differ from those of an earlier one."""
    keys = dict.fromkeys([*first.fixed, *dials.fixed])
    return "-".join(
        f"{key}-{_text(dials.fixed.get(key, 'default'))}"
        for key in keys
        if dials.fixed.get(key) != first.fixed.get(key)
    )


def default_dials(sets: int) -> tuple[DialsPlan, ...]:
    """Give the dials of a plan that declares none, those of the default model first."""
    usual_first = sorted(MODELS, key=lambda name: not MODELS[name].by_default)
    return tuple(
        DialsPlan(model=name, **dials(sets))
        for name in usual_first
        if (dials := MODELS[name].frontier_dials) is not None
    )


def curves(plan: StudyPlan) -> list[Curve]:
    """List the curves of a plan: every combination of the values that its dials list."""
    declared = plan.frontier.dials
    if declared is None:
        holes = plan.data.missing == "model"  # which some models cannot take
        usual = default_dials(plan.sets)
        declared = tuple(dial for dial in usual if MODELS[dial.model].fills_holes or not holes)
    firsts: dict[tuple[str, ...], DialsPlan] = {}  # by model and dials that names say
    listed = []
    for dials in declared:
        named = (key for key in (*dials.vary, *dials.between) if key != COARSEN)
        apart = _apart(firsts.setdefault((dials.model, *named), dials), dials)
        for values in itertools.product(*dials.vary.values()):
            fixed = dict(zip(dials.vary, values, strict=True))
            listed.append(Curve(dials, fixed, plan.sets, apart))
    return listed


def middle(low: float, high: float) -> float:
    """Give the geometric mean of two values, in two digits."""
    return float(f"{(low * high) ** 0.5:.2g}")


def grid(plan: StudyPlan) -> Iterator[Point]:
    """Give the points to begin with: single points, then ends and middle of every curve."""
    listed = curves(plan)
    for curve in listed:
        if curve.ends is None:
            yield curve.point()
    for curve in listed:
        if curve.ends is not None:
            _, low, high = curve.ends
            for value in (low, high, middle(low, high)):
                yield curve.point(value)
