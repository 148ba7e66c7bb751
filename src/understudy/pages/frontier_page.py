"""The page of a frontier: the picture first, then the numbers of every point. Confidential."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.frontier_schema import Choice, FrontierFindings, FrontierPoint
from understudy.pages.blocks import (
    LAST,
    Block,
    Bullets,
    Cell,
    Figure,
    Figures,
    Heading,
    Paragraph,
    Table,
    number_cell,
    rhat_cell,
    yes_cell,
)
from understudy.pages.html import page_script, render
from understudy.pages.plots.frontier_plot import anchor, frontier_svg
from understudy.pages.sections.own_record_section import local_sensitivity_words
from understudy.pages.sections.section_words import attack_words, guarantee_words
from understudy.summaries import counted, number, position_text, shown, whole

__all__ = ["frontier_page"]

PICTURE = "frontier"
READING = (
    "Further left, people's own records matter less; further down, tables are nearer to the "
    "original's. The star is a synthesizer that knows the population: as useful as a sample "
    "allows, and nobody's own record in it. The line joins the points that no other beats in "
    "both; faint points are beaten. Bars are two standard errors. Hollow points have chains that "
    "have not converged. A click on a point, or the enter key, leads to its numbers."
)
FORMAL = (
    "The dashed line is what a formal guarantee costs on these data, with the epsilon beside every "
    "point. {guarantee} All other points are measured, not proven."
)
ABOVE = (
    "Right of the pass limit, and passing: {names}. Their effect is above the limit by too few "
    "records to count, or no larger than that of the label's totals alone; they are "
    "outlined in green, and their numbers say which."
)
EVIDENCE = {
    "others": "weaker evidence: the other records of the pattern stand in for a release without "
    "the person",
    "control group": "people who were not in the synthesis",
    "draws": "the record left out of the fit's draws",
    "closed form": "exact",
}


def frontier_page(findings: FrontierFindings) -> str:
    """Write the page, which opens offline. Confidential."""
    return render(
        "frontier.html",
        title=f"Frontier: {shown(findings.title)}",
        about=f"{whole(findings.n_records)} records, {whole(findings.n_labels)} labels; "
        f"{counted(len(findings.points), 'point')}.",
        blocks=[*_first_screen(findings), *_all_points(findings), *_each_point(findings)],
        script=page_script(),
    )


def _first_screen(findings: FrontierFindings) -> list[Block]:
    svg = frontier_svg(findings, PICTURE)
    blocks: list[Block] = [Paragraph(_decision(findings), "decision")]
    blocks += [Figures([Figure(svg)])] if svg else []
    blocks.append(Paragraph(READING, "reading"))
    if any(point.measured.epsilon is not None for point in findings.points):
        words = FORMAL.format(guarantee=guarantee_words(findings.undeclared))
        blocks.append(Paragraph(words, "remark"))
    above = [point.name for point in findings.points if point.above]
    if above:
        blocks.append(Paragraph(ABOVE.format(names=", ".join(above)), "remark"))
    if findings.choices:
        blocks += [
            Heading("What was chosen"),
            Bullets([_chosen(findings, entry) for entry in findings.choices]),
        ]
    return blocks


def _chosen(findings: FrontierFindings, entry: Choice) -> str:
    gone = "" if findings.point(entry.point) else " (under other dials; not on this picture)"
    return f"{entry.point}{gone}: {shown(entry.because)}"


def _decision(findings: FrontierFindings) -> str:
    point = findings.point(findings.recommended)
    if point is None:
        return f"Recommended: none. {findings.why}"
    position = point.position or 0.0
    above = f" {point.above}, so it passes all the same." if point.above else ""
    return (
        f"Recommended: {point.name}. Its worst tables deviate "
        f"{number(point.measured.ratio, 0.01)} times as far as those of a synthesizer that "
        "knew the population; its worst own-record effect is "
        f"{position_text(position)} of the exact table's; the pass limit is "
        f"{findings.own_record_pass:g}.{above} {findings.why}"
    )


def _all_points(findings: FrontierFindings) -> list[Block]:
    rows = [_row(point) for point in (*findings.points, *findings.landmarks, *findings.beside)]
    orders = [f"{order}-way" for order in _orders(findings)]
    header = ["Point", "Own-record effect", "±", "Grade", "Tables, worst", "±", *orders,
              "Right labels", "Converged", "On the frontier"]  # fmt: skip
    note = (
        "Own-record effect: of the worst attack, as a share of the exact table's. Tables: "
        "deviation over that of a synthesizer that knew the population, in the worst order (1-way: "
        "one variable at a time). Right labels: expected "
        "records whose synthetic label is true. ± is one standard error. Pass (above): right of "
        "the limit by too few records to count."
    )
    return [Heading("All points"), Table("All points", header, rows, (0, 3), note=note)]


def _orders(findings: FrontierFindings) -> list[int]:
    return sorted({ratio.order for point in findings.points for ratio in point.measured.ratios})


def _row(point: FrontierPoint) -> list[Cell | str]:
    measured = point.measured
    plain = measured.group != "point"
    return [
        shown(measured.title) if plain else point.name,
        number_cell(point.position, 0.01),
        number_cell(point.position_error, digits=1),
        Cell(f"{point.outcome} (above)" if point.above else point.outcome, tone=point.outcome),
        number_cell(measured.ratio, 0.01),
        number_cell(measured.ratio_error, digits=1),
        *(number_cell(ratio.ratio, 0.01) for ratio in measured.ratios),
        number_cell(point.right_labels, 0.1),
        Cell("–", sort=LAST) if measured.converged is None else yes_cell(measured.converged),
        Cell("–", sort=LAST) if plain else Cell("" if point.dominated else "yes"),
    ]


def _each_point(findings: FrontierFindings) -> list[Block]:
    blocks: list[Block] = [Heading("The numbers of every point")]
    for point in (*findings.points, *findings.landmarks, *findings.beside):
        measured = point.measured
        title = point.name if measured.group == "point" else shown(measured.title)
        blocks.append(Heading(title, 3, anchor=f"{PICTURE}-{anchor(point)}"))
        above = f" Above the pass limit, and passing: {point.above}." if point.above else ""
        facts = _facts(point, findings.undeclared)
        blocks.append(Paragraph(f"The worst attack is {point.attack}.{above} {facts}"))
        blocks.append(_attacks(point))
        if measured.settings:
            rows = [[name, shown(value)] for name, value in measured.settings.items()]
            blocks.append(Table("Settings", ["Setting", "Value"], rows, (0, 1), folded=True))
    return blocks


def _facts(point: FrontierPoint, undeclared: Sequence[str]) -> str:
    measured, own = point.measured, point.measured.own_record
    evidence = EVIDENCE.get(own.evidence, own.evidence)
    facts = [f"{counted(measured.m, 'set')}. Without the person: {evidence}."]
    if own.unreliable:
        again = f"; {own.refitted:,} of these by fits without them" if measured.confirmed else ""
        facts.append(f"Weights cannot be trusted for {own.unreliable:,} records{again}.")
    if measured.epsilon is None:
        facts += local_sensitivity_words(own)
    if measured.converged is False:
        rhat = rhat_cell(measured.worst_rhat).text
        facts.append(
            f"The chains have not converged (largest R-hat {rhat}): another run may give other "
            "files. A study of this point runs longer chains; for longer ones here, give its dials "
            "more draws, such as fixed = { draws = 2000 }."
        )
    if measured.epsilon is not None:
        facts.append(f"Epsilon is {measured.epsilon:g} for all sets together.")
        facts.append(guarantee_words(undeclared))
    return " ".join(facts)


def _attacks(point: FrontierPoint) -> Table:
    rows: list[list[Cell | str]] = [
        [
            attack_words(attack),
            attack.setting,
            number_cell(attack.with_record, 0.1),
            number_cell(attack.without_record, 0.1),
            number_cell(attack.effect, attack.standard_error or 0.1),
            number_cell(attack.position, 0.01),
            number_cell(attack.position_error, digits=1),
        ]
        for attack in point.measured.own_record.attacks
    ]
    header = ["Attack", "Setting", "With", "Without", "Effect", "Own-record effect", "±"]
    return Table("Every attack", header, rows, (0, 1), folded=True)
