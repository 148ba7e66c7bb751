"""What is kept of the own-record effect: every attack, beside the sets and the baselines.

The effect comes from a fit's posterior draws, so it is measured while the fit is in memory; the
same attacks on the sets themselves, and on the baselines, are put beside it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from understudy.errors import InputError
from understudy.findings.attack_schema import ImputedFindings
from understudy.findings.schema import (
    AttackFindings,
    InformedFindings,
    IntruderFindings,
    OwnRecordFindings,
    RiskFindings,
)
from understudy.microdata.table import Microdata

__all__ = [
    "informed_findings",
    "own_record_bytes",
    "own_record_findings",
    "with_imputed",
    "with_own_record",
]

MOST_MOVED = 10  # records that are listed

COPIED = (
    "attack",
    "setting",
    "known",
    "with_record",
    "without_record",
    "effect",
    "standard_error",
    "exact_table",
    "position",
    "position_error",
    "doubtful",
    "totals",
)


def own_record_findings(
    data: Microdata,
    fit: Any,
    intruders: Sequence[Sequence[str]],
    *,
    sets: int,
    refit: Callable[[Microdata], Any] | None,
    folds: int,
    seed: int,
    control: Any = None,
) -> OwnRecordFindings:
    """Measure how much people's own records add to what intruders learn.

    `fit` may be sets of another tool, with people who were not in the synthesis as `control`.
    Records whose weights cannot be trusted are left out of at most `folds` fits by `refit`, which
    takes microdata and gives a fit of the same model. `sets` is how many files are released.
    """
    from understudy.risk.own_record.attacks import ATTACKS
    from understudy.risk.own_record.effect import own_record_effect

    known = [tuple(names) for names in intruders] or None
    try:
        effect = own_record_effect(
            data, fit, known, sets=sets, control=control, refit=refit, folds=folds, seed=seed
        )
    except InputError as problem:  # too few draws: the verdict says so
        evidence = f"expected {problem.expected}, found {problem.came}"
        return OwnRecordFindings(evidence=evidence, attacks=(), n_records=data.n_records)
    return OwnRecordFindings(
        evidence=effect.evidence,
        attacks=tuple(
            AttackFindings(
                words=ATTACKS[attack.attack], **{name: getattr(attack, name) for name in COPIED}
            )
            for attack in effect.attacks
        ),
        n_records=effect.n_records,
        unreliable=effect.unreliable,
        refitted=effect.refitted,
        local_sensitivity=getattr(fit, "local_sensitivity", None),
        measured=effect.measured if effect.measured < effect.n_records else None,
    )


def own_record_bytes(data: Microdata, draws: int) -> int:
    """Estimate the bytes that the effect takes: the draws that are held, twice for a while."""
    from understudy.risk.own_record.from_draws import OF_PAIR, most_draws
    from understudy.risk.own_record.sampled_people import FEWEST_CELLS, MOST_PAIRS

    cells = len(data.patterns) * data.n_labels
    n_pairs = min(cells, max(MOST_PAIRS, FEWEST_CELLS * data.n_labels))
    return 2 * OF_PAIR * n_pairs * min(draws, most_draws(n_pairs, n_pairs))


def with_imputed(
    findings: OwnRecordFindings, fit: Any, imputations: int | None, seed: int
) -> OwnRecordFindings:
    """Add what imputed values tell about labels, where files show any; `seed` is that of the sets.

    It takes a fit that can impute, as every fit does that files with imputations come from.
    """
    effect = None if imputations is None else fit.imputed_effect(imputations, seed)
    if effect is None:
        return findings
    return findings.model_copy(update={"imputed": ImputedFindings(**effect._asdict())})


def informed_findings(
    data: Microdata, fit: Any, sets: Any, refit: Callable[[Microdata], Any]
) -> InformedFindings:
    """Measure what the files tell an intruder who knows the model and every record but one.

    The sets were drawn from the fit; `refit` fits the same model, and is called once for every set.
    """
    from understudy.risk.informed_intruder import informed_intruder_risk

    risk = informed_intruder_risk(data, fit, sets, refit)
    moved = risk.most_moved(MOST_MOVED)
    return InformedFindings(
        quantiles={f"{share:.0%}": factor for share, factor in risk.quantiles.items()},
        largest=risk.largest,
        probability_before=risk.probability_before,
        probability_after=risk.probability_after,
        reliable=risk.reliable,
        noise=risk.noise,
        rows=tuple((moved + 1).tolist()),
        factors=tuple(np.exp(risk.per_record()[moved]).tolist()),
    )


def with_own_record(
    risk: RiskFindings, own_record: OwnRecordFindings, intruders: Sequence[IntruderFindings]
) -> RiskFindings:
    """Put each attack beside its measure on the sets and on the baselines."""
    by_knowledge = {intruder.known: intruder for intruder in intruders}
    first = intruders[0] if intruders else None  # label attacks are the same for all intruders

    def beside(attack: AttackFindings) -> AttackFindings:
        intruder = by_knowledge.get(attack.known, None if attack.known else first)
        baselines = {} if intruder is None else intruder.baselines
        return attack.model_copy(
            update={
                "measured": _measured(risk, attack),
                "baselines": {
                    name: baseline.attacks[attack.attack]
                    for name, baseline in baselines.items()
                    if attack.attack in baseline.attacks
                },
            }
        )

    attacks = tuple(map(beside, own_record.attacks))
    return risk.model_copy(
        update={"own_record": own_record.model_copy(update={"attacks": attacks})}
    )


def _measured(risk: RiskFindings, attack: AttackFindings) -> float | None:
    """Find how often the attack was right on the sets."""
    if attack.attack == "model":
        return None if risk.prediction is None else risk.prediction.right
    attacks: dict[str, tuple[float, float | None]] = {}
    if attack.known:
        for match in risk.identification:
            attacks = match.attacks if match.known == attack.known else attacks
    elif risk.attribute is not None:
        attacks = risk.attribute.attacks
    worst_case, released = attacks.get(attack.attack, (None, None))
    return worst_case if attack.setting == "worst case" else released
