"""How the documentation is built; neither building nor reading it needs a network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx

import understudy

project = "understudy"
author = "The understudy developers"
copyright = "2026, The understudy developers"
release = understudy.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "understudy"
html_math_renderer = "mathml"
exclude_patterns = ["_build"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "any"
suppress_warnings = ["ref.any"]


def inline_math(translator: Any, node: nodes.Element) -> None:
    """Write a formula inside a line as MathML, which browsers set themselves."""
    translator.body.append(convert(node.astext(), display="inline"))
    raise nodes.SkipNode


def block_math(translator: Any, node: nodes.Element) -> None:
    """Write a formula on a line of its own as MathML."""
    translator.body.append(f'<div class="formula">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    """Register the renderer of formulas."""
    app.add_html_math_renderer("mathml", (inline_math, None), (block_math, None))
