"""Sets drawn slice by slice: the first slice as ever, every slice on its own, anywhere the same."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.clusters import quiet, threads_as_workers

import understudy as us
from understudy.microdata.coarsening import coarsening_of
from understudy.microdata.codebook import codebook_from
from understudy.microdata.label_table import marginal_labels, split_labels
from understudy.randomness import stream
from understudy.synthesis import set_drawing
from understudy.synthesis.coarsened_fit import CoarsenedFit

LENGTHS: dict[str, Any] = {"chains": 2, "warmup": 4, "draws": 10, "thin": 1, "seed": 1}
ROWS = 2500  # of a slice: three of the bundled records
MODELS = (us.DPMPM(sampler="blocked", level_prior=1.0), us.BackoffTree(), us.DPAreal(n_clusters=3))
NAMES = ("blocked", "backoff", "areal")


def two_labels() -> us.Microdata:
    return us.read_microdata(us.load_ce_like().frame("polars"), ["county", "income"])


def test_every_slice_has_a_generator_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against draws by hand; nobody may change which records a slice has, nor its key."""
    data = us.load_ce_like()
    assert set_drawing.RECORDS == 1 << 20
    monkeypatch.setattr(set_drawing, "RECORDS", ROWS)
    codes = us.Marginal().fit(data).synthesize(2, seed=3).codes
    table = marginal_labels(data)
    for number in range(2):
        for index, path in enumerate([(number,), (number, 1), (number, 2)]):
            rows = slice(index * ROWS, (index + 1) * ROWS)
            labels = table.draw(stream(3, "synthesize", *path), data, rows)
            assert np.array_equal(codes[number, rows], split_labels(data, labels))


@quiet
@pytest.mark.parametrize("model", MODELS, ids=NAMES)
def test_slices_are_drawn_from_the_same_draw(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first slice is that of a set that is not cut; all have as many labels right, about."""
    data = two_labels() if isinstance(model, us.DPMPM) else us.load_ce_like()
    fit = model.fit(data, **LENGTHS)
    whole = fit.synthesize(20, seed=2).codes
    monkeypatch.setattr(set_drawing, "RECORDS", ROWS)
    cut = fit.synthesize(20, seed=2).codes
    assert np.array_equal(cut[:, :ROWS], whole[:, :ROWS])
    assert not np.array_equal(cut[:, ROWS:], whole[:, ROWS:])
    assert not np.array_equal(cut[:, ROWS : 2 * ROWS], cut[:, :ROWS])
    right = [_right(data, codes)[:, ROWS:].sum(axis=1) for codes in (cut, whole)]  # (set,)
    error = (right[0].var() + right[1].var()) ** 0.5 / 20**0.5
    assert abs(right[0].mean() - right[1].mean()) < 5 * error  # false alarm: below 1 in 100,000


def _right(data: us.Microdata, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
    true = np.stack([data.codes(name) for name in data.synthesized], axis=-1)
    return np.asarray((codes == true).all(axis=-1))


@quiet
def test_frames_are_those_of_the_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slice by slice, without what models alone use and what passes through."""
    frame = us.load_ce_like().frame("polars")[:ROWS].with_row_index("weight", offset=1)
    data = us.read_microdata(frame, "county", weight="weight", weight_groups=3)
    fit = us.BackoffTree().fit(data, **LENGTHS)
    sets = fit.synthesize(2, seed=5)
    shown = list(sets)
    assert shown[0].columns == ["gender", "income", "age", "county"]
    assert len(data.names) == 5
    monkeypatch.setattr(set_drawing, "RECORDS", ROWS - 1)
    first, second = next(fit.drawing(2, seed=5).slices())
    assert first.equals(shown[0][: ROWS - 1])
    assert second.height == 1
    monkeypatch.setattr(set_drawing, "RECORDS", ROWS)
    for (made,), drawn in zip(fit.drawing(2, seed=5).slices(), shown, strict=True):
        assert made.equals(drawn)


def test_what_a_worker_prepared_stays_with_it() -> None:
    """Workers hand on to each other what sets are drawn from; the data are there already."""
    data = us.load_ce_like()

    class Fit:
        def __init__(self) -> None:
            self.data = data

        def drawer(self, _: Any) -> set_drawing.Drawer:
            return set_drawing.table_drawer(data, marginal_labels(data))

    given = set_drawing._DrawnFrom({"numbers": np.arange(3)})
    drawn = set_drawing._draw_slice((1, 0, 0, ROWS), Fit(), given)
    handed_on = pickle.loads(pickle.dumps(given))  # noqa: S301  (our own)
    assert len(given.prepared) == 1
    assert not handed_on.prepared
    assert np.array_equal(handed_on.snapshot["numbers"], np.arange(3))
    assert np.array_equal(set_drawing._draw_slice((1, 0, 0, ROWS), Fit(), handed_on), drawn)


@quiet
@pytest.mark.parametrize("number", [1, 2, 3])
def test_workers_draw_the_same_sets(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fit goes to them once, without its draws."""
    data = two_labels()
    monkeypatch.setattr(set_drawing, "RECORDS", ROWS)
    fits: list[Any] = [model.fit(data, **LENGTHS) for model in MODELS[:2]]
    ages = list(data.variable("age").levels)
    book = codebook_from(
        {"variables": {"age": {"levels": ages, "hierarchy": [{"merged": ages[:2]}]}}}
    )
    coarsening = coarsening_of(data, book, {"age": 1})
    assert coarsening is not None
    fits.append(CoarsenedFit(fits[0], coarsening))
    alone = [fit.synthesize(2, seed=2).codes for fit in fits]
    with threads_as_workers(number) as address, us.on_workers(cluster=address):
        there = [fit.synthesize(2, seed=2).codes for fit in fits]
    assert all(np.array_equal(own, other) for own, other in zip(alone, there, strict=True))
