"""Risk of sets drawn from a fit: what is simulated agrees with what is exact, draw by draw."""

from __future__ import annotations

import warnings

import numpy as np

import understudy as us
from understudy.errors import ConvergenceWarning

SETS = 40
MEASURES = ("expected_match_risk", "unique_matches")


def test_simulated_risk_agrees_with_the_exact_risk_of_the_same_draws() -> None:
    """Means over 40 sets against the exact means of the 40 draws they come from.

    Limit 6 standard errors, with 39 degrees of freedom: false-alarm rate below 1e-6 for each of the
    three figures.
    """
    data = us.load_ce_like()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # short chains do for an identity
        fit = us.DPMPM().fit(data, seed=1, warmup=200, draws=SETS, thin=2)
        sets = fit.synthesize(SETS, seed=2)
    known = ["gender", "age"]
    tables = [fit.label_table(index, SETS) for index in range(SETS)]
    exact = us.posterior_risk(data, tables, known)
    risk = us.identification_risk(data, sets, known)
    for measure in MEASURES:
        spread = risk.spreads[measure]
        assert spread.mean is not None
        assert spread.standard_error is not None
        mean = exact.spreads[measure].mean
        assert mean is not None
        assert abs(spread.mean - mean) < 6 * spread.standard_error, measure
    attribute = us.attribute_risk(data, sets).spreads["matches"]
    assert attribute.mean is not None
    assert attribute.standard_error is not None
    expected = float(
        np.mean([us.expected_risk(data, table, known).attribute_matches for table in tables])
    )
    assert abs(attribute.mean - expected) < 6 * attribute.standard_error
