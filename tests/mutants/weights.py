"""Bugs planted in what powers of likelihoods change: samplers, records left out, first fits."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

DPMPM = "synthesis/dpmpm/"
AREAL = "synthesis/areal/"
WEIGHTED = "tests/statistics/test_weighted.py"
AREAL_WEIGHTED = "tests/statistics/test_areal_weighted.py"
FITS = "tests/synthesis/test_risk_weights.py"

MUTANTS = [
    Mutant(
        "weights: the predictive to a power in place of gamma ratios",
        DPMPM + "collapsed.py",
        "log_likelihood += lgamma(here + each) - lgamma(here)",
        "log_likelihood += each * np.log(here)",
        WEIGHTED,
        "ratios_of_marginal",
    ),
    Mutant(
        "weights: a class's weighted size is its number of records",
        DPMPM + "collapsed.py",
        "    return count[problem.level_start[0] : problem.level_start[1]].sum()\n",
        "    return size + 0.0 * count[0]\n",
        WEIGHTED,
        "all_records-fractions",
    ),
    Mutant(
        "weights: a record counts one where it joins",
        DPMPM + "collapsed.py",
        "count[joined, row[variable]] += each",
        "count[joined, row[variable]] += 1",
        WEIGHTED,
        "all_records-fractions",
    ),
    Mutant(
        "weights: a new class as without weights",
        DPMPM + "collapsed.py",
        "            new_weight *= _likelihood(row, each, 0, nothing, prior, prior_sum, holes)\n",
        "            new_weight *= prior[row[0]] / prior_sum[0]\n",
        WEIGHTED,
        "all_records-fractions",
    ),
    Mutant(
        "weights: split-merge with numbers of records in the marginal likelihood",
        DPMPM + "split_merge.py",
        "log_ratio += log_marginal(count[0], mass[0], problem)",
        "log_ratio += log_marginal(count[0], float(size[0]), problem)",
        WEIGHTED,
        "split_merge_move-fractions",
    ),
    Mutant(
        "weights: a seed of a split counts one",
        DPMPM + "split_merge.py",
        "mass[0], mass[1] = problem.weights[seed_1], problem.weights[seed_2]",
        "mass[0], mass[1] = problem.weights[seed_1], 1.0",
        WEIGHTED,
        "split_merge_move-fractions",
    ),
    Mutant(
        "weights: the power taken of the class weight too",
        DPMPM + "weighted_classes.py",
        "            joint *= each\n        joint += log_weights\n",
        "            joint += log_weights\n            joint *= each\n",
        WEIGHTED,
        "truncated or multinomial",
    ),
    Mutant(
        "weights: blocked counts are of records",
        DPMPM + "weighted_classes.py",
        "level_count[row[variable]] += each * drawn",
        "level_count[row[variable]] += 1.0 * drawn",
        WEIGHTED,
        "truncated",
    ),
    Mutant(
        "weights: strength given numbers of levels in place of weights",
        DPMPM + "level_prior_strengths.py",
        "total += lgamma(strength + counts[cell]) - lgamma(strength)",
        "total += lgamma(strength + 1.0) - lgamma(strength)",
        WEIGHTED,
        "strengths_are_drawn",
    ),
    Mutant(
        "weights: the label left out as if it had none",
        DPMPM + "fit.py",
        "        if self.weights is not None:\n",
        "        if self.weights is None:\n",
        FITS,
        "closed_form",
    ),
    Mutant(
        "weights: p(label | kept) to the power in place of the ratio of sums",
        DPMPM + "labels.py",
        "kept = log_weights + power * logs[levels[:, :n_kept]].sum(axis=1)",
        "kept = log_weights + logs[levels[:, :n_kept]].sum(axis=1)",
        FITS,
        "twin",
    ),
    Mutant(
        "weights: combinations in the order of the data, levels in that of the kernels",
        DPMPM + "problem.py",
        "UNWEIGHTED if weights is None else weights[order]",
        "UNWEIGHTED if weights is None else weights[::-1].copy()",
        FITS,
        "order_of_the_kernels",
    ),
    Mutant(
        "weights: areal integrals without the power's shift",
        AREAL + "poisson_lognormal.py",
        "            mean += pieces.shift[index]\n",
        "",
        AREAL_WEIGHTED,
        "integrals",
    ),
    Mutant(
        "weights: areal log rates drawn shifted",
        AREAL + "log_rates.py",
        "log_rates[cell] = drawn - problem.shift[problem.pair_index[pair]]",
        "log_rates[cell] = drawn",
        AREAL_WEIGHTED,
        "exact_draws",
    ),
    Mutant(
        "weights: areal sums of log rates shifted",
        AREAL + "log_rates.py",
        "_draw_log_rate(generator, centres[pair, cluster], precision) - shift",
        "_draw_log_rate(generator, centres[pair, cluster], precision)",
        AREAL_WEIGHTED,
        "exact_draws",
    ),
    Mutant(
        "weights: areal count not multiplied by its power",
        AREAL + "problem.py",
        "kinds = np.stack([powers * table, powers], axis=-1)",
        "kinds = np.stack([table + 0.0, powers], axis=-1)",
        AREAL_WEIGHTED,
        "integrals",
    ),
    Mutant(
        "weights: an areal count that loses a record loses the whole rate",
        AREAL + "model.py",
        "rates = rates ** powers_of_cells(self.data, self.weights)",
        "rates = rates * 1.0",
        FITS,
        "powers_of_their_rates",
    ),
    Mutant(
        "weights: risk raises the weight",
        "synthesis/risk_weights.py",
        "np.clip(1.0 - dial * risks, 0.0, 1.0)",
        "np.clip(dial * risks, 0.0, 1.0)",
        FITS,
        "definition",
    ),
    Mutant(
        "weights: local sensitivity without the weights",
        "synthesis/sampled_fit.py",
        "surprise if self.weights is None else self.weights * surprise",
        "surprise if self.weights is None else surprise",
        FITS,
        "local_sensitivity",
    ),
]
