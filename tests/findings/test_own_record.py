"""The own-record effect in findings: every attack, beside the sets and the baselines."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from tests.risk.example_surveys import microdata
from tests.risk.saturated_fit import SaturatedFit

import understudy as us
from understudy.findings.chains import convergence_findings
from understudy.findings.data import data_findings
from understudy.findings.own_record import (
    informed_findings,
    own_record_findings,
    with_own_record,
)
from understudy.findings.risk import enough_repeats, intruder_findings, risk_findings
from understudy.findings.schema import InformedFindings, RiskFindings
from understudy.randomness import stream

KNOWN = (("sex",), ("sex", "age"))


def survey(keep: list[str] | None = None) -> us.Microdata:
    """Make 160 people with a town that depends on their sex."""
    generator = stream(3, "own record")
    sex, age = generator.integers(0, 2, 160), generator.integers(0, 2, 160)
    town = (generator.integers(0, 3, 160) + sex) % 4
    frame = pl.DataFrame(
        {
            "sex": [("f", "m")[code] for code in sex],
            "age": [("old", "young")[code] for code in age],
            "town": [("a", "b", "c", "d")[code] for code in town],
        }
    )
    synthesize = ["town"] if keep is None else ["sex", "age", "town"]
    return us.read_microdata(frame, synthesize=synthesize, keep=keep)


@pytest.fixture(scope="module")
def data() -> us.Microdata:
    return survey()


@pytest.fixture(scope="module")
def risk(data: us.Microdata) -> RiskFindings:
    """Measure perfect sets, whose own-record effect is the exact table's."""
    fit = us.Perfect().fit(data)
    sets = fit.synthesize(3, seed=2)
    intruders = [intruder_findings(data, known, repeats=3, sets=3, seed=4) for known in KNOWN]
    own = own_record_findings(data, fit, KNOWN, sets=3, refit=None, folds=1, seed=5)
    return with_own_record(risk_findings(data, sets, KNOWN, by_knowledge=False), own, intruders)


def test_every_attack_is_beside_the_sets_and_the_baselines(
    data: us.Microdata, risk: RiskFindings
) -> None:
    own = risk.own_record
    assert own is not None
    assert own.evidence == "closed form"
    assert {attack.setting for attack in own.attacks} == {"worst case", "as released"}
    assert {attack.known for attack in own.attacks} == {(), *KNOWN}
    row = own.attacks[0]
    assert row.position == pytest.approx(1.0)
    assert row.effect == pytest.approx(row.with_record - row.without_record)
    assert risk.attribute is not None
    assert row.measured == pytest.approx(risk.attribute.matches.mean)
    assert list(row.baselines) == ["Uniform", "Marginal", "Others", "Perfect"]
    assert row.baselines["Uniform"] == pytest.approx(data.n_records / 4)
    assert row.baselines["Perfect"] == pytest.approx(row.with_record)
    assert row.baselines["Others"] == pytest.approx(row.without_record)
    for attack in own.attacks:
        assert attack.measured is not None
        assert len(attack.baselines) == 4


def test_too_few_draws_are_not_measured(data: us.Microdata) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = us.DPMPM().fit(data, chains=2, warmup=2, draws=8, thin=1, seed=1)
    own = own_record_findings(data, fit, KNOWN, sets=2, refit=None, folds=1, seed=1)
    assert own.attacks == ()
    assert "at least 20 kept draws" in own.evidence


def test_a_fit_is_measured_by_its_draws(data: us.Microdata) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = us.DPMPM().fit(data, chains=2, warmup=100, draws=100, thin=1, seed=1)
    own = own_record_findings(data, fit, KNOWN, sets=2, refit=None, folds=1, seed=1)
    assert own.evidence == "draws"
    worst = own.worst()
    assert worst is not None
    assert worst.position == max(
        attack.position for attack in own.attacks if attack.setting == "worst case"
    )


def test_fully_synthetic_sets_are_measured() -> None:
    everything = survey(keep=[])
    sets = us.SyntheticSets(
        everything, np.stack([everything.codes(name) for name in everything.names], axis=1)[None],
        fully_synthetic=True,
    )  # fmt: skip
    risk = risk_findings(everything, sets, (), by_knowledge=False)
    assert risk.fully_synthetic is not None
    assert risk.fully_synthetic.repeated == risk.fully_synthetic.uniques
    assert risk.own_record is not None
    assert len(risk.own_record.attacks) == 3
    for attack in risk.own_record.attacks:  # the data themselves tell what the exact table does
        assert attack.measured == pytest.approx(attack.baselines["Perfect"])


def test_an_informed_intruder_is_found_by_name() -> None:
    """A model that copies labels moves odds much; one that does not, little."""
    data = microdata(
        {"sex": [0, 1] * 20}, {"town": [0, 1, 1, 0, 2, 2, 0, 1] * 5}, {"sex": 2, "town": 3}
    )

    def told(leak: float) -> InformedFindings:
        fit = SaturatedFit(data, 4.0, 400, leak=leak)
        tables = list(fit.label_tables())[:3]
        drawn = np.stack([table.draw(stream(8, at), data) for at, table in enumerate(tables)])
        sets = us.SyntheticSets(data, drawn[:, :, None])
        return informed_findings(data, fit, sets, lambda more: SaturatedFit(more, 4.0, 400))

    kept, copied = told(0.0), told(0.5)
    assert len(kept.rows) == len(kept.factors) == 10
    assert kept.factors[0] == pytest.approx(kept.largest)
    assert next(iter(kept.quantiles)) == "5%"
    assert copied.largest > 3 * kept.largest
    assert copied.probability_after > kept.probability_after + 0.1


def test_points_about_the_data() -> None:
    frame = pl.DataFrame(
        {
            "sex": ["f"] * 60 + ["m"] * 60,
            "town": ["a"] * 58 + ["c"] * 2 + ["b"] * 59 + ["a"],
        }
    )
    book = {"reviewed": True, "variables": {"town": {"levels": ["a", "b", "c"]}}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = us.read_microdata(frame, synthesize="town", codebook=book)
    findings = data_findings(data, codebook_declared=False, codebook_reviewed=True)
    assert findings.undeclared == ("sex",)
    assert findings.observed_only == ("town",)
    assert findings.rare_levels == {"town": 1}
    assert (findings.dominated_patterns, findings.dominated_records) == (2, 120)
    whole = data_findings(data, codebook_declared=True, codebook_reviewed=True)
    assert whole.undeclared == ()


@pytest.mark.parametrize(("memory", "dependent"), [(0.0, False), (0.999, True)])
def test_correlation_of_neighbouring_sets(memory: float, dependent: bool) -> None:
    """Chains that are apart, each of independent draws or a slow walk: only the latter depend.

    The correlation of 2 x 900 independent pairs has a standard deviation of 0.024: it exceeds 0.5
    with probability below 1e-12.
    """
    generator = stream(8, "neighbouring sets")
    steps = generator.normal(size=(2, 1000))
    values = np.zeros((2, 1000))
    for draw in range(1, 1000):
        values[:, draw] = memory * values[:, draw - 1] + steps[:, draw]
    values += np.array([[0.0], [50.0]])
    convergence = convergence_findings(
        diagnostics=pl.DataFrame(schema=["quantity", "rhat", "ess_bulk", "ess_tail", "converged"]),
        scalars={}, converged=False, warmup=0, thin=1, autocorrelation_time=1.0, spacing=100.0,
        rhat_target=1.01, ess_target=400.0, sums=[values],
    )  # fmt: skip
    assert convergence.set_correlation is not None
    assert (convergence.set_correlation > 0.5) == dependent


def test_baselines_are_drawn_less_often_the_more_records_there_are() -> None:
    few = us.load_ce_like()
    many = replace(few, of_record=np.zeros(10_000_000, dtype=np.int32))
    some = replace(few, of_record=np.zeros(100_000, dtype=np.int32))
    assert [enough_repeats(data, 20) for data in (few, some, many)] == [100, 47, 5]
