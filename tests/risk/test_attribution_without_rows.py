"""Attribution without rows, against record-by-record twins and synthpop's definitions by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from tests.naive import risk as naive
from tests.risk.example_surveys import EXAMPLES, Survey, close, microdata, surveys

import understudy as us
from understudy.errors import AlignmentError, InputError, SettingError
from understudy.microdata.table import SyntheticSets


@EXAMPLES
@given(survey=surveys())
def test_agrees_with_the_slow_twin(survey: Survey) -> None:
    data = survey.data
    target = data.synthesized[-1]
    for keys in {data.kept, data.kept[:1], tuple(name for name in data.names if name != target)}:
        risk = us.attribution_risk(data, survey.sets, keys, target)
        for index in range(len(survey.sets)):
            columns = {
                name: survey.sets.codes[index, :, column]
                for column, name in enumerate(data.synthesized)
            }
            made = [columns.get(name, data.codes(name)).tolist() for name in keys]
            slow = naive.attribution(
                survey.values(keys),
                data.codes(target).tolist(),
                [tuple(row) for row in zip(*made, strict=True)],
                columns[target].tolist(),
            )
            row = risk.per_set.row(index, named=True)
            for name, value in slow.items():
                assert close(row[name], value), name


def fully_synthetic() -> tuple[us.Microdata, us.SyntheticSets]:
    """Six people with a key and a target, and six new people.

    Original keys 0 0 1 2 3 3 with targets 0 0 1 1 0 1; synthetic keys 0 0 1 1 2 4 with targets
    0 0 1 0 0 1.
    """
    data = microdata(
        {}, {"key": [0, 0, 1, 2, 3, 3], "target": [0, 0, 1, 1, 0, 1]}, {"key": 5, "target": 2}
    )
    codes = np.array([[[0, 0], [0, 0], [1, 1], [1, 0], [2, 0], [4, 1]]])
    return data, SyntheticSets(data, codes, fully_synthetic=True)


def test_fully_synthetic_sets_by_hand() -> None:
    """Keys 1 and 2 are unique in the original; 2 and 4 in the set; so 2 alone is replicated.

    The set says one thing about keys 0 (target 0: true for both), 2 (target 0: wrong) and 4
    (nobody): DiS 3 of 6, DiSCO 2 of 6, precision 2 of 3, TCAP 2 of 4. The set's share of the true
    target is 1, 1, 1/2, 0, and 0 where the key is absent: DCAP 2.5 of 6.
    """
    data, sets = fully_synthetic()
    risk = us.attribution_risk(data, sets, "key", "target")
    row = risk.per_set.row(0, named=True)
    assert close(row["uniques_original"], 2 / 6)
    assert close(row["uniques_synthetic"], 2 / 6)
    assert close(row["uniques_in_synthetic"], 2 / 6)
    assert close(risk.replicated_uniques, 1 / 6)
    assert close(row["disclosive_original"], 4 / 6)
    assert close(row["disclosive_synthetic"], 4 / 6)
    assert close(row["in_synthetic"], 4 / 6)
    assert close(row["disclosive"], 3 / 6)
    assert close(risk.disclosive_correct, 2 / 6)
    assert close(row["disclosive_both"], 2 / 6)
    assert close(risk.dcap, 2.5 / 6)
    assert close(row["cap_original"], 5 / 6)
    assert close(row["baseline_cap"], 0.5)
    assert close(risk.tcap, 2 / 4)
    assert close(row["precision"], 2 / 3)
    assert risk.over_sets().height == 16


def test_fully_synthetic_files_may_have_any_number_of_rows() -> None:
    """Fewer and more new people than records, of unequal number, against the slow twin."""
    data, _ = fully_synthetic()
    made = [([0, 2], [0, 0]), ([0, 0, 0, 1, 1, 3, 3, 4], [0, 0, 1, 1, 1, 0, 1, 0])]
    frames = [
        pl.DataFrame(
            {
                "key": [f"secret key {code}" for code in keys],
                "target": [f"secret target {code}" for code in targets],
            }
        )
        for keys, targets in made
    ]
    risk = us.attribution_risk(data, frames, "key", "target")
    assert risk.n_sets == 2
    for index, (keys, targets) in enumerate(made):
        slow = naive.attribution(
            data.codes("key").tolist(), data.codes("target").tolist(), keys, targets
        )
        row = risk.per_set.row(index, named=True)
        for name, value in slow.items():
            assert close(row[name], value), name
    with pytest.raises(InputError, match=r"row|record"):
        us.attribution_risk(data, [frames[0].head(0)], "key", "target")
    with pytest.raises(InputError, match="levels"):
        us.attribution_risk(data, [frames[0].with_columns(key=pl.lit("other"))], "key", "target")


def test_rows_still_count_where_something_is_kept() -> None:
    data = microdata({"key": [0, 1]}, {"target": [0, 1]}, {"key": 2, "target": 2})
    frame = SyntheticSets(data, np.array([[[0], [1]]]))[0]
    with pytest.raises(AlignmentError, match="2 records"):
        us.attribution_risk(data, [frame[:1]], "key", "target")


def test_prints_without_levels_and_says_undefined() -> None:
    data = microdata({"key": [0, 0]}, {"target": [0, 1]}, {"key": 1, "target": 2})
    sets = SyntheticSets(data, np.array([[[0], [1]]]))
    risk = us.attribution_risk(data, sets, ["key"], "target")
    assert risk.tcap == 0
    assert risk.spreads["precision"].mean is None
    assert "undefined (no such keys)" in str(risk)
    assert "secret" not in str(risk)


REFERENCE = Path(__file__).parent / "reference"
PRINTED = json.loads((REFERENCE / "synthpop_disclosure.json").read_text(encoding="utf-8"))[
    "results"
]
NAMES = {
    "UiO": "uniques_original", "UiS": "uniques_synthetic", "UiOiS": "uniques_in_synthetic",
    "repU": "replicated_uniques", "Dorig": "disclosive_original", "Dsyn": "disclosive_synthetic",
    "iS": "in_synthetic", "DiS": "disclosive", "DiSCO": "disclosive_correct",
    "DiSDiO": "disclosive_both", "DCAP": "dcap", "CAPd": "cap_original", "CAPs": "cap_synthetic",
    "baseCAPd": "baseline_cap", "TCAP": "tcap",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::understudy.errors.DataWarning")
@pytest.mark.parametrize("printed", PRINTED, ids=lambda row: f"{row['file']} {len(row['keys'])}")
def test_agrees_with_synthpop(printed: dict[str, Any]) -> None:
    """Percentages that synthpop 1.9-2 printed for the same files."""
    keys, full = ["key1", "key2", "key3"], "full" in printed["file"]
    data = us.read_microdata(
        REFERENCE / "synthpop_original.csv",
        synthesize=[*keys, "label"] if full else ["label"],
        keep=[] if full else keys,
    )
    risk = us.attribution_risk(data, [REFERENCE / printed["file"]], printed["keys"], "label")
    row = risk.per_set.row(0, named=True)
    for name, ours in NAMES.items():
        assert np.isclose(100 * row[ours], printed[name]), name


def test_names_are_checked() -> None:
    data, sets = fully_synthetic()
    with pytest.raises(SettingError, match="as both"):
        us.attribution_risk(data, sets, ["key", "target"], "target")
    with pytest.raises(SettingError, match="no key"):
        us.attribution_risk(data, sets, [], "target")
    with pytest.raises(SettingError, match="nearest"):
        us.attribution_risk(data, sets, "kex", "target")
