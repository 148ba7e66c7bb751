"""What is published about risk and utility: which numbers, and how far one label can move each.

The findings of a study hold values of single records and patterns and exact sums over the
confidential file. The public page never sees them. It sees a `Summary`, made of texts in which
every number computed from confidential labels has gone through `random_rounding.print_shares`.
Bounds on what one label can do, files and fit held fixed (n is the number of records):

- right guesses, matches, unique matches: each record counts for itself, so 1 record;
- deviation of tables, per table and as a share of 2n: two cells change by 1, so 1 record;
- distance within patterns, mean over records: 1 record;
- what a synthesizer that knew the population would score, of both: the redrawn count of either cell
  changes by 1 in expectation, in each of two sets, so 2 records;
- Max, labels redrawn within their pattern: 2 records (METHOD: Σ n_bg² / n_b, and one match a cell);
- right guesses because of people's own records, a difference of two sums over records: 2 records;
- records that are unique in the data and verbatim in a file: two cells of the table of all
  variables change, so 2 records.

Min does not depend on labels. Overlaps of regressions, rates among matches, R-hats and what chance
repeats have no such bound and are never published.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from understudy.findings.schema import (
    AttackFindings,
    Findings,
    IntruderFindings,
    SynthesizerFindings,
)
from understudy.publishing.random_rounding import NOT_SHOWN, Printed, PublicNumber, print_shares
from understudy.synthesis.registry import MODELS

__all__ = [
    "BASELINES",
    "Summary",
    "model_words",
    "n_tables",
    "public_numbers",
    "summarize",
    "unrounded_numbers",
]

Rows = tuple[tuple[str, ...], ...]
Numbers = Mapping[str, Printed]

MATCH = "expected_match_risk"
GUESSES = "attribute_matches"
SETTINGS = {"worst case": "rows known", "as released": "rows shuffled, as released"}
BY_HAND = "given by hand, not published"
BASELINES = {
    "perfect": (
        "Perfect",
        "labels redrawn from their distribution within each combination of the kept variables",
    ),
    "uniform": ("Uniform", "labels drawn with equal probabilities"),
}
UNKNOWN = ("another model", "a model of the synthesized variables")


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
        For each setting, how often the strongest attack is right, and because of own records.
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


def model_words(kind: str) -> tuple[str, str]:
    """Name a kind of synthesizer in public, and say what it is; no name of the plan's own."""
    if kind in MODELS:
        return MODELS[kind].title, MODELS[kind].public
    return BASELINES.get(kind, UNKNOWN)


def n_tables(findings: Findings, order: int) -> int:
    """Count the tables of so many variables that hold a synthesized one."""
    synthesized = set(findings.data.synthesized)
    names = (*findings.data.kept, *findings.data.synthesized)
    return sum(bool(synthesized & set(table)) for table in combinations(names, order))


def public_numbers(findings: Findings, released: SynthesizerFindings, seed: int) -> Numbers:
    """Round everything that may be published about a synthesizer's files.

    The seed of the study fixes the random part of the rounding.
    """
    numbers = unrounded_numbers(findings, released)
    return print_shares(numbers, findings.data.n_records, seed, released.name)


def unrounded_numbers(findings: Findings, released: SynthesizerFindings) -> list[PublicNumber]:
    """List all numbers that depend on confidential labels, with what one label can do to each."""
    return [
        *_guess_numbers(findings, released),
        *_match_numbers(findings, released),
        *_utility_numbers(findings, released),
    ]


def _guess_numbers(findings: Findings, released: SynthesizerFindings) -> list[PublicNumber]:
    """Right guesses of labels, and what people's own records add to them."""
    n, risk, numbers = findings.data.n_records, released.risk, []
    if risk.attribute is not None:
        numbers = [
            PublicNumber("guess row", _over(risk.attribute.matches.mean, n)),
            PublicNumber("guess vote", _over(risk.attribute.joint_matches, n)),
            PublicNumber("guess row Max", _over(_exact(findings, GUESSES), n), 2.0),
        ]
    for setting in SETTINGS:
        attacks = [attack for attack in _attacks(released) if attack.setting == setting]
        right = [_right(attack) for attack in attacks if not attack.known]
        if attacks:
            numbers.append(PublicNumber(f"strongest {setting}", _over(max(right, default=None), n)))
        if attacks and released.risk.fully_synthetic is None:
            effect = max(attack.effect for attack in attacks)
            numbers.append(PublicNumber(f"own records {setting}", _over(effect, n), 2.0))
    if risk.fully_synthetic is not None:
        numbers.append(PublicNumber("repeated", _over(risk.fully_synthetic.repeated, n), 2.0))
    return numbers


def _match_numbers(findings: Findings, released: SynthesizerFindings) -> list[PublicNumber]:
    """Matches of every intruder, and Max."""
    n, numbers = findings.data.n_records, []
    intruders = {intruder.known: intruder for intruder in findings.intruders}
    for number, risk in enumerate(released.risk.identification):
        measures = {name: spread.mean for name, spread in risk.measures.items()}
        intruder = intruders.get(risk.known)
        highest = None if intruder is None else intruder.maximum.exact.get(MATCH)
        numbers += [
            PublicNumber(f"match one {number}", _over(measures.get(MATCH), n)),
            PublicNumber(f"match all {number}", _over(risk.joint.get(MATCH), n)),
            PublicNumber(f"match right {number}", measures.get("true_match_rate")),
            PublicNumber(f"match unique {number}", _over(measures.get("unique_matches"), n)),
            PublicNumber(f"match one Max {number}", _over(highest, n), 2.0),
        ]
    return numbers


def _utility_numbers(findings: Findings, released: SynthesizerFindings) -> list[PublicNumber]:
    """Deviations of tables and distances within patterns, each with its floor."""
    n, utility = findings.data.n_records, released.utility
    within = utility.within
    numbers = []
    if within.distance:
        numbers = [
            PublicNumber("within", within.mean_distance),
            PublicNumber("within floor", within.mean_truth_floor, 2.0),
        ]
    tables = utility.tables
    for order, spread, floor in zip(
        tables.orders, tables.deviation, tables.truth_floor, strict=True
    ):
        most = 2 * n * max(n_tables(findings, order), 1)
        numbers += [
            PublicNumber(f"tables {order}", _over(spread.mean, most)),
            PublicNumber(f"tables floor {order}", _over(floor, most), 2.0),
        ]
    return numbers


def _over(value: float | None, whole: int) -> float | None:
    return None if value is None else value / whole


def _attacks(released: SynthesizerFindings) -> tuple[AttackFindings, ...]:
    own_record = released.risk.own_record
    return () if own_record is None else own_record.attacks


def _right(attack: AttackFindings) -> float:
    """How often an attack is right on the files themselves, or else by the fit."""
    return attack.with_record if attack.measured is None else attack.measured


def _exact(findings: Findings, measure: str, *, lowest: bool = False) -> float | None:
    """A closed form of the first intruder's Max or Min."""
    if not findings.intruders:
        return None
    first = findings.intruders[0]
    return (first.minimum if lowest else first.maximum).exact.get(measure)


def summarize(findings: Findings, released: SynthesizerFindings, numbers: Numbers) -> Summary:
    """Select what may be published about a synthesizer's files.

    All numbers that depend on confidential labels come from `public_numbers`.
    """
    model, words = model_words(released.kind)
    intruders = {intruder.known: intruder for intruder in findings.intruders}
    n = findings.data.n_records
    return Summary(
        model=model,
        model_words=words,
        settings=_public_settings(released.kind, released.settings),
        convergence=_convergence(released),
        tables=_tables(released, numbers),
        regressions=_regressions(findings, released),
        within=((*_beside_floor(numbers, "within", "within floor"),),)
        if released.utility.within.distance
        else (),
        identification=tuple(
            (", ".join(risk.known), _identification(numbers, number, intruders.get(risk.known), n))
            for number, risk in enumerate(released.risk.identification)
        ),
        attribute=_attribute(findings, released, numbers),
        own_record=_own_record(released, numbers),
        fully_synthetic=()
        if released.risk.fully_synthetic is None
        else (
            (
                "records of one person alone that a file repeats verbatim",
                _shown(numbers, "repeated"),
            ),
        ),
    )


def _shown(numbers: Numbers, name: str) -> str:
    return str(numbers.get(name, NOT_SHOWN))


def _beside_floor(numbers: Numbers, name: str, floor: str) -> tuple[str, str, str]:
    own = numbers.get(name)
    ratio = NOT_SHOWN if own is None else own.over(numbers.get(floor))
    return _shown(numbers, name), _shown(numbers, floor), ratio


def _public_settings(kind: str, settings: Mapping[str, str]) -> Rows:
    """Give the settings that may be told in public; all others stay internal.

    A prior of the levels is told where it is one number or a word: a list of them can be the
    confidential counts themselves.
    """
    known = MODELS[kind].settings if kind in MODELS else {}
    rows = []
    for key, value in settings.items():
        name = known[key].public if key in known else None
        if name is not None:
            listed = len(value.split(", ")) > 2 and re.search(r"\d", value) is not None
            secret = listed or (
                key == "level_prior" and not re.fullmatch(r"[a-z]+|[\d.,e-]+", value)
            )
            rows.append((name, BY_HAND if secret and key != "order" else value[:80]))
    return tuple(rows)


def _convergence(released: SynthesizerFindings) -> Rows:
    chains = released.convergence
    zeros = 10 ** max(len(str(chains.draws)) - 1, 0)
    return (
        ("chains, started far apart", f"{chains.chains}"),
        ("kept draws of each, at least", f"{chains.draws // zeros * zeros:,}"),
        ("target: R-hat at most", f"{chains.rhat_target:g}"),
        ("target: effective draws at least", f"{chains.ess_target:g}"),
        ("targets met", "yes" if chains.converged else "no"),
    )


def _tables(released: SynthesizerFindings, numbers: Numbers) -> Rows:
    return tuple(
        (
            f"{order} variable{'s' * (order > 1)}",
            *_beside_floor(numbers, f"tables {order}", f"tables floor {order}"),
        )
        for order in released.utility.tables.orders
    )


def _regressions(findings: Findings, released: SynthesizerFindings) -> Rows:
    names = {variable.name for variable in findings.data.variables}
    return tuple(
        (
            regression.formula
            if _plain_formula(regression.formula, names)
            else f"regression {number}",
            regression.family if regression.family.replace("-", "").isalpha() else "",
        )
        for number, regression in enumerate(released.utility.regressions, start=1)
    )


def _plain_formula(formula: str, names: set[str]) -> bool:
    """Tell whether a formula holds names of published columns and signs, and nothing else."""
    rest = formula
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(name, " ")
    return set(rest) <= set(" ~+:*")


def _identification(
    numbers: Numbers, number: int, intruder: IntruderFindings | None, n_records: int
) -> Rows:
    lowest = None if intruder is None else intruder.minimum.exact.get(MATCH)
    rows = {
        "expected match risk, one file": (
            _without_labels(lowest, n_records),
            f"match one {number}",
            _shown(numbers, f"match one Max {number}"),
        ),
        "expected match risk, all files together": ("", f"match all {number}", ""),
        "records matched uniquely, one file": ("", f"match unique {number}", ""),
        "records matched uniquely and correctly, one file": ("", f"match right {number}", ""),
    }
    return tuple(
        (words, low, _shown(numbers, name), high) for words, (low, name, high) in rows.items()
    )


def _attribute(findings: Findings, released: SynthesizerFindings, numbers: Numbers) -> Rows:
    if released.risk.attribute is None:
        return ()
    lowest = _exact(findings, GUESSES, lowest=True)
    return (
        (
            "synthetic label is the true one, one file",
            _without_labels(lowest, findings.data.n_records),
            _shown(numbers, "guess row"),
            _shown(numbers, "guess row Max"),
        ),
        (
            "most frequent label over all files is the true one",
            "",
            _shown(numbers, "guess vote"),
            "",
        ),
    )


def _without_labels(value: float | None, n_records: int) -> str:
    """Write a share that does not depend on confidential labels, with two digits."""
    if value is None:
        return NOT_SHOWN
    percent = 100 * value / n_records
    if percent == 0:
        return "0\u00a0%"
    digits = 1 - math.floor(math.log10(abs(percent)))
    return f"{round(percent, digits):,.{max(0, digits)}f}\u00a0%"


def _own_record(released: SynthesizerFindings, numbers: Numbers) -> Rows:
    settings = {attack.setting for attack in _attacks(released)}
    return tuple(
        (
            words,
            _shown(numbers, f"strongest {setting}"),
            _shown(numbers, f"own records {setting}"),
        )
        for setting, words in SETTINGS.items()
        if setting in settings
    )
