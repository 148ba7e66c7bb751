"""Where the limits of the verdict come from: false alarms on harmless sets, misses on harmful ones.

``python -m benchmarks.limits own-record|repeats|alignment [--seeds 30]``

own-record
    How many records an effect must exceed a limit by, `own_record_least`. Invented surveys of 150
    to 2,000 people in six patterns; labels drawn from all levels alike, from the overall
    distribution, from the distribution that made the survey, half from that and half from the exact
    table, and from the exact table.
repeats
    Records that fully synthetic files repeat. Files of new people from the distribution that the
    bundled data come from, and of independent variables; files of rows drawn from the records, and
    files of which a tenth or a fifth is copied.
alignment
    Labels of the same distribution beside their records, and with rows in another order.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import understudy as us
from benchmarks.verdicts import KnownTable, truth_table
from understudy.findings.own_record import own_record_findings
from understudy.findings.risk import risk_findings
from understudy.microdata.codebook import Codebook, VariableBook
from understudy.microdata.label_table import LabelTable, empirical_labels, others_labels
from understudy.randomness import stream
from understudy.risk.alignment import judge_alignment
from understudy.risk.matching import labels_of
from understudy.verdict.risk_reasons import _repeated, effect_outcome
from understudy.verdict.thresholds import Thresholds

SIZES = (150, 600, 2000)
TOWNS, FILES = 12, 5
LEASTS = (0.0, 1.0, 2.0, 4.0)
COPIED = (0.1, 0.2)

Codes = NDArray[np.int32]


def survey(seed: int, n: int) -> tuple[us.Microdata, LabelTable]:
    """Draw people whose town depends on sex and age, and give what it was drawn from."""
    generator = stream(seed, "limits", n)
    score = np.linspace(0, 2, TOWNS) + generator.normal(0, 0.5, (6, TOWNS))
    table = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)  # (pattern, town)
    pattern = generator.integers(0, 6, n)
    town = (generator.random(n)[:, None] > np.cumsum(table[pattern], axis=1)).sum(axis=1)
    columns = {"sex": pattern // 3, "age": pattern % 3, "town": np.minimum(town, TOWNS - 1)}
    levels = {"sex": 2, "age": 3, "town": TOWNS}
    frame = {name: [f"{name}{code:02d}" for code in codes] for name, codes in columns.items()}
    book = Codebook(
        variables={
            name: VariableBook(levels=tuple(f"{name}{code:02d}" for code in range(size)))
            for name, size in levels.items()
        }
    )
    data = us.read_microdata(pl.DataFrame(frame), synthesize=["town"], codebook=book)
    rows = 3 * data.patterns.codes[:, 0] + data.patterns.codes[:, 1]
    return data, LabelTable(table[rows], data.patterns.of_combination)


@dataclass(frozen=True)
class Half(KnownTable):
    """Labels drawn half from the exact table and half from what the survey was drawn from."""

    def label_tables(self) -> list[LabelTable]:
        """What sets are drawn from."""
        return [self._mixed(empirical_labels(self.data))]

    def left_out_table(self) -> LabelTable:
        """The same without the record."""
        return self._mixed(others_labels(self.data))

    left_out_pattern_table = left_out_table

    def pattern_table(self) -> LabelTable:
        """What a pattern's rows are drawn from."""
        return self.label_tables()[0]

    def _mixed(self, other: LabelTable) -> LabelTable:
        rows = [table.probabilities[table.row_of_combination] for table in (self.table, other)]
        mixed = np.mean(rows, axis=0)  # (combination, label)
        return LabelTable(mixed, np.arange(len(mixed), dtype=np.int32))


def own_record(seeds: int) -> None:
    """Count outcomes by size, generator and least number of records."""
    for n in SIZES:
        counted: Counter[tuple[str, float, str]] = Counter()
        for seed in range(seeds):
            data, table = survey(seed, n)
            fits: dict[str, Any] = {
                "Uniform": us.Uniform().fit(data),
                "Marginal": us.Marginal().fit(data),
                "truth": KnownTable(data, table),
                "half exact": Half(data, table),
                "Perfect": us.Perfect().fit(data),
            }
            for name, fit in fits.items():
                findings = own_record_findings(
                    data, fit, [("sex",), ("sex", "age")], sets=FILES, refit=None, folds=1,
                    seed=seed,
                )  # fmt: skip
                for least in LEASTS:
                    limits = Thresholds(own_record_least=least)
                    outcomes = {effect_outcome(attack, limits) for attack in findings.attacks}
                    worst = max(outcomes, key=("pass", "review", "fail").index)
                    counted[name, least, worst] += 1
        _print(f"{n} people", counted)


def repeats(seeds: int) -> None:
    """Count outcomes of fully synthetic files of the bundled data by how they were made."""
    given = us.load_ce_like()
    frame = given.frame("polars")
    data = us.read_microdata(frame, synthesize=list(given.names))
    truth, n = truth_table(given), data.n_records
    own = np.stack([data.codes(name) for name in data.names], axis=1).astype(np.int32)

    def new_people(generator: np.random.Generator) -> Codes:
        made = own.copy()
        made[:, data.names.index("county")] = truth.draw(generator, given)
        return made

    def independent(generator: np.random.Generator) -> Codes:
        return np.stack([generator.permutation(column) for column in own.T], axis=1)

    def resampled(generator: np.random.Generator) -> Codes:
        return own[generator.integers(0, n, n)]

    def partly_copied(generator: np.random.Generator, share: float) -> Codes:
        made, copied = new_people(generator), stream(1, "limits").random(n) < share
        made[copied] = own[copied]
        return made

    ways: dict[str, Callable[[np.random.Generator], Codes]] = {
        "new people": new_people, "independent": independent,
        "resampled records": resampled,
        **{f"{share:.0%} copied": partial(partly_copied, share=share) for share in COPIED},
    }  # fmt: skip
    counted: Counter[tuple[str, float, str]] = Counter()
    for seed in range(seeds):
        for name, make in ways.items():
            codes = np.stack([make(stream(seed, "limits", name, file)) for file in range(FILES)])
            risk = risk_findings(data, us.SyntheticSets(data, codes), (), by_knowledge=False)
            assert risk.fully_synthetic is not None
            outcome = _repeated(risk.fully_synthetic, Thresholds()).outcome
            counted[name, Thresholds().own_record_least, outcome] += 1
    _print("bundled data, every variable synthetic", counted)


def alignment(seeds: int) -> None:
    """Count how often rows beside their records look random, and shuffled ones."""
    data = us.load_ce_like()
    fit = KnownTable(data, truth_table(data))
    counted: Counter[tuple[str, float, str]] = Counter()
    for seed in range(seeds):
        sets = fit.synthesize(FILES, seed)
        orders = [stream(seed, "limits", file).permutation(data.n_records) for file in range(FILES)]
        shuffled = np.stack([codes[order] for codes, order in zip(sets.codes, orders, strict=True)])
        for name, given in (("aligned", sets), ("shuffled", us.SyntheticSets(data, shuffled))):
            counted[name, 0.0, judge_alignment(labels_of(given)).verdict] += 1
    _print("bundled data, labels of the truth", counted)


def _print(title: str, counted: Counter[tuple[str, float, str]]) -> None:
    print(title)
    for name, least in _pairs(counted):
        outcomes = {key[2]: number for key, number in counted.items() if key[:2] == (name, least)}
        print(f"  {name}, least {least:g}: {outcomes}", flush=True)


def _pairs(counted: Counter[tuple[str, float, str]]) -> Iterator[tuple[str, float]]:
    yield from dict.fromkeys(key[:2] for key in counted)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("limit", choices=["own-record", "repeats", "alignment"])
    parser.add_argument("--seeds", type=int, default=30)
    asked = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        {"own-record": own_record, "repeats": repeats, "alignment": alignment}[asked.limit](
            asked.seeds
        )


if __name__ == "__main__":
    main()
