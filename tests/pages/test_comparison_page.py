"""The page of several studies: one picture, one table."""

from __future__ import annotations

import re

from understudy.findings.schema import Findings
from understudy.pages.comparison_page import comparison_page
from understudy.verdict.verdict import judge


def test_one_picture_has_the_synthesizers_of_all_studies(study: Findings) -> None:
    page = comparison_page([(name, study, judge(study)) for name in ("one", "two")])
    (picture,) = re.findall(r'<svg[^>]*role="img".*?</svg>', page, re.DOTALL)
    values = re.findall(r'data-v="([^"]*)"', picture)
    for name in ("one", "two"):
        for synthesizer in study.synthesizers:
            title = f"{name}: {synthesizer.title}"
            assert any(value.startswith(title) for value in values), title
    assert page.count("<tr") == 1 + 2 * len(study.synthesizers)
    assert "script-src 'sha256-" in page
