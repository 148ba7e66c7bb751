"""The risk section: every attack with and without people's own records, beside four baselines."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests import findings_factory as making

from understudy.findings.by_chain import power
from understudy.findings.schema import (
    AttackFindings,
    Findings,
    InformedFindings,
    PredictionFindings,
    QuantityRow,
)
from understudy.pages.plots.canvas import series_styles
from understudy.pages.plots.positions import attack_positions, positions_svg
from understudy.pages.report import page
from understudy.verdict.verdict import judge

FOUR = {"Uniform": 11.0, "Marginal": 14.0, "Others": 31.0, "Perfect": 42.0}


def study(*attacks: AttackFindings, **more: Any) -> Findings:
    """Make a study with these attacks."""
    own_record = making.own_record(*attacks, **more)
    return making.findings([making.synthesizer(own_record=own_record)])


def section(findings: Findings, key: str = "own-record") -> str:
    """Cut a section out of the page."""
    html = page(findings, judge(findings))
    start = html.index(f'<section id="{key}"')
    return html[start : html.index("</section>", start)]


def rows_of(html: str) -> list[list[str]]:
    """List the cells of all table rows, as words."""
    return [
        [re.sub(r"<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall(r"<tr.*?</tr>", html, re.DOTALL)
    ]


def test_every_attack_in_both_settings_beside_the_baselines() -> None:
    findings = study(
        making.attack("row", 0.5, error=2.0, baselines=FOUR),
        making.attack("row", 0.1, setting="as released", baselines=FOUR),
        making.attack("pooled_modal", 0.1, setting="as released", baselines=FOUR),
        making.attack("match_best", 0.2, known=("sex",), baselines=FOUR),
    )
    rows = rows_of(section(findings))
    assert rows[0][-4:] == list(FOUR)
    assert rows[1] == ["Worst case: the intruder knows which row stands for whom"]
    four = ["11.0", "14.0", "31.0", "42.0"]
    assert rows[2] == ["Believe the row", "40.0", "20.0", "20.0", "2", "0.50", *four]
    assert rows[3][0] == "Match one file or all, whichever finds more (known: sex)"
    assert rows[4] == ["As released: the rows are shuffled"]
    assert rows[5][-4:] == ["–"] * 4  # shuffled rows cannot be compared with aligned ones
    assert rows[6][-4:] == four  # needs no rows


@pytest.mark.parametrize(("position", "tone"), [(0.3, "pass"), (0.31, "review"), (1.06, "fail")])
def test_positions_carry_the_outcome(position: float, tone: str) -> None:
    """Two records above a limit count as none: 0.30 of 40 is two above 0.25."""
    html = section(study(making.attack("row", position)))
    assert f'class="number {tone}"><svg class="icon"' in html


def test_unreliable_weights_are_counted() -> None:
    some = section(study(unreliable=12, refitted=9))
    assert "For 12 of 100 records these weights are unreliable; 9 of them were measured" in some
    single = section(study(unreliable=2, refitted=1))
    assert "unreliable; 1 of them was measured by a fit without it" in single
    none = section(study())
    assert "All weights are reliable" in none
    assert "unreliable" not in none
    others = section(study(evidence="others"))
    assert "This is weaker evidence" in others
    assert "All weights are reliable" not in others


def test_what_the_files_tell_one_who_knows_every_other_record() -> None:
    informed = InformedFindings(
        quantiles={"50%": 1.1, "99%": 2.5}, largest=7.25, probability_before=0.02,
        probability_after=0.03, reliable=0.98, noise=0.1, rows=(4, 2), factors=(7.25, 3.0),
    )  # fmt: skip
    own = making.own_record().model_copy(update={"informed": informed})
    html = section(making.findings([making.synthesizer(own_record=own)]))
    assert "every record but one" in html
    assert html.index("7.25") < html.index("Whose odds move most")
    assert "every record but one" not in section(study())


@pytest.mark.parametrize(
    ("gain", "words"),
    [(0.2, "more than the labels&#39; overall shares: on average it goes 20 %"),
     (-0.35, "On average, a model trained on all files knows no more than")],
)  # fmt: skip
def test_a_model_that_knows_nothing_is_not_said_to_know_more(gain: float, words: str) -> None:
    risk = making.synthesizer().risk
    prediction = PredictionFindings(right=1.0, gain=gain, at_risk=3, threshold=0.3)
    own = making.synthesizer().model_copy(
        update={"risk": risk.model_copy(update={"prediction": prediction})}
    )
    said = section(making.findings([own]))
    assert words in said
    assert "3 of 100 records. That includes inference" in said
    assert ("-35 %" in said) is False


def test_one_drawing_has_all_attacks() -> None:
    findings = study(making.attack("row", 0.5), making.attack("row", -0.1, setting="as released"))
    points = attack_positions(findings, series_styles(findings))
    assert [(point.position, point.released) for point in points] == [(0.5, False), (-0.1, True)]
    svg = positions_svg(points, 0.25, 1.0, "p")
    assert svg is not None
    assert "believe the row, worst case, ONE: 0.50; believe the row, as released, ONE: -0.10" in svg
    assert all(f"var(--{zone})" in svg for zone in ("pass", "review", "fail"))
    assert positions_svg([], 0.25, 1.0, "p") is None


def test_all_files_stand_beside_four_baselines() -> None:
    html = section(making.findings(), "identification")
    start = html.index("<caption>One file, and all files together")
    header, *rows = rows_of(html[start : html.index("</table>", start)])
    assert header[-4:] == list(FOUR)
    assert all(len(row) == len(header) for row in rows)


def test_what_is_judged_and_what_is_only_shown() -> None:
    chains = making.chains()
    shown = QuantityRow(quantity="occupied_classes", rhat=1.3, ess_bulk=9.0, ess_tail=9.0,
                        converged=False, judged=False)  # fmt: skip
    both = chains.model_copy(update={"quantities": (*chains.quantities, shown)})
    html = section(making.findings([making.synthesizer(convergence=both)]), "convergence")
    assert html.index("Judged: what reaches the files") < html.index("Only shown:")
    assert html.index("Only shown:") < html.index("occupied classes")
    assert "Only shown:" not in section(making.findings(), "convergence")


def test_the_power_of_the_comparison_between_chains() -> None:
    """20 sets of four chains, half 1.7 from the other half: 0.81, and 0.52 over six rows."""
    assert power(20, 4, 1.7, 0.05) == pytest.approx(0.815, abs=0.001)
    assert power(20, 4, 1.7, 0.05 / 6) == pytest.approx(0.517, abs=0.001)
    assert power(20, 4, 0.0, 0.05) == pytest.approx(0.05)


def test_both_floors_stand_beside_the_distance_within_patterns() -> None:
    html = section(making.findings(), "within")
    rows = rows_of(html[html.index("<caption>Distance within patterns") :])
    assert rows[0] == ["Synthesizer", "Distance", "Resampled floor", "Truth floor", "Ratio"]
    assert rows[1] == ["ONE", "0.250", "0.140", "0.200", "1.25"]


def test_the_guarantee_of_a_formal_model_is_stated_with_what_it_hangs_on() -> None:
    """And never beside the local sensitivity of the others, from which nothing follows."""
    own = making.own_record(local_sensitivity=4.25)
    settings = {"epsilon": "100.0", "sets": "20"}
    formal = making.synthesizer(own_record=own, kind="formal", settings=settings)
    study = making.findings([formal])
    said = section(study)
    assert "The labels&#39; epsilon is 100.0 for 20 sets together. They are differentially" in said
    assert "no guarantee follows" not in said
    undeclared = study.data.model_copy(update={"undeclared": study.data.synthesized})
    said = section(study.model_copy(update={"data": undeclared}))
    assert "The guarantee does not hold yet" in said
    plain = section(making.findings([making.synthesizer(own_record=own)]))
    assert "Local sensitivity: 4.25" in plain
    assert "no guarantee follows" in plain
    assert "differentially private" not in plain
