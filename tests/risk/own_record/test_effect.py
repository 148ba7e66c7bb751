"""The own-record effect: refits by enumeration, closed forms, planted leaks, control groups."""

from __future__ import annotations

from itertools import product
from math import comb, factorial, gamma, prod

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from tests.risk.example_surveys import microdata
from tests.risk.saturated_fit import SaturatedFit

import understudy as us
from understudy.errors import InputError, SettingError
from understudy.microdata.label_table import (
    LabelTable,
    empirical_labels,
    label_counts,
    others_labels,
)
from understudy.microdata.table import SyntheticSets
from understudy.randomness import stream
from understudy.risk.joint import match_each_jointly
from understudy.risk.matching import find_targets
from understudy.risk.own_record.chances import Attacked, Key
from understudy.risk.own_record.effect import AttackEffect, OwnRecordEffect
from understudy.risk.own_record.from_table import attack_reference
from understudy.risk.own_record.kernels import match_all_files
from understudy.risk.own_record.refits import leave_out

PRIOR = 3.0
SETS = 3


def tiny() -> us.Microdata:
    """Two patterns of four people, three towns, and no ties with a record or without."""
    return microdata(
        {"sex": [0, 0, 0, 0, 1, 1, 1, 1]},
        {"town": [0, 0, 0, 1, 1, 1, 1, 0]},
        {"sex": 2, "town": 3},
    )


def attack_of(effect: OwnRecordEffect, attack: str, setting: str = "worst case") -> AttackEffect:
    listed = [*effect.attacks, *([effect.pooled_limit] if effect.pooled_limit else [])]
    return next(
        candidate
        for candidate in listed
        if (candidate.attack, candidate.setting) == (attack, setting)
    )


def modal_share(counts: tuple[int, ...], label: int) -> float:
    """Chance that a guess of the most frequent label is this one."""
    most = max(counts)
    return (counts[label] == most) / counts.count(most)


def predictive_counts(n: int, alpha: NDArray[np.float64]) -> dict[tuple[int, ...], float]:
    """List what n labels of a Dirichlet-multinomial can be, with its probability."""
    total = float(alpha.sum())
    listed = {}
    for counts in product(range(n + 1), repeat=len(alpha)):
        if sum(counts) == n:
            ways = factorial(n) / prod(map(factorial, counts))
            rising = prod(gamma(a + k) / gamma(a) for a, k in zip(alpha, counts, strict=True))
            listed[counts] = ways * rising * gamma(total) / gamma(total + n)
    return listed


def enumerated(alpha: NDArray[np.float64], n: int, label: int) -> dict[str, float]:
    """Success of every attack on one record, given the posterior of its pattern, exactly."""
    mean = alpha / alpha.sum()
    vote = 0.0
    for labels in product(range(len(mean)), repeat=SETS):
        votes = tuple(labels.count(code) for code in range(len(mean)))
        vote += prod(float(mean[label]) for label in labels) * modal_share(votes, label)
    # the own row has the label, and k of the others: T / c = 1 / (1 + k)
    a, b = float(alpha[label]), float(alpha.sum() - alpha[label])
    match = sum(
        comb(n - 1, k) * gamma(a + k + 1) * gamma(b + n - 1 - k) * gamma(a + b)
        / (gamma(a) * gamma(b) * gamma(a + b + n)) / (1 + k)
        for k in range(n)
    )  # fmt: skip
    return {
        "row": float(mean[label]),
        "modal": sum(p * modal_share(x, label) for x, p in predictive_counts(n, alpha).items()),
        "pooled_modal": sum(
            prod(likely for _, likely in files)
            * modal_share(tuple(map(sum, zip(*(x for x, _ in files), strict=True))), label)
            for files in product(predictive_counts(n, alpha).items(), repeat=SETS)
        ),
        "pooled_limit": (mean[label] >= mean.max() - 1e-12) / (mean >= mean.max() - 1e-12).sum(),
        "vote": vote,
        "match_one_file": match,
    }


def test_every_attack_agrees_with_refits_by_enumeration() -> None:
    """Leave out each record in turn and compute everything exactly.

    Ten sums from 4,000 draws within 4 of their standard errors, and the errors themselves below
    0.08 records: false-alarm rate below 1e-3 (errors from halves of ten blocks).
    """
    data = tiny()
    effect = us.own_record_effect(data, SaturatedFit(data, PRIOR), sets=SETS, seed=2)
    counts, pattern = label_counts(data), data.patterns.of_combination
    expected = dict.fromkeys(
        ("row", "modal", "pooled_modal", "pooled_limit", "model", "vote", "match_one_file"),
        (0.0, 0.0),
    )
    for combination, n_records in enumerate(data.counts):
        b, g = int(pattern[combination]), int(data.combinations[combination, -1])
        n = int(data.patterns.sizes[b])
        alpha = counts[b] + PRIOR
        own = np.eye(3)[g]
        both = enumerated(alpha, n, g), enumerated(alpha - own, n, g)
        other = (counts[1 - b] + PRIOR)[g] / (counts[1 - b] + PRIOR).sum()
        for known in both:  # eight people are one leaf: both patterns count for a half
            known["model"] = (known["row"] + float(other)) / 2
        for attack, (first, second) in expected.items():
            expected[attack] = (
                first + n_records * both[0][attack], second + n_records * both[1][attack],
            )  # fmt: skip
    assert effect.evidence == "draws"
    assert effect.unreliable == 0
    for attack, (with_record, without_record) in expected.items():
        measured = attack_of(effect, attack)
        error = max(measured.standard_error, 0.003)
        assert error < 0.25 if attack == "pooled_modal" else error < 0.08
        assert abs(measured.effect - (with_record - without_record)) < 4 * error, attack
        assert abs(measured.with_record - with_record) < (0.3 if attack == "pooled_modal" else 0.12)


def test_weights_that_cannot_be_trusted_are_refitted() -> None:
    """A label that one person has, under a weak prior: 1/p has no variance, k-hat is near 1."""
    data = microdata({"sex": [0] * 12}, {"town": [0] * 6 + [1] * 5 + [2]}, {"sex": 1, "town": 3})
    fits = []

    def refit(less: us.Microdata) -> SaturatedFit:
        fits.append(less)
        return SaturatedFit(less, 0.05, seed=7)

    alone = us.own_record_effect(data, SaturatedFit(data, 0.05), sets=SETS, seed=1)
    again = us.own_record_effect(data, SaturatedFit(data, 0.05), sets=SETS, seed=1, refit=refit)
    assert (alone.unreliable, alone.refitted) == (1, 0)
    assert (again.unreliable, again.refitted) == (1, 1)
    assert [less.n_records for less in fits] == [11]
    assert "trusted for 1 record; 1 of them measured" in str(again)
    exact = np.array([(6.05 - 1) * 6, (5.05 - 1) * 5, 0.05]) / 11.15
    row = attack_of(again, "row")
    assert abs(row.without_record - exact.sum()) < 0.05
    left = again.per_record("row")[-1]
    assert abs(left - (1.05 / 12.15 - 0.05 / 11.15)) < 0.005


def test_a_record_that_is_left_out_is_gone() -> None:
    data = tiny()
    less = leave_out(data, np.array([0, 3]))
    assert less.n_records == 6
    assert np.array_equal(label_counts(data) - label_counts(less), [[1, 1, 0], [0, 0, 0]])
    assert less.counts.min() > 0


def test_exact_table_of_the_bundled_sample() -> None:
    data = us.load_ce_like()
    effect = us.own_record_effect(data, us.Perfect().fit(data), ["gender", "age"], sets=5, seed=1)
    row, pooled, match = (
        attack_of(effect, name) for name in ("row", "pooled_limit", "match_one_file")
    )
    assert effect.evidence == "closed form"
    assert (round(row.with_record, 1), round(row.without_record, 1)) == (172.6, 133.9)
    assert round(pooled.with_record) == 494
    assert abs(pooled.without_record - 379) < 1
    assert row.position == pooled.position == 1.0
    exact = us.expected_risk(data, empirical_labels(data), ["gender", "age"])
    assert np.isclose(match.with_record, exact.expected_match_risk)
    for attack in effect.attacks:
        assert (
            attack.position is None or abs(attack.position - 1) <= 5 * attack.position_error + 1e-9
        )
    sampled = us.inherent_risk(data, "gender", repeats=20, seed=1, sets=5).maximum.attacks
    mean, error = sampled.filter(pl.col("attack") == "pooled_modal").row(0)[1:3]
    assert abs(attack_of(effect, "pooled_modal").with_record - mean) < 4 * (error**2 + 4) ** 0.5
    best = attack_of(effect, "match_best")
    assert best.with_record >= match.with_record
    assert "exact table" in str(effect)
    assert "of 6,208" in str(effect)


@pytest.mark.parametrize(("baseline", "row", "pooled"), [
    (us.Uniform(), 0.0, 0.0), (us.Marginal(), 0.03, 0.0), (us.Others(), 0.0, 1.0),
])  # fmt: skip
def test_positions_of_the_other_baselines(baseline: us.Uniform, row: float, pooled: float) -> None:
    """Others gives nothing away by a person's row, and the whole table by its pattern."""
    data = us.load_ce_like()
    effect = us.own_record_effect(data, baseline.fit(data), "gender", sets=2, seed=1)
    assert np.isclose(attack_of(effect, "row").position, row, atol=0.005)
    assert np.isclose(attack_of(effect, "pooled_limit").position, pooled, atol=0.005)


def test_the_totals_alone_are_what_marginal_gives_away() -> None:
    """Towns nearly tied; two simulations of the same within 4 errors of their difference."""
    towns = [town for town, number in enumerate((70, 68, 66, 60, 50, 36)) for _ in range(number)]
    order = stream(8, "order").permutation(350)
    data = microdata(
        {"sex": [index % 2 for index in range(350)]}, {"town": np.array(towns)[order].tolist()},
        {"sex": 2, "town": 6},
    )  # fmt: skip
    effect = us.own_record_effect(data, us.Marginal().fit(data), sets=5, seed=3)
    for name in ("modal", "pooled_modal"):
        attack = attack_of(effect, name)
        assert attack.totals > 1
        assert abs(attack.effect - attack.totals) < 4 * 2**0.5 * attack.standard_error
    assert attack_of(effect, "row").totals == 0


def test_match_without_the_record_agrees_with_all_files_that_can_be_drawn() -> None:
    """Two patterns in one known cell; without the record only its own pattern changes."""
    data = microdata(
        {"sex": [0] * 5, "age": [0, 0, 0, 1, 1]}, {"town": [0, 0, 1, 0, 1]},
        {"sex": 1, "age": 2, "town": 2},
    )  # fmt: skip
    attacked = Attacked(data, [("sex",)], 2)
    perfect, others = empirical_labels(data), others_labels(data)
    chances = attack_reference(stream(1, "match"), attacked, (perfect, others), (perfect, others))
    match = chances[Key("match_one_file", False, ("sex",))]
    for combination in range(data.n_combinations):
        label, pattern = data.combinations[combination, -1], data.patterns.of_combination
        own = int(np.flatnonzero(data.of_record == combination)[0])
        for chance, table in ((match.with_record, None), (match.without_record, others)):
            rows = perfect.probabilities[perfect.row_of_combination[data.of_record]].copy()
            if table is not None:
                alike = pattern[data.of_record] == pattern[combination]
                rows[alike] = table.probabilities[table.row_of_combination[combination]]
            expected = 0.0
            for labels in product(range(2), repeat=5):
                likely = prod(rows[i, label] for i, label in enumerate(labels))
                if labels[own] == label:
                    expected += likely / labels.count(label)
            assert np.isclose(chance[combination], expected)


def test_rows_replaced_by_themselves_match_as_before() -> None:
    data = us.load_ce_like()
    labels = data.codes("county").astype(np.int64)
    targets = find_targets(data, ["gender"], data.combinations[:, -1].astype(np.int64), 133)
    files = [empirical_labels(data).draw(stream(3, index), data) for index in range(4)]
    matches = [targets.match_rows(file.astype(np.int64)) for file in files]
    matched, counts = (np.stack(part) for part in zip(*matches, strict=True))
    file, row = np.nonzero(matched >= 0)
    target = matched[file, row]
    order = np.lexsort((file, row, target))
    start = np.searchsorted(target[order], np.arange(len(targets) + 1))
    success = np.empty(data.n_records)
    hits = np.stack(files, axis=1) == labels[:, None]
    match_all_files(
        np.arange(data.n_records), targets.of_record, matched, counts, start, row[order],
        file[order], hits, success,
    )  # fmt: skip
    assert np.allclose(success, match_each_jointly(targets, matched, counts))


def survey(n: int, seed: int) -> us.Microdata:
    """Draw people whose town depends on their sex."""
    generator = stream(seed, "survey")
    sex = generator.integers(0, 2, n)
    town = np.where(generator.random(n) < 0.5, sex, generator.integers(0, 6, n))
    return microdata({"sex": sex.tolist()}, {"town": town.tolist()}, {"sex": 2, "town": 6})


def test_planted_leaks_light_up_and_what_is_kept_does_not() -> None:
    data = survey(300, 1)
    kept = us.own_record_effect(data, SaturatedFit(data, 50.0, 800), sets=5, seed=1)
    full = us.own_record_effect(data, SaturatedFit(data, 50.0, 800, leak=0.3), sets=5, seed=1)
    copy = us.own_record_effect(
        data, SyntheticSets(data, data.codes("town")[None, :, None]), seed=1
    )
    assert (attack_of(kept, "row").position) < 0.5
    assert (attack_of(full, "row").position) > 10
    assert attack_of(full, "vote").effect > 100
    assert copy.evidence == "others"
    assert "weaker evidence" in str(copy)
    assert (attack_of(copy, "row").position) > 10
    assert copy.worst().attack in ("row", "vote")
    # rows of a leaking model that are put into another order tell less, but tell
    released = attack_of(full, "row", "as released")
    assert released.effect < attack_of(full, "row").effect
    # a model sees no rows either: for large patterns it says what any of their rows says
    assert attack_of(full, "model").effect == pytest.approx(released.effect)
    assert "secret" not in str(copy)


def test_a_control_group_tells_inference_from_leaks() -> None:
    """Draws from the truth about as often right for both; a copy far more often for members.

    Differences within 4 standard errors: false-alarm rate below 1e-4 at a seed that is not chosen.
    """
    data, control = survey(2000, 1), survey(2000, 2)
    shares = np.full((2, 6), 0.5 / 6)
    shares[[0, 1], [0, 1]] += 0.5
    truth = LabelTable(shares, data.patterns.of_combination)
    codes = np.stack([truth.draw(stream(4, index), data) for index in range(3)])[:, :, None]
    fair = us.own_record_effect(data, SyntheticSets(data, codes), control=control, seed=1)
    copy = us.own_record_effect(
        data,
        SyntheticSets(data, data.codes("town")[None, :, None]),
        control=control.frame(),
        seed=1,
    )
    assert fair.evidence == copy.evidence == "control group"
    assert fair.covered == 2000
    for attack in fair.attacks:
        assert abs(attack.effect) < 4 * attack.standard_error
    leak = attack_of(copy, "row")
    assert leak.effect > 20 * leak.standard_error
    match = attack_of(copy, "match_one_file")  # all twelve pairs of sex and town are found once
    assert match.with_record == pytest.approx(12)
    assert match.without_record == pytest.approx(2, abs=0.4)  # any row of a pattern
    strangers = survey(50, 3).frame("pandas").astype(str)
    strangers["sex"] += "?"
    with pytest.raises(InputError, match="shares patterns"):
        us.own_record_effect(data, SyntheticSets(data, codes), control=strangers, seed=1)


def test_a_control_group_is_matched_by_any_row_of_its_pattern() -> None:
    """Two labels that the pattern decides: any row has them, and one of n rows is picked."""
    generator = stream(6, "two")
    sex, age = generator.integers(0, 2, 300), generator.integers(0, 3, 300)
    data = microdata(
        {"sex": sex.tolist(), "age": age.tolist()},
        {"town": (2 * sex + age % 2).tolist(), "job": (2 - age).tolist()},
        {"sex": 2, "age": 3, "town": 4, "job": 3},
    )
    copies = np.stack([data.codes("town"), data.codes("job")], axis=1)[None].repeat(2, axis=0)
    sets = SyntheticSets(data, copies)
    few = data.frame("polars").head(40)  # fewer people than records
    for control in (data.frame(), few):
        effect = us.own_record_effect(data, sets, control=control, seed=1)
        match = attack_of(effect, "match_one_file")
        assert match.without_record == pytest.approx(6)
        assert match.with_record == pytest.approx(6)


def test_patterns_without_control_are_counted_out() -> None:
    data = survey(400, 1)
    control = microdata({"sex": [0] * 50}, {"town": [0] * 50}, {"sex": 2, "town": 6})
    sets = SyntheticSets(data, data.codes("town")[None, :, None])
    effect = us.own_record_effect(data, sets, control=control, seed=1)
    assert effect.covered == int((data.codes("sex") == 0).sum())
    assert "whose pattern the control group has" in str(effect)


def test_results_by_record_and_by_pattern_add_up() -> None:
    data = survey(200, 3)
    effect = us.own_record_effect(data, SaturatedFit(data, 2.0, 500), sets=4, seed=5)
    again = us.own_record_effect(data, SaturatedFit(data, 2.0, 500), sets=4, seed=5)
    assert effect.effects.equals(again.effects)
    for attack in ("row", "vote", "modal", "pooled_modal"):
        total = attack_of(effect, attack).effect
        assert np.isclose(effect.per_record(attack).sum(), total)
        assert np.isclose(float(effect.per_pattern(attack)["effect"].sum()), total)
    assert effect.per_record("match_one_file", ["sex"]).shape == (200,)
    with pytest.raises(SettingError, match="an attack that was measured"):
        effect.per_record("match_one_file")
    with pytest.raises(SettingError, match="worst case"):
        effect.worst("never")


def test_settings_are_checked() -> None:
    data = tiny()
    fit = SaturatedFit(data, PRIOR, 60)
    with pytest.raises(SettingError, match="sets"):
        us.own_record_effect(data, fit, sets=0)
    with pytest.raises(SettingError, match="of type int"):
        us.own_record_effect(data, fit, 5)  # type: ignore[arg-type]
    for other in (survey(200, 3), survey(9, 2)):
        with pytest.raises(InputError, match="a fit of these data"):
            us.own_record_effect(other, fit)
        with pytest.raises(InputError, match="a fit of these data"):
            us.own_record_effect(other, us.Others().fit(data))
    with pytest.raises(InputError, match="at least 20 kept draws"):
        us.own_record_effect(data, SaturatedFit(data, PRIOR, 5))
    with pytest.raises(InputError, match="fully_synthetic_risk"):
        us.own_record_effect(microdata({}, {"town": [0, 1]}, {"town": 2}), fit)
    several = us.own_record_effect(data, fit, [["sex"], "sex"], sets=2, seed=1)
    assert {attack.known for attack in several.attacks if attack.known} == {("sex",)}
