"""Files of another tool: the page where tables of labels are too large for baselines."""

from __future__ import annotations

import pytest
from tests.risk.example_surveys import microdata

import understudy as us
from understudy.study import evaluation


@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
def test_the_page_does_without_baselines_that_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = microdata(
        {"sex": [index % 2 for index in range(60)]},
        {"town": [index % 3 for index in range(60)]},
        {"sex": 2, "town": 3},
    )
    monkeypatch.setattr(evaluation, "LARGEST_TABLE", 1)
    sets = us.Perfect().fit(data).synthesize(2, seed=1)
    verdict, page = evaluation.judged_files(
        data, sets, [("sex",)], title="Large", formula=None, family="linear", control=None,
        repeats=2, seed=1, reviewed=True, remarks=[],
    )  # fmt: skip
    assert verdict.outcome == "fail"  # no risk was measured
    assert "not measured" in page
