"""Worked examples of the combining rule, in R and Python, for the files of this release.

Each estimates one share from every file and combines the m estimates into one interval. The reader
replaces the two lines that compute the estimate and its squared standard error. The tests run
both (R on CSV files); a language that they cannot run, such as Stata, has no example.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from understudy.microdata.variable import Variable
from understudy.publishing.data_files import ENDINGS, Format

__all__ = ["examples", "rule_function", "rule_parts", "rule_words"]

PLAIN = re.compile(r"[A-Za-z0-9À-ɏ _.()-]{1,60}")


def rule_words(rule: str) -> tuple[str, str, str]:
    """Write the variance, the degrees of freedom, and a caution of a rule, in words and signs."""
    if rule == "partial":
        return (
            "T = u + b/m",
            "(m − 1)(1 + u/(b/m))²",
            "Where b is 0 the degrees of freedom are infinite.",
        )
    if rule == "nested":
        return (
            "T = (1 + 1/m) b − w/r + u",
            "1 / (((1 + 1/m) b)² / ((m − 1) T²) + (w/r)² / (m (r − 1) T²))",
            "Where (1 + 1/m) b is below w/r, leave w/r out of T.",
        )
    return (
        "T = (1 + 1/m) b − u",
        "(m − 1)(1 − u/((1 + 1/m) b))²",
        "T can come out negative or zero; then use u instead, with the normal distribution.",
    )


def rule_parts(rule: str, files_of_each: int) -> str:
    """Say what a rule is made of; `files_of_each` is the number of files of an imputation."""
    taking = (
        "take the estimate {q} and its squared standard error {u}, as if the file were the "
        "original."
    )
    if rule != "nested":
        return (
            f"From file l of m {taking.format(q='q(l)', u='u(l)')} Let q be the mean of the "
            "estimates, u the mean of the squared standard errors, and b the variance of the "
            "estimates (divisor m − 1)."
        )
    return (
        f"The first {files_of_each} files are of the first imputation, the next {files_of_each} of "
        "the second, and so on. From file l of r of imputation i of m "
        f"{taking.format(q='q(i, l)', u='u(i, l)')} Let q be the mean of all estimates, u the mean "
        "of all squared standard errors, b the variance of the m means of imputations (divisor "
        "m − 1), and w the mean of the m variances within imputations (divisor r − 1)."
    )


def rule_function(rule: str) -> str:
    """Name the function that combines by a rule."""
    if rule == "nested":
        return (
            "understudy.combine_nested_estimates(estimates, variances), with a row for each "
            "imputation,"
        )
    return f'understudy.combine_estimates(estimates, variances, rule="{rule}")'


def examples(
    rule: str, m: int, form: Format, variables: Sequence[Variable], imputations: int = 0
) -> Mapping[str, str]:
    """Write the example of combining `m` files of this format by this rule, by language."""
    variable = next(variable for variable in variables if variable.role == "synthesized")
    level = next((level for level in variable.present_levels if PLAIN.fullmatch(level)), "LEVEL")
    in_numbers = variable.numeric and form in {"stata", "spss"}
    value = level if in_numbers else json.dumps(level, ensure_ascii=False)
    return {
        "R": _in_r(rule, m, form, variable.name, value, imputations),
        "Python": _in_python(rule, form, variable.name, value, imputations),
    }


R_READ = {
    "csv": 'read.csv(file, colClasses = "character", na.strings = character(0),\n'
    '                   check.names = FALSE, encoding = "UTF-8")',
    "parquet": "arrow::read_parquet(file)",
    "stata": "haven::read_dta(file)",
    "spss": "haven::read_sav(file)",
}
R_MEANS = """\
m <- length(q)
estimate <- mean(q)
within <- mean(u)
between <- var(q)
"""
R_NESTED = """\
m <- {imputations}                        # imputations, one after the other
r <- length(q) / m               # files of each
of <- rep(1:m, each = r)
estimate <- mean(q)
within <- mean(u)
between <- var(tapply(q, of, mean))
drawing <- mean(tapply(q, of, var)) / r
"""
R_RULE = {
    "nested": """\
inflated <- (1 + 1 / m) * between
variance <- within + inflated - (if (inflated < drawing) 0 else drawing)
df <- variance^2 / (inflated^2 / (m - 1) + drawing^2 / (m * (r - 1)))
""",
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


def _in_r(rule: str, m: int, form: Format, name: str, value: str, imputations: int) -> str:
    digits = max(2, len(str(m)))
    means = R_NESTED.format(imputations=imputations) if rule == "nested" else R_MEANS
    return f"""\
files <- sprintf("synthetic-%0{digits}d{ENDINGS[form]}", 1:{m})
q <- u <- numeric(0)
for (file in files) {{
  data <- {R_READ[form]}
  share <- mean(data[[{_text(name)}]] == {value})
  q <- c(q, share)                             # the estimate
  u <- c(u, share * (1 - share) / nrow(data))  # its squared standard error
}}
{means}{R_RULE[rule]}estimate + c(-1, 0, 1) * qt(0.975, df) * sqrt(variance)
"""


PYTHON_READ = {
    "csv": "pd.read_csv(file, dtype=str, keep_default_na=False)",
    "parquet": "pd.read_parquet(file)",
    "stata": "pd.read_stata(file, convert_categoricals=False)",
    "spss": "pd.read_spss(file, convert_categoricals=False)",
}
PYTHON_MEANS = "m, estimate, within, between = len(q), q.mean(), u.mean(), q.var()\n"
PYTHON_NESTED = """\
m = {imputations}  # imputations, one after the other
r = len(q) // m  # files of each
groups = q.groupby(q.index // r)
estimate, within, between = q.mean(), u.mean(), groups.mean().var()
drawing = groups.var().mean() / r
"""
PYTHON_RULE = {
    "nested": """\
inflated = (1 + 1 / m) * between
variance = within + inflated - (0 if inflated < drawing else drawing)
spread = inflated**2 / (m - 1) + drawing**2 / (m * (r - 1))
df = variance**2 / spread if spread > 0 else float("inf")
""",
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


def _in_python(rule: str, form: Format, name: str, value: str, imputations: int) -> str:
    nested = rule == "nested"
    means = PYTHON_NESTED.format(imputations=imputations) if nested else PYTHON_MEANS
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
{means}{PYTHON_RULE[rule]}reach = t.ppf(0.975, df) * variance**0.5
print(estimate - reach, estimate, estimate + reach)
"""


def _text(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
