"""Worked examples of the combining rule, in R, Stata and Python, for the files of this release.

Each estimates one share from every file and combines the m estimates into one interval. The reader
replaces the two lines that compute the estimate and its squared standard error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from understudy.microdata.variable import Variable
from understudy.publishing.data_files import ENDINGS, Format

__all__ = ["examples", "rule_words"]

PLAIN = re.compile(r"[A-Za-z0-9À-ɏ _.()-]{1,60}")
STATA_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,31}")


def rule_words(rule: str) -> tuple[str, str, str]:
    """Write the variance, the degrees of freedom, and a caution of a rule, in words and signs."""
    if rule == "partial":
        return (
            "T = u + b/m",
            "(m − 1)(1 + u/(b/m))²",
            "Where b is 0 the degrees of freedom are infinite.",
        )
    return (
        "T = (1 + 1/m) b − u",
        "(m − 1)(1 − u/((1 + 1/m) b))²",
        "T can come out negative or zero; then use u instead, with the normal distribution.",
    )


def examples(
    rule: str,
    m: int,
    form: Format,
    variables: Sequence[Variable],
    columns: Sequence[str] = (),
) -> Mapping[str, str | None]:
    """Write the example in three languages; None where a language cannot read the format.

    Parameters
    ----------
    rule : {"partial", "full"}
        The combining rule.
    m : int
        Number of files.
    form : {"csv", "parquet", "stata", "spss"}
        Their format.
    variables : sequence of Variable
        As published, in the order of the columns.
    columns : sequence of str
        All columns of a file, where some are no variables because they pass through.

    Returns
    -------
    mapping of str to str or None
        By language.
    """
    variable = next(variable for variable in variables if variable.role == "synthesized")
    order = columns or [each.name for each in variables]
    column = 1 + list(order).index(variable.name)
    level = next((level for level in variable.present_levels if PLAIN.fullmatch(level)), "LEVEL")
    in_numbers = variable.numeric and form in {"stata", "spss"}
    value = level if in_numbers else json.dumps(level, ensure_ascii=False)
    digits = max(2, len(str(m)))
    return {
        "R": _in_r(rule, digits, m, form, variable.name, value),
        "Stata": _in_stata(rule, digits, m, form, variable.name, value, column),
        "Python": _in_python(rule, form, variable.name, value),
    }


R_READ = {
    "csv": 'read.csv(file, colClasses = "character", na.strings = character(0),\n'
    '                   check.names = FALSE, encoding = "UTF-8")',
    "parquet": "arrow::read_parquet(file)",
    "stata": "haven::read_dta(file)",
    "spss": "haven::read_sav(file)",
}
R_RULE = {
    "partial": """\
variance <- within + between / m
df <- if (between > 0) (m - 1) * (1 + m * within / between)^2 else Inf
""",
    "full": """\
variance <- (1 + 1 / m) * between - within
df <- (m - 1) * (1 - within / ((1 + 1 / m) * between))^2
if (variance <= 0) { variance <- within; df <- Inf }   # instead
""",
}


def _in_r(rule: str, digits: int, m: int, form: Format, name: str, value: str) -> str:
    return f"""\
files <- sprintf("synthetic-%0{digits}d{ENDINGS[form]}", 1:{m})
q <- u <- numeric(0)
for (file in files) {{
  data <- {R_READ[form]}
  share <- mean(data[[{_text(name)}]] == {value})
  q <- c(q, share)                             # the estimate
  u <- c(u, share * (1 - share) / nrow(data))  # its squared standard error
}}
m <- length(q)
estimate <- mean(q)
within <- mean(u)
between <- var(q)
{R_RULE[rule]}estimate + c(-1, 0, 1) * qt(0.975, df) * sqrt(variance)
"""


STATA_READ = {
    "csv": 'import delimited "synthetic-`number\'.csv", clear {names} ///\n'
    '        stringcols(_all) bindquotes(strict) encoding("UTF-8")',
    "stata": 'use "synthetic-`number\'.dta", clear',
    "spss": 'import spss using "synthetic-`number\'.sav", clear',
}
STATA_RULE = {
    "partial": """\
scalar variance = within + between / `m'
scalar df = cond(between > 0, (`m' - 1) * (1 + `m' * within / between)^2, 1e9)
""",
    "full": """\
scalar variance = (1 + 1 / `m') * between - within
scalar df = (`m' - 1) * (1 - within / ((1 + 1 / `m') * between))^2
if variance <= 0 {
    scalar variance = within    // instead
    scalar df = 1e9
}
""",
}


def _in_stata(
    rule: str, digits: int, m: int, form: Format, name: str, value: str, number: int
) -> str | None:
    if form not in STATA_READ:
        return None
    plain = STATA_NAME.fullmatch(name) is not None
    names = "varnames(1) case(preserve)" if plain else "varnames(nonames) rowrange(2)"
    column = name if plain or form != "csv" else f"v{number}"
    return f"""\
local m = {m}
matrix Q = J(`m', 2, .)
forvalues l = 1/`m' {{
    local number : display %0{digits}.0f `l'
    {STATA_READ[form].format(names=names)}
    generate byte hit = {column} == {value}
    quietly summarize hit
    // the estimate, and its squared standard error
    matrix Q[`l', 1] = r(mean)
    matrix Q[`l', 2] = r(mean) * (1 - r(mean)) / r(N)
}}
clear
svmat double Q
quietly summarize Q1
scalar estimate = r(mean)
scalar between = r(Var)
quietly summarize Q2
scalar within = r(mean)
{STATA_RULE[rule]}scalar reach = invttail(df, 0.025) * sqrt(variance)
display estimate - reach, estimate, estimate + reach
"""


PYTHON_READ = {
    "csv": "pd.read_csv(file, dtype=str, keep_default_na=False)",
    "parquet": "pd.read_parquet(file)",
    "stata": "pd.read_stata(file, convert_categoricals=False)",
    "spss": "pd.read_spss(file, convert_categoricals=False)",
}
PYTHON_RULE = {
    "partial": """\
variance = within + between / m
df = float("inf")
if between > 0:
    df = (m - 1) * (1 + m * within / between) ** 2
""",
    "full": """\
variance = (1 + 1 / m) * between - within
if variance > 0:
    df = (m - 1) * (1 - within / ((1 + 1 / m) * between)) ** 2
else:
    variance, df = within, float("inf")  # instead
""",
}


def _in_python(rule: str, form: Format, name: str, value: str) -> str:
    return f"""\
from glob import glob

import pandas as pd
from scipy.stats import t

estimates, variances = [], []
for file in sorted(glob("synthetic-*{ENDINGS[form]}")):
    data = {PYTHON_READ[form]}
    share = (data[{_text(name)}] == {value}).mean()
    # the estimate, and its squared standard error
    estimates.append(share)
    variances.append(share * (1 - share) / len(data))
q, u = pd.Series(estimates), pd.Series(variances)
m, estimate, within, between = len(q), q.mean(), u.mean(), q.var()
{PYTHON_RULE[rule]}reach = t.ppf(0.975, df) * variance**0.5
print(estimate - reach, estimate, estimate + reach)
"""


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
