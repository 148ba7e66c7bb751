"""What may be said in public about risk and utility: few figures, small ones left out, all rounded.

The findings of a study hold figures of single records and patterns and exact sums over the
confidential file. The public page never sees them. It sees a `Summary`, which is made of texts in
which every figure has gone through `count`, `percent` or `ratio`:

- a count below ten, zero included, is "fewer than 10";
- other counts are rounded to the nearest 5, and from 100 on to two significant digits;
- shares of records are made from the rounded count, never from the exact one;
- a rate among unique matches is left out where there are fewer than ten unique matches;
- ratios have two significant digits; rates and places between two levels are rounded to 5 %;
- nothing about single records, patterns, labels, tables or coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from understudy.findings.schema import (
    Findings,
    IdentificationFindings,
    IntruderFindings,
    Regression,
    Spread,
    SynthesizerFindings,
)
from understudy.synthesis.registry import MODELS
from understudy.verdict.grading import level_figure, risk_position

__all__ = [
    "BASELINES",
    "LIMIT",
    "RULE",
    "Summary",
    "count",
    "model_words",
    "overlap",
    "percent",
    "place",
    "place_share",
    "ratio",
    "rounded",
    "summarize",
]

LIMIT = 10
BEYOND_MAX = 105  # what lies above Max, however far, is told and drawn here
NOT_SHOWN = "not shown"
TOO_CLOSE = "levels too close"
FEW = f"fewer than {LIMIT}"
RULE = (
    f"Counts below {LIMIT}, zero included, are shown as “{FEW}”. Other counts are rounded to the "
    "nearest 5, and from 100 on to two significant digits. Percentages of records are computed "
    f"from the rounded counts. Rates among fewer than {LIMIT} unique matches are not shown. Other "
    "rates, and places between two levels, are rounded to the nearest 5 %. Levels less than one "
    "record apart, or closer than chance lets one tell, are too close for a place between them; "
    "what lies above Max is said all the same. No figure is given for "
    "single records, combinations, labels or coefficients, and none that was computed from the "
    "confidential file is given exactly."
)

BASELINES = {
    "perfect": (
        "Perfect",
        "labels redrawn from their distribution within each combination of the kept variables",
    ),
    "uniform": ("Uniform", "labels drawn with equal probabilities"),
}
UNKNOWN = ("another model", "a model of the synthesized variables")


def model_words(kind: str) -> tuple[str, str]:
    """Name a kind of synthesizer in public, and say what it is; no name of the plan's own."""
    if kind in MODELS:
        return MODELS[kind].title, MODELS[kind].public
    return BASELINES.get(kind, UNKNOWN)


def _public_settings(kind: str, settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Give the settings that may be told in public; all others stay internal."""
    names = (
        {key: one.public for key, one in MODELS[kind].settings.items()} if kind in MODELS else {}
    )
    told = [(names.get(key), value[:80]) for key, value in settings.items()]
    return tuple((name, value) for name, value in told if name is not None)


@dataclass(frozen=True)
class Summary:
    """What is said in public, in words and rounded figures.

    Attributes
    ----------
    model, model_words : str
        Name of the model, and what it is.
    settings : tuple of (str, str)
        Its settings.
    convergence : tuple of (str, str)
        How convergence was judged.
    tables, regressions, within : tuple of tuple of str
        Rows of the utility tables.
    identification : tuple of (str, rows)
        For every intruder: what is known, and the rows of the risk table.
    attribute : tuple of tuple of str
        Rows of the attribute risk table; empty for fully synthetic files.
    """

    model: str
    model_words: str
    settings: tuple[tuple[str, str], ...]
    convergence: tuple[tuple[str, str], ...]
    tables: tuple[tuple[str, ...], ...]
    regressions: tuple[tuple[str, ...], ...]
    within: tuple[tuple[str, ...], ...]
    identification: tuple[tuple[str, tuple[tuple[str, ...], ...]], ...]
    attribute: tuple[tuple[str, ...], ...]


def rounded(value: float) -> int:
    """Round a count as the rule says: to 5 below 100, to two significant digits from there on."""
    step = 5 if value < 100 else 10 ** (math.floor(math.log10(value)) - 1)
    return int(Decimal(value / step).to_integral_value(ROUND_HALF_EVEN)) * step


def count(value: float | None, n_records: int | None = None) -> str:
    """Write a count of records, or one that is expected, with its share where n is given."""
    if value is None:
        return NOT_SHOWN
    if value < LIMIT:
        return FEW
    shown = rounded(value)
    share = f" ({_two_digits(100 * shown / n_records)}\u00a0%)" if n_records else ""
    return f"about {shown:,}{share}"


def percent(value: float | None) -> str:
    """Write a rate rounded to 5 %; close to none and close to all are not told exactly."""
    if value is None:
        return NOT_SHOWN
    if value < 0.05:
        return "below 5\u00a0%"
    return "above 95\u00a0%" if value > 0.95 else f"about {5 * round(20 * value)}\u00a0%"


def ratio(value: float | None) -> str:
    """Write a ratio with two significant digits."""
    return NOT_SHOWN if value is None else _two_digits(value)


def place(
    value: float | None, levels: IntruderFindings | None, measure: str, *, joint: bool = False
) -> str:
    """Say where a risk lies between an intruder's levels Min (0 %) and Max (100 %)."""
    if value is None or levels is None or None in _levels(levels, measure, joint):
        return NOT_SHOWN
    share = place_share(value, levels, measure, joint=joint)
    if share is None:
        return TOO_CLOSE
    if 0 < share < 100:
        return f"{share}\u00a0%"
    return "Min or below" if share <= 0 else "Max or above"


def place_share(
    value: float | None, levels: IntruderFindings | None, measure: str, *, joint: bool = False
) -> int | None:
    """Compute the place between two levels in percent, rounded to 5; None where there is none.

    As in the verdict, levels of all files together that differ by no more than chance have no place
    between them; in public neither have levels less than one record apart. What lies above Max is
    told even then, since the verdict holds it against the files. What lies beyond a level is told
    as just beyond it.
    """
    low, high = (None, None) if levels is None else _levels(levels, measure, joint)
    if value is None or levels is None or low is None or high is None:
        return None
    share = risk_position(value, levels, measure, joint)
    if share is None or high - low < 1:
        return BEYOND_MAX if value > high else None
    return 5 * round(20 * min(max(share, -0.05), BEYOND_MAX / 100))


def _levels(
    levels: IntruderFindings, measure: str, joint: bool
) -> tuple[float | None, float | None]:
    """Figures of Min and Max."""
    return (
        level_figure(levels.minimum, measure, joint),
        level_figure(levels.maximum, measure, joint),
    )


def _two_digits(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return "0"
    digits = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{round(value, 1 - math.floor(math.log10(abs(value)))):,.{digits}f}"


def summarize(findings: Findings, one: SynthesizerFindings) -> Summary:
    """Choose and round what may be said about a synthesizer's files.

    Parameters
    ----------
    findings : Findings
        All that the study found.
    one : SynthesizerFindings
        The synthesizer whose files are released.

    Returns
    -------
    Summary
    """
    model, words = model_words(one.kind)
    n_records = findings.data.n_records
    intruders = {intruder.known: intruder for intruder in findings.intruders}
    return Summary(
        model=model,
        model_words=words,
        settings=_public_settings(one.kind, one.settings),
        convergence=_convergence(one),
        tables=_tables(one),
        regressions=_regressions(findings, one),
        within=_within(one),
        identification=tuple(
            (_known(found), _identification(found, intruders.get(found.known), n_records))
            for found in one.risk.identification
        ),
        attribute=_attribute(findings, one),
    )


def _convergence(one: SynthesizerFindings) -> tuple[tuple[str, str], ...]:
    chains = one.convergence
    worst = chains.worst_rhat
    return (
        ("chains, started far apart", f"{chains.chains}"),
        ("kept draws of each", f"{chains.draws:,}"),
        ("largest R-hat of the model's own quantities", "–" if worst is None else f"{worst:.2f}"),
        ("R-hat at most, to count as converged", f"{chains.rhat_target:g}"),
        ("effective draws at least", f"{chains.ess_target:g}"),
    )


def _tables(one: SynthesizerFindings) -> tuple[tuple[str, ...], ...]:
    tables = one.utility.tables
    return tuple(
        (
            f"{order} variable{'s' * (order > 1)}",
            count(spread.mean),
            count(floor),
            ratio(spread.mean / floor) if spread.mean is not None and floor >= LIMIT else NOT_SHOWN,
        )
        for order, spread, floor in zip(
            tables.orders, tables.deviation, tables.noise_floor, strict=True
        )
    )


def _regressions(findings: Findings, one: SynthesizerFindings) -> tuple[tuple[str, ...], ...]:
    names = {variable.name for variable in findings.data.variables}
    return tuple(
        (
            found.formula if _plain_formula(found.formula, names) else f"regression {number}",
            found.family if found.family.replace("-", "").isalpha() else "",
            ratio(overlap(found)),
            ratio(found.overlap_floor),
        )
        for number, found in enumerate(one.utility.regressions, start=1)
    )


def overlap(found: Regression) -> float | None:
    """Mean overlap as the verdict takes it: over the coefficients that the floor is over."""
    return found.mean_overlap if found.overlap_in_common is None else found.overlap_in_common


def _plain_formula(formula: str, names: set[str]) -> bool:
    """Tell whether a formula holds names of published columns and signs, and nothing else."""
    rest = formula
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(name, " ")
    return set(rest) <= set(" ~+:*")


def _within(one: SynthesizerFindings) -> tuple[tuple[str, ...], ...]:
    within = one.utility.within
    mean, floor = within.mean_distance, within.mean_floor
    if not within.distance:
        return ()
    return ((ratio(mean), ratio(floor), ratio(mean / floor) if floor > 0 else NOT_SHOWN),)


def _known(found: IdentificationFindings) -> str:
    return ", ".join(found.known)


def _identification(
    found: IdentificationFindings, levels: IntruderFindings | None, n_records: int
) -> tuple[tuple[str, ...], ...]:
    risk = _mean(found.measures, "expected_match_risk")
    true = _mean(found.measures, "true_match_rate")
    false = _mean(found.measures, "false_match_rate")
    unique = _mean(found.measures, "unique_matches")
    joint = found.joint.get("expected_match_risk")
    matches = None if true is None else true * n_records
    return (
        (
            "expected match risk, one file",
            *_placed(risk, levels, "expected_match_risk", n_records),
        ),
        (
            "expected match risk, all files together",
            *_placed(joint, levels, "expected_match_risk", n_records, joint=True),
        ),
        ("records matched rightly and uniquely, one file", "", count(matches, n_records), "", ""),
        (
            "wrong among the unique matches, one file",
            "",
            percent(false) if unique is not None and unique >= LIMIT else NOT_SHOWN,
            "",
            "",
        ),
    )


def _attribute(findings: Findings, one: SynthesizerFindings) -> tuple[tuple[str, ...], ...]:
    found = one.risk.attribute
    if found is None:
        return ()
    n_records = findings.data.n_records
    levels = findings.intruders[0] if findings.intruders else None
    return (
        (
            "synthetic label is the true one, one file",
            *_placed(found.matches.mean, levels, "attribute_matches", n_records),
        ),
        (
            "most frequent label over all files is the true one",
            "",
            count(found.joint_matches, n_records),
            "",
            "",
        ),
    )


def _mean(measures: dict[str, Spread], name: str) -> float | None:
    return measures[name].mean if name in measures else None


def _placed(
    value: float | None,
    levels: IntruderFindings | None,
    measure: str,
    n_records: int,
    *,
    joint: bool = False,
) -> tuple[str, ...]:
    """Write Min, a risk, Max, and the place of the risk between them."""
    low, high = (None, None) if levels is None else _levels(levels, measure, joint)
    counts = [count(one, n_records) for one in (low, value, high)]
    return (*counts, place(value, levels, measure, joint=joint))
