"""A study with the back-off tree, from the plan to the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.studies import PLAN, run_quietly, write_study
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data

import understudy as us
from understudy.errors import SettingError

BACKOFF = PLAN.replace(
    'model = "dpmpm"', 'model = "backoff"\norder = ["gender", "age"]\nscale = 2.0'
)


def test_from_the_plan_to_the_report(tmp_path: Path) -> None:
    study = run_quietly(write_study(tmp_path, BACKOFF), tmp_path / "study")
    (findings,) = (one for one in study.findings.synthesizers if one.kind == "backoff")
    assert findings.settings["order"] == "gender, age"
    assert findings.settings["scale"] == "2.0"
    assert "backoff" in study.verdict.synthesizers
    assert "Back-off tree" in study.report().read_text(encoding="utf-8")


def test_a_wrong_order_is_a_mistake_of_the_plan(tmp_path: Path) -> None:
    wrong = BACKOFF.replace('["gender", "age"]', '"gender"')
    with pytest.raises(SettingError, match="kept variables"):
        us.Study(write_study(tmp_path, wrong))


def test_exact_risk_comes_from_its_tables() -> None:
    """Right labels of 40 sets against their tables: five standard errors, below 1e-6."""
    data = small_data()
    fit = quiet_fit(us.BackoffTree(order=["gender", "region"]), data, seed=1)
    sets = quiet_sets(fit, m=40, seed=2)
    right = (sets.codes[:, :, 0] == data.codes("county")).sum()
    chances = []
    for index in range(40):
        table = fit.label_table(index, 40)
        row = table.row_of_combination[data.of_record]  # (record,)
        chances.append(table.probabilities[row, data.codes("county")])
    expected, variance = np.sum(chances), np.sum(np.multiply(chances, np.subtract(1, chances)))
    assert abs(right - expected) < 5 * np.sqrt(variance)
    assert us.posterior_risk(data, fit.label_tables(), known=["gender"])
