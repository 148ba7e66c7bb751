"""What all tests share: a command line to call, and files to feed it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.findings_factory import made_study
from understudy.cli import main
from understudy.findings.schema import Findings

settings.register_profile(
    "whole",
    deadline=None,
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("whole"), max_examples=20)


def is_quick(config: pytest.Config) -> bool:
    """Tell whether `make quick` runs, which leaves out what is slow and tries fewer examples."""
    return bool(config.getoption("markexpr") == "not slow")


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples Hypothesis tries: the same ones in every run."""
    settings.load_profile("quick" if is_quick(config) else "whole")


# What `make quick` leaves out: whole folders and files, and the slowest tests elsewhere, by name.
SLOW_FOLDERS = {"browser", "docs", "faults", "reproduction", "statistics"}
SLOW_FILES = {
    "test_checkpoints.py",
    "test_convergence.py",
    "test_damaged_files.py",
    "test_known_generators.py",
    "test_noise_floors.py",
    "test_r_bridge.py",
}
SLOW_TESTS = {
    "test_a_blocked_chain_takes_no_more_than_is_estimated",
    "test_a_certain_strength_is_as_good_as_a_given_one",
    "test_a_coarse_study_merges_the_sets_of_the_fine_one",
    "test_a_cut_sweep_is_that_of_one_machine",
    "test_a_fit_without_a_number_of_draws_goes_on_until_it_has_converged",
    "test_a_link_planted_at_every_instant",
    "test_a_program_of_its_own",
    "test_a_report_with_the_verdict_of_a_study",
    "test_a_register_has_the_frontier_and_the_number_of_its_points",
    "test_a_second_process_is_refused",
    "test_a_signal_stops_cleanly",
    "test_a_study_without_what_only_unix_has",
    "test_a_synthesizer_that_knows_the_population_has_ratio_one",
    "test_a_synthesizer_that_knows_the_population_reaches_the_truth_floors",
    "test_a_terminal_that_goes_away",
    "test_agrees_with_listing_every_file",
    "test_an_analysis_compares_levels_with_those_that_are_asked_for",
    "test_any_text_comes_back_byte_for_byte",
    "test_chains_from_far_apart_meet",
    "test_chains_from_one_class_and_from_many_arrive_at_the_same_likelihood",
    "test_chains_interrupted_before_every_line_of_a_thread_pool_end",
    "test_copies_that_chance_explains_are_no_point",
    "test_damaged_files_are_said_and_made_again",
    "test_disk_full_at_a_checkpoint",
    "test_exact_table_of_the_bundled_sample",
    "test_floors_of_the_overlap_are_ordered_and_those_of_a_right_synthesizer",
    "test_folder_prepared_by_somebody_else",
    "test_full_and_closed_streams_of_commands_that_print",
    "test_imputed_sets_are_nested",
    "test_intervals_cover",
    "test_killed_at_any_instant_and_resumed_to_the_same_bytes",
    "test_modules_in_the_folder_that_the_user_works_in",
    "test_names_nearly_the_same",
    "test_nobody_reads_the_output",
    "test_not_converged_is_said_loudly",
    "test_numbers_of_sets",
    "test_one_class_and_more_classes_than_records",
    "test_one_cluster_is_the_poisson_lognormal_model",
    "test_order_of_columns_and_levels_does_not_matter",
    "test_ordered_logit_is_that_of_statsmodels",
    "test_own_record_effects_of_a_weighted_fit_have_their_closed_form",
    "test_own_records_are_left_out_as_on_one_machine",
    "test_points_on_workers_have_the_same_bytes",
    "test_program_that_is_killed_goes_on",
    "test_progress_needs_a_terminal",
    "test_random_pairings_average_to_the_baselines",
    "test_rates_of_the_areal_model_have_the_size_of_the_counts",
    "test_reader_of_the_output_goes_away",
    "test_results_do_not_depend_on_the_surroundings",
    "test_right_sets_are_hardly_ever_flagged_and_bad_ones_are",
    "test_risk_and_tables_are_those_of_one_machine",
    "test_runs_until_targets_are_met",
    "test_runs_until_targets_are_met_or_the_limit_is_reached",
    "test_same_bytes_for_one_and_two_threads",
    "test_same_bytes_twice_and_with_two_threads_on_the_bundled_data",
    "test_samples_agree_with_the_exact_values",
    "test_separation_is_found_per_coefficient",
    "test_signals",
    "test_tables_of_every_snapshot",
    "test_the_page_shows_every_measure_by_chain",
    "test_the_program_runs_where_nothing_can_be_cached",
    "test_the_same_bytes_in_another_process",
    "test_the_samplers_agree_on_strengths",
    "test_the_samplers_agree_on_very_many_records",
    "test_the_tree_is_not_public",
    "test_two_processes_in_one_folder",
    "test_two_signals_stop_at_once",
    "test_very_many_columns",
    "test_very_many_labels",
    "test_weighted_points_share_the_fit_that_the_risks_come_from",
    "test_weights_of_one_give_the_bytes_of_no_weights",
    "test_work_that_was_done_is_not_reported_as_failed",
}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what `make quick` leaves out whole."""
    slow = collection_path.name in SLOW_FOLDERS | SLOW_FILES
    return True if slow and is_quick(config) else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long. Coverage is measured of the rest: the same lines run there.

    The reproduction has no other tests than slow ones, so it is measured.
    """
    for item in items:
        name = getattr(item, "originalname", None) or item.name
        if name in SLOW_TESTS or (SLOW_FOLDERS | SLOW_FILES) & set(item.path.parts):
            item.add_marker("slow")
            if "reproduction" not in item.path.parts:
                item.add_marker("no_cover")


@dataclass(frozen=True)
class Answer:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Answer]
MakeFile = Callable[..., Path]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Call the command line in this process."""

    def call(*arguments: object) -> Answer:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return Answer(int(code), shown.out, shown.err)

    return call


@pytest.fixture
def make_file(tmp_path: Path) -> MakeFile:
    """Write a file of text or bytes."""

    def write(content: str | bytes, name: str = "data.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """Findings of a small study on the bundled data, computed once for all workers."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own  # of one session only
    kept = shared / "findings-of-the-test-study.json"
    with (shared / "findings-of-the-test-study.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            whole = kept.with_suffix(".part")
            whole.write_text(made_study().model_dump_json(), encoding="utf-8")
            whole.replace(kept)
    return Findings.model_validate_json(kept.read_text(encoding="utf-8"))
