"""The ten records worked by hand in the documentation have the risks that stand there."""

import csv
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.risk.example_surveys import microdata

import understudy as us
from understudy.microdata.label_table import empirical_labels
from understudy.microdata.table import SyntheticSets
from understudy.risk.matching import find_targets, labels_of

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"
OF_EACH_SET = {  # worked by hand, beside what the file has
    "random linkage": (0.9, 1.0),
    "random within cells": (1.8, 2.0),
    "guess from the set's patterns": (3.5, 5.0),
}
WORKED_BY_HAND = {  # beside what the file has
    "guess from the original's patterns": 6.0,
    "Min, expected match risk": 1.7366,
    "Min, attribute matches": 10 / 3,
    "Max, attribute matches": 5.6667,
    # pattern by pattern: young women, old women, young men, old men
    "Max, expected match risk, sex and age known": 1 + 19 / 27 + 3 / 4 + 71 / 81,
    "DCAP of town from sex and age, mean over sets": 0.3917,
}


def rows_of(name: str) -> list[list[str]]:
    """Read a file of the documentation without its header."""
    with (EXAMPLES / name).open(encoding="utf-8") as lines:
        return list(csv.reader(lines))[1:]


def ten_records() -> list[list[str]]:
    """Read record, sex, age, town, and town, c and T of both sets."""
    return rows_of("ten-records.csv")


@pytest.fixture(scope="module")
def ten() -> tuple[us.Microdata, us.SyntheticSets]:
    """Read the ten records and both sets from the files."""
    records = ten_records()
    assert len(records) == 10

    def column(number: int, levels: str) -> list[int]:
        return [levels.split().index(row[number]) for row in records]

    data = microdata(
        {"sex": column(1, "f m"), "age": column(2, "young old")},
        {"town": column(3, "A B C")},
        {"sex": 2, "age": 2, "town": 3},
    )
    made = np.array([column(4, "A B C"), column(7, "A B C")])  # (set, record)
    return data, SyntheticSets(data, made[:, :, None])


def test_candidates_and_truth(ten: tuple[us.Microdata, us.SyntheticSets]) -> None:
    data, sets = ten
    labels = labels_of(sets)
    targets = find_targets(data, ["sex"], labels.of_combination, labels.size)
    page: NDArray[np.str_] = np.array(ten_records())
    for index, first in enumerate((5, 8)):
        matched, counts = targets.match_rows(labels.of_set(index))
        assert counts[targets.of_record].tolist() == page[:, first].astype(int).tolist()
        truth = (matched == targets.of_record).astype(int)
        assert truth.tolist() == page[:, first + 1].astype(int).tolist()


def test_values_of_each_set(ten: tuple[us.Microdata, us.SyntheticSets]) -> None:
    data, sets = ten
    per_set = us.identification_risk(data, sets, "sex").per_set
    attribute = us.attribute_risk(data, sets).per_set
    computed = {
        "expected match risk": per_set["expected_match_risk"],
        "unique matches": per_set["unique_matches"],
        "true match rate": per_set["true_match_rate"],
        "false match rate": per_set["false_match_rate"],
        "random linkage": per_set["random_linkage"],
        "random within cells": per_set["random_within_cells"],
        "attribute matches; both: vote": attribute["matches"],
        "guess from the set's patterns": attribute["most_frequent_synthetic_label"],
    }
    page = {name: tuple(map(float, row[:2])) for name, *row in rows_of("ten-records-risks.csv")}
    expected = page | OF_EACH_SET
    assert set(expected) == set(computed)
    for name, of_each in expected.items():
        assert np.allclose(computed[name].to_numpy(), of_each, atol=5e-5), name


def test_values_together(ten: tuple[us.Microdata, us.SyntheticSets]) -> None:
    data, sets = ten
    joint = us.identification_risk(data, sets, "sex").joint
    attribute = us.attribute_risk(data, sets)
    baselines = us.inherent_risk(data, "sex", repeats=1, seed=1)
    all_known = us.expected_risk(data, empirical_labels(data), ["sex", "age"])
    computed = {
        "expected match risk": joint.expected_match_risk,
        "unique matches": joint.unique_matches,
        "true match rate": joint.true_match_rate,
        "false match rate": joint.false_match_rate,
        "attribute matches; both: vote": attribute.joint.matches,
        "guess from the original's patterns": attribute.most_frequent_label,
        "Min, expected match risk": baselines.minimum.expected.expected_match_risk,
        "Min, attribute matches": baselines.minimum.expected.attribute_matches,
        "Max, attribute matches": baselines.maximum.expected.attribute_matches,
        "Max, expected match risk, sex and age known": all_known.expected_match_risk,
        "DCAP of town from sex and age, mean over sets": us.attribution_risk(
            data, sets, ["sex", "age"], "town"
        ).dcap,
    }
    page = {name: float(both) for name, _, _, both in rows_of("ten-records-risks.csv") if both}
    expected = page | WORKED_BY_HAND
    assert list(expected) == list(computed)
    for name, value in computed.items():
        assert value is not None
        assert np.isclose(value, expected[name], atol=5e-5), name


def test_levels_of_the_bundled_sample() -> None:
    with (DOCS / "minimum-maximum.csv").open(encoding="utf-8") as lines:
        stated = {row[0]: row[1:3] for row in csv.reader(lines)}
    data = us.load_ce_like()
    gender = us.inherent_risk(data, "gender", repeats=1, seed=1)
    both = us.inherent_risk(data, ["gender", "age"], repeats=1, seed=1)
    for words, risk in (("gender known", gender), ("gender and age known", both)):
        low = risk.minimum.expected.expected_match_risk
        high = risk.maximum.expected.expected_match_risk
        assert stated[f"expected match risk, {words}"] == [f"{low:.2f}", f"{high:.2f}"]
    low, high = (baseline.expected.attribute_matches for baseline in (both.minimum, both.maximum))
    assert stated["attribute matches"] == [f"{low:.2f}", f"{high:.2f}"]
