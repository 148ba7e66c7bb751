"""How the documentation is built; it needs no network."""

import understudy

project = "understudy"
author = "The understudy developers"
copyright = "2026, The understudy developers"
release = understudy.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
html_theme = "furo"
html_title = "understudy"
exclude_patterns = ["_build"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True
default_role = "any"
nitpicky = False
suppress_warnings = ["ref.any", "myst.header"]
mathjax_path = ""
