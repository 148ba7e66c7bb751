"""Saved runs: killed at any instant, resumed to the same bytes.

A folder holds numbered segments of each chain (`draws-CHAIN-NUMBER.npz`), the chain's state and
generator at the end of its last two segments (`state-CHAIN-NUMBER.npz`), and `manifest.json`, which
says what the run is and lists what is complete, with digests. Files are written under another name,
flushed to the disk, renamed, the folder flushed, and the manifest comes last: at every instant the
manifest names only files that are whole. Nothing is pickled.

A run goes on only if it is the same run: other data, settings or versions are refused, and the
difference is named. A damaged segment is computed again, as is everything after it, which gives the
same bytes, because a chain is a function of its generator alone.

The folder is confidential: draws, seed and fingerprint of the data are in it.
"""

from __future__ import annotations

import io
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import CheckpointError, CheckpointWarning, quoted
from understudy.private_folder import PrivateFolder
from understudy.storage import (
    LOCK,
    Lock,
    differences,
    read_manifest,
    read_whole,
    write_manifest,
    write_whole,
)

__all__ = ["Arrays", "Checkpoint", "generator_arrays", "generator_from"]

Arrays = dict[str, NDArray[Any]]
FORMAT = 1
MANIFEST = "manifest.json"
OURS = ("draws-", "state-", "failed-", MANIFEST)  # how names of a run's files begin
STATES_KEPT = 2


def generator_arrays(generator: np.random.Generator) -> Arrays:
    """Take a Philox generator's whole state out, as arrays."""
    state: Any = generator.bit_generator.state
    return {
        "generator_counter": np.array(state["state"]["counter"], dtype=np.uint64),
        "generator_key": np.array(state["state"]["key"], dtype=np.uint64),
        "generator_buffer": np.array(state["buffer"], dtype=np.uint64),
        "generator_rest": np.array(
            [state["buffer_pos"], state["has_uint32"], state["uinteger"]], dtype=np.int64
        ),
    }


def generator_from(arrays: Arrays, generator: np.random.Generator) -> np.random.Generator:
    """Put a state that was taken out into a Philox generator."""
    buffer_index, has_half, half = (int(number) for number in arrays["generator_rest"])
    state: Any = {
        "bit_generator": "Philox",
        "state": {"counter": arrays["generator_counter"], "key": arrays["generator_key"]},
        "buffer": arrays["generator_buffer"],
        "buffer_pos": buffer_index,
        "has_uint32": has_half,
        "uinteger": half,
    }
    generator.bit_generator.state = state
    return generator


class Checkpoint:
    """One folder with one run in it, open for this process alone.

    Parameters
    ----------
    folder : path
        Made if it does not exist. It must belong to this user, and gets the mode 0700.
    identity : dict
        What the run is, as JSON. Values under ``"data"`` are never shown.
    """

    def __init__(self, folder: str | os.PathLike[str], identity: dict[str, Any]) -> None:
        self.folder = Path(folder)
        self._identity = json.loads(json.dumps(identity))
        self._files = (
            folder if isinstance(folder, PrivateFolder) else PrivateFolder.made(self.folder)
        )
        try:
            self._check_content()
            self._files.close_to_others()
            self._lock = Lock(self._files)
        except BaseException:
            self._files.close()
            raise
        try:
            self._chains = self._read_manifest()
            self._tidy()
        except BaseException:
            self.close()
            raise

    @property
    def identity(self) -> dict[str, Any]:
        """What the run is."""
        return dict(self._identity)

    def remember_seed(self, seed: int) -> None:
        """Write the seed down before the first draw, so that a run without one can go on."""
        if self._identity.get("seed") != seed or self._files.status(MANIFEST) is None:
            self._identity["seed"] = seed
            self._write_manifest()

    def close(self) -> None:
        """Give the folder free for other processes."""
        self._lock.close()
        self._files.close()

    def load(self, chain: int) -> tuple[list[Arrays], Arrays | None]:
        """Read what is complete of one chain: the draws of its segments, the state after them."""
        listed = self._chains.setdefault(str(chain), {"draws": [], "states": {}})
        segments: list[Arrays] = []
        for number, digest in enumerate(listed["draws"]):
            arrays = self._read(self._name("draws", chain, number), digest)
            if arrays is None:
                break
            segments.append(arrays)
        n_listed = len(listed["draws"])
        state = None
        while segments:
            number = len(segments) - 1
            digest = listed["states"].get(str(number))
            name = self._name("state", chain, number)
            state = self._read(name, digest) if digest is not None else None
            if state is not None:
                break
            segments.pop()
        if len(segments) < n_listed:
            warnings.warn(
                f"the saved run is damaged: of chain {chain}, {len(segments)} of {n_listed} "
                "segments are whole, and the others are computed again",
                CheckpointWarning,
                stacklevel=2,
            )
            listed["draws"] = listed["draws"][: len(segments)]
        return segments, state

    def save(self, chain: int, number: int, draws: Arrays, state: Arrays) -> None:
        """Add a complete segment of a chain."""
        listed = self._chains.setdefault(str(chain), {"draws": [], "states": {}})
        digest = self._write(self._name("draws", chain, number), draws)
        listed["draws"] = [*listed["draws"][:number], digest]
        digest = self._write(self._name("state", chain, number), state)
        old = listed["states"]
        listed["states"] = {
            key: value for key, value in old.items() if number - STATES_KEPT < int(key) < number
        }
        listed["states"][str(number)] = digest
        self._write_manifest()
        for key in old:
            if key not in listed["states"]:
                self._files.remove(self._name("state", chain, int(key)))

    def save_failed(self, chain: int, state: Arrays) -> str:
        """Keep the state in which a chain could not go on, to be looked into; give its name."""
        name = f"failed-{chain}.npz"
        self._write(name, state)
        return name

    def _check_content(self) -> None:
        strange = [
            name
            for name in self._files.names()
            if name not in {MANIFEST, LOCK} and not name.startswith((*OURS, "."))
        ]
        if strange:
            raise CheckpointError(
                expected="an empty folder, or one with a saved run and nothing else",
                came=f"{len(strange)} other entries in {quoted(self.folder.name)}",
                do="choose another folder",
            )

    def _read_manifest(self) -> dict[str, Any]:
        content = read_manifest(self._files, MANIFEST, FORMAT, ("identity", "chains"))
        if content is None:
            return {}
        saved = content["identity"]
        if self._identity.get("seed") is None:
            self._identity["seed"] = saved.get("seed")
        different = differences(saved, self._identity)
        if different:
            raise CheckpointError(
                expected="a saved run with the same data, settings and versions",
                came="one that differs in " + "; ".join(different),
                do="go on with what the run was started with, or choose another folder",
            )
        chains: dict[str, Any] = content["chains"]
        return chains

    def _tidy(self) -> None:
        """Remove what a process that died had begun or had not yet cleared away."""
        listed = {MANIFEST, LOCK}
        for chain, held in self._chains.items():
            draws = range(len(held["draws"]))
            listed |= {self._name("draws", int(chain), number) for number in draws}
            listed |= {self._name("state", int(chain), int(key)) for key in held["states"]}
        for name in self._files.names():
            if name not in listed and name.lstrip(".").startswith(OURS):
                self._files.remove(name)

    def _write_manifest(self) -> None:
        content = {"format": FORMAT, "identity": self._identity, "chains": self._chains}
        write_manifest(self._lock, MANIFEST, content)

    def _name(self, kind: str, chain: int, number: int) -> str:
        return f"{kind}-{chain}-{number:06d}.npz"

    def _write(self, name: str, arrays: Arrays) -> str:
        return write_whole(self._files, name, _packed(arrays))

    def _read(self, name: str, digest: str) -> Arrays | None:
        """Read a file; None if it is not the one that was written."""
        content = read_whole(self._files, name, digest)
        if content is None:
            return None
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files}


def _packed(arrays: Arrays) -> bytes:
    """Write arrays as the bytes of an npz file.

    An interruption inside an entry of the archive makes closing the archive fail in turn: what
    came first is raised, not that failure.
    """
    buffer = io.BytesIO()
    try:
        # mypy cannot tell the arrays from the function's own options
        np.savez(buffer, **arrays)  # type: ignore[arg-type]
    except ValueError as problem:
        if problem.__context__ is not None:
            raise problem.__context__ from None
        raise
    return buffer.getvalue()
