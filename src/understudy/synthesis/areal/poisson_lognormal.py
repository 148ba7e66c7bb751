"""Poisson-lognormal counts, log rates integrated out: probabilities, slopes, and their mixture.

A count c with log rate y from Normal(m, 1/precision) has the probability

    p(c | m) = integral of  exp(c y - e^y) / c!  Normal(y; m, 1/precision)  over y.

Its integrand is log-concave and analytic, so the trapezoidal rule, started at the mode and walked
outwards until nothing is left to add, converges exponentially; its step is a part of the width at
the mode, and never more than what the bend of e^y needs. Relative errors are below 1e-11.

The same sum gives mean and variance of y given c, hence two derivatives of log p in m:
precision (E y - m) and precision^2 Var y - precision. With them log p is a function of m that a
piecewise polynomial of degree five knows to 1e-10; pieces are made when they are first needed and
serve until the precision changes. A sweep asks for log p of every pair in every cluster many times,
and a piece costs a twentieth of an integral.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.areal.problem import Problem

__all__ = [
    "Pieces",
    "draw_table",
    "log_probabilities",
    "marginal",
    "new_pieces",
    "poisson_lognormal",
    "sum_log_rates",
]

LOWEST, HIGHEST, PER_UNIT = -12.0, 6.0, 16  # means with pieces, and pieces per unit
STEP, LARGEST_STEP = 0.6, 0.4  # of the trapezoidal rule: widths at the mode, and units of y
NOTHING = -36.0  # logarithm of what is not worth adding


class Pieces(NamedTuple):
    """Polynomials for log p as a function of the mean, at one precision; written over."""

    precision: NDArray[np.float64]  # (1,)
    nodes: NDArray[np.float64]  # (node, place, 3) log p and two derivatives; NaN: not known yet
    pieces: NDArray[np.float64]  # (piece, place, 6) coefficients; NaN: not known yet


def new_pieces(problem: Problem) -> Pieces:
    """Make room for the polynomials of a problem's distinct counts."""
    n_pieces = int((HIGHEST - LOWEST) * PER_UNIT)
    n_counts = problem.distinct.size
    return Pieces(
        np.full(1, np.nan),
        np.full((n_pieces + 1, n_counts, 3), np.nan),
        np.full((n_pieces, n_counts, 6), np.nan),
    )


@compiled
def _mode(count, mean, precision):  # type: ignore[no-untyped-def]
    """Find the largest value of c y - e^y - precision/2 (y - m)^2 from the right, by Newton."""
    place = min(mean + count / precision, np.log(1.0 + count + precision * max(mean, 0.0)))
    for _ in range(200):
        rate = np.exp(place)
        change = (count - rate - precision * (place - mean)) / (rate + precision)
        place += change
        if abs(change) < 1e-9:
            break
    return place


@compiled
def poisson_lognormal(count, mean, precision):  # type: ignore[no-untyped-def]
    """Integrate: log p, and its first and second derivative in the mean."""
    mode = _mode(count, mean, precision)
    rate = np.exp(mode)
    step = min(STEP / np.sqrt(precision + rate), LARGEST_STEP)
    growth = np.exp(step)
    slope = count - precision * (mode - mean)  # of the log integrand, but for e^y
    total, first, second = 1.0, 0.0, 0.0  # sums of 1, (y - mode), (y - mode)^2, weighted
    for direction in (-1.0, 1.0):
        there, factor = rate, growth if direction > 0 else 1.0 / growth
        away = 0.0
        while True:
            away += direction * step
            there *= factor
            height = slope * away - (there - rate) - 0.5 * precision * away * away
            if height < NOTHING:
                break
            weight = np.exp(height)
            total += weight
            first += weight * away
            second += weight * away * away
    first /= total
    spread = second / total - first * first
    apart = mode - mean
    log_p = count * mode - rate - 0.5 * precision * apart * apart - lgamma(count + 1.0)
    log_p += np.log(total * step) + 0.5 * np.log(precision / (2.0 * np.pi))
    return log_p, precision * (apart + first), precision * (precision * spread - 1.0)


@compiled
def _prepare(pieces, precision):  # type: ignore[no-untyped-def]
    """Forget all polynomials if they belong to another precision."""
    if pieces.precision[0] != precision:
        pieces.precision[0] = precision
        pieces.nodes[:] = np.nan
        pieces.pieces[:] = np.nan


@compiled
def _make_piece(pieces, piece, place, count):  # type: ignore[no-untyped-def]
    """Work out one polynomial from log p and two derivatives at both of its ends."""
    for node in (piece, piece + 1):
        if np.isnan(pieces.nodes[node, place, 0]):
            mean = LOWEST + node / PER_UNIT
            log_p, slope, bend = poisson_lognormal(count, mean, pieces.precision[0])
            pieces.nodes[node, place, 0] = log_p
            pieces.nodes[node, place, 1] = slope / PER_UNIT
            pieces.nodes[node, place, 2] = bend / PER_UNIT**2
    left, right = pieces.nodes[piece, place], pieces.nodes[piece + 1, place]
    rise = right[0] - left[0]
    here = pieces.pieces[piece, place]
    here[1] = left[1]
    here[2] = 0.5 * left[2]
    here[3] = 10.0 * rise - 6.0 * left[1] - 4.0 * right[1] - 1.5 * left[2] + 0.5 * right[2]
    here[4] = -15.0 * rise + 8.0 * left[1] + 7.0 * right[1] + 1.5 * left[2] - right[2]
    here[5] = 6.0 * rise - 3.0 * (left[1] + right[1]) - 0.5 * (left[2] - right[2])
    here[0] = left[0]


@compiled
def _value(pieces, problem, pair, mean):  # type: ignore[no-untyped-def]
    """Log p and its slope for one pair and one mean."""
    place = problem.pair_place[pair]
    along = (mean - LOWEST) * PER_UNIT
    if not 0.0 <= along < pieces.pieces.shape[0]:
        found = poisson_lognormal(problem.pair_count[pair], mean, pieces.precision[0])
        return found[0], found[1]
    piece = int(along)
    t = along - piece
    a = pieces.pieces[piece, place]
    if np.isnan(a[0]):
        _make_piece(pieces, piece, place, problem.pair_count[pair])
    log_p = a[0] + t * (a[1] + t * (a[2] + t * (a[3] + t * (a[4] + t * a[5]))))
    slope = a[1] + t * (2.0 * a[2] + t * (3.0 * a[3] + t * (4.0 * a[4] + t * 5.0 * a[5])))
    return log_p, slope * PER_UNIT


@compiled
def log_probabilities(problem, pieces, means, precision, log_p):  # type: ignore[no-untyped-def]
    """Fill log p (pair, cluster) of every pair in every cluster, given means (cluster, pattern)."""
    _prepare(pieces, precision)
    for pattern in range(problem.pair_start.size - 1):
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            for one in range(means.shape[0]):
                log_p[pair, one] = _value(pieces, problem, pair, means[one, pattern])[0]


@compiled
def marginal(problem, pieces, means, precision, log_weights, slopes, shares):  # type: ignore[no-untyped-def]
    """Log-likelihood of the whole table, log rates and clusters integrated out.

    Fills its slopes in the means (cluster, pattern), and the expected cells of each cluster
    (cluster,), which is its slope in the log weights where they are free.
    """
    _prepare(pieces, precision)
    n_clusters = means.shape[0]
    slopes[:] = 0.0
    shares[:] = 0.0
    height = np.empty(n_clusters)  # (cluster,)
    slope = np.empty(n_clusters)  # (cluster,)
    total = 0.0
    for pattern in range(problem.pair_start.size - 1):
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            highest = -np.inf
            for one in range(n_clusters):
                log_p, slope[one] = _value(pieces, problem, pair, means[one, pattern])
                height[one] = log_weights[one] + log_p
                highest = max(highest, height[one])
            mass = 0.0
            for one in range(n_clusters):
                height[one] = np.exp(height[one] - highest)
                mass += height[one]
            total += problem.pair_size[pair] * (highest + np.log(mass))
            for one in range(n_clusters):
                expected = problem.pair_size[pair] * height[one] / mass
                shares[one] += expected
                slopes[one, pattern] += expected * slope[one]
    return total


@compiled
def _draw_log_rate(generator, mode, precision):  # type: ignore[no-untyped-def]
    """Draw y from its density given the count, exactly, by rejection.

    With the mode known, either of the two parts is replaced by its tangent at the mode: what is
    left is a normal distribution, or that of the logarithm of a gamma variable, whichever is
    narrower, and the other part is the probability of acceptance, at least 0.7 on average.
    """
    rate = np.exp(mode)
    while True:
        if rate < precision:
            away = generator.standard_normal() / np.sqrt(precision)
            accepted = rate * (1.0 + away - np.exp(away))
        else:
            away = np.log(generator.standard_gamma(rate)) - mode
            accepted = -0.5 * precision * away * away
        if generator.random() < np.exp(accepted):
            return mode + away


@compiled
def sum_log_rates(generator, problem, members, means, precision, sizes, sums, squares):  # type: ignore[no-untyped-def]
    """Draw the log rates of all cells given their clusters, and add them up.

    Fills the numbers of cells, sums, and sums of squared deviations from the mean, all (cluster,
    pattern).
    """
    sizes[:] = 0.0
    sums[:] = 0.0
    squares[:] = 0.0
    for pattern in range(problem.pair_start.size - 1):
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            count = problem.pair_count[pair]
            for one in range(means.shape[0]):
                if members[pair, one] == 0:
                    continue
                mean = means[one, pattern]
                mode = _mode(count, mean, precision)
                for _ in range(members[pair, one]):
                    drawn = _draw_log_rate(generator, mode, precision)
                    sums[one, pattern] += drawn
                    squares[one, pattern] += (drawn - mean) ** 2
                sizes[one, pattern] += members[pair, one]


@compiled
def draw_table(generator, problem, members, means, precision):  # type: ignore[no-untyped-def]
    """Draw the log rate of every cell (cell,), given how many cells of its pair each cluster has.

    Which cells of a pair those are is drawn too: cell by cell, without replacement.
    """
    left = members.copy()  # (pair, cluster)
    waiting = problem.pair_size.copy()  # (pair,)
    n_cells = problem.pair_of_cell.size
    n_patterns = problem.pair_start.size - 1
    log_rates = np.empty(n_cells)  # (cell,)
    per_pattern = n_cells // n_patterns
    for cell in range(n_cells):
        pair = problem.pair_of_cell[cell]
        ticket = int(generator.random() * waiting[pair])
        one = 0
        while ticket >= left[pair, one]:
            ticket -= left[pair, one]
            one += 1
        left[pair, one] -= 1
        waiting[pair] -= 1
        mean = means[one, cell // per_pattern]
        mode = _mode(problem.pair_count[pair], mean, precision)
        log_rates[cell] = _draw_log_rate(generator, mode, precision)
    return log_rates
