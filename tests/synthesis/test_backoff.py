"""The back-off synthesizer: its trees, its settings, its fits."""

from __future__ import annotations

import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.naive import backoff as naive
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data

import understudy as us
from understudy.errors import DataWarning, InputError, SettingError
from understudy.microdata.label_table import combined_labels, true_labels
from understudy.randomness import stream
from understudy.synthesis.backoff import sampler, splits, tree
from understudy.synthesis.backoff import synthetic_labels as backoff_labels
from understudy.synthesis.backoff.node_counts import plant
from understudy.synthesis.backoff.problem import make_problem
from understudy.synthesis.backoff.sampler import group_cells
from understudy.synthesis.backoff.tree import Rows, Tree


def invented(
    generator: np.random.Generator, columns: list[NDArray[np.int64]], labels: NDArray[np.int64]
) -> Rows:
    """Make rows of one record each, in random order."""
    order = generator.permutation(labels.size)
    return Rows(
        columns=tuple(column[order].astype(np.int32) for column in columns),
        n_levels=tuple(int(column.max()) + 1 for column in columns),
        labels=labels[order].astype(np.int32),
        counts=np.ones(labels.size, dtype=np.int64),
        n_labels=int(labels.max()) + 1,
    )


def two_kinds(generator: np.random.Generator, n_noise: int = 3, n_records: int = 4_000) -> Rows:
    """Labels depend on the kind of the first variable's six levels: even or odd."""
    first = generator.integers(0, 6, n_records)
    noise = [generator.integers(0, 2 + number % 4, n_records) for number in range(n_noise)]
    labels = (generator.geometric(0.3, n_records) + 4 * (first % 2)) % 12
    return invented(generator, [first, *noise], labels)


def leaves(grown: Tree) -> set[frozenset[int]]:
    """The leaves as sets of rows."""
    members = defaultdict(set)
    for row, leaf in enumerate(grown.leaf_of_row):
        members[leaf].add(row)
    return {frozenset(rows) for rows in members.values()}


def test_gains_follow_their_definition() -> None:
    generator = stream(321, "gains")
    table = generator.integers(0, 5, (4, 7))
    prior, weight = generator.random(7), 9.0
    grid = np.empty(splits.GRID.size)
    splits.gains_on_grid(table, prior, weight, grid)
    expected = naive.gains(table, prior.tolist(), weight, splits.GRID.tolist())
    assert np.allclose(grid, expected, rtol=1e-9, atol=1e-9)
    average = np.log(np.mean(np.exp(np.array(expected))))
    assert splits.log_average(grid) == pytest.approx(average)


def test_ways_to_group_levels_are_bounded_from_above() -> None:
    for n_levels in range(1, 9):
        for n_groups in range(1, n_levels + 1):
            exact = np.log(naive.groupings(n_levels, n_groups))
            bound = splits.log_groupings(n_levels, n_groups)
            assert exact - 1e-9 <= bound <= exact + n_levels
            if n_groups in (1, n_levels):
                assert bound == 0.0


@pytest.mark.parametrize("seed", range(12))
def test_a_split_of_merged_levels_is_that_of_its_twin(seed: int) -> None:
    """Groups, gain and concentration of seven levels of three kinds; other nodes have rows, too.

    No false alarms but where the axis is so short that twelve steps do not find it.
    """
    generator = stream(335, "merged", seed)
    kind = generator.permutation([0, 0, 0, 1, 1, 2, 2])  # (level,)
    strength = 0.2 * (seed % 4)  # from no difference to a large one
    shares = np.array([[0.5, 0.2, 0.1, 0.1, 0.1], [0.2] * 5, [0.1, 0.1, 0.1, 0.2, 0.5]])
    shares = strength * shares + (1.0 - strength) * 0.2
    sizes = generator.integers(20, 200, 7)  # (level,)
    table = generator.multinomial(sizes, shares[kind])  # (level, label)
    prior, weight = np.array([0.4, 0.3, 1.2, 0.1, 0.5, 2.0]), 6.0  # a label that is not here
    level, label = (own.astype(np.int32) for own in np.divmod(np.arange(35), 5))
    # behind the node's rows are those of another: other levels, another label
    codes = np.append(level * 2 + 1, np.zeros(9)).astype(np.int32)
    labels = np.append(label, np.full(9, 5)).astype(np.int32)
    counts = np.append(table.ravel(), np.full(9, 100))
    groups, gains = np.empty(15, dtype=np.int64), np.empty(splits.GRID.size)
    gain, n_groups, point = splits.gain_of_split(
        codes, labels, counts, np.arange(35), prior, weight, groups, gains
    )
    grid = splits.GRID.tolist()

    def averaged(of_groups: NDArray[np.int64]) -> tuple[float, int]:
        at = np.array(naive.gains(of_groups, prior[:5].tolist(), weight, grid))  # (grid point,)
        return float(np.log(np.mean(np.exp(at)))) - np.log(7), int(np.argmax(at))

    q = (table.sum(axis=0) + prior[:5]) / (table.sum() + weight)  # (label,)
    apart, best = averaged(table)
    merged = naive.merged_levels(table, q, grid[best], splits.log_groupings)
    together, best_merged = averaged(np.array([table[own].sum(axis=0) for own in merged]))
    together -= splits.log_groupings(7, len(merged))
    if together <= apart:
        together, best_merged, merged = apart, best, [[own] for own in range(7)]
    found = {frozenset(np.flatnonzero(groups[1::2] == group)) for group in range(n_groups)}
    assert found == set(map(frozenset, merged))
    assert (groups[::2] == -1).all()
    assert gain == pytest.approx(together, abs=1e-9)
    assert point == best_merged


def test_levels_with_the_same_labels_are_put_together() -> None:
    """A fixed seed; so it is with 50 others."""
    grown = tree.grow(two_kinds(stream(322, "kinds")))
    assert grown.variable[0] == 0
    assert (grown.variable >= 0).sum() == 1  # and the noise adds no depth
    assert grown.parent.size == 3
    assert len(set(grown.child[::2])) == len(set(grown.child[1::2])) == 1
    assert grown.child[0] != grown.child[1]


@pytest.mark.parametrize("n_noise", [1, 100])
def test_labels_that_depend_on_nothing_make_no_tree(n_noise: int) -> None:
    """Every pattern of a hundred variables is a single record; they end in one group.

    Splits of noise gain nothing on average: fixed seeds, and about one of fifty seeds makes one.
    """
    generator = stream(323, "nothing", n_noise)
    noise = [generator.integers(0, 3, 1_500) for _ in range(n_noise)]
    rows = invented(generator, noise, generator.integers(0, 20, 1_500))
    assert tree.grow(rows).parent.size == 1


def test_a_hundred_kept_variables_from_data_to_sets() -> None:
    """Every pattern is a single record; labels depend on one variable, and so do those of sets.

    Shares of 20 sets against what they were drawn from: 5 standard errors, below 1e-5 together.
    """
    generator = stream(334, "a hundred")
    columns = {f"v{number}": generator.integers(0, 2, 500) for number in range(100)}
    frame = pl.DataFrame(columns | {"label": generator.integers(0, 3, 500) + columns["v7"]})
    with pytest.warns(DataWarning, match="have a single record"):
        data = us.read_microdata(frame.cast(pl.String), synthesize="label")
    assert len(data.patterns) == 500
    fit = quiet_fit(us.BackoffTree(), data, seed=3)
    (grown,) = fit.cells.problem.trees
    assert [data.predictors[number] for number in grown.variable if number >= 0] == ["v7"]
    sets = quiet_sets(fit, m=20, seed=4)
    kind = data.codes("v7")
    for value in range(2):
        rows = np.flatnonzero(kind == value)
        drawn = np.bincount(sets.codes[:, rows, 0].ravel(), minlength=4)
        chances = np.zeros(4)
        for index in range(20):
            table = fit.label_table(index, 20)
            chances += table.probabilities[table.row_of_combination[data.of_record[rows]]].sum(0)
        error = np.sqrt(chances * (1 - chances / chances.sum()))
        assert np.abs((drawn - chances) / error).max() < 5
        assert drawn[3 * (1 - value)] / drawn.sum() < 0.1


def test_different_variables_split_different_branches() -> None:
    """A fixed seed: of 200 others all split so, and two in five once more by chance."""
    generator = stream(324, "branches")
    first, second, third = (generator.integers(0, 2, 6_000) for _ in range(3))
    deciding = np.where(first == 0, second, third)
    labels = 10 * first + 5 * deciding + generator.integers(0, 5, 6_000)
    grown = tree.grow(invented(generator, [first, second, third], labels))
    assert sorted(grown.variable[grown.variable >= 0]) == [0, 1, 2]
    below = grown.child[:2]
    assert {int(grown.variable[node]) for node in below} == {1, 2}


def test_a_small_effect_that_is_present_everywhere_is_found_together() -> None:
    """In each of forty groups it is too small to be seen; all of them together show it.

    A fixed seed: about one in four others splits ten groups by it or fewer, none of 30 none.
    """
    generator = stream(325, "together")
    n_records = 12_000
    group = generator.integers(0, 40, n_records)
    small = generator.integers(0, 2, n_records)
    shift = generator.random(n_records) < 0.07 * small
    labels = group // 2 * 8 + np.where(shift, 0, generator.integers(0, 8, n_records))
    grown = tree.grow(invented(generator, [group, small], labels))
    assert 1 in grown.variable[grown.depth == 1]
    assert (grown.variable[grown.depth == 1] == 1).sum() > 10


def test_growth_does_not_depend_on_numbering() -> None:
    generator = stream(326, "numbering")
    rows = two_kinds(generator)
    turned = Rows(
        columns=tuple(
            (size - 1 - column).astype(np.int32)
            for column, size in zip(rows.columns[::-1], rows.n_levels[::-1], strict=True)
        ),
        n_levels=rows.n_levels[::-1],
        labels=(rows.n_labels - 1 - rows.labels).astype(np.int32),
        counts=rows.counts,
        n_labels=rows.n_labels,
    )
    assert leaves(tree.grow(rows)) == leaves(tree.grow(turned))


def test_a_fixed_order_splits_by_every_level_in_turn() -> None:
    data = small_data()
    problem = make_problem(data, ("age", "gender"))
    (made,) = problem.trees
    patterns = data.cells(("age", "gender"))
    assert (made.variable < 0).sum() == len(patterns)
    assert made.depth.max() == 2
    assert np.bincount(made.depth).tolist() == [1, 3, 6]
    every = make_problem(data, ("age", "gender", "region"))
    ends = every.nodes(0, np.ascontiguousarray(data.combinations[:, [1, 0, 3]]))
    assert np.unique(ends).size <= len(data.patterns)
    split = {tuple(row) for row in zip(ends, data.patterns.of_combination, strict=True)}
    assert len(split) == len(data.patterns)  # a leaf never joins two patterns


def test_a_group_with_one_pattern_is_a_leaf() -> None:
    columns = [np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]), np.array([0, 0, 2, 1])]
    rows = invented(stream(327, "leaf"), columns, np.array([0, 1, 0, 1]))
    made = tree.grow(rows, order=[0, 1, 2])
    assert made.parent.size == 5  # the root, its two children, and two below the second
    assert sorted(made.depth) == [0, 1, 1, 2, 2]


def test_pairs_are_those_that_occur() -> None:
    generator = stream(328, "pairs")
    first, second = two_kinds(generator, n_records=300), two_kinds(generator, n_records=200)
    trees = [tree.grow(first, order=[0, 1, 2]), tree.grow(second, order=[1, 0])]
    forest, numbers = plant(trees, [first, second])
    assert np.array_equal(forest.parent[:2], [-1, -1])
    assert np.all(forest.parent[2:] < np.arange(2, forest.parent.size))
    node = np.repeat(np.arange(forest.parent.size), np.diff(forest.pair_start))  # (pair,)
    for number, (made, own, rows) in enumerate(zip(trees, numbers, (first, second), strict=True)):
        every, at_leaves = naive.pairs_of_rows(
            own[made.leaf_of_row].tolist(),
            rows.labels.tolist(),
            rows.counts.tolist(),
            forest.parent.tolist(),
        )
        mine = np.flatnonzero(forest.tree[node] == number)
        assert {(int(node[p]), int(forest.pair_label[p])) for p in mine} == every
        assert {
            (int(node[p]), int(forest.pair_label[p])): int(forest.counts[p])
            for p in mine
            if forest.counts[p]
        } == dict(at_leaves)
    inner = forest.pair_above >= 0
    assert np.array_equal(node[forest.pair_above[inner]], forest.parent[node[inner]])
    assert np.array_equal(forest.pair_label[forest.pair_above[inner]], forest.pair_label[inner])
    for group in range(forest.n_groups):
        own = np.arange(forest.group_start[group], forest.group_start[group + 1])
        assert np.all(forest.group[own] == group)
        assert np.unique(forest.tree[own]).size == 1


def test_patterns_without_records_end_at_their_nearest_ancestor() -> None:
    frame = pl.DataFrame(
        {"a": list("xxyyxy") * 20, "b": list("uvuuvu") * 20, "label": list("pqrpqr") * 20}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        data = us.read_microdata(frame, synthesize=["label"])
    problem = make_problem(data, ("a", "b"))
    nodes = problem.nodes(0, np.array([[1, 1], [1, 0], [0, 1]], dtype=np.int32))
    assert problem.forest.parent[nodes[0]] == 0  # no y with v: the group of y
    assert nodes[0] == nodes[1]  # which is a single pattern, and so a leaf
    assert nodes[2] not in (nodes[0], 0)


@pytest.mark.parametrize(
    "settings",
    [
        {"order": "income"},
        {"order": 3},
        {"scale": 0.0},
        {"scale": -1.0},
        {"scale": float("inf")},
        {"prior_median": 0.0},
    ],
)
def test_settings_are_checked(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError):
        us.BackoffTree(**settings)


@pytest.mark.parametrize("order", [["county"], ["agee"], ["age", "age"]])
def test_an_order_names_kept_variables_once(order: list[str]) -> None:
    with pytest.raises(SettingError):
        us.BackoffTree(order=order).fit(small_data())


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backoff_labels, "MOST_CELLS", 10)
    with pytest.raises(InputError, match="group levels"):
        quiet_fit(us.BackoffTree(order=["gender", "age"]), small_data(), seed=1)


@pytest.mark.parametrize("scale", [1.0, 0.3])
@pytest.mark.parametrize("names", [("county",), ("county", "age")])
def test_saved_in_pieces_and_threads_give_the_same_sets(
    tmp_path: Path, names: tuple[str, ...], scale: float
) -> None:
    data, settings = small_data(names), us.BackoffTree(order=["gender", "region"], scale=scale)
    plain = quiet_fit(settings, data, seed=3, threads=2)
    for _ in range(2):  # the second call finds everything done
        again = quiet_fit(settings, data, seed=3, threads=1, checkpoint=tmp_path / "run")
        assert np.array_equal(
            again.chain_draws.label_probability, plain.chain_draws.label_probability
        )
        assert np.array_equal(
            quiet_sets(again, m=4, seed=5).codes, quiet_sets(plain, m=4, seed=5).codes
        )


@pytest.mark.parametrize("names", [("county",), ("county", "age")])
def test_kept_probabilities_are_those_that_sets_are_drawn_from(names: tuple[str, ...]) -> None:
    data = small_data(names)
    fit = quiet_fit(us.BackoffTree(order=["gender", "region"]), data, seed=3)
    drawn = np.asarray(fit.draws["posterior"]["label_probability"])  # (chain, draw, pattern, label)
    every = list(fit.predictive_tables())
    numbers = [number for chain in fit.chain_draws.snapshots for number, _ in chain]
    assert len(every) == 2 * len(fit.chain_draws.snapshots[0])
    for index in (0, len(every) - 1):
        chain = index * 2 // len(every)
        assert np.allclose(every[index].sum(axis=1), 1.0)
        assert np.allclose(every[index], drawn[chain, numbers[index]], atol=1e-6)


def test_sets_follow_their_table() -> None:
    """Two variables by the chain rule: shares over 400 sets of one draw against its table.

    The region depends on the county. The largest of 144 deviations, in standard errors, below 5.5:
    false-alarm rate 1e-5.
    """
    data = small_data(("county", "region"))
    fit = quiet_fit(us.BackoffTree(order=["gender"]), data, seed=3)
    table = fit.label_table(0, 1)
    draw = fit.drawer(fit._snapshot(*fit._spread(1)[0]))
    times = 400
    seen = np.zeros((len(data.patterns), data.n_labels))
    pattern = data.patterns.of_combination[data.of_record]  # (record,)
    for number in range(times):
        codes = draw(stream(331, "sets", number), slice(None))
        np.add.at(seen, (pattern, combined_labels(data, codes)), 1)
    total = seen.sum(axis=1, keepdims=True)
    expected = table.probabilities[np.unique(data.patterns.of_combination)] * total
    error = np.sqrt(expected * (1 - expected / total)) + 0.5
    assert np.abs((seen - expected) / error).max() < 5.5


@pytest.mark.parametrize(
    ("names", "order"),
    [(("county",), ("gender", "age", "region")), (("county", "region"), ("gender", "age"))],
    ids=["one", "two"],
)
def test_the_scale_leads_from_the_pattern_to_the_marginal(
    names: tuple[str, ...], order: tuple[str, ...]
) -> None:
    """Posterior means: Perfect's table near zero, the marginal at a large scale.

    Of two variables the table of both, and the product of their marginals. 240 draws with standard
    deviations below 0.2; 0.06 is five standard errors (below 1e-5).
    """
    data = small_data(names)
    tables = {}
    for scale in (1e-7, 1.0, 1e7):
        fit = quiet_fit(us.BackoffTree(order=order, scale=scale), data, seed=3, chains=4)
        tables[scale] = np.mean(list(fit.predictive_tables()), axis=0)  # (pattern, label)
    kept = data.cells(order)
    exact = np.zeros((len(kept), data.n_labels))  # shares of labels among records with the order's
    np.add.at(exact, (kept.of_combination, true_labels(data)), data.counts)
    exact = (exact / exact.sum(axis=1, keepdims=True))[kept.of_combination]  # (combination, label)
    marginal = np.ones(1)
    for name in names:
        counts = np.bincount(data.codes(name), minlength=data.variable(name).n_levels) + 0.5
        marginal = np.outer(marginal, counts / counts.sum()).ravel()  # (label,)
    near, own, far = (tables[scale][data.patterns.of_combination] for scale in tables)
    assert np.abs(near - exact).max() < 0.06
    assert np.abs(far - marginal).max() < 0.02
    assert np.abs(own - marginal).max() > 0.05
    assert np.abs(own - exact).max() > 0.1


def test_fully_synthetic_is_one_group_for_the_first_variable() -> None:
    """Without kept variables: closed form; means of 240 draws within 5 standard errors."""
    data = small_data(("gender", "age", "county", "region"))
    fit = quiet_fit(us.BackoffTree(), data, seed=3, chains=4)
    assert fit.cells.problem.trees[0].parent.size == 1
    mean = np.mean(list(fit.predictive_tables()), axis=0)[0].reshape(2, -1).sum(axis=1)
    counts = np.bincount(data.codes("gender"), minlength=2)
    expected = (counts + 0.5) / (data.n_records + 1)
    assert np.abs(mean - expected).max() < 5 * 0.5 / np.sqrt(data.n_records * 240)


def test_whole_patterns_are_kept_where_all_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    data = small_data()
    problem = make_problem(data, ("gender", "region"))
    assert np.unique(group_cells(data, problem, 20).patterns).size > 15
    assert group_cells(data, problem, 10_000).complete
    monkeypatch.setattr(sampler, "FEW_CELLS", 100)
    some = group_cells(data, problem, 20)
    assert not some.complete
    assert some.labels.tolist() == [*range(6)] * 3
    assert np.unique(some.patterns).size == 3


def test_chains_from_far_apart_meet() -> None:
    """The default run on the small data converges; a fixed seed."""
    fit = us.BackoffTree(order=["gender", "region"]).fit(small_data(), seed=5)
    assert fit.converged
    assert {"concentration_1", "concentration_2", "log_likelihood"} == set(
        fit.draws["posterior"]
    ) - {"label_probability"}
    exported = fit.to_arviz()
    for name, drawn in fit.draws["posterior"].items():
        assert np.array_equal(exported["posterior"][name], np.asarray(drawn))


def test_a_variable_that_follows_from_those_before_adds_no_depth() -> None:
    """Two depths of the same groups would leave their concentrations to trade places."""
    generator = stream(333, "nested")
    town, age = generator.integers(0, 6, 600), generator.integers(0, 3, 600)
    rows = invented(generator, [town, town // 2, age], generator.integers(0, 4, 600))
    nested = tree.grow(rows, order=[0, 1, 2])
    assert sorted(set(nested.depth)) == [0, 1, 3]
    assert leaves(nested) == leaves(tree.grow(rows, order=[0, 2]))
    forest, _ = plant([nested], [rows])
    assert forest.n_groups == 2
    assert np.diff(forest.group_start).tolist() == [6, 18]
