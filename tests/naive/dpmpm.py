"""Slow, obvious twins of the DPMPM's kernels, and exact posteriors of tiny data.

Everything here is written from the model's definition with lists, dictionaries and quadrature;
nothing is taken from the package but the form of its inputs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from math import lgamma, log

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.special import gammaln

Rows = Sequence[tuple[int, ...]]
Priors = list[list[float]]


def partitions(n_records: int) -> Iterator[list[list[int]]]:
    """Give every partition of the records 0 .. n - 1 into classes."""
    if n_records == 0:
        yield []
        return
    for smaller in partitions(n_records - 1):
        for joined in range(len(smaller)):
            yield [
                [*members, n_records - 1] if here == joined else list(members)
                for here, members in enumerate(smaller)
            ]
        yield [*[list(members) for members in smaller], [n_records - 1]]


def completions(rows: Rows, priors: Priors) -> Iterator[Rows]:
    """Fill the holes of rows in every way; a hole has the number behind its variable's last level.

    Rows without holes have one completion: themselves.
    """
    choices = [
        range(len(prior)) if level == len(prior) else [level]
        for row in rows
        for level, prior in zip(row, priors, strict=True)
    ]
    width = len(priors)
    for filled in itertools.product(*choices):
        yield [filled[width * record : width * (record + 1)] for record in range(len(rows))]


def log_marginal(rows: Rows, priors: Priors) -> float:
    """Log marginal likelihood of a class, summed over all values of its holes."""
    return log(
        sum(np.exp(log_complete_marginal(whole, priors)) for whole in completions(rows, priors))
    )


def log_complete_marginal(rows: Rows, priors: Priors) -> float:
    """Log marginal likelihood of a class: each record predicted from those before it."""
    total = 0.0
    for variable, prior in enumerate(priors):
        seen: list[int] = []
        for row in rows:
            level = row[variable]
            total += log((prior[level] + seen.count(level)) / (sum(prior) + len(seen)))
            seen.append(level)
    return total


def strength_log_density(
    rows_of_classes: Sequence[Rows],
    variable: int,
    n_levels: int,
    log_strength: NDArray[np.float64] | float,
    mean: float,
    sd: float,
) -> NDArray[np.float64]:
    """Log density of log a, up to a constant: each record predicted from those before it.

    The variable's level probabilities are Dirichlet(a, ..., a) in every class, log a normal.
    """
    a = np.exp(log_strength)
    total = -0.5 * ((np.asarray(log_strength) - mean) / sd) ** 2
    for rows in rows_of_classes:
        seen: list[int] = []
        for row in rows:
            total = total + np.log((a + seen.count(row[variable])) / (n_levels * a + len(seen)))
            seen.append(row[variable])
    return np.asarray(total)


@cache
def log_process_weight(n_classes: int, n_records: int, shape: float, rate: float) -> float:
    """Log of E[alpha^k G(alpha) / G(alpha + n)], alpha from Gamma(shape, rate), by quadrature."""
    return log(
        quad(
            lambda t: np.exp(concentration_log_density(t, n_classes, n_records, shape, rate)),
            -60,
            12,
            limit=400,
        )[0]
    )


def concentration_log_density(
    log_alpha: NDArray[np.float64] | float,
    n_classes: int,
    n_records: int,
    shape: float,
    rate: float,
) -> NDArray[np.float64]:
    """Log density of log alpha given the number of classes, up to a constant of n alone."""
    alpha = np.exp(log_alpha)
    prior = shape * np.log(rate) - gammaln(shape) + shape * np.asarray(log_alpha) - rate * alpha
    rest = gammaln(alpha) - gammaln(alpha + n_records) if n_records else 0.0
    return np.asarray(prior + n_classes * np.asarray(log_alpha) + rest)


def key_of(classes: list[list[tuple[int, ...]]]) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Name a partition by the rows in its classes, whatever the order of classes and records."""
    return tuple(sorted(tuple(sorted(members)) for members in classes if members))


def exact_partitions(
    rows: Rows, priors: Priors, shape: float, rate: float
) -> dict[tuple[tuple[tuple[int, ...], ...], ...], float]:
    """Posterior of the partition under the Dirichlet process, the concentration integrated out."""
    weights: dict[tuple[tuple[tuple[int, ...], ...], ...], float] = {}
    for partition in partitions(len(rows)):
        classes = [[rows[record] for record in members] for members in partition]
        log_weight = log_process_weight(len(classes), len(rows), shape, rate)
        log_weight += sum(
            lgamma(len(members)) + log_marginal(members, priors) for members in classes
        )
        key = key_of(classes)
        weights[key] = weights.get(key, 0.0) + np.exp(log_weight)
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


@cache
def log_truncated_weight(sizes: tuple[int, ...], shape: float, rate: float) -> float:
    """Log probability of numbered classes of these sizes, the concentration integrated out."""

    def density(log_alpha: float) -> float:
        alpha = np.exp(log_alpha)
        total = shape * np.log(rate) - gammaln(shape) + shape * log_alpha - rate * alpha
        for k in range(len(sizes) - 1):
            behind = sum(sizes[k + 1 :])
            total += gammaln(1 + sizes[k]) + gammaln(alpha + behind)
            total -= gammaln(1 + alpha + sizes[k] + behind) - np.log(alpha)
        return float(np.exp(total))

    return log(quad(density, -60, 12, limit=400)[0])


def assignments(rows: Rows, n_classes: int) -> Iterator[list[list[tuple[int, ...]]]]:
    """Give the rows of numbered classes, for every assignment of the records to them."""
    for assigned in itertools.product(range(n_classes), repeat=len(rows)):
        classes: list[list[tuple[int, ...]]] = [[] for _ in range(n_classes)]
        for row, k in zip(rows, assigned, strict=True):
            classes[k].append(row)
        yield classes


def exact_truncated(
    rows: Rows, priors: Priors, shape: float, rate: float, n_classes: int
) -> dict[tuple[tuple[tuple[int, ...], ...], ...], float]:
    """Posterior of the partition under sticks cut off after `n_classes` classes.

    Every assignment of the records to numbered classes is enumerated, its prior integrated over
    the concentration by quadrature.
    """
    weights: dict[tuple[tuple[tuple[int, ...], ...], ...], float] = {}
    for classes in assignments(rows, n_classes):
        log_weight = log_truncated_weight(tuple(len(members) for members in classes), shape, rate)
        log_weight += sum(log_marginal(members, priors) for members in classes)
        key = key_of(classes)
        weights[key] = weights.get(key, 0.0) + np.exp(log_weight)
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def move_records(
    generator: np.random.Generator,
    rows: Rows,
    counts: list[int],
    members: list[list[int]],
    priors: Priors,
    concentration: float,
    visits: int,
) -> list[list[int]]:
    """One collapsed sweep, by lists: `members[combination][class]`, classes in any order.

    Uses the generator as the kernel does: one number to choose among several waiting records, one
    to choose the class.
    """
    members = [list(row) for row in members]
    held = [class_ for class_ in range(len(members[0])) if any(row[class_] for row in members)]
    for combination, row in enumerate(rows):
        waiting = {class_: members[combination][class_] for class_ in held}
        for _ in range(min(visits, counts[combination])):
            left = sum(waiting.values())
            chosen = int(generator.random() * left) if left > 1 else 0
            pool = [class_ for class_ in held for _ in range(waiting[class_])]
            leaving = pool[chosen]
            waiting[leaving] -= 1
            members[combination][leaving] -= 1
            if not any(other[leaving] for other in members):
                index = held.index(leaving)
                last = held.pop()
                if last != leaving:
                    held[index] = last
            weights = []
            for joined in held:
                size = sum(other[joined] for other in members)
                weight = float(size)
                for variable, prior in enumerate(priors):
                    same = sum(
                        other[joined]
                        for other, levels in zip(members, rows, strict=True)
                        if levels[variable] == row[variable]
                    )
                    weight *= (same + prior[row[variable]]) / (size + sum(prior))
                weights.append(weight)
            new = concentration
            for variable, prior in enumerate(priors):
                new *= prior[row[variable]] / sum(prior)
            rest = generator.random() * (sum(weights) + new)
            for index, weight in enumerate(weights):
                if rest < weight:
                    joining = held[index]
                    break
                rest -= weight
            else:
                empty = [class_ for class_ in range(len(members[0])) if class_ not in held]
                joining = empty[0]
                held.append(joining)
                waiting[joining] = 0
            members[combination][joining] += 1
    return members


def mixture_log_likelihood(
    rows: Rows, counts: list[int], weights: list[float], probabilities: list[list[list[float]]]
) -> float:
    """Log-likelihood of the observed records: `probabilities[class][variable][level]`."""
    total = 0.0
    for row, count in zip(rows, counts, strict=True):
        likelihood = 0.0
        for weight, tables in zip(weights, probabilities, strict=True):
            product = weight
            for variable, level in enumerate(row):
                product *= tables[variable][level]
            likelihood += product
        total += count * log(likelihood)
    return total


def label_probability(
    kept: tuple[int, ...],
    label: tuple[int, ...],
    weights: list[float],
    probabilities: list[list[list[float]]],
) -> float:
    """p(label | kept variables) of a mixture whose kept variables come first."""
    above = below = 0.0
    for weight, tables in zip(weights, probabilities, strict=True):
        product = weight
        for variable, level in enumerate(kept):
            product *= tables[variable][level]
        below += product
        for variable, level in enumerate(label):
            product *= tables[len(kept) + variable][level]
        above += product
    return above / below


Partition = list[list[int]]


def split_merge_moves(
    rows: Rows, classes: Partition, priors: Priors, concentration: float
) -> Iterator[tuple[float, float, Partition, bool]]:
    """Give all that one split or merge can propose from a partition of numbered records.

    Every pair of records, every order of the others and every allocation: the probability that
    this is proposed, the log acceptance ratio, the partition it leads to, whether it is a split.
    """
    n_records = len(rows)
    for first, second in itertools.permutations(range(n_records), 2):
        of_first = next(class_ for class_ in classes if first in class_)
        of_second = next(class_ for class_ in classes if second in class_)
        split = of_first is of_second
        rest = [class_ for class_ in classes if class_ is not of_first and class_ is not of_second]
        free = [record for record in range(n_records) if record not in {first, second}]
        free = [record for record in free if record in of_first or record in of_second]
        orders = list(itertools.permutations(free))
        chance = 1.0 / (n_records * (n_records - 1) * len(orders))
        allocations = [tuple(int(record in of_second) for record in free)]
        if split:
            allocations = list(itertools.product((0, 1), repeat=len(free)))
        for order, allocation in itertools.product(orders, allocations):
            sides = ([first], [second])
            for record, side in zip(free, allocation, strict=True):
                sides[side].append(record)
            log_proposal = allocation_chance(rows, sides, order, priors)
            apart, together = [*rest, *sides], [*rest, [*sides[0], *sides[1]]]
            log_ratio = partition_density(rows, apart, priors, concentration) - log_proposal
            log_ratio -= partition_density(rows, together, priors, concentration)
            if split:
                yield chance * np.exp(log_proposal), log_ratio, apart, True
            else:
                yield chance, -log_ratio, together, False


def partition_density(
    rows: Rows, classes: Partition, priors: Priors, concentration: float
) -> float:
    """Log of the joint density of data and partition given the concentration."""
    total = len(classes) * log(concentration)
    for members in classes:
        total += lgamma(len(members)) + log_marginal([rows[member] for member in members], priors)
    return total


def allocation_chance(
    rows: Rows, sides: tuple[list[int], list[int]], order: Sequence[int], priors: Priors
) -> float:
    """Log probability that records in this order are allocated to two sides, the seeds first."""
    built = ([sides[0][0]], [sides[1][0]])
    total = 0.0
    for record in order:
        weights = []
        for side in built:
            held = [rows[member] for member in side]
            before, after = log_marginal(held, priors), log_marginal([*held, rows[record]], priors)
            weights.append(len(side) * np.exp(after - before))
        chosen = 0 if record in sides[0] else 1
        total += log(weights[chosen] / sum(weights))
        built[chosen].append(record)
    return total


def split_merge_transitions(
    rows: Rows, classes: list[list[int]], priors: Priors, concentration: float
) -> dict[tuple[tuple[tuple[int, ...], ...], ...], float]:
    """Exact probabilities of all partitions after one split or merge."""

    def named(parts: list[list[int]]) -> tuple[tuple[tuple[int, ...], ...], ...]:
        return key_of([[rows[member] for member in members] for members in parts])

    chances = {named(classes): 0.0}
    for chance, log_ratio, leads_to, _ in split_merge_moves(rows, classes, priors, concentration):
        accepted = chance * min(1.0, float(np.exp(log_ratio)))
        key = named(leads_to)
        chances[key] = chances.get(key, 0.0) + accepted
        chances[named(classes)] += chance - accepted
    return chances


def class_probabilities(
    row: Sequence[int], weights: Sequence[float], probabilities: Sequence[Sequence[float]]
) -> list[float]:
    """Probabilities of a record's classes, from the definition: `probabilities[level][class]`."""
    joint = [
        weight * float(np.prod([probabilities[level][class_] for level in row]))
        for class_, weight in enumerate(weights)
    ]
    return [value / sum(joint) for value in joint]


def draw_classes(
    generator: np.random.Generator,
    rows: Sequence[Sequence[int]],
    counts: Sequence[int],
    weights: Sequence[float],
    probabilities: Sequence[Sequence[float]],
) -> list[list[int]]:
    """Level counts of all classes, one multinomial draw per combination: ``[level][class]``."""
    level_counts = [[0] * len(weights) for _ in probabilities]
    for row, count in zip(rows, counts, strict=True):
        drawn = generator.multinomial(count, class_probabilities(row, weights, probabilities))
        for level in row:
            for class_, here in enumerate(drawn):
                level_counts[level][class_] += int(here)
    return level_counts


Powers = dict[tuple[int, ...], float]


def weighted_log_marginal(rows: Rows, powers: Powers, priors: Priors) -> float:
    """Log of the integral of every row's likelihood to its power, over level probabilities.

    A hole has the number behind its variable's last level, and no factor.
    """
    total = 0.0
    for variable, prior in enumerate(priors):
        sums = list(prior)
        for row in rows:
            if row[variable] < len(prior):
                sums[row[variable]] += powers[row]
        for after, before in zip(sums, prior, strict=True):
            total += float(gammaln(after) - gammaln(before))
        total += float(gammaln(sum(prior)) - gammaln(sum(sums)))
    return total


def weighted_partitions(
    rows: Rows, powers: Powers, priors: Priors, shape: float, rate: float
) -> dict[tuple[tuple[tuple[int, ...], ...], ...], float]:
    """Pseudo posterior of the partition, as `exact_partitions`; not normalized."""
    weights: dict[tuple[tuple[tuple[int, ...], ...], ...], float] = {}
    for partition in partitions(len(rows)):
        classes = [[rows[record] for record in members] for members in partition]
        log_weight = log_process_weight(len(classes), len(rows), shape, rate)
        log_weight += sum(
            lgamma(len(members)) + weighted_log_marginal(members, powers, priors)
            for members in classes
        )
        key = key_of(classes)
        weights[key] = weights.get(key, 0.0) + np.exp(log_weight)
    return weights


def weighted_truncated(
    rows: Rows, powers: Powers, priors: Priors, shape: float, rate: float, n_classes: int
) -> dict[tuple[tuple[tuple[int, ...], ...], ...], float]:
    """Pseudo posterior under sticks cut off, as `exact_truncated`; not normalized."""
    weights: dict[tuple[tuple[tuple[int, ...], ...], ...], float] = {}
    for classes in assignments(rows, n_classes):
        log_weight = log_truncated_weight(tuple(len(members) for members in classes), shape, rate)
        log_weight += sum(weighted_log_marginal(members, powers, priors) for members in classes)
        key = key_of(classes)
        weights[key] = weights.get(key, 0.0) + np.exp(log_weight)
    return weights


def weighted_label_likelihood(
    kept: Sequence[int],
    label: Sequence[int],
    power: float,
    weights: Sequence[float],
    probabilities: Sequence[Sequence[Sequence[float]]],
) -> float:
    """What a weighted record's label adds to its likelihood: `probabilities[class][variable]`."""
    above = below = 0.0
    for weight, tables in zip(weights, probabilities, strict=True):
        product = 1.0
        for variable, level in enumerate(kept):
            product *= tables[variable][level]
        below += weight * product**power
        for variable, level in enumerate(label):
            product *= tables[len(kept) + variable][level]
        above += weight * product**power
    return above / below
