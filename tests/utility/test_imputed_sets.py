"""Files that show imputed values: read, refused, analysed by the nested rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.bad_inputs.cases import covers
from tests.conftest import Command

import understudy as us
from understudy.errors import AlignmentError, InputError, SettingError
from understudy.microdata.table import Microdata
from understudy.randomness import stream

N, LEVELS = 200, ("1", "2", "3")


def holed() -> pl.DataFrame:
    """Score follows age; a sixth of the ages are missing, and a tenth of the scores."""
    generator = stream(5, "imputed sets")
    age = generator.integers(0, 3, N)
    score = np.minimum(2, age + generator.integers(0, 2, N))
    row = pl.int_range(N, eager=True)
    frame = pl.DataFrame(
        {
            "sex": [("f", "m")[code] for code in generator.integers(0, 2, N)],
            "age": [LEVELS[code] for code in age],
            "score": [LEVELS[code] for code in score],
        }
    )
    return frame.with_columns(
        age=pl.when(row % 6 > 0).then("age"), score=pl.when(row % 10 > 1).then("score")
    )


def read() -> Microdata:
    return us.read_microdata(holed(), synthesize="score", missing="model")


def files(imputations: int = 3, sets: int = 2) -> list[pl.DataFrame]:
    """Fill the ages of each imputation, and draw scores for every set."""
    frame, drawn = holed(), []
    for imputation in range(imputations):
        generator = stream(imputation, "imputed ages")
        filled = pl.Series([LEVELS[code] for code in generator.integers(0, 3, N)])
        whole = frame.with_columns(age=pl.col("age").fill_null(filled))
        for _ in range(sets):
            noise = generator.integers(0, 2, N)
            codes = np.minimum(2, whole["age"].cast(pl.Int64).to_numpy() - 1 + noise)
            scores = pl.Series([LEVELS[code] for code in codes])
            drawn.append(whole.with_columns(score=scores))
    return drawn


def test_imputed_values_are_read_and_shown_again() -> None:
    data, given = read(), files()
    sets = us.read_synthetic(data, given, imputations=3)
    assert sets.combining_rule == "nested"
    assert set(sets.filled) == {"age"}
    for number, frame in enumerate(given):
        assert sets.frame(number).cast(pl.String).equals(frame)
    assert us.read_synthetic(data, given).imputations is None
    assert sets[1:3].imputations is None
    back = [frame.with_columns(age=holed()["age"]) for frame in given]
    assert us.read_synthetic(data, back).combining_rule == "partial"
    risks = [
        us.identification_risk(data, shown, known=["age"]).expected_match_risk
        for shown in (sets, us.read_synthetic(data, back))
    ]
    assert risks[0] == risks[1]  # measured as if the holes had been put back


@covers(156)
def test_other_files_are_refused() -> None:
    data, given = read(), files()
    back = given[1].with_columns(age=holed()["age"])
    with pytest.raises(AlignmentError, match="in every file, or in none"):
        us.read_synthetic(data, [given[0], back])
    some = given[0].with_columns(
        age=pl.when(pl.int_range(N) != 6).then("age")  # one hole is left
    )
    with pytest.raises(AlignmentError, match="other values in 1 of 200 rows"):
        us.read_synthetic(data, [some])
    other = {"1": "2", "2": "3", "3": "1"}
    changed = given[0].with_columns(
        age=pl.when(pl.int_range(N) == 1).then(pl.col("age").replace(other)).otherwise("age")
    )
    with pytest.raises(AlignmentError, match="other values in 1 of 200 rows"):
        us.read_synthetic(data, [changed])
    as_level = us.read_microdata(holed(), synthesize="score", missing="level")
    with pytest.raises(AlignmentError, match="in another order"):
        us.read_synthetic(as_level, given)
    for imputations in (2, 4, 6, 1):
        with pytest.raises(InputError, match="imputations, one imputation after the other"):
            us.read_synthetic(data, given, imputations=imputations)
    with pytest.raises(InputError, match="imputations, one imputation after the other"):
        us.read_synthetic(data, [back] * 6, imputations=3)


def slope(frame: pl.DataFrame) -> tuple[float, float]:
    """Regress score on one indicator, age 3 against the others: estimate and standard error."""
    whole = frame.drop_nulls(["age", "score"])
    design = np.column_stack(
        [np.ones(whole.height), *((whole["age"] == level).to_numpy() for level in ("2", "3"))]
    )
    response = whole["score"].cast(pl.Float64).to_numpy()
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ response
    residual = response - design @ coefficients
    variance = residual @ residual / (whole.height - 3)
    return float(coefficients[2]), float(np.sqrt(variance * inverse[2, 2]))


def test_regressions_use_imputed_values_and_the_originals_complete_records() -> None:
    data, given = read(), files()
    sets = us.read_synthetic(data, given, imputations=3)
    utility = us.regression_utility(
        data, sets, "score ~ age", "linear", None, 1, rule="nested", repeats=2
    )
    assert utility.coefficients["coefficient"].to_list() == ["age[2]", "age[3]"]
    row = utility.coefficients.row(1, named=True)
    assert (row["original"], row["original_standard_error"]) == pytest.approx(slope(holed()))
    by_set = np.array([slope(frame) for frame in given])
    combined = us.combine_nested_estimates(
        by_set[:, 0].reshape(3, 2), by_set[:, 1].reshape(3, 2) ** 2
    )
    assert row["combined"] == pytest.approx(float(combined.estimate))
    assert row["combined_standard_error"] == pytest.approx(float(combined.standard_error))
    assert row["degrees_of_freedom"] == pytest.approx(float(combined.degrees_of_freedom))


def test_predictions_are_of_records_without_holes() -> None:
    data, given = read(), files()
    sets = us.read_synthetic(data, given, imputations=3)
    utility = us.regression_utility(
        data, sets, "score ~ age", "linear", 100, 1, rule="nested", repeats=2
    )
    shown = utility.predictions.filter(pl.col("prediction").is_not_null())
    original = shown.filter(pl.col("source") == "original")["record"]
    observed = holed().select(pl.all_horizontal(pl.col("age", "score").is_not_null())).to_series()
    assert observed.gather(original).all()
    assert shown.filter(pl.col("set") == 2).height == 100


@covers(156)
def test_the_rule_has_to_be_the_one_for_the_sets() -> None:
    data, given = read(), files()
    sets = us.read_synthetic(data, given, imputations=3)
    asked: dict[str, Any] = {"formula": "score ~ age", "family": "linear", "repeats": 1}
    with pytest.raises(SettingError, match="nested rule for files that show imputed"):
        us.regression_utility(data, sets, **asked)
    with pytest.raises(SettingError, match="number of imputations"):
        us.regression_utility(data, us.read_synthetic(data, given), rule="nested", **asked)
    back = [frame.with_columns(age=holed()["age"]) for frame in given]
    with pytest.raises(SettingError, match="combining rule"):
        us.regression_utility(data, back, rule="nested", **asked)

    def share(frame: pl.DataFrame) -> tuple[float, float]:
        mean = frame["score"].to_list().count("3") / frame.height
        return mean, mean * (1 - mean) / frame.height

    analysed = us.analysis_utility(data, sets, share, rule="nested").estimates.row(0, named=True)
    by_set = np.array([share(frame) for frame in given]).reshape(3, 2, 2)
    combined = us.combine_nested_estimates(by_set[..., 0], by_set[..., 1])
    assert analysed["combined_upper"] == pytest.approx(float(combined.upper))


@pytest.mark.filterwarnings("ignore")
def test_evaluate_takes_them(command: Command, tmp_path: Path) -> None:
    holed().write_csv(tmp_path / "original.csv")
    paths = []
    for number, frame in enumerate(files(), start=1):
        paths.append(tmp_path / f"{number}.csv")
        frame.write_csv(paths[-1])
    options = ("--synthesize", "score", "--missing", "model", "--repeats", "2", "--seed", "1")
    asked = ("--formula", "score ~ age", "--family", "linear")
    told = command("evaluate", tmp_path / "original.csv", *paths, *options, *asked)
    assert told.code == 2
    assert "number of imputations" in " ".join(told.err.split())
    told = command(
        "evaluate", tmp_path / "original.csv", *paths, *options, *asked, "--imputations", "3",
        "--report", tmp_path / "page.html",
    )  # fmt: skip
    assert told.code in {0, 1}, told.err
    page = " ".join((tmp_path / "page.html").read_text().split())
    assert "Files show imputed values, of 3 imputations" in page


@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
def test_imputed_sets_of_a_fit_know_their_imputations() -> None:
    data = read()
    model = us.DPMPM(n_classes=3, level_prior=1.0)
    fit = model.fit(data, chains=2, warmup=5, draws=8, seed=1)
    sets = fit.synthesize_imputed(2, 3, seed=1)
    assert (sets.imputations, sets.combining_rule, len(sets)) == (2, "nested", 6)
