"""Growing a tree and predicting from leaves, compiled; `tests.naive.forest` is the slow twin.

A pattern's labels are a row of `LabelRows`; see there.

Kernels share these arguments: `generator` (Generator), `codes` and `levels` int32, (pattern,
variable) and (pattern,), `filled` int64 (pattern,) patterns with records, `n_levels` int, `sizes`
int64 (pattern,), `rows` (`LabelRows`), `members` int64 (member,), `leaf_starts`, `group_starts` and
`starts` int64, one longer than what they cut; `ordered` int64 (pattern,), `n_labels` int, `leaf`
int64 (tree, pattern).
"""

from __future__ import annotations

import numpy as np

from understudy.compiling import compiled

__all__ = ["grow_tree", "predict_pairs", "predict_rows", "resample"]


@compiled
def resample(generator, rows, weights):  # type: ignore[no-untyped-def]
    """Draw Poisson numbers of rows with each label, with means weight times share.

    `weights` float64 (row,). Returns starts int64 (row + 1,), labels int32 (entry,) and counts
    float64 (entry,) of what was drawn and is not zero. A mean of zero uses no random number.
    """
    n_rows = rows.source.size
    new_starts = np.zeros(n_rows + 1, dtype=np.int64)
    new_labels = np.empty(1024, dtype=np.int32)
    new_counts = np.empty(1024, dtype=np.float64)
    size = 0
    for row in range(n_rows):
        first, last = rows.starts[rows.source[row]], rows.starts[rows.source[row] + 1]
        if size + last - first > new_labels.size:
            capacity = max(2 * new_labels.size, size + last - first)
            more_labels = np.empty(capacity, dtype=np.int32)
            more_counts = np.empty(capacity, dtype=np.float64)
            more_labels[:size] = new_labels[:size]
            more_counts[:size] = new_counts[:size]
            new_labels, new_counts = more_labels, more_counts
        for entry in range(first, last):
            count = rows.counts[entry] - (rows.labels[entry] == rows.own[row])
            share = count / rows.totals[row]
            drawn = generator.poisson(share * weights[row])
            if drawn > 0:
                new_labels[size] = rows.labels[entry]
                new_counts[size] = drawn
                size += 1
        new_starts[row + 1] = size
    return new_starts, new_labels[:size], new_counts[:size]


@compiled
def _varying(codes, filled):  # type: ignore[no-untyped-def]
    """List the variables of `codes` (pattern, variable) in which some patterns differ."""
    varies = np.empty(codes.shape[1], dtype=np.int64)
    n_varying = 0
    for variable in range(codes.shape[1]):
        for index in range(1, filled.size):
            if codes[filled[index], variable] != codes[filled[0], variable]:
                varies[n_varying] = variable
                n_varying += 1
                break
    return varies[:n_varying]


@compiled
def _grouped(levels, members, n_levels):  # type: ignore[no-untyped-def]
    """Sort some patterns by level, int32 (pattern,): members, and starts (level + 1,)."""
    starts = np.zeros(n_levels + 1, dtype=np.int64)
    for index in range(members.size):
        starts[levels[members[index]] + 1] += 1
    for level in range(n_levels):
        starts[level + 1] += starts[level]
    behind = starts[:-1].copy()
    ordered = np.empty_like(members)
    for index in range(members.size):
        level = levels[members[index]]
        ordered[behind[level]] = members[index]
        behind[level] += 1
    return ordered, starts


@compiled
def _purity(ordered, group_starts, starts, labels, counts, inside, touched):  # type: ignore[no-untyped-def]
    """Sum over groups of patterns the sum of squares over the sum of their labels' counts.

    `inside` float64 (label,) is zero before and after; `touched` int64 (label,) is scratch.
    """
    purity = 0.0
    for group in range(group_starts.size - 1):
        if group_starts[group] == group_starts[group + 1]:
            continue
        n_touched = 0
        for index in range(group_starts[group], group_starts[group + 1]):
            pattern = ordered[index]
            for entry in range(starts[pattern], starts[pattern + 1]):
                if inside[labels[entry]] == 0.0:
                    touched[n_touched] = labels[entry]
                    n_touched += 1
                inside[labels[entry]] += counts[entry]
        squares, total = 0.0, 0.0
        for index in range(n_touched):
            squares += inside[touched[index]] ** 2
            total += inside[touched[index]]
            inside[touched[index]] = 0.0
        purity += squares / max(total, 1.0)
    return purity


@compiled
def _parted(members, sizes):  # type: ignore[no-untyped-def]
    """Part patterns into those with records and those without."""
    n_filled = 0
    for index in range(members.size):
        n_filled += sizes[members[index]] > 0
    filled = np.empty(n_filled, dtype=np.int64)
    empty = np.empty(members.size - n_filled, dtype=np.int64)
    n_filled = 0
    for index in range(members.size):
        if sizes[members[index]] > 0:
            filled[n_filled] = members[index]
            n_filled += 1
        else:
            empty[index - n_filled] = members[index]
    return filled, empty


@compiled
def _best_split(tried, codes, filled, n_levels, starts, labels, counts, inside, touched):  # type: ignore[no-untyped-def]
    """Group patterns by the purest of the variables `tried`, int64, as `_grouped` does.

    `starts`, `labels` and `counts` are as in `grow_tree`, `inside` and `touched` as in `_purity`.
    """
    best = -1.0
    ordered, group_starts = _grouped(codes[:, tried[0]], filled, n_levels[tried[0]])
    for variable in tried:
        new_order, new_starts = _grouped(codes[:, variable], filled, n_levels[variable])
        purity = _purity(new_order, new_starts, starts, labels, counts, inside, touched)
        if purity > best:
            best, ordered, group_starts = purity, new_order, new_starts
    return ordered, group_starts


@compiled
def _largest(ordered, group_starts, sizes):  # type: ignore[no-untyped-def]
    """Find the group with the most records."""
    largest, most = 0, -1
    for group in range(group_starts.size - 1):
        records = 0
        for index in range(group_starts[group], group_starts[group + 1]):
            records += sizes[ordered[index]]
        if records > most:
            largest, most = group, records
    return largest


@compiled
def grow_tree(  # type: ignore[no-untyped-def]
    generator, codes, n_levels, starts, labels, counts, n_labels, sizes, large, smallest
):
    """Grow one tree and give its leaves that have small patterns.

    Parameters
    ----------
    generator : numpy.random.Generator
        Chooses variables to split by.
    codes : int32 (pattern, variable)
        Kept variables of the patterns.
    n_levels : int64 (variable,)
        How many levels each has.
    starts, labels, counts : int64 (pattern + 1,), int32 (entry,), float64 (entry,)
        Resampled rows.
    n_labels : int
        How many labels there are.
    sizes : int64 (pattern,)
        Records.
    large, smallest : int
        Records from which a pattern is large, and below which a group is not split.

    Returns
    -------
    members : int64 (member,)
        Patterns, leaf by leaf.
    leaf_starts : int64 (leaf + 1,)
        Where each leaf's members begin.
    """
    n_patterns = sizes.size
    inside, touched = np.zeros(n_labels), np.empty(n_labels, dtype=np.int64)
    order = np.arange(n_patterns)  # nodes are stretches of it
    begins = np.zeros(n_patterns + 1, dtype=np.int64)  # of the nodes to look at, the next one last
    ends = np.full(n_patterns + 1, n_patterns, dtype=np.int64)
    depth = 1
    members = np.empty(n_patterns, dtype=np.int64)
    leaf_starts = np.zeros(n_patterns + 1, dtype=np.int64)
    n_leaves = 0
    while depth > 0:
        depth -= 1
        begin, end = begins[depth], ends[depth]
        node = order[begin:end].copy()
        has_small, records = False, 0
        for index in range(node.size):
            records += sizes[node[index]]
            if sizes[node[index]] < large:
                has_small = True
        if not has_small:
            continue
        filled, empty = _parted(node, sizes)
        varies = _varying(codes, filled)
        if varies.size == 0 or records < smallest:
            first = leaf_starts[n_leaves]
            members[first : first + node.size] = node
            n_leaves += 1
            leaf_starts[n_leaves] = first + node.size
            continue
        tried = generator.permutation(varies)[: (varies.size + 1) // 2]
        ordered, group_starts = _best_split(
            tried, codes, filled, n_levels, starts, labels, counts, inside, touched
        )
        largest = _largest(ordered, group_starts, sizes)
        behind, base = begin, depth
        for group in range(group_starts.size - 1):
            inner = ordered[group_starts[group] : group_starts[group + 1]]
            if inner.size == 0:
                continue
            stop = behind + inner.size
            order[behind:stop] = inner
            if group == largest:
                order[stop : stop + empty.size] = empty
                stop += empty.size
            begins[depth], ends[depth] = behind, stop
            depth += 1
            behind = stop
        begins[base:depth] = begins[base:depth][::-1].copy()  # the first group is looked at first
        ends[base:depth] = ends[base:depth][::-1].copy()
    return members[: leaf_starts[n_leaves]], leaf_starts[: n_leaves + 1]


@compiled
def predict_pairs(  # type: ignore[no-untyped-def]
    leaf, leaf_starts, members, sizes, rows, n_labels, pair_starts, pair_label
):
    """Predict some labels of every pattern from the shares of all, float64 (pair,).

    `leaf` int64 (tree, pattern) is -1 for large patterns; the leaves' members come as from
    `grow_tree`; `pair_label` int64 (pair,) are asked for, pattern by pattern from `pair_starts`
    int64 (pattern + 1,).
    """
    predicted = np.zeros(pair_label.size)
    inside, seen = np.zeros(n_labels), np.full(n_labels, -1)  # (label,) shares, and in which group
    n_leaves, n_trees = leaf_starts.size - 1, leaf.shape[0]
    for group in range(n_leaves + sizes.size):
        alone = group - n_leaves  # a large pattern stands for itself
        if alone >= 0 and leaf[0, alone] >= 0:
            continue
        first, last = (
            (alone, alone + 1) if alone >= 0 else (leaf_starts[group], leaf_starts[group + 1])
        )
        records = 0
        for index in range(first, last):
            records += sizes[members[index]] if alone < 0 else 1
        for index in range(first, last):
            row = members[index] if alone < 0 else alone
            part = sizes[row] / max(records, 1) if alone < 0 else 1.0
            if part == 0.0 or rows.totals[row] == 0.0:
                continue
            source = rows.source[row]
            for entry in range(rows.starts[source], rows.starts[source + 1]):
                label = rows.labels[entry]
                if seen[label] != group:
                    seen[label], inside[label] = group, 0.0
                inside[label] += (
                    part * (rows.counts[entry] - (label == rows.own[row])) / rows.totals[row]
                )
        for index in range(first, last):
            row = members[index] if alone < 0 else alone
            if alone < 0 and leaf[0, row] < 0:
                continue  # a large pattern, in a leaf for those without records
            for pair in range(pair_starts[row], pair_starts[row + 1]):
                if seen[pair_label[pair]] == group:
                    weight = 1.0 if alone >= 0 else 1.0 / n_trees
                    predicted[pair] += weight * inside[pair_label[pair]]
    return predicted


@compiled
def predict_rows(leaf, leaf_starts, members, sizes, shares):  # type: ignore[no-untyped-def]
    """Predict all columns of every pattern from the shares of all, both float64 (pattern, column).

    The others as in `predict_pairs`.
    """
    predicted = shares.copy()
    inside = np.zeros(shares.shape[1])
    for pattern in range(sizes.size):
        if leaf[0, pattern] >= 0:
            predicted[pattern] = 0.0
    for number in range(leaf_starts.size - 1):
        inside[:] = 0.0
        records = 0
        for index in range(leaf_starts[number], leaf_starts[number + 1]):
            records += sizes[members[index]]
        for index in range(leaf_starts[number], leaf_starts[number + 1]):
            part = sizes[members[index]] / max(records, 1)
            for column in range(shares.shape[1]):
                inside[column] += part * shares[members[index], column]
        for index in range(leaf_starts[number], leaf_starts[number + 1]):
            if leaf[0, members[index]] >= 0:
                for column in range(shares.shape[1]):
                    predicted[members[index], column] += inside[column] / leaf.shape[0]
    return predicted
