"""Damaged Parquet, SAS, Stata and SPSS files: a message or data, never a dead process.

A seeded mutator damages small files of every format. How many of each is read from the environment
(``UNDERSTUDY_DAMAGED_FILES``); `make fuzz` asks for more than the suite.
"""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyreadstat
import pytest

from tests.bad_inputs.cases import SECRET, covers, refused
from tests.conftest import Command
from understudy import read_microdata
from understudy.errors import FormatError, InputError
from understudy.microdata import parser_parent
from understudy.randomness import stream

N_DAMAGED = int(os.environ.get("UNDERSTUDY_DAMAGED_FILES", "2000"))
FRAME = pl.DataFrame(
    {
        "sex": [1, 2, 2, 1, 9, 2] * 20,
        "county": ["north", "south", SECRET, "north", "south", "north"] * 20,
    }
)
LABELS: dict[str, Any] = {"sex": {1: "man", 2: "woman"}}
SAS = Path(__file__).parent / "sas" / "people.sas7bdat.gz"
WRITERS: dict[str, Callable[[Path], Any]] = {
    "spss.sav": lambda path: pyreadstat.write_sav(FRAME, path, variable_value_labels=LABELS),
    "packed.zsav": lambda path: pyreadstat.write_sav(FRAME, path, compress=True),
    "stata.dta": lambda path: pyreadstat.write_dta(FRAME, path, variable_value_labels=LABELS),
    "transport.xpt": lambda path: pyreadstat.write_xport(FRAME, path),
    "sas.sas7bdat": lambda path: path.write_bytes(gzip.decompress(SAS.read_bytes())),
    "table.parquet": FRAME.write_parquet,
    "dictionary.parquet": lambda path: FRAME.cast({"county": pl.Categorical}).write_parquet(path),
}


def damaged_versions(content: bytes, name: str, n_versions: int) -> Iterator[bytes]:
    """Damage a file in ways that copying, editing and bad disks do, the same ones every time."""
    generator = stream(21, "damaged files", name)
    for version in range(n_versions):
        damaged = bytearray(content)
        for _ in range(int(generator.integers(1, 4))):
            start = int(generator.integers(len(damaged)))
            length = int(generator.integers(1, 9))
            noise = generator.integers(256, size=length, dtype=np.uint8).tobytes()
            match version % 6:
                case 0:  # a bit turned over
                    damaged[start] ^= 1 << int(generator.integers(8))
                case 1:  # a few bytes written over
                    damaged[start : start + length] = noise[: len(damaged) - start]
                case 2:  # a number at its limit
                    damaged[start : start + 4] = b"\xff\xff\xff\x7f"[: len(damaged) - start]
                case 3:  # bytes lost
                    del damaged[start : start + length]
                case 4:  # bytes that were not there
                    damaged[start:start] = noise
                case _:  # zeros
                    damaged[start : start + 4] = bytes(len(damaged[start : start + 4]))
            damaged = damaged or bytearray(content[:1])
        yield bytes(damaged)


@covers(104)
@pytest.mark.parametrize("name", WRITERS)
def test_damaged_files_end_in_a_message(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    WRITERS[name](path)
    whole = path.read_bytes()
    label = "county" if name != "sas.sas7bdat" else "sex"
    messages = []
    for content in damaged_versions(whole, name, N_DAMAGED):
        path.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read_microdata(path, synthesize=label, missing="level", unused_levels="drop")
            except InputError as problem:
                messages.append(str(problem))
    assert len(messages) > N_DAMAGED / 20
    assert not [text for text in messages if SECRET in text]
    path.write_bytes(whole)
    options: dict[str, Any] = {"bins": {"income": [10]}} if label == "sex" else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = read_microdata(path, synthesize=label, missing="level", **options)
    assert data.n_records in {6, FRAME.height}


@covers(89, 104)
@pytest.mark.parametrize("end", [signal.SIGSEGV, signal.SIGKILL, None])
def test_death_of_the_parser_is_a_damaged_file(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: signal.Signals | None,
) -> None:
    """Whether a signal ends it, or it exits, before it replies."""
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    deed = "sys.exit(1)" if end is None else f"os.kill(os.getpid(), {int(end)})"
    with monkeypatch.context() as patch:
        patch.setattr(parser_parent, "PARSER", parser_parent.ParserProcess())
        patch.setattr(parser_parent, "START", f"import os, sys; sys.stdin.readline(); {deed}")
        refused(command, FormatError, "damaged", path)
    assert read_microdata(path, synthesize="county").n_records == FRAME.height


@covers(104)
def test_parser_that_dies_between_two_files_is_started_again(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    for _ in range(2):
        assert read_microdata(path, synthesize="county").n_records == FRAME.height
        with parser_parent.PARSER.lent() as (process, answered):
            answered.set()
            process.kill()
            process.wait()


def test_parser_ends_with_the_program(tmp_path: Path) -> None:
    """Neither a finished nor an aborted program leaves its parser behind."""
    path = tmp_path / "a.parquet"
    FRAME.write_parquet(path)
    code = (
        "import os, sys, understudy as us\n"
        "from understudy.microdata import parser_parent as p\n"
        "us.read_microdata(sys.argv[1], synthesize='county')\n"
        "print(p.PARSER._process.pid, flush=True)\n"
        "if sys.argv[2] == 'abort': os.kill(os.getpid(), 9)"
    )
    for how in ("finish", "abort"):
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(path), how],
            capture_output=True,
            check=False,
            timeout=600,
        )
        pid = int(ended.stdout)
        for _ in range(6000):
            try:
                os.kill(pid, 0)
                zombie = "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
            except (ProcessLookupError, FileNotFoundError):
                break
            if zombie:
                break
            time.sleep(0.1)
        else:
            pytest.fail("the parser still runs")
