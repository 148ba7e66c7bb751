"""``understudy evaluate``: what synthetic files give away and what they are worth, by any tool."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from understudy.cli.options import Names, source_options
from understudy.cli.output import paragraph, reading_progress, say, say_json, table
from understudy.errors import DataWarning, ExitCode, SettingError, quoted_list
from understudy.microdata.reading import read_microdata
from understudy.microdata.synthetic import read_synthetic
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.risk.attribute import AttributeRisk, attribute_risk
from understudy.risk.identification import IdentificationRisk, identification_risk
from understudy.risk.levels import InherentRisk, Level, inherent_risk
from understudy.risk.spread import Spread, figure
from understudy.utility.regression import RegressionUtility, regression_utility
from understudy.utility.tables import TableUtility, table_utility
from understudy.utility.within_pattern import WithinPatternUtility, within_pattern_utility

__all__ = ["evaluate"]

MEASURES = {
    "expected_match_risk": "expected match risk",
    "true_match_rate": "true match rate",
    "false_match_rate": "false match rate",
    "unique_matches": "unique matches",
}


def evaluate(
    original: str,
    synthetic: Annotated[tuple[str, ...], Parameter(negative="")],
    /,
    *,
    synthesize: Names = (),
    known: Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=False)] = (),
    keep: Names | None = None,
    ignore: Names = (),
    codebook: Path | None = None,
    missing: Literal["error", "level", "drop"] = "error",
    unused_levels: Literal["error", "keep", "drop"] = "error",
    na: Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=False)] = (),
    encoding: str | None = None,
    delimiter: str | None = None,
    formula: str | None = None,
    family: Literal["ordered-logit", "logistic", "linear"] = "ordered-logit",
    repeats: int = 100,
    seed: int | None = None,
    as_json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> ExitCode:
    """Measure what synthetic files, made by any tool, give away and what they are worth.

    Row i of every synthetic file must stand in for record i of the original: files in another order
    or with other codes are refused, since they would look safe whatever they give away.

    Parameters
    ----------
    original
        The confidential file (CSV, Parquet, SAS, Stata or SPSS), or a plan (.toml).
    synthetic
        The synthetic files.
    synthesize
        Columns that are synthetic in the synthetic files, separated by commas.
    known
        Kept columns that an intruder knows, separated by commas; give the option once per intruder.
        All kept columns when left out.
    keep
        Columns that are the same in all files; all others when left out.
    ignore
        Columns to leave out of everything.
    codebook
        A codebook in TOML.
    missing
        What to do with missing values: refuse, make missing a level of its own, or drop records.
    unused_levels
        What to do with declared levels that no record has: refuse, keep or drop.
    na
        A text that means missing, in any column; may be given several times.
    encoding
        Encoding of text files, such as latin-1.
    delimiter
        Delimiter of text files.
    formula
        A regression to ask of the original and of every file, such as "income ~ county + age".
    family
        Its kind.
    repeats
        How often the Min and Max levels are drawn.
    seed
        Makes the draws of the levels repeatable.
    as_json
        Print JSON.
    """
    options = source_options(
        original,
        synthesize=synthesize,
        keep=keep,
        ignore=ignore,
        codebook=codebook,
        missing=missing,
        unused_levels=unused_levels,
        na=na,
        encoding=encoding,
        delimiter=delimiter,
    )
    with reading_progress() as progress:
        data = read_microdata(**options, progress=progress)
    texts = {name: options.get(name) for name in ("na", "encoding", "delimiter")}
    sets = read_synthetic(data, synthetic, **texts)  # type: ignore[arg-type]
    intruders = [tuple(one.split(",")) for one in known] or [data.kept]
    if not data.kept:
        raise SettingError(
            expected="at least one kept column, by which rows can be told to belong together",
            came="none",
            do="keep a column, or use attribution_risk in Python, which needs no rows",
        )
    found = _measure(data, sets, intruders, repeats, seed)
    tables = table_utility(data, sets, seed=seed)
    patterns = within_pattern_utility(data, sets)
    regression = (
        None
        if formula is None
        else regression_utility(data, sets, formula=formula, family=family, train=None, seed=seed)
    )
    if as_json:
        content = _as_json(data, sets, *found)
        content["utility"] = _utility_json(tables, patterns, regression)
        say_json(content)
    else:
        _show(data, sets, *found)
        _show_utility(tables, patterns, regression)
    return ExitCode.DONE


def _measure(
    data: Microdata,
    sets: SyntheticSets,
    intruders: Sequence[tuple[str, ...]],
    repeats: int,
    seed: int | None,
) -> tuple[AttributeRisk, list[tuple[IdentificationRisk, InherentRisk]]]:
    """Measure every risk; the warning about rows that look mixed up is given once."""
    attribute = attribute_risk(data, sets)
    several = len(sets) if len(sets) > 1 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        pairs = [
            (
                identification_risk(data, sets, known=known),
                inherent_risk(data, known=known, repeats=repeats, seed=seed, sets=several),
            )
            for known in intruders
        ]
    return attribute, pairs


def _show(
    data: Microdata,
    sets: SyntheticSets,
    attribute: AttributeRisk,
    pairs: Sequence[tuple[IdentificationRisk, InherentRisk]],
) -> None:
    files = f"{len(sets)} synthetic file{'s' * (len(sets) != 1)}"
    say(f"{files} of {data.n_records:,} records; synthesized: {quoted_list(data.synthesized)}")
    say(paragraph(f"The {attribute.alignment}."))
    for risk, levels in pairs:
        say()
        say(paragraph(f"An intruder knows {quoted_list(risk.known)} and a person's true label"))
        rows = [
            _row(label, risk.spreads[name], getattr(risk.joint, name), levels, name)
            for name, label in MEASURES.items()
        ]
        say(table(HEADER, rows))
        say(
            paragraph(
                f"If rows were paired at random the expected match risk would be "
                f"{figure(risk.random_linkage)} (never more than 1)."
            )
        )
    say()
    say("An intruder knows which row is the person's and believes its label")
    level = pairs[0][1]
    row = _row("true labels", attribute.spreads["matches"], attribute.joint.matches, level,
               "attribute_matches")  # fmt: skip
    say(table(HEADER, [row]))
    say(
        paragraph(
            f"Guessing the most frequent label of the person's pattern would be right for "
            f"{figure(attribute.most_frequent_label)} records."
        )
    )
    say()
    say(
        paragraph(
            "Min and Max are reference levels of the confidential data, not bounds: labels drawn "
            "evenly, and labels drawn from each pattern's own distribution. Exact where known, "
            "else the mean of draws. For the false match rate Max is the lower one."
        )
    )


def _show_utility(
    tables: TableUtility, patterns: WithinPatternUtility, regression: RegressionUtility | None
) -> None:
    say()
    say("What an analyst keeps: deviations of tables, beside those of a perfect synthesizer")
    say(str(tables))
    say()
    say(str(patterns))
    if regression is not None:
        say()
        say(str(regression))


def _utility_json(
    tables: TableUtility, patterns: WithinPatternUtility, regression: RegressionUtility | None
) -> dict[str, Any]:
    content: dict[str, Any] = {
        "tables": {
            f"{order}-way": {
                "deviation": tables.deviation[order],
                "noise_floor": tables.noise_floor[order],
            }
            for order in tables.deviation
        },
        "within_pattern": {
            "patterns": len(patterns.distance),
            "above_noise_floor": int((patterns.distance > patterns.noise_floor).sum()),
            "mean_distance": float(patterns.distance.mean()),
            "mean_noise_floor": float(patterns.noise_floor.mean()),
        },
    }
    if regression is not None:
        content["regression"] = {
            "formula": regression.formula,
            "family": regression.family,
            "mean_interval_overlap": regression.mean_overlap,
        }
    return content


HEADER = ("", "mean", "lowest", "highest", "all files together", "Min", "Max")


def _row(
    label: str, spread: Spread, joint: float | None, levels: InherentRisk, name: str
) -> tuple[str, ...]:
    return (
        label,
        figure(spread.mean, "undefined"),
        figure(spread.minimum, "undefined"),
        figure(spread.maximum, "undefined"),
        figure(joint, "undefined"),
        figure(_level(levels.minimum, name), "undefined"),
        figure(_level(levels.maximum, name), "undefined"),
    )


def _level(level: Level, name: str) -> float | None:
    """Take the exact value of a level where there is one, the mean of its draws otherwise."""
    exact = level.expected.measures().get(name)
    return level.spreads[name].mean if exact is None else exact


def _as_json(
    data: Microdata,
    sets: SyntheticSets,
    attribute: AttributeRisk,
    pairs: Sequence[tuple[IdentificationRisk, InherentRisk]],
) -> dict[str, Any]:
    return {
        "records": data.n_records,
        "files": len(sets),
        "synthesized": list(data.synthesized),
        "rows": attribute.alignment.verdict,
        "identification": [
            {
                "known": list(risk.known),
                "random_linkage": risk.random_linkage,
                **{
                    name: _measure_json(risk.spreads[name], getattr(risk.joint, name), levels, name)
                    for name in MEASURES
                },
            }
            for risk, levels in pairs
        ],
        "attribute": {
            "most_frequent_label": attribute.most_frequent_label,
            "matches": _measure_json(
                attribute.spreads["matches"],
                attribute.joint.matches,
                pairs[0][1],
                "attribute_matches",
            ),
        },
    }


def _measure_json(
    spread: Spread, joint: float | None, levels: InherentRisk, name: str
) -> Mapping[str, Any]:
    return {
        "mean": spread.mean,
        "lowest": spread.minimum,
        "highest": spread.maximum,
        "files_counted": spread.files,
        "all_files_together": joint,
        "minimum_level": _level(levels.minimum, name),
        "maximum_level": _level(levels.maximum, name),
    }
