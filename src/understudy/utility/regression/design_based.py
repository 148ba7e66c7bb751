"""Design-based standard errors of a weighted regression: the sandwich of Binder (1983).

The coefficients maximize the weighted log-likelihood. Their covariance over samples is that of the
score, a weighted total, between two inverses of the weighted information. With replicate weights
the total varies over the replicates: each replicate's coefficients are one Newton step away.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from understudy.microdata.design_variance import total_covariance
from understudy.microdata.survey_design import SurveyDesign
from understudy.utility.regression.design import Indicators
from understudy.utility.regression.fitted_regression import Fit, estimated
from understudy.utility.regression.ordered_logit import information_and_scores

__all__ = ["with_design_errors"]

Numbers = NDArray[np.float64]


def with_design_errors(
    fit: Fit,
    rows: Indicators,
    response: Numbers,
    weights: Numbers,
    survey: SurveyDesign,
    records: NDArray[np.int64],
    family: str,
) -> Fit:
    """Replace the standard errors of a weighted fit by design-based ones.

    Parameters
    ----------
    fit : Fit
        With these weights.
    rows : Indicators
        The design, one row per record.
    response : float64 (record,)
        Scores of a linear regression, 1 and 0 of a logistic one, else codes of categories.
    weights : float64 (record,)
        As they were used in the fit: the survey's, times a constant.
    survey : SurveyDesign
        Of all records of the data.
    records : int64 (record,)
        Which of them the rows are.
    family : {"ordered-logit", "logistic", "linear"}
        Of the regression.

    References
    ----------
    Binder, D. A. (1983). On the variances of asymptotically normal estimators from complex surveys.
    International Statistical Review 51(3), 279-292. doi:10.2307/1402588
    """
    if not estimated(fit.status).any():
        return fit
    used = ~np.isnan(fit.coefficients)
    if family == "linear":
        columns = np.column_stack([rows.dense(used), np.ones(weights.size)])
        residual = response - fit.intercepts[0] - columns[:, :-1] @ fit.coefficients[used]
        scores = residual[:, None] * columns
        information = columns.T @ (weights[:, None] * columns)
        own = slice(0, -1)
    else:
        category = np.searchsorted(fit.categories, response).astype(np.int64)
        cuts = -fit.intercepts if family == "logistic" else fit.intercepts
        information, scores = information_and_scores(
            rows, category, weights, cuts, fit.coefficients
        )
        own = slice(cuts.size, None)
    scale = float(weights.sum() / survey.weights[records].sum())
    middle = scale**2 * total_covariance(survey, scores, records)
    bread = np.linalg.pinv(information)
    variances = np.diag(bread @ middle @ bread)[own]
    errors = np.full(rows.n_columns, np.nan)
    errors[used] = np.sqrt(np.maximum(variances, 0.0))
    errors[~estimated(fit.status)] = np.nan
    return replace(fit, standard_errors=errors, degrees_of_freedom=survey.degrees_of_freedom)
