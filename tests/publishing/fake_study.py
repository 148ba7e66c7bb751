"""A small study's internal folder, made by hand from the contract, with faults on demand.

The numbers are invented. `Study.seal` writes every file with the digests that bind them together,
so that a test can change one thing, seal or not, and see what the gate says.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests import findings_factory as making
from understudy.findings.schema import (
    Baseline,
    Convergence,
    DataFindings,
    Findings,
    FullySyntheticFindings,
    Histogram,
    IdentificationFindings,
    IntruderFindings,
    OwnRecordFindings,
    Pattern,
    PatternRisk,
    RecordRisk,
    RiskFindings,
    SpreadFindings,
    SynthesizerFindings,
    Trace,
    UtilityFindings,
    VariableFindings,
)
from understudy.microdata.variable import MISSING
from understudy.verdict.thresholds import Thresholds
from understudy.verdict.verdict import judge

__all__ = ["APPROVAL", "TODAY", "Study", "digest"]

TODAY = datetime.now(UTC).date()
APPROVAL = f"Ada Reviewer, {TODAY}, read by the whole board and accepted"
SEED = 0xA11CE_0F_7E57_0123456789ABCDEF
# Figures that the public must not find: each is written exactly into the findings.
EXACT = {"risk": 31.7319, "matches": 117.2583, "max": 175.3311, "min": 47.2519, "floor": 671.0937}


def digest(content: bytes) -> str:
    """Hash as a study does."""
    return blake2b(content, digest_size=32).hexdigest()


def spread(value: float | None, around: float = 1.0) -> SpreadFindings:
    """Make a measure over three sets."""
    return making.spread(
        *(None if value is None else value + step * around for step in (-1.0, 0.0, 1.0))
    )


def _variables() -> list[VariableFindings]:
    return [
        VariableFindings(
            name="gender",
            role="kept",
            description="Gender of the respondent",
            levels=("f", "m"),
            labels={"f": "female", "m": "male"},
        ),
        VariableFindings(
            name="age", role="kept", description="", levels=("young", "old", MISSING), labels={}
        ),
        VariableFindings(
            name="county",
            role="synthesized",
            description="County of residence",
            levels=("03", "01", "02", "unused"),
            labels={"01": "North & Coast"},
        ),
    ]


@dataclass
class Study:
    """A study to be: change what you like, then `seal` it."""

    folder: Path
    name: str = "dpmpm"
    kind: str = "dpmpm"
    m: int = 3
    n_records: int = 240
    variables: list[VariableFindings] = field(default_factory=_variables)
    outcome: str = "pass"
    converged: bool = True
    chains: int = 4
    rhat_target: float = 1.01
    ess_target: float = 400
    declared: bool = True
    reviewed: bool = True
    seed: int = SEED
    seed_from: str = "operating system"
    finished: str = "2026-01-31T12:00:00+00:00"
    approvers: int = 1
    missing_choice: str = "level"
    runs: int | None = None
    fully_synthetic: bool = False
    impossible: list[dict[str, list[str]]] = field(default_factory=list)
    missing: Any = field(default_factory=lambda: {"age": ["-9"]})
    title: str = "Study of the office"
    settings: dict[str, str] = field(
        default_factory=lambda: {"n_classes": "40", "seed": "12345", "workers": "host7"}
    )
    frames: list[pl.DataFrame] = field(default_factory=list)
    risk: float = EXACT["risk"]
    unique: float = 22.0
    attribute: float = EXACT["matches"]
    orders: tuple[int, ...] = (1, 2)
    thresholds: dict[str, Any] = field(default_factory=dict)

    @property
    def internal(self) -> Path:
        """The confidential folder."""
        return self.folder / "internal"

    @property
    def sets(self) -> Path:
        """The folder of the synthetic sets."""
        return self.internal / "sets" / self.name

    def frame(self, number: int) -> pl.DataFrame:
        """Draw one set: kept columns the same in all, sorted, so that their order says a lot."""
        kept = np.random.default_rng(11)
        drawn = np.random.default_rng(100 + number)
        columns = {}
        for variable in self.variables:
            present = [level for level in variable.levels if level != MISSING]
            draws = np.sort(kept.integers(len(variable.levels), size=self.n_records))
            if variable.role == "synthesized":
                draws = drawn.integers(max(1, len(present) - 1), size=self.n_records)
            texts = [present[code] if code < len(present) else None for code in draws]
            columns[variable.name] = pl.Series(texts, dtype=pl.Enum(present))
        return pl.DataFrame(columns)

    def findings(self, digests: tuple[str, ...]) -> Findings:
        """Write down what the study is said to have found."""
        return Findings(
            title=self.title,
            data=self._data(),
            intruders=(_intruder(("gender",)), _intruder(("gender", "age"))),
            synthesizers=(self._synthesizer(),),
            versions={"understudy": "0.1.0", "numpy": "9.9.9"},
            seed=self.seed,
            data_fingerprint="f1" * 32,
            set_digests={self.name: digests},
            runs=self.runs,
        )

    def _data(self) -> DataFindings:
        named = {role: tuple(variable.name for variable in self.variables if variable.role == role)
                 for role in ("kept", "synthesized")}  # fmt: skip
        return making.findings().data.model_copy(
            update={
                "n_records": self.n_records,
                "n_dropped": 17,
                "n_combinations": 23,
                "n_labels": 4,
                **named,
                "variables": tuple(self.variables),
                "patterns": (Pattern(levels=("f", "old"), records=7),),
                "deciding": ("gender",) if self.outcome == "review" else (),
                "pattern_sizes": {1: self.n_records} if self.outcome == "fail" else {},
                "codebook_declared": self.declared,
                "codebook_reviewed": self.reviewed,
                "n_patterns": 6,
                "pattern_numbers": (4,),
            }
        )

    def _synthesizer(self) -> SynthesizerFindings:
        return making.synthesizer(
            self.name,
            title="A private title",
            kind=self.kind,
            settings=self.settings,
            m=self.m,
            fully_synthetic=self.fully_synthetic,
            convergence=self._convergence(),
            utility=_utility(self.orders),
            risk=_fully_synthetic(self.n_records) if self.fully_synthetic else self._risk(),
            notes=("a note",),
        )

    def _convergence(self) -> Convergence:
        trace = Trace(quantity="concentration", draws=(1,), values=((0.51234,),), ranks=((1,),))
        return making.chains().model_copy(
            update={
                "converged": self.converged,
                "chains": self.chains,
                "draws": 1000,
                "warmup_sweeps": 500,
                "n_cells": 12,
                "cell_rhats": Histogram(edges=(1.0, 1.1), counts=(12,)),
                "traces": (trace,),
                "autocorrelation_time": 2.0,
                "spacing": 100.0,
                "rhat_target": self.rhat_target,
                "ess_target": self.ess_target,
            }
        )

    def _risk(self) -> RiskFindings:
        plain = making.synthesizer().risk
        assert plain.attribute is not None
        attribute = {"matches": spread(self.attribute), "joint_matches": 151.5,
                     "most_frequent_label": 133.0}  # fmt: skip
        return plain.model_copy(
            update={
                "identification": tuple(
                    self._identification(known) for known in (("gender",), ("gender", "age"))
                ),
                "attribute": plain.attribute.model_copy(update=attribute),
                "by_knowledge": {"gender": 1.2345},
                "own_record": own_record(self.n_records),
            }
        )

    def _identification(self, known: tuple[str, ...]) -> IdentificationFindings:
        return making.identification(0.0).model_copy(
            update={
                "known": known,
                "measures": {
                    "expected_match_risk": spread(self.risk),
                    "true_match_rate": spread(0.0042, 0.0),
                    "false_match_rate": spread(0.87654, 0.0),
                    "unique_matches": spread(self.unique),
                },
                "joint": {"expected_match_risk": 44.4},
                "random_linkage": 0.98765,
                "patterns": (
                    PatternRisk(pattern=4, expected_match_risk=1.77777, attribute_matches=2.0),
                ),
                "records": (
                    RecordRisk(row=137, pattern=4, match_probability=0.98761, label_right=1.0),
                ),
                "share_of_top_percent": 0.54321,
            }
        )

    def seal(self) -> Study:
        """Write the whole internal folder, every part bound to the others."""
        self.internal.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.sets.mkdir(parents=True, exist_ok=True)
        files: dict[str, bytes] = {}
        frames = self.frames or [self.frame(number) for number in range(1, self.m + 1)]
        for number, frame in enumerate(frames, start=1):
            raw = io.BytesIO()
            frame.write_parquet(raw)
            files[f"sets/{self.name}/{number:02d}.parquet"] = raw.getvalue()
        findings = self.findings(tuple(digest(content) for content in files.values()))
        files["findings.json"] = findings.model_dump_json().encode()
        (self.internal / "findings.json").write_bytes(files["findings.json"])
        files["codebook.json"] = json.dumps(self.codebook()).encode()
        files["verdict.json"] = json.dumps(self.verdict(digest(files["findings.json"]))).encode()
        for name, content in files.items():
            (self.internal / name).write_bytes(content)
        self.write_record({name: digest(content) for name, content in files.items()})
        self.write_finish()
        return self

    def codebook(self) -> dict[str, Any]:
        """The content of ``codebook.json``."""
        return {
            "variables": [variable.model_dump() for variable in self.variables],
            "declared": self.declared,
            "reviewed": self.reviewed,
            "missing": self.missing,
            "impossible": self.impossible,
        }

    def verdict(self, findings: str) -> dict[str, Any]:
        """The content of ``verdict.json``: the findings that lie there, judged."""
        raw = (self.internal / "findings.json").read_bytes()
        verdict = judge(Findings.model_validate_json(raw), Thresholds(**self.thresholds))
        content: dict[str, Any] = verdict.model_copy(update={"findings": findings}).model_dump()
        return content

    def write_record(self, files: dict[str, str]) -> None:
        """Write ``study.json``."""
        data = {"missing": self.missing_choice}
        plan = {"title": self.title, "approvers": self.approvers, "data": data}
        content = {
            "format": 2,
            "identity": {"plan": plan, "data": "f1" * 32, "codebook": "c0" * 32},
            "seed": self.seed,
            "seed_from": self.seed_from,
            "stages": {"all": {"of": "", "files": files}},
            "approvals": self.head(),
            "register": None,
        }
        self.write_study(content)

    def head(self) -> dict[str, Any]:
        """Digest of the last approval, as a study that is run again keeps it."""
        try:
            return dict(self.record()["approvals"])
        except FileNotFoundError:
            return {"head": None, "next": None}

    def record(self) -> dict[str, Any]:
        """Read ``study.json``, without its digest."""
        content: dict[str, Any] = json.loads((self.internal / "study.json").read_text())
        content.pop("digest", None)
        return content

    def write_finish(self) -> None:
        """Write when the verdict that lies there was reached."""
        verdict = digest((self.internal / "verdict.json").read_bytes())
        content = {"format": 1, "verdict": verdict, "time": self.finished}
        self.write_study(content, "finished.json")

    def write_study(self, content: dict[str, Any], name: str = "study.json") -> None:
        """Write ``study.json``, or another manifest, with the digest of itself."""
        own = digest(json.dumps(content, sort_keys=True).encode())
        (self.internal / name).write_text(json.dumps({**content, "digest": own}))

    def reseal(self, name: str, content: bytes) -> None:
        """Change one file and the digest that is written down for it, as a careful hand would."""
        (self.internal / name).write_bytes(content)
        record = self.record()
        record["stages"]["all"]["files"][name] = digest(content)
        self.write_study(record)
        self.write_finish()


def _fully_synthetic(n_records: int) -> RiskFindings:
    """Make the risk of files whose rows stand for nobody."""
    guess = making.attack(position=0.1, setting="as released").model_copy(
        update={"attack": "guess", "with_record": 88.4321}
    )
    effect = making.own_record(guess, evidence="others").model_copy(update={"n_records": n_records})
    repeated = FullySyntheticFindings(
        uniques=9, repeated=2.5, repeated_somewhere=4, expected_repeats={"Marginal": 2.0}
    )
    return making.synthesizer(
        identification=(), attribute=None, own_record=effect, fully_synthetic_risk=repeated
    ).risk


def own_record(
    n_records: int, position: float = 0.2312, exact: float = 61.2345
) -> OwnRecordFindings:
    """Make two attacks: the rows known, and, with half of the position, as released."""
    private = {"words": "private words", "without_record": 73.4567}
    attacks = [
        making.attack("pooled_modal", share, exact, 1.2121, setting=setting).model_copy(
            update={**private, "with_record": 73.4567 + share * exact}
        )
        for setting, share in (("worst case", position), ("as released", position / 2))
    ]
    return making.own_record(*attacks, unreliable=7, refitted=7).model_copy(
        update={"n_records": n_records}
    )


def _intruder(known: tuple[str, ...]) -> IntruderFindings:
    def baseline(risk: float, matches: float) -> Baseline:
        return Baseline(
            samples={"expected_match_risk": spread(risk), "attribute_matches": spread(matches)},
            exact={"expected_match_risk": risk + 0.0123, "attribute_matches": matches + 0.0123},
            joint={"expected_match_risk": spread(risk * 1.5)},
        )

    return IntruderFindings(
        known=known,
        baselines={
            "Uniform": baseline(12.3456, EXACT["min"]),
            "Perfect": baseline(61.2345, EXACT["max"]),
        },
    )


def _utility(orders: tuple[int, ...]) -> UtilityFindings:
    plain = making.synthesizer().utility
    row = plain.tables.tables[0].model_copy(
        update={
            "table": "county",
            "deviation": 909.1357,
            "noise_floor": 474.5,
            "truth_floor": 671.0,
        }
    )
    tables = {
        "orders": orders,
        "deviation": tuple(spread(909.1357 * order) for order in orders),
        "noise_floor": tuple(474.5357 * order for order in orders),
        "truth_floor": tuple(EXACT["floor"] * order for order in orders),
        "tables": (row,),
        "signed": tuple(Histogram(edges=(-7, 7), counts=(8,)) for _ in orders),
        "signed_floor": tuple(Histogram(edges=(-6, 6), counts=(8,)) for _ in orders),
        "propensity_ratio": 1.23456,
    }
    regression = {"formula": "age ~ county + gender", "train": 200, "mean_overlap": 0.812345,
                  "overlap_floor": 0.952345, "overlap_truth_floor": 0.912345,
                  "overlap_in_common": None, "n_in_common": None, "n_coefficients": 0}  # fmt: skip
    within = {"distance": (0.31234,), "noise_floor": (0.15123,), "truth_floor": (0.21234,),
              "spreads_above": (1.7,), "shares": (None,), "mean_distance": 0.292345,
              "mean_floor": 0.151234, "mean_truth_floor": 0.212345, "n_far": 0}  # fmt: skip
    return UtilityFindings(
        tables=plain.tables.model_copy(update=tables),
        regressions=(plain.regressions[0].model_copy(update=regression),),
        within=plain.within.model_copy(update=within),
    )
