"""What is judged about the risk of one synthesizer's sets.

Judged is the worst attack, by its own-record effect: how many more people it is right about than if
their own labels had not been in the data. It counts as above a limit only if it exceeds it by more
than a few records; it fails only if chance does not explain that either.
"""

from __future__ import annotations

from math import ceil, comb, exp, lgamma, log, sqrt

from understudy.errors import quoted_list
from understudy.findings.schema import (
    AttackFindings,
    FullySyntheticFindings,
    IdentificationFindings,
    OwnRecordFindings,
    RiskFindings,
    SynthesizerFindings,
)
from understudy.summaries import LARGEST_RARE, counted, number, one_in, percent, position_text
from understudy.verdict.grading import Outcome, Reason, graded
from understudy.verdict.thresholds import Thresholds

__all__ = [
    "OWN_RECORD",
    "attack_in_words",
    "effect_outcome",
    "judged_attack",
    "risk_reasons",
    "why_above_passes",
]

OWN_RECORD = "own-record effect"
ATTACK_ERRORS = 3.0  # standard errors that chance is allowed the worst of some twenty attacks
FALSE_ALARM = 0.00135  # probability that a normal variable lies so many errors above its mean
EVIDENCE = {
    "draws": "",
    "closed form": "",
    "control group": " Without: people who were not in the synthesis, each with any row of the "
    "pattern.",
    "others": " This is weaker evidence: without a fit or a control group, the other records of "
    "the pattern stand in for a release without the person.",
}


def _imputed(synthesizer: SynthesizerFindings) -> list[Reason]:
    """Say what files give away and do by showing imputed values: somebody has to accept it."""
    if synthesizer.imputations is None:
        return []
    own = synthesizer.risk.own_record
    imputed = None if own is None else own.imputed
    told = "what they add to an attack on a record that has some is not measured"
    if imputed is not None:
        told = (
            f"of {counted(imputed.records, 'record')} with imputed values, somebody who knows the "
            "model, the rows, and which values are imputed is right about "
            f"{number(imputed.with_values)} labels on average, about "
            f"{number(imputed.with_holes)} if these values had stayed missing"
        )
    words = (
        f"Files show imputed values, of {synthesizer.imputations:,} imputations. Risk and tables "
        "are measured as if the missing values were missing in the files, and attacks on all files "
        "as if each came from a draw of its own. Values are imputed given the whole record, its "
        f"true label too: {told}. Regressions of the original use its complete records."
    )
    return [Reason(subject="imputed values", outcome="review", words=words)]


def risk_reasons(synthesizer: SynthesizerFindings, limits: Thresholds) -> list[Reason]:
    """Judge alignment, the worst attack, and the rate of true matches."""
    risk = synthesizer.risk
    reasons = [*_alignment(synthesizer), *_imputed(synthesizer)]
    reasons += _copies(risk, synthesizer.m)
    if risk.fully_synthetic is not None:
        reasons.append(_repeated(risk.fully_synthetic, limits))
    if risk.own_record is not None and risk.own_record.attacks:
        reasons.append(_own_record(risk.own_record, limits))
    else:
        why = f" ({risk.own_record.evidence})" if risk.own_record is not None else ""
        words = f"The risk of these sets was not measured{why}: no file is released without it."
        reasons.append(Reason(subject=OWN_RECORD, outcome="fail", words=words))
    reasons += [_true_match_rate(match, limits) for match in risk.identification]
    return [reason.model_copy(update={"synthesizer": synthesizer.name}) for reason in reasons]


def _alignment(synthesizer: SynthesizerFindings) -> list[Reason]:
    """Rows that are paired with records at random make every risk look small.

    Not where the table that labels are drawn from is known: such a baseline may ignore the kept
    variables, and its risk is worked out without the rows.
    """
    matches, own_record = synthesizer.risk.identification, synthesizer.risk.own_record
    if own_record is not None and own_record.evidence == "closed form":
        return []
    if not matches or "looks random" not in matches[0].alignment:
        return []
    _, _, where = matches[0].alignment.partition("looks random ")
    words = (
        f"The labels look paired with the records at random {where}. Either they ignore the kept "
        "variables, or their rows are in another order and every risk is larger than it looks. "
        "Find out which."
    )
    return [Reason(subject="alignment", outcome="review", words=words)]


def _copies(risk: RiskFindings, n_sets: int) -> list[Reason]:
    """A set with all true labels is the confidential file, unless chance explains it.

    No table of labels by kept variables makes the true labels more probable than the exact table.
    So the probability that k of m sets are copies is at most (m choose k) times the k-th power of
    its, whatever model drew them that does not look at a record's own label.
    """
    if not risk.copies:
        return []
    by_chance = log(comb(n_sets, risk.copies)) + risk.copies * risk.copy_log_chance
    if by_chance > log(FALSE_ALARM):
        return []
    words = (
        f"In {risk.copies:,} of the files every label is the true one: they are the confidential "
        "file itself."
    )
    return [Reason(subject="copies", outcome="fail", words=words)]


def effect_outcome(attack: AttackFindings, limits: Thresholds) -> Outcome:
    """Grade the own-record effect of one attack.

    An effect counts as above a limit only if it exceeds it by `own_record_least` records; it fails
    only if three standard errors do not explain that. The error is that of the effect less the
    limit times the exact table's. No larger an effect than that of the label's totals alone passes.
    """
    least, error = limits.own_record_least, attack.position_error * attack.scale
    passing = limits.own_record_pass * attack.scale + least if limits.own_record_pass else 0.0
    if attack.effect <= passing or (limits.own_record_pass and _only_totals(attack, least)):
        return "pass"
    excess = attack.effect - limits.own_record_review * attack.scale
    return "review" if excess <= max(least, ATTACK_ERRORS * error) else "fail"


def _only_totals(attack: AttackFindings, least: float) -> bool:
    """Tell whether an effect is no larger than that of the label's totals alone.

    Both are simulated with about the same error.
    """
    error = sqrt(2.0) * attack.standard_error
    return attack.totals > 0 and attack.effect - attack.totals <= max(least, ATTACK_ERRORS * error)


def judged_attack(own_record: OwnRecordFindings, limits: Thresholds) -> AttackFindings:
    """Give the attack with the worst outcome, of these that with the highest position."""
    order = ("pass", "review", "fail")
    return max(
        own_record.attacks,
        key=lambda attack: (
            order.index(effect_outcome(attack, limits)),
            attack.setting == "worst case",
            attack.position,
            attack.effect,
        ),
    )


def _own_record(own_record: OwnRecordFindings, limits: Thresholds) -> Reason:
    """Judge the worst attack."""
    worst = judged_attack(own_record, limits)
    outcome = effect_outcome(worst, limits)
    released = own_record.worst("as released")
    words = (
        f"{worst.sentence(own_record.n_records)} (worst attack: {_who(worst)}). The effect "
        f"of {number(worst.effect)} records is {position_text(worst.position)} of "
        f"{_exact(worst)}; the pass limit is {position_text(limits.own_record_pass)}"
        f"{_beyond(worst, outcome, limits)}."
    )
    if released is not None and released != worst:
        words += (
            f" With rows shuffled, as released, the worst is {position_text(released.position)}: "
            f"{released.sentence(own_record.n_records)} ({_who(released)})."
        )
    words += EVIDENCE.get(own_record.evidence, "")
    uncertain = own_record.unreliable - own_record.refitted
    if uncertain > 0:
        most = max(map(_at_most, own_record.attacks), key=lambda attack: attack.position)
        words += (
            f" For {counted(uncertain, 'record')} the weights cannot be trusted, and no fit leaves "
            "them out. If nothing but their own labels told about them, the worst would be "
            f"{position_text(most.position)}: {most.sentence(own_record.n_records)} ({_who(most)})."
        )
        if outcome == "pass" and any(
            effect_outcome(_at_most(attack), limits) != "pass" for attack in own_record.attacks
        ):
            outcome = "review"
    return Reason(
        subject=OWN_RECORD,
        outcome=outcome,
        words=words,
        found=worst.position,
        limit=limits.own_record_pass,
    )


def _at_most(attack: AttackFindings) -> AttackFindings:
    """Give an attack as if nothing but their own labels told about the records in doubt."""
    effect = attack.effect + attack.doubtful
    return attack.model_copy(
        update={
            "without_record": attack.without_record - attack.doubtful,
            "effect": effect,
            "position": effect / attack.scale,
        }
    )


def attack_in_words(attack: AttackFindings, n_records: int) -> str:
    """Name an attack, and say in natural frequencies how often it is right."""
    return f"{_who(attack)}: {attack.sentence(n_records)}"


def _exact(attack: AttackFindings) -> str:
    """Name what an effect is compared with: that of the exact table, or one record."""
    if attack.exact_table < attack.scale:
        return "one record's, because the exact table's own is less"
    return f"the exact table's ({number(attack.exact_table)})"


def _who(attack: AttackFindings) -> str:
    known = f" by an intruder who knows {quoted_list(attack.known)}" if attack.known else ""
    return f"{attack.words}{known}"


def _beyond(attack: AttackFindings, outcome: Outcome, limits: Thresholds) -> str:
    if outcome == "pass":
        words = why_above_passes(attack, limits)
        return f". {words}" if words else ""
    if outcome == "fail":
        return ". The files tell more than the exact table would, beyond what chance explains"
    return ""


def why_above_passes(attack: AttackFindings, limits: Thresholds) -> str:
    """Say why an effect above the pass limit passes; nothing where it is not above, or fails."""
    if attack.position <= limits.own_record_pass or effect_outcome(attack, limits) != "pass":
        return ""
    beyond = attack.effect - limits.own_record_pass * attack.scale
    if beyond > limits.own_record_least:
        return f"The label's totals alone have an effect of {number(attack.totals)} records"
    return (
        f"The effect is above that by {number(beyond)} records; up to "
        f"{number(limits.own_record_least)} are tolerated"
    )


def _true_match_rate(match: IdentificationFindings, limits: Thresholds) -> Reason:
    """Share of the records that are a single and right match: an absolute limit."""
    rate = match.measures["true_match_rate"]
    words = (
        f"{_rate(rate.mean)} a single, right match in one file, for an intruder who knows "
        f"{quoted_list(match.known)}; the pass limit is {one_in(limits.true_match_rate_pass)}."
    )
    return Reason(
        subject="true match rate",
        outcome=graded(rate.mean, limits, "true_match_rate", rate.standard_error),
        words=words,
        found=rate.mean,
        limit=limits.true_match_rate_pass,
    )


def _rate(rate: float | None) -> str:
    if rate is None:
        return "An unknown number of records has"
    if 0 < rate <= LARGEST_RARE:
        return f"{one_in(rate)} records has"
    return f"{percent(rate)} of the records have"


def _repeated(risk: FullySyntheticFindings, limits: Thresholds) -> Reason:
    """Judge records that fully synthetic sets repeat verbatim, against what chance repeats."""
    chance = max(risk.expected_repeats.values(), default=0.0)
    least = limits.own_record_least if limits.repeated_records_pass else 0.0
    outcome: Outcome = "review"
    if risk.copies or _above_perfect(risk, least):
        outcome = "fail"
    elif risk.repeated <= limits.repeated_records_pass * chance + least:
        outcome = "pass"
    elif risk.repeated > limits.repeated_records_review * chance + least:
        outcome = "fail"
    if outcome == "pass" and not _chance_repeats(risk, least):
        outcome = "review"
    by_chance = ", ".join(
        f"{number(abs(value))} ({name})" for name, value in risk.expected_repeats.items()
    )
    words = (
        f"A file repeats {number(risk.repeated)} of {risk.uniques:,} unique records verbatim; "
        f"chance alone repeats {by_chance}. {risk.repeated_somewhere:,} are in some file, "
        f"{risk.repeated_everywhere:,} in all of them (by chance "
        f"{number(risk.expected_everywhere)}). The pass limit is "
        f"{number(limits.repeated_records_pass)} times chance, and up to {number(least)} records "
        "more are tolerated."
    )
    if risk.copies:
        words = f"{risk.copies:,} of the files have the very rows of the confidential file. {words}"
    elif outcome == "fail" and _above_perfect(risk, least):
        words += (
            f" Rows drawn from the records themselves would repeat {number(risk.perfect_repeats)}: "
            "these files hold more than that, beyond what chance explains."
        )
    return Reason(
        subject="repeated records",
        outcome=outcome,
        words=words,
        found=risk.repeated / chance if chance > 0 else None,
        limit=limits.repeated_records_pass,
    )


def _chance_repeats(risk: FullySyntheticFindings, least: float) -> bool:
    """Tell whether chance explains how many records are in all files.

    By chance it is a number of rare events, about Poisson; beyond `least` more than expected it is
    chance if at least so many have a probability above `FALSE_ALARM`.
    """
    excess, mean = risk.repeated_everywhere - least, risk.expected_everywhere
    if excess <= mean or mean <= 0:
        return excess <= mean
    below = sum(exp(k * log(mean) - mean - lgamma(k + 1)) for k in range(ceil(excess)))
    return 1.0 - below > FALSE_ALARM


def _above_perfect(risk: FullySyntheticFindings, least: float) -> bool:
    """Tell whether files repeat more than rows drawn from the records, or chance, would."""
    if risk.perfect_repeats is None or not risk.uniques:
        return False
    most = max(risk.perfect_repeats, *risk.expected_repeats.values())
    share = min(most / risk.uniques, 1.0)
    error = sqrt(risk.uniques * share * (1.0 - share))  # of a single file, at most
    return risk.repeated - most > max(least, ATTACK_ERRORS * error)
