"""Positions of risks and overlaps in public: the same as in the verdict, or none at all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL, Study, digest, own_record
from understudy.findings.schema import AttackFindings, Findings
from understudy.publishing.public_figures import public_findings
from understudy.publishing.rounding import TOO_FEW, position, position_percent


def attack(position_: float, exact: float = 61.2345) -> AttackFindings:
    """Make an attack whose effect is this share of the exact table's."""
    return own_record(240, position_, exact).attacks[0]


def test_positions_are_rounded() -> None:
    assert position(attack(0.3712)) == "a good part (about 35\u00a0%)"
    assert position(attack(0.0249)) == position(attack(-0.4)) == "next to nothing (below 5\u00a0%)"
    assert position(attack(0.0251)) == "little (about 5\u00a0%)"
    assert position(attack(0.27)) == "little (about 25\u00a0%)"
    assert position(attack(0.28)) == "a good part (about 30\u00a0%)"
    assert position(attack(0.97)) == "a good part (about 95\u00a0%)"
    assert position(attack(0.98)) == "as much as in the exact table, or more"
    assert [position_percent(attack(value)) for value in (0.0, 1.02, 7.0)] == [0, 100, 105]


def test_few_people_have_no_position() -> None:
    """A ratio of two small counts would tell them; more than ten people are reported."""
    assert position_percent(attack(0.5, 10.0)) == 50
    assert position_percent(attack(0.5, 9.9)) is None
    assert position(attack(1.0, 9.9)) == TOO_FEW
    assert position(attack(2.0, 9.9)) == "as much as in the exact table, or more"
    assert position_percent(attack(2.0, 4.9)) is None


def changed(study: Study, change: Any) -> Findings:
    """Change a sealed study's findings and bind the rest to them."""
    content = json.loads((study.internal / "findings.json").read_text())
    change(content)
    raw = json.dumps(content).encode()
    study.reseal("findings.json", raw)
    study.reseal("verdict.json", json.dumps(study.verdict(digest(raw))).encode())
    return Findings.model_validate_json(raw)


def words_of(path: Path) -> str:
    """Take the marks out of a page."""
    return re.sub(r"<[^>]+>", "|", path.read_text()).replace("||", "|")


def test_overlap_is_over_the_coefficients_of_the_floor(study: Study, public: Path) -> None:
    """As in the verdict; the mean over other coefficients cannot be compared with the floor."""

    def change(content: dict[str, Any]) -> None:
        one = content["synthesizers"][0]["utility"]["regressions"][0]
        one.update(mean_overlap=0.41, overlap_in_common=0.83, overlap_truth_floor=0.91)

    found = changed(study, change)
    us.release(study.folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    assert "|0.83|" in said
    assert "0.41" not in said
    shown = public_findings(found, found.synthesizers[0]).synthesizers[0]
    assert shown.utility.regressions[0].mean_overlap == 0.83


def test_the_page_says_what_own_records_give_away(study: Study, public: Path) -> None:
    """In rounded counts and blunt words, for each setting; small counts are left out."""
    us.release(study.seal().folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    attack_words = "most frequent label of the pattern, all files"
    assert f"rows known|{attack_words}|about 95 " in said
    assert "|a good part (about 35\u00a0%)|" in said
    assert "|little (about 20\u00a0%)|" in said
    assert "|about 75 " in said
    assert "a value can lie beyond either" in said


def test_few_people_are_not_counted_on_the_page(study: Study, public: Path) -> None:
    def change(content: dict[str, Any]) -> None:
        for one in content["synthesizers"][0]["risk"]["own_record"]["attacks"]:
            one.update(with_record=8.4, without_record=6.3, effect=2.1, exact_table=4.2)

    changed(study, change)
    us.release(study.folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    assert said.count(f"|fewer than 10|fewer than 10|{TOO_FEW}|") == 2


def test_the_sampler_is_named(study: Study, public: Path) -> None:
    study.settings = {"sampler": "blocked"}
    us.release(study.seal().folder, public, APPROVAL)
    assert "|sampler|blocked|" in words_of(public / "methods.html")


@pytest.mark.parametrize("converged", [True, False])
def test_intervals_carry_the_warning(study: Study, public: Path, converged: bool) -> None:
    study.converged = converged
    study.outcome = "pass" if converged else "review"
    us.release(study.seal().folder, public, APPROVAL, reason="looked at by the whole board")
    said = words_of(public / "methods.html")
    assert said.count("Caution: the chains behind these files did not fully agree") == (
        not converged
    )
    assert ("Intervals may be too short" in (public / "README.txt").read_text()) != converged
