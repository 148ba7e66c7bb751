"""The synthesizer on the page about adding one, run like any other."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.publishing.fake_study import APPROVAL
from tests.publishing.test_real_study import PLAN as LIMITS
from tests.studies import write_study
from tests.synthesis.conftest import quiet_fit, quiet_sets, small_data
from tests.synthesis.test_contract import test_promises as check_promises

import understudy as us
from understudy.errors import SettingError
from understudy.microdata.label_table import empirical_labels
from understudy.publishing.manifest import is_whole_release

EXAMPLES = Path(__file__).parent.parent.parent / "docs" / "examples"
PROGRAM, ENTRY = EXAMPLES / "smoothed.py", EXAMPLES / "smoothed_entry.py"


@pytest.fixture
def smoothed(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the page's program as a module."""
    spec = importlib.util.spec_from_file_location("smoothed", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "smoothed", module)  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


PLAN = """\
seed = 98765432109876543210987
sets = 10
[data]
file = "{file}"
synthesize = ["county"]
ignore = ["id"]
codebook = "book.toml"
[[synthesizers]]
model = "smoothed"
draws = 500
prior_count = 20.0
[[synthesizers]]
model = "smoothed"
name = "second"
prior_count = 40.0
[[intruders]]
known = ["gender", "age"]
[levels]
repeats = 20
"""
RUN = """
import sys, warnings
warnings.simplefilter("ignore")
import entry
import understudy as us
plan, study, public, approval = sys.argv[1:]
us.Study(plan).run(study)
us.release(study, public, approval, reason="limits as wide as this", guessable_seed=True)
"""


def test_its_entry_takes_it_from_plan_to_release(tmp_path: Path) -> None:
    """A model that nothing but its entry names: plan, progress guess, report, public pages."""
    shutil.copy(PROGRAM, tmp_path / "smoothed.py")
    shutil.copy(ENTRY, tmp_path / "entry.py")
    limits = LIMITS[LIMITS.index("[thresholds]") :]
    plan = write_study(tmp_path / "home", PLAN + limits, n_records=240)
    study, public = tmp_path / "study", tmp_path / "public"
    ended = subprocess.run(
        [sys.executable, "-c", RUN, plan, study, public, APPROVAL],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert not ended.returncode, ended.stderr
    report = (study / "internal" / "report.html").read_text(encoding="utf-8")
    assert "Smoothed (second)" in report
    assert "--smoothed: #6b6b00" in report
    assert "var(--smoothed)" in report
    methods = (public / "methods.html").read_text(encoding="utf-8")
    assert "with a Dirichlet prior" in methods
    assert "prior count of a label" in methods
    assert is_whole_release(public)


@pytest.mark.parametrize("names", [("county",), ("county", "age")])
def test_it_keeps_the_promises(smoothed: Any, names: tuple[str, ...]) -> None:
    check_promises(smoothed.Smoothed(prior_count=0.5), names)


def test_its_draws_have_the_posterior_means(smoothed: Any) -> None:
    """All 144 means of 2,000 independent draws, within six standard errors.

    False-alarm rate below 1e-5, since means of so many draws are close to normal.
    """
    data = small_data()
    fit = smoothed.Smoothed(prior_count=0.5).fit(data, chains=4, draws=500, seed=1)
    assert fit.converged
    shares = empirical_labels(data).probabilities  # (pattern, label)
    sizes = data.patterns.sizes[:, np.newaxis]
    total = sizes + 0.5 * data.n_labels
    expected = (shares * sizes + 0.5) / total
    error = np.sqrt(expected * (1 - expected) / (total + 1) / 2000)
    drawn = np.asarray(fit.draws["posterior"]["label_probability"]).mean(axis=(0, 1))
    assert drawn.shape == (24, 6)
    assert np.abs((drawn - expected) / error).max() < 6


def test_a_saved_run_ends_with_the_same_sets(smoothed: Any, tmp_path: Path) -> None:
    data, settings = small_data(), smoothed.Smoothed()
    saved = tmp_path / "run"
    plain = quiet_sets(quiet_fit(settings, data, seed=3), m=4, seed=5)
    for _ in range(2):  # the second call finds everything done
        again = quiet_fit(settings, data, seed=3, threads=1, checkpoint=saved)
        assert np.array_equal(quiet_sets(again, m=4, seed=5).codes, plain.codes)


def test_its_settings_are_checked_and_its_sets_are_judged(smoothed: Any) -> None:
    with pytest.raises(SettingError):
        smoothed.Smoothed(prior_count=0)
    data = small_data()
    sets = quiet_sets(quiet_fit(smoothed.Smoothed(), data, seed=1), m=2, seed=2)
    assert us.attribute_risk(data, sets).n_sets == 2
