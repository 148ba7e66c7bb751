"""Compiling loops, on any machine: where nothing may be cached, they are compiled anew.

Compiled code is kept beside the package, or in the user's cache folder. On a locked-down server
neither may be writable; then each run compiles what it needs, and a warning says so once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache

from understudy.errors import UnderstudyWarning

__all__ = ["compiled"]

OPTIONS: dict[str, Any] = {
    "nogil": True,
    "no_cfunc_wrapper": True,  # nobody calls them from C, and a wrapper each takes time to compile
}


class CompiledCache(FunctionCache):
    """Compiled code in files; one that cannot be read is forgotten, and the function compiled anew.

    Numba reads all of an index before it asks whether the index is still good, and fails where a
    class in it has moved to another module since, or where a power cut left half a file.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Give the code for these types of arguments, or None."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - what unpickling a damaged file raises has no bounds
            self.flush()
            return None


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, free of Python's lock, cached where possible.

    A compiled function and whatever of ours it uses must lie in one file, since the cache does not
    notice changes in other files; a test of the architecture holds that.
    """
    made: Any = njit(**OPTIONS)(function)
    try:
        made._cache = CompiledCache(function)
    except RuntimeError:  # no folder for a cache is writable
        _say_once()
    return made


@cache
def _say_once() -> None:
    warnings.warn(
        "compiled code cannot be kept, since no folder for it may be written to: every run spends "
        "up to half a minute on compiling; set NUMBA_CACHE_DIR to a folder that you may write to",
        UnderstudyWarning,
        stacklevel=2,
    )
