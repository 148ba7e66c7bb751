"""Compiled counting: the risk loops that run over every record or every probability.

An intruder's question is always the same: which rows have this known cell and this label? The
distinct pairs that occur in the confidential data are the *targets*. Every row of a synthetic set
is looked up among them once, in a hash table; the rest is addition. So the measures are exact, and
linear in records and sets.

One file, because a compiled function's cache does not notice changes in other files.
Its slow twins, written from the definitions, are in ``tests/naive/risk.py``.

Arguments that are not stated again: `of_record` int32 (record,) and `matched` int32 (row,) or (set,
row) are targets, `probabilities` float64 (row, label), `mask` int, the number of slots less one;
`n_labels` int; `right` float64 (record,) is added to. `source_row` and `aim_row` number rows of the
table, `source_records` and `aim_records` how many records draw from each; `reach` float: the
integrand is below exp(-`reach`) outside of what is integrated over.
"""

from __future__ import annotations

import numpy as np

from understudy.compiling import compiled

__all__ = [
    "TIE",
    "add_matches",
    "expected_sums",
    "fill_slots",
    "joint_matches",
    "match_rows",
    "pairing_sums",
    "vote",
]

# Two averaged match probabilities closer than this, relatively, are the same number: the sums of
# some dozens of fractions are exact to 1e-14.
TIE = 1e-12


@compiled
def _first_slot(key, mask):  # type: ignore[no-untyped-def]
    """Mix the bits of a key (a multiply-xor-shift finalizer) and keep the low ones."""
    mixed = np.uint64(key)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xD6E8FEB86659FD93)
    mixed = mixed ^ (mixed >> np.uint64(32))
    return np.int64(mixed & np.uint64(mask))


@compiled
def fill_slots(keys, slots):  # type: ignore[no-untyped-def]
    """Put distinct keys into a hash table with open addressing; empty slots hold -1.

    `keys` int64 (target,); `slots` int32 (slot,), a power of two of them, is filled with targets.
    """
    mask = slots.size - 1
    for target in range(keys.size):
        slot = _first_slot(keys[target], mask)
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = target


@compiled
def match_rows(keys, slots, cells, labels, n_labels, matched, counts):  # type: ignore[no-untyped-def]
    """Find the target that every row equals (-1 for none), and count the rows of each target.

    `keys` and `slots` are as `fill_slots` has them; `cells` and `labels` int64 (row,). Fills
    `matched` int32 (row,) with targets, and adds to `counts` int64 (target,).
    """
    mask = slots.size - 1
    for row in range(labels.size):
        key = cells[row] * n_labels + labels[row]
        slot = _first_slot(key, mask)
        target = slots[slot]
        while target >= 0 and keys[target] != key:
            slot = (slot + 1) & mask
            target = slots[slot]
        matched[row] = target
        if target >= 0:
            counts[target] += 1


@compiled
def add_matches(of_record, hit, candidates, probability, unique, true_unique):  # type: ignore[no-untyped-def]
    """Form T/c, K and s of one file and add them to each record's sums.

    `candidates` int64 (target,) has c, `hit` bool (record,) has T, `of_record` int32 (record,) the
    record's target; `probability` float64, `unique` and `true_unique` (record,) are the sums.
    Returns the expected match risk and the numbers of true unique matches and of unique matches.
    """
    risk, n_true, n_unique = 0.0, 0, 0
    for record in range(of_record.size):
        n_candidates = candidates[of_record[record]]
        if n_candidates == 0:
            continue
        if n_candidates == 1:
            n_unique += 1
            unique[record] += 1
        if hit[record]:
            risk += 1.0 / n_candidates
            probability[record] += 1.0 / n_candidates
            if n_candidates == 1:
                n_true += 1
                true_unique[record] += 1
    return risk, n_true, n_unique


@compiled
def _score(matched, counts, record, first):  # type: ignore[no-untyped-def]
    """Add 1/c over the sets, from `first` on, in which a row equals the same target.

    Returns -1 if an earlier set had that target already, so that every target counts once a row.
    """
    target = matched[first, record]
    for earlier in range(first):
        if matched[earlier, record] == target:
            return -1.0
    total = 0.0
    for index in range(first, matched.shape[0]):
        if matched[index, record] == target:
            total += 1.0 / counts[index, target]
    return total


@compiled
def joint_matches(of_record, matched, counts, candidates, hit):  # type: ignore[no-untyped-def]
    """Average match probabilities over the sets, then form c and T from the highest ones.

    `matched` has axes (set, record), `counts` (set, target). Fills `candidates` (target,) with the
    number of rows that share the highest averaged probability, and `hit` (record,).
    """
    best = np.zeros(candidates.size)
    for record in range(of_record.size):
        for index in range(matched.shape[0]):
            target = matched[index, record]
            if target >= 0:
                score = _score(matched, counts, record, index)
                best[target] = max(best[target], score)
    for record in range(of_record.size):
        for index in range(matched.shape[0]):
            target = matched[index, record]
            if target >= 0:
                score = _score(matched, counts, record, index)
                if score >= best[target] * (1.0 - TIE):
                    candidates[target] += 1
                    if target == of_record[record]:
                        hit[record] = True


@compiled
def vote(true, made, right):  # type: ignore[no-untyped-def]
    """Add each record's chance that the most frequent of its labels over the sets is the true one.

    `made` has axes (set, record); ties are broken at random, so k tied labels give 1/k.
    """
    for record in range(true.size):
        most, n_tied, for_true = 0, 0, 0
        for index in range(made.shape[0]):
            label, votes, seen = made[index, record], 0, False
            for other in range(made.shape[0]):
                if made[other, record] == label:
                    votes += 1
                    if other < index:
                        seen = True
            if seen:
                continue
            if label == true[record]:
                for_true = votes
            if votes > most:
                most, n_tied = votes, 1
            elif votes == most:
                n_tied += 1
        if for_true == most:
            right[record] += 1.0 / n_tied


@compiled
def pairing_sums(matched, sizes):  # type: ignore[no-untyped-def]
    """Sum, over rows, what the variance of randomly paired rows needs.

    `matched` int32 (set, row) has targets or -1, `sizes` int64 (target,) their records. With f the
    share of the sets in which a row has a label and N the records that have the label
    in truth: the sums over rows of N f² (over labels) and of (N f summed over labels)².
    """
    squares, row_squares = 0.0, 0.0
    n_sets = matched.shape[0]
    for record in range(matched.shape[1]):
        row = 0.0
        for index in range(n_sets):
            target = matched[index, record]
            if target < 0:
                continue
            row += sizes[target] / n_sets
            for other in range(n_sets):  # f² = sum over pairs of sets of [both have it] / sets²
                if matched[other, record] == target:
                    squares += sizes[target] / n_sets**2
        row_squares += row * row
    return squares, row_squares


@compiled
def _chance(probabilities, rows, row, label):  # type: ignore[no-untyped-def]
    """Look a label up in a row of a table, or where that is empty, of rows as in `LabelRows`."""
    if probabilities.size > 0:
        return probabilities[row, label]
    low, high = rows.starts[rows.source[row]], rows.starts[rows.source[row] + 1]
    stop = high
    while low < high:
        middle = (low + high) >> 1
        if rows.labels[middle] < label:
            low = middle + 1
        else:
            high = middle
    if low == stop or rows.labels[low] != label:
        return 0.0
    return (rows.counts[low] - (label == rows.own[row])) / rows.totals[row]


@compiled
def expected_sums(  # type: ignore[no-untyped-def]
    probabilities,
    rows,
    target_cell,
    target_label,
    source_start,
    source_row,
    source_records,
    aim_start,
    aim_row,
    aim_records,
    points,
    weights,
    reach,
):
    """Add up exact expectations over all targets of a draw from a table of label probabilities.

    The rows of the table that the records of a cell draw from are listed, with the numbers of such
    records, from ``source_start[cell]``; those of a target's own records from
    ``aim_start[target]``. `probabilities` is float (row, label), or empty where the table is given
    by `rows`, `LabelRows`. `target_cell` and `target_label`
    int64 (target,), all starts, rows and records int64; `points` and `weights` float64 (node,) are
    those of an integral over [0, 1]. Returns expected match risk, matches, their variance, true
    unique matches, unique matches and records with any candidate.
    """
    risk, matches, variance, true_unique, unique, reachable = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    logs = np.empty(points.size)  # log of the product over the cell's records, by node
    for target in range(target_cell.size):
        cell, label = target_cell[target], target_label[target]
        mean, certain, log_none, odds = 0.0, 0, 0.0, 0.0
        for entry in range(source_start[cell], source_start[cell + 1]):
            q = _chance(probabilities, rows, source_row[entry], label)
            records = source_records[entry]
            mean += records * q
            if q >= 1.0:
                certain += records
            elif q > 0.0:
                log_none += records * np.log1p(-q)
                odds += records * q / (1.0 - q)
        none_of_rest = np.exp(log_none)  # nobody gets the label, apart from those who must
        length = 1.0 if mean <= reach + 1.0 else reach / (mean - 1.0)
        logs[:] = 0.0
        for entry in range(source_start[cell], source_start[cell + 1]):
            q = _chance(probabilities, rows, source_row[entry], label)
            records = source_records[entry]
            if q > 0.0:
                for node in range(points.size):
                    logs[node] += records * np.log1p(-q * length * points[node])
        aims = 0
        for entry in range(aim_start[target], aim_start[target + 1]):
            q = _chance(probabilities, rows, aim_row[entry], label)
            records = aim_records[entry]
            aims += records
            matches += records * q
            variance += records * q * (1.0 - q)
            if q <= 0.0:
                continue
            inverse = 0.0  # mean of 1 / (1 + others), an integral over the nodes
            for node in range(points.size):
                others = logs[node] - np.log1p(-q * length * points[node])
                inverse += weights[node] * np.exp(others)
            risk += records * q * length * inverse
            if q >= 1.0 and certain == 1:
                true_unique += records * none_of_rest
            elif q < 1.0 and certain == 0:
                true_unique += records * none_of_rest * q / (1.0 - q)
        if certain == 0:
            unique += aims * none_of_rest * odds
            reachable -= aims * np.expm1(log_none)
        else:
            unique += aims * none_of_rest if certain == 1 else 0.0
            reachable += aims
    return risk, matches, variance, true_unique, unique, reachable
