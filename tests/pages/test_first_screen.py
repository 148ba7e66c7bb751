"""The first screen: what is left to decide, what to do, and two strips with their zones."""

from __future__ import annotations

import re
from html import unescape

import pytest
from tests import findings_factory as making

from understudy.findings.schema import Findings, FullySyntheticFindings
from understudy.pages.plots.canvas import series_styles
from understudy.pages.plots.strips import Strip, limit_ticks, strip_svg, zone_of
from understudy.pages.report import page
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import judge


def written(findings: Findings, limits: Thresholds | None = None) -> str:
    """Write the page."""
    return page(findings, judge(findings, limits))


def first_words(html: str) -> str:
    """Give the words of the verdict's section."""
    start = html.index('<section class="verdict"')
    section = html[start : html.index("</section>", start)]
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", section).split()))


def study(*positions: float, error: float = 0.0) -> Findings:
    """Make a study of synthesizers whose worst attacks lie at these positions."""
    return making.findings(
        [
            making.synthesizer(
                name,
                own_record=making.own_record(making.attack("row", position, error=error)),
            )
            for name, position in zip("abcd", positions, strict=False)
        ]
    )


@pytest.mark.parametrize(
    ("position", "decision", "action", "zone"),
    [
        (0.25, "nothing is left for the board", "Recommended: A. Release its sets.", "pass"),
        (
            0.5,
            "The board decides 1 point: own-record effect.",
            "A. Release its sets if the board agrees",
            "review",
        ),
        (
            1.5,
            "No release. 1 point fails: own-record effect.",
            "release none of these sets",
            "fail",
        ),
    ],
)
def test_the_decision_and_the_action(
    position: float, decision: str, action: str, zone: str
) -> None:
    html = written(study(position))
    words = first_words(html)
    assert decision in words
    assert action in words
    assert f'<p class="outcome {zone}"><svg class="icon"' in html
    assert f"in the zone “{zone}”" in html


def test_several_points_are_counted() -> None:
    findings = study(0.5)
    data = findings.data.model_copy(update={"codebook_declared": False})
    words = first_words(written(findings.model_copy(update={"data": data})))
    assert "No release. 1 point fails: codebook." in words
    repeated = study(0.5).model_copy(update={"runs": 2, "runs_of_data": 2})
    decided = "The board decides 2 points: runs and own-record effect."
    assert decided in first_words(written(repeated))


def test_natural_frequencies_come_with_the_risk() -> None:
    words = first_words(written(study(0.5)))
    assert "40 of 100 right, 40 %; 20 without anybody's own record." in words


def test_strips_show_the_recommended_synthesizer_and_others_are_folded() -> None:
    html = written(study(1.5, 0.1))
    words = first_words(html)
    assert "Risk: B, worst attack" in words
    assert "Risk: A, worst attack" not in words
    assert html.count('<details class="other">') == 1
    assert "A fail fails on own-record effect" in words
    alike = first_words(written(study(0.1, 0.1)))
    assert "B pass preserves the tables less well" in alike
    findings = study(0.1, 0.1)
    small = findings.data.model_copy(update={"codebook_reviewed": False})
    both = first_words(written(findings.model_copy(update={"data": small})))
    assert "B review no points of its own, but preserves the tables less well" in both


def test_the_error_bar_is_described_where_there_is_one() -> None:
    assert "standard error 0.1" in written(study(0.5, error=4.0))
    assert "standard error" not in first_words(written(study(0.5)))


@pytest.mark.parametrize(("value", "zone"), [(0.25, "pass"), (0.26, "review"), (1.0, "review"),
                                             (1.01, "fail")])  # fmt: skip
def test_zones_from_both_sides(value: float, zone: str) -> None:
    assert zone_of(value, 0.25, 1.0) == zone


def test_numbers_of_ticks_keep_apart() -> None:
    """Limits where they fit; where an axis reaches far beyond them, round numbers too."""
    assert limit_ticks((0.25, 1.0, 0.0), -0.1, 1.4, 0.11) == [0.0, 0.25, 1.0]
    assert limit_ticks((0.25, 1.0, 0.0), -30.0, 6.0, 0.11) == [-30.0, -20.0, -10.0, 0.25]
    assert limit_ticks((1.0, 1.0, 0.0), 0.0, 2.0, 0.11) == [0.0, 1.0]
    wide = strip_svg(
        Strip("t", "x", -0.2, 3.0, 0.25, 1.0), series_styles(making.findings())[0], "n"
    )
    assert ">0.25<" in wide
    assert ">0<" not in wide
    assert ">−5<" in wide


def test_an_empty_zone_is_not_drawn() -> None:
    style = series_styles(making.findings())[0]
    both, passing, none = (
        strip_svg(Strip("t", "x", 0.5, None, low, high), style, "n").count("fill-opacity")
        or strip_svg(Strip("t", "x", 0.5, None, low, high), style, "n").count("opacity: 0.14")
        for low, high in ((0.25, 1.0), (1.0, 1.0), (0.0, 0.0))
    )
    assert both > passing > none > 0


def test_the_utility_strip_takes_the_worst_tables() -> None:
    findings = making.findings([making.synthesizer(tables=making.tables(1.4))])
    words = first_words(written(findings))
    assert "tables deviate 1.40 times as far as those of a synthesizer that knew" in words


def fully_synthetic(repeated: float) -> Findings:
    """Make fully synthetic sets that repeat so many unique records, where chance repeats ten."""
    risk = FullySyntheticFindings(
        uniques=60,
        repeated=repeated,
        repeated_somewhere=48,
        expected_repeats={"Marginal": 4.0, "Others": 10.0},
    )
    guess = making.attack("row", 0.1, setting="as released").model_copy(
        update={"attack": "guess", "words": "guess 'town' from the other variables, all files"}
    )
    synthesizer = making.synthesizer(
        identification=(),
        attribute=None,
        own_record=making.own_record(guess, evidence="others"),
        fully_synthetic_risk=risk,
    )
    return making.findings([synthesizer.model_copy(update={"fully_synthetic": True})])


@pytest.mark.parametrize(("repeated", "zone"), [(12.0, "pass"), (12.5, "review"), (23.0, "fail")])
def test_fully_synthetic_files_have_a_strip_and_a_table(repeated: float, zone: str) -> None:
    """The strip is about guesses; records that are repeated may decide all the same."""
    html = written(fully_synthetic(repeated))
    assert f'<p class="outcome {zone}">' in html
    assert "Guess 'town' from the other variables" in html.replace("&#39;", "'")
    assert "Unique records in the sets of ONE" in html
    start = html.index("<caption>Unique records in the sets of ONE")
    row = re.sub(r"<[^>]*>", " ", html[start : html.index("</table>", start)]).split()
    assert row[-5:] == ["60", f"{repeated:g}", "48", "4", "10"]


def test_no_risk_is_said() -> None:
    synthesizer = making.synthesizer(identification=(), attribute=None, own_record=None)
    words = first_words(written(making.findings([synthesizer])))
    assert "No risk was measured about these sets." in words
    assert "Do not release" in words
    assert "No risk was measured about these sets" not in first_words(written(study(0.1)))
