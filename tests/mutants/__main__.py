"""Plant the bugs whose description holds a word, or all, and see that tests break."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.mutants import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]


def run_tests(package: Path, mutant: Mutant) -> bool:
    """Tell whether the tests beside a mutant pass on this copy of the package."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", mutant.tests]
    if mutant.only:
        command += ["-k", mutant.only]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in {0, 1}:  # 5: no test was selected; others: pytest itself failed
        raise SystemExit(f"{mutant.what}: the tests could not be run\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main() -> int:
    """Plant every bug in turn; give the number that no test noticed."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    mutants = [mutant for mutant in MUTANTS if word in mutant.what]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "understudy"
        shutil.copytree(ROOT / "src" / "understudy", package)
        passed: dict[tuple[str, str], bool] = {}
        for mutant in mutants:
            begin = time.monotonic()
            tests = (mutant.tests, mutant.only)
            if tests not in passed:
                passed[tests] = run_tests(package, mutant)
            if not passed[tests]:
                raise SystemExit(f"{mutant.what}: the tests fail without the bug too")
            path = package / mutant.file
            before, stamp = path.read_text(encoding="utf-8"), path.stat()
            if before.count(mutant.old) < 1:
                raise SystemExit(f"{mutant.what}: the text to change is gone")
            path.write_text(before.replace(mutant.old, mutant.new, 1), encoding="utf-8")
            caught = not run_tests(package, mutant)
            path.write_text(before, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # its compiled cache is good
            missed += not caught
            result = "caught" if caught else "MISSED"
            print(f"{result}  {mutant.what}  ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(mutants) - missed} of {len(mutants)} caught")
    return missed


if __name__ == "__main__":
    sys.exit(main())
