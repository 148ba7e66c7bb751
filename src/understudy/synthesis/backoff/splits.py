"""What a split of a group of records gains, by the marginal likelihood of its parts' labels.

A kept variable splits the records of a node into parts. Each part's label counts n are predicted
from the other parts and from the node's prior: rest = (counts of the other parts) + (prior counts),
R its sum. If all parts have the same distribution, n is Dirichlet-multinomial with `rest`. If the
parts' distributions vary around the node's with concentration c, it is so, to good approximation,
with rest c / (c + R): two sources of variation in place of one. The gain at c is the sum over parts
of the log ratio of both probabilities, times (K - 1) / K because K parts that predict each other
make K - 1 comparisons; it is averaged over a grid of c. Parts that differ by chance alone gain
nothing on average.

A variable's levels may be put together. They are sorted along the first axis of a correspondence
analysis of levels by labels, neighbours are merged whose union is the most probable, and the
logarithm of the number of ways to put so many levels into so many groups is taken from the gain, as
is that of the number of levels, since there may be as many groups.

Kernels share these arguments: `table` int64 (level, label), `q` float64 (label,) with sum 1 and `c`
float, the Dirichlet prior's mean and concentration; `codes` int32 (row,), `rows` int64 (row of the
node,), `rank` int64 (label,), `weight` float, and the ints `n_levels`, `n_groups` and `size`, the
number of values.
"""

from __future__ import annotations

from math import lgamma

import numpy as np

from understudy.compiling import compiled

__all__ = ["GRID", "gain_of_split", "grouped_levels", "log_average", "log_groupings"]

GRID = 4.0 ** np.arange(1, 10)  # concentrations
AXIS_STEPS = 12
MOST_CELLS = 4_000_000  # of a table of levels by labels; levels of a larger one stay apart


@compiled
def log_groupings(n_levels, n_groups):  # type: ignore[no-untyped-def]
    """Bound the logarithm of the number of ways to put levels into groups; exact for 1 and all."""
    if n_groups in (1, n_levels):
        return 0.0
    left = n_levels - n_groups
    log_choices = lgamma(n_levels + 1.0) - lgamma(n_groups + 1.0) - lgamma(left + 1.0)
    return min(
        n_levels * np.log(n_groups) - lgamma(n_groups + 1.0),
        log_choices + left * np.log(n_groups),
    )


@compiled
def gains_on_grid(table, prior, weight, gains):  # type: ignore[no-untyped-def]
    """Gains (grid point,) of parts with counts (part, label), given prior counts (label,).

    `weight` is the sum of the node's prior counts over all labels, also those that do not occur.
    """
    n_parts, n_labels = table.shape
    whole = np.zeros(n_labels)  # (label,)
    sizes = np.zeros(n_parts)  # (part,)
    n_records = 0.0
    for part in range(n_parts):
        for label in range(n_labels):
            whole[label] += table[part, label]
            sizes[part] += table[part, label]
        n_records += sizes[part]
    gains[:] = 0.0
    shrunk = np.empty(GRID.size)  # (grid point,) c / (c + R)
    for part in range(n_parts):
        size = sizes[part]
        total = n_records - size + weight
        for point in range(GRID.size):
            shrunk[point] = GRID[point] / (GRID[point] + total)
            scaled = shrunk[point] * total
            gains[point] += lgamma(scaled) - lgamma(scaled + size)
            gains[point] -= lgamma(total) - lgamma(total + size)
        for label in range(n_labels):
            n = table[part, label]
            if n == 0:
                continue
            rest = whole[label] - n + prior[label]
            same = 0.0 if n == 1 else lgamma(rest + n) - lgamma(rest)
            for point in range(GRID.size):
                if n == 1:
                    gains[point] += np.log(shrunk[point])
                else:
                    mass = rest * shrunk[point]
                    gains[point] += lgamma(mass + n) - lgamma(mass) - same
    gains *= (n_parts - 1.0) / n_parts


@compiled
def log_average(gains):  # type: ignore[no-untyped-def]
    """Logarithm of the average over the grid."""
    most = gains[0]
    for gain in gains:
        most = max(most, gain)
    total = 0.0
    for gain in gains:
        total += np.exp(gain - most)
    return most + np.log(total / gains.size)


@compiled
def _log_probability(rows, first, second, q, c):  # type: ignore[no-untyped-def]
    """Log probability of the counts of two groups together: Dirichlet-multinomial around q.

    `rows` is (group, label); for one group alone `second` is -1.
    """
    result, total = 0.0, 0
    for label in range(q.size):
        n = rows[first, label]
        if second >= 0:
            n += rows[second, label]
        if n > 0:
            total += n
            mass = c * q[label]
            result += np.log(mass) if n == 1 else lgamma(mass + n) - lgamma(mass)
    return result + lgamma(c) - lgamma(c + total)


@compiled
def _residuals(table, q):  # type: ignore[no-untyped-def]
    """Standardized residuals (level, label), the level with the largest, and sizes (level,)."""
    n_levels, n_labels = table.shape
    residuals = np.empty(table.shape)  # (level, label)
    sizes = np.zeros(n_levels)  # (level,)
    most, farthest = -1.0, 0
    for level in range(n_levels):
        for label in range(n_labels):
            sizes[level] += table[level, label]
        apart = 0.0
        for label in range(n_labels):
            expected = sizes[level] * q[label]
            residuals[level, label] = (table[level, label] - expected) / np.sqrt(expected)
            apart += residuals[level, label] ** 2
        if apart > most:
            most, farthest = apart, level
    return residuals, farthest, sizes


@compiled
def _first_axis(table, q):  # type: ignore[no-untyped-def]
    """Give the levels' scores on the first axis of a correspondence analysis: (level,)."""
    residuals, farthest, sizes = _residuals(table, q)
    n_levels, n_labels = table.shape
    across = residuals[farthest].copy()  # (label,)
    along = np.zeros(n_levels)  # (level,)
    for _ in range(AXIS_STEPS):  # the power method
        length = 0.0
        for level in range(n_levels):
            along[level] = 0.0
            for label in range(n_labels):
                along[level] += residuals[level, label] * across[label]
            length += along[level] ** 2
        across[:] = 0.0
        for level in range(n_levels):
            along[level] /= np.sqrt(max(length, 1e-300))
            for label in range(n_labels):
                across[label] += residuals[level, label] * along[level]
    for level in range(n_levels):
        along[level] /= np.sqrt(sizes[level])
    return along


@compiled
def _sorted_order(scores):  # type: ignore[no-untyped-def]
    """Indices of some scores in ascending order, equal ones in the order they have."""
    order = np.arange(scores.size)
    for end in range(1, scores.size):
        moved = order[end]
        at = end
        while at > 0 and scores[order[at - 1]] > scores[moved]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = moved
    return order


@compiled
def _merge_neighbours(rows, q, c):  # type: ignore[no-untyped-def]
    """Merge neighbouring groups one pair at a time, the most probable union first, to two groups.

    `rows` (ordered level, label) is written over. Returns the index that the next group joins at
    every merge, and the most probable number of groups.
    """
    n_levels, n_labels = rows.shape
    own = np.empty(n_levels)  # (ordered level,) log probability of the group that begins here
    both = np.empty(n_levels)  # (ordered level,) log probability together with the next
    score = 0.0
    for at in range(n_levels):
        own[at] = _log_probability(rows, at, -1, q, c)
        score += own[at]
        if at > 0:
            both[at - 1] = _log_probability(rows, at - 1, at, q, c)
    following = np.arange(1, n_levels + 1)  # (ordered level,) where the next group begins
    merges = np.empty(n_levels - 2, dtype=np.int64)  # (merge,)
    best, n_best = score, n_levels
    for merge in range(n_levels - 2):
        last, chosen, before, most = -1, -1, -1, -np.inf
        at = 0
        while following[at] < n_levels:
            change = both[at] - own[at] - own[following[at]]
            if change > most:
                chosen, before, most = at, last, change
            last, at = at, following[at]
        merges[merge] = chosen
        gone = following[chosen]
        for label in range(n_labels):
            rows[chosen, label] += rows[gone, label]
        own[chosen] = both[chosen]
        following[chosen] = after = following[gone]
        if after < n_levels:
            both[chosen] = _log_probability(rows, chosen, after, q, c)
        if before >= 0:
            both[before] = _log_probability(rows, before, chosen, q, c)
        score += most
        n_groups = n_levels - merge - 1
        if score - log_groupings(n_levels, n_groups) > best:
            best, n_best = score - log_groupings(n_levels, n_groups), n_groups
    return merges, n_best


@compiled
def grouped_levels(table, q, c):  # type: ignore[no-untyped-def]
    """Put levels with similar labels together: (level, label) to each level's group, their number.

    Groups are numbered along the first axis.
    """
    n_levels = table.shape[0]
    order = _sorted_order(_first_axis(table, q))  # (ordered level,)
    rows = np.empty(table.shape, dtype=np.int64)  # (ordered level, label)
    for at in range(n_levels):
        for label in range(q.size):
            rows[at, label] = table[order[at], label]
    merges, n_groups = _merge_neighbours(rows, q, c)
    joined = np.zeros(n_levels, dtype=np.bool_)  # (ordered level,) to the one before
    following = np.arange(1, n_levels + 1)  # (ordered level,)
    for merge in range(n_levels - n_groups):
        gone = following[merges[merge]]
        joined[gone] = True
        following[merges[merge]] = following[gone]
    group_of_level = np.empty(n_levels, dtype=np.int64)  # (level,)
    group = -1
    for at in range(n_levels):
        group += not joined[at]
        group_of_level[order[at]] = group
    return group_of_level, n_groups


@compiled
def _ranks(values, rows, size):  # type: ignore[no-untyped-def]
    """Number the values that occur in some rows: (value,), -1 for the others; and count them."""
    rank = np.full(size, -1, dtype=np.int64)
    for row in rows:
        rank[values[row]] = 0
    n_here = 0
    for value in range(size):
        if rank[value] == 0:
            rank[value] = n_here
            n_here += 1
    return rank, n_here


@compiled
def _tabulated(codes, labels, counts, rows, rank, n_levels, prior, weight):  # type: ignore[no-untyped-def]
    """Count levels by labels that occur in a node: (level, label).

    Also gives the labels' prior counts and the node's posterior mean: (label,), (label,).
    """
    column, n_labels = _ranks(labels, rows, prior.size)
    prior_here = np.empty(n_labels)  # (label,)
    for label in range(prior.size):
        if column[label] >= 0:
            prior_here[column[label]] = prior[label]
    table = np.zeros((n_levels, n_labels), dtype=np.int64)  # (level, label)
    q = prior_here.copy()  # (label,)
    total = weight
    for row in rows:
        table[rank[codes[row]], column[labels[row]]] += counts[row]
        q[column[labels[row]]] += counts[row]
        total += counts[row]
    for label in range(n_labels):
        q[label] /= total
    return table, prior_here, q


@compiled
def gain_of_split(codes, labels, counts, rows, prior, weight, group_of_level, gains):  # type: ignore[no-untyped-def]
    """Gain of splitting a node by one variable, and how the variable's levels are put together.

    Parameters
    ----------
    codes, labels, counts : integer (row,)
        Of all rows of the data: the variable's level, the label, the number of records.
    rows : int64 (row of the node,)
        Which rows belong to the node.
    prior : float64 (label,)
        The node's prior counts; only those of labels that occur in the node are read.
    weight : float
        Their sum over all labels.
    group_of_level : int64 (level,)
        Written: the group of every level that occurs, -1 for the others.
    gains : float64 (grid point,)
        Written: the gain of a child for every level that occurs.

    Returns
    -------
    float, int, int
        The gain, the number of groups, and the best concentration's index in `GRID`. A variable
        with one level in the node gains minus infinity.
    """
    rank, n_levels = _ranks(codes, rows, group_of_level.size)
    group_of_level[:] = rank
    gains[:] = 0.0
    if n_levels < 2:
        return -np.inf, n_levels, 0
    table, prior_here, q = _tabulated(codes, labels, counts, rows, rank, n_levels, prior, weight)
    gains_on_grid(table, prior_here, weight, gains)
    best = np.argmax(gains)
    gain = log_average(gains) - np.log(n_levels)
    if n_levels == 2 or table.size > MOST_CELLS:
        return gain, n_levels, best
    groups, n_groups = grouped_levels(table, q, GRID[best])
    if n_groups == n_levels:
        return gain, n_levels, best
    merged = np.zeros((n_groups, q.size), dtype=np.int64)  # (group, label)
    for level in range(n_levels):
        for label in range(q.size):
            merged[groups[level], label] += table[level, label]
    merged_gains = np.empty(GRID.size)  # (grid point,)
    gains_on_grid(merged, prior_here, weight, merged_gains)
    ways = log_groupings(n_levels, n_groups) + np.log(n_levels)
    if log_average(merged_gains) - ways <= gain:
        return gain, n_levels, best
    for level in range(rank.size):
        if rank[level] >= 0:
            group_of_level[level] = groups[rank[level]]
    return log_average(merged_gains) - ways, n_groups, np.argmax(merged_gains)
