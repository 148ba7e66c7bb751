"""What a frontier measured: points, landmarks, the recommended point, and what a board chose.

Confidential like all findings, and free of clock times: the same frontier writes the same bytes.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from understudy.findings.record import Record
from understudy.findings.schema import OwnRecordFindings

__all__ = ["Choice", "FrontierFindings", "FrontierPoint", "MeasuredPoint", "OrderRatio"]


class OrderRatio(Record):
    """Tables of one order: their deviation over that of a synthesizer that knew the population."""

    order: int
    ratio: float
    error: float | None  # standard error over the sets


class MeasuredPoint(Record):
    """What was measured about one point."""

    name: str
    title: str
    kind: str  # a model, a baseline, or "other"
    group: Literal["point", "baseline", "beside"]
    dials: dict[str, str]  # what distinguishes it from the other points of its model
    settings: dict[str, str]
    m: int
    fingerprint: str  # of the data as its files show them: those of the plan, or coarser ones
    ratios: tuple[OrderRatio, ...]
    own_record: OwnRecordFindings
    converged: bool | None = None  # None: nothing was sampled
    worst_rhat: float | None = None
    epsilon: float | None = None  # of the formal Dirichlet
    confirmed: bool = False  # whether records with untrusted weights were left out by fits
    plan: dict[str, object] | None = None  # what a study of this point has as its synthesizer
    coarsen: dict[str, int] = {}
    curve: str = ""  # points of one curve differ in one number, `value`
    value: float | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_folder(cls, content: Any) -> Any:
        """Leave out means over orders, which were judged once."""
        if not isinstance(content, dict):
            return content
        return {key: content[key] for key in content if key not in {"ratio", "ratio_error"}}

    @property
    def worst(self) -> OrderRatio | None:
        """Tables of the worst order: what a study's verdict judges."""
        return max(self.ratios, key=lambda order: order.ratio, default=None)

    @property
    def ratio(self) -> float | None:
        """Deviation of the worst tables, over that of a synthesizer that knew the population."""
        return None if self.worst is None else self.worst.ratio

    @property
    def ratio_error(self) -> float | None:
        """Its standard error over the sets."""
        return None if self.worst is None else self.worst.error


class FrontierPoint(Record):
    """A measured point with its grades."""

    measured: MeasuredPoint
    position: float | None  # of the worst attack
    position_error: float | None
    outcome: Literal["pass", "review", "fail"]
    attack: str  # the worst one, in words with its frequencies
    right_labels: float | None  # expected, by the row
    dominated: bool  # whether another point is at least as useful at no more risk
    above: str = ""  # why it passes although its effect is above the pass limit

    @property
    def name(self) -> str:
        """Its name."""
        return self.measured.name

    @property
    def drawable(self) -> bool:
        """Whether it has both coordinates."""
        return self.position is not None and self.measured.ratio is not None


class Choice(Record):
    """A point that a board picked, and why."""

    point: str
    because: str


class FrontierFindings(Record):
    """A whole frontier."""

    title: str
    n_records: int
    n_labels: int
    data_fingerprint: str
    points: tuple[FrontierPoint, ...]
    landmarks: tuple[FrontierPoint, ...]
    beside: tuple[FrontierPoint, ...]
    own_record_pass: float
    own_record_review: float
    recommended: str | None
    why: str
    choices: tuple[Choice, ...] = ()
    undeclared: tuple[str, ...] = ()  # synthesized variables whose levels come from the data
    versions: dict[str, str] = {}

    @property
    def chosen(self) -> str | None:
        """The point that counts: the last that was picked, or else the recommended one."""
        return self.choices[-1].point if self.choices else self.recommended

    def point(self, name: str | None) -> FrontierPoint | None:
        """Find a point by name."""
        return next((point for point in self.points if point.name == name), None)
