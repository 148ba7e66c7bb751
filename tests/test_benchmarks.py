"""What the benchmark calls worse."""

from __future__ import annotations

import json

from benchmarks.ratios import RESULTS, compare, last_of


def test_a_ratio_is_compared_with_the_last_one_of_this_machine() -> None:
    stored = [
        {"machine": "ours", "ratios": {"speed": 100.0}},
        {"machine": "ours", "ratios": {"speed": 10.0, "gone": 2.0}},
        {"machine": "another", "ratios": {"speed": 1000.0}},
    ]
    before = last_of("ours", stored)
    assert before == {"speed": 10.0, "gone": 2.0}
    assert last_of("new", stored) == {}
    assert compare({"speed": 7.01, "new": 1.0}, before) == []
    assert compare({"speed": 6.9}, before) == ["speed: 6.9, before 10"]


def test_stored_results_can_be_read_and_tell_no_name_of_a_machine() -> None:
    for line in RESULTS.read_text("utf-8").splitlines():
        entry = json.loads(line)
        assert set(entry) == {"date", "machine", "versions", "ratios"}
        assert all(ratio > 0 for ratio in entry["ratios"].values())
