"""Poisson-lognormal counts, log rates integrated out: probabilities, slopes, and their mixture.

A count c with log rate y from Normal(m, 1/precision) has the probability

    p(c | m) = integral of  exp(c y - e^y) / c!  Normal(y; m, 1/precision)  over y.

Its integrand is log-concave and analytic, so the trapezoidal rule, started at the mode and walked
outwards until nothing is left to add, converges exponentially; its step is a part of the width at
the mode, and never more than what the bend of e^y needs. Relative errors are below 1e-10.

The same sum gives mean and variance of y given c, hence two derivatives of log p in m:
precision (E y - m) and precision^2 Var y - precision. A sweep asks for log p of every pair in every
cluster many times, so it is remembered: integrals on a lattice of means and log precisions, made
when they are first needed; between precisions by the polynomial through the eight nearest, between
means by polynomials of degree five that have log p and both derivatives right at their ends. That
agrees with the integral to 1e-9, and costs a fiftieth of it.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.areal.problem import Problem

__all__ = [
    "SMALLEST",
    "Pieces",
    "draw_table",
    "exchange",
    "log_probabilities",
    "marginal",
    "new_pieces",
    "poisson_lognormal",
    "sum_log_rates",
]

LOWEST, HIGHEST, PER_UNIT = -12.0, 6.0, 10  # means with pieces, and pieces per unit
PER_LOG = 32  # precisions with integrals, per unit of their logarithm
NEAR = 8  # of them that a precision between them is interpolated from
SLOTS = 64  # of them that are remembered
STEP, LARGEST_STEP = 0.55, 0.28  # of the trapezoidal rule: widths at the mode, and units of y
NOTHING = -36.0  # logarithm of what is not worth adding
MISSED = -20.0  # logarithm of the part of a probability that clusters left out may add
SMALLEST = 1e-290  # weight of a cluster, or scaled probability of a pair, in exchanges
FAR = 1.3  # how far apart two clusters are proposed, in standard deviations of their prior
KEPT = (0.0, 0.6, 0.9, 0.98)  # how much of their distance such a proposal keeps


class Pieces(NamedTuple):
    """Log p as a function of mean and precision, as far as it was asked for; NaN: not yet.

    A memory of integrals and nothing else: what is in it never changes a result.
    """

    tags: NDArray[np.int64]  # (slot,) number of the precision whose integrals lie there
    integrals: NDArray[np.float64]  # (node, place, slot, 3) log p and two derivatives
    precision: NDArray[np.float64]  # (1,) the present one
    slots: NDArray[np.int64]  # (near,) precisions around it
    shares: NDArray[np.float64]  # (near,) and their weights
    nodes: NDArray[np.float64]  # (node, place, 3) log p and two derivatives at the present one
    pieces: NDArray[np.float64]  # (piece, place, 6) coefficients of polynomials


def new_pieces(problem: Problem) -> Pieces:
    """Make room for the integrals of a problem's distinct counts."""
    n_pieces = int((HIGHEST - LOWEST) * PER_UNIT)
    n_counts = problem.distinct.size
    return Pieces(
        tags=np.full(SLOTS, np.iinfo(np.int64).min),
        integrals=np.full((n_pieces + 1, n_counts, SLOTS, 3), np.nan),
        precision=np.full(1, np.nan),
        slots=np.zeros(NEAR, dtype=np.int64),
        shares=np.zeros(NEAR),
        nodes=np.full((n_pieces + 1, n_counts, 3), np.nan),
        pieces=np.full((n_pieces, n_counts, 6), np.nan),
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
    """Turn to a precision: forget polynomials of another one, find its neighbours' weights."""
    if pieces.precision[0] == precision:
        return
    pieces.precision[0] = precision
    pieces.nodes[:] = np.nan
    pieces.pieces[:] = np.nan
    along = np.log(precision) * PER_LOG
    first = int(np.floor(along)) - NEAR // 2 + 1
    for near in range(NEAR):
        number = first + near
        slot = number % SLOTS
        if pieces.tags[slot] != number:
            pieces.tags[slot] = number
            pieces.integrals[:, :, slot] = np.nan
        pieces.slots[near] = slot
        share = 1.0
        for other in range(NEAR):
            if other != near:
                share *= (along - first - other) / (near - other)
        pieces.shares[near] = share


@compiled
def _make_node(pieces, node, place, count):  # type: ignore[no-untyped-def]
    """Interpolate log p and two derivatives at a node between precisions, integrating first."""
    integrals = pieces.integrals
    log_p, slope, bend = 0.0, 0.0, 0.0
    for near in range(NEAR):
        slot, share = pieces.slots[near], pieces.shares[near]
        if np.isnan(integrals[node, place, slot, 0]):
            found = poisson_lognormal(
                count, LOWEST + node / PER_UNIT, np.exp(pieces.tags[slot] / PER_LOG)
            )
            integrals[node, place, slot, 0] = found[0]
            integrals[node, place, slot, 1] = found[1] / PER_UNIT
            integrals[node, place, slot, 2] = found[2] / PER_UNIT**2
        log_p += share * integrals[node, place, slot, 0]
        slope += share * integrals[node, place, slot, 1]
        bend += share * integrals[node, place, slot, 2]
    pieces.nodes[node, place, 0] = log_p
    pieces.nodes[node, place, 1] = slope
    pieces.nodes[node, place, 2] = bend


@compiled
def _make_piece(pieces, piece, place, count):  # type: ignore[no-untyped-def]
    """Work out one polynomial from log p and two derivatives at both of its ends."""
    nodes, a = pieces.nodes, pieces.pieces
    for node in (piece, piece + 1):
        if np.isnan(nodes[node, place, 0]):
            _make_node(pieces, node, place, count)
    rise = nodes[piece + 1, place, 0] - nodes[piece, place, 0]
    left, left_bend = nodes[piece, place, 1], nodes[piece, place, 2]
    right, right_bend = nodes[piece + 1, place, 1], nodes[piece + 1, place, 2]
    a[piece, place, 0] = nodes[piece, place, 0]
    a[piece, place, 1] = left
    a[piece, place, 2] = 0.5 * left_bend
    a[piece, place, 3] = 10.0 * rise - 6.0 * left - 4.0 * right - 1.5 * left_bend + 0.5 * right_bend
    a[piece, place, 4] = -15.0 * rise + 8.0 * left + 7.0 * right + 1.5 * left_bend - right_bend
    a[piece, place, 5] = 6.0 * rise - 3.0 * (left + right) - 0.5 * (left_bend - right_bend)


@compiled
def _find_pieces(pieces, means, pattern, piece, along):  # type: ignore[no-untyped-def]
    """For a pattern: the piece of every cluster's mean (-1: outside of all), and where in it."""
    n_pieces = pieces.pieces.shape[0]
    for one in range(means.shape[0]):
        place = (means[one, pattern] - LOWEST) * PER_UNIT
        inside = 0.0 <= place < n_pieces
        piece[one] = int(place) if inside else -1
        along[one] = place - piece[one] if inside else means[one, pattern]


@compiled
def log_probabilities(problem, pieces, means, precision, log_p):  # type: ignore[no-untyped-def]
    """Fill log p (pair, cluster) of every pair in every cluster, given means (cluster, pattern)."""
    _prepare(pieces, precision)
    piece = np.empty(means.shape[0], dtype=np.int64)  # (cluster,)
    along = np.empty(means.shape[0])  # (cluster,)
    a = pieces.pieces
    for pattern in range(problem.pair_start.size - 1):
        _find_pieces(pieces, means, pattern, piece, along)
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            count, place = problem.pair_count[pair], problem.pair_place[pair]
            for one in range(means.shape[0]):
                t = along[one]
                if piece[one] < 0:
                    log_p[pair, one] = poisson_lognormal(count, t, precision)[0]
                    continue
                at = piece[one]
                if np.isnan(a[at, place, 0]):
                    _make_piece(pieces, at, place, count)
                high = a[at, place, 3] + t * (a[at, place, 4] + t * a[at, place, 5])
                low = a[at, place, 0] + t * (a[at, place, 1] + t * a[at, place, 2])
                log_p[pair, one] = low + t * t * t * high


@compiled
def marginal(problem, pieces, means, precision, log_weights, slopes, shares):  # type: ignore[no-untyped-def]
    """Log-likelihood of the whole table, log rates and clusters integrated out.

    Also gives its slope in the log precision, and fills its slopes in the means (cluster, pattern)
    and the expected cells of each cluster (cluster,), which are its slopes in the log weights as
    far as those are free. A lognormal mixture spreads like heat: the slope of p in the variance
    is half its second derivative in the mean.

    Clusters are gone through from the heaviest on, until all that are left cannot add more than a
    part of exp(MISSED) to a pair's probability: no rate makes a count more probable than the count
    itself does as a rate.
    """
    _prepare(pieces, precision)
    n_clusters = means.shape[0]
    slopes[:] = 0.0
    shares[:] = 0.0
    piece = np.empty(n_clusters, dtype=np.int64)  # (cluster,)
    along = np.empty(n_clusters)  # (cluster,)
    height = np.empty(n_clusters)  # (cluster,)
    slope = np.empty(n_clusters)  # (cluster,)
    bend = np.empty(n_clusters)  # (cluster,)
    order = np.argsort(-log_weights)  # (rank,)
    behind = np.empty(n_clusters)  # (rank,) log weight of all clusters from this rank on
    rest = -np.inf
    for rank in range(n_clusters - 1, -1, -1):
        here = log_weights[order[rank]]
        larger = max(here, rest)
        behind[rank] = rest = larger + np.log(np.exp(here - larger) + np.exp(rest - larger))
    total, spread = 0.0, 0.0
    a = pieces.pieces
    for pattern in range(problem.pair_start.size - 1):
        _find_pieces(pieces, means, pattern, piece, along)
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            count, place = problem.pair_count[pair], problem.pair_place[pair]
            enough = MISSED + lgamma(count + 1.0) + count - count * np.log(max(count, 1))
            highest = -np.inf
            n_seen = n_clusters
            for rank in range(n_clusters):
                if behind[rank] < highest + enough:
                    n_seen = rank
                    break
                one = order[rank]
                t = along[one]
                if piece[one] < 0:
                    log_p, slope[one], bend[one] = poisson_lognormal(count, t, precision)
                else:
                    at = piece[one]
                    if np.isnan(a[at, place, 0]):
                        _make_piece(pieces, at, place, count)
                    a1, a2, a3 = a[at, place, 1], a[at, place, 2], a[at, place, 3]
                    a4, a5 = a[at, place, 4], a[at, place, 5]
                    log_p = a[at, place, 0] + t * (a1 + t * (a2 + t * (a3 + t * (a4 + t * a5))))
                    slope[one] = PER_UNIT * (
                        a1 + t * (2.0 * a2 + t * (3.0 * a3 + t * (4.0 * a4 + t * 5.0 * a5)))
                    )
                    bend[one] = PER_UNIT**2 * (
                        2.0 * a2 + t * (6.0 * a3 + t * (12.0 * a4 + t * 20.0 * a5))
                    )
                height[one] = log_weights[one] + log_p
                highest = max(highest, height[one])
            mass = 0.0
            for rank in range(n_seen):
                one = order[rank]
                height[one] = np.exp(height[one] - highest)
                mass += height[one]
            total += problem.pair_size[pair] * (highest + np.log(mass))
            each = problem.pair_size[pair] / mass
            for rank in range(n_seen):
                one = order[rank]
                expected = each * height[one]
                shares[one] += expected
                slopes[one, pattern] += expected * slope[one]
                spread += expected * (bend[one] + slope[one] * slope[one])
    return total, -0.5 * spread / precision


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


@compiled
def _fill_column(problem, pieces, design, effect, precision, offset, column):  # type: ignore[no-untyped-def]
    """Fill p (pair,) of one cluster with these effects, divided by exp(offset)."""
    a = pieces.pieces
    for pattern in range(design.shape[0]):
        mean = 0.0
        for number in range(effect.size):
            mean += design[pattern, number] * effect[number]
        place_of_mean = (mean - LOWEST) * PER_UNIT
        inside = 0.0 <= place_of_mean < a.shape[0]
        at = int(place_of_mean) if inside else 0
        t = place_of_mean - at
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            count, place = problem.pair_count[pair], problem.pair_place[pair]
            if inside:
                if np.isnan(a[at, place, 0]):
                    _make_piece(pieces, at, place, count)
                high = a[at, place, 3] + t * (a[at, place, 4] + t * a[at, place, 5])
                low = a[at, place, 0] + t * (a[at, place, 1] + t * a[at, place, 2])
                log_p = low + t * t * t * high
            else:
                log_p = poisson_lognormal(count, mean, precision)[0]
            column[pair] = np.exp(log_p - offset[pair])


@compiled
def log_prior_of_weights(weights, concentration, by_sticks):  # type: ignore[no-untyped-def]
    """Log density of the weights, as points of the simplex, up to a constant."""
    n_clusters = weights.size
    total = 0.0
    if by_sticks:
        total += (concentration - 1.0) * np.log(weights[n_clusters - 1])
        rest = weights[n_clusters - 1]
        for one in range(n_clusters - 2, 0, -1):
            rest += weights[one]
            total -= np.log(rest)
        return total
    for one in range(n_clusters):
        total += (concentration / n_clusters - 1.0) * np.log(weights[one])
    return total


@compiled
def exchange(generator, problem, pieces, precision, free, centre, root, weights, prior, n_tries):  # type: ignore[no-untyped-def]
    """Let pairs of clusters split and merge, log rates and clusters of cells integrated out.

    Writes over the standardized effects `free` (cluster, effect) and the `weights` (cluster,).
    Effects are centre + root free. A try keeps a pair's weight and its mean effects, and proposes
    how the weight is shared and how far the two lie apart: the share from the cube of a uniform
    number, so that small clusters are often met; the distance by a step that would leave a normal
    distribution of FAR times the prior's width as it is. `prior` is the concentration, and whether
    weights are sticks. Gives how many tries were accepted.
    """
    n_clusters, n_effects = free.shape
    n_pairs = problem.pair_count.size
    _prepare(pieces, precision)
    offset = np.empty(n_pairs)  # (pair,) log p at the best of all means, about
    for pair in range(n_pairs):
        count = problem.pair_count[pair]
        offset[pair] = poisson_lognormal(count, np.log(count + 0.3), precision)[0]
    columns = np.empty((n_clusters, n_pairs))  # (cluster, pair)
    effect = np.empty(n_effects)
    for one in range(n_clusters):
        _effects_of(free[one], centre, root, effect)
        _fill_column(problem, pieces, problem.design, effect, precision, offset, columns[one])
    mass = np.full(n_pairs, SMALLEST)  # (pair,)
    for one in range(n_clusters):
        mass += weights[one] * columns[one]
    new = np.empty((2, n_effects))
    column = np.empty((2, n_pairs))
    accepted = 0
    for _ in range(n_tries):
        first = int(n_clusters ** generator.random()) - 1
        second = int(n_clusters ** generator.random()) - 1
        if first == second:
            continue
        both = weights[first] + weights[second]
        share = weights[second] / both
        new_share = share if generator.random() < 0.5 else generator.random() ** 3
        keep = KEPT[int(generator.random() * len(KEPT))]
        lose = FAR * np.sqrt(1.0 - keep * keep)
        log_ratio = 0.0
        for number in range(n_effects):
            apart = free[second, number] - free[first, number]
            middle = free[first, number] + share * apart
            moved = keep * apart + lose * generator.standard_normal()
            new[0, number] = middle - new_share * moved
            new[1, number] = middle + (1.0 - new_share) * moved
            log_ratio += 0.5 * (moved * moved - apart * apart) / (FAR * FAR)
            log_ratio += 0.5 * (free[first, number] ** 2 + free[second, number] ** 2)
            log_ratio -= 0.5 * (new[0, number] ** 2 + new[1, number] ** 2)
        old = weights[first], weights[second]
        if min(1.0 - new_share, new_share) * both < SMALLEST:
            continue
        log_ratio -= log_prior_of_weights(weights, prior[0], prior[1])
        weights[first], weights[second] = (1.0 - new_share) * both, new_share * both
        log_ratio += log_prior_of_weights(weights, prior[0], prior[1])
        if new_share != share:  # densities of the cubes
            log_ratio += (2.0 / 3.0) * (np.log(new_share) - np.log(share))
        for side in range(2):
            _effects_of(new[side], centre, root, effect)
            _fill_column(problem, pieces, problem.design, effect, precision, offset, column[side])
        for pair in range(n_pairs):
            there = mass[pair] - old[0] * columns[first, pair] - old[1] * columns[second, pair]
            there = max(there, SMALLEST)
            there += weights[first] * column[0, pair] + weights[second] * column[1, pair]
            log_ratio += problem.pair_size[pair] * np.log(there / mass[pair])
        if np.log(1.0 - generator.random()) < log_ratio:
            accepted += 1
            free[first], free[second] = new[0], new[1]
            columns[first], columns[second] = column[0], column[1]
            mass[:] = SMALLEST
            for one in range(n_clusters):
                mass += weights[one] * columns[one]
        else:
            weights[first], weights[second] = old
    return accepted


@compiled
def _effects_of(free, centre, root, effect):  # type: ignore[no-untyped-def]
    """Fill effects: centre + root free."""
    for row in range(centre.size):
        effect[row] = centre[row]
        for column in range(row + 1):
            effect[row] += root[row, column] * free[column]
