"""The tutorial, run as it stands: every prompt in it, and what it shows."""

from __future__ import annotations

import doctest
import re
import shlex
import webbrowser
from pathlib import Path

import pytest
from tests.conftest import Command

ROOT = Path(__file__).parent.parent.parent
SHORT = """
[[synthesizers]]
model = "backoff"
chains = 2
warmup = 5
draws = 10
thin = 1
"""
SHORTER = {
    "sets = 20\n": "sets = 2\n",
    'repeats = "auto"': "repeats = 1",
    "refits = 1": "refits = 0",
}
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


def test_the_first_ten_minutes_run_as_they_stand(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commands in their order, with a shorter fit of the model that the plan has."""
    text = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    part = text[text.index("## The first ten minutes") : text.index("## 1.")]
    lines = [shlex.split(line, comments=True) for line in re.findall(r"^    (.+)$", part, re.M)]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(webbrowser, "open", lambda _: True)
    (python, _, program), *commands = filter(None, lines)
    assert python == "python"
    exec(program, {})  # noqa: S102 - our own line
    codes = []
    for name, *arguments in commands:
        assert name == "understudy"
        codes.append(command(*arguments).code)
        if arguments[0] == "init":
            plan, text = Path("plan.toml"), Path("plan.toml").read_text()
            for long, short in SHORTER.items():
                assert long in text
                text = text.replace(long, short, 1)
            plan.write_text(text + SHORT)
    assert [arguments[1] for arguments in commands] == ["check", "init", "run", "open"]
    assert codes[:2] == [0, 0]
    assert codes[2] in {0, 1}
    assert codes[3] == 0
    assert (tmp_path / "study" / "internal" / "report.html").is_file()
