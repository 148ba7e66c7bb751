"""What is kept of the data: variables, patterns and their sizes.

A file may have more patterns or levels than a reader can look at. The largest patterns are listed,
and the numbers of all of them are kept beside, so that a page can say what it leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.findings.schema import DataFindings, Pattern, VariableFindings
from understudy.findings.survey_schema import PassedFindings, PopulationFindings
from understudy.microdata.shown_data import level_sizes
from understudy.microdata.table import Microdata
from understudy.microdata.telling_columns import telling_passed

__all__ = [
    "data_findings",
    "listed_patterns",
    "passed_findings",
    "pattern_levels",
    "population_findings",
]

PATTERN = "_row"  # a reserved name: no column has it
MOST_PATTERNS = 1000  # patterns that are listed one by one
MOST_LEVELS = 5000  # levels of a variable that are listed
SMALL = 25  # sizes of patterns that are counted one by one
RARE = 3  # records: a level that fewer have is rare


def data_findings(
    data: Microdata, *, codebook_declared: bool, codebook_reviewed: bool
) -> DataFindings:
    """Describe the data, and whether a codebook declares their levels and was reviewed."""
    from understudy.risk.diversity import label_diversity

    sizes = data.patterns.sizes
    listed = listed_patterns(data)
    small, counts = np.unique(sizes[sizes <= SMALL], return_counts=True)
    diversity = label_diversity(data) if data.kept else None
    return DataFindings(
        n_records=data.n_records,
        n_dropped=data.n_dropped,
        n_combinations=data.n_combinations,
        n_labels=data.n_labels,
        kept=data.kept,
        synthesized=data.synthesized,
        variables=tuple(
            VariableFindings(
                name=variable.name,
                role=variable.role,
                description=variable.description,
                levels=variable.levels[:MOST_LEVELS],
                labels=dict(variable.labels),
            )
            for variable in data.variables
        ),
        patterns=tuple(
            Pattern(levels=pattern_levels(data, pattern), records=int(sizes[pattern]))
            for pattern in listed.tolist()
        ),
        codebook_declared=codebook_declared,
        codebook_reviewed=codebook_reviewed,
        undeclared=() if codebook_declared else _undeclared(data),
        observed_only=_observed_only(data),
        rare_levels=_rare_levels(data),
        dominated_patterns=diversity.dominated_patterns if diversity else 0,
        dominated_records=diversity.dominated_records if diversity else 0,
        deciding=diversity.deciding if diversity else (),
        n_patterns=len(data.patterns),
        pattern_numbers=tuple(listed.tolist()),
        pattern_sizes={int(size): int(count) for size, count in zip(small, counts, strict=True)},
        largest_pattern=int(sizes.max()),
        population=population_findings(data),
        missing_levels=_missing(data, modelled=False),
        holes=_missing(data, modelled=True),
        **passed_findings(data),
    )


def passed_findings(data: Microdata) -> dict[str, Any]:
    """Measure what columns that pass through add to what somebody can recognize a record by.

    Gives fields of `DataFindings`; nothing where no column passes through.
    """
    if data.passed is None:
        return {}
    weights = set() if data.survey is None else set(data.survey.columns)
    pattern = data.patterns.of_combination[data.of_record]  # (record,)
    shared = pl.Series(data.patterns.sizes[pattern] > 1)
    records = data.passed.frame.with_columns(pl.Series(PATTERN, pattern))
    alone, together = telling_passed(data)
    findings = []
    for name in data.passed.names:
        sizes = records.select(pl.len().over(name))["len"]
        findings.append(
            PassedFindings(
                name=name,
                stored=data.passed.stored(name),
                values=records[name].n_unique(),
                alone=int((sizes == 1).sum()),
                unique_with_kept=_made_unique(records, [name], shared),
                decides=name in alone,
                weight=name in weights,
            )
        )
    others = [name for name in data.passed.names if name not in weights]
    return {
        "passed_together": together,
        "passed": tuple(findings),
        "passed_unique": _made_unique(records, data.passed.names, shared),
        "passed_unique_unweighted": _made_unique(records, others, shared) if others else 0,
    }


def population_findings(
    data: Microdata, known: Sequence[str] | None = None
) -> PopulationFindings | None:
    """Estimate uniqueness in the population, where the data have survey weights.

    It is that of what an intruder knows, or of all kept variables.
    """
    from understudy.risk.population import population_risk

    if data.survey is None or not data.kept:
        return None
    risk = population_risk(data, known)
    return PopulationFindings(
        people=risk.population,
        sample_uniques=risk.sample_uniques,
        population_uniques=risk.population_uniques,
        expected_matches=risk.expected_matches,
    )


def _made_unique(records: pl.DataFrame, names: Sequence[str], shared: pl.Series) -> int:
    """Count records of shared patterns that are alone with the values of these columns."""
    sizes = records.select(pl.len().over(PATTERN, *names))["len"]
    return int(((sizes == 1) & shared).sum())


def listed_patterns(data: Microdata) -> NDArray[np.int64]:
    """Choose the patterns to list, all or the largest: indices into ``data.patterns``, rising."""
    largest = np.argsort(-data.patterns.sizes, kind="stable")[:MOST_PATTERNS]
    return np.sort(largest).astype(np.int64)


def pattern_levels(data: Microdata, pattern: int) -> tuple[str, ...]:
    """Write the levels of one pattern, (kept variable,)."""
    codes = data.patterns.codes[pattern]
    return tuple(
        data.variable(name).levels[code]
        for name, code in zip(data.patterns.names, codes, strict=True)
    )


def _missing(data: Microdata, *, modelled: bool) -> dict[str, int]:
    """Count the records without a value, by variable, where that is modelled or is a level."""
    return {
        variable.name: int(level_sizes(data, variable.name)[-1])
        for variable in data.variables
        if variable.has_missing and variable.has_holes == modelled
    }


def _undeclared(data: Microdata) -> tuple[str, ...]:
    return tuple(variable.name for variable in data.variables if not variable.declared)


def _observed_only(data: Microdata) -> tuple[str, ...]:
    """Name the declared variables each level of which somebody has."""
    return tuple(
        variable.name
        for variable in data.variables
        if variable.declared and level_sizes(data, variable.name).all()
    )


def _rare_levels(data: Microdata) -> dict[str, int]:
    """Count, by variable, the levels that one or two records have."""
    rare = {}
    for name in data.names:
        counts = level_sizes(data, name)
        rare[name] = int(((counts > 0) & (counts < RARE)).sum())
    return {name: number for name, number in rare.items() if number}
