"""The section on what people's own records give away: what the verdict judges about risk."""

from __future__ import annotations

from collections.abc import Sequence

from understudy.findings.schema import (
    AttackFindings,
    Findings,
    FullySyntheticFindings,
    InformedFindings,
    OwnRecordFindings,
    PredictionFindings,
    SynthesizerFindings,
)
from understudy.pages.blocks import (
    LAST,
    Block,
    Cell,
    Fold,
    Heading,
    Paragraph,
    Section,
    Table,
    number_cell,
    topic,
)
from understudy.pages.plots.canvas import series_styles
from understudy.pages.plots.positions import attack_positions, positions_svg
from understudy.pages.sections.section_words import (
    attack_words,
    attacker_words,
    guarantee_words,
)
from understudy.summaries import percent, position_text, shown, whole
from understudy.synthesis.registry import MODELS
from understudy.verdict.risk_reasons import effect_outcome, judged_attack
from understudy.verdict.thresholds import Thresholds

__all__ = ["FOUR", "local_sensitivity_words", "own_record_section"]

FOUR = {
    "Uniform": "all labels alike",
    "Marginal": "the label's overall distribution",
    "Others": "the other records of the person's pattern",
    "Perfect": "the exact table",
}  # the baselines, and what each draws labels from
SETTINGS = {
    "worst case": "Worst case: the intruder knows which row stands for whom",
    "as released": "As released: the rows are shuffled",
}
LEAD = (
    "An attack can be right because of other people's records: every useful file allows that. The "
    "own-record effect is the rest: how much more often an attack is right because the person's "
    "own record is in the data. 0: nobody's own record matters. 1: it matters as much as if the "
    "exact table were published."
)
READING = (
    "Filled marks are the worst case, in which the intruder knows whose row is whose; hollow marks "
    "are the files as released, with rows shuffled. Bars are two standard errors. The worst mark "
    "is judged."
)
EVIDENCE = {
    "draws": "Success without a person's record is computed from the posterior draws, each "
    "weighted as if the record had been left out.",
    "closed form": "Success without a person's record is exact: it has a closed form.",
    "control group": "Success without a person's record is that on people who were not in the "
    "synthesis.",
    "others": "Without a fit or a control group, the other records of the pattern stand in for a "
    "release without the person. This is weaker evidence.",
}


def own_record_section(findings: Findings, limits: Thresholds) -> Section | None:
    """Show every attack with and without people's own records; None where nothing was measured."""
    blocks: list[Block] = []
    undeclared = [name for name in findings.data.synthesized if name in findings.data.undeclared]
    points = attack_positions(findings, series_styles(findings))
    if points:
        drawn = positions_svg(points, limits.own_record_pass, limits.own_record_review, "positions")
        blocks += [Paragraph(LEAD), *topic(READING, "All attacks on one scale", [drawn])]
    for synthesizer in findings.synthesizers:
        own_record = synthesizer.risk.own_record
        if own_record is not None and own_record.attacks:
            attacks = _attacks(synthesizer, own_record, limits, undeclared)
            first = synthesizer is findings.synthesizers[0]
            blocks += attacks if first else [Fold(_in_one_line(synthesizer, limits), attacks)]
        if synthesizer.risk.fully_synthetic is not None:
            blocks += _repeats(synthesizer, synthesizer.risk.fully_synthetic)
    if not blocks:
        return None
    return Section("own-record", "What people's own records give away", blocks, short="Own records")


def _in_one_line(synthesizer: SynthesizerFindings, limits: Thresholds) -> str:
    """Say where the worst attack on a synthesizer's sets lies."""
    own_record = synthesizer.risk.own_record
    title = shown(synthesizer.title)
    if own_record is None or not own_record.attacks:
        return title
    worst = judged_attack(own_record, limits)
    return f"{title}: {position_text(worst.position)}, {attack_words(worst)}"


def _attacks(
    synthesizer: SynthesizerFindings,
    own_record: OwnRecordFindings,
    limits: Thresholds,
    undeclared: Sequence[str],
) -> list[Block]:
    worst = judged_attack(own_record, limits)
    rows: list[list[Cell | str]] = []
    for setting, heading in SETTINGS.items():
        attacks = [attack for attack in own_record.attacks if attack.setting == setting]
        if attacks:
            rows += [[heading], *(_attack_row(attack, limits) for attack in attacks)]
    table = Table(
        f"Attacks: {shown(synthesizer.title)}, in records of {whole(own_record.n_records)}",
        ["Attack", "Right", "Without own record", "Effect", "± error", "Position", *FOUR],
        rows,
        note="Right: expected with the release. Baselines: the same attack on labels drawn from "
        + "; ".join(f"{words} ({name})" for name, words in FOUR.items())
        + ". They are for aligned rows, so they are left out where shuffling matters.",
    )
    return [
        Heading(f"Attacks: {shown(synthesizer.title)}", 3),
        Paragraph(
            f"{worst.sentence(own_record.n_records)}: the worst attack, “{attacker_words(worst)}”."
        ),
        *(Paragraph(remark, "remark") for remark in _reliability(own_record)),
        table,
        *_model(synthesizer.risk.prediction, own_record.n_records),
        *(Paragraph(words, "remark") for words in _proven(synthesizer, own_record, undeclared)),
        *([] if own_record.informed is None else _informed(synthesizer, own_record.informed)),
    ]


def _model(prediction: PredictionFindings | None, n_records: int) -> list[Block]:
    """Say how sure of true labels a model is that is trained on the files."""
    if prediction is None:
        return []
    threshold, at_risk = percent(prediction.threshold), _of(prediction.at_risk, n_records)
    if prediction.gain > 0:
        words = (
            "A model trained on all files knows more than the labels' overall shares: on average "
            f"it goes {percent(prediction.gain)} of the way from the true label's share to "
            f"certainty, and more than {threshold} of it for {at_risk} records."
        )
    else:
        words = (
            "On average, a model trained on all files knows no more than the labels' overall "
            f"shares. It goes more than {threshold} of the way from the true label's share to "
            f"certainty for {at_risk} records."
        )
    inference = "That includes inference; what people's own records add is in the table."
    return [Paragraph(f"{words} {inference}")]


def _proven(
    synthesizer: SynthesizerFindings, own_record: OwnRecordFindings, undeclared: Sequence[str]
) -> list[str]:
    """State the guarantee of a formal model, and of any other that there is none."""
    if synthesizer.kind not in MODELS or not MODELS[synthesizer.kind].formal:
        return local_sensitivity_words(own_record)
    settings = synthesizer.settings
    words = f"The labels' epsilon is {settings['epsilon']} for {settings['sets']} sets together."
    return [f"{words} {guarantee_words(undeclared)}"]


def local_sensitivity_words(own_record: OwnRecordFindings) -> list[str]:
    """Say what the local sensitivity is, where it was worked out."""
    if own_record.local_sensitivity is None:
        return []
    return [
        f"Local sensitivity: {own_record.local_sensitivity:.2f}. It is the largest weighted "
        "|log probability| of any record's label over the kept draws, for these data and these "
        "draws. It is no bound for other data, and no guarantee follows from it."
    ]


def _informed(synthesizer: SynthesizerFindings, informed: InformedFindings) -> list[Block]:
    """Show how far the files move the odds about one person, and whose odds move most."""
    return [
        Table(
            f"Odds of a person's true label, moved by the sets of {shown(synthesizer.title)}",
            ["Records", "Factor at most"],
            [
                [share, number_cell(factor)]
                for share, factor in {**informed.quantiles, "all": informed.largest}.items()
            ],
            note="For an intruder who knows the model, its prior and every record but one. Her "
            f"mean probability of the true label is {informed.probability_before:.3g} without the "
            f"files and {informed.probability_after:.3g} with them. Weights can be trusted for "
            f"{percent(informed.reliable)} of the records; a log factor has a Monte-Carlo error of "
            f"{informed.noise:.2g}, so the largest factors are partly chance.",
        ),
        Table(
            "Whose odds move most",
            ["Row of the confidential file", "Factor"],
            [
                [Cell(whole(row), sort=row), number_cell(factor)]
                for row, factor in zip(informed.rows, informed.factors, strict=True)
            ],
        ),
    ]


def _attack_row(attack: AttackFindings, limits: Thresholds) -> list[Cell | str]:
    aligned = attack.setting == "worst case" or not attack.needs_rows
    baselines = attack.baselines if aligned else {}
    return [
        Cell(attack_words(attack)),
        *(_records(value) for value in (attack.with_record, attack.without_record)),
        number_cell(attack.effect, attack.standard_error or None),
        number_cell(attack.standard_error, digits=2),
        Cell(
            position_text(attack.position),
            sort=attack.position,
            tone=effect_outcome(attack, limits),
        ),
        *(_records(baselines.get(name)) for name in FOUR),
    ]


def _records(value: float | None) -> Cell:
    """A number of people: whole where there are many, else to a tenth."""
    if value is None:
        return Cell("–", sort=LAST)
    return Cell(whole(value) if value >= 100 else f"{value:.1f}", sort=value)


def _reliability(own_record: OwnRecordFindings) -> list[str]:
    """Say where the success without a record comes from, and how far it can be trusted."""
    remarks = [EVIDENCE[own_record.evidence]] if own_record.evidence in EVIDENCE else []
    if own_record.measured is not None:
        remarks.append(
            f"Measured for a random sample of {whole(own_record.measured)} people, who stand for "
            "all; the errors are those of the sample too."
        )
    if own_record.unreliable:
        remarks.append(
            f"For {_of(own_record.unreliable, own_record.n_records)} records these weights are "
            f"unreliable; {_refitted(own_record.refitted)}."
        )
    elif own_record.evidence == "draws":
        remarks.append("All weights are reliable.")
    return remarks


def _refitted(records: int) -> str:
    """Say how many such records were measured by another fit."""
    if not records:
        return "none was measured by a fit without it"
    if records == 1:
        return "1 of them was measured by a fit without it"
    return f"{whole(records)} of them were measured by a fit without them"


def _of(part: int, total: int) -> str:
    return f"{whole(part)} of {whole(total)}"


def _repeats(synthesizer: SynthesizerFindings, risk: FullySyntheticFindings) -> list[Block]:
    """Records of one person that fully synthetic files repeat, beside what chance repeats."""
    chance = risk.expected_repeats
    table = Table(
        f"Unique records in the sets of {shown(synthesizer.title)}",
        [
            "Unique in the data",
            "In a file, mean",
            "In any file",
            *(f"By chance: {name}" for name in chance),
        ],
        [
            [
                number_cell(value)
                for value in (
                    risk.uniques,
                    risk.repeated,
                    risk.repeated_somewhere,
                    *chance.values(),
                )
            ]
        ],
        text_columns=(),
        note="All variables are synthetic: no row stands for a person, and an intruder guesses one "
        "variable from the others. A record counts here if one person alone has it and a file "
        "repeats it verbatim. Chance repeats some: with labels drawn from overall distributions "
        "(Marginal), from other people's records (Others), or as one file repeats another.",
    )
    return [table]
