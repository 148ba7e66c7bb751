"""The page: findings and a verdict in, one self-contained HTML text out.

It opens offline, asks for nothing from anywhere and runs only the script it carries. What comes
from the data (names, levels, formulas, titles) passes `understudy.summaries.shown` and the
template's escaping; drawings are escaped where they are made. Same findings, same bytes.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.findings.schema import Findings, IntruderFindings, Spread, SynthesizerFindings
from understudy.pages.blocks import (
    Cell,
    Column,
    Section,
    Table,
    number_cell,
    percent_cell,
    text_cell,
)
from understudy.pages.sections.convergence import convergence_section, settings_section
from understudy.pages.sections.decision import grouped_reasons, verdict_words
from understudy.pages.sections.risk_section import (
    attribute_section,
    identification_section,
    identified,
    joint_section,
)
from understudy.pages.sections.risk_utility_map import map_section
from understudy.pages.sections.riskiest_people import bearers_section
from understudy.pages.sections.utility_section import (
    regression_section,
    tables_section,
    unconverged,
)
from understudy.pages.sections.within_section import within_section
from understudy.summaries import shown, whole
from understudy.synthesis.registry import MODELS
from understudy.verdict.grading import level_figure, table_ratios
from understudy.verdict.verdict import Verdict

__all__ = ["page"]

TEMPLATES = Path(__file__).parent / "templates"
WORDS = {"pass": "Pass", "review": "Review", "fail": "Do not release"}


def page(findings: Findings, verdict: Verdict) -> str:
    """Set the report.

    Parameters
    ----------
    findings : Findings
        What the study found.
    verdict : Verdict
        What was decided about it.

    Returns
    -------
    str
        A whole HTML page. Confidential.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(_view(findings, verdict))


def _view(findings: Findings, verdict: Verdict) -> dict[str, Any]:
    script = (TEMPLATES / "script.js").read_text(encoding="utf-8")
    return {
        "title": shown(findings.title),
        "about": _about(findings),
        "verdict": verdict,
        "verdict_word": WORDS[verdict.outcome],
        "verdict_words": verdict_words(findings, verdict),
        "unconverged": unconverged(findings),
        "groups": grouped_reasons(findings, verdict),
        "overview": _overview(findings, verdict),
        "sections": _sections(findings, verdict),
        "foot": "Made by understudy from the findings of this study alone; the page asks for "
        "nothing from anywhere. Confidential: keep it where the data are kept.",
        "style": _model_colours() + (TEMPLATES / "style.css").read_text(encoding="utf-8"),
        "script": script,
        "script_hash": _digest(script),
    }


def _model_colours() -> str:
    """Write the colours of all models as variables of the page: light, dark, and on paper."""
    light, dark = (
        " ".join(f"--{name}: {model.colours[index]};" for name, model in MODELS.items())
        for index in (0, 1)
    )
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"@media print {{ :root {{ {light} }} }}\n"
    )


def _digest(script: str) -> str:
    """Name a script in a content security policy."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return "sha256-" + base64.b64encode(digest).decode("ascii")


def _sections(findings: Findings, verdict: Verdict) -> list[Section]:
    found: Sequence[Section | None] = [
        map_section(findings),
        convergence_section(findings),
        tables_section(findings),
        regression_section(findings),
        within_section(findings, verdict.thresholds.smallest_pattern),
        identification_section(findings) if findings.intruders else None,
        attribute_section(findings),
        joint_section(findings, verdict.thresholds),
        bearers_section(findings),
        settings_section(findings, verdict.thresholds),
    ]
    return [one for one in found if one is not None]


def _about(findings: Findings) -> str:
    data = findings.data
    drawn = " and ".join(shown(name) for name in data.synthesized)
    kept = ", ".join(shown(name) for name in data.kept) or "nothing"
    sets = sorted({one.m for one in findings.synthesizers})
    number = " or ".join(map(str, sets)) or "no"
    return (
        f"{whole(data.n_records)} records; {drawn} synthesized ({whole(data.n_labels)} labels), "
        f"{kept} kept ({whole(data.n_patterns or len(data.patterns))} patterns); {number} "
        "synthetic sets from each synthesizer."
    )


def _overview(findings: Findings, verdict: Verdict) -> Table:
    """The study in one table: Min, every synthesizer, Max."""
    every = findings.synthesizers
    columns = [Column("Measure", numeric=False), Column("Min")]
    columns += [Column(shown(one.title)) for one in every] + [Column("Max")]
    rows = [[text_cell("Outcome"), Cell(""), *(_outcome(one, verdict) for one in every), Cell("")]]
    rows += _utility_rows(every)
    for intruder in findings.intruders:
        known = ", ".join(map(shown, intruder.known))
        found = [identified(one, intruder) for one in every]
        rows.append(
            _risk_row(
                f"Expected match risk, known: {known}",
                intruder,
                "expected_match_risk",
                [two.measures["expected_match_risk"] if two else None for two in found],
            )
        )
        rows.append(
            _risk_row(
                f"Expected match risk of all files together, known: {known}",
                intruder,
                "expected_match_risk",
                [two.joint.get("expected_match_risk") if two else None for two in found],
                joint=True,
            )
        )
    if findings.intruders:
        rows += _attribute_rows(findings)
    return Table(
        "The study in one table",
        columns,
        rows,
        note="Min and Max are reference levels of the confidential data, not bounds. A ratio of 1 "
        "is what a perfect synthesizer reaches.",
    )


def _outcome(one: SynthesizerFindings, verdict: Verdict) -> Cell:
    outcome = verdict.synthesizers[one.name].outcome
    return Cell(outcome, tone=outcome)


def _utility_rows(every: Sequence[SynthesizerFindings]) -> list[list[Cell]]:
    rows = []
    ratios = [dict(table_ratios(one)) for one in every]
    for order in sorted({order for found in ratios for order in found}):
        row = [text_cell(f"Deviation of {order}-way tables, ratio to noise floor"), Cell("")]
        rows.append([*row, *(number_cell(found.get(order), 0.1) for found in ratios), Cell("1.00")])
    overlaps = [[found.mean_overlap for found in one.utility.regressions] for one in every]
    if any(overlaps):
        cells = [
            percent_cell(next((value for value in found if value is not None), None))
            for found in overlaps
        ]
        floors = [found.overlap_floor for one in every for found in one.utility.regressions]
        best = percent_cell(next((value for value in floors if value is not None), None))
        rows.append([text_cell("Interval overlap of the regression"), Cell(""), *cells, best])
    return rows


def _risk_row(
    words: str,
    intruder: IntruderFindings,
    measure: str,
    found: Sequence[Spread | float | None],
    joint: bool = False,
) -> list[Cell]:
    """One risk between its levels, all with as many digits."""
    errors = [one.standard_error for one in found if isinstance(one, Spread)]
    error = min((one for one in errors if one), default=None)
    low = level_figure(intruder.minimum, measure, joint)
    high = level_figure(intruder.maximum, measure, joint)
    figures = [one.mean if isinstance(one, Spread) else one for one in found]
    return [text_cell(words), *(number_cell(one, error) for one in (low, *figures, high))]


def _attribute_rows(findings: Findings) -> list[list[Cell]]:
    levels = findings.intruders[0]  # the label's levels are the same for all
    found = [one.risk.attribute for one in findings.synthesizers]
    words, measure = "Records whose label is the true one", "attribute_matches"
    return [
        _risk_row(words, levels, measure, [one.matches if one else None for one in found]),
        _risk_row(
            f"{words}, by vote over all files",
            levels,
            measure,
            [one.joint_matches if one else None for one in found],
            joint=True,
        ),
    ]
