"""Bugs planted in frontiers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

MUTANTS = [
    Mutant(
        "frontier: the riskiest passing point is recommended",
        "frontiers/search.py",
        "_, name, _ = min(converged or passing, key=lambda entry: entry[:2])",
        "_, name, _ = max(converged or passing, key=lambda entry: entry[:2])",
        "tests/frontiers/test_search.py",
        "recommended",
    ),
    Mutant(
        "frontier: chains that have not converged count as any other",
        "frontiers/search.py",
        "if entry[2].measured.converged is not False]",
        "if entry[2].measured.converged is not None]",
        "tests/frontiers/test_search.py",
        "recommended",
    ),
    Mutant(
        "frontier: equal points dominate each other",
        "frontiers/search.py",
        "other[1] <= ratio and other[:2] != (position, ratio)",
        "other[1] <= ratio and other[2] != name",
        "tests/frontiers/test_search.py",
        "dominated",
    ),
    Mutant(
        "frontier: the pass limit does not draw the search",
        "frontiers/search.py",
        "crosses and high / low > NEAR",
        "crosses and high / low < NEAR",
        "tests/frontiers/test_search.py",
        "halves or near_the_limit",
    ),
    Mutant(
        "frontier: blocks that differ in what is fixed share names, and points are lost",
        "frontiers/dials.py",
        "listed.append(Curve(dials, fixed, plan.sets, apart))",
        "listed.append(Curve(dials, fixed, plan.sets))",
        "tests/frontiers/test_search.py",
        "what_is_fixed",
    ),
    Mutant(
        "frontier: values alike in four digits share a name",
        "frontiers/dials.py",
        "return short if float(short) == value else repr(value)",
        "return short",
        "tests/frontiers/test_search.py",
        "nearly_alike",
    ),
    Mutant(
        "frontier: a vector is written out in a name",
        "frontiers/dials.py",
        "if len(name) > LONGEST_NAME:",
        "if len(name) > 1000:",
        "tests/frontiers/test_search.py",
        "a_vector",
    ),
    Mutant(
        "frontier: two points of one name are one point",
        "frontiers/fit_points.py",
        "if points.setdefault(point.name, point).key != point.key:",
        "if points.setdefault(point.name, point).name != point.name:",
        "tests/frontiers/test_search.py",
        "would_have_one_name",
    ),
    Mutant(
        "frontier: the plan of the chosen point does not name its frontier",
        "frontiers/fit_points.py",
        '"frontier": FrontierPlan(folder=self.named),',
        '"frontier": FrontierPlan(),',
        "tests/frontiers/test_frontier.py",
        "board_picks",
    ),
    Mutant(
        "coarsening: a chosen point is a plan without its larger levels",
        "frontiers/fit_points.py",
        'update={"coarsen": self._steps(measured.coarsen)}',
        'update={"coarsen": self.plan.data.coarsen}',
        "tests/frontiers/test_frontier.py",
        "board_picks",
    ),
    Mutant(
        "frontier: a confirmed point leads a finished search elsewhere",
        "frontiers/fit_points.py",
        "next_points(listed, self._searched(), budget",
        "next_points(listed, self._graded(), budget",
        "tests/frontiers/test_frontier.py",
        "nowhere_else",
    ),
    Mutant(
        "frontier: finished points are saved only where no worker is free",
        "frontiers/background.py",
        "or self._under_way[0].is_finished",
        "or False",
        "tests/frontiers/test_background.py",
        "saved",
    ),
]
