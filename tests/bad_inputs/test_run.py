"""Rows 88 to 95: where and how the program runs."""

from __future__ import annotations

import ast
import errno
import fcntl
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import understudy
from tests.bad_inputs.cases import SECRET, accepted, covers
from tests.conftest import MakeFile
from understudy.errors import OutputError

GOOD = f"age,county\n31.5,{SECRET}\n42.25,Århus\n55,south\n20,south\n"


def program(
    *arguments: object, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "understudy", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **(environment or {})},
        check=False,
        timeout=600,
    )


@covers(88)
def test_writing_needs_no_locks(
    make_file: MakeFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    monkeypatch.setattr(fcntl, "lockf", no_locks)
    data = accepted(make_file(GOOD), bins={"age": [40]})
    assert data.write(tmp_path / "out.csv").exists()


@covers(89)
def test_only_parsers_and_signatures_have_a_process() -> None:
    """Other work is shared among threads; `test_damaged_files` ends the parser process.

    A signature is made by ssh-keygen, which is given public bytes and a key's path.
    """
    allowed = {"parser_parent.py", "signature.py"}
    banned = {"multiprocessing", "subprocess", "ProcessPoolExecutor", "fork", "Popen"}
    for path in Path(understudy.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
        names |= {alias.name.split(".")[0] for node in imports for alias in node.names}
        assert path.name in allowed or not names & banned, path.name


@covers(90)
def test_reader_of_the_output_goes_away(make_file: MakeFile) -> None:
    path = make_file(GOOD)
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "understudy", "check", str(path), "--synthesize", "county"]
    ended = subprocess.run(
        command, stdout=writing, stderr=subprocess.PIPE, check=False, timeout=600
    )
    os.close(writing)
    assert b"Traceback" not in ended.stderr
    assert b"fault" not in ended.stderr
    assert ended.returncode in {0, 2}


@covers(91)
def test_terminal_without_unicode(make_file: MakeFile) -> None:
    path = make_file("åge,county\nf,x\nm,y\nf,y\n")
    plain = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    ended = program("check", path, "--synthesize", "county", environment=plain)
    assert ended.returncode == 0, ended.stderr
    assert b"\\xe5ge" in ended.stdout


@covers(92)
def test_progress_needs_a_terminal(make_file: MakeFile) -> None:
    path = make_file("a,county\n" + "1,x\n2,y\n" * 400_000)
    quiet = program("check", path, "--synthesize", "county")
    assert quiet.returncode == 0
    assert quiet.stderr == b""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "understudy", "check", str(path), "--synthesize", "county"]
    loud = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=theirs, check=False, timeout=600,
        env={**os.environ, "TERM": "xterm-256color"},
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 1 << 16)
    os.close(ours)
    assert loud.returncode == 0
    assert b"Reading" in shown
    assert loud.stdout == quiet.stdout


@covers(93, 94)
def test_results_do_not_depend_on_the_surroundings(make_file: MakeFile, tmp_path: Path) -> None:
    path = make_file(GOOD * 1)
    code = (
        "import sys, understudy as us;"
        "d = us.read_microdata(sys.argv[1], 'county', bins={'age': [31.5, 42.25]});"
        "print(d.fingerprint(), d.variable('age').levels)"
    )
    surroundings: list[dict[str, str]] = [
        {"PYTHONHASHSEED": "0"},
        {"PYTHONHASHSEED": "12345", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "LANG": "de_DE.UTF-8"},
    ]
    printed = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code, str(path)],
            env={**os.environ, **around, "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            check=True,
            timeout=600,
        ).stdout
        for around in surroundings
    }
    assert len(printed) == 1
    assert b"('<31.5', '31.5-42.25', '>=42.25')" in printed.pop()


@covers(94)
def test_decimal_comma_is_named(make_file: MakeFile) -> None:
    path = make_file('age;county\n"31,5";x\n"42,25";y\n')
    with pytest.raises(ValueError, match="comma as decimal sign"):
        accepted(path, bins={"age": [40]})


@covers(95)
@pytest.mark.parametrize(
    "name", ["CON.csv", "nul.parquet", "com1.csv", "data.csv.", "x" * 300 + ".csv"]
)
def test_names_that_not_every_system_can_use(
    make_file: MakeFile, tmp_path: Path, name: str
) -> None:
    data = accepted(make_file(GOOD), bins={"age": [40]})
    with pytest.raises(OutputError, match="file name"):
        data.write(tmp_path / name)


@covers(95)
def test_deep_folder(make_file: MakeFile, tmp_path: Path) -> None:
    deep = tmp_path
    for _ in range(12):
        deep = deep / ("folder" * 8)
    deep.mkdir(parents=True)
    data = accepted(make_file(GOOD), bins={"age": [40]})
    assert data.write(deep / "out.csv").stat().st_size > 0
