"""The only maker of random generators: one seed, many named streams.

A stream is named by a path of words and numbers, such as ``("fit", "chain", 3)``. Its generator
is a Philox4x64 counter generator whose key is a hash of the seed and the path, so what a stream
draws depends on neither the order in which streams are made nor the number of threads, and two
streams with different paths have nothing to do with each other.

Seeds are internal: whoever knows the seed of a release can redraw it. Without a seed, 128 bits come
from the operating system. What must never be repeated at all, the order of published rows, takes
every word of its randomness from there (`unrepeatable_order`).
"""

from __future__ import annotations

import hashlib
import os
import secrets

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingError

__all__ = [
    "DRAWN",
    "GIVEN",
    "LARGEST_SEED",
    "check_seed",
    "child_seed",
    "stream",
    "unrepeatable_order",
]

LARGEST_SEED = 2**128 - 1
# Where a seed comes from, as it is written down when the seed is made: its size does not tell.
DRAWN = "operating system"
GIVEN = "user"


def check_seed(seed: object) -> int:
    """Turn the user's ``seed=`` into a seed: from 0 to 2**128 - 1, or a fresh one for None."""
    if seed is None:
        return secrets.randbits(128)
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
    if not whole or not 0 <= int(seed) <= LARGEST_SEED:  # type: ignore[call-overload]
        raise SettingError(
            expected="a seed that is a whole number from 0 to 2**128 - 1, or none",
            came=_describe(seed),
            do="give such a number to make the run repeatable, or leave the seed out",
        )
    return int(seed)  # type: ignore[call-overload,no-any-return]


def _describe(seed: object) -> str:
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return "a negative number" if int(seed) < 0 else "a number that is too large"
    return f"a value of type {type(seed).__name__}"


def stream(seed: int, *path: str | int) -> np.random.Generator:
    """Make the generator of a named stream; `path` is its name, the most general part first.

    It is a Philox generator whose key is made of seed and name, with its counter at zero.
    """
    key = np.frombuffer(_digest(seed, path), dtype="<u8")
    return np.random.Generator(np.random.Philox(key=key))


def child_seed(seed: int, *path: str | int) -> int:
    """Derive the seed of a part of a study, independent of those of other parts.

    `path` is the part's name, the most general part first.
    """
    return int.from_bytes(_digest(seed, ("child", *path)), "little")


def _digest(seed: int, path: tuple[str | int, ...]) -> bytes:
    """Hash a seed and a path into 128 bits."""
    if any("\x00" in str(part) for part in path):
        raise ValueError("the name of a stream holds a NUL character")
    parts = [f"{'text' if isinstance(part, str) else 'number'} {part!s}" for part in (seed, *path)]
    return hashlib.blake2b("\x00".join(parts).encode("utf-8"), digest_size=16).digest()


def unrepeatable_order(n: int) -> NDArray[np.int64]:
    """Draw a random order of `n` rows that nobody can draw again: there is no seed and no state.

    Every row gets 64 bits from the operating system and the rows are sorted by them. That two rows
    get the same bits has probability n² / 2**65: three in a million for ten million rows.
    """
    keys = np.frombuffer(os.urandom(8 * n), dtype="<u8")
    return np.argsort(keys, kind="stable")
