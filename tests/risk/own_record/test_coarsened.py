"""Own-record effects of coarse files whose labels were drawn from a fit of finer data.

Everything is enumerated: the posterior of every fine pattern is a Dirichlet, and an intruder sees
patterns and labels that merge several of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import prod

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.risk.example_surveys import microdata
from tests.risk.own_record.test_effect import attack_of, modal_share, predictive_counts
from tests.risk.saturated_fit import SaturatedFit

import understudy as us
from understudy.microdata.coarsening import Coarsening, coarsening_of
from understudy.microdata.codebook import codebook_from
from understudy.microdata.label_table import LabelTable, label_counts
from understudy.randomness import stream
from understudy.risk.own_record import chances, from_draws, sampled_people
from understudy.synthesis.coarsened_fit import CoarsenedFit

PRIOR, SETS = 2.0, 2
Counts = tuple[int, ...]


def tiny() -> us.Microdata:
    """Three regions, of one, four and two people; four towns."""
    return microdata(
        {"region": [0, 1, 1, 1, 1, 2, 2]},
        {"town": [2, 0, 0, 1, 3, 2, 0]},
        {"region": 3, "town": 4},
    )


def coarse(data: us.Microdata, steps: dict[str, int]) -> Coarsening:
    """Merge the first two regions, or the first two towns, or both."""
    variables = {}
    for name in data.names:
        levels = list(data.variable(name).levels)
        variables[name] = {"levels": levels, "hierarchy": [{"merged": levels[:2]}]}
    coarsening = coarsening_of(data, codebook_from({"variables": variables}), steps)
    assert coarsening is not None
    return coarsening


def merged_counts(counts: Counts, new_label: NDArray[np.int64]) -> Counts:
    return tuple(np.bincount(new_label, counts, new_label.max() + 1).astype(int).tolist())


class Enumerated:
    """Success of every attack on one record, for given posteriors of the fine patterns."""

    def __init__(self, coarsening: Coarsening, alphas: NDArray[np.float64]) -> None:
        fine = coarsening.fine
        self.alphas, self.new_label = alphas, coarsening.new_label
        self.sizes = fine.patterns.sizes
        region = {int(b): int(coarsening.told_apart.patterns.of_combination[row])
                  for row, b in enumerate(fine.patterns.of_combination)}  # fmt: skip
        self.seen = [region[group] for group in range(len(self.sizes))]  # pattern of each group

    def mean(self, group: int) -> NDArray[np.float64]:
        """What rows of a group show on average."""
        shares = np.bincount(self.new_label, self.alphas[group]).astype(np.float64)
        mean: NDArray[np.float64] = shares / shares.sum()
        return mean

    def files(
        self, groups: Sequence[int], without: int = -1
    ) -> Iterator[tuple[float, list[Counts]]]:
        """List what a file can hold, with its probability: counts of the labels of each group.

        One row of the group `without` is left out.
        """
        labels_of_patterns = [
            predictive_counts(int(self.sizes[group]) - (group == without), self.alphas[group])
            for group in groups
        ]
        for rows in product(*(listed.items() for listed in labels_of_patterns)):
            yield (
                prod(likely for _, likely in rows),
                [merged_counts(counts, self.new_label) for counts, _ in rows],
            )

    def together(self, group: int) -> list[int]:
        """Groups of the pattern that an intruder sees."""
        return [other for other, seen in enumerate(self.seen) if seen == self.seen[group]]

    def pattern_counts(self, group: int) -> dict[Counts, float]:
        """List what a file can show of a pattern, with its probability."""
        chances: dict[Counts, float] = {}
        for likely, rows in self.files(self.together(group)):
            total = tuple(np.sum(rows, axis=0).tolist())
            chances[total] = chances.get(total, 0.0) + likely
        return chances

    def success(self, group: int, label: int) -> dict[tuple[str, str], float]:
        """Success of every attack on a record of this group with this label."""
        own, together = self.mean(group), self.together(group)
        sizes = np.array([self.sizes[pattern] for pattern in together])
        any_row = float(sizes @ [self.mean(pattern)[label] for pattern in together]) / sizes.sum()
        counted = self.pattern_counts(group)
        vote = sum(
            prod(float(own[label]) for label in labels)
            * modal_share(tuple(labels.count(pattern) for pattern in range(own.size)), label)
            for labels in product(range(own.size), repeat=SETS)
        )
        pooled = sum(
            prod(likely for _, likely in chosen)
            * modal_share(tuple(np.sum([x for x, _ in chosen], axis=0).tolist()), label)
            for chosen in product(counted.items(), repeat=SETS)
        )
        # some row with the label is picked; it is any of the pattern's rows with equal chance
        picked = sum(p * (x[label] > 0) for x, p in counted.items()) / sizes.sum()
        return {
            ("row", "worst case"): float(own[label]),
            ("row", "as released"): any_row,
            ("vote", "worst case"): vote,
            ("modal", "worst case"): sum(p * modal_share(x, label) for x, p in counted.items()),
            ("pooled_modal", "worst case"): pooled,
            ("match_one_file", "worst case"): self.match(group, label),
            ("match_one_file", "as released"): picked,
        }

    def match(self, group: int, label: int) -> float:
        """T / c: the own row has the label, and so have some of the others.

        Given that it has, the posterior of its group has one more record with the label.
        """
        total = 0.0
        for town, new in enumerate(self.new_label.tolist()):
            if new == label:
                own = self.alphas[group][town] / self.alphas[group].sum()
                given = self.alphas.copy()
                given[group, town] += 1
                after = Enumerated.__new__(Enumerated)
                after.__dict__ = {**self.__dict__, "alphas": given}
                total += own * sum(
                    p / (1 + sum(row[label] for row in rows))
                    for p, rows in after.files(self.together(group), without=group)
                )
        return float(total)


@pytest.mark.parametrize(
    "steps", [{"region": 1}, {"town": 1}, {"region": 1, "town": 1}], ids=["kept", "label", "both"]
)
def test_every_attack_on_coarse_files_agrees_with_refits_by_enumeration(
    steps: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leave out each record in turn, of its fine pattern and its fine label.

    Seven sums from 4,000 draws within 4 of their standard errors, for each of three coarsenings:
    false-alarm rate below 3e-3 (errors from halves of ten blocks). The guess over all files has the
    error of 3,000 simulated releases, which is below 0.03.
    """
    monkeypatch.setattr(from_draws, "MATCH_DRAWS", 4000)
    monkeypatch.setattr(chances, "RELEASES", 3000)
    data = tiny()
    coarsening = coarse(data, steps)
    counts = label_counts(data)
    fit = CoarsenedFit(SaturatedFit(data, PRIOR), coarsening)
    effect = us.own_record_effect(coarsening.coarse, fit, sets=SETS, seed=2)
    expected: dict[tuple[str, str], NDArray[np.float64]] = {}
    for combination, n_records in enumerate(data.counts):
        group = int(data.patterns.of_combination[combination])
        town = int(data.combinations[combination, -1])
        label = int(coarsening.new_label[town])
        alphas = counts + PRIOR
        less = alphas.copy()
        less[group, town] -= 1
        with_record = Enumerated(coarsening, alphas).success(group, label)
        without = Enumerated(coarsening, less).success(group, label)
        for attack, chance in with_record.items():
            both = n_records * np.array([chance, without[attack]])
            expected[attack] = expected.get(attack, 0.0) + both
    assert effect.unreliable == 0
    for attack, (with_record_sum, without_sum) in expected.items():
        measured = attack_of(effect, *attack)
        error = max(measured.standard_error, 0.0015)
        allowed = 0.1 if attack[0] == "pooled_modal" else 4 * error
        assert allowed < 0.11, attack
        assert abs(measured.effect - (with_record_sum - without_sum)) < allowed, attack
        assert measured.with_record == pytest.approx(with_record_sum, abs=0.03), attack


class Correlated:
    """Draws in which the first two labels take each other's share; not a Dirichlet's."""

    def __init__(self, data: us.Microdata, n_draws: int = 4000) -> None:
        generator = stream(4, "correlated")
        logits = np.zeros((n_draws, len(data.patterns), data.n_labels))
        moved = generator.standard_normal((n_draws, len(data.patterns)))
        logits[..., 0], logits[..., 1] = 0.4 * moved, -0.4 * moved
        logits[..., 2] += 0.3 * generator.standard_normal(moved.shape)
        shares = np.exp(logits)
        self.data, self.tables = data, shares / shares.sum(axis=2, keepdims=True)

    def label_tables(self) -> Iterator[LabelTable]:
        """Give what rows are drawn from."""
        rows = self.data.patterns.of_combination
        return (LabelTable(table, rows) for table in self.tables)

    def predictive_tables(self) -> Iterator[NDArray[np.float64]]:
        """Give the label's distribution given the kept variables."""
        return iter(self.tables)

    left_out_weights_tables = predictive_tables


def test_a_record_is_left_out_by_the_likelihood_of_what_was_fitted() -> None:
    """Plain weights 1 / p(fine label), where those of the merged label would say something else."""
    data = tiny()
    coarsening = coarse(data, {"region": 1, "town": 1})
    fit = Correlated(data)
    effect = us.own_record_effect(
        coarsening.coarse, CoarsenedFit(fit, coarsening), sets=SETS, seed=1
    )
    without = {"fine": 0.0, "merged": 0.0}
    for combination, n_records in enumerate(data.counts.tolist()):
        group, town = data.patterns.of_combination[combination], data.combinations[combination, -1]
        label = coarsening.new_label[town]
        shown = fit.tables[:, group][:, coarsening.new_label == label].sum(axis=1)  # (draw,)
        for name, likelihood in (("fine", fit.tables[:, group, town]), ("merged", shown)):
            without[name] += n_records * float(
                (shown / likelihood).mean() / (1 / likelihood).mean()
            )
    row = attack_of(effect, "row")
    assert row.without_record == pytest.approx(without["fine"], abs=0.002)
    assert abs(without["fine"] - without["merged"]) > 0.01


def test_rows_that_keep_their_own_labels_give_away_coarse_ones() -> None:
    """Three in ten rows keep their label: closed forms of both settings, errors as above."""
    data, leak = tiny(), 0.3
    coarsening = coarse(data, {"region": 1, "town": 1})
    fit = CoarsenedFit(SaturatedFit(data, PRIOR, leak=leak), coarsening)
    effect = us.own_record_effect(coarsening.coarse, fit, sets=SETS, seed=1)
    counts = label_counts(data)
    shown = coarsening.coarse.combinations[coarsening.coarse.of_record]  # (record, variable)
    region, label = shown[:, 0], shown[:, -1].astype(np.int64)
    fine = data.combinations[data.of_record]
    expected = np.zeros((2, 2))  # (setting, with or without)
    for record in range(data.n_records):
        mates = np.flatnonzero(region == region[record])
        for without in (0, 1):
            alphas = counts + PRIOR
            alphas[fine[record, 0], fine[record, -1]] -= without
            alike = coarsening.new_label == label[record]
            mean = alphas[:, alike].sum(axis=1) / alphas.sum(axis=1)  # (group,)
            rows = leak * (label[mates] == label[record]) + (1 - leak) * mean[fine[mates, 0]]
            if without:
                rows[mates == record] = mean[fine[record, 0]]
            expected[:, without] += rows[mates == record].item(), rows.mean()
    for row, setting in zip(expected, ("worst case", "as released"), strict=True):
        measured = attack_of(effect, "row", setting)
        assert measured.with_record == pytest.approx(row[0], abs=0.05)
        assert abs(measured.effect - (row[0] - row[1])) < 4 * max(measured.standard_error, 0.003)


def test_records_whose_weights_cannot_be_trusted_are_left_out_of_the_fine_data() -> None:
    """One person has the third town, under a weak prior; files merge it with the first two."""
    data = microdata({"sex": [0] * 12}, {"town": [0] * 5 + [3] * 6 + [1]}, {"sex": 1, "town": 4})
    coarsening = coarse(data, {"town": 1})
    fits: list[us.Microdata] = []

    def refit(less: us.Microdata) -> SaturatedFit:
        fits.append(less)
        return SaturatedFit(less, 0.05, seed=7)

    fit = CoarsenedFit(SaturatedFit(data, 0.05), coarsening)
    effect = us.own_record_effect(coarsening.coarse, fit, sets=SETS, seed=1, refit=refit)
    assert (effect.unreliable, effect.refitted) == (1, 1)
    assert [less.variable("town").n_levels for less in fits] == [4]
    left = effect.per_record("row")[-1]
    assert abs(left - (6.1 / 12.2 - 5.1 / 11.2)) < 0.02


def test_people_who_stand_for_all_are_measured_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of six regions as files show them are drawn; their people have the whole's effects."""
    region = [0, 0, 0, 1, 1, *(code for code in range(2, 7) for _ in range(4))]
    town = [(3 * person * person + person) % 4 for person in range(len(region))]
    data = microdata({"region": region}, {"town": town}, {"region": 7, "town": 4})
    coarsening = coarse(data, {"region": 1, "town": 1})
    fit = CoarsenedFit(SaturatedFit(data, PRIOR), coarsening)
    whole = us.own_record_effect(coarsening.coarse, fit, sets=SETS, seed=1)
    monkeypatch.setattr(sampled_people, "MOST_PAIRS", 1)
    monkeypatch.setattr(sampled_people, "FEWEST_CELLS", 4)
    fitted: list[int] = []

    def refit(less: us.Microdata) -> SaturatedFit:
        fitted.append(less.n_records)
        return SaturatedFit(less, PRIOR)

    monkeypatch.setattr("understudy.risk.own_record.effect.RELIABLE", -1.0)  # all of them in doubt
    part = us.own_record_effect(coarsening.coarse, fit, sets=SETS, seed=1, refit=refit, folds=2)
    some, every = part.per_record("row"), whole.per_record("row")
    seen = np.isfinite(some)
    assert 12 <= seen.sum() < data.n_records
    assert part.measured == seen.sum()
    assert some[seen] == pytest.approx(every[seen], abs=0.02)
    assert all(n < data.n_records for n in fitted)
