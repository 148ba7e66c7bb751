"""Sampled level priors as the user meets them: which variables, what is shown, what is saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.synthesis.conftest import quiet_fit
from tests.synthesis.test_fit import bytes_of

import understudy as us
from understudy.errors import CheckpointError, SettingError
from understudy.randomness import stream
from understudy.synthesis.dpmpm.problem import make_problem, sampled_variables
from understudy.synthesis.dpmpm.sampler import CollapsedChain, label_cells

SAMPLERS = ["collapsed", "blocked"]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_show_sampled_strengths(data: us.Microdata, sampler: Any) -> None:
    fit = quiet_fit(us.DPMPM(sampler=sampler, level_prior="sampled"), data, seed=1)
    drawn = np.asarray(fit.draws["posterior"]["level_prior_county"])  # (chain, draw)
    assert drawn.shape == (2, 60)
    assert (drawn > 0).all()
    assert np.unique(drawn).size == drawn.size
    assert "level_prior_county" in fit.diagnostics()["quantity"].to_list()
    assert fit.synthesize(m=2, seed=1).codes.shape[0] == 2


def test_which_variables_are_sampled() -> None:
    generator = stream(1, "invented")
    frame = pl.DataFrame(
        {
            "few": [f"f{code}" for code in generator.integers(0, 3, 400)],
            "many": [f"m{code:02}" for code in generator.integers(0, 10, 400)],
            "label 1": [f"a{code}" for code in generator.integers(0, 4, 400)],
            "label 2": [f"b{code}" for code in generator.integers(0, 2, 400)],
        }
    )
    data = us.read_microdata(frame, synthesize=["label 1", "label 2"])
    assert sampled_variables(data, 1.0) == ()
    assert sampled_variables(data, "sampled") == ("many", "label 1", "label 2")
    assert sampled_variables(data, {"few": "sampled", "label 1": [1.0] * 4}) == ("few",)
    problem = make_problem(data, {"few": "sampled", "label 1": [1.0, 2.0, 3.0, 4.0]})
    assert problem.sampled.tolist() == [0]
    assert problem.prior_sum.tolist() == pytest.approx([0.6, 10.0, 10.0, 2.0])
    fit = quiet_fit(us.DPMPM(level_prior="sampled"), data, draws=4)
    assert list(fit.chain_draws.scalars)[4:] == [
        "level_prior_many",
        "level_prior_label_1",
        "level_prior_label_2",
    ]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_certain_strength_is_as_good_as_a_given_one(data: us.Microdata, sampler: Any) -> None:
    """Posterior means differ by less than 0.03, with standard errors of about 0.003: below 1e-4."""
    tables = []
    for settings in (
        us.DPMPM(sampler=sampler, level_prior={"county": 5.0}),
        us.DPMPM(
            sampler=sampler,
            level_prior={"county": "sampled"},
            strength_prior=(float(np.log(5.0)), 1e-4),
        ),
    ):
        fit = quiet_fit(settings, data, seed=3, warmup=300, draws=300, thin=4)
        tables.append(np.asarray(fit.draws["posterior"]["label_probability"]).mean(axis=(0, 1)))
    drawn = np.asarray(fit.draws["posterior"]["level_prior_county"])
    assert np.abs(drawn - 5.0).max() < 0.01
    assert np.abs(tables[0] - tables[1]).max() < 0.03


def test_the_samplers_agree_on_strengths(data: us.Microdata) -> None:
    """Means of the log strength within 0.25, with standard errors of about 0.03: below 1e-4."""
    means = []
    for sampler in ("collapsed", "blocked"):
        settings = us.DPMPM(sampler=sampler, level_prior={"county": "sampled", "age": "sampled"})
        fit = quiet_fit(settings, data, seed=4, warmup=300, draws=600, thin=5)
        posterior = fit.draws["posterior"]
        means.append(
            [
                np.log(np.asarray(posterior[f"level_prior_{name}"])).mean()
                for name in ("county", "age")
            ]
        )
    assert np.ptp(means, axis=0).max() < 0.25  # (sampler, variable)


def test_observations_use_the_present_strength(data: us.Microdata) -> None:
    """At a strength of a million every class has even level probabilities; no false alarms."""
    problem = make_problem(data, "sampled")
    cells = label_cells(data, problem, 10)
    chain = CollapsedChain(problem, cells, (0.25, 0.25), sampled=("county",))
    generator = stream(5, "observe")
    state = chain.start(generator, 1)._replace(strengths=np.array([1e6]))
    probabilities = chain.observe(generator, state).snapshot["probabilities"]  # (class, level)
    first = int(problem.level_start[-2])
    assert np.allclose(probabilities[:, first:], 1.0 / data.n_labels, atol=0.01)


def test_a_saved_run_goes_on_with_its_strengths(data: us.Microdata, tmp_path: Path) -> None:
    settings = us.DPMPM(level_prior="sampled")
    options: dict[str, Any] = {"seed": 6, "warmup": 40, "draws": 40, "thin": 2}
    straight = quiet_fit(settings, data, **options)

    def stop(progress: Any) -> None:
        if progress.sweep >= 60:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        quiet_fit(settings, data, **options, checkpoint=tmp_path, progress=stop)
    pieces = quiet_fit(settings, data, **options, checkpoint=tmp_path)
    assert bytes_of(pieces) == bytes_of(straight)
    other = us.DPMPM(level_prior="sampled", strength_prior=(0.0, 1.0))
    with pytest.raises(CheckpointError, match="strength_prior"):
        quiet_fit(other, data, **options, checkpoint=tmp_path)


def test_a_prior_that_nothing_is_drawn_from_does_not_matter(
    data: us.Microdata, tmp_path: Path
) -> None:
    options: dict[str, Any] = {"seed": 6, "draws": 10}
    first = quiet_fit(us.DPMPM(level_prior=1.0), data, **options, checkpoint=tmp_path)
    settings = us.DPMPM(level_prior=1.0, strength_prior=(1.0, 2.0))
    assert bytes_of(quiet_fit(settings, data, **options, checkpoint=tmp_path)) == bytes_of(first)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"level_prior": "much"}, "level_prior"),
        ({"level_prior": {"county": "much"}}, "level_prior"),
        ({"level_prior": {"county": ["sampled", 1.0]}}, "level_prior"),
        ({"strength_prior": 1.0}, "strength_prior"),
        ({"strength_prior": (0.0, 0.0)}, "strength_prior"),
        ({"strength_prior": (float("inf"), 1.0)}, "strength_prior"),
        ({"strength_prior": ("a", "b")}, "strength_prior"),
    ],
)
def test_wrong_settings(given: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        us.DPMPM(**given)
