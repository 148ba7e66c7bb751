"""The forest: leaves that are small groups, predictions that are linear, parts that add up."""

from __future__ import annotations

import numpy as np
import pytest
from tests.naive.forest import grow_naively, predict_naively

import understudy as us
from understudy.microdata.label_rows import dense_rows, others_table, perfect_table, whole_table
from understudy.microdata.label_table import true_labels
from understudy.randomness import stream
from understudy.risk import baseline_draws, prediction
from understudy.risk.forest import LARGE, SMALLEST_NODE, TREES, Forest, grow_forest


def grown(sizes: list[int]) -> tuple[Forest, np.ndarray]:
    """Grow on twelve patterns of three variables and five labels."""
    codes = np.array([[a, b, c] for a in range(3) for b in range(2) for c in range(2)], np.int32)
    rows = stream(1, "rows").integers(1, 30, (12, 5)).astype(np.float64)
    return grow_forest(
        stream(2, "forest"), codes, dense_rows(rows), np.ones(12), np.array(sizes), 5
    ), codes


def test_leaves_are_small_groups_alike_in_what_they_were_split_by() -> None:
    sizes = [60, 80, 3, 4, 5, 35, 7, 8, 9, 10, 11, 200]
    forest, codes = grown(sizes)
    assert forest.leaf.shape == (TREES, 12)
    assert (forest.leaf[:, [0, 1, 11]] == -1).all()  # large patterns speak for themselves
    assert min(sizes[0], sizes[1], sizes[11]) >= LARGE
    for tree in forest.leaf:
        for leaf in np.unique(tree[tree >= 0]):
            members = forest.members_of(leaf)
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
    assert forest.members.size == 0
    assert np.array_equal(forest.predict(shares), shares)


@pytest.mark.parametrize("empty", [0, 7])
def test_trees_are_those_of_the_slow_twin(empty: int) -> None:
    """On the bundled data, and with patterns that no record has."""
    data, made = us.load_ce_like(), stream(5, "twin")
    sizes = data.patterns.sizes.copy()
    sizes[made.permutation(sizes.size)[:empty]] = 0
    shares = whole_table(perfect_table(data).rows, data.n_labels)
    rows = shares * (3 * sizes)[:, None]
    codes = data.patterns.codes
    forest = grow_forest(
        stream(6, "twin"), codes, dense_rows(rows), np.ones(sizes.size), sizes, data.n_labels
    )
    twin = grow_naively(stream(6, "twin"), codes, rows, sizes, TREES, LARGE, SMALLEST_NODE)
    leaves = [members for tree in twin for members in tree]
    assert len(leaves) == forest.leaf_starts.size - 1 > TREES
    assert np.array_equal(np.concatenate(leaves), forest.members)
    predicted = predict_naively(twin, shares, sizes)
    assert np.allclose(forest.predict(shares), predicted, rtol=1e-12)
    pattern, label = data.patterns.of_combination, true_labels(data)
    pairs = forest.predict_pairs(dense_rows(shares), data.n_labels, pattern, label)
    assert np.allclose(pairs, predicted[pattern, label], rtol=1e-12)


def test_the_rows_of_files_are_what_dense_tables_counted() -> None:
    data = us.load_ce_like()
    sets = us.Marginal().fit(data).synthesize(3, seed=1)
    rows = prediction.pooled_rows(data, data, sets)
    table = np.zeros((len(data.patterns), data.n_labels))
    pattern = data.patterns.of_combination[data.of_record]
    for codes in sets.codes[:, :, 0]:
        np.add.at(table, (pattern, codes), 1)
    counted = whole_table(rows._replace(totals=np.ones(len(table))), data.n_labels)
    assert np.array_equal(counted, table)
    assert np.array_equal(rows.totals, table.sum(axis=1))


@pytest.mark.parametrize("name", ["Others", "Perfect"])
def test_a_baseline_is_to_the_model_what_its_table_is(name: str) -> None:
    """The rows that the model expects of each pattern, against the mean of its records' rows."""
    data = us.load_ce_like()
    table = {"Others": others_table, "Perfect": perfect_table}[name](data)
    of_combination = whole_table(table.rows, data.n_labels)[table.row_of_combination]
    expected = np.zeros((len(data.patterns), data.n_labels))
    np.add.at(expected, data.patterns.of_combination, of_combination * data.counts[:, None])
    expected /= data.patterns.sizes[:, None]
    rows = whole_table(baseline_draws._pattern_rows(data, table), data.n_labels)
    assert np.allclose(rows, expected, rtol=1e-12)
