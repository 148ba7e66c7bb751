"""The memory setting: what it says, what it refuses, and that no result depends on it."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import understudy as us
from tests.conftest import Command
from tests.studies import files_of, plain_page, run_quietly, write_study
from understudy import memory
from understudy.errors import (
    ExitCode,
    NotEnoughMemoryError,
    SettingError,
    UnderstudyWarning,
)
from understudy.pages import report
from understudy.randomness import stream
from understudy.study.memory_needs import memory_needs
from understudy.study.plan import read_plan
from understudy.study.planned_fit import PlannedFit
from understudy.synthesis import workers
from understudy.synthesis.dpmpm import model
from understudy.synthesis.dpmpm.blocked import BLOCK
from understudy.synthesis.dpmpm.costs import enough_classes
from understudy.synthesis.dpmpm.problem import make_problem, sampled_variables
from understudy.synthesis.dpmpm.sampler import BlockedChain, label_cells
from understudy.synthesis.registry import MODELS, load_model


def test_what_a_setting_means(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 32 * 10**9)
    assert memory.most_memory() == 8 * 10**9
    settings: dict[str | int, float]
    settings = {"8 GB": 8e9, "8gb": 8e9, "1.5G": 1.5e9, "400 MB": 4e8, "50%": 16e9,
                "200000000": 2e8, 300_000_000: 3e8}  # fmt: skip
    for given, size in settings.items():
        assert memory.memory_from(given) == size
        with us.memory_limit(given):
            assert memory.most_memory() == size
    with us.memory_limit("1 GB"), us.memory_limit(None):
        assert memory.most_memory() == 10**9
    assert memory.most_memory() == 8 * 10**9
    wrongs: tuple[str | int, ...] = ("", "much", "-1 GB", "8 pints", "1 MB", 5, True, "0%")
    for wrong in wrongs:
        with pytest.raises(SettingError, match="a number with MB, GB or %"):
            memory.memory_from(wrong)


def test_limits_of_control_groups_count(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/memory.max").write_text("5000000000\n", encoding="ascii")
    (tmp_path / "a/b/memory.max").write_text("max\n", encoding="ascii")
    assert list(memory._limits_above(tmp_path, "/a/b", "")) == [5_000_000_000]
    (tmp_path / "a/memory.limit_in_bytes").write_text(f"{1 << 63}\n", encoding="ascii")
    (tmp_path / "a/b/memory.limit_in_bytes").write_text("7000000000\n", encoding="ascii")
    assert list(memory._limits_above(tmp_path, "/a/b", "memory")) == [7_000_000_000]
    assert list(memory._limits_above(tmp_path, "/gone", "")) == []
    assert 10**8 < memory.machine_memory() < 1 << 60


def many_labels() -> us.Microdata:
    """Give 20,000 patterns and 5,000 labels: a table of them takes 0.8 GB."""
    number = pl.arange(40_000, eager=True)
    return us.read_microdata(
        pl.DataFrame({"a": (number // 2).cast(str), "t": (number % 5000).cast(str)}), "t"
    )


@pytest.mark.filterwarnings("ignore::understudy.errors.UnderstudyWarning")
def test_models_with_tables_of_all_labels_are_refused_where_they_do_not_fit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = many_labels()
    with us.memory_limit("1 GB"):
        for settings in (us.DPAreal(), us.FormalDirichlet(epsilon=1.0, sets=1)):
            with pytest.raises(NotEnoughMemoryError, match=r"20,000 patterns and 5,000 labels"):
                settings.fit(data, chains=1, warmup=1, draws=4, seed=1)
        with pytest.raises(NotEnoughMemoryError, match=r"about 2\.4 GB"):
            us.Perfect().fit(data)
        with pytest.raises(NotEnoughMemoryError, match=r"take the back-off tree or the DPMPM"):
            us.Others().fit(data)
        us.DPMPM(sampler="blocked").check_memory(data)
        us.DPMPM().check_memory(data)
        fit = us.BackoffTree().fit(data, chains=1, warmup=1, draws=4, seed=1)
        assert fit.synthesize(m=1, seed=1).codes.max() < 5000
    with us.memory_limit("100 MB"):
        monkeypatch.setattr(model, "OF_START", 10_000)
        with pytest.raises(NotEnoughMemoryError, match=r"classes of 40,000 combinations"):
            us.DPMPM(sampler="collapsed").fit(data)
        us.DPMPM(sampler="blocked").check_memory(data)


def test_a_blocked_chain_takes_no_more_than_is_estimated() -> None:
    """Nothing of it grows with the combinations but what all chains share."""
    number = pl.arange(60_000, eager=True)
    parts = {"a": number % 40, "b": number // 40 % 30, "t": number // 1200}
    data = us.read_microdata(pl.DataFrame({name: part.cast(str) for name, part in parts.items()}),
                             "t")  # fmt: skip
    assert data.n_combinations == 60_000
    problem = make_problem(data, "sampled")
    classes = enough_classes(data.n_records)
    chain = BlockedChain(problem, label_cells(data, problem, 1000), (0.25, 0.25), classes,
                         sampled=sampled_variables(data, "sampled"))  # fmt: skip
    generator = stream(1, "memory")
    state = chain.advance(generator, chain.start(generator, 3), 1)  # compiled
    tracemalloc.start()
    state = chain.advance(generator, chain.start(generator, 3), 2)
    chain.observe(generator, state)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    block = 2 * 8 * 100 * BLOCK  # first classes, a block of combinations at a time
    assert peak < MODELS["dpmpm"].chain_bytes(data) + block + 8 * data.n_combinations
    assert peak < 8 * 40 * data.n_combinations


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_reading_is_refused_when_combinations_do_not_fit(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "LEAST", 1)
    frame = pl.DataFrame({"a": pl.arange(100_000, eager=True), "t": ["x", "y"] * 50_000})
    path = tmp_path / f"records.{suffix}"
    frame.write_csv(path) if suffix == "csv" else frame.write_parquet(path)
    for source in (frame, path):
        with us.memory_limit(3_000_000), pytest.raises(NotEnoughMemoryError) as refused:
            us.read_microdata(source, "t")
        assert "distinct combinations of 2 columns so far" in str(refused.value)


def test_every_command_that_computes_takes_a_limit(command: Command, tmp_path: Path) -> None:
    plan, out = write_study(tmp_path), tmp_path / "out"
    for words in (
        ("run", plan, "--out", out),
        ("frontier", plan, "--out", out),
        ("demo", "--out", out),
        ("reproduce", "--quick", "--out", out),
        ("evaluate", tmp_path / "data.csv", tmp_path / "data.csv", "--synthesize", "county"),
    ):
        answer = command(*words, "--memory", "lots")
        assert answer.code == ExitCode.WRONG_INPUT
        assert "a number with MB, GB or %" in answer.err


def test_a_frontier_and_workers_have_the_setting(tmp_path: Path) -> None:
    plan = read_plan(write_study(tmp_path)).with_memory("200 MB")
    with pytest.raises(NotEnoughMemoryError, match=r"200\.0 MB of memory; found 40 records"):
        us.frontier(plan, tmp_path / "frontier", home=tmp_path)
    assert workers._checked(workers.deciding_versions(), 10**9, memory.most_memory) == 10**9
    with us.memory_limit("5 GB"):
        assert memory.given_memory() == 5 * 10**9
    assert memory.given_memory() is None


def test_a_study_is_refused_before_its_first_computation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "page", plain_page)
    plan = write_study(tmp_path)
    text = plan.read_text(encoding="utf-8")
    plan.write_text('memory = "200 MB"\n' + text, encoding="utf-8")
    with pytest.raises(NotEnoughMemoryError, match=r"200\.0 MB of memory; found 40 records and 2"):
        run_quietly(plan, tmp_path / "refused")
    assert not (tmp_path / "refused").exists()
    enough = read_plan(plan).with_memory("3 GB")
    made = []
    for name, given in (("one", enough), ("other", enough.with_memory("50%"))):
        us_study = us.Study(given, home=tmp_path)
        with pytest.warns(UnderstudyWarning):
            us_study.run(tmp_path / name)
        files = files_of(tmp_path / name)
        made.append(
            {key: files[key] for key in files if not key.endswith(("plan.toml", "study.json"))}
        )
    assert made[0] == made[1]
    plan.write_text('memory = "lots"\n' + text, encoding="utf-8")
    with pytest.raises(SettingError, match="a number with MB, GB or %"):
        run_quietly(plan, tmp_path / "wrong")


def test_needs_grow_with_records_sets_and_draws() -> None:
    data = us.load_ce_like()

    def needs(sets: int, draws: int) -> list[int]:
        own = {"chains": 4, "warmup": 10, "draws": draws, "thin": 1, "until": None}
        planned = PlannedFit("DPMPM", "dpmpm", load_model("dpmpm")(), own)
        return list(memory_needs(data, sets, {"dpmpm": planned}).values())

    of_rows, of_utility, of_chains, of_effect = needs(5, 100)
    assert needs(20, 100)[0] == of_rows + 15 * 12 * data.n_records
    assert needs(20, 100)[1] == of_utility + 15 * 20 * data.n_combinations
    more = 4 * 100 * 40 * 133  # label probabilities of as many draws again
    assert needs(5, 200)[2] - of_chains == 6 * 4 * more
    assert needs(5, 200)[3] - of_effect == (4 + 2 * 12) * more


def test_five_million_combinations_fit_into_a_quarter_of_24_gigabytes() -> None:
    """10 million records of eight variables, and five sets of a DPMPM: 6 GB are enough."""
    sizes = (9, 8, 2, 10, 6, 12, 5, 500)
    large: Any = SimpleNamespace(
        n_records=10_000_000,
        n_combinations=5_000_000,
        patterns=range(250_000),
        n_labels=500,
        kept=("age", "income"),
        variables=[SimpleNamespace(n_levels=size) for size in sizes],
    )
    options = {"chains": 4, "warmup": 4000, "draws": None, "thin": 60, "until": None}
    planned = PlannedFit("DPMPM", "dpmpm", load_model("dpmpm")(), options)
    needs = memory_needs(large, 5, {"dpmpm": planned})
    assert max(needs.values()) < 6e9
    assert needs["10,000,000 records and 5 sets, drawn and matched"] > 5.9e9  # what it took
    assert needs["utility of 5 sets, with 5,000,000 combinations"] > 3e9
