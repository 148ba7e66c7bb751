"""What may be published about risk and utility: few values, small ones left out, all rounded.

The findings of a study hold values of single records and patterns and exact sums over the
confidential file. The public page never sees them. It sees a `Summary`, which is made of texts in
which every value has gone through `count`, `percent` or `ratio`:

- a count below ten, zero included, is "fewer than 10";
- other counts are rounded to the nearest 5, and from 100 on to two significant digits;
- shares of records are made from the rounded count, never from the exact one;
- a rate among unique matches is left out where there are fewer than ten unique matches;
- ratios have two significant digits; rates and positions are rounded to 5 %;
- a position is left out where publishing the exact table would affect fewer than ten people;
- nothing about single records, patterns, labels, tables or coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal

from understudy.findings.schema import (
    AttackFindings,
    Findings,
    IdentificationFindings,
    IntruderFindings,
    Regression,
    SynthesizerFindings,
)
from understudy.synthesis.registry import MODELS
from understudy.verdict.grading import baseline_value

__all__ = [
    "BASELINES",
    "LIMIT",
    "RULE",
    "Summary",
    "count",
    "model_words",
    "overlap",
    "percent",
    "position",
    "position_percent",
    "ratio",
    "rounded",
    "summarize",
    "worst_attacks",
]

Rows = tuple[tuple[str, ...], ...]

MATCH = "expected_match_risk"
LIMIT = 10
BEYOND = 105  # what lies above the exact table, however far, is written and drawn here
NOT_SHOWN = "not shown"
TOO_FEW = "too few people to say"
SETTINGS = {"worst case": "rows known", "as released": "rows shuffled, as released"}
ATTACKS = {
    "row": "believe the row",
    "vote": "vote over the rows of all files",
    "modal": "most frequent label of the pattern, one file",
    "pooled_modal": "most frequent label of the pattern, all files",
    "match_one_file": "match one file",
    "match_all_files": "match all files",
    "match_best": "match, the better of both",
    "guess": "guess one variable from the others, all files",
}  # in public; the words of the findings may name variables
FEW = f"fewer than {LIMIT}"
RULE = (
    f"Counts below {LIMIT}, zero included, are shown as “{FEW}”. Other counts are rounded to the "
    "nearest 5, and from 100 on to two significant digits. Percentages of records are computed "
    "nearest 5, and from 100 on to two significant digits. Percentages of records are computed "
    f"from the rounded counts. Rates among fewer than {LIMIT} unique matches are not shown. Other "
    "rates, and shares of the exact table's effect, are rounded to the nearest 5 %; such a share "
    f"is not shown where the exact table would affect fewer than {LIMIT} people, unless the files "
    f"affect {LIMIT} or more. No value is given for single records, combinations, labels or "
    "coefficients, and no value computed from the confidential file is exact."
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
    """What is published, in words and rounded values.

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
    own_record : tuple of tuple of str
        For each setting, the attack in which people's own records matter most.
    fully_synthetic : tuple of tuple of str
        Rows about fully synthetic files; empty where variables are kept.
    """

    model: str
    model_words: str
    settings: Rows
    convergence: Rows
    tables: Rows
    regressions: Rows
    within: Rows
    identification: tuple[tuple[str, Rows], ...]
    attribute: Rows
    own_record: Rows = ()
    fully_synthetic: Rows = ()


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


def position(attack: AttackFindings) -> str:
    """Say how much people's own records matter in an attack, beside the exact table's effect."""
    percentage = position_percent(attack)
    if percentage is None:
        return TOO_FEW
    if percentage >= 100:
        return "as much as in the exact table, or more"
    share = f"(about {percentage}\u00a0%)" if percentage >= 5 else "(below 5\u00a0%)"
    blunt = "next to nothing" if percentage < 5 else "little" if percentage <= 25 else "a good part"
    return f"{blunt} {share}"


def position_percent(attack: AttackFindings) -> int | None:
    """Round a position to 5 %; None where the effects are too small to be compared in public.

    The exact table's effect must be that of ten people. Where it is smaller and the files' is not,
    the files give away more than the exact table, which is reported.
    """
    if attack.exact_table < LIMIT:
        return BEYOND if attack.effect >= LIMIT else None
    return 5 * round(20 * min(max(attack.position, 0.0), BEYOND / 100))


def worst_attacks(released: SynthesizerFindings) -> list[AttackFindings]:
    """Give the worst attack of each setting: rows aligned with the records, and as released."""
    own_record = released.risk.own_record
    if own_record is None:
        return []
    worst = [own_record.worst(setting) for setting in ("worst case", "as released")]
    return [attack for attack in worst if attack is not None]


def _own_record(findings: Findings, released: SynthesizerFindings) -> Rows:
    n_records = findings.data.n_records
    return tuple(
        (
            SETTINGS[attack.setting],
            _attack_words(attack),
            count(attack.with_record, n_records),
            count(attack.without_record, n_records),
            position(attack),
        )
        for attack in worst_attacks(released)
    )


def _attack_words(attack: AttackFindings) -> str:
    known = f", knowing {', '.join(attack.known)}" if attack.known else ""
    return f"{ATTACKS.get(attack.attack, 'another attack')}{known}"


def _fully_synthetic(released: SynthesizerFindings) -> Rows:
    risk = released.risk.fully_synthetic
    if risk is None:
        return ()
    chance = max(risk.expected_repeats.values(), default=None)
    repeated, expected = count(risk.repeated), count(chance)
    return (("records of one person alone that a file repeats verbatim", repeated, expected),)


def _two_digits(value: float) -> str:
    if value == 0 or not math.isfinite(value):
        return "0"
    digits = max(0, 1 - math.floor(math.log10(abs(value))))
    return f"{round(value, 1 - math.floor(math.log10(abs(value)))):,.{digits}f}"


def summarize(findings: Findings, released: SynthesizerFindings) -> Summary:
    """Select and round what may be published about a synthesizer's files.

    Parameters
    ----------
    findings : Findings
        All that the study found.
    released : SynthesizerFindings
        The synthesizer whose files are released.
    """
    model, words = model_words(released.kind)
    intruders = {intruder.known: intruder for intruder in findings.intruders}
    n_records = findings.data.n_records
    return Summary(
        model=model,
        model_words=words,
        settings=_public_settings(released.kind, released.settings),
        convergence=_convergence(released),
        tables=_tables(released),
        regressions=_regressions(findings, released),
        within=_within(released),
        identification=tuple(
            (", ".join(risk.known), _identification(risk, intruders.get(risk.known), n_records))
            for risk in released.risk.identification
        ),
        attribute=_attribute(findings, released),
        own_record=_own_record(findings, released),
        fully_synthetic=_fully_synthetic(released),
    )


def _convergence(released: SynthesizerFindings) -> Rows:
    chains = released.convergence
    worst = chains.worst_rhat
    return (
        ("chains, started far apart", f"{chains.chains}"),
        ("kept draws of each", f"{chains.draws:,}"),
        ("largest R-hat of the model's own quantities", "–" if worst is None else f"{worst:.2f}"),
        ("target: R-hat at most", f"{chains.rhat_target:g}"),
        ("target: effective draws at least", f"{chains.ess_target:g}"),
    )


def _tables(released: SynthesizerFindings) -> Rows:
    tables = released.utility.tables
    return tuple(
        (
            f"{order} variable{'s' * (order > 1)}",
            count(spread.mean),
            count(floor),
            ratio(spread.mean / floor) if spread.mean is not None and floor >= LIMIT else NOT_SHOWN,
        )
        for order, spread, floor in zip(
            tables.orders, tables.deviation, tables.truth_floor, strict=True
        )
    )


def _regressions(findings: Findings, released: SynthesizerFindings) -> Rows:
    names = {variable.name for variable in findings.data.variables}
    return tuple(
        (
            each.formula if _plain_formula(each.formula, names) else f"regression {number}",
            each.family if each.family.replace("-", "").isalpha() else "",
            ratio(overlap(each)),
            ratio(each.overlap_truth_floor),
        )
        for number, each in enumerate(released.utility.regressions, start=1)
    )


def overlap(regression: Regression) -> float | None:
    """Mean overlap as the verdict takes it: over the coefficients that the floor is over."""
    common = regression.overlap_in_common
    return regression.mean_overlap if common is None else common


def _plain_formula(formula: str, names: set[str]) -> bool:
    """Tell whether a formula holds names of published columns and signs, and nothing else."""
    rest = formula
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(name, " ")
    return set(rest) <= set(" ~+:*")


def _within(released: SynthesizerFindings) -> Rows:
    within = released.utility.within
    mean, floor = within.mean_distance, within.mean_truth_floor
    if not within.distance:
        return ()
    return ((ratio(mean), ratio(floor), ratio(mean / floor) if floor > 0 else NOT_SHOWN),)


def _identification(
    risk: IdentificationFindings, intruder: IntruderFindings | None, n_records: int
) -> Rows:
    match, true, false, unique = (
        risk.measures[name].mean if name in risk.measures else None
        for name in (MATCH, "true_match_rate", "false_match_rate", "unique_matches")
    )
    joint = risk.joint.get(MATCH)
    matches = count(None if true is None else true * n_records, n_records)
    wrong = percent(false) if unique is not None and unique >= LIMIT else NOT_SHOWN
    return (
        ("expected match risk, one file", *_between(match, intruder, MATCH, n_records)),
        (
            "expected match risk, all files together",
            *_between(joint, intruder, MATCH, n_records, joint=True),
        ),
        ("records matched correctly and uniquely, one file", "", matches, ""),
        ("wrong among the unique matches, one file", "", wrong, ""),
    )


def _attribute(findings: Findings, released: SynthesizerFindings) -> Rows:
    risk = released.risk.attribute
    if risk is None:
        return ()
    n_records = findings.data.n_records
    intruder = findings.intruders[0] if findings.intruders else None
    matches = _between(risk.matches.mean, intruder, "attribute_matches", n_records)
    votes = count(risk.joint_matches, n_records)
    return (
        ("synthetic label is the true one, one file", *matches),
        ("most frequent label over all files is the true one", "", votes, ""),
    )


def _between(
    value: float | None,
    intruder: IntruderFindings | None,
    measure: str,
    n_records: int,
    *,
    joint: bool = False,
) -> tuple[str, ...]:
    """Write Min, a risk, and Max."""
    low, high = (
        (None, None)
        if intruder is None
        else (baseline_value(each, measure, joint) for each in (intruder.minimum, intruder.maximum))
    )
    return tuple(count(number, n_records) for number in (low, value, high))
