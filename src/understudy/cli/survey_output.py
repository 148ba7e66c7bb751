"""What survey weights and columns that pass through add to ``understudy evaluate``."""

from __future__ import annotations

from typing import Any

from understudy.cli.output import paragraph, say
from understudy.errors import quoted_list
from understudy.study.evaluation import SurveyMeasures

__all__ = ["show_survey", "survey_json"]


def show_survey(measures: SurveyMeasures) -> None:
    """Print it all."""
    for risk in measures.population:
        say()
        say(str(risk))
    if measures.weighted is not None:
        say()
        say(str(measures.weighted))
    if measures.passed:
        say()
        names = quoted_list([column.name for column in measures.passed])
        say(
            paragraph(
                f"Passed through unchanged: {names}. With them {measures.made_unique:,} records "
                "are alone that share all of their kept variables with others."
            )
        )
    for column in measures.passed:
        if column.decides:
            say(paragraph(f"{quoted_list([column.name])} all but decides what is synthesized."))


def survey_json(measures: SurveyMeasures) -> dict[str, Any]:
    """Give it all as JSON."""
    content: dict[str, Any] = {}
    if measures.weighted is not None:
        weighted = measures.weighted
        content["weighted"] = {
            "tables": {
                f"{order}-way": {"deviation": value, "truth_floor": weighted.truth_floor[order]}
                for order, value in weighted.deviation.items()
            },
            "mean_overlap_of_shares": weighted.mean_overlap,
        }
        content["population"] = [
            {
                "known": list(risk.known),
                "people": risk.population,
                "sample_uniques": risk.sample_uniques,
                "population_uniques": risk.population_uniques,
                "expected_matches": risk.expected_matches,
            }
            for risk in measures.population
        ]
    if measures.passed:
        content["passed_through"] = {
            "columns": [column.model_dump() for column in measures.passed],
            "made_unique": measures.made_unique,
        }
    return content
