"""Blocks as HTML: one environment, one stylesheet, pages that open offline and ask for nothing.

Every text is escaped by the templates; drawings are escaped where they are made. A page runs only
the script that it carries, named by its digest in the content security policy.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from understudy.pages.blocks import Block
from understudy.synthesis.registry import MODELS
from understudy.templates import templates_in

__all__ = ["html_page", "page_script", "render"]

TEMPLATES = Path(__file__).parent / "templates"


def html_page(title: str, blocks: Sequence[Block], script: str = "") -> str:
    """Write a whole page that needs nothing from elsewhere and runs this script, or nothing."""
    return render("document.html", title=title, blocks=blocks, script=script)


def page_script() -> str:
    """Give the script of confidential pages: sorted tables, values of the marks pointed at."""
    return (TEMPLATES / "script.js").read_text(encoding="utf-8")


def render(template: str, **values: Any) -> str:
    """Fill one of the templates."""
    filled: str = _environment().get_template(template).render(values)
    return filled


@cache
def _environment() -> Any:
    environment = templates_in(TEMPLATES)
    environment.filters |= {"kind": _kind, "digest": _digest, "base64": _base64}
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    environment.globals["style"] = _model_colours() + style
    return environment


def _model_colours() -> str:
    """Write the colours of all models as variables of the page: light, dark, and on paper."""
    light, dark = (
        " ".join(f"--{name}: {model.colours[scheme]};" for name, model in MODELS.items())
        for scheme in (0, 1)
    )
    return (
        f":root {{ {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"@media print {{ :root {{ {light} }} }}\n"
    )


def _kind(block: Block) -> str:
    return type(block).__name__


def _digest(script: str) -> str:
    """Name a script in a content security policy."""
    return "sha256-" + _base64(hashlib.sha256(script.encode("utf-8")).digest())


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
