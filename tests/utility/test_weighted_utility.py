"""Weighted utility: design-based variances against closed forms and statsmodels."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from scipy import optimize

import understudy as us
from understudy.errors import ColumnError, DataWarning, SettingError
from understudy.microdata.design_variance import total_covariance
from understudy.microdata.survey_design import read_design
from understudy.microdata.table import Microdata
from understudy.randomness import stream
from understudy.utility.regression.regression_model import RegressionModel
from understudy.utility.weighted_utility import share_estimates

N = 300


def survey_frame(n: int = N) -> pl.DataFrame:
    """Make a sample in strata and clusters, whose weights depend on the town."""
    generator = stream(5, "a weighted survey")
    stratum = np.sort(generator.integers(0, 4, n))
    cluster = generator.integers(0, 5, n)
    sex = generator.integers(0, 2, n)
    town = (generator.random(n) < 0.25 + 0.1 * stratum + 0.2 * sex).astype(int)
    town += generator.integers(0, 2, n)
    return pl.DataFrame(
        {
            "sex": np.array(["f", "m"])[sex],
            "town": np.array(["a", "b", "c"])[town],
            "w": 1.0 + 3.0 * town + generator.gamma(2.0, 1.0, n),
            "stratum": [f"s{code}" for code in stratum],
            "cluster": [f"c{code}" for code in cluster],
        }
    )


DESIGN = {"strata": "stratum", "psu": "cluster"}


def read(frame: pl.DataFrame | None = None, **options: Any) -> Microdata:
    """Read the survey with its weight and, unless told otherwise, its design."""
    table = survey_frame() if frame is None else frame
    options = {"design": DESIGN, "ignore": []} | options
    return us.read_microdata(table, "town", weight="w", **options)


def test_design_columns_are_in_no_model() -> None:
    data = read()
    assert data.names == ("sex", "town")
    assert us.Perfect().fit(data).synthesize(1).frame(0, "polars").columns == ["sex", "town"]
    assert data.survey is not None
    assert (data.survey.stratum.max() + 1, data.survey.unit.max() + 1) == (4, 20)
    assert data.survey.degrees_of_freedom == 16
    assert "300 records, 20 units in 4 strata" in repr(data.survey)


def test_a_share_with_units_in_strata_by_hand() -> None:
    """With-replacement formula for the linearized ratio, written as loops."""
    table, data = survey_frame(), read()
    assert data.survey is not None
    estimates = share_estimates(data.survey, data.codes("town"), 3)
    w, is_b = table["w"].to_numpy(), (table["town"] == "b").to_numpy()
    share = (w * is_b).sum() / w.sum()
    variance = 0.0
    for stratum in table["stratum"].unique():
        rows = (table["stratum"] == stratum).to_numpy()
        totals = [
            (w * (is_b - share) / w.sum())[rows & (table["cluster"] == cluster).to_numpy()].sum()
            for cluster in table.filter(rows)["cluster"].unique()
        ]
        variance += len(totals) * np.var(totals, ddof=1)
    assert estimates.values[1] == pytest.approx(share, rel=1e-12)
    assert estimates.errors[1] == pytest.approx(np.sqrt(variance), rel=1e-10)
    assert estimates.degrees_of_freedom == 16


def test_equal_weights_without_a_design_give_the_usual_error() -> None:
    table = survey_frame().with_columns(w=pl.lit(2.5)).drop("stratum", "cluster")
    data = us.read_microdata(table, "town", weight="w")
    assert data.survey is not None
    estimates = share_estimates(data.survey, data.codes("town"), 3)
    share = (table["town"] == "a").mean()
    assert isinstance(share, float)
    assert estimates.errors[0] == pytest.approx(np.sqrt(share * (1 - share) / (N - 1)), rel=1e-10)


def test_a_jackknife_of_a_mean_is_the_usual_error() -> None:
    """Replicates that leave one unit out give the formula, exactly, for equal weights."""
    n = 12
    table = pl.DataFrame({"sex": ["f", "m"] * 6, "town": ["a", "a", "b"] * 4, "w": [1.0] * n})
    names = [f"r{unit}" for unit in range(n)]
    replicates = (np.ones((n, n)) - np.eye(n)) * n / (n - 1)
    table = table.with_columns(pl.DataFrame(replicates, schema=names))
    data = us.read_microdata(
        table, "town", weight="w", design={"replicates": names, "method": "jk1"}
    )
    assert data.names == ("sex", "town")
    assert data.survey is not None
    estimates = share_estimates(data.survey, data.codes("town"), 2)
    share = 8 / 12
    assert estimates.errors[0] == pytest.approx(np.sqrt(share * (1 - share) / (n - 1)), rel=1e-10)
    total = total_covariance(data.survey, np.ones((n, 1)))  # a total of weights does not vary
    assert total[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_factors_of_replicates() -> None:
    from understudy.microdata.survey_design import DesignColumns

    four = tuple("abcd")
    assert DesignColumns(replicates=four).factor == 1 / 4
    assert DesignColumns(replicates=four, fay=0.5).factor == pytest.approx(1.0)
    assert DesignColumns(replicates=four, method="bootstrap").factor == 1 / 4
    assert DesignColumns(replicates=four, method="jk1").factor == 3 / 4
    assert DesignColumns(replicates=four, method="jk2").factor == 1.0


def test_a_stratum_with_one_unit_deviates_from_the_mean_of_all() -> None:
    values = pl.DataFrame({"w": [1.0, 1.0, 1.0], "s": ["x", "x", "y"]})
    from understudy.microdata.survey_design import DesignColumns

    survey = read_design("w", DesignColumns(strata="s"), values)
    variance = total_covariance(survey, np.array([[1.0], [3.0], [8.0]]))[0, 0]
    assert variance == pytest.approx(2 * ((1 - 2) ** 2 + (3 - 2) ** 2) + (8 - 4) ** 2)


def indicator_columns(table: pl.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Write the design of ``... ~ town`` as statsmodels takes it."""
    return np.column_stack(
        [np.ones(table.height), table["town"] == "b", table["town"] == "c"]
    ).astype(float)


def test_linear_and_logistic_fits_agree_with_statsmodels() -> None:
    """Weighted estimates, and errors by clusters (all in one stratum, its n/(n-1) factor)."""
    table = survey_frame()
    design = {"psu": "group"}
    table = table.with_columns(group=pl.col("stratum") + pl.col("cluster"))
    data = us.read_microdata(table, "town", weight="w", design=design, keep=["sex"])
    group = table["group"].rank("dense").to_numpy().astype(int)
    n_groups, x = len(np.unique(group)), indicator_columns(table)
    y, w = (table["sex"] == "m").to_numpy().astype(float), table["w"].to_numpy()
    all_records = np.arange(N)
    for family in ("linear", "logistic"):
        model = RegressionModel.make(data, "sex ~ town", family, None)
        own = model.study(None, all_records, all_records[:0]).estimates
        if family == "linear":
            reference = sm.WLS(y, x, weights=w).fit()
            scores = (w * reference.resid)[:, None] * x
            bread = np.linalg.inv(x.T @ (w[:, None] * x))
        else:
            reference = sm.GLM(y, x, family=sm.families.Binomial(), freq_weights=w).fit()
            fitted = reference.fittedvalues
            scores = (w * (y - fitted))[:, None] * x
            bread = np.linalg.inv(x.T @ ((w * fitted * (1 - fitted))[:, None] * x))
        totals = np.array([scores[group == unit].sum(axis=0) for unit in np.unique(group)])
        middle = n_groups / (n_groups - 1) * totals.T @ totals
        expected = np.sqrt(np.diag(bread @ middle @ bread))[1:]
        assert own.values == pytest.approx(reference.params[1:], rel=1e-6)
        assert own.errors == pytest.approx(expected, rel=1e-6)
        assert own.degrees_of_freedom == n_groups - 1
    by_library = sm.WLS(y, x, weights=w).fit(
        cov_type="cluster", cov_kwds={"groups": group, "use_correction": False}
    )
    model = RegressionModel.make(data, "sex ~ town", "linear", None)
    own = model.study(None, all_records, all_records[:0]).estimates
    factor = np.sqrt(n_groups / (n_groups - 1))
    assert own.errors == pytest.approx(by_library.bse[1:] * factor, rel=1e-8)


def test_an_ordered_logit_agrees_with_a_search_without_derivatives() -> None:
    """Weighted likelihood, and the sandwich with numerical derivatives."""
    table = survey_frame(120).drop("stratum", "cluster")
    data = us.read_microdata(table, "town", weight="w")
    everything = np.arange(120)
    model = RegressionModel.make(data, "town ~ sex", "ordered-logit", None)
    own = model.study(None, everything, everything[:0]).estimates
    y, x = data.codes("town"), data.codes("sex").astype(float)
    w = table["w"].to_numpy()
    w = w * w.size / w.sum()

    def each(parameters: Any) -> Any:
        low, high, slope = parameters
        cuts = np.array([-np.inf, low, high, np.inf])
        upper, lower = cuts[y + 1] - slope * x, cuts[y] - slope * x
        return np.log(1 / (1 + np.exp(-upper)) - 1 / (1 + np.exp(-lower)))

    start = np.array([-0.5, 0.8, 0.0])
    top = optimize.minimize(lambda p: -w @ each(p), start, method="BFGS", options={"gtol": 1e-8}).x
    assert own.values[0] == pytest.approx(top[2], abs=1e-5)
    step = 1e-4 * np.eye(3)
    scores = np.column_stack([(each(top + e) - each(top - e)) / 2e-4 for e in step])
    hessian = np.array([
        [(w @ (each(top + a + b) - each(top + a - b) - each(top - a + b) + each(top - a - b)))
         / 4e-8 for b in step] for a in step
    ])  # fmt: skip
    total = w[:, None] * scores
    total = total - total.mean(axis=0)
    bread = np.linalg.inv(-hessian)
    covariance = bread @ (120 / 119 * total.T @ total) @ bread
    assert own.errors[0] == pytest.approx(np.sqrt(covariance[2, 2]), rel=1e-4)


def test_replicates_of_a_regression() -> None:
    """One Newton step from the estimate: near the fit that is done anew, for a bootstrap."""
    generator = stream(3, "bootstrap")
    table = survey_frame().drop("stratum", "cluster")
    counts = generator.multinomial(N, np.full(N, 1 / N), 60).T  # (record, replicate)
    names = [f"r{index}" for index in range(60)]
    replicates = table["w"].to_numpy()[:, None] * counts
    table = table.with_columns(pl.DataFrame(replicates, schema=names))
    design = {"replicates": names, "method": "bootstrap"}
    data = us.read_microdata(table, "town", weight="w", design=design)
    everything = np.arange(N)
    own = (
        RegressionModel.make(data, "sex ~ town", "linear", None)
        .study(None, everything, everything[:0])
        .estimates
    )
    x, y = indicator_columns(table), (table["sex"] == "m").to_numpy().astype(float)
    centre = sm.WLS(y, x, weights=table["w"].to_numpy()).fit().params
    again = np.array([sm.WLS(y, x, weights=replicate).fit().params for replicate in replicates.T])
    expected = np.sqrt(((again - centre) ** 2).mean(axis=0))[1:]
    assert own.errors == pytest.approx(expected, rel=0.1)
    assert own.degrees_of_freedom == 60


def test_totals_of_replicates_deviate_from_the_total() -> None:
    """By hand: two records and three replicates of a jackknife."""
    table = pl.DataFrame(
        {"sex": ["f", "m"], "town": ["a", "b"], "w": [2.0, 3.0], "r1": [0.0, 6.0],
         "r2": [4.0, 0.0], "r3": [3.0, 3.0]}
    )  # fmt: skip
    with pytest.warns(DataWarning):
        data = read(table, design={"replicates": ["r1", "r2", "r3"], "method": "jk1"})
    assert data.survey is not None
    parts = np.array([[1.0, 5.0], [1.0, 2.0]])  # (record, quantity): totals 5 and 16
    apart = np.array([[1.0, -4.0], [-1.0, 4.0], [1.0, 5.0]])  # (replicate, quantity)
    assert total_covariance(data.survey, parts) == pytest.approx(2 / 3 * apart.T @ apart)


def test_records_that_a_regression_leaves_out_keep_their_units() -> None:
    """A fit to the first stratum's records: units of the others have a total of zero."""
    table = survey_frame().with_columns(group=pl.col("stratum") + pl.col("cluster"))
    data = us.read_microdata(table, "town", weight="w", design={"psu": "group"}, keep=["sex"])
    some = np.flatnonzero((table["stratum"] == "s0").to_numpy())
    model = RegressionModel.make(data, "sex ~ town", "linear", None)
    own = model.study(None, some, some[:0]).estimates
    x, y = indicator_columns(table)[some], (table["sex"] == "m").to_numpy().astype(float)[some]
    w = table["w"].to_numpy()[some]
    scores = (w * sm.WLS(y, x, weights=w).fit().resid)[:, None] * x
    bread = np.linalg.inv(x.T @ (w[:, None] * x))
    group = table["group"].to_numpy()[some]
    totals = np.zeros((table["group"].n_unique(), x.shape[1]))  # (unit, coefficient)
    for row, unit in enumerate(np.unique(group)):
        totals[row] = scores[group == unit].sum(axis=0)
    totals -= totals.mean(axis=0)
    middle = len(totals) / (len(totals) - 1) * totals.T @ totals
    expected = np.sqrt(np.diag(bread @ middle @ bread))[1:]
    assert own.errors == pytest.approx(expected, rel=1e-6)
    assert own.degrees_of_freedom == len(totals) - 1


def test_weighted_utility_of_a_copy_and_of_perfect_sets() -> None:
    """The copy has no deviation; perfect sets lie near the floor (20 pairs: within 40 %)."""
    data = read()
    own = np.stack([data.codes("town")[:, None]] * 3)
    copy = us.weighted_utility(data, us.SyntheticSets(data, own), repeats=2, seed=1)
    assert copy.deviation == {1: 0.0, 2: 0.0}
    # The original's interval is that of t with 16 degrees of freedom, the combined one normal.
    assert copy.mean_overlap == pytest.approx((1 + 1.959964 / 2.119905) / 2, abs=1e-6)
    sets = us.Perfect().fit(data).synthesize(10, seed=2)
    perfect = us.weighted_utility(data, sets, repeats=20, seed=1)
    assert set(perfect.ratio) == {1, 2}
    assert perfect.shares["level"].to_list() == ["a", "b", "c"]
    assert "Weighted utility of 10 sets" in repr(perfect)
    # The weight depends on the town given the kept variables, which the model does not know.
    assert perfect.ratio[1] is not None
    assert perfect.ratio[1] > 1.4
    scaled = read(survey_frame().with_columns(pl.col("w") * 10))
    again = us.weighted_utility(scaled, list(sets), repeats=1, seed=1)
    assert again.deviation == pytest.approx(perfect.deviation)  # whatever the weights add up to
    grouped = read(weight_groups=4)
    with_groups = us.Perfect().fit(grouped).synthesize(10, seed=2)
    better = us.weighted_utility(data, list(with_groups), repeats=20, seed=1)
    assert better.ratio[1] is not None
    assert better.ratio[1] < perfect.ratio[1]


def test_weight_groups_are_used_and_not_shown() -> None:
    data = read(weight_groups=4)
    assert data.kept == ("sex", "weight group")
    assert not data.variable("weight group").released
    assert data.released.kept == ("sex",)
    assert data.released.released is data.released
    assert data.frame().columns == ["sex", "town"]
    assert us.Perfect().fit(data).synthesize(1)[0].columns == ["sex", "town"]
    codes = data.codes("weight group")
    weights = survey_frame()["w"].to_numpy()
    assert np.bincount(codes).tolist() == [75, 75, 75, 75]
    assert weights[codes == 0].max() < weights[codes == 1].min()
    taken = survey_frame().rename({"cluster": "weight group"})
    with pytest.raises(SettingError, match="groups get"):
        read(taken, weight_groups=4, design={"strata": "stratum"})


@pytest.mark.parametrize("wrong", [-1.0, None, float("inf"), float("nan")])
def test_weights_that_are_none(wrong: float | None) -> None:
    table = survey_frame()
    table = table.with_columns(w=pl.when(pl.arange(0, N) == 7).then(wrong).otherwise("w"))
    with pytest.raises(ColumnError, match=r"1 record with something else"):
        read(table)
    with pytest.raises(ColumnError, match="zero in every record"):
        read(survey_frame().with_columns(w=0.0))
    with pytest.raises(ColumnError, match="300 records with something else"):
        us.read_microdata(survey_frame(), "town", weight="sex", ignore=["w"])


@pytest.mark.parametrize("name", ["stratum", "cluster"])
def test_strata_and_units_that_some_records_do_not_have(name: str) -> None:
    table = survey_frame().with_row_index()
    for empty in (None, " "):
        holed = table.with_columns(
            pl.when(pl.col("index") > 4).then(pl.col(name).cast(pl.String)).otherwise(pl.lit(empty))
            .alias(name)
        )  # fmt: skip
        with pytest.raises(ColumnError, match=f"record in .{name}.; found none for 5 records"):
            read(holed.drop("index"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weight": None}, "a survey weight"),
        ({"weight": "town", "design": None}, "not synthesized"),
        ({"design": {"strata": "stratum", "replicates": ["w", "w"]}}, "one of the two"),
        ({"design": {"strata": "town"}}, "not synthesized"),
        ({"design": {"replicates": ["w"]}}, "at least two"),
        ({"design": {"replicates": ["w", "w"]}}, "twice"),
        ({"design": {"stratum": "stratum"}}, "stratum"),
        ({"design": 3}, "as a mapping"),
        ({"weight_groups": 1}, "weight_groups"),
    ],
)
def test_designs_that_make_no_sense(options: Any, words: str) -> None:
    given: Any = {"weight": "w", "design": DESIGN, **options}
    with pytest.raises(SettingError, match=words):
        us.read_microdata(survey_frame(), "town", **given)


def test_without_weights_there_is_nothing_to_weight() -> None:
    data = us.read_microdata(survey_frame(), "town", keep=["sex"])
    with pytest.raises(SettingError, match="survey weights"):
        us.weighted_utility(data, us.Perfect().fit(data).synthesize(2))
    with pytest.raises(SettingError, match="survey weights"):
        us.population_risk(data)
