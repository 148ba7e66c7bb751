"""The dials of a frontier, as a plan declares them.

A dial is a setting of a model, the number of sets (``sets``), or how coarse the data are
(``coarsen``). ``vary`` lists values, and every combination of them is a point; ``between`` gives
the ends of a number that is searched.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from understudy.errors import nearest
from understudy.settings import Settings
from understudy.synthesis.registry import MODELS

__all__ = ["COARSEN", "SETS", "DialsPlan", "FrontierPlan"]

SETS, COARSEN = "sets", "coarsen"
LENGTHS = ("chains", "warmup", "draws", "thin", "until")
Ends = tuple[Annotated[float, Field(gt=0)], Annotated[float, Field(gt=0, allow_inf_nan=False)]]


class DialsPlan(Settings):
    """Dials of one model.

    Attributes
    ----------
    model : str
        The model.
    fixed : dict
        Settings and lengths of chains that all points share.
    vary : dict of str to tuple
        By dial: its values; ``sets`` and ``coarsen`` are dials of every model.
    between : dict of str to (float, float)
        At most one dial that is a number: its smallest and its largest value.
    """

    model: str
    fixed: dict[str, Any] = Field(default_factory=dict)
    vary: dict[str, Annotated[tuple[Any, ...], Field(min_length=1)]] = Field(default_factory=dict)
    between: Annotated[dict[str, Ends], Field(max_length=1)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> DialsPlan:
        if self.model not in MODELS:
            raise ValueError(
                f"should name a model: {', '.join(MODELS)}{nearest(self.model, MODELS)}"
            )
        own = [key for key in MODELS[self.model].settings if key != SETS]
        for keys, allowed in (
            (self.fixed, [*own, *LENGTHS]),
            (self.vary, [*own, SETS, COARSEN]),
            (self.between, own),
        ):
            for key in keys:
                if key not in allowed:
                    raise ValueError(f"has no dial {key}{nearest(key, allowed)} there")
        if set(self.between) & set(self.vary):
            raise ValueError("has a dial in both vary and between")
        if any(low >= high for low, high in self.between.values()):
            raise ValueError("has a between whose first value is not the smaller one")
        return self


class FrontierPlan(Settings):
    """A frontier.

    Attributes
    ----------
    budget : int
        Most points that are measured.
    dials : tuple of DialsPlan, optional
        Left out: the scale of the back-off tree, searched; three priors of the DPMPM; the formal
        Dirichlet with four values of epsilon.
    folder : str, optional
        The folder of the last frontier of these data: a study's report shows where it lies on it.
    """

    budget: int = Field(default=16, ge=1, le=1000)
    dials: tuple[DialsPlan, ...] | None = None
    folder: str | None = Field(default=None, min_length=1)
