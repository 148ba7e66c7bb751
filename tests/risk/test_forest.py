"""The forest: leaves that are small groups, predictions that are linear, parts that add up."""

from __future__ import annotations

import numpy as np

from understudy.randomness import stream
from understudy.risk.forest import LARGE, SMALLEST_NODE, TREES, Forest, grow_forest


def grown(sizes: list[int]) -> tuple[Forest, np.ndarray]:
    """Grow on twelve patterns of three variables and five labels."""
    codes = np.array([[a, b, c] for a in range(3) for b in range(2) for c in range(2)], np.int32)
    rows = stream(1, "rows").integers(1, 30, (12, 5)).astype(np.float64)
    return grow_forest(stream(2, "forest"), codes, rows, np.array(sizes)), codes


def test_leaves_are_small_groups_alike_in_what_they_were_split_by() -> None:
    sizes = [60, 80, 3, 4, 5, 35, 7, 8, 9, 10, 11, 200]
    forest, codes = grown(sizes)
    assert forest.leaf.shape == (TREES, 12)
    assert (forest.leaf[:, [0, 1, 11]] == -1).all()  # large patterns speak for themselves
    assert min(sizes[0], sizes[1], sizes[11]) >= LARGE
    for tree in forest.leaf:
        for leaf in np.unique(tree[tree >= 0]):
            members = forest.leaves[leaf]
            assert np.array_equal(members, np.flatnonzero(tree == leaf))
            assert members.size == 1 or forest.sizes[members].sum() < SMALLEST_NODE
            shared = (codes[members] == codes[members[0]]).all(axis=0)
            assert members.size == 1 or shared.any()


def test_a_prediction_is_the_mean_over_trees_of_the_leaf_of_each() -> None:
    forest, _ = grown([6] * 12)
    shares = stream(3, "shares").dirichlet(np.ones(5), 12)
    predicted = forest.predict(shares)
    for pattern in range(12):
        expected = np.mean(
            [
                shares[tree == tree[pattern]].mean(axis=0)  # patterns of one size
                for tree in forest.leaf
            ],
            axis=0,
        )
        assert np.allclose(predicted[pattern], expected)
    tables = np.stack([shares, shares[::-1]]).astype(np.float32)
    labels = np.array([4, 0])
    for pattern in (0, 7):
        of_draws = forest.predict_draws(tables, pattern, labels)
        assert np.allclose(of_draws[0], predicted[pattern, labels], atol=1e-6)


def test_a_record_changes_what_is_said_of_it_by_its_part_of_the_leaf() -> None:
    """Take a record's label from its pattern's shares, and predict again."""
    forest, _ = grown([6] * 12)
    shares = stream(3, "shares").dirichlet(np.ones(5), 12)
    pattern, label = np.array([2, 9]), np.array([1, 3])
    less = np.array([0.02, 0.05])
    first, second, error = forest.believe(shares, less, pattern, label, np.array([1, 2]))
    for index in range(2):
        changed = shares.copy()
        changed[pattern[index], label[index]] -= less[index]
        again = forest.predict(changed)[pattern[index], label[index]]
        assert np.isclose(second[index], again)
    assert np.allclose(first, forest.predict(shares)[pattern, label])
    assert 0 < error < 0.05


def test_patterns_without_rows_are_predicted_by_others() -> None:
    forest, _ = grown([0, 40, 0, 6, 6, 0, 6, 6, 60, 6, 6, 6])
    shares = np.full((12, 5), 0.2)
    shares[[0, 2, 5]] = 0.0
    assert np.allclose(forest.predict(shares), 0.2)


def test_only_large_patterns_grow_no_trees() -> None:
    forest, _ = grown([50] * 12)
    shares = stream(3, "shares").dirichlet(np.ones(5), 12)
    assert forest.leaves == []
    assert np.array_equal(forest.predict(shares), shares)
