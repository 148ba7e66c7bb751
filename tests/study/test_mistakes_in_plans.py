"""Mistakes in a plan are told before the first fit, all at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.studies import run_quietly
from tests.study.conftest import Counted

from understudy.errors import (
    SettingError,
)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('[[analyses]]\nformula = "age ~ contry"\n', 'nearest: "county"'),
        (
            '[[analyses]]\nformula = "age ~ county"\nreference = { county = "nowhere" }\n',
            "a reference level",
        ),
        ('[[intruders]]\nknown = ["county"]\n', "is synthesized"),
        (
            '[[synthesizers]]\nmodel = "dpmpm"\nname = "few"\nchains = 1\ndraws = 4\n',
            "as many draws",
        ),
    ],
)
def test_mistakes_are_told_before_the_first_fit(
    plan: Path, tmp_path: Path, counted: Counted, more: str, says: str
) -> None:
    plan.write_text(plan.read_text().replace("sets = 2", "sets = 5") + more)
    with pytest.raises(SettingError, match=says):
        run_quietly(plan, tmp_path / "out")
    assert counted == {}
    assert not (tmp_path / "out").exists()


def test_all_mistakes_are_told_at_once(plan: Path, tmp_path: Path, counted: Counted) -> None:
    """Also two in what one intruder knows; each with its place in the plan."""
    text = plan.read_text().replace('known = ["gender"]', 'known = ["county", "gendr", "age"]')
    text += '[[analyses]]\nformula = "age ~ contry"\n[[analyses]]\nformula = "age ~ gender"\n'
    plan.write_text(text.replace("draws = 8", "draws = 4").replace("sets = 2", "sets = 9"))
    with pytest.raises(SettingError, match="4 mistakes") as caught:
        run_quietly(plan, tmp_path / "out")
    for part in ("is synthesized", 'nearest: "gender"', 'nearest: "county"', "of 4 draws",
                 "intruders[1].known", "analyses[1].formula", "synthesizer dpmpm"):  # fmt: skip
        assert part in str(caught.value), part
    assert "analyses[2]" not in str(caught.value)
    assert counted == {}
