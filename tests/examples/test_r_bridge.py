"""The bridge from R: run with Debian's R where there is one, and with reticulate where that is."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pyreadstat
import pytest

from understudy.microdata.variable import Variable
from understudy.publishing.combining_examples import R_READ, examples
from understudy.publishing.data_files import ENDINGS, Format
from understudy.utility.combining import combine_estimates
from understudy.utility.nested_combining import combine_nested_estimates

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
RSCRIPT = shutil.which("Rscript")
needs_r = pytest.mark.skipif(RSCRIPT is None, reason="Rscript is not installed here")
MADE = """
set.seed(3)
df <- data.frame(sex = rep(c("f", "m"), 60), age = rep(c("young", "old", "old"), 40))
df$town <- factor(ifelse(runif(120) < 0.5, "a, b", "Köln"))
drawn <- function() { copy <- df; copy$town <- sample(copy$town); copy }
"""


def run_r(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in R, in a folder."""
    path = folder / "program.R"
    path.write_text(program, encoding="utf-8")
    return subprocess.run(
        [RSCRIPT or "Rscript", "--vanilla", "--encoding=UTF-8", str(path)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def has(package: str, folder: Path) -> bool:
    """Tell whether a package of R is installed here."""
    asked = run_r(f'cat(requireNamespace("{package}", quietly = TRUE))', folder)
    return asked.stdout.strip() == "TRUE"


def evaluation(call: str) -> str:
    """Write a program that evaluates, with this interpreter's understudy."""
    return (
        f'source("{EXAMPLES / "r" / "understudy.R"}", encoding = "UTF-8")\n{MADE}'
        f'command <- c("{sys.executable}", "-m", "understudy")\n{call}'
    )


@needs_r
def test_synthpop_objects_are_evaluated(tmp_path: Path) -> None:
    ended = run_r(
        evaluation(
            "sds <- list(syn = list(drawn(), drawn()), m = 2,\n"
            '            method = c(sex = "", age = "", town = "cart"))\n'
            'result <- understudy_evaluate(sds, df, known = list(c("sex", "age"), "sex"),\n'
            '  options = c("--repeats", "3", "--seed", "1"), command = command)\n'
            'print(result); cat("status", result$status, "\\n")\n'
            'cat("left behind:", length(list.files(tempdir(), "^understudy-")), "\\n")'
        ),
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert "120 records" in ended.stdout
    assert "2 sets" in ended.stdout
    assert "status 0" in ended.stdout or "status 1" in ended.stdout, ended.stderr
    assert "left behind: 0" in ended.stdout


@needs_r
def test_what_was_synthesized_is_found(tmp_path: Path) -> None:
    ended = run_r(
        evaluation(
            "one <- list(syn = drawn(), m = 1)\n"
            'stopifnot(identical(understudy_synthesized(one, df), "town"))\n'
            "stopifnot(length(understudy_sets(one)) == 1, length(understudy_sets(df)) == 1)\n"
            'wrong <- understudy_evaluate(one, df, synthesize = "twon", command = command)\n'
            "stopifnot(wrong$status == 2)\n"
            "refused <- tryCatch(understudy_evaluate(df, df), error = conditionMessage)\n"
            'stopifnot(grepl("no column differs", refused))'
        ),
        tmp_path,
    )
    assert ended.returncode == 0, ended.stderr
    assert "town" in ended.stderr  # the program names the nearest column


def save_set(path: Path, towns: str) -> None:
    """Write a synthetic file of two columns in the format that its name ends with."""
    frame = pl.DataFrame({"sex": ["x"] * len(towns), "town": [*towns]})
    if path.suffix == ".csv":
        frame.write_csv(path)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        (pyreadstat.write_dta if path.suffix == ".dta" else pyreadstat.write_sav)(frame, path)


@needs_r
@pytest.mark.parametrize("form", list(R_READ))
@pytest.mark.parametrize("rule", ["partial", "full", "nested", "nested, noise of the drawing"])
def test_the_combining_example_gives_our_interval(tmp_path: Path, rule: str, form: Format) -> None:
    package = R_READ[form].rpartition("::")[0]
    if package and not has(package, tmp_path):
        pytest.skip(f"the R package {package} is not installed here")
    towns = ["aaab", "aabb", "aaab"]
    if rule == "nested":
        towns = ["abbbbb", "aabbbb", "aaabbb", "aaaabb", "aaabbb", "aaaabb"]
    elif rule.startswith("nested"):
        towns = ["abbbbb", "aaaabb", "aabbbb", "aaabbb"]  # imputations differ less than their sets
    shares = []
    for number, letters in enumerate(towns, 1):
        save_set(tmp_path / f"synthetic-{number:02d}{ENDINGS[form]}", letters * 10)
        shares.append(letters.count("a") / len(letters))
    variables = [Variable("sex", "kept", ("x",)), Variable("town", "synthesized", ("a", "b"))]
    nested, imputations = rule.startswith("nested"), len(towns) // 2
    rule = "nested" if nested else rule
    program = examples(rule, len(towns), form, variables, imputations)["R"]
    lines = program.rstrip().splitlines()
    lines[-1] = f"cat(format({lines[-1]}, digits = 12))"
    ended = run_r("\n".join(lines), tmp_path)
    assert ended.returncode == 0, ended.stderr
    n_rows = 10 * len(towns[0])
    squared = [share * (1 - share) / n_rows for share in shares]
    if nested:
        shape = (imputations, 2)
        ours = combine_nested_estimates(np.reshape(shares, shape), np.reshape(squared, shape))
    else:
        ours = combine_estimates(shares, squared, rule)
    expected = [float(ours.lower), float(ours.estimate), float(ours.upper)]
    assert [float(text) for text in ended.stdout.split()] == pytest.approx(expected, rel=1e-9)


@needs_r
def test_reticulate_gives_frames(tmp_path: Path) -> None:
    if not has("reticulate", tmp_path):
        pytest.skip("the R package reticulate is not installed here")
    program = (
        f'reticulate::use_python("{sys.executable}")\n'
        f'us <- reticulate::import("understudy")\n{MADE}'
        'data <- us$read_microdata(df, synthesize = "town")\n'
        "sets <- us$read_synthetic(data, list(drawn(), drawn()))\n"
        'frame <- us$identification_risk(data, sets, known = "sex")$to_frame()\n'
        # a reticulate that does not know this pandas leaves the frame in Python
        "cat(if (is.data.frame(frame)) nrow(frame) else reticulate::py_len(frame))"
    )
    ended = run_r(program, tmp_path)
    assert ended.stdout.strip() == "4", ended.stderr
