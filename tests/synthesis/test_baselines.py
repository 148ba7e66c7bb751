"""Max and Min as synthesizers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.synthesis.conftest import small_data

import understudy as us
from understudy.errors import SettingError


def test_levels_are_immediate_and_repeatable(data: us.Microdata) -> None:
    for settings in (us.Perfect(), us.Uniform()):
        fit = settings.fit(data)
        assert fit.converged
        assert fit.diagnostics().is_empty()
        assert "probabilities" in repr(fit)
        sets = fit.synthesize(m=3, seed=1)
        assert np.array_equal(sets.codes, fit.synthesize(m=3, seed=1).codes)
        assert sets.codes.shape == (3, 120, 1)


def test_matches_are_those_of_the_closed_forms() -> None:
    """n/G for Min, sum n_bg^2/n_b for Max; 5 standard errors: false-alarm rate below 1e-5."""
    data = us.load_ce_like()
    true = data.codes("county")
    minimum = data.n_records / 133
    table = np.zeros((len(data.patterns), 133))
    np.add.at(table, (data.patterns.of_combination, data.combinations[:, 3]), data.counts)
    maximum = float((table**2 / table.sum(axis=1, keepdims=True)).sum())
    for fit, mean in ((us.Uniform().fit(data), minimum), (us.Perfect().fit(data), maximum)):
        sets = fit.synthesize(m=50, seed=1)
        matches = (sets.codes[:, :, 0] == true).sum(axis=1)
        assert abs(matches.mean() - mean) < 5 * np.sqrt(mean / 50)


@pytest.mark.parametrize("m", [0, -2, 1.5, True])
def test_number_of_sets_is_checked(m: Any) -> None:
    with pytest.raises(SettingError, match="m as a whole number"):
        us.Uniform().fit(small_data()).synthesize(m=m)
