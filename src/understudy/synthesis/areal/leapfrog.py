"""Leapfrog steps of the free numbers, pushed by slopes from a coarse table.

The push is the slope of the log density but for three savings, none of which touches exactness
(`gradient_table` says why): probabilities come from the coarse table; clusters that together could
take less than LEFT_OUT of a cell of the table are passed over; means outside the grid follow the
parabola at its end. `hamiltonian` has the layout of the free numbers, and accepts or rejects the
end of a trajectory by the exact density.

Kernels share these arguments: `frame` (hamiltonian.Frame), `free` float64 (free number,), `slopes`
float64 (free number,). Further ones: `problem` (Problem), `forces` (ForceTable), `effects` and
`on_effects` float64 (cluster, effect), `log_weights` and `shares` float64 (cluster,), `design`
float64 (pattern, effect), `entries` (what `_entries_of` gives), `table` float32 (distinct count,
node, 3) and `means` float64 (node,) of the forces, `basis` float64 (rank, 6), `order` int64 and
`pull` float64 (rank,), of which the first `n_located` are filled, `index` of a distinct count,
`total` float, the log prior so far. Inner loops are handed single arrays:
passing a tuple of arrays on takes longer than the arithmetic.
"""

from __future__ import annotations

import numpy as np

from understudy.compiling import compiled

__all__ = ["FARTHEST", "fill_effects_and_weights", "follow", "gather"]

FARTHEST = 500.0  # effects beyond are rejected, as are free numbers above
LEFT_OUT = 0.3  # cells of the table that all clusters passed over could have
MOST_LEFT_OUT = 1e-4  # and part of a cell


@compiled
def fill_effects_and_weights(frame, free, effects, log_weights):  # type: ignore[no-untyped-def]
    """Fill effects (cluster, effect) and log weights (cluster,) from free numbers."""
    n_clusters, n_effects = effects.shape
    at = frame.layout
    centre = free[at.centre : at.scales]  # (effect,)
    scales = np.exp(free[at.scales : at.intercept])  # (slope,)
    width = np.exp(-0.5 * free[at.intercept])
    for cluster in range(n_clusters):
        first = cluster * n_effects
        effects[cluster, 0] = centre[0] + free[first] * width
        for row in range(n_effects - 1):
            along = 0.0
            for inner in range(row + 1):
                along += frame.factor[row, inner] * free[first + 1 + inner]
            effects[cluster, row + 1] = centre[row + 1] + scales[row] * along
    rest = free[at.weights :]  # (cluster,)
    if frame.by_sticks:
        log_rest = 0.0
        for cluster in range(n_clusters - 1):
            taken = np.exp(rest[cluster] - rest[-1])  # -log(1 - V)
            log_weights[cluster] = log_rest + np.log(max(-np.expm1(-taken), 1e-300))
            log_rest -= taken
        log_weights[n_clusters - 1] = log_rest
    else:
        highest = rest.max()
        log_weights[:] = rest - highest - np.log(np.exp(rest - highest).sum())


@compiled
def gather(frame, free, on_effects, shares, on_log_precision, slopes):  # type: ignore[no-untyped-def]
    """Give the log prior of the free numbers, and fill the slopes (free number,) of everything.

    `on_effects` (cluster, effect), `shares` (cluster,) and `on_log_precision` are the slopes of the
    log-likelihood in effects, log weights and log rate precision. Each part adds to the log prior
    and to the slopes that it bears on.
    """
    slopes[frame.layout.centre :] = 0.0
    slopes[frame.layout.rate] = on_log_precision
    total = _gather_effects(frame, free, on_effects, slopes)
    total = _gather_centre_and_scales(frame, free, slopes, total)
    if frame.by_sticks:
        return _gather_sticks(frame, free, shares, slopes, total)
    return _gather_gammas(frame, free, shares, slopes, total)


@compiled
def _gather_effects(frame, free, on_effects, slopes):  # type: ignore[no-untyped-def]
    """Standardized effects: normal; the likelihood pulls at them, at the centre and the scales.

    effect_0 = centre_0 + width u_0; effect_r = centre_r + scale_r sum_i factor_ri u_i.
    """
    n_clusters, n_effects = on_effects.shape
    at = frame.layout
    width = np.exp(-0.5 * free[at.intercept])
    scales = np.exp(free[at.scales : at.intercept])  # (slope,)
    total = 0.0
    for cluster in range(n_clusters):
        first = cluster * n_effects
        slopes[first] = on_effects[cluster, 0] * width - free[first]
        slopes[at.centre] += on_effects[cluster, 0]
        slopes[at.intercept] -= 0.5 * on_effects[cluster, 0] * free[first] * width
        total -= 0.5 * free[first] * free[first]
        for row in range(n_effects - 1):
            slopes[first + 1 + row] = -free[first + 1 + row]
            total -= 0.5 * free[first + 1 + row] * free[first + 1 + row]
        for row in range(n_effects - 1):
            pull = on_effects[cluster, row + 1]
            slopes[at.centre + 1 + row] += pull
            pull *= scales[row]
            along = 0.0
            for inner in range(row + 1):
                along += frame.factor[row, inner] * free[first + 1 + inner]
                slopes[first + 1 + inner] += frame.factor[row, inner] * pull
            slopes[at.scales + row] += pull * along
    return total


@compiled
def _gather_centre_and_scales(frame, free, slopes, total):  # type: ignore[no-untyped-def]
    """Centre: normal; scales: half-t; both precisions: gamma. All but the first as logarithms."""
    at = frame.layout
    for effect in range(at.scales - at.centre):
        weight, value = frame.centre_precision[effect], free[at.centre + effect]
        total -= 0.5 * weight * value * value
        slopes[at.centre + effect] -= weight * value
    degrees = frame.scale_degrees
    for row in range(at.intercept - at.scales):
        value = free[at.scales + row]
        square = (np.exp(value) / frame.scale) ** 2 / degrees
        total += value - 0.5 * (degrees + 1.0) * np.log1p(square)
        slopes[at.scales + row] += 1.0 - (degrees + 1.0) * square / (1.0 + square)
    for index in (at.intercept, at.rate):
        shape, rate = frame.intercept_precision
        if index == at.rate:
            shape, rate = frame.log_rate_precision
        value = free[index]
        total += shape * value - rate * np.exp(value)
        slopes[index] += shape - rate * np.exp(value)
    return total


@compiled
def _gather_sticks(frame, free, shares, slopes, total):  # type: ignore[no-untyped-def]
    """Sticks: exp(e) exponential; concentration: gamma. A stick bears on all clusters behind it."""
    first, last = frame.layout.weights, frame.layout.end - 1
    behind = shares[frame.n_clusters - 1]
    for cluster in range(frame.n_clusters - 2, -1, -1):
        value = free[first + cluster]
        taken = np.exp(value - free[last])
        pull = -behind * taken
        if taken < 1e-8:
            pull += shares[cluster]
        else:
            pull += shares[cluster] * taken / np.expm1(taken)
        slopes[first + cluster] = pull + 1.0 - np.exp(value)
        slopes[last] -= pull
        total += value - np.exp(value)
        behind += shares[cluster]
    shape, rate = frame.concentration
    slopes[last] += shape - rate * np.exp(free[last])
    return total + (shape * free[last] - rate * np.exp(free[last]))


@compiled
def _gather_gammas(frame, free, shares, slopes, total):  # type: ignore[no-untyped-def]
    """Weights from a Dirichlet distribution: gamma variables, as logarithms."""
    first = frame.layout.weights
    n_cells = shares.sum()
    largest = free[first:].max()
    weights = np.exp(free[first:] - largest)  # (cluster,)
    weights /= weights.sum()
    for cluster in range(frame.n_clusters):
        value = free[first + cluster]
        pull = shares[cluster] - n_cells * weights[cluster]
        slopes[first + cluster] = pull + frame.share - np.exp(value)
        total += frame.share * value - np.exp(value)
    return total


@compiled
def _by_weight(log_weights):  # type: ignore[no-untyped-def]
    """Give clusters from the heaviest on (rank,), and the log weight from each rank on (rank,)."""
    order = np.argsort(-log_weights)
    behind = np.empty(order.size)
    rest = 0.0
    for rank in range(order.size - 1, -1, -1):
        rest += np.exp(log_weights[order[rank]])
        behind[rank] = np.log(max(rest, 1e-300))
    return order, behind


@compiled
def _entries_of(design):  # type: ignore[no-untyped-def]
    """List the effects that bear on each pattern: (pattern + 1,) first ones, (entry,) effects."""
    start = np.zeros(design.shape[0] + 1, dtype=np.int64)
    effects = np.empty(design.size, dtype=np.int64)
    n_entries = 0
    for pattern in range(design.shape[0]):
        for effect in range(design.shape[1]):
            if design[pattern, effect] != 0.0:
                effects[n_entries] = effect
                n_entries += 1
        start[pattern + 1] = n_entries
    return start, effects[:n_entries]


@compiled
def _locate(means, mean, basis, rank):  # type: ignore[no-untyped-def]
    """Find the node to the left of a mean; fills the cubic polynomials there, and what is beyond.

    `basis` (rank, 6): weights of values and slopes at both nodes, the distance to the second bend,
    and how far beyond the grid the mean lies.
    """
    per_unit = 1.0 / (means[1] - means[0])
    last = means.size - 1
    inside = min(max(mean, means[0]), means[last])
    along = (inside - means[0]) * per_unit
    node = min(int(along), last - 1)
    t = along - node
    basis[rank, 0] = (1.0 + 2.0 * t) * (1.0 - t) * (1.0 - t)
    basis[rank, 1] = t * (1.0 - t) * (1.0 - t) / per_unit
    basis[rank, 2] = t * t * (3.0 - 2.0 * t)
    basis[rank, 3] = t * t * (t - 1.0) / per_unit
    basis[rank, 4] = t
    basis[rank, 5] = mean - inside
    return node


@compiled
def _mean_of(design, entries, effects, cluster, pattern):  # type: ignore[no-untyped-def]
    """Give the mean of a pattern in a cluster."""
    start, of_entry = entries
    mean = 0.0
    for entry in range(start[pattern], start[pattern + 1]):
        effect = of_entry[entry]
        mean += design[pattern, effect] * effects[cluster, effect]
    return mean


@compiled
def _look_up(table, index, node, basis, rank):  # type: ignore[no-untyped-def]
    """Log p, slope and bend between two nodes, by the basis of a mean."""
    left, left_slope, left_bend = (
        table[index, node, 0],
        table[index, node, 1],
        table[index, node, 2],
    )
    right, right_slope = table[index, node + 1, 0], table[index, node + 1, 1]
    right_bend = table[index, node + 1, 2]
    b0, b1, b2, b3 = basis[rank, 0], basis[rank, 1], basis[rank, 2], basis[rank, 3]
    beyond = basis[rank, 5]
    log_p = b0 * left + b1 * left_slope + b2 * right + b3 * right_slope
    slope = b0 * left_slope + b1 * left_bend + b2 * right_slope + b3 * right_bend
    bend = left_bend + basis[rank, 4] * (right_bend - left_bend)
    return log_p + beyond * (slope + 0.5 * beyond * bend), slope + beyond * bend, bend


@compiled
def _push_likelihood(problem, forces, entries, effects, log_weights, on_effects, shares):  # type: ignore[no-untyped-def]
    """Fill slopes of the log-likelihood in effects (cluster, effect) and log weights (cluster,).

    Gives the sum over cells that the slope in the log precision is made of.
    """
    n_clusters = log_weights.size
    on_effects[:] = 0.0
    shares[:] = 0.0
    order, behind = _by_weight(log_weights)
    least = np.log(min(LEFT_OUT / problem.pair_of_cell.size, MOST_LEFT_OUT))
    node = np.empty(n_clusters, dtype=np.int64)  # (rank,)
    basis = np.empty((n_clusters, 6))  # (rank, 6)
    seen = np.empty(n_clusters, dtype=np.int64)  # (seen,) ranks
    height, slope, bend = np.empty((3, n_clusters))  # (seen,) each
    pull = np.empty(n_clusters)  # (rank,) of the pattern
    spread = 0.0
    design, table, means, best = problem.design, forces.table, forces.means, forces.best
    pair_index, pair_size = problem.pair_index, problem.pair_size
    for pattern in range(problem.pair_start.size - 1):
        n_located = 0
        for pair in range(problem.pair_start[pattern], problem.pair_start[pattern + 1]):
            # 1. log of weight times probability, and slopes, of the clusters that matter
            index = pair_index[pair]
            highest, n_seen = -np.inf, 0
            for rank in range(n_clusters):
                if behind[rank] + best[index] < highest + least:
                    break
                if rank == n_located:
                    mean = _mean_of(design, entries, effects, order[rank], pattern)
                    node[rank] = _locate(means, mean, basis, rank)
                    pull[rank] = 0.0
                    n_located += 1
                log_weight = log_weights[order[rank]]
                here = node[rank]
                if log_weight + max(table[index, here, 0], table[index, here + 1, 0]) < (
                    highest + least
                ):
                    continue
                log_p, slope[n_seen], bend[n_seen] = _look_up(table, index, here, basis, rank)
                height[n_seen] = log_weight + log_p
                highest = max(highest, height[n_seen])
                seen[n_seen] = rank
                n_seen += 1
            # 2. their shares of the pair's cells, and of the slopes
            mass = 0.0
            for number in range(n_seen):
                height[number] = np.exp(height[number] - highest)
                mass += height[number]
            scale = pair_size[pair] / mass
            for number in range(n_seen):
                expected = scale * height[number]
                shares[order[seen[number]]] += expected
                pull[seen[number]] += expected * slope[number]
                spread += expected * (bend[number] + slope[number] * slope[number])
        _spread_pull(design, entries, pattern, order, pull, n_located, on_effects)
    return spread


@compiled
def _spread_pull(design, entries, pattern, order, pull, n_located, on_effects):  # type: ignore[no-untyped-def]
    """Add the slopes in a pattern's means (rank,) to those in the effects (cluster, effect)."""
    start, of_entry = entries
    for rank in range(n_located):
        for entry in range(start[pattern], start[pattern + 1]):
            effect = of_entry[entry]
            on_effects[order[rank], effect] += design[pattern, effect] * pull[rank]


@compiled
def follow(problem, forces, frame, step, n_steps, done, free, momentum):  # type: ignore[no-untyped-def]
    """Make leapfrog steps until all are done, or the table is of another precision.

    Writes over `free` and `momentum` (free number,). `done` counts pushes: one before the first
    step, one after each. Gives how many are done; `n_steps` + 1 is the end, -1 a trajectory that
    left for good.
    """
    at = frame.layout
    n_effects = frame.centre_precision.size
    effects, on_effects = np.empty((2, frame.n_clusters, n_effects))  # (cluster, effect) each
    log_weights, shares = np.empty((2, frame.n_clusters))  # (cluster,) each
    slopes = np.zeros(free.size)
    entries = _entries_of(problem.design)
    while done <= n_steps:
        if free[at.rate] != forces.log_precision[0]:
            return done
        if not free[at.scales :].max() < FARTHEST:
            return -1
        fill_effects_and_weights(frame, free, effects, log_weights)
        if not np.abs(effects).max() < FARTHEST:
            return -1
        spread = _push_likelihood(
            problem, forces, entries, effects, log_weights, on_effects, shares
        )
        on_log_precision = -0.5 * spread * np.exp(-free[at.rate])
        gather(frame, free, on_effects, shares, on_log_precision, slopes)
        half = 0.5 if done in (0, n_steps) else 1.0
        for number in range(free.size):
            momentum[number] += half * step[number] * slopes[number]
        if done < n_steps:
            for number in range(free.size):
                free[number] += step[number] * momentum[number]
        done += 1
    return done
