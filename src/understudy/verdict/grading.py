"""What grades are made of: a reason, the grade of a value against its limits, and positions.

A measure passes on its value alone. It fails only where it lies above the review limit by more than
two standard errors: a perfect synthesizer lies at Max, a little above it half of the time.
The worst of many attacks is allowed three (`risk_reasons`). An undefined value never passes.
"""

from __future__ import annotations

from typing import Literal

from understudy.findings.record import Record
from understudy.findings.schema import Baseline, SynthesizerFindings
from understudy.verdict.thresholds import Thresholds

__all__ = [
    "ERRORS",
    "Outcome",
    "Reason",
    "baseline_value",
    "graded",
    "position_between",
    "table_ratios",
]

Outcome = Literal["pass", "review", "fail"]
ERRORS = 2.0  # standard errors that chance is allowed before a measure fails


class Reason(Record):
    """One thing that was judged.

    Attributes
    ----------
    subject : str
        What was judged, such as "expected match risk".
    outcome : {"pass", "review", "fail"}
        What this reason alone would lead to.
    words : str
        Why, with the numbers.
    found, limit : float or None
        The measured value, and up to where (for overlaps and pattern sizes: from where) it passes;
        None where undefined.
    synthesizer : str or None
        Whom it is about; None for the data themselves and the limits.
    """

    subject: str
    outcome: Outcome
    words: str
    found: float | None = None
    limit: float | None = None
    synthesizer: str | None = None


def graded(
    value: float | None, limits: Thresholds, name: str, error: float | None = None
) -> Outcome:
    """Grade a measure of which less is better; undefined goes to review."""
    if value is None:
        return "review"
    if value <= getattr(limits, f"{name}_pass"):
        return "pass"
    surely = value - ERRORS * (error or 0.0)
    return "review" if surely <= getattr(limits, f"{name}_review") else "fail"


def table_ratios(synthesizer: SynthesizerFindings) -> list[tuple[int, float | None]]:
    """Order of tables, and their deviation over what a synthesizer that knew the population scores.

    None where the floor is zero, which only a deviation of zero reaches (then 1).
    """
    tables = synthesizer.utility.tables
    ratios: list[tuple[int, float | None]] = []
    for order, own, floor in zip(tables.orders, tables.deviation, tables.truth_floor, strict=True):
        mean = own.mean or 0.0
        ratios.append((order, mean / floor if floor > 0 else (1.0 if mean == 0 else None)))
    return ratios


def position_between(value: float | None, low: float | None, high: float | None) -> float | None:
    """Position between two baselines: 0 at Min, 1 at Max; None where these coincide."""
    if value is None or low is None or high is None or high <= low:
        return None
    return (value - low) / (high - low)


def baseline_value(baseline: Baseline, measure: str, joint: bool = False) -> float | None:
    """A baseline's value: exact where there is a closed form, else the mean over repeats."""
    exact = None if joint else baseline.exact.get(measure)
    if exact is not None:
        return exact
    spread = (baseline.joint if joint else baseline.samples).get(measure)
    return None if spread is None else spread.mean
