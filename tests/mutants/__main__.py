"""Plant the bugs whose file or description holds a word, or all, and see that tests break."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
LONGEST = 900  # seconds; tests that a bug keeps from ending have noticed it


def run_tests(package: Path, tests: str, names: Iterable[str]) -> bool:
    """Tell whether the tests with these names in a file pass on this copy of the package."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", tests]
    if all(names):
        command += ["-k", " or ".join(f"({name})" for name in sorted(set(names)))]
    environment = {**os.environ, "PYTHONPATH": str(package.parent)}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode < 0:  # the bug crashed the program, writing beyond an array for instance
        return False
    if done.returncode not in {0, 1}:  # 5: no test was selected; others: pytest itself failed
        raise SystemExit(f"{tests}: the tests could not be run\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def is_caught(package: Path, mutant: Mutant) -> bool:
    """Plant one bug, run its tests, and take it out again."""
    path = package / mutant.file
    before, stamp = path.read_text(encoding="utf-8"), path.stat()
    if mutant.old not in before:
        raise SystemExit(f"{mutant.what}: the text to change is gone")
    path.write_text(before.replace(mutant.old, mutant.new, 1), encoding="utf-8")
    try:
        return not run_tests(package, mutant.tests, [mutant.only])
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # its compiled cache is good


def main() -> int:
    """Plant every bug in turn; give the number that no test noticed."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    by_tests = defaultdict(list)
    for mutant in MUTANTS:
        if word in f"{mutant.file} {mutant.what}":
            by_tests[mutant.tests].append(mutant)
    total = caught = 0
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "understudy"
        shutil.copytree(ROOT / "src" / "understudy", package)
        for tests, mutants in by_tests.items():
            if not run_tests(package, tests, [mutant.only for mutant in mutants]):
                print(
                    f"MISSED  all {len(mutants)} of {tests}, which fails without them", flush=True
                )
                total += len(mutants)
                continue
            for mutant in mutants:
                begin = time.monotonic()
                noticed = is_caught(package, mutant)
                total, caught = total + 1, caught + noticed
                result = "caught" if noticed else "MISSED"
                print(f"{result}  {mutant.what}  ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{caught} of {total} caught")
    return total - caught


if __name__ == "__main__":
    sys.exit(main())
