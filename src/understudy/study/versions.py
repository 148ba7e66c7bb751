"""The versions that results depend on: with others a study does not go on."""

from __future__ import annotations

import platform
from importlib.metadata import version

import understudy

__all__ = ["versions"]

LIBRARIES = ("numpy", "numba", "polars", "scipy")


def versions() -> dict[str, str]:
    """Name the versions that results depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    libraries = {name: version(name) for name in LIBRARIES}
    return {"understudy": understudy.__version__, "python": python, **libraries}
