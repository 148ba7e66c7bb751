"""Writing plans: a first one, with an explanation beside every key, and the one that was used."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from understudy.errors import quoted, quoted_list, visible
from understudy.microdata.bins import Bins
from understudy.microdata.file_format import WITH_ENDINGS
from understudy.settings import toml_key, toml_text
from understudy.study.plan import StudyPlan, UntilPlan
from understudy.synthesis.registry import MODELS, default_models, load_model
from understudy.verdict.thresholds import Thresholds

__all__ = ["plan_as_toml", "plan_text"]

WIDTH = 100
LENGTHS = {
    "chains": "from far apart; one chain can never count as converged",
    "warmup": "sweeps of each chain that are thrown away",
    "draws": "kept of each chain; left out: until converged, or a limit",
    "thin": "sweeps from one kept draw to the next",
}
SOME_DRAWS = 1000  # where a model leaves their number open
UNTIL = ", ".join(f"{key} = {field.default:g}" for key, field in UntilPlan.model_fields.items())


def plan_text(
    file: str,
    columns: Sequence[str],
    synthesize: Sequence[str],
    ignore: Mapping[str, str],
    codebook: str | None,
    reading: Mapping[str, str] | None = None,
    *,
    bins: Mapping[str, Bins] | None = None,
    offered: Mapping[str, bool] | None = None,
    pass_through: Sequence[str] = (),
    weight: str | None = None,
    design: Mapping[str, str] | None = None,
    keep: Sequence[str] | None = None,
    na: Sequence[str] = ("",),
    missing: str = "error",
) -> str:
    """Write a first plan, TOML with every key explained.

    File and codebook are relative to the plan's folder. `synthesize` may be empty, which leaves the
    choice open; columns of `ignore` cannot be used as they are, for the reason given. `reading` is
    how the file was read: ``encoding``, ``delimiter``, ``header``, ``catalog``, where given. `bins`
    are groups of columns of numbers; `offered` are columns that bins would help, and whether they
    are ignored without. `keep` is written only where leaving it out would mean other columns: one
    of the survey design is kept if it is named. `na` are texts that mean missing, and `missing`
    what to do with them.
    """
    comments = [_comment(name, reason) for name, reason in ignore.items()]
    apart = {*synthesize, *ignore, *pass_through, weight, *(design or {}).values()}
    kept = [name for name in columns if name not in apart - set(keep or ())]
    offers = dict(offered or {})
    if not offers and not bins:
        offers = {next(iter(kept or columns), "income"): False}
    through = _list(pass_through)
    return _PLAN.format(
        columns=_one_line(f"columns of the file: {quoted_list(columns)}"),
        formats=", ".join(WITH_ENDINGS),
        file=toml_text(file),
        synthesize=_list(synthesize),
        choose="" if synthesize else "   # <- name at least one",
        ignore=_list(ignore),
        reasons="\n".join(comments) + "\n" if comments else "",
        codebook=f"codebook = {toml_text(codebook)}"
        if codebook
        else '# codebook = "codebook.toml"',
        encoding=_setting("encoding", "latin-1", reading),
        delimiter=_setting("delimiter", ";", reading),
        header=_setting("header", "yes", reading),
        catalog=_setting("catalog", "formats.sas7bcat", reading),
        pass_through=f"pass_through = {through}" if pass_through else '# pass_through = ["weight"]',
        weight=f"weight = {toml_text(weight)}" if weight else '# weight = "weight"',
        design=f"design = {{ {_pairs(design)} }}"
        if design
        else '# design = { strata = "stratum", psu = "cluster" }',
        na=_list(na),
        missing=toml_text(missing),
        example=_one_line(toml_key(next(iter(kept or columns), "income"))),
        bins="\n".join([*_bins(bins or {}), *_offers(offers)]),
        keep=f"keep = {_list(keep)}"
        if keep
        else f"# keep = {_one_line(_list(kept[:4] or ['gender', 'age']))}",
        known=_one_line(_list(kept[:2] or ["gender", "age"])),
        formula=_one_line(toml_text(_formula(kept, synthesize))),
        left_out=_left_out(),
        synthesizers="\n".join(_synthesizers()),
        thresholds=_thresholds(),
    )


def _bins(bins: Mapping[str, Bins]) -> Iterator[str]:
    for name, groups in bins.items():
        yield f"[data.bins.{toml_key(name)}]"
        content = groups.model_dump(exclude_none=True)
        yield from (f"{key} = {_value(value)}" for key, value in content.items())


def _offers(offered: Mapping[str, bool]) -> Iterator[str]:
    """Write bins for columns that need them, as comments; for the first one also cut points."""
    for number, (name, ignored) in enumerate(offered.items()):
        key = _one_line(toml_key(name))
        if ignored:
            yield _one_line(f"# {toml_text(name)}: take it out of ignore and remove these #.")
        yield f"# [data.bins.{key}]"
        yield "# quantiles = 4"
        if number == 0:
            yield f"# [data.bins.{key}]"
            yield "# cuts = [20, 40, 60, 80]"
            yield '# names = ["<20", "20-40", "40-60", "60-80", ">80"]'


def _formula(kept: Sequence[str], synthesize: Sequence[str]) -> str:
    plain = [name for name in (*kept, *synthesize) if re.fullmatch(r"[A-Za-z_]\w*", name)]
    return f"{plain[0]} ~ {' + '.join(plain[1:4])}" if len(plain) > 1 else "income ~ county + age"


def _setting(key: str, example: str, given: Mapping[str, str] | None) -> str:
    """Write a key with its value, or as a comment with an example."""
    value = (given or {}).get(key)
    return f"{key} = {toml_text(value)}" if value else f"# {key} = {toml_text(example)}"


def _comment(name: str, reason: str) -> str:
    return _one_line(f"#   {toml_text(name)}: {reason}")


def _one_line(text: str) -> str:
    """Fold a comment into one line that holds nothing a comment may not hold."""
    return " ".join("".join(visible(character) for character in text).split())


def _list(names: Sequence[str] | Mapping[str, str]) -> str:
    return "[" + ", ".join(toml_text(name) for name in names) + "]"


def _pairs(content: Mapping[str, str]) -> str:
    return ", ".join(f"{key} = {toml_text(value)}" for key, value in content.items())


def _left_out() -> str:
    plain, holes = (
        " and ".join(map(quoted, default_models(patterns=True, holes=modelled)))
        for modelled in (False, True)
    )
    return f"Left out: {plain}, or {holes} where missing values are modelled."


def _synthesizers() -> Iterator[str]:
    """Write every model with its settings, each as a comment; what all share with the first."""
    for number, (name, model) in enumerate(MODELS.items()):
        settings = load_model(name)
        yield "# [[synthesizers]]"
        yield _explained("model", name, model.words)
        if number == 0:
            yield _explained("name", name, "folder and name in the report; left out: the model's")
            lengths = inspect.signature(settings.fit).parameters
            for key, words in LENGTHS.items():
                yield _explained(key, lengths[key].default or SOME_DRAWS, words)
            yield f"# until = {{ {UNTIL} }}   # go on until then, or give up"
        defaults = {field.name: field.default for field in dataclasses.fields(settings)}
        for key, setting in model.settings.items():
            default = defaults[key] if setting.example is None else setting.example
            yield _explained(key, default, setting.words)


def _explained(key: str, value: Any, words: str) -> str:
    """Write a setting that is left out, with its explanation in a column of its own."""
    return f"{f'# {key} = {_value(value)}':39} # {words}"


def _thresholds() -> str:
    """Write the limits with what their class says about them, each as a comment."""
    lines = []
    for names, words in _attributes(Thresholds):
        lines += textwrap.wrap(words, WIDTH - 2, initial_indent="# ", subsequent_indent="# ")
        defaults = {name: Thresholds.model_fields[name].default for name in names}
        lines += [f"# {name} = {_value(default)}" for name, default in defaults.items()]
        lines.append("")
    return "\n".join(lines).rstrip("\n")


def _attributes(model: type[BaseModel]) -> list[tuple[list[str], str]]:
    """Take the section on attributes of a class's docstring apart: names, words."""
    text = (inspect.getdoc(model) or "").partition("Attributes\n----------\n")[2]
    attributes = re.findall(r"^(\w[\w, ]*) : [^\n]*\n((?:[ ]+[^\n]*\n?|\n)+)", text + "\n", re.M)
    return [(names.split(", "), " ".join(words.split())) for names, words in attributes]


def plan_as_toml(plan: StudyPlan) -> str:
    """Write a plan, defaults included, as TOML that reads as the same plan."""
    content = plan.model_dump(mode="json", exclude_none=True, by_alias=True)
    return "\n".join(_table(content, ())).lstrip("\n") + "\n"


def _table(content: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    """Write a table: plain values first, then the tables inside it."""
    lines, inside = [], []
    for key, value in content.items():
        here = (*path, key)
        name = ".".join(toml_key(part) for part in here)
        if isinstance(value, dict):
            inside += ["", f"[{name}]", *_table(value, here)]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            for entry in value:
                inside += ["", f"[[{name}]]", *_table(entry, here)]
        else:
            lines.append(f"{toml_key(key)} = {_value(value)}")
    return lines + inside


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(entry) for entry in value) + "]"
    return repr(value)


_PLAN = """\
# A plan for understudy. Lines that start with # are explanations, or settings that are left out.
# Check it with "understudy check plan.toml", run it with "understudy run plan.toml --out FOLDER".
# {columns}

# Title of the report.
# title = "A study of synthetic data"

# Synthetic sets that each synthesizer draws (m).
sets = 20

# Where missing = "model", files may show imputed values of kept variables: with imputations = 5 the
# sets are of five imputations, and need another combining rule. Left out: these stay missing.

# Makes every value repeatable. Internal: whoever has the seed of a release can redraw it, so leave
# it out for a release; the study then draws one and remembers it in its confidential folder.
# seed = 1

# How much memory may be used; a quarter of the machine's when left out. No result depends on it.
# memory = "8 GB"

# Different people whose approval a release needs before files are written.
# approvers = 1

# A folder that studies share, in which every run, verdict and release is entered, so that running a
# plan with one seed after the other until it passes can be seen. Confidential, like the studies.
# register = "../register"

[data]
# The confidential file: {formats}.
# A path is relative to the folder that this plan lies in. "bundled:ce-like" is the invented sample
# that comes with the program.
file = {file}

# Columns that may not be published as they are. Synthetic values are drawn for them.
synthesize = {synthesize}{choose}

# Columns to publish as they are. Left out: every column that is neither synthesized nor ignored.
{keep}

# Columns to leave out of everything: identifiers, free text, dates.
{reasons}ignore = {ignore}

# Columns that are in every file unchanged and in no model: weights, strata, dates, numbers. They
# are true values of real people, so the verdict counts how many records they make unique.
{pass_through}

# The survey weight: utility and population risk are weighted by it. It is released only if it
# passes through, and models do not use it; its quantile groups may be a predictor that no file has.
{weight}
# weight_groups = 5

# Levels, their order, labels and missing codes, declared outside of the data. A release needs one.
{codebook}

# What to do with missing values: "error" refuses the data, "level" makes missing a level of its
# own, "drop" leaves such records out, "model" keeps them as holes that the DPMPM fills.
missing = {missing}

# Texts that mean missing, in any column. "" is empty text; a field in which nothing is written is
# missing anyway, unless the codebook declares "" as a level of its column, which goes before this.
# Without it, "NA" is a category like any other.
na = {na}

# Levels that a categorical column declares and no record has: "error" asks, "keep" or "drop".
unused_levels = "error"

# How a text file is written, where that is not found by itself.
{encoding}
{delimiter}

# Say "yes" where the first line holds the names of the columns and is taken for a record.
{header}

# The formats of a SAS file.
{catalog}

# Levels merged in the files by a step of a variable's hierarchy in the codebook, 0 for none. Models
# are fitted to the levels as they are.
# coarsen = {{ {example} = 0 }}

# How the sample was drawn, for standard errors of weighted analyses: strata and primary sampling
# units, or replicate weights ("brr", with fay's coefficient, "bootstrap", "jk1", "jk2").
{design}
# (or {{ replicates = ["rw1", "rw2"], method = "brr", fay = 0.0 }})

# Numbers become groups: quantiles, or cut points (a number at one belongs to the group above it).
{bins}

# Synthesizers, as many as you like. {left_out}
# "dpmpm" and "areal" are the paper's: they take longer, and their chains may not converge. Without
# draws a fit goes on until it has converged, or for about ten minutes of two processors; longer
# where its least number of sweeps takes longer, which is said before it starts.
{synthesizers}

# What intruders know besides the true label: some of the kept variables, one entry for each
# intruder. Left out: one intruder, who knows every kept variable.
# [[intruders]]
# known = {known}

# Regressions that analysts will run; they are fitted to the original and to every synthetic set.
# Left out: none.
# [[analyses]]
# formula = {formula}
# family = "ordered-logit"              # or "logistic", "linear"
# train = "auto"                        # records to fit on: 5,000 (of fewer: 4/5), a number, "all"
# reference = "largest"                 # levels that others are compared with; left out: the first

# The data's own baselines: how often all labels are drawn anew for each.
[baselines]
repeats = "auto"                        # 100; fewer, down to 5, the more records and sets

# What people's own records give away is measured by leaving each out of the posterior with weights.
# Where these cannot be trusted, the model is fitted again without such records, so many times.
# What the files tell one who knows the model and every record but one takes a fit for every set:
# it is measured only where it is asked for.
[own_record]
refits = 1
informed = false

# "understudy frontier" turns dials and shows what each point costs: utility against risk. A dial is
# a setting of a model, "sets" or "coarsen". What frontier.dials.vary lists is measured in every
# combination; a number is searched between two ends. Left out: the scale of
# the back-off tree, three priors of the DPMPM, and the formal Dirichlet. folder: of the last
# frontier of these data, on which the report of a study shows where it lies.
# [frontier]
# budget = 16                           # most points
# folder = "frontier"
# [[frontier.dials]]
# model = "backoff"
# fixed = {{ draws = 250 }}
# vary = {{ sets = [5, 20] }}
# between = {{ scale = [0.03, 30.0] }}

# Limits of the verdict. They may be changed at any time: a run that is finished then only makes
# the verdict and the report again. Left out: the values below.
[thresholds]
{thresholds}
"""
