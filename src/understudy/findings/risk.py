"""What is kept of the risk measures: values over the sets, and who carries most of the risk."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.errors import quoted
from understudy.findings.data import pattern_levels, population_findings
from understudy.findings.schema import (
    AttackFindings,
    AttributeFindings,
    Baseline,
    FullySyntheticFindings,
    IdentificationFindings,
    IntruderFindings,
    OwnRecordFindings,
    PatternRisk,
    PredictionFindings,
    RecordRisk,
    RiskFindings,
    SpreadFindings,
)
from understudy.microdata.label_table import LARGEST_TABLE
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.spreading import in_order
from understudy.work_done import Parts

if TYPE_CHECKING:
    from understudy.risk.baselines import Baseline as MeasuredBaseline

__all__ = ["enough_repeats", "intruder_findings", "risk_findings"]

MOST_RISKY = 20  # patterns and records that carry most of the risk
MOST_KNOWLEDGE = 64  # combinations of known variables that are listed
FEW_KEPT = 8  # kept variables up to which every combination of them is measured
LEAST_KNOWLEDGE = 2  # with more of them, combinations of so many
MATCH_MEASURES = ("expected_match_risk", "true_match_rate", "false_match_rate", "unique_matches")
MOST_REPEATS, FEWEST_REPEATS = 100, 5  # draws of the baselines
BASELINE_ROWS = 100_000_000  # rows that all draws of a baseline may have together
EFFECTS = ("effect", "standard_error", "exact_table", "position", "position_error")
MEASURES = (*MATCH_MEASURES, "attribute_matches")


def intruder_findings(
    data: Microdata, known: Sequence[str], *, repeats: int, sets: int, seed: int
) -> IntruderFindings:
    """Measure the data's own baselines for one intruder, before any synthesizer.

    All labels are redrawn `repeats` times for each baseline. An intruder who holds all files holds
    as many as the study releases, `sets`.
    """
    from understudy.risk.baselines import inherent_risk

    risk = inherent_risk(data, known, repeats=repeats, seed=seed, sets=sets)
    return IntruderFindings(
        known=risk.known,
        baselines={name: _baseline(baseline) for name, baseline in risk.baselines.items()},
        population=population_findings(data, risk.known),
    )


def enough_repeats(data: Microdata, sets: int) -> int:
    """Say how often to draw the baselines: of many records, a few draws tell as much as of few.

    Every repeat draws one file, and as many as are released for the intruder who holds all.
    """
    affordable = BASELINE_ROWS // (data.n_records * (1 + sets))
    return min(MOST_REPEATS, max(FEWEST_REPEATS, affordable))


def _baseline(baseline: MeasuredBaseline) -> Baseline:
    return Baseline(
        samples=_spreads(baseline.samples),
        exact={name: getattr(baseline.expected, name, None) for name in MEASURES},
        joint={} if baseline.joint is None else _spreads(baseline.joint),
        attacks={
            row["attack"]: row["mean"] if row["exact"] is None else row["exact"]
            for row in baseline.attacks.iter_rows(named=True)
        },
    )


def _spreads(frame: pl.DataFrame) -> dict[str, SpreadFindings]:
    """Summarize the measures that a frame has, one row per set or repeat."""
    return {
        name: SpreadFindings.of(frame[name].to_list()) for name in MEASURES if name in frame.columns
    }


def risk_findings(
    data: Microdata, sets: SyntheticSets, intruders: Sequence[Sequence[str]], *, by_knowledge: bool
) -> RiskFindings:
    """Measure what intruders learn from these sets, row by row beside the data.

    Fully synthetic sets have no such rows: nothing is matched then. `by_knowledge` also measures
    every combination of kept variables that an intruder might know.
    """
    if sets.fully_synthetic or not data.kept:
        return _fully_synthetic(data, sets)
    from understudy.risk.attribute import attribute_risk

    done = Parts(1, 2 * len(intruders), 3 if by_knowledge else 0, 3)
    attribute = done(attribute_risk(data, sets))
    label_right = attribute.per_record()  # (record,)
    shares = data.counts / data.patterns.sizes[data.patterns.of_combination]  # (combination,)
    return RiskFindings(
        identification=done(tuple(in_order(_identification, list(intruders), sets, label_right))),
        attribute=AttributeFindings(
            matches=SpreadFindings.of(attribute.per_set["matches"].to_list()),
            joint_matches=attribute.joint.matches,
            attacks=_attacks(attribute.attacks),
            most_frequent_label=attribute.most_frequent_label,
            most_frequent_synthetic_label=attribute.most_frequent_synthetic_label,
        ),
        by_knowledge=done(_by_knowledge(data, sets) if by_knowledge else {}),
        copies=int((attribute.per_set["matches"] == data.n_records).sum()),
        copy_log_chance=float(data.counts @ np.log(shares)),
        prediction=done(_prediction(data, sets)),
    )


def _prediction(data: Microdata, sets: SyntheticSets) -> PredictionFindings | None:
    """Train a model on the files; None where there are more labels than it can number."""
    from understudy.risk.prediction import prediction_risk

    if data.n_labels > LARGEST_TABLE:
        return None
    risk = prediction_risk(data, sets, seed=0)  # decides how rows are resampled for the trees
    return PredictionFindings(
        right=risk.confidence * data.n_records,
        gain=risk.gain,
        at_risk=risk.at_risk,
        threshold=risk.threshold,
    )


def _fully_synthetic(data: Microdata, sets: SyntheticSets) -> RiskFindings:
    """Measure sets whose rows stand for nobody: guesses of each variable, and repeated records."""
    from understudy.risk.fully_synthetic import fully_synthetic_risk

    nothing = RiskFindings(identification=(), attribute=None, by_knowledge={})
    if data.kept or len(data.names) < 2:  # not measured, so the verdict will not let them pass
        return nothing
    risk = fully_synthetic_risk(data, sets)
    guesses = tuple(
        AttackFindings(
            attack="guess",
            words=f"guess {quoted(row['target'])} from the other variables, all files",
            setting="as released",
            known=(),
            with_record=row["success"],
            without_record=row["others"],
            measured=row["success"],
            baselines={name: row[name.lower()] for name in ("Marginal", "Others", "Perfect")},
            **{name: row[name] for name in EFFECTS},
        )
        for row in risk.guesses.iter_rows(named=True)
    )
    return nothing.model_copy(
        update={
            "own_record": OwnRecordFindings(
                evidence="others", attacks=guesses, n_records=data.n_records
            ),
            "fully_synthetic": FullySyntheticFindings(
                uniques=risk.uniques,
                repeated=risk.repeated,
                repeated_somewhere=risk.repeated_somewhere,
                repeated_everywhere=risk.repeated_everywhere,
                expected_everywhere=risk.expected_everywhere,
                expected_repeats=dict(risk.expected_repeats),
                perfect_repeats=risk.perfect_repeats,
                copies=risk.copies,
            ),
        }
    )


def _by_knowledge(data: Microdata, sets: SyntheticSets) -> dict[str, float]:
    from understudy.risk.by_knowledge import risk_lattice

    few = len(data.kept) <= FEW_KEPT
    ranking = risk_lattice(data, sets, None if few else LEAST_KNOWLEDGE).ranking
    listed = ranking.head(MOST_KNOWLEDGE)
    return dict(zip(listed["known"], listed["expected_match_risk"], strict=True))


def _identification(
    known: Sequence[str], sets: SyntheticSets, label_right: NDArray[np.float64]
) -> IdentificationFindings:
    from understudy.risk.identification import identification_risk

    data = sets.data
    risk = identification_risk(data, sets, known)
    per_record = risk.per_record()  # (record,)
    pattern = data.patterns.of_combination[data.of_record]  # (record,)
    return IdentificationFindings(
        known=risk.known,
        measures=_spreads(risk.per_set),
        joint={name: getattr(risk.joint, name) for name in (*MATCH_MEASURES, "true_matches")},
        random_linkage=risk.random_linkage,
        patterns=_worst_patterns(data, pattern, per_record, label_right),
        records=_worst_records(data, pattern, per_record, label_right),
        share_of_top_percent=_share_of_top(per_record),
        random_within_cells=risk.random_within_cells,
        alignment=str(risk.alignment),
        attacks=_attacks(risk.attacks),
    )


def _attacks(frame: pl.DataFrame) -> dict[str, tuple[float, float | None]]:
    """Success of each attack, in the worst case and as released."""
    return {row["attack"]: (row["worst_case"], row["as_released"]) for row in frame.to_dicts()}


def _worst_patterns(
    data: Microdata,
    pattern: NDArray[np.int32],
    match: NDArray[np.float64],
    label_right: NDArray[np.float64],
) -> tuple[PatternRisk, ...]:
    """Patterns that carry most of the match risk, the worst first."""
    size = len(data.patterns)
    matches = np.bincount(pattern, weights=match, minlength=size)  # (pattern,)
    labels = np.bincount(pattern, weights=label_right, minlength=size)  # (pattern,)
    worst = np.argsort(-matches, kind="stable")[:MOST_RISKY]
    return tuple(
        PatternRisk(
            pattern=index,
            expected_match_risk=float(matches[index]),
            attribute_matches=float(labels[index]),
            levels=pattern_levels(data, index),
            records=int(data.patterns.sizes[index]),
        )
        for index in worst.tolist()
    )


def _worst_records(
    data: Microdata,
    pattern: NDArray[np.int32],
    match: NDArray[np.float64],
    label_right: NDArray[np.float64],
) -> tuple[RecordRisk, ...]:
    """Records with the largest match probability above zero, the worst first."""
    worst = np.lexsort((np.arange(match.size), -label_right, -match))[:MOST_RISKY]
    return tuple(
        RecordRisk(
            row=row + 1,
            pattern=int(pattern[row]),
            match_probability=float(match[row]),
            label_right=float(label_right[row]),
            levels=pattern_levels(data, int(pattern[row])),
        )
        for row in worst.tolist()
        if match[row] > 0
    )


def _share_of_top(match: NDArray[np.float64]) -> float | None:
    """Share of the match risk that is carried by the one record in a hundred with most of it."""
    total = float(match.sum())
    if total == 0:
        return None
    top = max(1, match.size // 100)
    return min(1.0, float(np.partition(match, match.size - top)[-top:].sum()) / total)
