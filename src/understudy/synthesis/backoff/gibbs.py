"""One sweep of the back-off sampler: concentrations, tables and label distributions.

The label distribution of a group of records is Dirichlet around that of the larger group it belongs
to,

    p_node ~ Dirichlet(c p_parent),    p_root ~ Dirichlet(1/2, ..., 1/2),

and the labels of a leaf's records come from its distribution. c is shared by the nodes of one depth
of a tree. The state holds numbers for non-empty (node, label) pairs only: a label that no record of
a node has needs no number there until synthetic labels are drawn.

Bottom up, with a node's own distribution integrated out: c by Metropolis steps on

    prod_node  Gamma(c) / Gamma(c + n_node)  prod_label  Gamma(c p + n) / Gamma(c p),

p the parent's distribution; then the tables of every pair, the number of times that n records of a
Chinese restaurant with concentration c p sit down at a new one. The children's tables are the
parent's records. Top down, p_node ~ Dirichlet(c p_parent + n).

Where combinations are impossible, a node's distribution lives on the labels that are possible in
it, Dirichlet(c p_parent) of these alone, of total c q, with q their probability in the parent. So
c q stands in place of c in the product above, which makes its first factor a function of the
parent's distribution, too:

    Gamma(c q) Gamma(n) / Gamma(c q + n) = integral of  w^(c q - 1) (1 - w)^(n - 1)  over w.

Given w ~ Beta(c q, n) what is left of it is exp(-r q), r = -c log w, a constant times the sum over
k of (r (1 - q))^k / k!. So k ~ Poisson(r (1 - q)) further tables, of labels that are impossible in
the node, make the parent's distribution Dirichlet again.

Kernels share these arguments: `generator` (Generator), `forest` (Forest), `state` (State),
`concentration` float64 (group,) or one of them, `records` int64 (pair,), `probability` float64
(pair,), `node` and `group` ints; the floats `middle`, the prior median, `mass` and `shape`, and
`log_concentration`.

References
----------
MacKay, D. J. C. and Bauman Peto, L. C. (1995), "A hierarchical Dirichlet language model", Natural
Language Engineering 1, doi:10.1017/S1351324900000218.
Teh, Y. W., Jordan, M. I., Beal, M. J. and Blei, D. M. (2006), "Hierarchical Dirichlet processes",
Journal of the American Statistical Association 101, doi:10.1198/016214506000000302.
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.compiling import compiled
from understudy.synthesis.backoff.node_counts import Forest

__all__ = [
    "State",
    "draw_distributions",
    "draw_tables",
    "extra_tables",
    "init",
    "log_gamma_variate",
    "log_likelihood",
    "log_marginal",
    "move_concentrations",
    "n_tables",
    "step",
]

FEW_RECORDS = 64  # so many customers are seated one by one
FAR_STEP = 1.5  # of the widest Metropolis step on the logarithm of a concentration
TINY = 1e-300
MOST_EXTRA = 1e8  # expected tables of impossible labels, of one node
SMALLEST, LARGEST = 1e-9, 1e12  # a concentration outside counts as impossible


class State(NamedTuple):
    """What is unknown, for the pairs (node, label) that occur."""

    concentration: NDArray[np.float64]  # (group,)
    records: NDArray[np.int64]  # (pair,) a leaf's records; tables of the children elsewhere
    probability: NDArray[np.float64]  # (pair,) of the label in the node
    scaled_records: NDArray[np.int64]  # (pair,) the same two given scaled concentrations;
    scaled_probability: NDArray[np.float64]  # (pair,) empty where the scale is 1


def init(forest: Forest, concentration: float, scale: float = 1.0) -> State:
    """Start with one table for every pair, and distributions at their means."""
    records = forest.counts.copy()  # (pair,)
    probability = np.empty(records.size)  # (pair,)
    _start(forest, concentration, records, probability)
    other = 0 if scale == 1.0 else records.size
    return State(
        concentration=np.full(forest.n_groups, concentration),
        records=records,
        probability=probability,
        scaled_records=records[:other].copy(),
        scaled_probability=probability[:other].copy(),
    )


@compiled
def _start(forest, concentration, records, probability):  # type: ignore[no-untyped-def]
    """Give every pair of an inner node one table per child, and every node its mean."""
    for pair in range(records.size - 1, -1, -1):
        above = forest.pair_above[pair]
        if above >= 0:
            records[above] += 1
    for node in range(forest.parent.size):
        first, last = forest.pair_start[node], forest.pair_start[node + 1]
        total = 0
        for pair in range(first, last):
            total += records[pair]
        if forest.parent[node] < 0:
            n_labels = forest.n_possible[forest.tree[node]]
            for pair in range(first, last):
                prior_total = forest.root_prior * n_labels
                probability[pair] = (records[pair] + forest.root_prior) / (total + prior_total)
        else:
            for pair in range(first, last):
                mean = concentration * probability[forest.pair_above[pair]]
                probability[pair] = (records[pair] + mean) / (total + concentration)


@compiled
def log_rising(start, times):  # type: ignore[no-untyped-def]
    """Logarithm of start (start + 1) ... (start + times - 1), without loss for large numbers."""
    if times <= 6:
        product = 1.0
        for step in range(times):
            product *= start + step
        return np.log(product)
    end = start + times
    if start < 12.0:
        return lgamma(end) - lgamma(start)
    # Stirling's series of both, the large parts taken together
    a, b = 1.0 / start, 1.0 / end
    series = (b - a) / 12.0 - (b**3 - a**3) / 360.0 + (b**5 - a**5) / 1260.0
    return (start - 0.5) * np.log1p(times / start) + times * np.log(end) - times + series


@compiled
def log_prior(log_concentration, middle):  # type: ignore[no-untyped-def]
    """Log density of the logarithm of a concentration: c / (c + middle) is uniform on (0, 1)."""
    apart = abs(log_concentration - np.log(middle))
    return -apart - 2.0 * np.log1p(np.exp(-apart))


@compiled
def share_possible(forest, node, probability):  # type: ignore[no-untyped-def]
    """Probability in the parent of what is possible in the node; its own labels at least are.

    `probability` float64 (pair,) has the labels that nodes have records of.
    """
    if forest.excluded_start[node + 1] == forest.excluded_start[node]:
        return 1.0
    share, least = 1.0, TINY
    for index in range(forest.excluded_start[node], forest.excluded_start[node + 1]):
        share -= probability[forest.excluded[index]]
    for pair in range(forest.pair_start[node], forest.pair_start[node + 1]):
        least += probability[forest.pair_above[pair]]
    return max(share, least)


@compiled
def log_marginal(concentration, shares, numbers, totals, possible, n_single):  # type: ignore[no-untyped-def]
    """Log probability of the nodes' records, their own distributions integrated out.

    Parameters
    ----------
    concentration : float
        Of all these nodes.
    shares, numbers : float64 (pair,), int64 (pair,)
        The parent's probability and the records of pairs with at least two records.
    totals, possible : int64 (node,), float64 (node,)
        Records of the nodes; probability in the parent of the labels possible in them.
    n_single : int
        Pairs with one record; their probability in the parent is a factor that is left out.
    """
    total = n_single * np.log(concentration)
    for pair in range(shares.size):
        total += log_rising(concentration * shares[pair], numbers[pair])
    for node in range(totals.size):
        total -= log_rising(concentration * possible[node], totals[node])
    return total


@compiled
def _gathered(forest, group, records, probability):  # type: ignore[no-untyped-def]
    """Collect what `log_marginal` needs of the nodes of one group."""
    first, last = forest.group_start[group], forest.group_start[group + 1]  # nodes
    low, high = forest.pair_start[first], forest.pair_start[last]  # pairs
    shares = np.empty(high - low)  # (pair,)
    numbers = np.empty(high - low, dtype=np.int64)  # (pair,)
    totals = np.zeros(last - first, dtype=np.int64)  # (node,)
    possible = np.empty(last - first)  # (node,)
    n_single, n_more = 0, 0
    for node in range(first, last):
        possible[node - first] = share_possible(forest, node, probability)
        for pair in range(forest.pair_start[node], forest.pair_start[node + 1]):
            totals[node - first] += records[pair]
            if records[pair] == 1:
                n_single += 1
            else:
                shares[n_more] = probability[forest.pair_above[pair]]
                numbers[n_more] = records[pair]
                n_more += 1
    return shares[:n_more], numbers[:n_more], totals, possible, n_single


@compiled
def _move_concentration(generator, forest, group, concentration, records, probability, middle):  # type: ignore[no-untyped-def]
    """Metropolis steps, near and far, on the logarithm of one group's concentration."""
    shares, numbers, totals, possible, n_single = _gathered(forest, group, records, probability)
    here = np.log(concentration[group])
    density = log_marginal(np.exp(here), shares, numbers, totals, possible, n_single)
    density += log_prior(here, middle)
    low = forest.pair_start[forest.group_start[group]]
    high = forest.pair_start[forest.group_start[group + 1]]
    near = min(FAR_STEP, 2.0 / np.sqrt(max(high - low, 1)))
    for width in (near, min(FAR_STEP, 5.0 * near), FAR_STEP):
        there = here + width * generator.standard_normal()
        if not np.log(SMALLEST) < there < np.log(LARGEST):
            continue
        proposed = log_marginal(np.exp(there), shares, numbers, totals, possible, n_single)
        proposed += log_prior(there, middle)
        if np.log1p(-generator.random()) < proposed - density:
            here, density = there, proposed
    concentration[group] = np.exp(here)


@compiled
def _few_tables(generator, customers, mass):  # type: ignore[no-untyped-def]
    """Draw how many tables a few customers open, with a random number for each rare event only.

    The rarer of opening a table and sitting down at one: `left` is the probability that it has not
    happened since the last time.
    """
    opening_is_rare = 2.0 * mass < customers
    n_rare, left, level = 0, 1.0, generator.random()
    for customer in range(1, customers):
        left *= (customer if opening_is_rare else mass) / (mass + customer)
        if left <= level:
            n_rare += 1
            left, level = 1.0, generator.random()
    return 1 + n_rare if opening_is_rare else customers - n_rare


@compiled
def n_tables(generator, customers, mass):  # type: ignore[no-untyped-def]
    """Draw how many tables so many customers open, customer i with probability mass / (mass + i).

    The first customer always opens one. Beyond a few customers, blocks of them are drawn at once,
    exactly. In a block every customer opens a table with at least the last one's probability `low`:
    a binomial number does. Of the others each may with at most `high`, the excess of the first one:
    a binomial number of candidates, at random positions, each of which is kept with the share of
    its own excess. Blocks are so short that there are about two candidates, so that the number of
    blocks grows as the square root of the smaller of customers and mass.
    """
    n_open = _few_tables(generator, min(customers, FEW_RECORDS), mass)
    if customers <= FEW_RECORDS:
        return n_open
    first = np.int64(FEW_RECORDS)
    customer_of = np.empty(64, dtype=np.int64)
    while first < customers:
        length = np.int64(np.sqrt(2.0 * first * (first + mass) / mass)) + 1
        length = min(length, customers - first)
        last = first + length - 1
        low = mass / (mass + last)
        sure = generator.binomial(length, low)
        # excess of customer i over `low`, among those who have not opened a table
        high = (mass / (mass + first) - low) / (1.0 - low)
        candidates = generator.binomial(length - sure, high)
        if candidates > customer_of.size:
            customer_of = np.empty(2 * candidates, dtype=np.int64)
        n_open += sure
        for candidate in range(candidates):
            fresh = False
            while not fresh:  # customers without replacement
                customer = np.int64(generator.random() * length)
                fresh = True
                for other in range(candidate):
                    if customer_of[other] == customer:
                        fresh = False
            customer_of[candidate] = customer
            excess = (mass / (mass + first + customer) - low) / (1.0 - low)
            if generator.random() * high < excess:
                n_open += 1
        first += length
    return n_open


@compiled
def log_gamma_variate(generator, shape):  # type: ignore[no-untyped-def]
    """Draw the logarithm of a gamma variable, which may be too small for a number itself."""
    if shape >= 1.0:
        return np.log(generator.standard_gamma(shape))
    power = np.log1p(-generator.random()) / shape
    return np.log(generator.standard_gamma(shape + 1.0)) + power


@compiled
def extra_tables(generator, concentration, possible, total):  # type: ignore[no-untyped-def]
    """Draw how many tables stand for what is impossible in a node with so many records.

    `possible` is the probability of everything else in the parent.
    """
    first = log_gamma_variate(generator, concentration * possible)
    second = log_gamma_variate(generator, float(total))
    whole = max(first, second) + np.log1p(np.exp(-abs(first - second)))
    expected = concentration * (whole - first) * max(1.0 - possible, 0.0)
    return generator.poisson(min(expected, MOST_EXTRA))


@compiled
def _draw_extra_tables(generator, forest, node, concentration, records, probability):  # type: ignore[no-untyped-def]
    """Add the tables of labels that are impossible in the node to its parent's records."""
    first, last = forest.excluded_start[node], forest.excluded_start[node + 1]
    if first == last:
        return
    total = 0
    for pair in range(forest.pair_start[node], forest.pair_start[node + 1]):
        total += records[pair]
    possible = share_possible(forest, node, probability)
    n_left = extra_tables(generator, concentration, possible, total)
    left = 1.0 - possible
    for index in range(first, last):
        if n_left == 0:
            return
        pair = forest.excluded[index]
        taken = n_left
        if index < last - 1:
            chance = probability[pair] / left if left > 0.0 else 1.0
            taken = generator.binomial(n_left, min(max(chance, 0.0), 1.0))
        records[pair] += taken
        n_left -= taken
        left -= probability[pair]


@compiled
def _draw_tables(generator, forest, group, concentration, records, probability):  # type: ignore[no-untyped-def]
    """Draw the tables of all pairs of one group and add them to their parents' records."""
    first, last = forest.group_start[group], forest.group_start[group + 1]
    for node in range(first, last):
        _draw_extra_tables(generator, forest, node, concentration, records, probability)
    for pair in range(forest.pair_start[first], forest.pair_start[last]):
        above = forest.pair_above[pair]
        if records[pair] == 1:
            records[above] += 1
        else:
            records[above] += n_tables(generator, records[pair], concentration * probability[above])


@compiled
def _clear_tables(forest, records):  # type: ignore[no-untyped-def]
    """Put every pair back to the records that the data give it."""
    for pair in range(records.size):
        records[pair] = forest.counts[pair]


@compiled
def move_concentrations(generator, forest, state, middle):  # type: ignore[no-untyped-def]
    """Draw concentrations and tables, from the deepest nodes up. Writes over the state's arrays."""
    _clear_tables(forest, state.records)
    for group in range(forest.group_start.size - 2, -1, -1):
        _move_concentration(
            generator,
            forest,
            group,
            state.concentration,
            state.records,
            state.probability,
            middle,
        )
        _draw_tables(
            generator,
            forest,
            group,
            state.concentration[group],
            state.records,
            state.probability,
        )


@compiled
def draw_tables(generator, forest, concentration, records, probability):  # type: ignore[no-untyped-def]
    """Draw all tables given concentrations (group,), from the deepest nodes up."""
    _clear_tables(forest, records)
    for group in range(forest.group_start.size - 2, -1, -1):
        _draw_tables(generator, forest, group, concentration[group], records, probability)


@compiled
def draw_distributions(generator, forest, concentration, records, probability):  # type: ignore[no-untyped-def]
    """Draw the probabilities of all pairs given tables, from the roots down.

    All three as in `State`; `probability` is filled. The labels that a node has no record of share
    what is left; together they have the mass
    c (1 - the parent's probabilities of the node's own labels, and of those impossible in it).
    """
    n_roots = forest.n_labels.size
    for node in range(n_roots):
        first, last = forest.pair_start[node], forest.pair_start[node + 1]
        total = 0.0
        for pair in range(first, last):
            probability[pair] = generator.standard_gamma(forest.root_prior + records[pair])
            total += probability[pair]
        n_empty = forest.n_possible[forest.tree[node]] - (last - first)
        if n_empty > 0:
            total += generator.standard_gamma(forest.root_prior * n_empty)
        for pair in range(first, last):
            probability[pair] /= total
    for group in range(forest.group_start.size - 1):
        c = concentration[group]
        for node in range(forest.group_start[group], forest.group_start[group + 1]):
            first, last = forest.pair_start[node], forest.pair_start[node + 1]
            total, left = 0.0, share_possible(forest, node, probability)
            for pair in range(first, last):
                share = probability[forest.pair_above[pair]]
                left -= share
                probability[pair] = generator.standard_gamma(c * share + records[pair])
                total += probability[pair]
            if c * left > 0.0:
                total += generator.standard_gamma(c * left)
            for pair in range(first, last):
                probability[pair] /= total


@compiled
def log_likelihood(forest, probability):  # type: ignore[no-untyped-def]
    """Log probability of the records' labels given their leaves' `probability` float64 (pair,)."""
    total = 0.0
    for pair in range(probability.size):
        if forest.counts[pair] > 0:
            total += forest.counts[pair] * np.log(probability[pair])
    return total


def step(
    generator: np.random.Generator, forest: Forest, state: State, middle: float, scale: float
) -> None:
    """One sweep. Writes over the state's arrays."""
    # 1. bottom up: concentrations and tables, the node's own distribution integrated out
    move_concentrations(generator, forest, state, middle)
    # 2. top down: distributions given tables
    draw_distributions(generator, forest, state.concentration, state.records, state.probability)
    # 3. what the scale makes of it: the same two given scaled concentrations, which learn nothing
    if scale != 1.0:
        scaled = scale * state.concentration  # (group,)
        draw_tables(generator, forest, scaled, state.scaled_records, state.scaled_probability)
        draw_distributions(
            generator, forest, scaled, state.scaled_records, state.scaled_probability
        )
