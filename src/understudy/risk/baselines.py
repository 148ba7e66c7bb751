"""Baselines: what reference synthesizers would give away, as samples and in closed form.

*Max* redraws every record's label from the distribution of its pattern, as a synthesizer without
any error would. *Min* redraws it from all labels alike, as one that learned nothing would. Both
are tables of label probabilities and are measured like any synthetic set.

The paper calls them bounds, but nothing keeps a synthesizer between them: one that uses a record's
own label can exceed Max, and rows that are mixed up fall below Min. For the false match rate Max
is the lower one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_whole
from understudy.errors import InputError, SettingError, quoted_list
from understudy.microdata.argument_checks import check_data
from understudy.microdata.label_table import (
    LabelTable,
    empirical_labels,
    uniform_labels,
)
from understudy.microdata.table import Microdata
from understudy.randomness import check_seed, stream
from understudy.risk import match_kernels as kernels
from understudy.risk.expected import ExpectedRisk, expected_risk
from understudy.risk.joint import match_jointly
from understudy.risk.matching import (
    NO_UNIQUE_MATCHES,
    MatchCounts,
    PerRecord,
    Targets,
    count_matches,
    find_targets,
    true_labels,
)
from understudy.summaries import Spread, number, spread_of, text_table

__all__ = ["Baseline", "InherentRisk", "inherent_risk"]

MEASURES = {
    "expected_match_risk": "expected match risk",
    "true_match_rate": "true match rate",
    "false_match_rate": "false match rate",
    "unique_matches": "unique matches",
    "attribute_matches": "attribute matches",
}
MOST_CELLS = 2**27  # probabilities in a table: one gibibyte


@dataclass(frozen=True, repr=False, eq=False)
class Baseline:
    """One baseline: what redrawing all labels in one way would give away.

    Attributes
    ----------
    name : {"Min", "Max"}
        Uniform over all labels, or from the pattern's own distribution.
    samples : polars.DataFrame
        One row per repeat: ``expected_match_risk``, ``true_match_rate``, ``false_match_rate``
        (null where there are no unique matches), ``unique_matches``, ``attribute_matches``.
    spreads : mapping of str to Spread
        Mean, minimum, maximum and standard error over repeats, by measure.
    expected : ExpectedRisk
        The same in closed form, where it exists.
    joint : polars.DataFrame or None
        One row per repeat in which as many files as asked for are drawn and attacked together:
        the measures of identification, and the vote's ``attribute_matches``.
    """

    name: str
    samples: pl.DataFrame
    spreads: Mapping[str, Spread]
    expected: ExpectedRisk
    joint: pl.DataFrame | None

    @property
    def expected_match_risk(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["expected_match_risk"].mean

    @property
    def true_match_rate(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["true_match_rate"].mean

    @property
    def false_match_rate(self) -> float | None:
        """Mean over the samples that have unique matches; None where none has."""
        return self.spreads["false_match_rate"].mean

    @property
    def unique_matches(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["unique_matches"].mean

    @property
    def attribute_matches(self) -> float | None:
        """Mean of the samples; `expected` has it exactly."""
        return self.spreads["attribute_matches"].mean

    @property
    def joint_spreads(self) -> Mapping[str, Spread]:
        """Mean, minimum, maximum and standard error of the joint attacks, by measure."""
        return {} if self.joint is None else _spreads(self.joint)

    def cells(self, name: str, together: bool = False) -> tuple[str, str, str, str]:
        """Write a measure's mean, its standard error, the draws it is over, and its closed form."""
        spread = (self.joint_spreads if together else self.spreads)[name]
        exact: float | None = None if together else getattr(self.expected, name, None)
        error = number(spread.standard_error, missing="-")
        mean = number(spread.mean, spread.standard_error, missing=NO_UNIQUE_MATCHES)
        return mean, error, f"{spread.files}", number(exact, missing="none")

    def __repr__(self) -> str:
        """Show a readable table."""
        rows = [(words, *self.cells(name)) for name, words in MEASURES.items()]
        title = f"{self.name} baseline, known: {quoted_list(self.expected.known)}"
        return text_table(title, ("measure", "mean", "std. error", "draws", "exact"), rows)


@dataclass(frozen=True, repr=False, eq=False)
class InherentRisk:
    """The baselines for one intruder's knowledge.

    Attributes
    ----------
    known : tuple of str
        Kept variables that the intruder knows, besides the true label.
    minimum, maximum : Baseline
        The baselines Min and Max.
    n_records, n_labels, repeats : int
        Sizes of the data and of the samples.
    n_sets : int or None
        Files that the joint intruder holds, where joint attacks were asked for.
    """

    known: tuple[str, ...]
    minimum: Baseline
    maximum: Baseline
    n_records: int
    n_labels: int
    repeats: int
    n_sets: int | None = None

    def __repr__(self) -> str:
        """Show a readable table."""
        rows = [
            (words, *self.minimum.cells(name), *self.maximum.cells(name))
            for name, words in MEASURES.items()
        ]
        if self.n_sets is not None:
            rows += [
                (f"all {self.n_sets} files: {words}",
                 *self.minimum.cells(name, together=True), *self.maximum.cells(name, together=True))
                for name, words in MEASURES.items()
            ]  # fmt: skip
        header = ("measure", "Min", "std. error", "draws", "exact",
                  "Max", "std. error", "draws", "exact")  # fmt: skip
        title = (
            f"Baselines of the confidential data ({self.n_records:,} records, {self.n_labels:,} "
            f"labels), known: {quoted_list(self.known)} and the true label"
        )
        return "\n".join(
            [
                text_table(title, header, rows),
                f"  {self.repeats} repeats; draws: those in which a measure is defined, which its "
                "mean is over. Baselines, not bounds: a synthesizer can lie outside. For "
                "the false match rate Max is the lower one.",
            ]
        )


def _spreads(frame: pl.DataFrame) -> dict[str, Spread]:
    return {measure: spread_of(frame[measure].to_list()) for measure in MEASURES}


def inherent_risk(
    data: Microdata,
    known: Sequence[str] | str,
    repeats: int = 100,
    seed: int | None = None,
    *,
    sets: int | None = None,
) -> InherentRisk:
    """Measure the baselines of the data, without any synthesizer.

    Parameters
    ----------
    data : Microdata
        The confidential records.
    known : sequence of str
        Kept variables that the intruder knows besides the true label.
    repeats : int
        How often all labels are redrawn, for each baseline.
    seed : int, optional
        Makes the samples repeatable.
    sets : int, optional
        Number of files of the joint intruder; when given, joint attacks are sampled too, on that
        many files in each repeat.

    Returns
    -------
    InherentRisk

    Examples
    --------
    >>> import understudy as us
    >>> risk = us.inherent_risk(us.load_ce_like(), known=["gender"], repeats=2, seed=1)
    >>> round(risk.minimum.expected.attribute_matches, 2)
    46.68
    """
    names = _checked(data, known, repeats, sets)
    root, size = check_seed(seed), data.n_labels
    targets = find_targets(data, names, true_labels(data), size)

    def baseline(name: str, table: LabelTable) -> Baseline:
        def draw(*path: str | int) -> NDArray[np.int64]:
            generator = stream(root, "inherent risk", name, *path)
            return table.draw(generator, data).astype(np.int64)

        samples = _frame([_sample(targets, draw(repeat)) for repeat in range(repeats)], data)
        return Baseline(
            name=name,
            samples=samples,
            spreads=_spreads(samples),
            expected=expected_risk(data, table, names),
            joint=None if sets is None else _joint(targets, draw, data, repeats, sets),
        )

    return InherentRisk(
        known=names,
        minimum=baseline("Min", uniform_labels(data)),
        maximum=baseline("Max", empirical_labels(data)),
        n_records=data.n_records,
        n_labels=size,
        repeats=repeats,
        n_sets=sets,
    )


def _checked(
    data: Microdata, known: Sequence[str] | str, repeats: int, sets: int | None
) -> tuple[str, ...]:
    check_data(data)
    if not data.kept:
        raise InputError(
            expected="some kept variables, so that rows belong to records",
            came="data with every variable synthesized",
            do="use attribution_risk, which needs no rows",
        )
    check_whole("repeats", repeats, 1)
    check_whole("sets", 1 if sets is None else sets, 1)
    if len(data.patterns) * data.n_labels > MOST_CELLS:
        raise SettingError(
            expected=f"at most {MOST_CELLS:,} pairs of pattern and label",
            came=f"{len(data.patterns):,} patterns and {data.n_labels:,} labels",
            do="synthesize fewer variables at once, or merge levels",
        )
    return data.known(known)


def _sample(targets: Targets, labels: NDArray[np.int64]) -> MatchCounts:
    matched, counts = targets.match_rows(labels)
    sums = PerRecord.zeros(labels.size)
    return count_matches(targets, counts, matched == targets.of_record, sums)


def _joint(
    targets: Targets,
    draw: Callable[..., NDArray[np.int64]],
    data: Microdata,
    repeats: int,
    n_sets: int,
) -> pl.DataFrame:
    """Draw `n_sets` files in every repeat and attack them together."""
    matched = np.empty((n_sets, data.n_records), dtype=np.int32)  # (set, record)
    labels = np.empty((n_sets, data.n_records), dtype=np.int64)  # (set, record)
    counts = np.empty((n_sets, len(targets)), dtype=np.int64)  # (set, target)
    true = targets.label[targets.of_record]  # (record,)
    matches, votes = [], []
    for repeat in range(repeats):
        for index in range(n_sets):
            labels[index] = draw("joint", repeat, index)
            matched[index], counts[index] = targets.match_rows(labels[index])
        matches.append(match_jointly(targets, matched, counts))
        right = np.zeros(data.n_records)  # (record,)
        kernels.vote(true, labels, right)
        votes.append(float(right.sum()))
    return _frame(matches, data).with_columns(attribute_matches=pl.Series(votes, dtype=pl.Float64))


def _frame(matches: Sequence[MatchCounts], data: Microdata) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "repeat": list(range(len(matches))),
            "expected_match_risk": [counts.expected_match_risk for counts in matches],
            "true_match_rate": [counts.true_matches / data.n_records for counts in matches],
            "false_match_rate": [counts.false_match_rate for counts in matches],
            "unique_matches": [counts.unique_matches for counts in matches],
            "attribute_matches": [counts.attribute_matches for counts in matches],
        },
        schema_overrides={"false_match_rate": pl.Float64},
    )
