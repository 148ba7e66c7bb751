"""People who stand for all: every sample that can be drawn, against everybody measured."""

from __future__ import annotations

from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.risk.example_surveys import microdata
from tests.risk.saturated_fit import SaturatedFit

import understudy as us
from understudy.microdata.label_table import true_labels
from understudy.randomness import stream
from understudy.risk.own_record import sampled_people
from understudy.risk.own_record.refits import leave_out
from understudy.risk.own_record.sampled_people import FitOfPeople, refit_of_people, sample_people
from understudy.synthesis.dpmpm.synthetic_labels import CLASS_DRAWS

CELLS, SIZE = 8, 6


@pytest.fixture
def four_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four of eight cells are drawn."""
    monkeypatch.setattr(sampled_people, "MOST_PAIRS", 1)
    monkeypatch.setattr(sampled_people, "FEWEST_CELLS", 4)


def survey() -> us.Microdata:
    """Eight patterns of six people, three towns; the first pattern has one town only."""
    town = [0] * SIZE + [(cell * person) % 3 for cell in range(1, CELLS) for person in range(SIZE)]
    order = np.random.Generator(np.random.Philox(1)).permutation(CELLS * SIZE)
    return microdata(
        {"block": (np.arange(CELLS * SIZE)[order] // SIZE).tolist()},
        {"town": np.array(town)[order].tolist()},
        {"block": CELLS, "town": 3},
    )


def drawing(*cells: int) -> Any:
    """Draw these cells, whatever is asked for."""
    return SimpleNamespace(choice=lambda *_, **__: np.array(cells))


def test_small_data_are_measured_whole() -> None:
    draw = np.random.Generator(np.random.Philox(1))
    assert sample_people(draw, survey(), [("block",)]) is None


@pytest.mark.usefixtures("four_cells")
def test_estimates_over_all_samples_are_unbiased_and_their_errors_right() -> None:
    data = survey()
    chance = np.sqrt(np.arange(data.n_combinations, dtype=np.float64))  # (combination,) anything
    total = float(chance @ data.counts)
    estimates, variances = [], []
    for drawn in combinations(range(CELLS), 4):
        people = sample_people(drawing(*drawn), data, [("block",)])
        assert people is not None
        own = chance[people.combinations]
        estimates.append(people.scale * float(own @ people.data.counts))
        variances.append(people.error(own) ** 2)
        assert people.error_of_share(2 * own, own) == pytest.approx(0, abs=1e-9)
    assert np.mean(estimates) == pytest.approx(total)
    assert np.mean(variances) == pytest.approx(np.var(estimates))


@pytest.mark.usefixtures("four_cells")
def test_cells_are_those_that_all_intruders_tell_apart() -> None:
    data = microdata(
        {"block": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4], "sex": [0, 1] * 5},
        {"town": [0, 1, 2, 0, 1] * 2},
        {"block": 5, "sex": 2, "town": 3},
    )
    people = sample_people(drawing(0, 2, 3, 4), data, [("block",), ("block", "sex")])
    assert people is not None
    assert people.n_cells == 5
    assert set(people.data.codes("block").tolist()) == {0, 2, 3, 4}
    assert people.data.n_records == 8
    assert sample_people(drawing(), data, [("block",), ("sex",)]) is None  # one cell of all


@pytest.mark.usefixtures("four_cells")
def test_drawn_cells_are_attacked_as_in_the_whole_data() -> None:
    """Exact attacks of drawn people are the same; only the sum over people is estimated."""
    data = survey()
    fit = SaturatedFit(data, prior=2.0, n_draws=60)
    part = us.own_record_effect(data, fit, ["block"], sets=2, seed=3)
    assert part.measured == 4 * SIZE
    assert "random sample of 24 people" in repr(part)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sampled_people, "MOST_PAIRS", 10**6)
        whole = us.own_record_effect(data, fit, ["block"], sets=2, seed=3)
    assert whole.measured == data.n_records
    for attack in ("row", "match_one_file"):
        known = ("block",) if attack != "row" else ()
        some = part.per_record(attack, known)
        seen = np.isfinite(some)
        assert seen.sum() == 4 * SIZE
        assert some[seen] == pytest.approx(whole.per_record(attack, known)[seen], abs=1e-6)
        sampled, all_ = (
            next(listed for listed in effect.attacks if listed.attack == attack)
            for effect in (part, whole)
        )
        assert sampled.effect == pytest.approx(2 * some[seen].sum())
        assert sampled.standard_error > all_.standard_error


@pytest.mark.usefixtures("four_cells")
def test_a_fit_without_some_people_is_one_of_all_other_records() -> None:
    data = survey()
    people = sample_people(drawing(0, 1, 2, 5), data, [("block",)])
    assert people is not None
    of_last = np.flatnonzero(people.data.combinations[:, 0] == 5)[0]  # row of a combination
    record = int(np.flatnonzero(people.data.of_record == of_last)[0])
    left = leave_out(people.data, np.array([record]))
    fitted: list[us.Microdata] = []

    def refit(less: us.Microdata) -> SaturatedFit:
        fitted.append(less)
        return SaturatedFit(less, prior=1.0, n_draws=5)

    again = refit_of_people(people, refit)(left)
    assert isinstance(again, FitOfPeople)
    (less,) = fitted
    lost = [tuple(row) for row in people.data.combinations[[of_last]].tolist()]
    before = dict(zip(map(tuple, data.combinations.tolist()), data.counts.tolist(), strict=True))
    after = dict(zip(map(tuple, less.combinations.tolist()), less.counts.tolist(), strict=True))
    assert {key: n - after.get(key, 0) for key, n in before.items() if n != after.get(key)} == {
        lost[0]: 1
    }
    shown, whole = next(again.predictive_tables()), next(again.fit.predictive_tables())
    assert np.array_equal(shown, whole[[0, 1, 2, 5]])


ONE, TWO = ("county",), ("county", "income")


@pytest.mark.filterwarnings("ignore::understudy.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "synthesized"),
    [
        *((us.DPMPM(sampler="blocked", class_draw=class_draw), ONE) for class_draw in CLASS_DRAWS),
        (us.BackoffTree(), ONE),
        (us.BackoffTree(order=["gender"]), TWO),
    ],
)
def test_a_fit_seen_from_some_people_is_part_of_its_tables(
    monkeypatch: pytest.MonkeyPatch, model: Any, synthesized: tuple[str, ...]
) -> None:
    """The rows that are worked out for the people alone, against those of whole tables."""
    data = us.read_microdata(us.load_ce_like().frame(), synthesized)
    fit = model.fit(data, chains=1, warmup=3, draws=4, thin=1, seed=1, progress=False)
    monkeypatch.setattr(sampled_people, "MOST_PAIRS", 1000)
    monkeypatch.setattr(sampled_people, "FEWEST_CELLS", 5)
    people = sample_people(stream(1, "part"), data, [data.kept])
    assert people is not None
    alone = FitOfPeople(fit, people)
    with monkeypatch.context() as without:
        without.delattr(type(fit), "of_part")
        whole = FitOfPeople(fit, people)
        assert whole._part is None
    for name in ("predictive_tables", "left_out_weights_tables"):
        for part_chances, other in zip(getattr(alone, name)(), getattr(whole, name)(), strict=True):
            assert np.allclose(part_chances, other, rtol=1e-12)
    for part, table in zip(alone.label_tables(), whole.label_tables(), strict=True):
        rows = [source.probabilities[source.row_of_combination] for source in (part, table)]
        assert np.allclose(rows[0], rows[1], rtol=1e-12)
    pattern, label = data.patterns.of_combination, true_labels(data)
    for own, predictive in zip(fit.own_chances(), fit.predictive_tables(), strict=True):
        assert np.allclose(own, predictive[pattern, label], rtol=1e-12)
