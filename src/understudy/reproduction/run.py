"""Computing everything that the comparison needs, population by population, resumable.

Population 0 is the bundled one; the others are drawn by the same program from other seeds. What is
finished is a JSON file; a fit that was stopped goes on from its checkpoint. Nothing here is
confidential: all populations are invented.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
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
from understudy.storage import new_file
from understudy.synthesis.chains import Progress

__all__ = ["Said", "bundled_findings", "population", "run_all"]

INTRUDERS = "report-intruders.json"

Said = Callable[[str, Progress | None], None]  # what is being done, and how far a fit has come


def population(number: int) -> Microdata:
    """Draw population `number`; 0 is the bundled one."""
    if number == 0:
        return load_ce_like()
    seeds = [seed for seed in range(1, number + 2) if seed != SETTLED_SEED]
    columns = draw_ce_like(SETTLED, seeds[number - 1])
    frame = pl.DataFrame(columns)
    return read_microdata(frame, synthesize=["county"], codebook=CODEBOOK)


def run_all(folder: Path, scale: Scale, seed: int, say: Said) -> dict[str, Any]:
    """Compute all populations, or what is missing of them.

    Parameters
    ----------
    folder : path
        Where finished parts lie.
    scale : Scale
        How much to compute.
    seed : int
        Decides every draw.
    say : callable
        Called with what is being done.

    Returns
    -------
    dict
        ``scale``, ``seed``, and ``populations``: ``baselines`` and ``fits`` of each; for
        the first also what a sampler without swaps shows.
    """
    folder.mkdir(parents=True, exist_ok=True)
    _same_run(folder, scale, seed)
    populations = []
    for number in range(scale.populations + 1):
        data = population(number)
        parts: dict[str, Any] = {"baselines": _baselines(folder, number, data, scale, seed, say)}
        parts["fits"] = {
            key: _fitted(folder, number, data, key, scale, seed, say) for key in scale.fits
        }
        if number == 0 and {"blocked", "collapsed"} <= set(scale.fits):
            parts["without swaps"] = _without_swaps(folder, data, seed, say)
        populations.append(parts)
    return {"scale": scale.name, "sets": scale.sets, "seed": seed, "populations": populations}


def bundled_findings(folder: Path, results: dict[str, Any]) -> Findings:
    """Put together what the report shows of the bundled population, from finished parts."""
    synthesizers = [
        SynthesizerFindings.model_validate(_read(folder / f"report-{CONFIGURATIONS[key].fit}.json"))
        for key in shown_of(results["populations"][0]["fits"])
    ]
    intruders = [IntruderFindings.model_validate(each) for each in _read(folder / INTRUDERS)]
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


def _baselines(
    folder: Path, number: int, data: Microdata, scale: Scale, seed: int, say: Said
) -> dict[str, Any]:
    def measure() -> dict[str, Any]:
        say(f"population {number}: the baselines Min and Max", None)
        samples, exact = measure_baselines(data, scale.repeats, _seed(seed, number, "levels"))
        if number == 0:
            own = _seed(seed, number, "levels for the report")
            intruders = intruders_findings(data, scale.repeats, scale.sets, own)
            _write(folder / INTRUDERS, [each.model_dump(mode="json") for each in intruders])
        return {"samples": samples, "exact": exact}

    return _part(folder / f"population-{number:02d}-baselines.json", measure)


def _without_swaps(folder: Path, data: Microdata, seed: int, say: Said) -> dict[str, Any]:
    def measure() -> dict[str, Any]:
        say("population 0: a sampler without swaps", None)
        return classes_without_swaps(data, _seed(seed, 0, "without swaps"))

    return _part(folder / "population-00-without-swaps.json", measure)


def _fitted(
    folder: Path, number: int, data: Microdata, key: str, scale: Scale, seed: int, say: Said
) -> dict[str, Any]:
    """Fit one model to one population and measure the sets of all configurations from it."""
    words = f"population {number} of {scale.populations}: {FITS[key].title}"
    checkpoint = folder / f"fit-{number:02d}-{key}"

    def measure() -> dict[str, Any]:
        fit = FITS[key].run(
            data, _seed(seed, number, key), scale.length(key, number), checkpoint,
            lambda progress: say(words, progress),
        )  # fmt: skip
        say(f"{words}: measuring", None)
        configurations = {}
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
                _write(folder / f"report-{key}.json", shown.model_dump(mode="json"))
        return {"lengths": _lengths(fit), **_convergence(fit), "configurations": configurations}

    part = _part(folder / f"population-{number:02d}-{key}.json", measure)
    shutil.rmtree(checkpoint, ignore_errors=True)
    return part


def _part(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Read a finished part, or measure it and write it."""
    part: dict[str, Any] | None = _read(path)
    if part is None:
        part = measure()
        _write(path, part)
    return part


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
    text = json.dumps(content, indent=1)
    with new_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _read(path: Path) -> Any:
    """Read a finished part; None if it is not there or was not finished."""
    with suppress(OSError, ValueError):
        return json.loads(path.read_text(encoding="utf-8"))
    return None
