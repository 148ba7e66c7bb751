"""Figures of the sets of single chains: the analysis of variance, and where the page shows it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import f_oneway, kstest

from understudy.findings.by_chain import by_chain
from understudy.findings.schema import Findings, SpreadFindings
from understudy.pages.blocks import Table, all_tables
from understudy.pages.sections.convergence import convergence_section
from understudy.randomness import stream

CHAINS = [0, 1, 2, 3] * 5


def test_the_chance_is_that_of_an_analysis_of_variance() -> None:
    """Against SciPy, with groups of unequal size."""
    generator = stream(1, "sets")
    for size in (9, 14, 20):
        values = generator.normal(3.0, 0.5, size).tolist()
        analysis = by_chain(values, CHAINS[:size])
        assert analysis is not None
        groups = [values[chain:size:4] for chain in range(4)]
        assert analysis.chance == pytest.approx(f_oneway(*groups).pvalue, rel=1e-10)
        assert analysis.means == pytest.approx([np.mean(group) for group in groups])
        assert analysis.gap == pytest.approx(np.ptp([np.mean(group) for group in groups]))
        around = [value - np.mean(group) for group in groups for value in group]
        assert analysis.spread == pytest.approx(np.sqrt(np.square(around).sum() / (size - 4)))
        assert analysis.gap_in_spreads == pytest.approx(analysis.gap / analysis.spread)


def test_chances_are_uniform_where_chains_are_alike() -> None:
    """2,000 times, false-alarm rate 1e-4."""
    generator = stream(2, "alike")
    analyses = [by_chain(generator.normal(size=20).tolist(), CHAINS) for _ in range(2000)]
    assert (
        kstest([analysis.chance for analysis in analyses if analysis is not None], "uniform").pvalue
        > 1e-4
    )


def test_sets_that_are_all_the_same_differ_in_nothing_or_in_everything() -> None:
    same, apart = by_chain([0.1] * 20, CHAINS), by_chain([0.1, 0.1, 0.1, 0.7] * 5, CHAINS)
    assert same is not None
    assert (same.chance, same.gap_in_spreads) == (1.0, 0.0)
    assert apart is not None
    assert (apart.chance, apart.gap_in_spreads) == (0.0, np.inf)


@pytest.mark.parametrize(
    ("values", "chains"),
    [([1.0, 2.0, None, 3.0], [0, 1, 0, 1]), ([1.0, 2.0], [0, 0]), ([1.0, 2.0], [0, 1]), ([], [])],
)
def test_where_there_is_nothing_to_compare(values: list[float | None], chains: list[int]) -> None:
    """An undefined value, one chain, one set a chain, no chains at all."""
    assert by_chain(values, chains) is None


def tables_by_chain(findings: Findings) -> list[Table]:
    return [
        table
        for table in all_tables(convergence_section(findings).blocks)
        if table.caption.startswith("Values on the sets of each chain")
    ]


def test_the_page_shows_every_measure_by_chain(study: Findings) -> None:
    (table,) = tables_by_chain(study)  # perfect sets come from no chain
    assert table.header[1:] == ["Chain 1", "Chain 2", "Standard deviation of a set", "Probability"]
    words = [row[0].text for row in table.cells]
    assert words[0] == "deviation of tables of 1 variable"
    assert "expected match risk, gender, age known" in words
    assert words[-1] == "labels that are true"


def test_chains_that_measure_differently_are_marked(study: Findings) -> None:
    synthesizer = study.synthesizers[0]
    assert synthesizer.risk.attribute is not None
    far = SpreadFindings(
        mean=50.0, minimum=1.0, maximum=99.0, standard_error=None, values=(1.0, 98.0, 1.2, 99.0)
    )
    risk = synthesizer.risk.model_copy(
        update={"attribute": synthesizer.risk.attribute.model_copy(update={"matches": far})}
    )
    changed = synthesizer.model_copy(update={"risk": risk})
    (table,) = tables_by_chain(study.model_copy(update={"synthesizers": (changed,)}))
    assert table.cells[-1][-1].text == "below 0.001 *"
    assert not any("*" in row[-1].text for row in table.cells[:-1])
