"""HTML comes from templates, in one way: every text is escaped, and a name that is missing fails.

Each folder that shows HTML has its templates beside it: pages and what notebooks show.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["templates_in"]


@cache
def templates_in(folder: Path) -> Environment:
    """Give the environment of the templates in a folder; there is one for each."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
