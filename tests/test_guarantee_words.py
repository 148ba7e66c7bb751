"""What may be called differentially private: the formal Dirichlet's files, on conditions."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import understudy as us
from tests.publishing.fake_study import APPROVAL, Study
from understudy.pages.sections.section_words import guarantee_words
from understudy.synthesis.registry import MODELS

ROOT = Path(__file__).resolve().parents[1]
CLAIM = re.compile(r"differential(?:ly)?[- ]priva", re.IGNORECASE)
DENIED = re.compile(r"\b(?:not?|nothing|none|nor|never|needs?)\b", re.IGNORECASE)
# Files of the program that may speak of it, and how often; a new text belongs into guarantee_words.
SOURCES = {
    "pages/sections/section_words.py": 3,
    "publishing/public_pages.py": 3,
    "synthesis/formal_dirichlet.py": 2,
    "synthesis/registry.py": 2,
    "synthesis/risk_weights.py": 1,
}


def joined(text: str) -> str:
    """Text with its line breaks, quotes and marks of comments as single spaces."""
    return re.sub(r"[\s\"'#*_]+", " ", text)


def test_the_program_speaks_of_it_in_a_few_texts_only() -> None:
    source = ROOT / "src" / "understudy"
    mentions = Counter(
        {
            path.relative_to(source).as_posix(): len(CLAIM.findall(joined(path.read_text("utf-8"))))
            for path in source.rglob("*")
            if path.suffix in {".py", ".html", ".js", ".toml"}
        }
    )
    assert {name: number for name, number in mentions.items() if number} == SOURCES


def test_pages_of_the_documentation_say_it_of_the_formal_dirichlet_alone() -> None:
    pages = [
        *ROOT.glob("*.md"),
        *(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts),
        *(ROOT / "examples").rglob("*.toml"),
    ]
    seen = 0
    for page in pages:
        for paragraph in re.split(r"\n\s*(?:\n|- )", page.read_text("utf-8")):
            if CLAIM.search(joined(paragraph)):
                seen += 1
                assert re.search("formal", paragraph, re.IGNORECASE) or DENIED.search(paragraph), (
                    f"{page.relative_to(ROOT)}: {joined(paragraph)[:200]}"
                )
    assert seen


@pytest.mark.parametrize("kind", [*MODELS, "another"])
@pytest.mark.parametrize("drawn", [True, False])
def test_the_public_page_says_it_where_the_seed_was_drawn(
    kind: str, drawn: bool, tmp_path: Path
) -> None:
    study = Study(tmp_path / "study", kind=kind)
    if not drawn:
        study.seed_from = "user"
    study.seal()
    us.release(study.folder, tmp_path / "public", APPROVAL, guessable_seed=not drawn)
    page = " ".join((tmp_path / "public" / "methods.html").read_text("utf-8").split())
    claims = CLAIM.findall(page)
    assert len(claims) == 1
    claimed = "synthetic values are differentially private" in page
    assert claimed == (kind == "formal" and drawn)
    assert claimed != ("are not differentially private" in page)


def test_without_declared_levels_the_guarantee_does_not_hold() -> None:
    assert guarantee_words([]).startswith("They are differentially private")
    assert guarantee_words(["town"]).startswith("The guarantee does not hold yet: levels of town")
