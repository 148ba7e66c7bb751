"""The public texts: a methods page, a codebook page and a README.

They are written from a `Summary` and the published variables, never from the findings, so that
they can hold nothing that was not selected for the public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from understudy.microdata.variable import Variable
from understudy.pages.blocks import Block, Bullets, Code, Heading, Paragraph, Picture, Table
from understudy.pages.html import html_page
from understudy.publishing.combining_examples import (
    examples,
    rule_function,
    rule_parts,
    rule_words,
)
from understudy.publishing.data_files import Format, data_file
from understudy.publishing.public_summary import Summary
from understudy.publishing.random_rounding import NOT_SHOWN, RULE
from understudy.synthesis.registry import MODELS

__all__ = ["Release", "codebook_page", "methods_page", "readme"]


NOT_CONVERGED = (
    "The chains behind these files did not agree as closely as is required of them. The files were "
    "measured as they are, and released after a person had decided on it. But intervals from the "
    "combining rule may be too short, because the files may not show the whole variation between "
    "draws, and a second run of the same study might give files that differ more than chance."
)
SHORT_INTERVALS = (
    "Caution: the chains behind these files did not fully agree, so intervals may be too short. "
    "“How the files were made” says more."
)


@dataclass(frozen=True)
class Release:
    """What the pages are about.

    Attributes
    ----------
    title : str
        In public.
    m : int
        Number of files.
    n_rows : int
        Rows of every file.
    form : {"csv", "parquet", "stata", "spss"}
        Their format.
    fully_synthetic : bool
        Whether all columns are drawn.
    converged : bool
        Whether the chains behind the files have.
    seed_drawn : bool
        Whether the operating system drew the seed, which nobody knows then.
    variables : tuple of Variable
        As published.
    passed : mapping of str to str
        Columns that pass through, and what each holds, in words.
    missing : {"error", "level", "drop", "model"}
        What the plan does with missing values.
    imputations : int, optional
        How many imputations the files are of, one after the other.
    imputed : tuple of str
        Kept variables of which the files show imputed values.
    quoted : bool
        Whether levels got an apostrophe before them.
    summary : Summary
        Risk and utility.
    version : str
        Of understudy.
    """

    title: str
    m: int
    n_rows: int
    form: Format
    fully_synthetic: bool
    converged: bool
    seed_drawn: bool
    variables: tuple[Variable, ...]
    quoted: bool
    summary: Summary
    version: str
    passed: Mapping[str, str] = field(default_factory=dict)
    missing: str = "error"
    imputations: int | None = None
    imputed: tuple[str, ...] = ()

    @property
    def rule(self) -> str:
        """The combining rule to use."""
        if self.imputations is not None:
            return "nested"
        return "full" if self.fully_synthetic else "partial"

    @property
    def kind(self) -> str:
        """What data the rule is for, in words."""
        words = {"nested": "imputed and partially", "full": "fully", "partial": "partially"}
        return f"{words[self.rule]} synthetic data"

    @property
    def files_of_each(self) -> int:
        """Files of each imputation."""
        return self.m // (self.imputations or 1)

    def names(self, role: str) -> list[str]:
        """Names of the columns with this role."""
        return [variable.name for variable in self.variables if variable.role == role]


def methods_page(release: Release, figures: Mapping[str, bytes]) -> str:
    """Write the methods page, one HTML text that needs nothing else, with PNG files by name."""
    return html_page(
        release.title,
        [
            Heading(release.title, 1),
            *_contents(release),
            *_use(release),
            *_rows(),
            *_utility(release, figures),
            *_risk(release, figures),
            *_limits(release),
            *_methods(release),
            *_files(release),
        ],
    )


def _contents(release: Release) -> list[Block]:
    drawn, kept = release.names("synthesized"), release.names("kept")
    several = f"{release.m} files" if release.m > 1 else "one file"
    text = (
        f"The release consists of {several} of {release.n_rows:,} rows each, in place of a "
        f"confidential file. The values of {_listed(drawn)} are synthetic in every row: they were "
        "drawn from a model, independently for every file."
    )
    if release.fully_synthetic or not kept:
        text += " No variable was kept: no row represents a particular record."
    else:
        text += (
            f" The values of {_listed(kept)} are those of the confidential records, unchanged; the "
            "files are partially synthetic."
        )
    if release.passed:
        text += (
            f" The values of {_listed(list(release.passed))} are the confidential records' own, "
            "too: they pass through unchanged, and no model used them, so that the synthetic "
            "values are independent of them given the kept variables."
        )
    text += _missing_words(release)
    more = (
        "Analyse every file separately and combine the results as described below. Never stack the "
        f"files: that would count every record {release.m} times."
        if release.m > 1
        else "There is only one file: it shows what an analysis looks like, but the error of its "
        "results cannot be estimated from it."
    )
    return [Paragraph(text), Paragraph(more)]


MISSING_WORDS = {
    "level": " Missing values are a level of their own.",
    "drop": " Records with missing values were left out.",
    "model": " Missing values were modelled: every row has a value of {drawn}, and what was "
    "missing in the others is missing in the files.",
}


def _missing_words(release: Release) -> str:
    """Say what was done with missing values, whether or not there were any."""
    drawn = _listed(release.names("synthesized"))
    if release.imputations is None:
        return MISSING_WORDS.get(release.missing, "").format(drawn=drawn)
    return (
        f" Values of {_listed(release.imputed)} that were missing are imputed: drawn from the "
        f"model {release.imputations} times, and the same in the {release.files_of_each} files "
        "of an imputation. Which values these are is not shown."
    )


def _use(release: Release) -> list[Block]:
    heading = Heading("How to get an estimate and its interval")
    if release.m < 2:
        words = "Combining rules need at least two files; with one file there is no rule."
        return [heading, Paragraph(words)]
    other = "partially" if release.fully_synthetic else "fully"
    sizes = f"Here m = {release.imputations or release.m}"
    sizes += "." if release.imputations is None else f" and r = {release.files_of_each}."
    variance, freedom, caution = rule_words(release.rule)
    blocks: list[Block] = [
        heading,
        Paragraph(
            f"Use the rule for {release.kind}. {rule_parts(release.rule, release.files_of_each)} "
            f"The estimate is q, its variance is {variance}, and intervals use the t distribution "
            f"with {freedom} degrees of freedom. {caution} {sizes} Other rules (for imputed data, "
            f"as in Stata's mi estimate, or for {other} synthetic data) give wrong intervals."
        ),
        Paragraph(
            "The programs estimate one share; replace the two marked lines. In Python, "
            f"{rule_function(release.rule)} does the same."
        ),
    ]
    if not release.converged:
        blocks.append(Paragraph(SHORT_INTERVALS))
    programs = examples(
        release.rule, release.m, release.form, release.variables, release.imputations or 0
    )
    for language, text in programs.items():
        blocks += [Heading(language, 3), Code(text)]
    return blocks


def _rows() -> list[Block]:
    words = (
        "The rows of every file are in a random order of their own, drawn when the file was "
        "written and stored nowhere. The first row of one file is unrelated to the first row of "
        "another or of the confidential file, and the order carries no information. Do not merge "
        "the files by row number; no analysis by the combining rule needs that."
    )
    return [Heading("Rows"), Paragraph(words)]


def _utility(release: Release, figures: Mapping[str, bytes]) -> list[Block]:
    summary = release.summary
    differ = (
        "Tables of the synthetic files differ from those of the confidential file. A synthesizer "
        "that knew the population would differ, too, because both files are drawn by chance"
    )
    tables = [
        Table(
            "Tables that hold a synthesized variable",
            ["tables of", "deviation", "population known", "ratio"],
            summary.tables,
        ),
        Table(
            "Distribution of the synthesized variables within combinations of the kept ones: "
            "total variation distance, mean over all records",
            ["distance", "population known", "ratio"],
            summary.within,
            text_columns=(),
        ),
    ]
    printed = [table for table in tables if any(set(row[-3:]) != {NOT_SHOWN} for row in table.rows)]
    more = (
        f'{differ}: what it would score is given under "population known". Deviation: the sum of '
        "the absolute differences of all cells over all tables with that many variables, mean over "
        "the files."
        if printed
        else f"{differ}. How far they differ is not published: with this number of records, one "
        "record could change these numbers too much (the rule is at the end of the next section)."
    )
    blocks: list[Block] = [Heading("How close the files come"), Paragraph(more), *printed]
    if summary.regressions:
        blocks.append(
            Table(
                "Regressions whose intervals were compared before the release; the results are "
                "not published, because nobody can bound what one record does to them",
                ["analysis", "kind"],
                summary.regressions,
                text_columns=(0, 1),
            )
        )
    return [*blocks, *_pictures(figures, about_risk=False)]


CAPTIONS = {
    "table-deviation.png": "Bars: how far tables of the files are from the confidential ones. "
    "Line: a perfect synthesizer.",
}


def _pictures(figures: Mapping[str, bytes], *, about_risk: bool) -> list[Block]:
    return [
        Picture(content, caption, f"{caption} The tables on this page hold the values.")
        for name, content in sorted(figures.items())
        if name.startswith("risk") == about_risk
        for caption in [CAPTIONS.get(name, name.removesuffix(".png").replace("-", " "))]
    ]


def _risk(release: Release, figures: Mapping[str, bytes]) -> list[Block]:
    summary = release.summary
    heading = Heading("What an intruder could learn")
    rule = Paragraph(RULE, "remark")
    if release.fully_synthetic or not (summary.identification or summary.attribute):
        words = "No row represents a record, so nobody can be matched by rows."
        pictures = _pictures(figures, about_risk=True)
        return [
            heading,
            Paragraph(words),
            *_own_record(summary),
            *pictures,
            *_fully_synthetic(summary),
            rule,
        ]
    reading = Paragraph(
        "The values assume an intruder who knows more than these files reveal: the true values of "
        "the named variables and of the synthesized ones, and which row of every file represents "
        "the person sought. The rows of the released files are shuffled, which makes an attack "
        "harder. Two baselines of the confidential file itself are given for comparison: Min, "
        "labels drawn with equal probabilities, and Max, labels drawn by a perfect synthesizer. "
        "The baselines are references and not bounds: a value can lie beyond either. All values "
        "are shares of the records."
    )
    header = ["measure", "Min", "these files", "Max"]
    tables = [
        Table(f"An intruder who knows {known}", header, rows)
        for known, rows in summary.identification
    ]
    if summary.attribute:
        words = "An intruder who believes the label of the person's row"
        tables.append(Table(words, header, summary.attribute))
    pictures = _pictures(figures, about_risk=True)
    return [heading, *_own_record(summary), *pictures, reading, *tables, rule]


def _own_record(summary: Summary) -> list[Block]:
    if not summary.own_record:
        return []
    words = (
        "An attack can be right about a person because of other people: every useful file allows "
        "that. What taking part cost a person is how much more often the attack is right because "
        "the person's own record was in the confidential file. Before the release this was "
        "compared with publishing the exact table of the synthesized variables by the kept ones; "
        "here it is a share of all records."
    )
    header = ["intruder", "the strongest attack is right", "because of people's own records"]
    caption = "What people's own records give away"
    return [Paragraph(words), Table(caption, header, summary.own_record, text_columns=(0,))]


def _fully_synthetic(summary: Summary) -> list[Block]:
    if not summary.fully_synthetic:
        return []
    words = (
        "By chance alone, files repeat some records that one person alone has. Before the release "
        "their number was compared with what chance explains; here it is a share of all records."
    )
    header = ["measure", "these files"]
    caption = "Records that the files repeat"
    return [Paragraph(words), Table(caption, header, summary.fully_synthetic)]


def _limits(release: Release) -> list[Block]:
    kept = release.names("kept")
    points = []
    if kept and not release.fully_synthetic:
        points += [
            f"The values of {_listed(kept)} are true. Anyone who can be recognized by them alone "
            "can be recognized here as well, and they reveal that a person was in the survey.",
            "A row with a rare combination of true values can be found in every file although the "
            f"rows are shuffled: its {release.m} synthetic values can be compared.",
        ]
    if release.passed:
        points.append(
            f"The values of {_listed(list(release.passed))} are true as well. Where such a value "
            "is rare, it leads to the same person's row in every file."
        )
    points += [
        "Synthetic values follow the confidential file's distributions: what is true of a group as "
        "a whole (nearly all of its members have one value) can be read from the files.",
        _private(release),
        "The codebook lists every level that may occur, whether or not anybody has it.",
    ]
    return [Heading("What is not protected"), Bullets(points)]


def _private(release: Release) -> str:
    words = "The measures above are those of named attacks. They are no proof against other attacks"
    formal = [model.title for model in MODELS.values() if model.formal]
    if release.summary.model not in formal:
        return f"{words}, and the files are not differentially private."
    if not release.seed_drawn:
        return (
            f"{words}. The files are not differentially private either: this model's guarantee "
            "needs a seed that nobody chose or knows, and theirs was given by hand."
        )
    return (
        f"{words}. The synthetic values are differentially private in the label, with the epsilon "
        "below, columns of true values being public. Other files made of the same data add their "
        "own epsilon; the published measures, and the decision to publish, are no part of that "
        "guarantee."
    )


def _methods(release: Release) -> list[Block]:
    summary = release.summary
    words = (
        f"Model: {summary.model}, {summary.model_words}. Parameters were drawn by Markov chain "
        "Monte Carlo; each file comes from a different draw. Made with understudy "
        f"{release.version}."
    )
    rows = [*summary.settings, *summary.convergence]
    return [
        Heading("How the files were made"),
        Paragraph(words),
        *([] if release.converged else [Paragraph(NOT_CONVERGED)]),
        Table("Settings and convergence", ["setting", "value"], rows),
    ]


def _files(release: Release) -> list[Block]:
    names = [data_file(number, release.m, release.form) for number in range(1, release.m + 1)]
    span = names[0] if release.m == 1 else f"{names[0]} to {names[-1]}"
    rows = [
        (span, "the synthetic data"),
        ("codebook.html, codebook.toml", "columns, levels and labels, for people and programs"),
        ("manifest.json", "all files with their SHA-256, to check whether a copy is complete"),
    ]
    blocks: list[Block] = [
        Heading("Files"),
        Table("In this folder", ["file", "content"], rows, text_columns=(0, 1)),
    ]
    if release.quoted:
        words = (
            "Levels that a spreadsheet would take for formulas are preceded by an apostrophe, in "
            "the data and in the codebook."
        )
        blocks.append(Paragraph(words))
    return blocks


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)


def codebook_page(release: Release) -> str:
    """Write the codebook for people, one HTML text."""
    title = f"{release.title}: codebook"
    blocks: list[Block] = [
        Heading(title, 1),
        Paragraph("All levels that may occur are listed, whether or not anybody has them."),
    ]
    for variable in release.variables:
        origin = "synthetic" if variable.role == "synthesized" else "as in the confidential file"
        levels = variable.present_levels
        words = f"{variable.description} ({origin}; {len(levels):,} levels)".strip()
        if variable.has_missing:
            words += f' Missing values are written as "{variable.missing_code}".'
        if variable.name in release.imputed:
            words += " Values that were missing are imputed, once for each imputation."
        header, rows = ["level"], [[level] for level in levels]
        if variable.labels:
            header = ["level", "label"]
            rows = [[level, variable.labels.get(level, "")] for level in levels]
        table = Table(f"Levels of {variable.name}, in order", header, rows, text_columns=(0, 1))
        blocks += [Heading(variable.name), Paragraph(words), table]
    for name, stored in release.passed.items():
        words = f"Passed through: {stored}, as in the confidential file; no levels are declared."
        blocks += [Heading(name), Paragraph(words)]
    return html_page(title, blocks)


def readme(release: Release) -> str:
    """Write the README, plain text."""
    variance, freedom, _ = rule_words(release.rule)
    kind = "fully" if release.fully_synthetic else "partially"
    combine = (
        f"Analyse each file separately and combine by the rule for {release.kind}:\n"
        f"variance {variance}, degrees of freedom {freedom}."
        if release.m > 1
        else "With one file there is no rule for the error of an estimate."
    )
    if release.m > 1 and not release.converged:
        combine += "\nIntervals may be too short: see methods.html."
    if release.imputations is not None:
        combine += (
            f"\nThe files are of m = {release.imputations} imputations, in their order, r = "
            f"{release.files_of_each} files each."
        )
    passed = (
        f"\nTrue values, passed through unchanged: {_listed(list(release.passed))}."
        if release.passed
        else ""
    )
    return f"""{release.title}
{"=" * len(release.title)}

{release.m} synthetic file{"s" * (release.m > 1)} of {release.n_rows:,} rows, {kind} synthetic.

methods.html    how the files were made, how to use them (R, Python), how useful they are,
                what an intruder could learn, and what is not protected: read it first
codebook.html   columns, levels and labels (codebook.toml: the same for programs)
manifest.json   SHA-256 of every file

{combine}{passed}
The rows of each file are in a random order of their own; do not merge files by row number.
Text is UTF-8.
"""
