"""Does the verdict hold what it promises? Sets of known quality through the whole of it.

``python -m benchmarks.verdicts GENERATOR DATA --out FILE.csv [--seeds 50] [--evidence fit]``
``python -m benchmarks.verdicts table --out FILE.csv``

DATA is ``bundled`` or a plan. Every seed draws 20 sets, has them measured and judged as a study
does, and appends a line to FILE; seeds that FILE has are left out, so that a run can be stopped.
The second form prints the lines as a table.

GENERATOR: the four baselines; ``truth``, the distribution that the bundled data were drawn from;
``original``, whose sets are the confidential file itself; ``dpmpm`` (the paper's prior, class draw
kept), ``full`` (the same chains, class draw full), ``areal`` and ``backoff``. A model is fitted
once; its sets have the seeds. What does not depend on the sets, or takes long, is measured for the
first seeds and used for the others: utility (``--whole``), and own-record effects from a fit
(``--effects``), whose seeds only simulate again.

Evidence of what would be guessed without a person's own record: ``fit`` is what a study uses, the
posterior draws of a model, or the table of a baseline or of the truth, which is known exactly;
``files`` takes the sets as another tool's, with the baseline Others as stand-in, as ``evaluate``
does; ``control`` gives it people drawn from the truth who were not in the synthesis.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import understudy as us
from understudy.findings.chains import chain_findings, convergence_findings
from understudy.findings.data import data_findings
from understudy.findings.own_record import own_record_findings
from understudy.findings.risk import risk_findings
from understudy.findings.schema import Convergence, Findings, IntruderFindings, SynthesizerFindings
from understudy.findings.utility import utility_findings
from understudy.microdata.bundled.make_ce_like import (
    SETTLED,
    SETTLED_SEED,
    county_probabilities,
)
from understudy.microdata.label_table import LabelTable
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import child_seed, stream
from understudy.study.plan import read_plan
from understudy.synthesis.diagnostics import SCHEMA
from understudy.verdict.risk_reasons import risk_reasons
from understudy.verdict.verdict import ORDER, Verdict, judge

__all__ = ["Generator", "KnownTable", "line", "made_findings", "main", "truth_table"]

BASELINES: dict[str, Any] = {
    "uniform": us.Uniform(),
    "marginal": us.Marginal(),
    "others": us.Others(),
    "perfect": us.Perfect(),
}
DPMPM = us.DPMPM(level_prior=1.0)  # the paper's
MODELS: dict[str, Any] = {
    "dpmpm": DPMPM,
    "full": DPMPM,
    "areal": us.DPAreal(),
    "backoff": us.BackoffTree(),
}
GENERATORS = (*BASELINES, "truth", "original", *MODELS)
BUNDLED_INTRUDERS: tuple[tuple[str, ...], ...] = (
    ("gender",),
    ("gender", "age"),
    ("gender", "income", "age"),
)
LABEL_ATTACKS = ("row", "vote", "modal", "pooled_modal", "model")
FIELDS = (
    "data", "generator", "evidence", "seed", "sets", "risk", "verdict", "not_passed", "attack",
    "setting", "with_record", "without_record", "effect", "error", "position",
    *(f"{name}{part}" for name in LABEL_ATTACKS for part in ("", "_with", "_without", "_error")),
    "unreliable", "refitted", "converged", "worst_rhat", "true_match_rate", "seconds",
)  # fmt: skip


def truth_table(data: Microdata) -> LabelTable:
    """Tabulate the distribution that the bundled data were drawn from."""
    probabilities = county_probabilities(SETTLED, SETTLED_SEED)  # (pattern as made, county)
    sizes = [data.variable(name).n_levels for name in ("gender", "income", "age")]
    codes = [data.codes(name) for name in ("gender", "income", "age")]
    row = np.zeros(data.n_combinations, dtype=np.int32)  # (combination,)
    row[data.of_record] = np.ravel_multi_index(codes, sizes)
    return LabelTable(probabilities, row)


@dataclass(frozen=True)
class KnownTable:
    """Sets drawn from a table in which nobody's record has a part."""

    data: Microdata
    table: LabelTable

    def label_tables(self) -> list[LabelTable]:
        """What sets are drawn from."""
        return [self.table]

    def left_out_table(self) -> LabelTable:
        """The same without anybody."""
        return self.table

    pattern_table = left_out_pattern_table = left_out_table

    def synthesize(self, m: int, seed: int) -> SyntheticSets:
        """Draw sets."""
        codes = [self.table.draw(stream(seed, "truth", index), self.data) for index in range(m)]
        return SyntheticSets(self.data, np.stack(codes)[:, :, None])


@dataclass(frozen=True)
class Copies:
    """Sets that are the confidential file."""

    data: Microdata

    def synthesize(self, m: int, seed: int) -> SyntheticSets:  # noqa: ARG002 (a copy has no seed)
        """Copy it."""
        true = np.stack([self.data.codes(name) for name in self.data.synthesized], axis=1)
        return SyntheticSets(self.data, np.stack([true] * m).astype(np.int32))


@dataclass(frozen=True)
class Generator:
    """One way of making sets, and what is known about it.

    Attributes
    ----------
    name : str
        One of `GENERATORS`.
    data : Microdata
        The confidential data.
    intruders : sequence of tuple of str
        What each intruder knows.
    evidence : {"fit", "files", "control"}
        Where the success without a person's own record comes from.
    options : dict
        Of a model's fit, where they are not the defaults.
    checkpoint : path, optional
        Where a model's chains are saved, to go on with or to use again.
    given : fit, optional
        To use in place of one's own.
    """

    name: str
    data: Microdata
    intruders: Sequence[tuple[str, ...]]
    evidence: str = "fit"
    options: dict[str, Any] | None = None
    checkpoint: Path | None = None
    given: Any = None

    @cached_property
    def kept(self) -> dict[str, list[Any]]:
        """What the first seeds measured."""
        return {"own record": [], "utility": []}

    @cached_property
    def fit(self) -> Any:
        """Fit it, once."""
        if self.given is not None:
            return self.given
        if self.name in BASELINES:
            return BASELINES[self.name].fit(self.data)
        if self.name == "truth":
            return KnownTable(self.data, truth_table(self.data))
        if self.name == "original":
            return Copies(self.data)
        model = MODELS[self.name]
        fit = model.fit(self.data, seed=1, checkpoint=self.checkpoint, **(self.options or {}))
        if self.name == "full":
            fit = replace(fit, settings=replace(model, class_draw="full"))
        return fit

    @cached_property
    def refit(self) -> Callable[[Microdata], Any] | None:
        """Fit without the records whose weights cannot be trusted, once; None for known tables."""
        if self.name not in MODELS:
            return None

        @cache
        def again(n_records: int) -> Any:  # the same records are left out at every seed
            return MODELS[self.name].fit(less[n_records], seed=2, **(self.options or {}))

        less: dict[int, Microdata] = {}

        def fitted(data: Microdata) -> Any:
            less[data.n_records] = data
            return again(data.n_records)

        return fitted

    def source(self, sets: SyntheticSets) -> Any:
        """What the own-record effect is measured from."""
        return self.fit if self.evidence == "fit" and self.name != "original" else sets

    @cached_property
    def _judged_chains(self) -> list[Convergence]:
        return []

    def chains(self, sets: Any) -> Convergence:
        """Whether the chains have converged, once."""
        if not self._judged_chains:
            reasons = (
                chain_findings(self.fit, sets, self.intruders)
                if self.name in MODELS
                else convergence_findings(
                    diagnostics=pl.DataFrame(schema=SCHEMA), scalars={}, converged=True, warmup=0,
                    thin=1, autocorrelation_time=1.0, spacing=1.0, rhat_target=1.01,
                    ess_target=400.0,
                )
            )  # fmt: skip
            self._judged_chains.append(reasons)
        return self._judged_chains[0]

    def control(self, seed: int) -> pl.DataFrame | None:
        """People who were not in the synthesis: the same kept variables, labels from the truth."""
        if self.evidence != "control":
            return None
        drawn = truth_table(self.data).draw(stream(seed, "control"), self.data)
        levels = np.array(self.data.variable("county").levels)
        people: pl.DataFrame = self.data.frame("polars")
        return people.with_columns(county=pl.Series(levels[drawn]))


def made_findings(
    generator: Generator, seed: int, m: int, *, whole: int = 1, effects: int = 10
) -> Findings:
    """Draw sets and measure everything that the verdict judges, as a study does.

    Parameters
    ----------
    generator : Generator
        Of the sets.
    seed : int
        Of sets and of all that is simulated.
    m : int
        Sets.
    whole, effects : int
        Most seeds for which utility, and own-record effects from a fit, are measured.
    """
    data = generator.data
    sets = generator.fit.synthesize(m, seed=child_seed(seed, "sets"))
    source = generator.source(sets)
    measured = generator.kept["own record"]
    if source is sets or len(measured) < effects:
        measured.append(
            own_record_findings(
                data, source, generator.intruders, sets=m, refit=generator.refit, folds=1,
                seed=child_seed(seed, "own record"), control=generator.control(seed),
            )
        )  # fmt: skip
        own_record = measured[-1]
    else:
        own_record = measured[seed % len(measured)]
    utilities = generator.kept["utility"]
    if len(utilities) < whole:
        utilities.append(
            utility_findings(
                data, sets, analyses=[], rule="partial", seed=child_seed(seed, "utility")
            )
        )
    risk = risk_findings(data, sets, generator.intruders, by_knowledge=False)
    synthesizer = SynthesizerFindings(
        name=generator.name,
        title=generator.name,
        kind="dpmpm",
        settings={},
        m=m,
        fully_synthetic=False,
        convergence=generator.chains(sets),
        utility=utilities[seed % len(utilities)],
        risk=risk.model_copy(update={"own_record": own_record}),
        notes=(),
    )
    return Findings(
        title=generator.name,
        data=data_findings(data, codebook_declared=True, codebook_reviewed=True),
        intruders=tuple(
            IntruderFindings(known=tuple(known), baselines={}) for known in generator.intruders
        ),
        synthesizers=(synthesizer,),
        versions={},
        seed=seed,
        data_fingerprint=data.fingerprint(),
        set_digests={},
    )


def line(generator: Generator, findings: Findings, verdict: Verdict) -> dict[str, Any]:
    """Write what was decided in one line."""
    synthesizer = findings.synthesizers[0]
    own_record = synthesizer.risk.own_record
    assert own_record is not None
    worst = own_record.worst("worst case") or own_record.worst("as released")
    reasons = risk_reasons(synthesizer, verdict.thresholds)
    by_attack = {
        attack.attack: attack for attack in own_record.attacks if attack.setting == "worst case"
    }
    matches = synthesizer.risk.identification
    return {
        "generator": generator.name,
        "evidence": own_record.evidence,
        "sets": synthesizer.m,
        "risk": max((reason.outcome for reason in reasons), key=ORDER.index),
        "verdict": verdict.outcome,
        "not_passed": "; ".join(
            sorted({reason.subject for reason in verdict.reasons if reason.outcome != "pass"})
        ),
        **(
            {}
            if worst is None
            else {
                "attack": worst.attack,
                "setting": worst.setting,
                "with_record": worst.with_record,
                "without_record": worst.without_record,
                "effect": worst.effect,
                "error": worst.standard_error,
                "position": worst.position,
            }
        ),
        **{
            f"{name}{part}": getattr(by_attack[name], value)
            for name in LABEL_ATTACKS
            if name in by_attack
            for part, value in (
                ("", "position"),
                ("_with", "with_record"),
                ("_without", "without_record"),
                ("_error", "standard_error"),
            )
        },
        "unreliable": own_record.unreliable,
        "refitted": own_record.refitted,
        "converged": synthesizer.convergence.converged,
        "worst_rhat": synthesizer.convergence.worst_rhat,
        "true_match_rate": max(
            (match.measures["true_match_rate"].mean or 0.0 for match in matches), default=None
        ),
    }


def run(
    generator: Generator, name: str, out: Path, seeds: int, m: int, whole: int, effects: int
) -> None:
    """Judge the seeds that the file does not have yet."""
    done = _done(out, name, generator)
    for seed in range(1, seeds + 1):
        if seed in done:
            continue
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            findings = made_findings(generator, seed, m, whole=whole, effects=effects)
        written = {"data": name, "seed": seed, **line(generator, findings, judge(findings))}
        written["evidence"] = generator.evidence
        written["seconds"] = round(time.process_time() - start, 2)
        new = not out.exists()
        with out.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS)
            if new:
                writer.writeheader()
            writer.writerow({key: _short(value) for key, value in written.items()})


def _short(value: Any) -> Any:
    return f"{value:.5g}" if isinstance(value, float) else value


def _done(out: Path, name: str, generator: Generator) -> set[int]:
    if not out.exists():
        return set()
    with out.open(newline="", encoding="utf-8") as file:
        return {
            int(row["seed"])
            for row in csv.DictReader(file)
            if (row["data"], row["generator"], row["evidence"])
            == (name, generator.name, generator.evidence)
        }


def table(out: Path) -> None:
    """Print a line per data set, generator and evidence."""
    frame = pl.read_csv(out, infer_schema_length=None)
    print("| data | sets drawn from | evidence | seeds | pass / review / fail on risk | verdict "
          "| worst attack | its position | pooled guess with / without | not passed |\n"
          + "|---" * 10 + "|")  # fmt: skip
    for (data, generator, evidence), part in frame.group_by(
        ["data", "generator", "evidence"], maintain_order=True
    ):
        counts = [
            " / ".join(str((part[column] == outcome).sum()) for outcome in ORDER)
            for column in ("risk", "verdict")
        ]
        positions = part["position"].cast(pl.Float64)
        attacks = part["attack"].value_counts(sort=True)["attack"].to_list()
        missed = sorted({name for text in part["not_passed"].drop_nulls() for name in
                         str(text).split("; ")})  # fmt: skip
        print(
            f"| {data} | {generator} | {evidence} | {part.height} | {counts[0]} | {counts[1]} "
            f"| {attacks[0]} | {float(positions.to_numpy().min()):.2f} to "
            f"{float(positions.to_numpy().max()):.2f} "
            f"| {float(part['pooled_modal_with'].to_numpy().mean()):.0f} / "
            f"{float(part['pooled_modal_without'].to_numpy().mean()):.0f} "
            f"| {', '.join(missed)} |"
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generator", choices=[*GENERATORS, "table"])
    parser.add_argument("data", nargs="?", default="bundled")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--sets", type=int, default=20)
    parser.add_argument("--whole", type=int, default=1)
    parser.add_argument("--effects", type=int, default=10)
    parser.add_argument("--evidence", choices=["fit", "files", "control"], default="fit")
    for name in ("chains", "warmup", "draws", "thin"):
        parser.add_argument(f"--{name}", type=int)
    asked = parser.parse_args(arguments)
    if asked.generator == "table":
        table(asked.out)
        return
    if asked.data == "bundled":
        name, data, known = "bundled", us.load_ce_like(), BUNDLED_INTRUDERS
    else:
        if asked.generator == "truth" or asked.evidence == "control":
            sys.exit("The truth is known for the bundled data alone.")
        path = Path(asked.data)
        plan, name = read_plan(path), path.parent.name
        data = us.read_microdata(**plan.data.reading_options(path.parent))
        known = tuple(data.known(intruder.known) for intruder in plan.intruders or ()) or (
            data.kept,
        )
    lengths = {
        key: getattr(asked, key)
        for key in ("chains", "warmup", "draws", "thin")
        if getattr(asked, key) is not None
    }
    chains = "dpmpm" if asked.generator == "full" else asked.generator
    saved = asked.out.with_suffix(".fits") / f"{name}-{chains}"
    generator = Generator(asked.generator, data, known, asked.evidence, lengths, saved)
    run(generator, name, asked.out, asked.seeds, asked.sets, asked.whole, asked.effects)


if __name__ == "__main__":
    main()
