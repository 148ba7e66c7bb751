"""Findings for tests: a small study on the bundled data, and plain ones to turn one screw of."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import understudy as us
from understudy.findings.chains import chain_findings
from understudy.findings.data import data_findings
from understudy.findings.risk import intruder_findings, risk_findings
from understudy.findings.schema import (
    AttackFindings,
    AttributeFindings,
    Baseline,
    Convergence,
    DataFindings,
    Findings,
    Histogram,
    IdentificationFindings,
    IntruderFindings,
    OwnRecordFindings,
    Pattern,
    PatternRisk,
    PatternShares,
    QuantityRow,
    RecordRisk,
    Regression,
    RiskFindings,
    SpreadFindings,
    SynthesizerFindings,
    TableRow,
    Tables,
    UtilityFindings,
    VariableFindings,
    WithinPattern,
)
from understudy.findings.utility import Analysis, utility_findings
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk.own_record.attacks import ATTACKS

SETS = 4
INTRUDERS = (("gender",), ("gender", "age"))


def made_study() -> Findings:
    """Run a short study: DPMPM, and perfect sets in the place of a second synthesizer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains this short have not converged, and say so
        data = us.load_ce_like()
        fit = us.DPMPM().fit(data, chains=2, warmup=30, draws=40, thin=3, seed=1)
        drawn = fit.synthesize(SETS, seed=2)
        chains = chain_findings(fit, drawn)
        perfect = us.Perfect().fit(data).synthesize(SETS, seed=3)
        return Findings(
            title="A study of the bundled data",
            data=data_findings(data, codebook_declared=True, codebook_reviewed=True),
            intruders=tuple(
                intruder_findings(data, known, repeats=12, sets=SETS, seed=4) for known in INTRUDERS
            ),
            synthesizers=(
                made_synthesizer(data, drawn, "dpmpm", "DPMPM", chains),
                made_synthesizer(data, perfect, "areal", "DP-areal", nothing_to_converge()),
            ),
            versions={"understudy": us.__version__},
            seed=1,
            data_fingerprint=data.fingerprint(),
            set_digests={"dpmpm": ("00" * 32,) * SETS},
        )


def made_synthesizer(
    data: Microdata, sets: SyntheticSets, kind: str, title: str, chains: Convergence
) -> SynthesizerFindings:
    """Measure one synthesizer's sets."""
    formula = "income ~ county + age + gender"
    return SynthesizerFindings(
        name=kind,
        title=title,
        kind=kind,
        settings={"classes": "40"},
        m=len(sets),
        fully_synthetic=False,
        convergence=chains,
        utility=utility_findings(
            data,
            sets,
            analyses=[Analysis(formula, "ordered-logit", 5000)],
            rule="partial",
            seed=5,
            repeats=SETS,
        ),
        risk=risk_findings(data, sets, INTRUDERS, by_knowledge=True).model_copy(
            update={"own_record": own_record()}
        ),
        notes=(),
    )


def nothing_to_converge() -> Convergence:
    """Say that there are no chains."""
    return Convergence(
        converged=True,
        chains=0,
        draws=0,
        warmup_sweeps=0,
        sweeps_per_draw=1,
        quantities=(),
        n_cells=0,
        n_cells_failed=0,
        cell_rhats=None,
        traces=(),
        autocorrelation_time=None,
        spacing=None,
        rhat_target=1.01,
        ess_target=400.0,
    )


def spread(*values: float | None) -> SpreadFindings:
    """Make a spread from its values."""
    return SpreadFindings.of(values)


def chains(converged: bool = True) -> Convergence:
    """Make chains that have converged, or not."""
    row = QuantityRow(
        quantity="concentration",
        rhat=1.001 if converged else 1.2,
        ess_bulk=900.0 if converged else 20.0,
        ess_tail=800.0,
        converged=converged,
    )
    return nothing_to_converge().model_copy(
        update={
            "converged": converged,
            "chains": 4,
            "draws": 500,
            "quantities": (row,),
            "worst_rhat": row.rhat,
            "least_ess": row.ess_bulk,
        }
    )


def baseline(match: float, label: float, joint: float = 0.0) -> Baseline:
    """Make a baseline: exact for one file, by samples for all."""
    return Baseline(
        samples={
            "expected_match_risk": spread(match - 1, match, match + 1),
            "true_match_rate": spread(0.0, 0.001),
            "false_match_rate": spread(None, None),
            "unique_matches": spread(1, 2),
            "attribute_matches": spread(label - 2, label, label + 2),
        },
        exact={"expected_match_risk": match, "attribute_matches": label},
        joint={
            "expected_match_risk": spread(match + joint - 0.1, match + joint + 0.1),
            "attribute_matches": spread(label + joint - 0.1, label + joint + 0.1),
        },
    )


def identification(match: float, joint: float | None = None) -> IdentificationFindings:
    """Make what an intruder learns who knows the sex."""
    return IdentificationFindings(
        known=("sex",),
        measures={
            "expected_match_risk": spread(match - 0.01, match + 0.01),
            "true_match_rate": spread(0.0, 0.0),
            "false_match_rate": spread(None, None),
            "unique_matches": spread(0.0, 0.0),
        },
        joint={"expected_match_risk": match if joint is None else joint},
        random_linkage=0.9,
        patterns=(
            PatternRisk(
                pattern=0,
                expected_match_risk=1.0,
                attribute_matches=2.0,
                levels=("f",),
                records=60,
            ),
        ),
        records=(
            RecordRisk(row=3, pattern=0, match_probability=0.5, label_right=0.5, levels=("f",)),
        ),
        share_of_top_percent=0.2,
    )


def attack(
    name: str = "row", position: float = 0.1, exact: float = 40.0, error: float = 0.0, **more: Any
) -> AttackFindings:
    """Make an attack whose own-record effect is this share of the exact table's."""
    effect = position * exact
    return AttackFindings(
        attack=name,
        words=ATTACKS[name],
        setting=more.pop("setting", "worst case"),
        known=more.pop("known", ("sex",) if name.startswith("match") else ()),
        with_record=20.0 + effect,
        without_record=20.0,
        effect=effect,
        standard_error=error,
        exact_table=exact,
        position=position,
        position_error=error / exact,
        **more,
    )


def own_record(*attacks: AttackFindings, evidence: str = "draws", **more: Any) -> OwnRecordFindings:
    """Make the effect of own records; a row attack in both settings when left out."""
    usual = (attack(measured=24.5, baselines={"Uniform": 10.0, "Marginal": 14.0, "Others": 30.0,
                                              "Perfect": 40.0}),
             attack(setting="as released", position=0.05))  # fmt: skip
    return OwnRecordFindings(evidence=evidence, attacks=attacks or usual, n_records=100, **more)


def tables(ratio: float = 1.2) -> Tables:
    """Make tables that deviate so many times as far as those of a perfect synthesizer."""
    histogram = Histogram(edges=(-1.5, -0.5, 0.5, 1.5), counts=(1, 4, 1))
    return Tables(
        orders=(1, 2),
        deviation=(spread(10 * ratio, 10 * ratio), spread(20 * ratio, 20 * ratio)),
        noise_floor=(7.0, 14.0),
        truth_floor=(10.0, 20.0),
        tables=(
            TableRow(
                order=1, table="town", cells=3, deviation=12.0, noise_floor=7.0, truth_floor=10.0
            ),
        ),
        signed=(histogram, histogram),
        signed_floor=(histogram, histogram),
        propensity_ratio=None,
    )


def regression(
    overlap: float | None = 0.8, floor: float | None = 0.85, n_in_common: int = 10
) -> Regression:
    """Make an analysis with this overlap, of ten coefficients."""
    return Regression(
        formula="sex ~ town",
        family="logistic",
        train=50,
        coefficients=(),
        mean_overlap=overlap,
        overlap_floor=floor,
        predictions_original=None,
        predictions_synthetic=None,
        distance=None,
        distance_floor=None,
        overlap_in_common=overlap,
        n_in_common=n_in_common,
        n_coefficients=10,
    )


def shares() -> PatternShares:
    """Make the labels of one pattern."""
    return PatternShares(
        labels=(0, 1, 2),
        original=(0.5, 0.3, 0.2),
        synthetic=(0.4, 0.3, 0.3),
        lowest=(0.3, 0.2, 0.1),
        highest=(0.6, 0.4, 0.4),
    )


def synthesizer(name: str = "one", **changes: Any) -> SynthesizerFindings:
    """Make a synthesizer that passes everything; `changes` are parts of its findings."""
    utility = UtilityFindings(
        tables=changes.pop("tables", tables()),
        regressions=changes.pop("regressions", (regression(),)),
        within=WithinPattern(
            distance=(0.2, 0.3),
            noise_floor=(0.14, 0.14),
            truth_floor=(0.2, 0.2),
            spreads_above=(0.0, None),
            shares=(shares(), None),
            mean_distance=changes.pop("distance", 0.25),
            mean_floor=0.14,
            mean_truth_floor=0.2,
            n_far=1,
        ),
    )
    risk = RiskFindings(
        identification=changes.pop("identification", (identification(4.0),)),
        attribute=changes.pop(
            "attribute",
            AttributeFindings(
                matches=spread(19.0, 21.0), joint_matches=21.0, most_frequent_label=30.0
            ),
        ),
        by_knowledge={},
        own_record=changes.pop("own_record", own_record()),
        fully_synthetic=changes.pop("fully_synthetic_risk", None),
    )
    made = SynthesizerFindings(
        name=name,
        title=name.upper(),
        kind=changes.pop("kind", "dpmpm"),
        settings={},
        m=2,
        fully_synthetic=False,
        convergence=chains(),
        utility=utility,
        risk=risk,
        notes=(),
    )
    return made.model_copy(update=changes)


def findings(synthesizers: Sequence[SynthesizerFindings] | None = None, **changes: Any) -> Findings:
    """Make plain findings of a study of a hundred people; `changes` are parts of its data."""
    data = DataFindings(
        n_records=100,
        n_dropped=0,
        n_combinations=6,
        n_labels=3,
        kept=("sex",),
        synthesized=("town",),
        variables=(
            VariableFindings(name="sex", role="kept", description="", levels=("f", "m"), labels={}),
            VariableFindings(
                name="town", role="synthesized", description="", levels=("a", "b", "c"), labels={}
            ),
        ),
        patterns=(Pattern(levels=("f",), records=60), Pattern(levels=("m",), records=40)),
        codebook_declared=True,
        codebook_reviewed=True,
        n_patterns=2,
        pattern_numbers=(0, 1),
    )
    four = {"Uniform": (2.0, 10.0), "Marginal": (3.0, 14.0), "Others": (8.0, 30.0),
            "Perfect": (10.0, 40.0)}  # fmt: skip
    intruder = IntruderFindings(
        known=("sex",), baselines={name: baseline(*values) for name, values in four.items()}
    )
    return Findings(
        title="Plain",
        data=data.model_copy(update=changes),
        intruders=(intruder,),
        synthesizers=tuple([synthesizer()] if synthesizers is None else synthesizers),
        versions={},
        seed=None,
        data_fingerprint="",
        set_digests={},
    )
