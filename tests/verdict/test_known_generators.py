"""Sets of known quality through the whole verdict: the small version of a benchmark.

``benchmarks/verdicts.py`` does it with 50 seeds, models and real data.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest
from benchmarks.verdicts import Generator, KnownTable, line, made_findings
from tests.risk.example_surveys import microdata
from tests.risk.saturated_fit import SaturatedFit

import understudy as us
from understudy.microdata.label_table import LabelTable
from understudy.randomness import stream
from understudy.verdict.verdict import judge

pytestmark = pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")

N, TOWNS, SETS, SEEDS = 600, 12, 5, (1, 2)
KNOWN = (("sex",), ("sex", "age"))


class Drawing(SaturatedFit):
    """A model whose posterior is known, that draws sets."""

    def synthesize(self, m: int, seed: int) -> us.SyntheticSets:
        """Draw a set from each of the first posterior draws."""
        tables = islice(self.label_tables(), m)
        drawn = [table.draw(stream(seed, index), self.data) for index, table in enumerate(tables)]
        return us.SyntheticSets(self.data, np.stack(drawn)[:, :, None])


def truth() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Draw a town's probability in each of six patterns, (pattern, town)."""
    score = np.linspace(0, 2, TOWNS) + stream(3, "truth").normal(0, 0.5, (6, TOWNS))
    weight = np.exp(score)
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


@pytest.fixture(scope="module")
def survey() -> us.Microdata:
    generator = stream(4, "survey")
    pattern = generator.integers(0, 6, N)
    town = [int(generator.choice(TOWNS, p=truth()[row])) for row in pattern]
    kept = {"sex": (pattern // 3).tolist(), "age": (pattern % 3).tolist()}
    return microdata(kept, {"town": town}, {"sex": 2, "age": 3, "town": TOWNS})


def outcomes(name: str, data: us.Microdata, given: Any = None, **more: Any) -> list[dict[str, Any]]:
    """Judge the sets of a few seeds."""
    generator = Generator(name, data, KNOWN, given=given, **more)
    judged = []
    for seed in SEEDS:
        findings = made_findings(generator, seed, SETS, effects=2)
        judged.append(line(generator, findings, judge(findings)))
    return judged


@pytest.mark.parametrize("name", ["uniform", "marginal", "truth"])
def test_labels_that_hold_nobodys_record_pass_on_risk(survey: us.Microdata, name: str) -> None:
    given = None
    if name == "truth":
        given = KnownTable(survey, LabelTable(truth(), survey.patterns.of_combination))
    judged = outcomes(name, survey, given)
    assert [row["risk"] for row in judged] == ["pass"] * len(SEEDS)
    assert all(abs(row["row"]) < 0.25 for row in judged)


def test_the_exact_table_does_not_pass(survey: us.Microdata) -> None:
    judged = outcomes("perfect", survey)
    assert {row["risk"] for row in judged} <= {"review", "fail"}
    assert all(row["row"] == pytest.approx(1) for row in judged)


def test_the_original_fails_always(survey: us.Microdata) -> None:
    judged = outcomes("original", survey, evidence="files")
    assert [row["verdict"] for row in judged] == ["fail"] * len(SEEDS)
    assert {row["attack"] for row in judged} <= {"row", "vote"}


def test_a_model_that_copies_labels_is_caught(
    survey: us.Microdata,
) -> None:
    """A prior of 480 invented records in patterns of 100: a sixth of the exact table's effect."""
    smooth = outcomes("smooth", survey, Drawing(survey, 40.0, 400))
    leaking = outcomes("leaking", survey, Drawing(survey, 40.0, 400, leak=0.3))
    assert all(row["row"] == pytest.approx(1 / 6, abs=0.05) for row in smooth)
    assert {row["risk"] for row in leaking} == {"fail"}
    assert all(row["position"] > 2 for row in leaking)
