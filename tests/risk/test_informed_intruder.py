"""The intruder who knows the model and every record but one, against the closed form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.risk.example_surveys import microdata
from tests.risk.saturated_fit import SaturatedFit

import understudy as us
from understudy.errors import InputError
from understudy.microdata import label_table
from understudy.microdata.label_table import LabelTable, label_counts
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk.informed_intruder import informed_intruder_risk

PRIOR = 4.0


def survey() -> us.Microdata:
    generator = stream(3, "informed")
    sex = generator.integers(0, 2, 60)
    town = np.where(generator.random(60) < 0.5, sex, generator.integers(0, 3, 60))
    return microdata({"sex": sex.tolist()}, {"town": town.tolist()}, {"sex": 2, "town": 3})


def files(fit: SaturatedFit, m: int) -> SyntheticSets:
    tables = list(fit.label_tables())
    drawn = [
        tables[index * len(tables) // m].draw(stream(8, index), fit.data) for index in range(m)
    ]
    return SyntheticSets(fit.data, np.stack(drawn)[:, :, None])


def exact_factors(data: us.Microdata, sets: SyntheticSets) -> NDArray[np.float64]:
    """Log factors of the odds from (n_bg - [g = y] + s_bg + a) / (2 n_b - 1 + G a), (record,)."""
    counts, pattern = label_counts(data), data.patterns.of_combination[data.of_record]
    true = data.codes("town")
    factors = []
    for i in range(data.n_records):
        own = counts[pattern[i]] - np.eye(3)[true[i]] + PRIOR
        before = own / own.sum()
        log_after = np.log(before)
        for made in sets.codes[:, :, 0]:
            seen = np.bincount(made[pattern == pattern[i]], minlength=3)
            log_after += np.log((own + seen) / (own + seen).sum()) - np.log(before)
        after = np.exp(log_after) / np.exp(log_after).sum()
        odds = [share[true[i]] / (1 - share[true[i]]) for share in (before, after)]
        factors.append(np.log(odds[1]) - np.log(odds[0]))
    return np.array(factors)


def test_agrees_with_the_closed_form() -> None:
    """Errors of log factors within four times the reported noise, and that noise small."""
    data = survey()
    fit = SaturatedFit(data, PRIOR, 20000)
    sets = files(SaturatedFit(data, PRIOR, 3), 3)
    risk = informed_intruder_risk(
        data, fit, sets, lambda more: SaturatedFit(more, PRIOR, 20000, seed=5)
    )
    exact = exact_factors(data, sets)
    assert risk.reliable == 1.0
    assert risk.noise < 0.05
    assert np.abs(risk.per_record() - exact).max() < 4 * 0.05
    assert np.isclose(risk.largest, np.exp(risk.per_record().max()))
    assert risk.most_moved(1)[0] == risk.per_record().argmax()
    assert risk.quantiles[0.5] <= risk.quantiles[0.95] <= risk.largest
    assert "59 records" in str(risk)


def test_a_row_drawn_from_its_own_label_lights_up_and_a_kept_one_does_not() -> None:
    """Six files, three rows in ten their own label: the odds of most people move far."""
    data = survey()
    kept, full = SaturatedFit(data, PRIOR, 2000), SaturatedFit(data, PRIOR, 2000, leak=0.3)
    factors = {}
    for name, fit in (("kept", kept), ("full", full)):
        sets = files(SaturatedFit(data, PRIOR, 6, leak=fit.leak), 6)
        risk = informed_intruder_risk(data, fit, sets, lambda more: SaturatedFit(more, PRIOR, 2000))
        factors[name] = risk.quantiles[0.75]
        assert risk.probability_before < 0.6
    assert factors["kept"] < 3
    assert factors["full"] > 10
    assert risk.probability_after > risk.probability_before + 0.2


def test_a_table_that_is_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = survey()
    monkeypatch.setattr(label_table, "LARGEST_TABLE", 3)
    fit = SaturatedFit(data, PRIOR, 3)
    with pytest.raises(InputError, match="pairs of combination and label"):
        informed_intruder_risk(data, fit, files(fit, 2), lambda _: fit)
    assert isinstance(next(iter(fit.label_tables())), LabelTable)
