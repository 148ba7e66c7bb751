"""A tiny study for tests: invented records, short chains, and a page that costs nothing."""

from __future__ import annotations

import hashlib
import warnings
from pathlib import Path
from typing import Any

import understudy as us
from understudy.errors import UnderstudyWarning
from understudy.randomness import stream

__all__ = [
    "BOOK",
    "CHAINS",
    "LONGER",
    "PLAN",
    "WIDE_LIMITS",
    "files_of",
    "plain_page",
    "run_quietly",
    "write_study",
]

PLAN = """\
seed = 5
sets = 2
[data]
file = "{file}"
synthesize = ["county"]
ignore = ["id"]
codebook = "book.toml"
[[synthesizers]]
model = "dpmpm"
chains = 2
warmup = 4
draws = 8
thin = 1
[[intruders]]
known = ["gender"]
[baselines]
repeats = 2
"""
CHAINS = PLAN[PLAN.index("[[synthesizers]]") : PLAN.index("[[intruders]]")]
LONGER = """\
[[synthesizers]]
model = "dpmpm"
chains = 4
warmup = 200
draws = 400
thin = 2
until = { rhat = 1.1, ess = 50, most_draws = 4000 }
"""
WIDE_LIMITS = """\
[[analyses]]
formula = "age ~ county + gender"
family = "logistic"
[thresholds]
own_record_review = 99
repeated_records_review = 99
true_match_rate_review = 1
table_deviation_review = 99
overlap_review = 0
within_pattern_review = 1
small_pattern_share_review = 1
"""  # so that a verdict allows to release whatever so few records give
BOOK = """\
reviewed = true
[variables.gender]
levels = ["f", "m"]
[variables.age]
levels = ["old", "young"]
[variables.county]
levels = ["east", "north", "south", "west"]
"""


def write_study(
    folder: Path, plan: str = PLAN, *, n_records: int = 40, seed: int = 3, file: str = "data.csv"
) -> Path:
    """Write data, a codebook and a plan; give the plan's path."""
    generator = stream(seed, "a tiny study")
    rows = ["gender,age,county,id"]
    for number in range(n_records):
        codes = int(generator.integers(0, 2)), int(generator.integers(0, 2))
        county = (int(generator.integers(0, 3)) + codes[0]) % 4
        label = ("north", "south", "east", "west")[county]
        rows.append(f"{'fm'[codes[0]]},{('old', 'young')[codes[1]]},{label},{number}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "book.toml").write_text(BOOK, encoding="utf-8")
    path = folder / "plan.toml"
    path.write_text(plan.replace("{file}", file), encoding="utf-8")
    return path


def run_quietly(plan: Any, directory: Path, **options: Any) -> us.Study:
    """Run a study without the warnings that so short chains deserve."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        return us.Study(plan).run(directory, **options)


def files_of(directory: Path) -> dict[str, str]:
    """Digests of all files below a folder but locks, which name a process, and the time."""
    return {
        path.relative_to(directory).as_posix(): hashlib.blake2b(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in {"lock", "finished.json"}
    }


def plain_page(findings: Any, verdict: Any, frontier: Any = None) -> str:
    """Stand in for the page, which is drawn with much care and much time."""
    return f"<title>{findings.title}</title><p>{verdict.outcome}</p>"
