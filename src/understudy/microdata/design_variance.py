"""Design-based variances of weighted totals and shares: linearization, or replicate weights.

Units are drawn with replacement within strata: over strata, n/(n - 1) times the sum of squared
deviations of the n units' totals from their mean. A stratum with one unit deviates from the mean
over all units. With replicates it is always the factor of their method (`survey_design`)
times the sum of squared deviations of the estimate by each replicate from that by the weights.

References
----------
Wolter, K. M. (2007). Introduction to Variance Estimation. 2nd edition, Springer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.survey_design import SurveyDesign

__all__ = ["share_variances", "total_covariance"]

Numbers = NDArray[np.float64]
AT_A_TIME = 64  # levels whose indicators are held together


def total_covariance(
    survey: SurveyDesign, parts: Numbers, records: NDArray[np.int64] | None = None
) -> Numbers:
    """Estimate the covariance over samples of weighted totals.

    Parameters
    ----------
    survey : SurveyDesign
        Weights and design.
    parts : float64 (record, quantity)
        What each record adds to a total, without its weight.
    records : int64 (record,), optional
        Indices of the records that these are, where the others add nothing (a domain).

    Returns
    -------
    float64 (quantity, quantity)
    """
    chosen = slice(None) if records is None else records
    weights = survey.weights[chosen]
    if survey.replicates is not None:
        deviations = (survey.replicates[chosen] - weights[:, None]).T @ parts
        return survey.factor * deviations.T @ deviations
    n_units = int(survey.unit.max()) + 1
    totals = np.zeros((n_units, parts.shape[1]))  # (unit, quantity)
    np.add.at(totals, survey.unit[chosen], weights[:, None] * parts)
    of_unit = np.zeros(n_units, dtype=np.int64)
    of_unit[survey.unit] = survey.stratum
    sizes = np.bincount(of_unit)  # (stratum,) units
    means = np.zeros((sizes.size, parts.shape[1]))
    np.add.at(means, of_unit, totals)
    means /= sizes[:, None]
    alone = sizes == 1
    means[alone] = totals.mean(axis=0)
    deviations = totals - means[of_unit]
    scale = np.where(alone, 1.0, sizes / np.maximum(sizes - 1, 1))[of_unit]
    covariance: Numbers = deviations.T @ (scale[:, None] * deviations)
    return covariance


def share_variances(survey: SurveyDesign, codes: NDArray[Any], shares: Numbers) -> Numbers:
    """Estimate the variance over samples of weighted shares of levels, (level,).

    A share is a ratio of two weighted totals. With strata and units its variance is that of the
    total of (indicator - share)/(sum of weights); with replicates each has a ratio of its own.

    Parameters
    ----------
    survey : SurveyDesign
        Weights and design.
    codes : int (record,)
        Levels.
    shares : float64 (level,)
        By the weights.
    """
    variances = np.zeros(shares.size)
    if survey.replicates is not None:
        sums = survey.replicates.sum(axis=0)
        for replicate, own in zip(survey.replicates.T, sums, strict=True):
            again = np.bincount(codes, weights=replicate, minlength=shares.size) / own
            variances += survey.factor * (again - shares) ** 2
        return variances
    total = survey.weights.sum()
    for start in range(0, shares.size, AT_A_TIME):
        levels = np.arange(start, min(start + AT_A_TIME, shares.size))
        parts = ((codes[:, None] == levels) - shares[levels]) / total  # (record, level)
        variances[levels] = np.diag(total_covariance(survey, parts))
    return variances
