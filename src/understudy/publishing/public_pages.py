"""The public words: a methods page, a codebook page and a README.

They are written from a `Summary` and the published variables, never from the findings, so that
nothing that was not chosen for the public can slip into them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from understudy.microdata.variable import Variable
from understudy.publishing.combining_examples import examples, rule_words
from understudy.publishing.files import Format, data_file
from understudy.publishing.markup import Markup, code, page, table, tag
from understudy.publishing.rounding import RULE, Summary

__all__ = ["Release", "codebook_page", "methods_page", "readme"]


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
    variables : tuple of Variable
        As published.
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
    variables: tuple[Variable, ...]
    quoted: bool
    summary: Summary
    version: str

    @property
    def rule(self) -> str:
        """The combining rule to use."""
        return "full" if self.fully_synthetic else "partial"

    def names(self, role: str) -> list[str]:
        """Names of the columns that play a part."""
        return [one.name for one in self.variables if one.role == role]


def methods_page(release: Release, figures: Mapping[str, bytes]) -> str:
    """Write the methods page.

    Parameters
    ----------
    release : Release
        What it is about.
    figures : mapping of str to bytes
        PNG files by name.

    Returns
    -------
    str
        One HTML page that needs nothing else.
    """
    return page(
        release.title,
        tag("h1", release.title),
        *_what(release),
        *_use(release),
        *_rows(),
        *_utility(release, figures),
        *_risk(release, figures),
        *_limits(release),
        *_made(release),
        *_files(release),
    )


def _what(release: Release) -> list[Markup]:
    drawn, kept = release.names("synthesized"), release.names("kept")
    several = f"{release.m} files" if release.m > 1 else "one file"
    text = (
        f"These are {several} of {release.n_rows:,} rows each. They stand in for a confidential "
        f"file. The values of {_listed(drawn)} are synthetic in every row: they were drawn from a "
        "model, anew for every file."
    )
    if release.fully_synthetic or not kept:
        text += " Nothing was kept: no row stands for a particular record."
    else:
        text += (
            f" The values of {_listed(kept)} are those of the confidential records, unchanged; the "
            "files are partially synthetic."
        )
    more = (
        "Analyse every file on its own and combine the results as below. Never stack the files: "
        f"that would count every record {release.m} times."
        if release.m > 1
        else "There is one file only: it shows what an analysis looks like, but the error of its "
        "results cannot be estimated from it."
    )
    return [tag("p", text), tag("p", more)]


def _use(release: Release) -> list[Markup]:
    heading = tag("h2", "How to get an estimate and its interval")
    if release.m < 2:
        words = "Combining rules need at least two files; with one file there is no rule."
        return [heading, tag("p", words)]
    kind = "fully" if release.fully_synthetic else "partially"
    variance, freedom, caution = rule_words(release.rule)
    parts = [
        heading,
        tag(
            "p",
            f"Use the rule for {kind} synthetic data. From file l of m take the estimate q(l) and "
            "its squared standard error u(l), as if the file were the original. With q the mean of "
            "the estimates, u the mean of the squared standard errors, and b the variance of the "
            f"estimates (divisor m − 1): the estimate is q, its variance {variance}, and intervals "
            f"use the t distribution with {freedom} degrees of freedom. {caution} With m = "
            f"{release.m}. Other rules (for imputed data, or for {_other(release)} synthetic data) "
            "give wrong intervals here.",
        ),
        tag(
            "p",
            "The programs estimate one share; replace the two lines that are marked. In Python, "
            f'understudy.combine_estimates(estimates, variances, rule="{release.rule}") does the '
            "same.",
        ),
    ]
    for language, text in examples(
        release.rule, release.m, release.form, release.variables
    ).items():
        words = f"{language} cannot read files of this format by itself; convert them first."
        parts += [tag("h3", language), tag("p", words) if text is None else code(text)]
    return parts


def _other(release: Release) -> str:
    return "partially" if release.fully_synthetic else "fully"


def _rows() -> list[Markup]:
    words = (
        "The rows of every file are in a random order of their own, drawn when the file was "
        "written and kept nowhere. The first row of one file has nothing to do with the first row "
        "of another or of the confidential file, and the order carries no information. Do not "
        "merge the files by row number; no analysis by the combining rule needs that."
    )
    return [tag("h2", "Rows"), tag("p", words)]


def _utility(release: Release, figures: Mapping[str, bytes]) -> list[Markup]:
    found = release.summary
    parts = [
        tag("h2", "How close the files come"),
        tag(
            "p",
            "Tables of the synthetic files differ from those of the confidential file. How much "
            "is unavoidable is shown by a perfect synthesizer, one that draws from the "
            "confidential file's own distributions. Deviation: absolute differences of all cells, "
            "added up over all tables with so many variables, mean over the files.",
        ),
        table(
            "Tables that hold a synthesized variable",
            ["tables of", "deviation", "perfect synthesizer", "ratio"],
            found.tables,
        ),
    ]
    if found.within:
        parts.append(
            table(
                "Distribution of the synthesized variables within combinations of the kept ones: "
                "total variation distance, mean over all records",
                ["distance", "perfect synthesizer", "ratio"],
                found.within,
            )
        )
    if found.regressions:
        parts.append(
            table(
                "Regressions: overlap of the confidential file's and the combined intervals, mean "
                "over the coefficients that a perfect synthesizer's files have as well (1: the "
                "same; 0 or less: apart)",
                ["analysis", "kind", "overlap", "perfect synthesizer"],
                found.regressions,
            )
        )
    return [*parts, *_figures(figures, about_risk=False)]


CAPTIONS = {
    "table-deviation.png": "Bars: how far tables of the files lie from the confidential ones. "
    "Line: a perfect synthesizer.",
    "risk-place.png": "Where risks of one file lie between the levels Min and Max. Risks whose "
    "levels are too close together for a place are not drawn.",
}


def _figures(figures: Mapping[str, bytes], *, about_risk: bool) -> list[Markup]:
    shown = []
    for name, content in sorted(figures.items()):
        if name.startswith("risk") != about_risk:
            continue
        words = CAPTIONS.get(name, name.removesuffix(".png").replace("-", " "))
        source = "data:image/png;base64," + base64.b64encode(content).decode("ascii")
        picture = tag("img", src=source, alt=f"{words} The tables of this page hold the figures.")
        shown.append(tag("figure", picture, tag("figcaption", words)))
    return shown


def _risk(release: Release, figures: Mapping[str, bytes]) -> list[Markup]:
    found = release.summary
    parts = [tag("h2", "What an intruder could learn")]
    if release.fully_synthetic or not (found.identification or found.attribute):
        return [
            *parts,
            tag("p", "No row stands for a record, so that nobody can be matched by rows."),
        ]
    parts.append(
        tag(
            "p",
            "The figures assume an intruder who knows more than these files tell: the true values "
            "of the named variables and of the synthesized ones, and which row of every file "
            "stands for the person sought; the rows of the released files are mixed, which makes "
            "it harder. Beside them stand two levels that belong to the confidential file itself: "
            "Min, labels drawn blindly, and Max, labels drawn by a perfect synthesizer. The place "
            "says where the files lie between the two, from 0 % at Min to 100 % at Max. The levels "
            "are references and no bounds: a figure can lie beyond either.",
        )
    )
    header = ["measure", "Min", "these files", "Max", "place"]
    for known, rows in found.identification:
        parts.append(table(f"An intruder who knows {known}", header, rows))
    if found.attribute:
        words = "An intruder who believes the label of the person's row"
        parts.append(table(words, header, found.attribute))
    return [*parts, *_figures(figures, about_risk=True), tag("p", RULE, class_="quiet")]


def _limits(release: Release) -> list[Markup]:
    kept = release.names("kept")
    points = []
    if kept and not release.fully_synthetic:
        points += [
            f"{_listed(kept, 'The values of')} are true. Whoever can be recognized by them alone "
            "is recognized here as well, and that a person was in the survey can be learned from "
            "them.",
            "A row with a rare combination of true values can be found in every file although the "
            f"rows are mixed: its {release.m} synthetic values can be laid side by side.",
        ]
    points += [
        "Synthetic values follow the confidential file's distributions: what is true of a group as "
        "a whole (nearly all members of it have one value) can be read from the files.",
        "The measures above are those of named attacks. They are no proof against attacks that "
        "nobody thought of, and the files are not differentially private.",
        "The codebook lists every level that may occur, whether or not somebody has it.",
    ]
    return [tag("h2", "What is not protected"), tag("ul", *[tag("li", one) for one in points])]


def _made(release: Release) -> list[Markup]:
    found = release.summary
    rows = [*found.settings, *found.convergence]
    words = (
        f"Model: {found.model}, {found.model_words}. Parameters were drawn by Markov chain Monte "
        f"Carlo; each file comes from a different draw of them. Made with understudy "
        f"{release.version}."
    )
    return [
        tag("h2", "How they were made"),
        tag("p", words),
        table("Settings and convergence", ["setting", "value"], rows),
    ]


def _files(release: Release) -> list[Markup]:
    names = [data_file(number, release.m, release.form) for number in range(1, release.m + 1)]
    span = names[0] if release.m == 1 else f"{names[0]} to {names[-1]}"
    rows = [
        (span, "the synthetic data"),
        ("codebook.html, codebook.toml", "columns, levels and labels, to read and for programs"),
        ("manifest.json", "all files with their SHA-256: compare to tell whether a copy is whole"),
    ]
    parts = [tag("h2", "Files"), _texts(table("In this folder", ["file", "what it is"], rows))]
    if release.quoted:
        words = (
            "Levels that a spreadsheet would take for formulas have an apostrophe before them, in "
            "the data and in the codebook."
        )
        parts.append(tag("p", words))
    return parts


def _texts(shown: Markup) -> Markup:
    return tag("div", shown, class_="texts")


def _listed(names: Sequence[str], before: str = "") -> str:
    text = ", ".join(names[:-1]) + f" and {names[-1]}" if len(names) > 1 else "".join(names)
    return f"{before} {text}".strip()


def codebook_page(release: Release) -> str:
    """Write the codebook for people.

    Parameters
    ----------
    release : Release
        What it is about.

    Returns
    -------
    str
        One HTML page.
    """
    parts = []
    for one in release.variables:
        part = "synthetic" if one.role == "synthesized" else "as in the confidential file"
        words = f"{one.description} ({part}; {len(one.present_levels):,} levels)".strip()
        if one.has_missing:
            words += f' Missing values are written as "{one.missing_code}".'
        labelled = bool(one.labels)
        rows = [
            (level, one.labels.get(level, "")) if labelled else (level,)
            for level in one.present_levels
        ]
        header = ["level", "label"] if labelled else ["level"]
        shown = table(f"Levels of {one.name}, in order", header, rows)
        parts += [tag("h2", one.name), tag("p", words), _texts(shown)]
    return page(
        f"{release.title}: codebook",
        tag("h1", f"{release.title}: codebook"),
        tag("p", "All levels that may occur are listed, whether or not somebody has them."),
        *parts,
    )


def readme(release: Release) -> str:
    """Write the README.

    Parameters
    ----------
    release : Release
        What it is about.

    Returns
    -------
    str
        Plain text.
    """
    variance, freedom, _ = rule_words(release.rule)
    kind = "fully" if release.fully_synthetic else "partially"
    combine = (
        f"Analyse each file on its own and combine by the rule for {kind} synthetic data:\n"
        f"variance {variance}, degrees of freedom {freedom}."
        if release.m > 1
        else "With one file there is no rule for the error of an estimate."
    )
    rows = "\n".join(" ".join(row) for row in [[release.title], ["=" * len(release.title)]])
    return f"""{rows}

{release.m} synthetic file{"s" * (release.m > 1)} of {release.n_rows:,} rows, {kind} synthetic.

methods.html    how they were made, how to use them (R, Stata, Python), what they are worth,
                what an intruder could learn, and what is not protected: read it first
codebook.html   columns, levels and labels (codebook.toml: the same for programs)
manifest.json   SHA-256 of every file

{combine}
The rows of each file are in a random order of their own; do not merge files by row number.
Text is UTF-8.
"""
