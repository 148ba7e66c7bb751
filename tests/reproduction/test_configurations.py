"""How long the fits of the reproduction go on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy.reproduction.configurations import (
    FITS,
    FULL,
    LENGTHS,
    PRIORS,
    QUICK,
    FitPlan,
    LabelTargets,
    Scale,
)
from understudy.synthesis.diagnostics import ConvergenceTargets
from understudy.synthesis.registry import TABLE_BYTES


def test_every_label_probability_counts_and_slower_numbers_do_not() -> None:
    """A run may end though a scalar is stuck, but not for one cell in a thousand."""
    rng = np.random.default_rng(4)
    tables = rng.normal(size=(4, 700, 1000)).astype(np.float32)  # (chain, draw, cell)
    many = {"label_probability": tables}
    stuck = {"matches": np.repeat(np.arange(4.0)[:, None], 700, axis=1)}  # (chain, draw)
    targets = LabelTargets(rhat=1.02)
    assert targets.reached(stuck, many, threads=2)
    assert not ConvergenceTargets(rhat=1.02).reached(stuck, many, threads=2)
    tables[0, :, 1] += 0.5  # within the allowance for a thousand cells
    assert ConvergenceTargets(rhat=1.02).reached({}, many, threads=2)
    assert not targets.reached({}, many, threads=2)


def test_only_fits_with_a_limit_go_on(tmp_path: Path) -> None:
    class Kept:
        def fit(self, _: object, **asked: object) -> dict[str, object]:
            return asked

    plan = FitPlan("text", "", "DP-areal", Kept())
    lengths = FULL.length("text", population=3)
    asked = plan.run(None, 1, lengths, tmp_path, None)  # type: ignore[arg-type]
    assert asked["until"] == LabelTargets(most_draws=lengths["most_draws"])
    assert {name: asked[name] for name in LENGTHS} == {name: lengths[name] for name in LENGTHS}
    usual = FULL.length("text", population=0)
    assert plan.run(None, 1, usual, tmp_path, None)["until"] is None  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", [FULL, PRIORS, QUICK])
def test_of_every_draw_all_label_probabilities_are_kept(scale: Scale) -> None:
    """Else not every one could be judged: 40 patterns, 133 counties."""
    for key in scale.fits:
        for population in (0, 1):
            asked = scale.length(key, population)
            most = asked.get("most_draws", asked["draws"])
            assert 4 * 4 * most * 40 * 133 <= TABLE_BYTES
            assert set(asked) - {"most_draws"} == {"warmup", "draws", "thin"}
    assert set(scale.fits) <= set(FITS)
