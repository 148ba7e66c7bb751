"""A study with the back-off tree, from the plan to the report."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.publishing.fake_study import TODAY
from tests.studies import PLAN, run_quietly, write_study
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data

import understudy as us
from understudy.errors import SettingError
from understudy.synthesis.backoff.problem import make_problem

BACKOFF = PLAN.replace(
    'model = "dpmpm"', 'model = "backoff"\norder = ["gender", "age"]\nscale = 2.0'
)


def test_from_the_plan_to_the_report(tmp_path: Path) -> None:
    study = run_quietly(write_study(tmp_path, BACKOFF), tmp_path / "study")
    (findings,) = (
        synthesizer for synthesizer in study.findings.synthesizers if synthesizer.kind == "backoff"
    )
    assert findings.settings["order"] == "gender, age"
    assert findings.settings["scale"] == "2.0"
    assert "backoff" in study.verdict.synthesizers
    assert "Back-off tree" in study.report().read_text(encoding="utf-8")


def test_the_tree_is_not_public(tmp_path: Path) -> None:
    """Labels depend on gender alone, and so the tree splits by it; public files do not tell.

    Everything public treats kept variables alike, so each is named as often as the other.
    """
    grown = PLAN.replace('model = "dpmpm"', 'model = "backoff"')
    grown = grown.replace('known = ["gender"]', 'known = ["gender", "age"]')
    grown = grown.replace("warmup = 4\ndraws = 8\n", "warmup = 100\ndraws = 300\n")
    confidential, public = tmp_path / "confidential", tmp_path / "public"
    plan = write_study(confidential, grown, n_records=600)
    data = us.read_microdata(confidential / "data.csv", synthesize=["county"], ignore=["id"])
    (tree,) = make_problem(data, None).trees
    assert [data.predictors[number] for number in tree.variable if number >= 0] == ["gender"]
    run_quietly(plan, tmp_path / "study")
    us.release(
        tmp_path / "study",
        public,
        approve=f"J. Doe, {TODAY}, read by the review board, risk accepted",
        reason="nobody real is in these data",
        guessable_seed=True,
    )
    texts = [path.read_text() for path in public.rglob("*") if path.suffix not in (".png", "")]
    assert any("back-off" in text.lower() for text in texts)
    for text in texts:
        named = [len(re.findall(rf"\b{name}\b", text)) for name in ("gender", "age")]
        assert named[0] == named[1]
        assert not re.search(r"concentration_\d|\bsplit|\bdepth|\bleaf|\bnodes?\b", text)


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
