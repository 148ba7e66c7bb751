"""Computing everything that the comparison needs, population by population, resumable.

Population 0 is the bundled one; the others are drawn by the same program from other seeds. What is
finished is a JSON file; a fit that was stopped goes on from its checkpoint. On workers every part
is a task, and one that was not finished begins anew. Nothing here is confidential: all populations
are invented.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import understudy
from understudy.errors import CheckpointError
from understudy.findings.schema import Findings, IntruderFindings, SynthesizerFindings
from understudy.microdata.bundled import CODEBOOK, load_ce_like
from understudy.microdata.bundled.make_ce_like import SETTLED, SETTLED_SEED, draw_ce_like
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata
from understudy.randomness import stream
from understudy.reproduction.bundled_findings import (
    intruders_findings,
    shown_of,
    study_findings,
    synthesizer_findings,
)
from understudy.reproduction.configurations import CONFIGURATIONS, FITS, Scale
from understudy.reproduction.measures import (
    measure_baselines,
    measure_regression,
    measure_sets,
    measure_shuffled,
)
from understudy.reproduction.without_swaps import classes_without_swaps
from understudy.storage import write_text
from understudy.synthesis.chains import Progress
from understudy.synthesis.workers import current_workers

__all__ = ["INTRUDERS", "Said", "bundled_findings", "population", "run_all"]

INTRUDERS = "report-intruders.json"
BASELINES, WITHOUT_SWAPS = "baselines", "without-swaps"  # parts of a population that are no fits

Measured = tuple[dict[str, Any], dict[str, Any]]  # a part, and what the report shows, by file
Said = Callable[[str, Progress | None], None]  # what is being done, and how far a fit has come


class Counting:
    """Says beside what is being done which part of all it is."""

    def __init__(self, say: Said, number: int) -> None:
        self._say, self._number, self._part = say, number, 0

    def next(self) -> Said:
        """Go on to the next part; what is said from now on belongs to it."""
        self._part += 1
        before = f"part {self._part} of {self._number}, "
        return lambda words, progress: self._say(before + words, progress)


@lru_cache(maxsize=1)
def population(number: int) -> Microdata:
    """Draw population `number`; 0 is the bundled one."""
    if number == 0:
        return load_ce_like()
    seeds = [seed for seed in range(1, number + 2) if seed != SETTLED_SEED]
    columns = draw_ce_like(SETTLED, seeds[number - 1])
    frame = pl.DataFrame(columns)
    return read_microdata(frame, synthesize=["county"], codebook=CODEBOOK)


def run_all(folder: Path, scale: Scale, seed: int, say: Said) -> dict[str, Any]:
    """Compute all populations, or what is missing of them, and `say` what is being done.

    Gives ``scale``, ``seed``, and ``populations``: ``baselines`` and ``fits`` of each; for the
    first also what a sampler without swaps shows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _same_run(folder, scale, seed)
    _on_workers(folder, scale, seed, say)
    populations, listed = [], range(scale.populations + 1)
    count = Counting(say, sum(len(_names(scale, number)) for number in listed))
    for number in listed:
        parts = {
            name: _part(folder, number, name, scale, seed, count.next())
            for name in _names(scale, number)
        }
        populations.append({
            "baselines": parts[BASELINES],
            "fits": {key: parts[key] for key in scale.fits},
            **({"without swaps": parts[WITHOUT_SWAPS]} if WITHOUT_SWAPS in parts else {}),
        })  # fmt: skip
    return {"scale": scale.name, "sets": scale.sets, "seed": seed, "populations": populations}


def bundled_findings(folder: Path, results: dict[str, Any]) -> Findings:
    """Put together what the report shows of the bundled population, from finished parts."""
    synthesizers = [
        SynthesizerFindings.model_validate(_read(folder / f"report-{CONFIGURATIONS[key].fit}.json"))
        for key in shown_of(results["populations"][0]["fits"])
    ]
    intruders = [
        IntruderFindings.model_validate(intruder) for intruder in _read(folder / INTRUDERS)
    ]
    versions = {"understudy": understudy.__version__}
    return study_findings(population(0), intruders, synthesizers, results["seed"], versions)


def _same_run(folder: Path, scale: Scale, seed: int) -> None:
    """Refuse a folder that holds parts of another run."""
    lengths = {key: [scale.length(key, number) for number in (0, 1)] for key in scale.fits}
    asked = {**asdict(scale), "lengths": lengths}
    now = json.loads(json.dumps({"version": understudy.__version__, "scale": asked, "seed": seed}))
    path = folder / "run.json"
    if not path.exists():
        _write(path, now)
        return
    if _read(path) != now:
        raise CheckpointError(
            expected="a folder with the same reproduction, to go on with",
            came="one that was begun with another seed, scale or version",
            do="choose another folder",
        )


def _on_workers(folder: Path, scale: Scale, seed: int, say: Said) -> None:
    """Compute what is missing on workers, where there are any; few fits spread by chains instead.

    A fit that was begun here goes on here, with its chains on workers.
    """
    workers = current_workers()
    wanted = [
        (number, name)
        for number in range(scale.populations + 1)
        for name in _names(scale, number)
        if _read(_path(folder, number, name)) is None
        and not _checkpoint(folder, number, name).exists()
    ]
    if workers is None or len(wanted) < workers.number:
        return
    say(f"parts on workers: {len(wanted)}", None)
    tasks = [(number, name, scale, seed) for number, name in wanted]
    for done, (at, part) in enumerate(workers.as_finished(_measured, tasks), 1):
        _keep(folder, *wanted[at], part)
        say(f"parts on workers: {len(wanted) - done}", None)


def _names(scale: Scale, number: int) -> list[str]:
    """Name the parts of a population, fits by their keys."""
    compared = number == 0 and {"blocked", "collapsed"} <= set(scale.fits)
    return [BASELINES, *scale.fits, *([WITHOUT_SWAPS] if compared else [])]


def _measured(
    number: int,
    name: str,
    scale: Scale,
    seed: int,
    checkpoint: Path | None = None,
    say: Said | None = None,
) -> Measured:
    """Measure a part of a population; gives also what the report shows of it, by its file."""
    data = population(number)
    told = say or (lambda _words, _progress: None)
    if name == BASELINES:
        told(f"population {number}: the baselines Min and Max", None)
        return _baselines(number, data, scale, seed)
    if name == WITHOUT_SWAPS:
        told("population 0: a sampler without swaps", None)
        return classes_without_swaps(data, _seed(seed, 0, "without swaps")), {}
    return _fitted(number, data, name, scale, seed, checkpoint, told)


def _baselines(number: int, data: Microdata, scale: Scale, seed: int) -> Measured:
    samples, exact = measure_baselines(data, scale.repeats, _seed(seed, number, "levels"))
    shown: dict[str, Any] = {}
    if number == 0:
        own = _seed(seed, number, "levels for the report")
        intruders = intruders_findings(data, scale.repeats, scale.sets, own)
        shown[INTRUDERS] = [intruder.model_dump(mode="json") for intruder in intruders]
    return {"samples": samples, "exact": exact}, shown


def _fitted(
    number: int,
    data: Microdata,
    key: str,
    scale: Scale,
    seed: int,
    checkpoint: Path | None,
    say: Said,
) -> Measured:
    """Fit one model to one population and measure the sets of all configurations from it."""
    words = f"population {number} of {scale.populations}: {FITS[key].title}"
    fit = FITS[key].run(
        data, _seed(seed, number, key), scale.length(key, number), checkpoint,
        lambda progress: say(words, progress), None if checkpoint is not None else 1,
    )  # fmt: skip
    say(f"{words}: measuring", None)
    configurations, report = {}, dict[str, Any]()
    for configuration in CONFIGURATIONS.values():
        if configuration.fit != key:
            continue
        own = _seed(seed, number, configuration.key)
        sets = configuration.draw(fit, scale.sets, own)
        configurations[configuration.key] = {
            "chains": list(sets.chain),
            "values": measure_sets(data, sets, own),
            "shuffled": measure_shuffled(data, sets, own),
            "regression": measure_regression(data, sets, own),
        }
        if number == 0 and configuration.key in shown_of(scale.fits):
            shown = synthesizer_findings(data, configuration.key, fit, sets, own)
            report[f"report-{key}.json"] = shown.model_dump(mode="json")
    part = {"lengths": _lengths(fit), **_convergence(fit), "configurations": configurations}
    return part, report


def _part(
    folder: Path, number: int, name: str, scale: Scale, seed: int, say: Said
) -> dict[str, Any]:
    """Read a finished part, or measure it and write it."""
    part: dict[str, Any] | None = _read(_path(folder, number, name))
    checkpoint = _checkpoint(folder, number, name)
    if part is None:
        measured = _measured(number, name, scale, seed, checkpoint, say)
        part = _keep(folder, number, name, measured)
    shutil.rmtree(checkpoint, ignore_errors=True)
    return part


def _keep(folder: Path, number: int, name: str, measured: Measured) -> dict[str, Any]:
    """Write what the report shows, and then the part, which says that all is there."""
    part, shown = measured
    for file, content in shown.items():
        _write(folder / file, content)
    _write(_path(folder, number, name), part)
    return part


def _path(folder: Path, number: int, name: str) -> Path:
    return folder / f"population-{number:02d}-{name}.json"


def _checkpoint(folder: Path, number: int, name: str) -> Path:
    return folder / f"fit-{number:02d}-{name}"


def _lengths(fit: Any) -> dict[str, int]:
    """How long the chains have become: they may have had to go on."""
    draws = fit.chain_draws.label_probability.shape[1]
    return {"warmup": fit.plan.warmup, "draws": draws, "thin": fit.plan.thin}


def _convergence(fit: Any) -> dict[str, Any]:
    """Judge a fit: its label probabilities, from which sets are drawn, apart from the rest."""
    table = fit.diagnostics(most_cells=None)
    labels = pl.col("quantity").str.starts_with("label_probability")
    parts = {"labels": table.filter(labels), "rest": table.filter(~labels)}
    occupied = fit.draws["posterior"].get("occupied_classes")
    classes = None
    if occupied is not None:
        classes = [float(edge) for edge in np.quantile(np.asarray(occupied), [0.025, 0.975])]
    return {
        "converged": bool(table.filter("judged")["converged"].all()),
        "classes": classes,
        **{
            name: {
                "quantities": part.height,
                "failed": int((~part["converged"]).sum()),
                "worst_rhat": part["rhat"].max(),
                "least_ess": part.select(pl.min_horizontal("ess_bulk", "ess_tail").min()).item(),
            }
            for name, part in parts.items()
        },
    }


def _seed(seed: int, number: int, part: str) -> int:
    """Give every part of the run a seed of its own."""
    return int(stream(seed, "reproduction", number, part).integers(2**62))


def _write(path: Path, content: Any) -> None:
    write_text(path, json.dumps(content, indent=1))


def _read(path: Path) -> Any:
    """Read a finished part; None if it is not there or was not finished."""
    with suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None
