"""Planted bugs: each must break a test. ``python tests/mutants.py [WORD]`` shows all are caught.

Every mutant is one change of a few characters in a copy of the package. The tests named beside it
are run on the copy and must fail; before that they are run on an unchanged copy and must pass. With
a word, only the mutants whose description holds it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DPMPM = "synthesis/dpmpm/"
ENUMERATION = "tests/statistics/test_enumeration.py"
CONDITIONALS = "tests/statistics/test_conditionals.py"
COUNTS = "tests/statistics/test_class_counts.py"
SPLIT_MERGE = "tests/statistics/test_split_merge.py"
JOINT = "tests/statistics/test_joint.py"
FIT = "tests/synthesis/test_fit.py"
SAVED = "tests/synthesis/test_checkpoints.py"
REFUSALS = "tests/publishing/test_refusals.py"
PUBLIC = "tests/publishing/test_public_folder.py"
CANARIES = "tests/publishing/test_canaries.py"
AREAL = "synthesis/areal/"
AREAL_CONDITIONALS = "tests/statistics/test_areal_conditionals.py"
AREAL_JOINT = "tests/statistics/test_areal_joint.py"
AREAL_FIT = "tests/synthesis/test_areal.py"
JUDGED = "synthesis/rank_statistics.py"
JUDGING = "tests/synthesis/test_rank_statistics.py"


class Mutant(NamedTuple):
    """One planted bug, and the tests that must notice it."""

    what: str
    file: str
    old: str
    new: str
    tests: str
    only: str = ""


MUTANTS = [
    Mutant(
        "convergence: tied values have ranks of their own",
        JUDGED,
        "scored[by_size[place]] = scores[first + last]",
        "scored[by_size[place]] = scores[2 * place]",
        JUDGING,
    ),
    Mutant(
        "convergence: chains that differ in spread alone pass",
        JUDGED,
        "max(_rhat(ranked), _folded_rhat(halves, by_size, scores))",
        "_rhat(ranked)",
        JUDGING,
    ),
    Mutant(
        "convergence: chains are not cut in half",
        JUDGED,
        "halves[2 * chain + 1] = values[chain, n_draws - size :]",
        "halves[2 * chain + 1] = values[chain, :size]",
        JUDGING,
    ),
    Mutant(
        "convergence: the mean of a chain counts as its own",
        JUDGED,
        "total = variance * (size - 1) / size + ((means - means.mean()) ** 2).sum() / (n_rows - 1)",
        "total = variance * (size - 1) / size",
        JUDGING,
    ),
    Mutant(
        "convergence: the sequence of correlations may rise again",
        JUDGED,
        "correlation[pair + 1] = correlation[pair + 2] = before / 2",
        "correlation[pair + 1] = correlation[pair + 1]",
        JUDGING,
    ),
    Mutant(
        "convergence: one tail only",
        JUDGED,
        "found[quantity, 2] = min(below, above)",
        "found[quantity, 2] = below",
        JUDGING,
    ),
    Mutant(
        "collapsed: prior count missing in the class a record leaves",
        DPMPM + "collapsed.py",
        "weight *= (count[left, level] + prior[level])",
        "weight *= (count[left, level] + 1.0)",
        ENUMERATION,
        "all_records",
    ),
    Mutant(
        "collapsed: a new class without the concentration",
        DPMPM + "collapsed.py",
        "new_weight = state.concentration",
        "new_weight = 1.0",
        ENUMERATION,
        "all_records",
    ),
    Mutant(
        "collapsed: stale waiting list when a class is emptied",
        DPMPM + "collapsed.py",
        "                waiting[place] = waiting[n_held]\n",
        "",
        CONDITIONALS,
        "twin",
    ),
    Mutant(
        "collapsed: always the first waiting record, not any",
        DPMPM + "collapsed.py",
        "np.int64(generator.random() * n_waiting)",
        "np.int64(generator.random() * 1)",
        ENUMERATION,
        "one_record_each",
    ),
    Mutant(
        "collapsed: a record stays counted in the class it left",
        DPMPM + "collapsed.py",
        "            size[left] -= 1\n            weight = float(size[left])",
        "            size[left] -= 1\n            weight = float(size[left] + 1)",
        ENUMERATION,
        "all_records",
    ),
    Mutant(
        "concentration: odds of the mixture off by one class",
        DPMPM + "collapsed.py",
        "odds = (shape + n_occupied - 1.0)",
        "odds = (shape + n_occupied)",
        CONDITIONALS,
        "number_of_classes",
    ),
    Mutant(
        "concentration: auxiliary variable with the wrong shape",
        DPMPM + "collapsed.py",
        "generator.standard_gamma(concentration + 1.0)",
        "generator.standard_gamma(concentration)",
        CONDITIONALS,
        "number_of_classes",
    ),
    Mutant(
        "split-merge: size of a class off by one in the prior",
        DPMPM + "split_merge.py",
        "lgamma(size[0]) + lgamma(size[1])",
        "lgamma(size[0] + 1) + lgamma(size[1])",
        ENUMERATION,
        "split_merge_move",
    ),
    Mutant(
        "split-merge: proposal probability forgotten",
        DPMPM + "split_merge.py",
        "np.log(state.concentration) - log_proposal",
        "np.log(state.concentration)",
        ENUMERATION,
        "split_merge_move",
    ),
    Mutant(
        "split-merge: a merge judged by the ratio of a split",
        DPMPM + "split_merge.py",
        "        log_ratio = -log_ratio\n",
        "        log_ratio = log_ratio\n",
        ENUMERATION,
        "split_merge_move",
    ),
    Mutant(
        "split-merge: a merge judged by a fresh allocation, not by its own",
        DPMPM + "split_merge.py",
        "listed, in_second, count, size, split)",
        "listed, in_second, count, size, True)",
        SPLIT_MERGE,
        "written_out_ratios",
    ),
    Mutant(
        "split-merge: the same, seen in the transition probabilities alone",
        DPMPM + "split_merge.py",
        "listed, in_second, count, size, split)",
        "listed, in_second, count, size, True)",
        SPLIT_MERGE,
        "transition_probabilities",
    ),
    Mutant(
        "redistribution: weights with one record too many",
        DPMPM + "redistribution.py",
        "generator.standard_gamma(float(class_size[one]))",
        "generator.standard_gamma(float(class_size[one]) + 1.0)",
        ENUMERATION,
        "redistribution_move",
    ),
    Mutant(
        "redistribution: classes without a pinned record take part",
        DPMPM + "redistribution.py",
        "if pinned[combination, one] > 0:\n                has",
        "if pinned[combination, one] >= 0:\n                has",
        ENUMERATION,
        "redistribution_move",
    ),
    Mutant(
        "blocked: wrong tail index of the sticks",
        DPMPM + "blocked.py",
        "_log_gamma_draw(generator, concentration + behind)",
        "_log_gamma_draw(generator, concentration + behind + class_size[one])",
        CONDITIONALS,
        "sticks",
    ),
    Mutant(
        "blocked: concentration counts one stick too many",
        DPMPM + "blocked.py",
        "generator.standard_gamma(shape + n_classes - 1.0)",
        "generator.standard_gamma(shape + n_classes)",
        CONDITIONALS,
        "blocked_concentration",
    ),
    Mutant(
        "blocked: swaps in the wrong direction",
        DPMPM + "blocked.py",
        "np.log(concentration + c + behind) - np.log(concentration + a + behind)",
        "np.log(concentration + a + behind) - np.log(concentration + c + behind)",
        CONDITIONALS,
        "swaps",
    ),
    Mutant(
        "blocked: the last class swapped as if it had a stick",
        DPMPM + "blocked.py",
        "if first == n_classes - 2:",
        "if first == n_classes:",
        CONDITIONALS,
        "swaps",
    ),
    Mutant(
        "blocked: counts stay behind when classes swap",
        DPMPM + "blocked.py",
        "level_count[level, first] = level_count[level, first + 1]",
        "level_count[level, first] = moved",
        CONDITIONALS,
        "swaps",
    ),
    Mutant(
        "blocked: the last class moved as if it had a stick",
        DPMPM + "blocked.py",
        "    for one in range(class_size.size - 1):\n        total += np.log(concentration)",
        "    for one in range(class_size.size):\n        total += np.log(concentration)",
        CONDITIONALS,
        "moved_classes",
    ),
    Mutant(
        "blocked: the concentration's prior forgets its logarithm",
        DPMPM + "blocked.py",
        "prior = shape * log_concentration",
        "prior = (shape - 1.0) * log_concentration",
        CONDITIONALS,
        "moved_classes",
    ),
    Mutant(
        "blocked: the choice of a class depends on its place",
        DPMPM + "blocked.py",
        "and record >= class_size[old]",
        "and record > class_size[old]",
        CONDITIONALS,
        "moved_classes",
    ),
    Mutant(
        "blocked: a class moves and the concentration stays",
        DPMPM + "blocked.py",
        "return np.exp(log_there)",
        "return concentration",
        CONDITIONALS,
        "moved_classes",
    ),
    Mutant(
        "blocked: counts move the other way",
        DPMPM + "blocked.py",
        "_move(level_count[level], old, new)",
        "_move(level_count[level], new, old)",
        CONDITIONALS,
        "moved_classes",
    ),
    Mutant(
        "class counts: last group of combinations never booked",
        DPMPM + "class_counts.py",
        "    if last > first:\n        _book",
        "    if last > 10**9:\n        _book",
        COUNTS,
        "class_of_a_combination",
    ),
    Mutant(
        "class counts: what is kept is not reduced between binomial draws",
        DPMPM + "class_counts.py",
        "                    kept -= joint[place]\n",
        "",
        COUNTS,
        "class_of_a_combination",
    ),
    Mutant(
        "class counts: the tail is taken for its bound",
        DPMPM + "class_counts.py",
        "                        continue  # between the tail and its bound\n",
        "                        rest = 0.0\n",
        COUNTS,
        "class_of_a_combination",
    ),
    Mutant(
        "class counts: the tail never gets one of many records",
        DPMPM + "class_counts.py",
        "if uniform * heavy > heavy - n_free * bound:",
        "if uniform * heavy > heavy:",
        COUNTS,
        "class_of_a_combination",
    ),
    Mutant(
        "class counts: rejection without its ratio far from the mode",
        DPMPM + "class_counts.py",
        "if np.log(below / above) <= log_ratio:",
        "if np.log(below / above) <= 0.0:",
        COUNTS,
        "binomial",
    ),
    Mutant(
        "class counts: rejection with the ratio upside down below the mode",
        DPMPM + "class_counts.py",
        "below, above = below * others, above * ones",
        "below, above = below * ones, above * others",
        COUNTS,
        "binomial",
    ),
    Mutant(
        "class counts: inversion with the wrong odds",
        DPMPM + "class_counts.py",
        "    odds = p / (1.0 - p)\n    left, next_one",
        "    odds = p\n    left, next_one",
        COUNTS,
        "binomial",
    ),
    Mutant(
        "class counts: all slices with the same random numbers",
        DPMPM + "class_counts.py",
        "_draw_slice(words[number], problem",
        "_draw_slice(words[0], problem",
        COUNTS,
        "slices",
    ),
    Mutant(
        "blocked: level prior missing",
        DPMPM + "blocked.py",
        "                shape = problem.prior[level] + level_count[level, one]\n",
        "                shape = 1.0 + level_count[level, one]\n",
        CONDITIONALS,
        "dirichlet",
    ),
    Mutant(
        "parameters: level counts of another class",
        DPMPM + "parameters.py",
        "shapes += level_count[held[place]]",
        "shapes += level_count[place]",
        JOINT,
        "uniform and collapsed",
    ),
    Mutant(
        "parameters: sticks of the remainder with the wrong power",
        DPMPM + "parameters.py",
        "** (1.0 / concentration)",
        "** concentration",
        CONDITIONALS,
        "no_records",
    ),
    Mutant(
        "parameters: the unoccupied mass forgotten",
        DPMPM + "parameters.py",
        "unoccupied = generator.standard_gamma(concentration)",
        "unoccupied = generator.standard_gamma(1.0)",
        CONDITIONALS,
        "remainder",
    ),
    Mutant(
        "labels: kept and full class draws exchanged",
        DPMPM + "labels.py",
        'if class_draw == "kept":',
        'if class_draw == "full":',
        FIT,
        "definition",
    ),
    Mutant(
        "chains: every chain the same stream",
        "synthesis/chains.py",
        'stream(plan.seed, "fit", "chain", number)',
        'stream(plan.seed, "fit", "chain")',
        FIT,
        "same_start",
    ),
    Mutant(
        "checkpoints: half-used random words lost",
        "synthesis/checkpoints.py",
        '"buffer_pos": position,',
        '"buffer_pos": 0,',
        SAVED,
        "killed or generator_state",
    ),
    Mutant(
        "checkpoints: digests not compared",
        "storage.py",
        "return content if digest_of(content) == digest else None",
        "return content if digest_of(content) else None",
        SAVED,
        "flipped or truncated",
    ),
    Mutant(
        "fit: all sets from the first chain",
        "synthesis/sampled_fit.py",
        "chain = number % self.plan.chains",
        "chain = 0",
        FIT,
        "spread_over",
    ),
    Mutant(
        "release: an order that can be repeated",
        "randomness.py",
        'np.frombuffer(os.urandom(8 * n), dtype="<u8")',
        "np.random.default_rng(1).integers(2**60, size=n)",
        CANARIES,
        "order",
    ),
    Mutant(
        "release: rows in the order of the records",
        "publishing/files.py",
        "codes[variable.name][rows],",
        "codes[variable.name],",
        CANARIES,
        "order_says_nothing",
    ),
    Mutant(
        "release: files are not compared with the findings",
        "publishing/evidence.py",
        "if digest_of(content) != known:",
        "if not known:",
        REFUSALS,
        "changed_set or swapped",
    ),
    Mutant(
        "release: an edited verdict counts",
        "publishing/evidence.py",
        "    if written != digest:",
        "    if not digest:",
        REFUSALS,
        "by_hand",
    ),
    Mutant(
        "release: small counts are shown",
        "publishing/rounding.py",
        "if value < LIMIT:",
        "if value < 0:",
        PUBLIC,
        "counts",
    ),
    Mutant(
        "release: shares from the exact count",
        "publishing/rounding.py",
        "100 * shown / n_records",
        "100 * value / n_records",
        PUBLIC,
        "shares",
    ),
    Mutant(
        "release: whatever was built is published",
        "publishing/manifest.py",
        "if not ALLOWED.fullmatch(name) or path.is_symlink():",
        "if path.is_symlink():",
        PUBLIC,
        "last_look",
    ),
    Mutant(
        "release: remarks stay in pictures",
        "pages/plots/png.py",
        "if kind in KEPT:",
        "if kind:",
        PUBLIC,
        "remarks",
    ),
    Mutant(
        "release: any folder is replaced",
        "publishing/target.py",
        "    if not earlier:",
        "    if earlier is None:",
        PUBLIC,
        "unchanged_release",
    ),
    Mutant(
        "release: labels of unpublished levels leave",
        "publishing/variables.py",
        "for level, text in labels.items() if level in renamed}",
        "for level, text in labels.items() if renamed.setdefault(level, level)}",
        PUBLIC,
        "unpublished",
    ),
    Mutant(
        "areal: log rates lose the tangent of their envelope",
        AREAL + "poisson_lognormal.py",
        "accepted = rate * (1.0 + away - np.exp(away))",
        "accepted = rate * (1.0 - np.exp(away))",
        AREAL_CONDITIONALS,
        "exact_draws",
    ),
    Mutant(
        "areal: gamma envelope with the count in place of the rate",
        AREAL + "poisson_lognormal.py",
        "np.log(generator.standard_gamma(rate)) - mode",
        "np.log(generator.standard_gamma(rate + 1.0)) - mode",
        AREAL_CONDITIONALS,
        "exact_draws",
    ),
    Mutant(
        "areal: integral with too long steps",
        AREAL + "poisson_lognormal.py",
        "STEP, LARGEST_STEP = 0.55, 0.28",
        "STEP, LARGEST_STEP = 1.1, 0.56",
        AREAL_CONDITIONALS,
        "adaptive",
    ),
    Mutant(
        "areal: remembered integrals of another precision",
        AREAL + "poisson_lognormal.py",
        "        if pieces.tags[slot] != number:",
        "        if pieces.tags[slot] < 0:",
        AREAL_CONDITIONALS,
        "remembered",
    ),
    Mutant(
        "areal: slope in the precision without the squared slope",
        AREAL + "poisson_lognormal.py",
        "expected * (bend[one] + slope[one] * slope[one])",
        "expected * bend[one]",
        AREAL_CONDITIONALS,
        "likelihood_of_a_table",
    ),
    Mutant(
        "areal: clusters drawn without their weights",
        AREAL + "clusters.py",
        "joint[one] = log_weights[one] + log_p[pair, one]",
        "joint[one] = log_p[pair, one]",
        AREAL_CONDITIONALS,
        "multinomial",
    ),
    Mutant(
        "areal: concentration without the change to its logarithm",
        AREAL + "clusters.py",
        "found + shape * log_concentration",
        "found + (shape - 1.0) * log_concentration",
        AREAL_CONDITIONALS,
        "concentration",
    ),
    Mutant(
        "areal: Dirichlet weights with the whole concentration each",
        AREAL + "clusters.py",
        "shape = sizes[one] + concentration / sizes.size",
        "shape = sizes[one] + concentration",
        AREAL_CONDITIONALS,
        "weights_follow",
    ),
    Mutant(
        "areal: effects without the precision of the log rates",
        AREAL + "effects.py",
        "weight = precision * sizes[one, pattern]",
        "weight = sizes[one, pattern]",
        AREAL_CONDITIONALS,
        "normal_conditionals",
    ),
    Mutant(
        "areal: centre without its own prior",
        AREAL + "effects.py",
        "matrix[effect, effect] += centre_precision[effect]",
        "matrix[effect, effect] += 1e-9 * centre_precision[effect]",
        AREAL_CONDITIONALS,
        "normal_conditionals",
    ),
    Mutant(
        "areal: LKJ with the powers of the next column",
        AREAL + "covariance.py",
        "power = shape + 0.5 * (size - 2.0 - column)",
        "power = shape + 0.5 * (size - 1.0 - column)",
        AREAL_CONDITIONALS,
        "covariance",
    ),
    Mutant(
        "areal: half-t scales without the change to logarithms",
        AREAL + "covariance.py",
        "        total += log_scales[row]\n        ratio",
        "        ratio",
        AREAL_CONDITIONALS,
        "covariance",
    ),
    Mutant(
        "areal: sticks whose exponentials forget their prior",
        AREAL + "hamiltonian.py",
        "            total += value - np.exp(value)\n",
        "            total += value\n",
        AREAL_CONDITIONALS,
        "free_numbers",
    ),
    Mutant(
        "areal: steps that know clusters by their numbers",
        AREAL + "hamiltonian.py",
        "    effects[:] = effects.max(axis=0)\n",
        "",
        AREAL_FIT,
        "steps_do_not_know",
    ),
    Mutant(
        "areal: clusters left out that are worth something",
        AREAL + "poisson_lognormal.py",
        "MISSED = -20.0",
        "MISSED = -6.0",
        AREAL_CONDITIONALS,
        "passed_over",
    ),
    Mutant(
        "areal: momentum of half its size",
        AREAL + "hamiltonian.py",
        "momentum = generator.standard_normal(free.size)",
        "momentum = 0.5 * generator.standard_normal(free.size)",
        AREAL_JOINT,
        "by_hamiltonian and text",
    ),
    Mutant(
        "areal: precision given log rates with stale deviations",
        AREAL + "sampler.py",
        "2.0 * change * (sums - sizes * before)",
        "change * (sums - sizes * before)",
        AREAL_JOINT,
        "by_log_rates and text",
    ),
    Mutant(
        "areal: intercept precision counts clusters that are not there",
        AREAL + "sampler.py",
        "priors.intercept_precision, used.shape[0], float(",
        "priors.intercept_precision, used.shape[0] + 8, float(",
        AREAL_JOINT,
        "by_centre and text",
    ),
    Mutant(
        "areal: swapped effects but not their cells",
        AREAL + "sampler.py",
        "np.ascontiguousarray(members[:, order]), effects[order]",
        "np.ascontiguousarray(members[:, order]), effects",
        AREAL_JOINT,
        "by_clusters and text",
    ),
    Mutant(
        "areal: exchange without the densities of its shares",
        AREAL + "poisson_lognormal.py",
        "log_ratio += (2.0 / 3.0) * (np.log(new_share) - np.log(share))",
        "log_ratio += 0.0",
        AREAL_JOINT,
        "by_exchange and text",
    ),
    Mutant(
        "areal: table without its empty cells' labels in order",
        AREAL + "problem.py",
        "pair_of_cell=of_cell.ravel().astype(np.int32),",
        "pair_of_cell=np.sort(of_cell.ravel()).astype(np.int32),",
        AREAL_FIT,
        "pairs_are",
    ),
    Mutant(
        "areal: labels drawn from another pattern",
        AREAL + "fit.py",
        "self.data.patterns.of_combination)",
        "self.data.patterns.of_combination[::-1])",
        AREAL_FIT,
        "own_row",
    ),
]


def run_tests(package: Path, mutant: Mutant) -> bool:
    """Tell whether the tests beside a mutant pass on this copy of the package."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", mutant.tests]
    if mutant.only:
        command += ["-k", mutant.only]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode not in {0, 1}:  # 5: no test was selected; others: pytest itself failed
        raise SystemExit(f"{mutant.what}: the tests could not be run\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main() -> int:
    """Plant every bug in turn; give the number that nobody noticed."""
    word = sys.argv[1] if len(sys.argv) > 1 else ""
    chosen = [mutant for mutant in MUTANTS if word in mutant.what]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "understudy"
        shutil.copytree(ROOT / "src" / "understudy", package)
        passed: dict[tuple[str, str], bool] = {}
        for mutant in chosen:
            begin = time.monotonic()
            asked = (mutant.tests, mutant.only)
            if asked not in passed:
                passed[asked] = run_tests(package, mutant)
            if not passed[asked]:
                raise SystemExit(f"{mutant.what}: the tests fail without the bug too")
            path = package / mutant.file
            before, stamp = path.read_text(encoding="utf-8"), path.stat()
            if before.count(mutant.old) < 1:
                raise SystemExit(f"{mutant.what}: the place of the bug is gone")
            path.write_text(before.replace(mutant.old, mutant.new, 1), encoding="utf-8")
            caught = not run_tests(package, mutant)
            path.write_text(before, encoding="utf-8")
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))  # its compiled cache is good
            missed += not caught
            said = "caught" if caught else "MISSED"
            print(f"{said}  {mutant.what}  ({time.monotonic() - begin:.0f} s)", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} caught")
    return missed


if __name__ == "__main__":
    sys.exit(main())
