"""Population risk against sums over the negative binomial distribution, and against a population.

The second test draws samples of a known population; its false-alarm rate is below 1 in 1,000.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats
from tests import findings_factory as making

import understudy as us
from understudy.errors import DataWarning
from understudy.findings.data import data_findings
from understudy.findings.risk import intruder_findings
from understudy.pages.blocks import all_tables, name_cell
from understudy.pages.sections.risk_section import identification_section
from understudy.randomness import stream
from understudy.risk.population import individual_risk


@pytest.mark.parametrize("records", [1, 2, 3, 7, 20, 21, 40, 400])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.95, 1.0])
def test_individual_risk_is_the_mean_of_one_over_the_people(records: int, share: float) -> None:
    own = individual_risk(np.array([records]), np.array([records / share]))[0]
    if share == 1.0:
        assert own == pytest.approx(1 / records)
        return
    others = np.arange(200_000)
    chances = stats.nbinom.pmf(others, records, share)
    assert own == pytest.approx(float(np.sum(chances / (records + others))), rel=1e-6)
    if records == 1:
        assert own == pytest.approx(-share * np.log(share) / (1 - share))


@pytest.mark.parametrize("records", [19, 20, 21, 100, 400, 1_000_000])
def test_individual_risk_of_large_patterns_is_finite(records: int) -> None:
    """Few of their people are in the sample: 1/F is nearly 1/(F - 1) on average, p / (f - 1)."""
    for people in (400.0 * records, 1e5 * records):
        own = individual_risk(np.array([records]), np.array([people]))[0]
        assert own == pytest.approx(records / people / (records - 1), rel=5e-3)


def test_weights_below_one_mean_that_everybody_is_in_the_sample() -> None:
    assert individual_risk(np.array([2]), np.array([1.0]))[0] == pytest.approx(0.5)


def test_sums_by_hand() -> None:
    table = pl.DataFrame(
        {"sex": ["f", "m", "x", "x"], "town": ["a", "b", "a", "b"], "w": [4.0, 2.0, 5.0, 5.0]}
    )
    with pytest.warns(DataWarning):
        data = us.read_microdata(table, "town", weight="w")
    risk = us.population_risk(data)
    assert (risk.sample_uniques, risk.population) == (2, 16.0)
    assert risk.population_uniques == pytest.approx(1 / 4 + 1 / 2)
    alone = [-p * np.log(p) / (1 - p) for p in (1 / 4, 1 / 2)]
    pair = 2 * individual_risk(np.array([2]), np.array([10.0]))[0]
    assert risk.expected_matches == pytest.approx(sum(alone) + pair)
    assert "alone in the population" in repr(risk)
    assert us.population_risk(data, known="sex").known == ("sex",)


def test_uniques_of_a_known_population() -> None:
    """The model's own population: sizes of patterns are geometric. 20 samples of one in eight."""
    generator = stream(11, "a population")
    sizes = generator.geometric(0.2, 3000)  # (pattern,) people
    share, expected, true = 1 / 8, 0.0, 0
    for _ in range(20):
        sampled = generator.binomial(sizes, share)
        alone = sampled == 1
        expected += alone.sum() * share
        true += int((sizes[alone] == 1).sum())
    # In such a population the chance that a sample unique is alone differs from the model's flat
    # prior: E[1 | f = 1] is (1 - q (1 - share))^2 with q = 0.8, here 0.09 beside 0.125.
    exact = (1 - 0.8 * (1 - share)) ** 2
    n_alone = expected / share
    assert true == pytest.approx(n_alone * exact, abs=5 * np.sqrt(n_alone * exact))
    assert expected > true


def test_findings_and_report_have_it_by_intruder() -> None:
    """One who knows less finds fewer people: each has a row."""
    generator = stream(3, "by intruder")
    table = pl.DataFrame(
        {name: [str(code) for code in generator.integers(0, 9, 80)] for name in ("a", "b", "town")}
        | {"w": generator.gamma(3.0, 5.0, 80)}
    )
    with pytest.warns(DataWarning):
        data = us.read_microdata(table, "town", weight="w")
    known = [
        intruder_findings(data, names, repeats=2, sets=2, seed=1) for names in (["a"], ["a", "b"])
    ]
    for findings in known:
        assert findings.population is not None
        risk = us.population_risk(data, findings.known)
        assert findings.population.expected_matches == risk.expected_matches
    described = data_findings(data, codebook_declared=True, codebook_reviewed=True)
    assert described.population == known[1].population
    assert known[0].population != known[1].population
    whole = making.findings()
    section = identification_section(
        whole.model_copy(update={"data": described, "intruders": tuple(known), "synthesizers": ()})
    )
    (listed,) = (table for table in all_tables(section.blocks) if "found" in table.header)
    assert [row[0] for row in listed.rows] == [name_cell("a, b"), name_cell("a")]
