"""Exact expectations: against enumeration of all files, against formulas, against samples.

Tests that simulate have fixed seeds; each allows 4.5 standard errors, so a right program would
have failed with probability below 1e-5 for each figure when the seed was chosen.
"""

from math import comb

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, microdata, surveys

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.bundled import make_ce_like
from understudy.microdata.label_table import (
    LabelTable,
    empirical_labels,
    uniform_labels,
)
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import stream

SIMULATED = 4.5  # standard errors


def random_table(data: Microdata, seed: int) -> LabelTable:
    """Give every combination its own row, with zeros and ones among the probabilities."""
    generator = stream(seed, "table")
    table = generator.dirichlet(np.full(data.n_labels, 0.5), data.n_combinations)
    table[generator.random(data.n_combinations) < 0.2] = np.eye(data.n_labels)[0]
    return LabelTable(table, np.arange(data.n_combinations, dtype=np.int32))


def tiny() -> st.SearchStrategy[Survey]:
    """Draw surveys with few enough files to list them all."""
    return surveys(most_records=4).filter(
        lambda survey: survey.data.n_labels**survey.data.n_records <= 1500
    )


@EXAMPLES
@given(survey=tiny(), seed=st.integers(0, 5))
def test_agrees_with_listing_every_file(survey: Survey, seed: int) -> None:
    data = survey.data
    tables = [empirical_labels(data), uniform_labels(data), random_table(data, seed)]
    known = data.kept[:1]
    values = survey.values(known)
    levels = [data.variable(name).n_levels for name in data.synthesized]
    true = [int(np.ravel_multi_index(label, levels)) for label in survey.true]
    for table in tables:
        rows = table.probabilities[table.row_of_combination[data.of_record]]
        sums = np.zeros(6)
        for chance, labels in naive.all_draws(rows.tolist()):
            matched = naive.match(values, true, labels)
            reachable = sum(c > 0 for c in matched.candidates)
            matches = sum(matched.truth)
            sums += chance * np.array(
                [float(naive.expected_match_risk(matched)), naive.true_matches(matched),
                 naive.unique_matches(matched), matches, matches**2, reachable]
            )  # fmt: skip
        result = us.expected_risk(data, table, known)
        assert np.isclose(result.expected_match_risk, sums[0])
        assert np.isclose(result.true_matches, sums[1])
        assert np.isclose(result.unique_matches, sums[2])
        assert np.isclose(result.attribute_matches, sums[3])
        assert np.isclose(result.attribute_deviation**2, sums[4] - sums[3] ** 2, atol=1e-9)
        assert np.isclose(result.random_linkage * data.n_records, sums[5])
        if result.false_match_ratio is None:
            assert sums[2] == 0
        else:
            assert np.isclose(result.false_match_ratio, 1 - sums[1] / sums[2])


def test_agrees_with_the_formulas_of_the_method() -> None:
    data = us.load_ce_like()
    for known in (["gender"], ["gender", "age"]):
        cells = data.cells(known)
        result = us.expected_risk(data, uniform_labels(data), known)
        assert np.isclose(result.expected_match_risk, (1 - (1 - 1 / 133) ** cells.sizes).sum())
        assert np.isclose(result.attribute_matches, data.n_records / 133)
    patterns = data.patterns
    counts = np.zeros((len(patterns), 133))
    np.add.at(counts, (patterns.of_combination, data.combinations[:, 3]), data.counts)
    n_b, share = patterns.sizes[:, None], counts / patterns.sizes[:, None]
    result = us.expected_risk(data, empirical_labels(data), data.kept)
    assert np.isclose(result.attribute_matches, (counts**2 / n_b).sum())
    assert np.isclose(result.expected_match_risk, (share * (1 - (1 - share) ** n_b)).sum())


def test_agrees_with_the_program_that_made_the_bundled_data() -> None:
    data = us.load_ce_like()
    counts = make_ce_like._draw_counts(make_ce_like.SETTLED, make_ce_like.SETTLED_SEED)
    table = empirical_labels(data)
    for known, cells in (
        (["gender"], make_ce_like.KNOWN_GENDER),
        (["gender", "age"], make_ce_like.KNOWN_GENDER_AGE),
    ):
        level = make_ce_like.match_risk_level(counts, cells)
        assert np.isclose(us.expected_risk(data, table, known).expected_match_risk, level)


@pytest.mark.parametrize("n", [1, 2, 60, 1_000, 200_000])
@pytest.mark.parametrize("q", [1e-7, 0.003, 0.5, 0.999, 1.0])
def test_the_integral_is_exact_in_cells_of_any_size(n: int, q: float) -> None:
    """One cell, one true label: the mean of T/c summed is 1 - (1 - q)^n, to eleven digits."""
    data = microdata({"sex": [0] * n}, {"town": [0] * n}, {"sex": 1, "town": 2})
    table = LabelTable(np.array([[q, 1 - q]]), np.zeros(data.n_combinations, dtype=np.int32))
    result = us.expected_risk(data, table, "sex")
    nobody = (1 - q) ** n if q < 1 else 0.0
    somebody = -np.expm1(n * np.log1p(-q)) if q < 1 else 1.0
    assert np.isclose(result.expected_match_risk, somebody, rtol=1e-11)
    assert np.isclose(result.random_linkage, 1 - nobody)
    alone = n * q * (1 - q) ** (n - 1)
    assert np.isclose(result.unique_matches, n * alone)
    assert np.isclose(result.true_matches, alone)


def test_two_kinds_of_records_in_one_cell() -> None:
    """E[1/(1+X)] with X a sum of two binomials, from their probabilities one by one."""
    kept = {"sex": [0] * 70, "age": [0] * 40 + [1] * 30}
    data = microdata(kept, {"town": [0] * 70}, {"sex": 1, "age": 2, "town": 2})
    first, second = 0.3, 0.8
    table = LabelTable(
        np.array([[first, 1 - first], [second, 1 - second]]), data.patterns.of_combination
    )

    def binomial(n: int, q: float) -> list[float]:
        return [comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(n + 1)]

    def risk(n: int, other: int, q: float) -> float:
        return q * sum(
            a * b / (1 + i + j)
            for i, a in enumerate(binomial(n, first))
            for j, b in enumerate(binomial(other, second))
        )

    exact = 40 * risk(39, 30, first) + 30 * risk(40, 29, second)
    assert np.isclose(us.expected_risk(data, table, "sex").expected_match_risk, exact, rtol=1e-12)


def test_samples_agree_with_the_exact_values() -> None:
    data = us.load_ce_like()
    own = empirical_labels(data)
    rows = own.probabilities[own.row_of_combination]  # (combination, label)
    every = np.arange(data.n_combinations, dtype=np.int32)
    table = LabelTable((rows + random_table(data, 2).probabilities) / 2, every)
    codes = np.stack([table.draw(stream(11, "sample", index), data) for index in range(200)])
    sets = SyntheticSets(data, codes[:, :, None])
    exact = us.expected_risk(data, table, ["gender", "age"])
    result = us.identification_risk(data, sets, ["gender", "age"])
    for name in ("expected_match_risk", "true_match_rate", "unique_matches"):
        spread = result.spreads[name]
        assert spread.mean is not None
        assert spread.standard_error is not None
        assert abs(spread.mean - getattr(exact, name)) <= SIMULATED * spread.standard_error
    columns = (result.per_set[name].to_numpy().sum() for name in ("true_matches", "unique_matches"))
    true, unique = columns
    matches = true / unique
    assert exact.false_match_ratio is not None
    assert abs(1 - matches - exact.false_match_ratio) < 0.002
    attribute = us.attribute_risk(data, sets)
    error = exact.attribute_deviation / 200**0.5
    assert abs(attribute.matches - exact.attribute_matches) <= SIMULATED * error


def test_posterior_risk_is_the_expected_risk_of_every_draw() -> None:
    data = us.load_ce_like()
    tables = [random_table(data, seed) for seed in range(5)]
    result = us.posterior_risk(data, tables, "gender")
    risks = [us.expected_risk(data, table, "gender").expected_match_risk for table in tables]
    assert result.draws["expected_match_risk"].to_list() == risks
    assert np.isclose(result.spreads["expected_match_risk"].mean or 0.0, np.mean(risks))
    low, high = result.interval("expected_match_risk", 0.5) or (0.0, 0.0)
    assert min(risks) < low < high < max(risks)
    assert "5 posterior draws" in str(result)
    with pytest.raises(SettingError, match="expected_match_risk"):
        result.interval("nothing")
    with pytest.raises(SettingError, match="probability"):
        result.interval("expected_match_risk", 1.5)
    with pytest.raises(InputError, match="posterior draw"):
        us.posterior_risk(data, [], "gender")


def test_a_table_of_other_data_is_refused() -> None:
    data = us.load_ce_like()
    wrong = LabelTable(np.full((1, 2), 0.5), np.zeros(3, dtype=np.int32))
    with pytest.raises(InputError, match="133 labels"):
        us.expected_risk(data, wrong, "gender")


def test_no_unique_match_is_undefined() -> None:
    data = microdata({"sex": [0, 0]}, {"town": [0, 0]}, {"sex": 1, "town": 2})
    table = LabelTable(np.array([[1.0, 0.0]]), np.zeros(1, dtype=np.int32))
    result = us.expected_risk(data, table, "sex")
    assert result.false_match_ratio is None
    assert "undefined" in str(result)
    posterior = us.posterior_risk(data, [table], "sex")
    assert posterior.interval("false_match_ratio") is None
    assert "undefined" in str(posterior)
