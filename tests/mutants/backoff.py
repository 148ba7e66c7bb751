"""Bugs planted in the back-off tree."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

GIBBS = "synthesis/backoff/gibbs.py"
SPLITS = "synthesis/backoff/splits.py"
TREE = "synthesis/backoff/tree.py"
LABELS = "synthesis/backoff/labels.py"
FOREST = "synthesis/backoff/node_counts.py"
EXACT = "tests/statistics/test_backoff_exact.py"
JOINT = "tests/statistics/test_backoff_joint.py"
FIT = "tests/synthesis/test_backoff.py"

MUTANTS = [
    Mutant(
        "backoff: a block's candidates are all kept",
        GIBBS,
        "if generator.random() * high < excess:",
        "if excess >= 0.0:",
        EXACT,
        "tables",
    ),
    Mutant(
        "backoff: customers beyond the first few are forgotten",
        GIBBS,
        "    while first < customers:",
        "    while first + 100 < customers:",
        EXACT,
        "number_of_tables",
    ),
    Mutant(
        "backoff: sure tables with the first customer's probability",
        GIBBS,
        "low = mass / (mass + last)",
        "low = mass / (mass + first + 1)",
        EXACT,
        "tables",
    ),
    Mutant(
        "backoff: the first customer may open a second table, or none",
        GIBBS,
        "    for customer in range(1, customers):",
        "    for customer in range(0, customers):",
        EXACT,
        "number_of_tables",
    ),
    Mutant(
        "backoff: marginal without the records of single pairs",
        GIBBS,
        "total = n_single * np.log(concentration)",
        "total = 0.0 * n_single",
        EXACT,
        "density or exact_posterior",
    ),
    Mutant(
        "backoff: marginal with the node's own probability",
        GIBBS,
        "shares[n_more] = probability[forest.pair_above[pair]]",
        "shares[n_more] = probability[pair]",
        EXACT,
        "density or exact_posterior",
    ),
    Mutant(
        "backoff: Stirling's series with a wrong sign",
        GIBBS,
        "series = (b - a) / 12.0 -",
        "series = (a - b) / 12.0 -",
        EXACT,
        "log_rising",
    ),
    Mutant(
        "backoff: prior of the concentration instead of its logarithm's",
        GIBBS,
        "return -apart - 2.0 * np.log1p(np.exp(-apart))",
        "return -apart - np.log1p(np.exp(-apart))",
        EXACT,
        "density or prior",
    ),
    Mutant(
        "backoff: every proposal is accepted",
        GIBBS,
        "if np.log1p(-generator.random()) < proposed - density:",
        "if proposed > -1e300:",
        EXACT,
        "prior or exact_posterior",
    ),
    Mutant(
        "backoff: tables of one sweep stay for the next",
        GIBBS,
        "        records[pair] = forest.counts[pair]",
        "        records[pair] = max(forest.counts[pair], records[pair])",
        EXACT,
        "exact_posterior or infinite",
    ),
    Mutant(
        "backoff: labels that nobody has get no share",
        GIBBS,
        "total += generator.standard_gamma(c * left)",
        "total += 0.0 * generator.standard_gamma(c * left)",
        EXACT,
        "dirichlet or exact_posterior",
    ),
    Mutant(
        "backoff: labels that nobody has get no share at the root",
        GIBBS,
        "n_empty = forest.n_possible[forest.tree[node]] - (last - first)",
        "n_empty = 0 * forest.n_labels[forest.tree[node]]",
        JOINT,
        "joint_distribution or ranks",
    ),
    Mutant(
        "backoff: distributions without their parents",
        GIBBS,
        "generator.standard_gamma(c * share + records[pair])",
        "generator.standard_gamma(0.5 + records[pair])",
        EXACT,
        "dirichlet",
    ),
    Mutant(
        "backoff: whole distributions with the concentration of the first group",
        LABELS,
        "c = concentration[forest.group[node]]",
        "c = concentration[0]",
        EXACT,
        "dirichlet",
    ),
    Mutant(
        "backoff: whole distributions forget the records",
        LABELS,
        "rows[row, forest.pair_label[pair]] += records[pair]",
        "rows[row, forest.pair_label[pair]] += 1",
        EXACT,
        "dirichlet",
    ),
    Mutant(
        "backoff: the second variable is drawn given the true first one",
        LABELS,
        "            drawn[:, data.synthesized.index(name)]\n            if name in",
        "            data.codes(name)\n            if name in",
        FIT,
        "follow_their_table",
    ),
    Mutant(
        "backoff: all draws have the same key",
        LABELS,
        "seed = int(draw.key[0]) << 64 | int(draw.key[1])",
        "seed = 0 * int(draw.key[0])",
        FIT,
        "fully_synthetic",
    ),
    Mutant(
        "backoff: an unknown level goes to the first child",
        TREE,
        "            if below < 0:\n                break\n",
        "            below = max(below, tree.child.max())\n",
        FIT,
        "nearest_ancestor or fixed_order",
    ),
    Mutant(
        "backoff: levels grouped at no cost",
        SPLITS,
        "    if n_groups in (1, n_levels):\n        return 0.0",
        "    if n_groups > 0:\n        return 0.0",
        FIT,
        "ways_to_group",
    ),
    Mutant(
        "backoff: parts predict themselves",
        SPLITS,
        "rest = whole[label] - n + prior[label]",
        "rest = whole[label] + prior[label]",
        FIT,
        "gains_follow",
    ),
    Mutant(
        "backoff: the choice among variables costs nothing and every split is made",
        TREE,
        "return float(np.log(max(n_possible, 1)) + MARGIN)",
        "return -50.0 + 0 * n_possible",
        FIT,
        "make_no_tree or put_together",
    ),
    Mutant(
        "backoff: nodes do not help each other",
        TREE,
        "    _split_like_others(rows, layer, splits, gains, n_possible)\n"
        "    _split_together(rows, layer, splits, gains)\n",
        "",
        FIT,
        "found_together",
    ),
    Mutant(
        "backoff: pairs of inner nodes above the parent are missing",
        FOREST,
        "    for _ in range(deepest):",
        "    for _ in range(min(deepest, 1)):",
        FIT,
        "pairs_are_those",
    ),
    Mutant(
        "backoff: the scale reaches the labels but not the tables",
        GIBBS,
        "draw_tables(generator, forest, scaled, state.scaled_records, state.scaled_probability)",
        "draw_tables(generator, forest, state.concentration, state.scaled_records, "
        "state.scaled_probability)",
        FIT,
        "scale_leads",
    ),
    Mutant(
        "backoff: a cell has the factor of the last variable alone",
        LABELS,
        "chances *= factor(every, rows, at, levels[tree], possible[tree])",
        "chances = factor(every, rows, at, levels[tree], possible[tree])",
        FIT,
        "sets_follow",
    ),
    Mutant(
        "backoff: a table of patterns by labels is asked for in vain",
        "synthesis/backoff/model.py",
        "whole_tables: ClassVar[bool] = False",
        "whole_tables: ClassVar[bool] = True",
        "tests/test_memory.py",
        "tables_of_all_labels",
    ),
    Mutant(
        "backoff: a root's prior count of one half becomes one",
        TREE,
        "ROOT_PRIOR = 0.5",
        "ROOT_PRIOR = 1.0",
        EXACT,
        "without_records or one_level",
    ),
]
