"""Places of risks and overlaps in public: the same as in the verdict, or none at all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL, Study, digest, spread
from understudy.findings.schema import Baseline, Findings, IntruderFindings
from understudy.publishing.public_figures import public_findings
from understudy.publishing.rounding import NOT_SHOWN, TOO_CLOSE, position, position_percent
from understudy.verdict.grading import risk_position

RISK = "expected_match_risk"


def between(low: float, high: float, noise: float = 0.0) -> IntruderFindings:
    """Make an intruder whose levels, of one file and of all, are these."""

    def level(figure: float) -> Baseline:
        return Baseline(
            samples={RISK: spread(figure)}, exact={}, joint={RISK: spread(figure, noise)}
        )

    return IntruderFindings(
        known=("gender",), baselines={"Uniform": level(low), "Perfect": level(high)}
    )


def test_positions_are_rounded() -> None:
    assert position(31.7319, between(12.3456, 61.2345), RISK) == "40\u00a0%"
    assert [position(one, between(10.0, 20.0), RISK) for one in (-99, 10, 20, 99)] == [
        *["Min or below"] * 2,
        *["Max or above"] * 2,
    ]
    assert position(None, between(10.0, 20.0), RISK) == NOT_SHOWN
    assert position(15.0, None, RISK) == position(15.0, between(1.0, 2.0), "other") == NOT_SHOWN
    assert position_percent(15.0, None, RISK) is None


def test_all_files_have_no_position_where_the_verdict_finds_none() -> None:
    """Baselines that differ by less than their repeats do: a position of 70 % would be noise."""
    noisy, calm = between(10.0, 20.0, noise=4.0), between(10.0, 20.0, noise=0.1)
    assert risk_position(17.0, noisy, RISK, joint=True) is None
    assert position(17.0, noisy, RISK, joint=True) == TOO_CLOSE
    assert position(17.0, calm, RISK, joint=True) == "70\u00a0%"
    assert position(17.0, noisy, RISK) == "70\u00a0%"


@pytest.mark.parametrize(
    ("low", "high", "noise"), [(6.0, 6.5, 0.0), (2.0, 2.0, 0.0), (17.79, 17.67, 0.0), (5, 9, 3.0)]
)
def test_above_max_is_reported_where_the_baselines_are_too_close(
    low: float, high: float, noise: float
) -> None:
    """The verdict holds it against the files, so that the page must not hide it."""
    levels = between(low, high, noise)
    assert position(high + 0.3, levels, RISK, joint=True) == "Max or above"
    assert position_percent(high + 0.3, levels, RISK, joint=True) == 105
    assert position(high, levels, RISK, joint=True) == TOO_CLOSE
    assert position(high - 1, levels, RISK, joint=True) == TOO_CLOSE


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


@pytest.mark.usefixtures("real_plots")
def test_the_page_does_not_contradict_itself(study: Study, public: Path) -> None:
    """Above Max by little, between levels that are close: said so in table, words and plot."""
    study.risk = 7.6

    def change(content: dict[str, Any]) -> None:
        for intruder in content["intruders"]:
            for name, figure in (("Uniform", 6.9), ("Perfect", 7.4)):
                own = intruder["baselines"][name]
                own["exact"][RISK] = figure
                own["joint"][RISK] = json.loads(spread(figure, 2.0).model_dump_json())
        for one in content["synthesizers"][0]["risk"]["identification"]:
            one["joint"][RISK] = 7.1

    found = changed(study.seal(), change)
    us.release(study.folder, public, APPROVAL)
    said = words_of(public / "methods.html")
    few = "|fewer than 10" * 3
    assert said.count(f"expected match risk, one file{few}|Max or above") == 2
    assert said.count(f"expected match risk, all files together{few}|{TOO_CLOSE}") == 2
    assert "a value can lie beyond either" in said
    assert "They lie between" not in said
    assert "Where each risk lies" not in said
    assert "too close together for a position are not drawn" in said
    risk = public_findings(found, found.synthesizers[0]).synthesizers[0].risk
    assert [one.measures[RISK].mean for one in risk.identification] == [105, 105]


def test_the_sampler_is_named(study: Study, public: Path) -> None:
    study.settings = {"sampler": "blocked"}
    us.release(study.seal().folder, public, APPROVAL)
    assert "|sampler|blocked|" in words_of(public / "methods.html")
