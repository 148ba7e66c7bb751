"""Poisson-lognormal counts, log rates integrated out: probabilities, slopes, and their mixture.

A count c with log rate y from Normal(m, 1/precision) has the probability

    p(c | m) = integral of  exp(c y - e^y) / c!  Normal(y; m, 1/precision)  over y.

Its integrand is log-concave and analytic, so the trapezoidal rule, started at the mode and walked
outwards until nothing is left to add, converges exponentially; its step is a part of the width at
the mode, and never more than what the bend of e^y needs. Relative errors are below 1e-10.

The same sum gives mean and variance of y given c, hence two derivatives of log p in m:
precision (E y - m) and precision^2 Var y - precision. A sweep asks for log p of every pair in every
cluster many times, so integrals are kept on a grid of means and log precisions, each made when it
is first needed; between precisions by the polynomial through the eight nearest, between means by
polynomials of degree five that have log p and both derivatives right at their ends. That agrees
with the integral to 1e-9, and costs a fiftieth of it::

    mean            LOWEST  node 0 --- piece 0 --- node 1 --- piece 1 --- node 2 ... HIGHEST
    log precision   tag t, 1/PER_LOG apart; tag t lies in slot t mod SLOTS

A *pair* is a pattern with a count: all its cells are interchangeable. Kernels share these
arguments: `problem` (Problem), `pieces` (Pieces), `means` float64 (cluster, pattern), `precision`
float, `log_weights` float64 (cluster,), `members` int64 (pair, cluster). Others are `index`, the
number of a distinct count; `counts` and `shift` float64 (distinct count,), `table` float32
(distinct count, node, 3), `a` float64 (piece, distinct count, 6), `log_p` and `joint` float64
(pair, cluster). Inner loops are handed single arrays: passing all of `pieces` on takes longer than
the arithmetic.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.areal.gradient_table import (
    ForceTable,
    missing_numbers,
    new_force_table,
    turn,
)
from understudy.synthesis.areal.problem import Problem

__all__ = [
    "Pieces",
    "joint_probabilities",
    "log_probabilities",
    "marginal",
    "modes",
    "new_pieces",
    "poisson_lognormal",
    "turn_forces",
]

LOWEST, HIGHEST, PER_UNIT = -12.0, 6.0, 10  # means with pieces, at least; pieces per unit
PER_LOG = 16  # precisions with integrals, per unit of their logarithm
NEAR = 8  # of them that a precision between them is interpolated from
SLOTS = 24  # of them that are remembered
STEP, LARGEST_STEP = 0.55, 0.28  # of the trapezoidal rule: widths at the mode, and units of y
NOTHING = -36.0  # logarithm of what is not worth adding
MISSED = -20.0  # logarithm of the part of a probability that clusters left out may add


class Pieces(NamedTuple):
    """Log p as a function of mean and precision, as far as it was asked for; NaN: not yet.

    A memory of integrals and nothing else: what is in it never changes a result.
    """

    tags: NDArray[np.int64]  # (slot,) number of the precision whose integrals lie there
    integrals: NDArray[np.float64]  # (node, distinct count, slot, 3) log p and two derivatives
    precision: NDArray[np.float64]  # (1,) the present one
    slots: NDArray[np.int64]  # (near,) precisions around it
    shares: NDArray[np.float64]  # (near,) and their weights
    nodes: NDArray[np.float64]  # (node, distinct count, 3) the same at the present precision
    pieces: NDArray[np.float64]  # (piece, distinct count, 6) coefficients of polynomials
    forces: ForceTable  # what trajectories are steered by
    shift: NDArray[np.float64]  # (distinct count,) added to means before anything is integrated


def new_pieces(problem: Problem) -> Pieces:
    """Make an empty grid for a problem's distinct counts."""
    n_counts = problem.distinct.size
    most = float((problem.distinct * np.exp(-problem.shift)).max())  # records of a cell
    highest = max(HIGHEST, float(np.ceil(np.log(most + 1.0) + 2.0)))
    n_pieces = int((highest - LOWEST) * PER_UNIT)
    return Pieces(
        tags=np.full(SLOTS, np.iinfo(np.int64).min),
        integrals=np.full((n_pieces + 1, n_counts, SLOTS, 3), np.nan),
        precision=np.full(1, np.nan),
        slots=np.zeros(NEAR, dtype=np.int64),
        shares=np.zeros(NEAR),
        nodes=np.full((n_pieces + 1, n_counts, 3), np.nan),
        pieces=np.full((n_pieces, n_counts, 6), np.nan),
        forces=new_force_table(n_counts, LOWEST, highest),
        shift=problem.shift,
    )


@compiled
def _mode(count, mean, precision):  # type: ignore[no-untyped-def]
    """Find the y with the largest c y - e^y - precision/2 (y - m)^2 from the right, by Newton."""
    y = min(mean + count / precision, np.log(1.0 + count + precision * max(mean, 0.0)))
    for _ in range(200):
        rate = np.exp(y)
        change = (count - rate - precision * (y - mean)) / (rate + precision)
        y += change
        if abs(change) < 1e-9:
            break
    return y


@compiled
def modes(problem, members, means, precision):  # type: ignore[no-untyped-def]
    """Give the most probable log rate (pair, cluster) of pairs with members in a cluster.

    The pair's shift is added to it.
    """
    log_rate = np.full(members.shape, np.nan)
    for pattern in range(problem.pair_start.size - 1):
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            for cluster in range(means.shape[0]):
                if members[pair, cluster] > 0:
                    mean = means[cluster, pattern] + problem.shift[problem.pair_index[pair]]
                    log_rate[pair, cluster] = _mode(problem.pair_count[pair], mean, precision)
    return log_rate


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
def _fill_forces(counts, shift, means, precision, table):  # type: ignore[no-untyped-def]
    """Fill log p and two derivatives (distinct count, node, 3) of a precision."""
    for index in range(counts.size):
        for node in range(means.size):
            mean = means[node] + shift[index]
            log_p, slope, bend = poisson_lognormal(counts[index], mean, precision)
            table[index, node, 0] = log_p
            table[index, node, 1] = slope
            table[index, node, 2] = bend


def turn_forces(problem: Problem, pieces: Pieces, log_precision: float) -> None:
    """Turn the coarse table to a precision, integrating first where it was never near."""
    forces = pieces.forces
    for slot, number, precision in missing_numbers(forces, log_precision):
        _fill_forces(problem.distinct, problem.shift, forces.means, precision, forces.tables[slot])
        forces.numbers[slot] = number
    turn(forces, log_precision)


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
def _make_node(pieces, node, index, count):  # type: ignore[no-untyped-def]
    """Interpolate log p and two derivatives at a node between precisions, integrating first."""
    integrals, slots, shares = pieces.integrals, pieces.slots, pieces.shares
    log_p, slope, bend = 0.0, 0.0, 0.0
    for near in range(NEAR):
        slot, share = slots[near], shares[near]
        if np.isnan(integrals[node, index, slot, 0]):
            mean, precision = LOWEST + node / PER_UNIT, np.exp(pieces.tags[slot] / PER_LOG)
            mean += pieces.shift[index]
            at_node = poisson_lognormal(count, mean, precision)
            integrals[node, index, slot, 0] = at_node[0]
            integrals[node, index, slot, 1] = at_node[1] / PER_UNIT
            integrals[node, index, slot, 2] = at_node[2] / PER_UNIT**2
        log_p += share * integrals[node, index, slot, 0]
        slope += share * integrals[node, index, slot, 1]
        bend += share * integrals[node, index, slot, 2]
    pieces.nodes[node, index, 0] = log_p
    pieces.nodes[node, index, 1] = slope
    pieces.nodes[node, index, 2] = bend


@compiled
def _make_piece(pieces, piece, index, count):  # type: ignore[no-untyped-def]
    """Work out one polynomial from log p and two derivatives at both of its ends."""
    for node in (piece, piece + 1):
        if np.isnan(pieces.nodes[node, index, 0]):
            _make_node(pieces, node, index, count)
    nodes = pieces.nodes
    rise = nodes[piece + 1, index, 0] - nodes[piece, index, 0]
    left, left_bend = nodes[piece, index, 1], nodes[piece, index, 2]
    right, right_bend = nodes[piece + 1, index, 1], nodes[piece + 1, index, 2]
    a = pieces.pieces[piece, index]  # (6,)
    a[0], a[1], a[2] = nodes[piece, index, 0], left, 0.5 * left_bend
    a[3] = 10.0 * rise - 6.0 * left - 4.0 * right - 1.5 * left_bend + 0.5 * right_bend
    a[4] = -15.0 * rise + 8.0 * left + 7.0 * right + 1.5 * left_bend - right_bend
    a[5] = 6.0 * rise - 3.0 * (left + right) - 0.5 * (left_bend - right_bend)


@compiled
def _locate(pieces, mean):  # type: ignore[no-untyped-def]
    """Find the piece of a mean and how far along it the mean lies; -1 and the mean if in none."""
    along = (mean - LOWEST) * PER_UNIT
    if 0.0 <= along < pieces.pieces.shape[0]:
        piece = int(along)
        return piece, along - piece
    return -1, mean


@compiled
def _locate_all(pieces, means, pattern, piece, along):  # type: ignore[no-untyped-def]
    """Fill piece and along (cluster,) of the means of one pattern in every cluster."""
    for cluster in range(means.shape[0]):
        piece[cluster], along[cluster] = _locate(pieces, means[cluster, pattern])


@compiled
def _log_p(a, piece, t, index):  # type: ignore[no-untyped-def]
    """Log p of a count at a mean that lies in a piece that is made."""
    high = a[piece, index, 3] + t * (a[piece, index, 4] + t * a[piece, index, 5])
    low = a[piece, index, 0] + t * (a[piece, index, 1] + t * a[piece, index, 2])
    return low + t * t * t * high


@compiled
def _log_p_and_slopes(a, piece, t, index):  # type: ignore[no-untyped-def]
    """Give log p of a count at a mean in a piece that is made, and two derivatives in the mean."""
    a1, a2, a3 = a[piece, index, 1], a[piece, index, 2], a[piece, index, 3]
    a4, a5 = a[piece, index, 4], a[piece, index, 5]
    log_p = a[piece, index, 0] + t * (a1 + t * (a2 + t * (a3 + t * (a4 + t * a5))))
    slope = PER_UNIT * (a1 + t * (2.0 * a2 + t * (3.0 * a3 + t * (4.0 * a4 + t * 5.0 * a5))))
    bend = PER_UNIT**2 * (2.0 * a2 + t * (6.0 * a3 + t * (12.0 * a4 + t * 20.0 * a5)))
    return log_p, slope, bend


@compiled
def _integrated(pieces, mean, count, index, precision):  # type: ignore[no-untyped-def]
    """Give the same at a mean beyond all pieces."""
    return poisson_lognormal(count, mean + pieces.shift[index], precision)


@compiled
def log_probabilities(problem, pieces, means, precision, log_p):  # type: ignore[no-untyped-def]
    """Fill log p (pair, cluster) of every pair's count in every cluster."""
    _prepare(pieces, precision)
    piece = np.empty(means.shape[0], dtype=np.int64)  # (cluster,)
    along = np.empty(means.shape[0])  # (cluster,)
    made = pieces.pieces
    for pattern in range(problem.pair_start.size - 1):
        _locate_all(pieces, means, pattern, piece, along)
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            count, index = problem.pair_count[pair], problem.pair_index[pair]
            for cluster in range(means.shape[0]):
                here, t = piece[cluster], along[cluster]
                if here < 0:
                    log_p[pair, cluster] = _integrated(pieces, t, count, index, precision)[0]
                    continue
                if np.isnan(made[here, index, 0]):
                    _make_piece(pieces, here, index, count)
                log_p[pair, cluster] = _log_p(made, here, t, index)


@compiled
def _by_weight(log_weights):  # type: ignore[no-untyped-def]
    """Give clusters from the heaviest on (rank,), and the log weight from each rank on (rank,)."""
    order = np.argsort(-log_weights)
    behind = np.empty(order.size)
    rest = -np.inf
    for rank in range(order.size - 1, -1, -1):
        here = log_weights[order[rank]]
        larger = max(here, rest)
        behind[rank] = rest = larger + np.log(np.exp(here - larger) + np.exp(rest - larger))
    return order, behind


@compiled
def _enough(count):  # type: ignore[no-untyped-def]
    """Log weight of clusters that cannot matter, over the highest log weight plus log p so far."""
    return MISSED + lgamma(count + 1.0) + count - count * np.log(max(count, 1))


@compiled
def _highest_log_p(table, piece, index, precision):  # type: ignore[no-untyped-def]
    """Give what log p in a piece cannot exceed, by the coarse table, which spans two pieces.

    Log p is concave in the mean and bends by at most the precision, so that between two nodes it
    rises above the higher one by no more than an eighth of precision times distance squared; the
    rest allows for the table's errors.
    """
    if piece < 0:
        return np.inf
    node = piece // 2
    return max(table[index, node, 0], table[index, node + 1, 0]) + 0.1 + 0.01 * precision


@compiled
def _joint_probabilities(problem, pieces, means, precision, log_weights, joint):  # type: ignore[no-untyped-def]
    """Fill log weight plus log p (pair, cluster); minus infinity where it is worth nothing."""
    _prepare(pieces, precision)
    n_clusters = means.shape[0]
    piece = np.empty(n_clusters, dtype=np.int64)  # (cluster,)
    along = np.empty(n_clusters)  # (cluster,)
    order, behind = _by_weight(log_weights)
    single = MISSED - np.log(n_clusters)
    made, table = pieces.pieces, pieces.forces.table
    joint[:] = -np.inf
    for pattern in range(problem.pair_start.size - 1):
        _locate_all(pieces, means, pattern, piece, along)
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            count, index = problem.pair_count[pair], problem.pair_index[pair]
            enough = _enough(count)
            highest = -np.inf
            for rank in range(n_clusters):
                if behind[rank] < highest + enough:
                    break
                cluster = order[rank]
                here, t = piece[cluster], along[cluster]
                most = log_weights[cluster] + _highest_log_p(table, here, index, precision)
                if most < highest + single:
                    continue
                if here < 0:
                    log_p = _integrated(pieces, t, count, index, precision)[0]
                else:
                    if np.isnan(made[here, index, 0]):
                        _make_piece(pieces, here, index, count)
                    log_p = _log_p(made, here, t, index)
                joint[pair, cluster] = log_weights[cluster] + log_p
                highest = max(highest, joint[pair, cluster])


def joint_probabilities(
    problem: Problem,
    pieces: Pieces,
    means: NDArray[np.float64],
    precision: float,
    log_weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Log weight plus log p (pair, cluster); minus infinity where it is worth nothing.

    Clusters are passed over as in `marginal`.
    """
    turn_forces(problem, pieces, float(np.log(precision)))
    joint = np.empty((problem.pair_size.size, means.shape[0]))  # (pair, cluster)
    _joint_probabilities(problem, pieces, means, precision, log_weights, joint)
    return joint


@compiled
def _marginal(problem, pieces, means, precision, log_weights, slopes, shares):  # type: ignore[no-untyped-def]
    """Fill slopes and shares; give log-likelihood and slope in log precision; see `marginal`."""
    _prepare(pieces, precision)
    n_clusters = means.shape[0]
    slopes[:] = 0.0
    shares[:] = 0.0
    piece = np.empty(n_clusters, dtype=np.int64)  # (cluster,)
    along = np.empty(n_clusters)  # (cluster,)
    seen = np.empty(n_clusters, dtype=np.int64)  # (seen,) clusters
    height, slope, bend = np.empty((3, n_clusters))  # (seen,) each
    order, behind = _by_weight(log_weights)
    single = MISSED - np.log(n_clusters)
    made, table = pieces.pieces, pieces.forces.table
    total, spread = 0.0, 0.0
    for pattern in range(problem.pair_start.size - 1):
        _locate_all(pieces, means, pattern, piece, along)
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            # 1. log of weight times probability, and slopes, of the clusters that matter
            count, index = problem.pair_count[pair], problem.pair_index[pair]
            enough = _enough(count)
            highest, n_seen = -np.inf, 0
            for rank in range(n_clusters):
                if behind[rank] < highest + enough:
                    break
                cluster = order[rank]
                here, t = piece[cluster], along[cluster]
                most = log_weights[cluster] + _highest_log_p(table, here, index, precision)
                if most < highest + single:
                    continue
                if here < 0:
                    pieced = _integrated(pieces, t, count, index, precision)
                else:
                    if np.isnan(made[here, index, 0]):
                        _make_piece(pieces, here, index, count)
                    pieced = _log_p_and_slopes(made, here, t, index)
                log_p, slope[n_seen], bend[n_seen] = pieced
                height[n_seen] = log_weights[cluster] + log_p
                highest = max(highest, height[n_seen])
                seen[n_seen] = cluster
                n_seen += 1
            # 2. the pair's probability is their sum
            mass = 0.0
            for number in range(n_seen):
                height[number] = np.exp(height[number] - highest)
                mass += height[number]
            total += problem.pair_size[pair] * (highest + np.log(mass))
            # 3. every cluster has its share of the pair's cells, and of the slopes
            scale = problem.pair_size[pair] / mass
            for number in range(n_seen):
                expected = scale * height[number]
                shares[seen[number]] += expected
                slopes[seen[number], pattern] += expected * slope[number]
                spread += expected * (bend[number] + slope[number] * slope[number])
    return total, -0.5 * spread / precision


def marginal(
    problem: Problem,
    pieces: Pieces,
    means: NDArray[np.float64],
    precision: float,
    log_weights: NDArray[np.float64],
    slopes: NDArray[np.float64],
    shares: NDArray[np.float64],
) -> tuple[float, float]:
    """Log-likelihood of the whole table, log rates and clusters integrated out.

    Also gives its slope in the log precision, and fills its slopes in the means (cluster, pattern)
    and the expected cells of each cluster (cluster,), which are its slopes in the log weights as
    far as those are free. A lognormal mixture spreads like heat: the slope of p in the variance
    is half its second derivative in the mean.

    Clusters are gone through from the heaviest on, until all that are left cannot add more than a
    part of exp(MISSED) to a pair's probability: no rate makes a count more probable than the count
    itself does as a rate. Single ones are passed over where the coarse table says as much.
    """
    turn_forces(problem, pieces, float(np.log(precision)))
    value_and_slope: tuple[float, float] = _marginal(
        problem, pieces, means, precision, log_weights, slopes, shares
    )
    return value_and_slope
