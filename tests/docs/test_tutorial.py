"""The tutorial, run as it stands: every prompt in it, and what it shows."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROMPTS = re.compile(r"^```pycon\n(.*?)^```", re.M | re.S)


def test_the_tutorial_runs_as_it_stands() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = PROMPTS.findall(text)
    assert len(blocks) >= 8
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "tutorial", None, 0)
    said: list[str] = []
    failed, tried = doctest.DocTestRunner(optionflags=options).run(test, out=said.append)
    assert tried >= 20
    assert failed == 0, "".join(said)
