"""Compiling loops, on any machine: where nothing may be cached, they are compiled anew.

Compiled code is kept beside the package, or in the user's cache folder. On a locked-down server
neither may be writable; then each run compiles what it needs, which takes a few seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit

__all__ = ["compiled"]


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, free of Python's lock, cached where possible.

    A compiled function and whatever of ours it uses must lie in one file, since the cache does not
    notice changes in other files; a test of the architecture holds that.
    """
    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no folder for a cache is writable
        return njit(nogil=True)(function)
