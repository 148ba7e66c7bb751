"""What convergence is judged on: sums of what is released, and limits that allow for numbers."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.synthesis.conftest import quiet_fit, small_data

import understudy as us
from understudy.microdata.label_table import LabelTable, empirical_labels
from understudy.randomness import stream
from understudy.risk.closed_form import expected_risk
from understudy.synthesis import monitored_sums
from understudy.synthesis.diagnostics import ConvergenceTargets, diagnose, meets, rhat_limit
from understudy.synthesis.monitored_sums import (
    KnownCells,
    ReleasedSums,
    known_cells,
    released_sums,
)
from understudy.synthesis.registry import TABLE_BYTES
from understudy.synthesis.run_fit import MOST_CELLS, FitOptions
from understudy.synthesis.sampled_fit import SampledFit

TARGETS = ConvergenceTargets()


def correlated(
    generator: np.random.Generator, shape: tuple[int, int, int], correlation: float
) -> NDArray[np.float32]:
    """Draw stationary autoregressive chains: (chain, draw, quantity)."""
    values = generator.normal(size=shape)
    for draw in range(1, shape[1]):
        values[:, draw] *= np.sqrt(1 - correlation**2)
        values[:, draw] += correlation * values[:, draw - 1]
    return values.astype(np.float32)


def judged(tables: NDArray[np.float32]) -> bool:
    return meets(diagnose(TARGETS, {}, {"label_probability": tables}, threads=2))


@pytest.mark.parametrize(
    ("shape", "correlation"),
    [((4, 100, 300), 0.0), ((4, 500, 300), 2 / 3), ((2, 200, 300), 0.0)],
    ids=["independent", "correlated", "two chains"],
)
def test_chains_that_have_met_do_not_fail_because_there_are_many(
    shape: tuple[int, int, int], correlation: float
) -> None:
    """Draws that are worth the target of 400 and no more, 300 quantities, 30 seeds.

    The rule errs in at most one in 200 fits: two or more of 30 are an alarm once in 100 runs at
    the most. R-hat below 1.01 in every one of them, which they all fail, would be no rule.
    """
    failed = strict = 0
    for number in range(30):
        tables = correlated(stream(5, "met", number), shape, correlation)
        table = diagnose(TARGETS, {}, {"label_probability": tables}, threads=2)
        failed += not meets(table)
        strict += bool((table["rhat"] >= TARGETS.rhat).any())
    assert failed < 2
    assert strict == 30


def test_one_quantity_of_thousands_that_is_apart_fails() -> None:
    """One chain a standard deviation away, in one of 5,320: found in each of ten.

    A miss has a probability below 0.01 in each: R-hat is about 1.09, give or take 0.008, and the
    limit 1.06.
    """
    for number in range(10):
        tables = correlated(stream(6, "apart", number), (4, 1000, 1), 0.0)
        many = np.repeat(tables[:, :, :1] * 0, 5319, axis=2)
        tables[0] += 1.0
        assert not judged(np.concatenate([tables, many], axis=2))


def test_chains_in_two_modes_fail_in_many_quantities() -> None:
    tables = correlated(stream(7, "modes"), (4, 400, 500), 0.5)
    assert judged(tables)
    tables[:2, :, ::10] += 2.0
    table = diagnose(TARGETS, {}, {"label_probability": tables})
    assert int((~table["converged"]).sum()) == 50


def test_small_shifts_that_all_quantities_share_are_found_by_their_sum() -> None:
    """A tenth of a standard deviation in each of 500: none fails, and their sum does."""
    tables = correlated(stream(8, "shift"), (4, 1000, 500), 0.0)
    tables[0] += 0.1
    assert judged(tables)
    sums = {"sum": tables.sum(axis=2, dtype=np.float64)}
    table = diagnose(TARGETS, sums, {"label_probability": tables})
    assert not meets(table)
    assert table["converged"].to_list() == [False] + [True] * 500


def test_the_limit_grows_slowly_with_the_number_and_falls_with_the_draws() -> None:
    limits = [rhat_limit(number, 4, 400.0) for number in (1, 100, 10_000, 1_000_000)]
    assert limits == sorted(limits)
    assert limits[-1] < 1.1
    assert rhat_limit(5320, 4, 400.0) == pytest.approx(1.0614, abs=1e-4)
    assert rhat_limit(5320, 4, 4000.0) < 1.01
    assert TARGETS.for_each_of(5320, 4).ess == 50
    assert ConvergenceTargets(rhat=1.2).for_each_of(10, 4).rhat == 1.2


def test_what_is_shown_is_not_judged() -> None:
    met = correlated(stream(9, "shown"), (4, 1000, 1), 0.0)
    stuck = np.repeat(np.arange(4.0)[:, None], 1000, axis=1)  # (chain, draw)
    table = diagnose(TARGETS, {"sum": met[:, :, 0].astype(np.float64)}, {}, {"classes": stuck})
    assert meets(table)
    assert table["converged"].to_list() == [True, False]
    assert table["judged"].to_list() == [True, False]


def naive_sums(data: us.Microdata, table: LabelTable) -> dict[str, float]:
    """Add everything up record by record."""
    measured = dict.fromkeys(("expected_matches", "log_score", "repeat_probability"), 0.0)
    columns = [data.names.index(name) for name in data.synthesized]
    sizes = [data.variable(name).n_levels for name in data.synthesized]
    deviation: dict[tuple[int, int], float] = {}
    for combination in data.of_record:
        row = table.probabilities[table.row_of_combination[combination]]
        codes = data.combinations[combination, columns]
        label = 0
        for code, size in zip(codes, sizes, strict=True):
            label = label * size + int(code)
        measured["expected_matches"] += row[label]
        measured["log_score"] += np.log(row[label])
        measured["repeat_probability"] += (row**2).sum()
        whole = row.reshape(sizes)
        for variable, code in enumerate(codes):
            axes = tuple(other for other in range(len(sizes)) if other != variable)
            for level, share in enumerate(whole.sum(axis=axes)):
                key = variable, level
                deviation[key] = deviation.get(key, 0.0) + share - (level == code)
    return {**measured, "margin_deviation": sum(map(abs, deviation.values()))}


@pytest.mark.parametrize(
    "names", [("county",), ("county", "age"), ("gender", "age", "county", "region")]
)
@pytest.mark.parametrize("class_draw", ["kept", "full", "prior"])
def test_sums_are_those_of_all_records(names: tuple[str, ...], class_draw: Any) -> None:
    data = small_data(names)
    fit = quiet_fit(us.DPMPM(class_draw=class_draw), data, seed=1, draws=8)
    tables = list(fit.label_tables())
    for name, values in naive_sums(data, tables[9]).items():
        assert fit.chain_draws.sums[name][1, 1] == pytest.approx(values, rel=1e-9), name
    margins = fit.chain_draws.margins  # (chain, draw, level)
    assert margins.shape == (2, 8, sum(data.variable(name).n_levels for name in names))
    assert margins.sum(axis=2) == pytest.approx(len(names) * data.n_records, rel=1e-5)


def test_expected_risk_of_a_draw_is_that_of_its_table() -> None:
    """The closed forms of the risk folder, where a pattern draws alike."""
    data = small_data()
    fit = quiet_fit(us.DPMPM(), data, seed=1, draws=8)
    table = list(fit.label_tables())[3]
    risk = expected_risk(data, table, known=list(data.kept))
    sums = fit.chain_draws.sums
    assert sums["expected_matches"][0, 3] == pytest.approx(risk.attribute_matches)
    assert sums["expected_match_risk"][0, 3] == pytest.approx(risk.expected_match_risk)


@pytest.mark.parametrize("class_draw", ["kept", "full", "prior"])
def test_each_intruders_match_risk_is_judged(class_draw: Any) -> None:
    """Worked out record by record, with the average probability of those who look alike."""
    data = small_data()
    known = list(data.kept)[:1]
    fit = quiet_fit(us.DPMPM(class_draw=class_draw), data, seed=1, draws=8)
    table = list(fit.label_tables())[5]
    cell, label = data.codes(known[0]), data.codes(data.synthesized[0])  # (record,)
    rows = table.probabilities[table.row_of_combination[data.of_record]]  # (record, label)
    risk = 0.0
    for record in range(data.n_records):
        alike = rows[cell == cell[record], label[record]]
        mean = alike.mean()
        risk += rows[record, label[record]] * (1 - (1 - mean) ** alike.size) / alike.sum()
    assert known_cells(data, known).match_risk(table) == pytest.approx(risk, rel=1e-9)
    listed = fit.diagnostics(known=[known, data.kept])
    new = listed.filter(~pl.col("quantity").is_in(fit.diagnostics()["quantity"].to_list()))
    assert new["quantity"].to_list() == [f"expected_match_risk ({known[0]} known)"]
    assert new["judged"].all()
    assert new["rhat"].null_count() == 0
    sums = len(fit.chain_draws.sums)  # the new one stands behind them
    assert listed["quantity"][sums] == new["quantity"][0]
    assert listed.filter(~pl.col("quantity").is_in(new["quantity"].to_list())).equals(
        fit.diagnostics()
    )


def test_tables_are_summed_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of any size give the same bits, and little lies in memory beside the table."""
    n_rows, n_labels = 300, 200
    generator = stream(7, "blocks of a table")
    rows = np.arange(n_rows, dtype=np.int32)  # of every combination, which has a pattern of its own
    counts, labels = generator.integers(1, 5, n_rows), generator.integers(0, n_labels, n_rows)
    table = LabelTable(generator.dirichlet(np.ones(n_labels), n_rows), rows)
    cells = np.repeat(np.arange(n_rows // 10), 10)
    known = KnownCells(counts, labels, cells, np.bincount(cells, counts).astype(np.int64))
    sums = ReleasedSums(counts, labels, rows, counts, np.arange(n_labels)[:, None],
                        np.zeros(n_labels))  # fmt: skip
    whole = known.match_risk(table), sums.of(table).sums
    for block in (1, 1 << 10, 7_000):
        monkeypatch.setattr(monitored_sums, "BLOCK", block)
        tracemalloc.start()
        cut = known.match_risk(table), sums.of(table).sums
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert cut == whole
        assert peak < table.probabilities.nbytes / 2


def test_the_one_who_knows_all_is_judged_without_judging_everything_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = small_data()
    fit = quiet_fit(us.DPMPM(), data, seed=1, draws=8)
    table = fit.diagnostics()
    monkeypatch.setattr(SampledFit, "_diagnose", lambda *_: pytest.fail("judged again"))
    assert fit.diagnostics(known=[data.kept]).equals(table)


def test_a_few_draws_of_a_large_table_keep_no_more_cells_than_can_be_judged() -> None:
    """Millions would fit into the memory for them, and each is judged."""
    few = FitOptions(2, 0, 4, 1, None, 1, None, None, None)
    assert few.most_cells == MOST_CELLS < TABLE_BYTES // (4 * 2 * 4)
    many = FitOptions(4, 0, 3000, 1, None, 1, None, None, None)
    assert many.most_cells == TABLE_BYTES // (4 * 4 * 3000)


def test_certain_and_impossible_labels_have_finite_sums() -> None:
    data = small_data()
    sums = released_sums(data, len(data.patterns))
    assert sums is not None
    perfect = sums.of(empirical_labels(data))
    assert all(np.isfinite(value) for value in perfect.sums.values())
    assert perfect.sums["margin_deviation"] == pytest.approx(0.0, abs=1e-9)
    certain = np.zeros((1, data.n_labels))
    certain[0, 0] = 1.0
    table = LabelTable(certain, np.zeros(data.n_combinations, dtype=np.int32))
    assert all(np.isfinite(value) for value in sums.of(table).sums.values())


@pytest.mark.parametrize("class_draw", ["full", "prior"])
def test_label_probabilities_are_those_that_sets_are_drawn_from(class_draw: Any) -> None:
    """Averages over the records of a pattern; and another run than with classes given the kept."""
    data = small_data()
    fit = quiet_fit(us.DPMPM(class_draw=class_draw), data, seed=1, draws=8)
    kept = np.asarray(fit.draws["posterior"]["label_probability"])[1, 2]  # (pattern, label)
    table = list(fit.label_tables())[8 + 2]
    average = np.zeros_like(kept, dtype=np.float64)
    for combination, count in enumerate(data.counts):
        row = table.probabilities[table.row_of_combination[combination]]
        average[data.patterns.of_combination[combination]] += count * row
    assert kept == pytest.approx(average / data.patterns.sizes[:, None], abs=1e-6)
    predictive = list(fit.predictive_tables())[8 + 2]
    assert np.abs(kept - predictive).max() > 0.01


def test_tables_too_large_to_sum_leave_the_label_probabilities(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("understudy.synthesis.monitored_sums.MOST_PROBABILITIES", 10)
    fit = quiet_fit(us.DPMPM(), small_data(), seed=1, draws=8)
    assert fit.chain_draws.sums == {}
    table = fit.diagnostics()
    assert table.filter("judged")["quantity"].str.starts_with("label_probability").all()
    assert fit.autocorrelation_time > 0
