"""Bugs planted in what all models share: judging convergence, chains, saved runs, fits."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

__all__ = ["MUTANTS"]

FIT = "tests/synthesis/test_fit.py"
SAVED = "tests/synthesis/test_checkpoints.py"
WORKERS = "tests/synthesis/test_workers.py"
JUDGED = "synthesis/rhat_and_ess.py"
JUDGING = "tests/synthesis/test_rhat_and_ess.py"

MUTANTS = [
    Mutant(
        "convergence: tied values have ranks of their own",
        JUDGED,
        "scored[by_size[rank]] = scores[first + last]",
        "scored[by_size[rank]] = scores[2 * rank]",
        JUDGING,
    ),
    Mutant(
        "convergence: chains that differ in spread alone pass",
        JUDGED,
        "max(statistics[quantity, 0], of_folded)",
        "_rhat(ranked)",
        JUDGING,
    ),
    Mutant(
        "convergence: chains are not cut in half",
        JUDGED,
        "block[:, :, n_draws - size :]",
        "block[:, :, :size]",
        JUDGING,
    ),
    Mutant(
        "convergence: the mean of a chain counts as its own",
        JUDGED,
        "total = variance * (size - 1) / size + _squares(means) / (n_rows - 1)",
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
        "statistics[quantity, 2] = min(below, above)",
        "statistics[quantity, 2] = below",
        JUDGING,
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
        "workers: a chain does not come back",
        "synthesis/segments.py",
        "chain.state = state_from(self._state_type, saved)",
        "chain.state = chain.state or state_from(self._state_type, saved)",
        WORKERS,
        "same_bytes",
    ),
    Mutant(
        "workers: a task looks at no versions",
        "synthesis/workers.py",
        "if deciding_versions() != versions:",
        "if False:",
        WORKERS,
        "other_versions",
    ),
    Mutant(
        "workers: all parts of a baseline draw the first repeats",
        "risk/baselines.py",
        "parts = [range(first, min(first + at_once, repeats))",
        "parts = [range(min(first + at_once, repeats) - first)",
        WORKERS,
        "risk_and_tables",
    ),
    Mutant(
        "workers: what is shared is sent for every use",
        "synthesis/workers.py",
        "if key not in self._shared:",
        "if True:",
        WORKERS,
        "risk_and_tables",
    ),
    Mutant(
        "sets: all slices of the records have the same random numbers",
        "synthesis/set_drawing.py",
        "own = (index,) if index else ()",
        "own = ()",
        "tests/synthesis/test_set_drawing.py",
        "of_its_own",
    ),
    Mutant(
        "workers: all slices of the patterns have the same random numbers",
        "risk/left_out_draws.py",
        '[stream(seed, "patterns") for seed in seeds]',
        '[stream(seeds[0], "patterns") for _ in seeds]',
        WORKERS,
        "own_records",
    ),
    Mutant(
        "workers: one slice is drawn twice and another never",
        "synthesis/dpmpm/cut_sweeps.py",
        "own = slice(first * SLICE, last * SLICE)",
        "own = slice(max(0, first - 1) * SLICE, last * SLICE)",
        WORKERS,
        "cut_sweep",
    ),
    Mutant(
        "workers: random numbers of slices are keyed by worker",
        "synthesis/dpmpm/cut_sweeps.py",
        "words[first:last], shared",
        "words[: last - first], shared",
        WORKERS,
        "cut_sweep",
    ),
    Mutant(
        "workers: the log-likelihood of a slice is left out",
        "synthesis/dpmpm/cut_sweeps.py",
        "for part in self._parts]",
        "for part in self._parts[1:]]",
        WORKERS,
        "cut_sweep",
    ),
    Mutant(
        "workers: counts of some workers are left out",
        "synthesis/dpmpm/cut_sweeps.py",
        "for first in range(0, len(counted), ADDED_AT_ONCE)",
        "for first in range(1, len(counted), ADDED_AT_ONCE)",
        WORKERS,
        "cut_sweep",
    ),
    Mutant(
        "workers: answers are those of other tasks",
        "synthesis/workers.py",
        "yield running.pop(future), self._answer(future)",
        "yield len(tasks) - 1 - running.pop(future), self._answer(future)",
        "tests/frontiers/test_frontier.py",
        "on_workers",
    ),
    Mutant(
        "workers: a lost scheduler is no error of ours",
        "synthesis/workers.py",
        "raise _lost(problem) from None",
        "raise",
        "tests/synthesis/test_cluster_processes.py",
        "lost",
    ),
    Mutant(
        "workers: those that write memory to disk may help",
        "synthesis/workers.py",
        "if any(share is not False for share in memory):",
        "if False:",
        WORKERS,
        "to_disk",
    ),
]
