"""How many people who are alone in the sample are alone in the population.

Somebody who is alone in the file with her kept variables need not be alone outside of it. The
survey weights tell how many people of the population a pattern stands for, and a model tells what
that says about their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.display.described import Described
from understudy.display.panels import Panel
from understudy.display.result import Shown, in_users_kind
from understudy.errors import SettingError
from understudy.microdata.data_arguments import check_data
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors
from understudy.summaries import estimate_number

__all__ = ["PopulationRisk", "individual_risk", "population_risk"]

Numbers = NDArray[np.float64]
LARGE, N_TERMS = 20, 80  # records of a pattern beyond which so many terms of a series suffice


@dataclass(frozen=True, repr=False, eq=False)
class PopulationRisk(Shown):
    """Uniqueness and matches against the population, for what an intruder knows.

    Attributes
    ----------
    known : tuple of str
        What she knows: kept variables.
    records : int
        In the sample.
    population : float
        People that they stand for: the sum of the weights.
    sample_uniques : int
        Records that are alone with what she knows.
    population_uniques : float
        How many of those are alone in the population, too: an expectation.
    expected_matches : float
        Records that she finds if she links each of them with somebody of the population who has
        the same known variables: the sum of all individual risks.
    per_pattern : frame
        By pattern of the known variables: records, estimated people, individual risk.
    """

    _frames: ClassVar[tuple[str, ...]] = ("per_pattern",)
    known: tuple[str, ...]
    records: int
    population: float
    sample_uniques: int
    population_uniques: float
    expected_matches: float
    per_pattern: pl.DataFrame

    def _described(self) -> Described:
        """Show sums over the file."""
        rows = [
            ["records", f"{self.records:,}"],
            ["people that they stand for", f"{self.population:,.0f}"],
            ["alone in the sample", f"{self.sample_uniques:,}"],
            ["  of these alone in the population", estimate_number(self.population_uniques)],
            ["expected matches with the population", estimate_number(self.expected_matches)],
        ]
        return Described(
            f"Population risk, {', '.join(self.known)} known", ["measure", "value"], rows
        )

    def _panels(self) -> Mapping[str, Panel]:
        names = ["alone in the sample", "of these alone in the population", "expected matches"]
        values = [self.sample_uniques, self.population_uniques, self.expected_matches]
        return {"people": Panel("people", names, values, bars=True)}


@in_users_kind
@only_our_errors
def population_risk(data: Microdata, known: Sequence[str] | str | None = None) -> PopulationRisk:
    """Estimate how many sample uniques are population uniques, from the survey weights.

    A pattern with f records and weights that add up to F is taken for a sample of a share
    f/F of its people, each drawn independently. Given f, the number of people is then f plus a
    negative binomial number (f, f/F): a flat prior on it. So a record that is alone is alone in
    the population with probability 1/w, w its weight. What one record's risk is off by can be
    much; sums over records are more reliable.

    Parameters
    ----------
    data : Microdata
        The confidential data, read with ``weight``.
    known : sequence of str, optional
        Kept variables that an intruder knows; all that files show when left out.

    Returns
    -------
    PopulationRisk

    References
    ----------
    Benedetti, R. and Franconi, L. (1998). Statistical and technological solutions for controlled
    data dissemination. Pre-proceedings of New Techniques and Technologies for Statistics 1,
    225-232.
    Skinner, C. J. and Elliot, M. J. (2002). A measure of disclosure risk for microdata. Journal of
    the Royal Statistical Society B 64(4), 855-867. doi:10.1111/1467-9868.00365

    Examples
    --------
    >>> import polars as pl
    >>> import understudy as us
    >>> frame = pl.DataFrame({"sex": ["f", "f", "m", "m"], "town": ["a", "b"] * 2, "w": [2.0] * 4})
    >>> us.population_risk(us.read_microdata(frame, "town", weight="w")).sample_uniques
    0
    """
    data = check_data(data).released
    if data.survey is None:
        raise SettingError(
            expected="data that were read with their survey weights",
            came="data without",
            do="name the column of weights: read_microdata(..., weight=...)",
        )
    names = data.kept if known is None else data.known(known)
    cells = data.cells(names)
    of_record = cells.of_combination[data.of_record]  # (record,)
    people = np.bincount(of_record, weights=data.survey.weights, minlength=len(cells)).astype(
        np.float64
    )
    risk = individual_risk(cells.sizes, people)
    alone = cells.sizes == 1
    sampled = np.minimum(1.0, cells.sizes / np.maximum(people, cells.sizes))
    return PopulationRisk(
        known=tuple(names),
        records=data.n_records,
        population=float(data.survey.weights.sum()),
        sample_uniques=int(alone.sum()),
        population_uniques=float(sampled[alone].sum()),
        expected_matches=float(cells.sizes @ risk),
        per_pattern=pl.DataFrame({"records": cells.sizes, "people": people, "risk": risk}),
    )


def individual_risk(records: NDArray[np.int64], people: Numbers) -> Numbers:
    """Expected 1/F of patterns with f records and an estimated number of people, (pattern,) each.

    It is (p/f) 2F1(1, 1; f + 1; 1 - p) with p = f/people: the mean of 1/F where F - f is negative
    binomial (f, p). With one record that is -p log(p)/(1 - p). Where the sums of weights are below
    f, all people are in the sample.
    """
    from scipy.special import hyp2f1

    share = np.minimum(1.0, records / np.maximum(people, records))
    small = np.minimum(records, LARGE)
    series = np.ones(records.size)  # (pattern,)
    term = np.ones(records.size)
    for number in range(1, N_TERMS):
        term = term * (1 - share) * number / (records + number)
        series += term
    # SciPy's function is not finite for large patterns of which few people are in the sample
    function = np.where(records <= LARGE, hyp2f1(1, 1, small + 1, 1 - share), series)
    risk: Numbers = share / records * function
    return risk
