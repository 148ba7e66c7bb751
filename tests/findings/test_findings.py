"""Findings agree with the results they are made from, and stay small."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests import findings_factory as making
from tests.bad_inputs.cases import covers
from tests.findings_factory import INTRUDERS, SETS

import understudy as us
from understudy.errors import DataWarning
from understudy.findings import chains as chain_records
from understudy.findings import data as data_records
from understudy.findings import utility as utility_records
from understudy.findings.chains import convergence_findings
from understudy.findings.data import data_findings
from understudy.findings.risk import risk_findings
from understudy.findings.schema import LARGEST_RHAT, Findings
from understudy.findings.utility import Analysis, utility_findings
from understudy.randomness import stream
from understudy.verdict.verdict import judge


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    return us.load_ce_like()


@pytest.fixture(scope="module")
def sets(data: us.Microdata) -> us.SyntheticSets:
    return us.Perfect().fit(data).synthesize(SETS, seed=3)


def test_findings_go_through_json_unchanged(study: Findings) -> None:
    assert Findings.model_validate_json(study.model_dump_json()) == study
    assert len(study.model_dump_json()) < 1_000_000


def test_data(data: us.Microdata, study: Findings) -> None:
    findings = study.data
    assert (
        findings.n_records
        == data.n_records
        == sum(pattern.records for pattern in findings.patterns)
    )
    assert findings.n_patterns == len(findings.patterns) == 40
    assert findings.patterns[0].levels == ("1", "Q1", "<20")
    assert findings.pattern_sizes[3] == sum(pattern.records == 3 for pattern in findings.patterns)
    assert findings.largest_pattern == max(pattern.records for pattern in findings.patterns)
    assert [variable.role for variable in findings.variables] == [
        "kept",
        "kept",
        "kept",
        "synthesized",
    ]


def test_levels(data: us.Microdata, study: Findings) -> None:
    again = us.inherent_risk(data, INTRUDERS[0], repeats=12, seed=4, sets=SETS)
    intruder = study.intruders[0]
    assert intruder.known == INTRUDERS[0]
    assert intruder.minimum.exact["attribute_matches"] == pytest.approx(data.n_records / 133)
    assert intruder.maximum.samples["attribute_matches"].values == tuple(
        again.maximum.samples["attribute_matches"].to_list()
    )
    assert intruder.maximum.joint["expected_match_risk"].mean == pytest.approx(
        again.maximum.joint_spreads["expected_match_risk"].mean
    )
    undefined = intruder.minimum.samples["false_match_rate"]
    assert undefined.mean is None
    assert set(undefined.values) == {None}


def test_risk(data: us.Microdata, sets: us.SyntheticSets, study: Findings) -> None:
    risk = study.synthesizers[1].risk
    live = us.identification_risk(data, sets, INTRUDERS[1])
    own = risk.identification[1]
    assert own.measures["expected_match_risk"].mean == pytest.approx(live.expected_match_risk)
    assert own.joint["expected_match_risk"] == live.joint.expected_match_risk
    worst = own.records[0]
    assert worst.match_probability == live.per_record().max()
    assert live.per_record()[worst.row - 1] == worst.match_probability
    by_pattern = live.per_pattern().sort("expected_match_risk", descending=True)
    assert [pattern.records for pattern in own.patterns[:3]] == by_pattern["records"].to_list()[:3]
    assert own.patterns[0].levels == tuple(
        str(by_pattern[name][0]) for name in ("gender", "income", "age")
    )
    assert 0 < (own.share_of_top_percent or 0.0) <= 1
    assert "aligned" in own.alignment
    attribute = us.attribute_risk(data, sets)
    assert risk.attribute is not None
    assert risk.attribute.matches.mean == pytest.approx(attribute.matches)
    assert risk.attribute.joint_matches == attribute.joint.matches
    ranking = us.risk_lattice(data, sets).ranking
    assert risk.by_knowledge == dict(
        zip(ranking["known"], ranking["expected_match_risk"], strict=True)
    )


def test_tables(data: us.Microdata, sets: us.SyntheticSets, study: Findings) -> None:
    tables = study.synthesizers[1].utility.tables
    live = us.table_utility(data, sets, seed=5)
    assert tables.orders == (1, 2, 3)
    assert [spread.mean for spread in tables.deviation] == list(live.deviation.values())
    assert tables.noise_floor == tuple(live.noise_floor.values())
    assert tables.truth_floor == tuple(live.truth_floor.values())
    assert all(1.3 < truth / own < 1.5 for own, truth in
               zip(tables.noise_floor, tables.truth_floor, strict=True))  # fmt: skip
    for index, order in enumerate(tables.orders):
        values = live.signed.filter(pl.col("order") == order)["deviation"].to_numpy()
        histogram = tables.signed[index]
        counts, _ = np.histogram(values, histogram.edges)
        assert histogram.counts == tuple(counts.tolist())
        assert sum(histogram.counts) == values.size
    assert all(low > high for low, high in zip(tables.minimum, tables.noise_floor, strict=True))
    # These sets are Perfect's: they vary half as much, in squares, as if the truth were known.
    assert tables.propensity_ratio == pytest.approx(0.5, abs=0.1)


def test_regression(study: Findings) -> None:
    regression = study.synthesizers[1].utility.regressions[0]
    assert regression.train == 5000
    assert regression.n_coefficients == len(regression.coefficients) == 137
    original, synthetic = regression.predictions_original, regression.predictions_synthetic
    assert original is not None
    assert synthetic is not None
    assert original.edges == synthetic.edges
    assert sum(original.counts) <= 1208
    assert sum(synthetic.counts) <= 1208 * SETS
    assert regression.n_failed == sum(
        coefficient.note is not None for coefficient in regression.coefficients
    )


def test_within_patterns(data: us.Microdata, sets: us.SyntheticSets, study: Findings) -> None:
    within = study.synthesizers[1].utility.within
    live = us.within_pattern_utility(data, sets, seed=5)
    assert within.distance == tuple(live.distance.tolist())
    assert within.mean_distance == pytest.approx(
        np.average(live.distance, weights=data.patterns.sizes)
    )
    frame = live.distributions.filter((pl.col("pattern") == 7) & (pl.col("source") == "original"))
    shares = within.shares[7]
    assert shares is not None
    levels = data.variable("county").levels
    listed = {
        levels[label]: share
        for label, share in zip(shares.labels, shares.original, strict=True)
        if share
    }
    assert listed == pytest.approx(
        {str(row["county"]): row["share"] for row in frame.iter_rows(named=True)}, abs=1e-5
    )
    assert all(
        low <= mean <= high
        for low, mean, high in zip(shares.lowest, shares.synthetic, shares.highest, strict=True)
    )


def test_many_patterns_and_labels_stay_small(
    data: us.Microdata, sets: us.SyntheticSets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_records, "MOST_PATTERNS", 12)
    monkeypatch.setattr(utility_records, "LARGEST_PANELS", 3)
    monkeypatch.setattr(utility_records, "FARTHEST_PANELS", 2)
    monkeypatch.setattr(utility_records, "MOST_LABELS", 10)
    monkeypatch.setattr(utility_records, "MOST_PROPENSITY_CELLS", 10)
    monkeypatch.setattr(utility_records, "MOST_VALUES", 9)
    monkeypatch.setattr(utility_records, "MOST_COEFFICIENTS", 5)
    findings = data_findings(data, codebook_declared=False, codebook_reviewed=False)
    assert len(findings.patterns) == len(findings.pattern_numbers) == 12
    assert findings.n_patterns == 40
    assert min(pattern.records for pattern in findings.patterns) >= 225
    assert findings.pattern_sizes[3] == 3  # the smallest are still counted
    analysis = Analysis("income ~ county", "linear", None)
    utility = utility_findings(data, sets, analyses=[analysis], rule="partial", seed=1, repeats=2)
    assert len(utility.within.distance) == 12
    panels = [share for share in utility.within.shares if share is not None]
    assert 3 <= len(panels) <= 5
    assert all(len(panel.labels) == 10 and panel.n_others > 0 for panel in panels)
    assert utility.tables.propensity_ratio is None
    assert all(len(histogram.counts) <= 9 for histogram in utility.tables.signed)
    regression = utility.regressions[0]
    assert (len(regression.coefficients), regression.n_coefficients) == (5, 132)
    assert regression.predictions_original is None


def test_fully_synthetic_sets_have_no_matches(data: us.Microdata, sets: us.SyntheticSets) -> None:
    whole = us.SyntheticSets(data, sets.codes, fully_synthetic=True)
    risk = risk_findings(data, whole, INTRUDERS, by_knowledge=True)
    assert risk.identification == ()
    assert risk.attribute is None


def test_no_match_at_all_has_no_share() -> None:
    frame = pl.DataFrame({"sex": ["f", "m"] * 20, "town": ["a", "b"] * 20})
    small = us.read_microdata(frame, synthesize="town")
    turned = us.SyntheticSets(small, 1 - small.codes("town")[None, :, None])
    with pytest.warns(UserWarning, match="random"):
        risk = risk_findings(small, turned, [["sex"]], by_knowledge=False)
    own = risk.identification[0]
    assert own.share_of_top_percent is None
    assert own.records == ()
    assert risk.by_knowledge == {}


def diagnostics(*rows: tuple[str, float | None, float | None, bool]) -> pl.DataFrame:
    return pl.DataFrame(
        [(name, rhat, ess, ess, fine) for name, rhat, ess, fine in rows],
        schema=["quantity", "rhat", "ess_bulk", "ess_tail", "converged"],
        orient="row",
        infer_schema_length=None,
    )


def test_chains() -> None:
    generator = np.random.default_rng(1)
    values = generator.normal(size=(2, 600))
    convergence = convergence_findings(
        diagnostics=diagnostics(
            ("alpha", 1.002, 500.0, True),
            ("label_probability[3]", 1.02, 300.0, False),
            ("label_probability[4]", float("inf"), 1.0, False),
            ("label_probability[5]", None, None, True),
        ),
        scalars={"alpha": values},
        converged=False,
        warmup=10,
        thin=2,
        autocorrelation_time=float("inf"),
        spacing=float("inf"),
        rhat_target=1.01,
        ess_target=400.0,
    )
    assert (
        convergence.chains,
        convergence.draws,
        convergence.n_cells,
        convergence.n_cells_failed,
    ) == (2, 600, 3, 2)
    assert [quantity.quantity for quantity in convergence.quantities] == [
        "alpha",
        "label probability, worst of 3",
    ]
    assert convergence.quantities[1].rhat == convergence.worst_rhat == LARGEST_RHAT
    assert convergence.least_ess == 1.0
    assert (convergence.n_judged, convergence.n_failed) == (4, 2)
    assert convergence.spacing is None
    assert convergence.autocorrelation_time is None
    assert convergence.cell_rhats is not None
    assert sum(convergence.cell_rhats.counts) == 2
    (trace,) = convergence.traces
    assert len(trace.draws) == chain_records.MOST_POINTS
    assert (trace.draws[0], trace.draws[-1]) == (1, 600)
    ranks = np.array(trace.ranks)
    assert ranks.shape == (2, chain_records.RANK_BINS)
    assert ranks.sum(axis=1) == pytest.approx([600, 600], abs=0.05)
    assert ranks.sum(axis=0) == pytest.approx(np.full(20, 60), abs=0.01)


def test_the_worst_label_probability_is_one_that_misses_a_target() -> None:
    """A larger R-hat that is within its target is no worse than too few effective draws."""
    convergence = convergence_findings(
        diagnostics=diagnostics(
            ("label_probability[1]", 1.009, 900.0, True),
            ("label_probability[2]", 1.004, 380.0, False),
            ("label_probability[3]", 1.003, 350.0, False),
        ),
        scalars={"classes": np.arange(200.0).reshape(2, 100)},
        converged=False,
        warmup=0,
        thin=1,
        autocorrelation_time=1.0,
        spacing=5.0,
        rhat_target=1.01,
        ess_target=400.0,
    )
    (worst,) = convergence.quantities
    assert (worst.converged, worst.ess_bulk) == (False, 350.0)
    synthesizer = making.synthesizer(convergence=convergence)
    reasons = judge(making.findings([synthesizer])).reasons
    told = next(reason for reason in reasons if "have not converged" in reason.words)
    assert "2 of 3 quantities that reach the files miss a target" in told.words


def test_ties_are_spread_over_their_ranks() -> None:
    convergence = convergence_findings(
        diagnostics=diagnostics(),
        scalars={"classes": np.full((2, 100), 5.0)},
        converged=True,
        warmup=0,
        thin=1,
        autocorrelation_time=1.0,
        spacing=5.0,
        rhat_target=1.01,
        ess_target=400.0,
    )
    assert np.array(convergence.traces[0].ranks) == pytest.approx(np.full((2, 20), 5.0))
    assert convergence.quantities == ()
    assert convergence.cell_rhats is None
    assert convergence.worst_rhat is None


def test_what_columns_passed_through_add() -> None:
    """By hand: two of three records of a pattern become unique, and one was unique before."""
    table = pl.DataFrame(
        {
            "sex": ["f", "f", "f", "m", "x", "x"],
            "town": ["a", "b", "a", "b", "a", "b"],
            "wt": [1.0, 1.0, 2.0, 2.0, 3.0, 3.0],
            "day": ["p", "q", "q", "q", None, None],
        }
    )
    with pytest.warns(DataWarning, match="1 of 3 patterns .* has a single record"):
        data = us.read_microdata(table, synthesize="town", pass_through=["wt", "day"])
    findings = data_findings(data, codebook_declared=False, codebook_reviewed=False)
    first, second = findings.passed
    assert (first.values, first.alone, first.unique_with_kept, first.stored) == (3, 0, 1, "numbers")
    assert (second.values, second.alone, second.unique_with_kept) == (3, 1, 1)
    assert findings.passed_unique == 3
    assert not first.decides


def test_a_stratum_that_gives_the_label_away() -> None:
    towns = [f"t{row % 4}" for row in range(200)]
    table = pl.DataFrame({"sex": ["f", "f", "m", "m", "f"] * 40, "town": towns, "stratum": towns})
    data = us.read_microdata(table, synthesize="town", pass_through=["stratum"])
    findings = data_findings(data, codebook_declared=False, codebook_reviewed=False)
    assert findings.passed[0].decides


@covers(150)
def test_columns_passed_through_that_give_the_label_away_together() -> None:
    """Two shares of it, none of which tells anything; a third column tells it by its order."""
    generator = stream(9, "passed")
    town, share = generator.integers(0, 4, (2, 800))
    salt = generator.permutation(800)
    table = pl.DataFrame(
        {
            "sex": [("f", "m")[row % 2] for row in range(800)],
            "town": [f"t{code}" for code in town],
            "part": share,
            "rest": (town - share) % 4,
            "wt": town + salt / 1e4,
            "noise": salt / 7,
        }
    )
    passed = ["part", "rest", "wt", "noise"]
    data = us.read_microdata(table, synthesize="town", pass_through=passed)
    findings = data_findings(data, codebook_declared=False, codebook_reviewed=False)
    assert findings.passed_together == (("part", "rest"),)
    assert [column.name for column in findings.passed if column.decides] == ["wt"]
