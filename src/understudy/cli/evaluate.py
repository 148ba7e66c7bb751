"""``understudy evaluate``: what synthetic files give away and what they are worth, by any tool."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from understudy.cli.confidential_page import new_page
from understudy.cli.options import (
    AsJson,
    ColumnOptions,
    LevelOptions,
    ReadingOptions,
    Texts,
    has_memory,
    source_options,
    split_names,
)
from understudy.cli.output import (
    measuring_progress,
    paragraph,
    reading_progress,
    say,
    say_json,
    table,
)
from understudy.cli.survey_output import show_survey, survey_json
from understudy.cli.utility_output import show_utility, utility_json
from understudy.errors import DataWarning, ExitCode, UnderstudyWarning, quoted_list
from understudy.microdata.codebook import codebook_from
from understudy.microdata.file_format import ANY_FORMAT
from understudy.microdata.file_remarks import file_remarks
from understudy.microdata.label_table import LARGEST_TABLE
from understudy.microdata.plausibility import table_size
from understudy.microdata.reading import read_microdata
from understudy.microdata.synthetic_files import read_synthetic
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.randomness import check_seed
from understudy.risk.attribute import AttributeRisk, attribute_risk
from understudy.risk.baselines import Baseline, InherentRisk, inherent_risk
from understudy.risk.fully_synthetic import FullySyntheticRisk, fully_synthetic_risk
from understudy.risk.identification import IdentificationRisk, identification_risk
from understudy.risk.own_record.effect import OwnRecordEffect, own_record_effect
from understudy.study.evaluation import survey_measures
from understudy.summaries import Spread, counted, number, one_in
from understudy.utility.regression.regression_utility import regression_utility
from understudy.utility.tables import table_utility
from understudy.utility.within_pattern import within_pattern_utility
from understudy.work_done import Parts

__all__ = ["evaluate"]

MEASURING = "measuring the files"
MEASURES = {
    "expected_match_risk": "expected match risk",
    "true_match_rate": "true match rate",
    "false_match_rate": "false match rate",
    "unique_matches": "unique matches",
}


@has_memory
def evaluate(
    original: Annotated[
        str, Parameter(help=f"The confidential file ({ANY_FORMAT}), or a plan (.toml).")
    ],
    synthetic: Annotated[tuple[str, ...], Parameter(negative="")],
    /,
    *,
    columns: ColumnOptions = ColumnOptions(),
    known: Texts = (),
    levels: LevelOptions = LevelOptions(),
    reading: ReadingOptions = ReadingOptions(),
    imputations: int | None = None,
    formula: str | None = None,
    family: Literal["ordered-logit", "logistic", "linear"] = "ordered-logit",
    control: Path | None = None,
    if_unaligned: Literal["warn", "error"] = "warn",
    repeats: int = 100,
    seed: int | None = None,
    report: Path | None = None,
    memory: str | None = None,  # noqa: ARG001  (of the decorator)
    as_json: AsJson = False,
) -> ExitCode:
    """Measure what synthetic files, made by any tool, give away and what they are worth.

    Row i of every synthetic file must stand in for record i of the original: files in another order
    or with other codes are refused, since they would look safe whatever they give away.

    Parameters
    ----------
    synthetic
        The synthetic files.
    known
        Kept columns that an intruder knows, separated by commas; give the option once per intruder.
        All kept columns when left out.
    imputations
        How many imputations the files are of, where they show imputed values in place of holes
        (missing = model): those of the first come first, as many of each.
    formula
        A regression to ask of the original and of every file, such as "income ~ county + age".
    family
        The kind of this regression.
    control
        A file of people who were not in the synthesis, with the same columns: what is guessed right
        about them is inference, and what is guessed right beyond it comes from people's own
        records. Without one, what the other records tell stands in, which is weaker evidence.
    if_unaligned
        What to do if the rows of a file look mixed up: warn, or stop.
    repeats
        How often the baselines Min and Max are drawn.
    seed
        Makes the draws of the baselines repeatable.
    report
        A page to write (.html), with the verdict that a study of these files would get: the same
        measures, limits and plots. The exit code is then the verdict's. Confidential.
    memory
        How much may be used, such as "8 GB" or "25%"; a quarter of the machine's when left out.
    as_json
        Print JSON.
    """
    options = source_options(original, columns, levels, reading)
    with reading_progress() as progress:
        data = read_microdata(**options, progress=progress)
    texts = {name: options.get(name) for name in ("encoding", "delimiter", "header")}
    texts["header"] = texts["header"] or "auto"
    texts |= {"na": options.get("na") or (), "bins": options.get("bins")}
    sets = read_synthetic(data, synthetic, imputations=imputations, **texts)  # type: ignore[arg-type]
    opening = (texts["encoding"], texts["delimiter"], None, texts["header"])
    remarks = file_remarks(data, sets, synthetic, *opening)
    intruders = [split_names(names) for names in known]
    if intruders and not data.kept:
        data.known(intruders[0])
    if report is not None:
        asked = (intruders, formula, family, control, repeats, seed, as_json)
        return _report(report, data, sets, options.get("codebook"), remarks, *asked)
    with warnings.catch_warnings(record=True) as caught, measuring_progress(MEASURING):
        warnings.simplefilter("always", UnderstudyWarning)
        done = Parts(5, 2, 3, 1, 2, 4)
        risk = done(_measure(data, sets, intruders or [data.kept], repeats, seed, if_unaligned))
        own_record = done(_own_record(data, sets, intruders, control, seed))
        tables = done(table_utility(data, sets, seed=seed))
        survey = done(survey_measures(data, sets, intruders or [data.kept], seed))
        patterns = done(within_pattern_utility(data, sets, seed=seed) if data.kept else None)
        regression = done(
            None
            if formula is None
            else regression_utility(
                data,
                sets,
                formula=formula,
                family=family,
                train=None,
                seed=seed,
                rule=sets.combining_rule,
            )
        )
    notes = list(dict.fromkeys([*remarks, *(str(warning.message) for warning in caught)]))
    if as_json:
        content: dict[str, Any] = {
            "records": data.n_records,
            "files": len(sets),
            "synthesized": list(data.synthesized),
            "fully_synthetic": sets.fully_synthetic,
            "warnings": notes,
        }
        content |= {} if risk is None else _risk_json(*risk)
        content |= _own_record_json(own_record)
        content["utility"] = utility_json(tables, patterns, regression)
        content |= survey_json(survey)
        say_json(content)
    else:
        _show(data, sets, risk)
        if own_record is not None:
            say()
            say(str(own_record))
        show_utility(tables, patterns, regression)
        show_survey(survey)
    for note in notes:
        warnings.warn(note, DataWarning, stacklevel=1)
    return ExitCode.DONE


def _report(
    path: Path,
    data: Microdata,
    sets: SyntheticSets,
    codebook: Any,
    remarks: Sequence[str],
    intruders: Sequence[tuple[str, ...]],
    formula: str | None,
    family: str,
    control: Path | None,
    repeats: int,
    seed: int | None,
    as_json: bool,
) -> ExitCode:
    """Judge the files as a study's sets are judged; write the page and show the verdict."""
    from understudy.cli.run import show_verdict, verdict_as_json
    from understudy.study.evaluation import judged_files

    with (
        new_page(path) as target,
        measuring_progress(MEASURING),
    ):  # refused at once where it cannot be written
        verdict, html = judged_files(
            data,
            sets,
            intruders or ([data.kept] if data.kept else []),
            title=counted(len(sets), "synthetic file"),
            formula=formula,
            family=family,
            control=control,
            repeats=repeats,
            seed=check_seed(seed),
            reviewed=codebook_from(codebook).reviewed,
            remarks=remarks,
        )
        target.write_text(html, encoding="utf-8")
    if as_json:
        say_json(verdict_as_json(verdict, path))
    else:
        show_verdict(verdict, path)
    return verdict.exit_code


Pair = tuple[IdentificationRisk, InherentRisk | None]


def _measure(
    data: Microdata,
    sets: SyntheticSets,
    intruders: Sequence[tuple[str, ...]],
    repeats: int,
    seed: int | None,
    if_unaligned: Literal["warn", "error"],
) -> tuple[AttributeRisk, list[Pair]] | None:
    """Measure every risk; nothing where no row belongs to any record."""
    if not data.kept:
        return None
    done = Parts(1, *[1, 5] * len(intruders))
    attribute = done(attribute_risk(data, sets, if_unaligned=if_unaligned))
    pairs: list[Pair] = []
    for known in intruders:
        risk = done(identification_risk(data, sets, known=known, if_unaligned=if_unaligned))
        pairs.append((risk, done(_baselines(data, known, repeats, seed, len(sets)))))
    return attribute, pairs


def _own_record(
    data: Microdata,
    sets: SyntheticSets,
    intruders: Sequence[tuple[str, ...]],
    control: Path | None,
    seed: int | None,
) -> OwnRecordEffect | FullySyntheticRisk | None:
    """Measure what people's own records give away; None where a table would be too large."""
    if not data.kept:
        return fully_synthetic_risk(data, sets) if len(data.names) > 1 else None
    if table_size(data) > LARGEST_TABLE:
        return None
    return own_record_effect(data, sets, intruders or None, control=control, seed=seed)


def _own_record_json(own_record: OwnRecordEffect | FullySyntheticRisk | None) -> dict[str, Any]:
    if own_record is None:
        return {}
    if isinstance(own_record, OwnRecordEffect):
        attacks = own_record.effects.to_dicts()
        return {"own_record": {"evidence": own_record.evidence, "attacks": attacks}}
    return {
        "fully_synthetic_risk": {
            "guesses": own_record.guesses.to_dicts(),
            "unique_records": own_record.uniques,
            "repeated": own_record.repeated,
            "repeated_by_chance": dict(own_record.expected_repeats),
        }
    }


def _baselines(
    data: Microdata, known: tuple[str, ...], repeats: int, seed: int | None, n_sets: int
) -> InherentRisk | None:
    """Draw the data's own baselines, of one file and of all; None where that is too much."""
    if table_size(data) > LARGEST_TABLE:
        return None
    sets = n_sets if n_sets > 1 else None
    return inherent_risk(data, known=known, repeats=repeats, seed=seed, sets=sets)


def _show(
    data: Microdata, sets: SyntheticSets, risk: tuple[AttributeRisk, list[Pair]] | None
) -> None:
    files = counted(len(sets), "synthetic file")
    records = counted(data.n_records, "record")
    say(f"{files} of {records}; synthesized: {quoted_list(data.synthesized)}")
    if risk is None:
        say(
            paragraph(
                "Nothing is kept. The rows are new people: each belongs to no record, and nothing "
                "can be matched by rows."
            )
        )
        return
    attribute, pairs = risk
    say(paragraph(f"The {attribute.alignment}."))
    for match, baselines in pairs:
        say()
        say(paragraph(f"An intruder knows {quoted_list(match.known)} and a person's true label"))
        rows = [
            _row(label, match.spreads[name], getattr(match.joint, name), baselines, name)
            for name, label in MEASURES.items()
        ]
        say(table(HEADER, rows))
        say(
            paragraph(
                f"Rows paired at random would give an expected match risk of "
                f"{number(match.random_linkage)} (at most 1, whatever the data); paired at random "
                "among people who are alike in what the intruder knows, "
                f"{number(match.random_within_cells)}."
            )
        )
    say()
    say("An intruder knows which row is the person's and believes its label")
    matches = attribute.spreads["matches"]
    row = _row("true labels", matches, attribute.joint.matches, pairs[0][1], "attribute_matches")
    say(table(HEADER, [row]))
    say(
        paragraph(
            f"Guessing the most frequent label of the person's pattern would be right for "
            f"{number(attribute.most_frequent_label)} records."
        )
    )
    say()
    say(paragraph(EXPLANATION if pairs[0][1] is not None else NO_BASELINES))


HEADER = ("", "mean", "lowest", "highest", "Min", "Max", "together", "its Min", "its Max")
EXPLANATION = (
    "Together: the intruder holds all files. Min and Max are baselines of the confidential "
    "data, not bounds: labels drawn evenly, and labels drawn from each pattern's own distribution, "
    "for one file and for all together. Exact where known, else the mean of draws. For the false "
    "match rate Max is the lower one."
)
NO_BASELINES = (
    "Min and Max were not computed: the table of patterns by labels is too large. In Python, "
    "expected_risk takes a table of your own."
)


def _row(
    label: str, spread: Spread, joint: float | None, baselines: InherentRisk | None, name: str
) -> tuple[str, ...]:
    low, high = (None, None) if baselines is None else (baselines.minimum, baselines.maximum)
    values = (spread.mean, spread.minimum, spread.maximum, _value(low, name), _value(high, name))
    together = (joint, _joint_value(low, name), _joint_value(high, name))
    rate = name == "true_match_rate"
    shown = [one_in(value) if rate else number(value) for value in values]
    beside = [
        "-" if value is None else one_in(value) if rate else number(value) for value in together
    ]
    return (label, *shown, *beside)


def _joint_value(baseline: Baseline | None, name: str) -> float | None:
    if baseline is None or name not in baseline.joint_spreads:
        return None
    return baseline.joint_spreads[name].mean


def _value(baseline: Baseline | None, name: str) -> float | None:
    """Take the exact value of a baseline where there is one, the mean of its draws otherwise."""
    if baseline is None:
        return None
    exact = baseline.expected.measures().get(name)
    return baseline.spreads[name].mean if exact is None else exact


def _risk_json(attribute: AttributeRisk, pairs: Sequence[Pair]) -> dict[str, Any]:
    return {
        "rows": attribute.alignment.verdict,
        "identification": [
            {
                "known": list(risk.known),
                "random_linkage": risk.random_linkage,
                "random_within_cells": risk.random_within_cells,
                **{
                    name: _measure_json(
                        risk.spreads[name], getattr(risk.joint, name), baselines, name
                    )
                    for name in MEASURES
                },
            }
            for risk, baselines in pairs
        ],
        "attribute": {
            "most_frequent_label": attribute.most_frequent_label,
            "most_frequent_synthetic_label": attribute.most_frequent_synthetic_label,
            "matches": _measure_json(
                attribute.spreads["matches"],
                attribute.joint.matches,
                pairs[0][1],
                "attribute_matches",
            ),
        },
    }


def _measure_json(
    spread: Spread, joint: float | None, baselines: InherentRisk | None, name: str
) -> Mapping[str, Any]:
    low, high = (None, None) if baselines is None else (baselines.minimum, baselines.maximum)
    return {
        "mean": spread.mean,
        "lowest": spread.minimum,
        "highest": spread.maximum,
        "files_counted": spread.files,
        "minimum_level": _value(low, name),
        "maximum_level": _value(high, name),
        "all_files_together": joint,
        "all_files_together_minimum_level": _joint_value(low, name),
        "all_files_together_maximum_level": _joint_value(high, name),
    }
