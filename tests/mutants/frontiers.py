"""Bugs planted in the frontier, and in what its points share."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

SEARCH = "frontiers/search.py"
DIALS = "frontiers/dials.py"
REUSE_DRAWS = "synthesis/reuse_draws.py"
COARSENING = "microdata/coarsening.py"
TESTS = "tests/frontiers/test_search.py"
COARSE_TESTS = "tests/risk/test_coarsened_own_record.py"
DRAWS = "risk/left_out_draws.py"

MUTANTS = [
    Mutant(
        "frontier: the riskiest passing point is recommended",
        SEARCH,
        "_, name, _ = min(converged or passing, key=lambda entry: entry[:2])",
        "_, name, _ = max(converged or passing, key=lambda entry: entry[:2])",
        TESTS,
        "recommended",
    ),
    Mutant(
        "frontier: chains that have not converged count as any other",
        SEARCH,
        "if entry[2].measured.converged is not False]",
        "if entry[2].measured.converged is not None]",
        TESTS,
        "recommended",
    ),
    Mutant(
        "frontier: equal points dominate each other",
        SEARCH,
        "other[1] <= ratio and other[:2] != (position, ratio)",
        "other[1] <= ratio and other[2] != name",
        TESTS,
        "dominated",
    ),
    Mutant(
        "frontier: the pass limit does not draw the search",
        SEARCH,
        "crosses and high / low > NEAR",
        "crosses and high / low < NEAR",
        TESTS,
        "halves or near_the_limit",
    ),
    Mutant(
        "frontier: blocks that differ in what is fixed share names, and points are lost",
        DIALS,
        "listed.append(Curve(dials, fixed, plan.sets, apart))",
        "listed.append(Curve(dials, fixed, plan.sets))",
        TESTS,
        "what_is_fixed",
    ),
    Mutant(
        "frontier: values alike in four digits share a name",
        DIALS,
        "return short if float(short) == value else repr(value)",
        "return short",
        TESTS,
        "nearly_alike",
    ),
    Mutant(
        "frontier: two points of one name are one point",
        "frontiers/fit_points.py",
        "if points.setdefault(point.name, point).key != point.key:",
        "if points.setdefault(point.name, point).name != point.name:",
        TESTS,
        "would_have_one_name",
    ),
    Mutant(
        "frontier: a vector is written out in a name",
        DIALS,
        "if len(name) > LONGEST_NAME:",
        "if len(name) > 1000:",
        TESTS,
        "a_vector",
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
        "frontier: a larger budget counts the points of a registered frontier again",
        "study_register.py",
        'entry["study"]: int(entry.get("points", 0))',
        'entry["points"]: int(entry.get("points", 0))',
        "tests/frontiers/test_frontier.py",
        "register",
    ),
    Mutant(
        "frontier: the best order of tables counts",
        "findings/frontier_schema.py",
        "return max(self.ratios, key=",
        "return min(self.ratios, key=",
        TESTS,
        "worst_order",
    ),
    Mutant(
        "guarantee: the public page claims it of files whose seed was given by hand",
        "publishing/public_pages.py",
        "if not release.seed_drawn:",
        "if release.seed_drawn is None:",
        "tests/test_guarantee_words.py",
        "public_page",
    ),
    Mutant(
        "guarantee: the report claims it whatever declares the levels",
        "pages/sections/section_words.py",
        "    if undeclared:",
        "    if undeclared == 0:",
        "tests/pages/test_own_record_section.py",
        "guarantee",
    ),
    Mutant(
        "frontier: finished points are saved only where no worker is free",
        "frontiers/background.py",
        "or self._under_way[0].is_finished",
        "or False",
        "tests/frontiers/test_background.py",
        "saved",
    ),
    Mutant(
        "frontier: another class draw keeps the diagnostics of the first",
        REUSE_DRAWS,
        "summarize = fit.chain_draws, other.summarizer()",
        "summarize = fit.chain_draws, fit.summarizer()",
        TESTS,
        "another_class_draw",
    ),
    Mutant(
        "coarsening: a rule about a part of a merged level forbids all of it",
        COARSENING,
        "if all(old[index] in forbidden",
        "if any(old[index] in forbidden",
        TESTS,
        "merged",
    ),
    Mutant(
        "coarsening: a record is left out by the likelihood of its merged label",
        DRAWS,
        "of_record = likelihood[attacked.group, attacked.fitted_label]",
        "of_record = own",
        COARSE_TESTS,
        "likelihood",
    ),
    Mutant(
        "coarsening: groups of a pattern count alike, whatever their sizes",
        "risk/left_out.py",
        "weights = self.group_sizes[groups] / size",
        "weights = np.full(groups.size, 1.0 / groups.size)",
        COARSE_TESTS,
        "own_labels",
    ),
    Mutant(
        "coarsening: any row of a pattern is one of the person's own group",
        DRAWS,
        "if any_row is not None:",
        "if any_row is False:",
        COARSE_TESTS,
        "enumeration",
    ),
    Mutant(
        "coarsening: without a record the pattern's rows are those of its group",
        DRAWS,
        "if keeps_labels or attacked.coarsening is not None:",
        "if keeps_labels:",
        COARSE_TESTS,
        "enumeration",
    ),
    Mutant(
        "coarsening: files are simulated with one group for the whole pattern",
        DRAWS,
        "modal_of_draws(generator, attacked.parts(pattern, draws.group))",
        "modal_of_draws(generator, attacked.parts(pattern, draws.group)[:1])",
        COARSE_TESTS,
        "enumeration",
    ),
    Mutant(
        "coarsening: a merged label has the probability of its last level",
        COARSENING,
        "np.add.reduceat(table[..., order], starts, axis=-1)",
        "table[..., order][..., np.append(starts[1:], order.size) - 1]",
        COARSE_TESTS,
        "enumeration",
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
        "coarsening: what is drawn stays as fine as the fit",
        COARSENING,
        "merged[..., axis] = self.new_codes[name][codes[..., axis]]",
        "merged[..., axis] = codes[..., axis]",
        "tests/frontiers/test_coarse_points.py",
        "merges_the_sets",
    ),
    Mutant(
        "frontier: a confirmed point leads a finished search elsewhere",
        "frontiers/fit_points.py",
        "next_points(listed, self._searched(), budget",
        "next_points(listed, self._graded(), budget",
        "tests/frontiers/test_frontier.py",
        "nowhere_else",
    ),
]
