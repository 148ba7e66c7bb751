"""What survey weights and columns that pass through add to what is measured on files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from understudy.findings.data import passed_findings
from understudy.findings.survey_schema import PassedFindings
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk.population import PopulationRisk, population_risk
from understudy.utility.weighted_utility import WeightedUtility, weighted_utility

__all__ = ["SurveyMeasures", "survey_measures"]


class SurveyMeasures(NamedTuple):
    """What is measured where a weight or columns that pass through were named."""

    weighted: WeightedUtility | None
    population: list[PopulationRisk]  # by intruder
    passed: tuple[PassedFindings, ...]
    made_unique: int  # records that share their kept variables, and are alone with what passes


def survey_measures(
    data: Microdata,
    sets: SyntheticSets,
    intruders: Sequence[tuple[str, ...]],
    seed: int | None,
) -> SurveyMeasures:
    """Measure weighted utility, population uniques, and what columns that pass through add."""
    passed = passed_findings(data)
    weighted, population = None, []
    if data.survey is not None:
        weighted = weighted_utility(data, sets, rule=sets.combining_rule, seed=seed)
        population = [population_risk(data, known) for known in intruders if known]
    return SurveyMeasures(
        weighted, population, passed.get("passed", ()), passed.get("passed_unique", 0)
    )
