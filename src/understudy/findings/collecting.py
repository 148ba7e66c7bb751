"""From the live results of risk and utility to findings: what is kept of them, and how much.

Results hold the confidential data; findings are small and plain. Where a study has more patterns,
labels or coefficients than a reader can look at, the most telling ones are kept and the numbers of
all of them are written beside, so that the page can say what is missing. Every limit stands here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.findings.chains import convergence_findings
from understudy.findings.schema import (
    AttributeFindings,
    DataFindings,
    IdentificationFindings,
    IntruderFindings,
    Level,
    Pattern,
    PatternRisk,
    RecordRisk,
    RiskFindings,
    Spread,
    UtilityFindings,
    VariableFindings,
)
from understudy.findings.utility import (
    regression_findings,
    table_findings,
    within_findings,
)
from understudy.microdata.table import Microdata, SyntheticSets

__all__ = [
    "Analysis",
    "convergence_findings",
    "data_findings",
    "intruder_findings",
    "risk_findings",
    "spread_of_values",
    "utility_findings",
]

MOST_PATTERNS = 1000  # patterns that are listed one by one
MOST_LEVELS = 5000  # levels of a variable that are listed
MOST_RISKY = 20  # patterns and records that carry most of the risk
MOST_KNOWLEDGE = 64  # sets of known variables
FEW_KEPT = 8  # kept variables of which every set is looked at
LEAST_KNOWLEDGE = 2  # with more of them, sets of so many
SMALL = 25  # sizes of patterns that are counted one by one

Train = int | Literal["auto"] | None


def listed_patterns(data: Microdata) -> NDArray[np.int64]:
    """Choose the patterns that are listed: all, or as many of the largest as there is room for.

    Returns
    -------
    int64 (listed pattern,)
        Places in ``data.patterns``, rising.
    """
    sizes = data.patterns.sizes
    largest = np.argsort(-sizes, kind="stable")[:MOST_PATTERNS]
    return np.sort(largest).astype(np.int64)


def pattern_levels(data: Microdata, pattern: int) -> tuple[str, ...]:
    """Write the levels of one pattern, (kept variable,)."""
    codes = data.patterns.codes[pattern]
    return tuple(
        data.variable(name).levels[code]
        for name, code in zip(data.patterns.names, codes, strict=True)
    )


def data_findings(
    data: Microdata, *, codebook_declared: bool, codebook_reviewed: bool
) -> DataFindings:
    """Describe the data.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    codebook_declared : bool
        Whether a codebook declares the levels, rather than the data.
    codebook_reviewed : bool
        Whether somebody has looked through that codebook.
    """
    sizes = data.patterns.sizes
    shown = listed_patterns(data)
    small, counts = np.unique(sizes[sizes <= SMALL], return_counts=True)
    return DataFindings(
        n_records=data.n_records,
        n_dropped=data.n_dropped,
        n_combinations=data.n_combinations,
        n_labels=data.n_labels,
        kept=data.kept,
        synthesized=data.synthesized,
        variables=tuple(
            VariableFindings(
                name=one.name,
                role=one.role,
                description=one.description,
                levels=one.levels[:MOST_LEVELS],
                labels=dict(one.labels),
            )
            for one in data.variables
        ),
        patterns=tuple(
            Pattern(levels=pattern_levels(data, place), records=int(sizes[place]))
            for place in shown.tolist()
        ),
        codebook_declared=codebook_declared,
        codebook_reviewed=codebook_reviewed,
        n_patterns=len(data.patterns),
        pattern_numbers=tuple(shown.tolist()),
        pattern_sizes={int(size): int(count) for size, count in zip(small, counts, strict=True)},
        largest_pattern=int(sizes.max()),
    )


def spread_of_values(values: Iterable[float | None]) -> Spread:
    """Summarize a measure over sets or repeats; None stands for undefined and is left out."""
    listed = [None if one is None else float(one) for one in values]
    defined = [one for one in listed if one is not None]
    if not defined:
        return Spread(
            mean=None, minimum=None, maximum=None, standard_error=None, values=tuple(listed)
        )
    mean = math.fsum(defined) / len(defined)
    error = None
    if len(defined) > 1:
        squares = math.fsum((one - mean) ** 2 for one in defined)
        error = math.sqrt(squares / (len(defined) - 1) / len(defined))
    return Spread(
        mean=mean,
        minimum=min(defined),
        maximum=max(defined),
        standard_error=error,
        values=tuple(listed),
    )


def intruder_findings(
    data: Microdata, known: Sequence[str], *, repeats: int, sets: int, seed: int
) -> IntruderFindings:
    """Find the data's own risk levels for one intruder, before any synthesizer.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    known : sequence of str
        Kept variables that the intruder knows besides the true label.
    repeats : int
        How often all labels are redrawn for each level.
    sets : int
        Files of the joint intruder: as many as the study releases.
    seed : int
        Makes the samples repeatable.
    """
    from understudy.risk.baselines import inherent_risk

    found = inherent_risk(data, known, repeats=repeats, seed=seed, sets=sets)

    def level(one: Any) -> Level:
        return Level(
            samples=_columns(one.samples),
            exact={name: getattr(one.expected, name, None) for name in LEVEL_MEASURES},
            joint={} if one.joint is None else _columns(one.joint),
        )

    return IntruderFindings(
        known=found.known, minimum=level(found.minimum), maximum=level(found.maximum)
    )


LEVEL_MEASURES = (
    "expected_match_risk",
    "true_match_rate",
    "false_match_rate",
    "unique_matches",
    "attribute_matches",
)
MATCH_MEASURES = LEVEL_MEASURES[:4]


def _columns(frame: pl.DataFrame) -> dict[str, Spread]:
    """Summarize the measures that a frame has, one row per set or repeat."""
    return {
        name: spread_of_values(frame[name].to_list())
        for name in LEVEL_MEASURES
        if name in frame.columns
    }


class Analysis(NamedTuple):
    """A regression that analysts will run; see `understudy.regression_utility`."""

    formula: str
    family: str
    train: Train = "auto"
    reference: Mapping[str, str] | str | None = None


def utility_findings(
    data: Microdata,
    sets: SyntheticSets,
    *,
    analyses: Sequence[Analysis],
    rule: str,
    seed: int,
    repeats: int = 20,
) -> UtilityFindings:
    """Measure what an analyst keeps with these sets.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    sets : SyntheticSets
        Row by row beside the data.
    analyses : sequence of Analysis
        Regressions.
    rule : {"partial", "full"}
        How estimates are combined.
    seed : int
        Makes noise floors and splits repeatable.
    repeats : int
        Perfect sets that the noise floors of regressions are simulated from.
    """
    return UtilityFindings(
        tables=table_findings(data, sets, seed),
        regressions=tuple(
            regression_findings(data, sets, *analysis, rule, seed, repeats) for analysis in analyses
        ),
        within=within_findings(data, sets, listed_patterns(data), seed),
    )


def risk_findings(
    data: Microdata, sets: SyntheticSets, intruders: Sequence[Sequence[str]], *, lattice: bool
) -> RiskFindings:
    """Measure what intruders learn from these sets.

    Parameters
    ----------
    data : Microdata
        The confidential data.
    sets : SyntheticSets
        Row by row beside the data. Fully synthetic sets have no such rows: nothing is matched then.
    intruders : sequence of sequences of str
        What each intruder knows besides the true label.
    lattice : bool
        Whether to measure every set of kept variables that an intruder might know.
    """
    if sets.fully_synthetic or not data.kept:
        return RiskFindings(identification=(), attribute=None, lattice={})
    from understudy.risk.attribute import attribute_risk
    from understudy.risk.by_knowledge import risk_lattice

    attribute = attribute_risk(data, sets)
    right = attribute.per_record()  # (record,)
    few = len(data.kept) <= FEW_KEPT
    ranking = None
    if lattice:
        found = risk_lattice(data, sets, None if few else LEAST_KNOWLEDGE)
        ranking = found.ranking.head(MOST_KNOWLEDGE)
    return RiskFindings(
        identification=tuple(_identification(data, sets, known, right) for known in intruders),
        attribute=AttributeFindings(
            matches=spread_of_values(attribute.per_set["matches"].to_list()),
            joint_matches=attribute.joint.matches,
            most_frequent_label=attribute.most_frequent_label,
            most_frequent_synthetic_label=attribute.most_frequent_synthetic_label,
        ),
        lattice={}
        if ranking is None
        else dict(zip(ranking["known"], ranking["expected_match_risk"], strict=True)),
    )


def _identification(
    data: Microdata, sets: SyntheticSets, known: Sequence[str], right: NDArray[np.float64]
) -> IdentificationFindings:
    from understudy.risk.identification import identification_risk

    found = identification_risk(data, sets, known)
    risk = found.per_record()  # (record,)
    pattern = data.patterns.of_combination[data.of_record]  # (record,)
    joint: dict[str, float | None] = {
        name: getattr(found.joint, name) for name in (*MATCH_MEASURES, "true_matches")
    }
    return IdentificationFindings(
        known=found.known,
        measures=_columns(found.per_set),
        joint=joint,
        random_linkage=found.random_linkage,
        patterns=_worst_patterns(data, pattern, risk, right),
        records=_worst_records(data, pattern, risk, right),
        share_of_top_percent=_share_of_top(risk),
        random_within_cells=found.random_within_cells,
        alignment=str(found.alignment),
    )


def _worst_patterns(
    data: Microdata,
    pattern: NDArray[np.int32],
    risk: NDArray[np.float64],
    right: NDArray[np.float64],
) -> tuple[PatternRisk, ...]:
    """Patterns that carry most of the match risk, the worst first."""
    size = len(data.patterns)
    matched = np.bincount(pattern, weights=risk, minlength=size)  # (pattern,)
    labels = np.bincount(pattern, weights=right, minlength=size)  # (pattern,)
    worst = np.argsort(-matched, kind="stable")[:MOST_RISKY]
    return tuple(
        PatternRisk(
            pattern=place,
            expected_match_risk=float(matched[place]),
            attribute_matches=float(labels[place]),
            levels=pattern_levels(data, place),
            records=int(data.patterns.sizes[place]),
        )
        for place in worst.tolist()
    )


def _worst_records(
    data: Microdata,
    pattern: NDArray[np.int32],
    risk: NDArray[np.float64],
    right: NDArray[np.float64],
) -> tuple[RecordRisk, ...]:
    """Records with the largest match probability, the worst first; none that has no risk."""
    worst = np.lexsort((np.arange(risk.size), -right, -risk))[:MOST_RISKY]
    return tuple(
        RecordRisk(
            row=row + 1,
            pattern=int(pattern[row]),
            match_probability=float(risk[row]),
            label_right=float(right[row]),
            levels=pattern_levels(data, int(pattern[row])),
        )
        for row in worst.tolist()
        if risk[row] > 0
    )


def _share_of_top(risk: NDArray[np.float64]) -> float | None:
    """Share of the match risk that is carried by the one record in a hundred with most of it."""
    total = float(risk.sum())
    if total == 0:
        return None
    top = max(1, risk.size // 100)
    return min(1.0, float(np.partition(risk, risk.size - top)[-top:].sum()) / total)
