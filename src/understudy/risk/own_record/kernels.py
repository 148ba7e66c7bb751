"""Compiled loops of the own-record effect: votes, modal guesses, matches in one file and in all.

One file, because a compiled function's cache does not notice changes in other files. Slow twins
are in ``tests/naive/risk.py``.
"""

from __future__ import annotations

import numpy as np

from understudy.compiling import compiled

__all__ = ["match_all_files", "match_integrals", "vote_chances"]

TIE = 1e-12  # scores closer than this, relatively, are the same number


@compiled
def vote_chances(cumulative, row, true, uniform, chance):  # type: ignore[no-untyped-def]
    """Draw m labels from a row of cumulative probabilities and vote, several times.

    Parameters
    ----------
    cumulative : float64 (row, label)
        The last entry of each row is 1.
    row, true : int64 (combination,)
        Which row a record of the combination draws from, and its label.
    uniform : float64 (combination, repeat, file)
        Numbers that decide on the labels.
    chance : float64 (combination, repeat)
        Filled with the chance that the most frequent label is the true one, ties broken at random.
    """
    n_combinations, n_repeats, n_files = uniform.shape
    labels = np.empty(n_files, dtype=np.int64)
    for combination in range(n_combinations):
        own = cumulative[row[combination]]
        above = own[true[combination]]
        below = own[true[combination] - 1] if true[combination] > 0 else 0.0
        for repeat in range(n_repeats):
            for_true = 0  # most votes have none and need no further look
            for file in range(n_files):
                if below <= uniform[combination, repeat, file] < above:
                    for_true += 1
            if for_true == 0:
                chance[combination, repeat] = 0.0
                continue
            for file in range(n_files):
                low, high = 0, own.size - 1
                while low < high:
                    middle = (low + high) >> 1
                    if own[middle] > uniform[combination, repeat, file]:
                        high = middle
                    else:
                        low = middle + 1
                labels[file] = low
            n_tied = 1
            for file in range(n_files):
                if for_true == 0:
                    break
                label, votes, seen = labels[file], 0, False
                if label == true[combination]:
                    continue
                for other in range(n_files):
                    if labels[other] == label:
                        votes += 1
                        if other < file:
                            seen = True
                if seen:
                    continue
                if votes > for_true:
                    for_true = 0
                elif votes == for_true:
                    n_tied += 1
            chance[combination, repeat] = 1.0 / n_tied if for_true > 0 else 0.0


@compiled
def modal_chances(made, ratio, label, chance):  # type: ignore[no-untyped-def]
    """Guess the most frequent label of every release, seen with the weights of each combination.

    Parameters
    ----------
    made : float64 (release, label)
        How often each label was drawn.
    ratio : float64 (combination, label)
        What these numbers are multiplied by.
    label : int64 (combination,)
        True labels.
    chance : float64 (release, combination)
        Filled with the chance that the guess is right, ties broken at random.
    """
    for combination in range(label.size):
        weights, true = ratio[combination], label[combination]
        for release in range(made.shape[0]):
            counts = made[release]
            own, most = counts[true] * weights[true], 0.0
            for other in range(weights.size):
                number = counts[other] * weights[other]
                most = max(most, number)
                if number * (1.0 - TIE) > own:
                    break
            least, n_tied = most * (1.0 - TIE), 0
            if own >= least:
                for other in range(weights.size):
                    if counts[other] * weights[other] >= least:
                        n_tied += 1
            chance[release, combination] = 1.0 / n_tied if n_tied > 0 else 0.0


@compiled
def match_integrals(  # type: ignore[no-untyped-def]
    probabilities,
    sizes,
    cell_start,
    cell_pattern,
    target_start,
    target_cell,
    target_label,
    pattern,
    left_out,
    points,
    weights,
    reach,
    integral,
):
    """Mean of 1 / (1 + X), X the other records of the known cell that draw the record's label.

    Parameters
    ----------
    probabilities : float64 (pattern, label)
        What the records of each pattern draw from.
    sizes : int64 (pattern,)
        Records of each pattern.
    cell_start, cell_pattern : int64 (cell + 1,), (entry,)
        Where each known cell's list of patterns begins, and the lists.
    target_start, target_cell, target_label : int64 (target + 1,), (target,), (target,)
        Where each target's combinations begin, and its known cell and label.
    pattern : int64 (combination,)
        Pattern of each combination, in the order of targets.
    left_out : float64 (combination,)
        Probability that the others of the pattern draw the label, had the record been left out;
        negative where it is that of `probabilities`.
    points, weights, reach : float64 (node,), (node,), float
        Of the integral over [0, 1], and how far it is taken.
    integral : float64 (combination,)
        Filled with the mean, in the order of targets.
    """
    logs = np.empty(points.size)
    for target in range(target_cell.size):
        cell, label = target_cell[target], target_label[target]
        mean = 0.0
        for entry in range(cell_start[cell], cell_start[cell + 1]):
            mean += sizes[cell_pattern[entry]] * probabilities[cell_pattern[entry], label]
        length = 1.0 if mean <= reach + 1.0 else reach / (mean - 1.0)
        logs[:] = 0.0
        for entry in range(cell_start[cell], cell_start[cell + 1]):
            q = probabilities[cell_pattern[entry], label]
            if q > 0.0:
                for node in range(points.size):
                    logs[node] += sizes[cell_pattern[entry]] * np.log1p(-q * length * points[node])
        for combination in range(target_start[target], target_start[target + 1]):
            own = pattern[combination]
            q = probabilities[own, label]
            total = 0.0
            for node in range(points.size):
                step = length * points[node]
                others = logs[node]
                if left_out[combination] < 0.0:
                    others -= np.log1p(-q * step)
                else:
                    others -= sizes[own] * np.log1p(-q * step)
                    others += (sizes[own] - 1) * np.log1p(-left_out[combination] * step)
                total += weights[node] * np.exp(others)
            integral[combination] = length * total


@compiled
def match_all_files(  # type: ignore[no-untyped-def]
    records, of_record, matched, counts, start, entry_row, entry_file, hits, success
):
    """Chance of finding records by match probabilities averaged over the files.

    Each record's own rows are replaced: `hits` says in which files they have the true label.

    Parameters
    ----------
    records : int64 (attacked,)
        Records that are looked for.
    of_record : int32 (record,)
        Target of each record.
    matched : int32 (file, record)
        Target that each row equals, -1 for none.
    counts : int64 (file, target)
        Rows that equal each target.
    start, entry_row, entry_file : int64 (target + 1,), (entry,), (entry,)
        The rows that equal each target in some file, and the files, rows together.
    hits : bool (attacked, file)
        Whether the record's own row has the true label.
    success : float64 (attacked,)
        Filled with the chance.
    """
    n_files = matched.shape[0]
    inverse = np.empty(n_files)  # 1 / candidates, by file
    for attacked in range(records.size):
        record = records[attacked]
        target = of_record[record]
        own = 0.0
        for file in range(n_files):
            candidates = counts[file, target]
            if matched[file, record] == target:
                candidates -= 1
            if hits[attacked, file]:
                candidates += 1
            inverse[file] = 1.0 / max(candidates, 1)
            if hits[attacked, file]:
                own += inverse[file]
        if own == 0.0:
            success[attacked] = 0.0
            continue
        n_tied, beaten = 1, False
        entry = start[target]
        while entry < start[target + 1] and not beaten:
            row, score = entry_row[entry], 0.0
            while entry < start[target + 1] and entry_row[entry] == row:
                score += inverse[entry_file[entry]]
                entry += 1
            if row == record:
                continue
            if score > own * (1.0 + TIE):
                beaten = True
            elif score >= own * (1.0 - TIE):
                n_tied += 1
        success[attacked] = 0.0 if beaten else 1.0 / n_tied
