"""How much memory may be used: a setting, and a quarter of what the machine has without one.

The setting never changes a result. It decides whether work is refused before it starts, with an
estimate of what it needs. What a machine has is what the system says, or less where the process
runs under a limit of its own (a container, a batch system). Each worker has the same setting, or
without one a quarter of its own machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from understudy.errors import NotEnoughMemoryError, SettingError

__all__ = [
    "check_fits",
    "given_memory",
    "in_bytes",
    "machine_memory",
    "memory_from",
    "memory_limit",
    "most_memory",
]

SHARE = 4  # of the machine's memory, one part in so many
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
UNLIMITED = 1 << 60
LEAST = 10**8  # bytes, which the program itself takes
GROUPS = Path("/sys/fs/cgroup")

_GIVEN: ContextVar[int | None] = ContextVar("memory", default=None)


def given_memory() -> int | None:
    """Give the setting in force, in bytes; None without any."""
    return _GIVEN.get()


def most_memory() -> int:
    """Give the bytes that may be used: the setting in force, or a quarter of the machine's."""
    given = given_memory()
    return given if given is not None else machine_memory() // SHARE


@contextmanager
def memory_limit(memory: str | int | None) -> Iterator[None]:
    """Use at most so much memory, inside of this block.

    No result depends on it. What does not fit is refused before it is computed, with an estimate.

    Parameters
    ----------
    memory : str or int, optional
        Such as ``"8 GB"`` or ``"25%"`` of the machine's, or a number of bytes; None leaves what is
        in force, which is a quarter of the machine's memory without any setting.

    Examples
    --------
    ``with us.memory_limit("8 GB"): us.Study("plan.toml").run("out")``
    """
    if memory is None:
        yield
        return
    token = _GIVEN.set(memory_from(memory))
    try:
        yield
    finally:
        _GIVEN.reset(token)


def memory_from(given: str | int) -> int:
    """Read a setting, in bytes."""
    text = str(given).strip().lower()
    size = 0
    if match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", text):
        size = int(float(match[1]) * UNITS[match[2]])
    elif match := re.fullmatch(r"(\d+(?:\.\d+)?)\s*%", text):
        size = int(float(match[1]) / 100 * machine_memory())
    if isinstance(given, bool) or size < LEAST:
        raise SettingError(
            expected=f'memory such as "8 GB" or "25%", {in_bytes(LEAST)} or more',
            came="another text or number",
            do="write a number with MB, GB or %",
        )
    return size


def check_fits(what: str, needed: int, do: str = "") -> None:
    """Refuse work, described by `what`, that needs more bytes than may be used.

    `do` names what else helps, beside allowing more.
    """
    most = most_memory()
    if needed > most:
        raise NotEnoughMemoryError(
            expected=f"work that fits into {in_bytes(most)} of memory",
            came=f"{what}: about {in_bytes(needed)}",
            do=f'allow more where the machine has it (memory = "{-(-needed // 10**9) + 1} GB" in '
            f"the plan, --memory, us.memory_limit){', or ' + do if do else ''}",
        )


def in_bytes(size: float) -> str:
    """Write a number of bytes as people read it."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"


def machine_memory() -> int:
    """Give the bytes of memory that this process can have at most."""
    limits = [*_group_limits(), _physical()]
    with suppress(ImportError, OSError, ValueError):
        import resource

        of_process = resource.getrlimit(resource.RLIMIT_AS)[0]
        limits.append(of_process if of_process > 0 else UNLIMITED)
    return min(limits)


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _of_windows()


def _of_windows() -> int:
    """Ask Windows; 8 GB where nobody says."""
    try:
        import ctypes

        class Status(ctypes.Structure):
            _fields_ = (
                ("length", ctypes.c_ulong),
                ("load", ctypes.c_ulong),
                *((name, ctypes.c_ulonglong) for name in "abcdefg"),
            )

        status = Status()
        status.length = ctypes.sizeof(status)
        ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))  # type: ignore[attr-defined]
        return int(status.a)
    except (AttributeError, ImportError, OSError):
        return 8 * 10**9


def _group_limits() -> Iterator[int]:
    """Give the limits of the control groups that this process is in (Linux), the outer ones too."""
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers in {"", "memory"}:
                yield from _limits_above(GROUPS / controllers, path, controllers)


def _limits_above(root: Path, path: str, controllers: str) -> Iterator[int]:
    name = "memory.limit_in_bytes" if controllers else "memory.max"
    folder = root / path.lstrip("/")
    while True:
        with suppress(OSError, ValueError):
            limit = int((folder / name).read_text(encoding="ascii"))  # "max": no number
            if limit < UNLIMITED:
                yield limit
        if folder == root or root not in folder.parents:
            return
        folder = folder.parent
