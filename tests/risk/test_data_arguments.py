"""Wrong kinds of values are refused before anything is computed, in one grammar, never shown."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.risk.example_surveys import microdata

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.label_table import uniform_labels
from understudy.microdata.table import SyntheticSets

DATA = microdata({"sex": [0, 0, 1]}, {"town": [0, 1, 1]}, {"sex": 2, "town": 2})
SETS = SyntheticSets(DATA, DATA.codes("town")[None, :, None])
FRAME: Any = SETS[0]
TABLE = uniform_labels(DATA)
FIVE: Any = 5
NOTHING: Any = None
POSTERIOR = us.posterior_risk(DATA, [TABLE], "sex")
LATTICE = us.risk_lattice(DATA, SETS)

WRONG: dict[str, Callable[[], object]] = {
    "levels of a frame": lambda: us.inherent_risk(FRAME, "sex"),
    "expected of a frame": lambda: us.expected_risk(FRAME, TABLE, "sex"),
    "posterior of a frame": lambda: us.posterior_risk(FRAME, [TABLE], "sex"),
    "attribution of a frame": lambda: us.attribution_risk(FRAME, SETS, "sex", "town"),
    "identification of a frame": lambda: us.identification_risk(FRAME, SETS, "sex"),
    "attribute of a frame": lambda: us.attribute_risk(FRAME, SETS),
    "lattice of a frame": lambda: us.risk_lattice(FRAME, SETS),
    "no table": lambda: us.expected_risk(DATA, NOTHING, "sex"),
    "no tables": lambda: us.posterior_risk(DATA, NOTHING, "sex"),
    "a number of tables": lambda: us.posterior_risk(DATA, FIVE, "sex"),
    "numbers for tables": lambda: us.posterior_risk(DATA, [FIVE], "sex"),
    "one table": lambda: us.posterior_risk(DATA, TABLE, "sex"),  # type: ignore[arg-type]
    "sets as a number": lambda: us.attribution_risk(DATA, FIVE, "sex", "town"),
}
WRONG_SETTINGS: dict[str, Callable[[], object]] = {
    "threshold as text": lambda: LATTICE.least_knowledge("x"),  # type: ignore[arg-type]
    "no threshold": lambda: LATTICE.least_knowledge(NOTHING),
    "threshold that is no number": lambda: LATTICE.least_knowledge(float("nan")),
    "probability as text": lambda: POSTERIOR.interval("true_matches", "x"),  # type: ignore[arg-type]
    "keys as a number": lambda: us.attribution_risk(DATA, SETS, FIVE, "town"),
    "a number among keys": lambda: us.attribution_risk(DATA, SETS, [FIVE], "town"),
    "no target": lambda: us.attribution_risk(DATA, SETS, "sex", NOTHING),
    "knowledge as a number": lambda: us.expected_risk(DATA, TABLE, FIVE),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_data_are_refused(case: str) -> None:
    with pytest.raises(InputError, match=r"of type .* What to do: ") as caught:
        WRONG[case]()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("case", WRONG_SETTINGS)
def test_wrong_settings_are_refused(case: str) -> None:
    with pytest.raises(SettingError, match=r"of type .* What to do: "):
        WRONG_SETTINGS[case]()
