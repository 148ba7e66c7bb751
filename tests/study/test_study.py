"""The study: one way through, saved stage by stage, resumed to the same bytes or refused."""

from __future__ import annotations

import json
import stat
import tomllib
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.studies import PLAN, files_of, run_quietly
from tests.study.conftest import Counted

import understudy as us
from understudy.errors import (
    CheckpointError,
    CheckpointWarning,
    ExitCode,
    OutputError,
    SettingError,
    UnderstudyWarning,
)
from understudy.findings.schema import Findings
from understudy.study.folder import StudyFolder, check_study_folder
from understudy.study.plan import read_plan
from understudy.study.progress import StudyProgress
from understudy.verdict.verdict import Verdict

STAGES = ["data", "intruder-1", "dpmpm-fit", "dpmpm-own-record", "dpmpm-sets", "dpmpm-utility"]
STAGES = ["plan", *STAGES, "dpmpm-risk", "findings", "verdict", "report"]


ONCE = {
    "fit": 1,
    "intruder_findings": 1,
    "own_record_findings": 1,
    "utility_findings": 1,
    "risk_findings": 1,
    "page": 1,
}


def test_the_whole_way(plan: Path, tmp_path: Path, run: Callable[..., us.Study]) -> None:
    told: list[StudyProgress] = []
    study = run(plan, tmp_path / "out", progress=told.append)
    internal = tmp_path / "out" / "internal"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["internal"]
    assert study.report() == internal / "report.html"
    assert sorted(files_of(internal)) == sorted(
        ["codebook.json", "findings.json", "plan.toml", "report.html", "study.json", "verdict.json",
         "sets/dpmpm/01.parquet", "sets/dpmpm/02.parquet"]
        + [f"stages/{name}.json" for name in STAGES[1:5] + STAGES[6:8]]
    )  # fmt: skip
    for path in [internal, *internal.rglob("*")]:
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path.name
    content = json.loads((internal / "study.json").read_text())
    assert list(content["stages"]) == STAGES
    assert content["seed"] == 5
    findings = Findings.model_validate_json((internal / "findings.json").read_bytes())
    assert findings == study.findings
    assert findings.set_digests["dpmpm"] == tuple(content["stages"]["dpmpm-sets"]["files"].values())
    assert findings.data_fingerprint == content["identity"]["data"]
    verdict = Verdict.model_validate_json((internal / "verdict.json").read_bytes())
    assert verdict == study.verdict
    assert verdict.findings == content["stages"]["findings"]["files"]["findings.json"]
    book = json.loads((internal / "codebook.json").read_text())
    assert book["declared"]
    assert book["reviewed"]
    assert [variable["name"] for variable in book["variables"]] == ["gender", "age", "county"]
    assert read_plan(internal / "plan.toml").sets == 2
    time = json.loads((internal / "finished.json").read_text())["time"]
    assert abs(datetime.now(UTC) - datetime.fromisoformat(time)) < timedelta(hours=1)
    assert told[-1].step == told[-1].steps == 9
    assert {line.step for line in told} == set(range(10))
    assert {line.words for line in told if line.step == 0} == {"reading the data"}
    assert all((line.study_seconds_left or 0) >= (line.seconds_left or 0) >= 0 for line in told)
    shared = {line.step for line in told if line.share is not None}
    assert {2, 3, 4, 5, 6} <= shared, "baselines, fit, sets, utility and risk tell their share"
    assert repr(study) == 'Study("A study of synthetic data", fail)'


def test_the_sets_are_the_data_with_other_labels(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study]
) -> None:
    import polars as pl

    run(plan, tmp_path / "out")
    frame = pl.read_parquet(tmp_path / "out" / "internal" / "sets" / "dpmpm" / "02.parquet")
    data = us.read_microdata(**read_plan(plan).data.reading_options(plan.parent))
    assert frame.columns == ["gender", "age", "county"]
    assert frame["gender"].to_list() == data.frame()["gender"].to_list()
    assert frame.schema["county"] == pl.Enum(["east", "north", "south", "west"])


def test_not_converged_is_said_loudly(plan: Path, tmp_path: Path) -> None:
    """With the page as it is. So few draws do not show the risk either, so it fails."""
    with pytest.warns(UnderstudyWarning, match="quantities miss a target"):
        study = us.Study(plan).run(tmp_path / "out")
    assert study.exit_code == ExitCode.DO_NOT_RELEASE
    outcomes = {reason.subject: reason.outcome for reason in study.verdict.reasons}
    assert (outcomes["convergence"], outcomes["own-record effect"]) == ("review", "fail")
    assert any("quantities miss a target" in note for note in study.findings.synthesizers[0].notes)
    assert "have not converged" in study.report().read_text(encoding="utf-8")


def test_one_seed_one_result(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(plan, tmp_path / "one")
    monkeypatch.setattr("understudy.synthesis.chains.os.sched_getaffinity", lambda _: {0})
    run(plan, tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_without_a_seed_one_is_drawn_and_remembered(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study]
) -> None:
    plan.write_text(plan.read_text().replace("seed = 5\n", ""))
    first, second = run(plan, tmp_path / "one"), run(plan, tmp_path / "two")
    assert first.findings.seed != second.findings.seed
    before = files_of(tmp_path / "one")
    (tmp_path / "one" / "internal" / "sets" / "dpmpm" / "01.parquet").unlink()
    run(plan, tmp_path / "one")
    assert files_of(tmp_path / "one") == before


def test_finished_stages_are_not_redone(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], counted: Counted
) -> None:
    run(plan, tmp_path / "out")
    assert counted == ONCE
    before = files_of(tmp_path / "out")
    again = run(plan, tmp_path / "out")
    assert counted == ONCE
    assert files_of(tmp_path / "out") == before
    assert again.verdict.outcome == "fail"


def test_a_study_that_was_stopped_goes_on(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], counted: Counted
) -> None:
    run(plan, tmp_path / "calm")
    counted.clear()
    for step in range(1, 10):

        def stop(now: StudyProgress, step: int = step) -> None:
            if now.step == step:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(plan, tmp_path / "out", progress=stop)
    run(plan, tmp_path / "out")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "calm")
    # the fit is taken up again when its sets were not yet drawn, and has nothing left to do
    assert counted == {**ONCE, "fit": counted["fit"]}
    assert counted["fit"] <= 2


def test_thresholds_and_title_may_change(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], counted: Counted
) -> None:
    run(plan, tmp_path / "out")
    text = 'title = "Other"\n' + plan.read_text() + "[thresholds]\ncodebook_required = false\n"
    plan.write_text(text)
    study = run(plan, tmp_path / "out")
    assert counted == {**ONCE, "page": 2}
    assert "codebook" not in {reason.subject for reason in study.verdict.reasons}
    assert "<title>Other</title>" in study.report().read_text()
    run(plan, tmp_path / "fresh")
    assert files_of(tmp_path / "out") == files_of(tmp_path / "fresh")


def test_a_codebook_may_be_reviewed(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], counted: Counted
) -> None:
    book = plan.with_name("book.toml")
    book.write_text(book.read_text().replace("reviewed = true", "reviewed = false"))
    first = run(plan, tmp_path / "out")
    assert not first.findings.data.codebook_reviewed
    book.write_text(book.read_text().replace("reviewed = false", "reviewed = true"))
    assert run(plan, tmp_path / "out").findings.data.codebook_reviewed
    assert counted == {**ONCE, "page": 2}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (("draws = 8", "draws = 9"), '"draws" of "plan.synthesizers.dpmpm" (saved "8", now "9")'),
        (("sets = 2", "sets = 3"), '"sets" of "plan" (saved "2", now "3")'),
        (("repeats = 2", "repeats = 3"), '"repeats" of "plan.baselines" (saved "2", now "3")'),
        (('known = ["gender"]', 'known = ["age"]'), '"intruders"'),
        (("seed = 5", "seed = 6"), '"seed"'),
        (
            ("thin = 1\n", 'thin = 1\nname = "other"\n'),
            '"dpmpm" of "plan.synthesizers"; "other" of',
        ),
        (('ignore = ["id"]', 'ignore = ["id", "age"]'), '"data"; "ignore"'),
    ],
)
def test_another_plan_is_refused_and_named(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], change: tuple[str, str], named: str
) -> None:
    run(plan, tmp_path / "out")
    before = files_of(tmp_path / "out")
    if "age" in change[1] and "ignore" in change[1]:
        book = plan.with_name("book.toml")
        book.write_text(
            book.read_text().replace('[variables.age]\nlevels = ["old", "young"]\n', "")
        )
    plan.write_text(plan.read_text().replace(*change))
    with pytest.raises(CheckpointError) as caught:
        run(plan, tmp_path / "out")
    assert named in str(caught.value)
    assert files_of(tmp_path / "out") == before


def test_other_data_codebooks_and_versions_are_refused_and_named(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(plan, tmp_path / "out")
    data, book = plan.with_name("data.csv"), plan.with_name("book.toml")
    original = data.read_text(), book.read_text()
    data.write_text(original[0].replace("f,", "m,", 1))
    with pytest.raises(CheckpointError, match=r'differs in "data"\.'):
        run(plan, tmp_path / "out")
    data.write_text(original[0])
    book.write_text(original[1] + 'description = "County"\n')
    with pytest.raises(CheckpointError, match=r'differs in "codebook"\.'):
        run(plan, tmp_path / "out")
    book.write_text(original[1])
    monkeypatch.setattr(us, "__version__", "9.9")
    with pytest.raises(
        CheckpointError, match=r'"understudy" of "versions" \(saved "0.1.0", now "9.9"\)'
    ):
        run(plan, tmp_path / "out")


def test_data_may_move(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], counted: Counted
) -> None:
    """The study goes on, nothing is computed again, and only the plan that is kept changes."""
    run(plan, tmp_path / "out")
    before = files_of(tmp_path / "out")
    plan.with_name("data.csv").rename(plan.with_name("moved.csv"))
    plan.write_text(plan.read_text().replace("data.csv", "moved.csv"))
    run(plan, tmp_path / "out")
    assert counted == ONCE
    after = files_of(tmp_path / "out")
    changed = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    assert changed == {"internal/plan.toml", "internal/study.json"}  # which has the plan's digest


SETS = "sets/dpmpm/02.parquet"
OTHERS = ("stages/dpmpm-fit.json", "stages/intruder-1.json", "findings.json", "verdict.json",
          "report.html", "codebook.json", "plan.toml")  # fmt: skip


@pytest.mark.parametrize(
    ("name", "damage"),
    [(SETS, "gone"), (SETS, "empty"), (SETS, "flipped"), *((name, "gone") for name in OTHERS)],
)
def test_damaged_files_are_said_and_made_again(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], name: str, damage: str
) -> None:
    run(plan, tmp_path / "out")
    before = files_of(tmp_path / "out")
    path = tmp_path / "out" / "internal" / name
    content = path.read_bytes()
    if damage == "gone":
        path.unlink()
    else:
        flipped = content[:9] + bytes([content[9] ^ 1]) + content[10:]
        path.write_bytes(b"" if damage == "empty" else flipped)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        us.Study(plan).run(tmp_path / "out")
    said = [
        str(warning.message)
        for warning in caught
        if issubclass(warning.category, CheckpointWarning)
    ]
    assert any("the saved study is damaged: 1 of" in text for text in said)
    assert files_of(tmp_path / "out") == before


def test_a_damaged_or_foreign_study_is_refused(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study]
) -> None:
    run(plan, tmp_path / "out")
    path = tmp_path / "out" / "internal" / "study.json"
    for content in (b"", b"{}", path.read_bytes().replace(b'"seed": 5', b'"seed": 6')):
        path.write_bytes(content)
        with pytest.raises(CheckpointError, match="damaged or was written by something else"):
            run(plan, tmp_path / "out")


def test_a_file_that_changes_while_the_study_runs(plan: Path, tmp_path: Path) -> None:
    with StudyFolder(tmp_path / "internal", {"plan": {}}, None, 7) as folder:
        assert folder.seed == 7
        folder.save("one", [("stages/one.json", b"{}")])
        (tmp_path / "internal" / "stages" / "one.json").write_bytes(b"[]")
        with pytest.raises(CheckpointError, match="changed while the study ran"):
            folder.read("one", "stages/one.json")


def test_several_and_fully_synthesized_variables(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study]
) -> None:
    text = plan.read_text().replace('known = ["gender"]', 'known = ["age"]')
    plan.write_text(text.replace('["county"]', '["county", "gender"]'))
    some = run(plan, tmp_path / "some")
    assert some.findings.data.synthesized == ("gender", "county")
    text = text.replace('[[intruders]]\nknown = ["age"]\n', "")
    plan.write_text(text.replace('["county"]', '["county", "gender", "age"]'))
    full = run(plan, tmp_path / "full")
    assert full.findings.intruders == ()
    (synthesizer,) = full.findings.synthesizers
    assert synthesizer.fully_synthetic
    assert synthesizer.risk.attribute is None
    assert synthesizer.risk.fully_synthetic is not None
    judged = {reason.subject for reason in full.verdict.reasons}
    assert {"own-record effect", "repeated records"} <= judged


def test_the_default_intruder_knows_everything(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study]
) -> None:
    plan.write_text(plan.read_text().replace('[[intruders]]\nknown = ["gender"]\n', ""))
    findings = run(plan, tmp_path / "out").findings
    assert [intruder.known for intruder in findings.intruders] == [("gender", "age")]


def test_settings_are_told_in_words(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study]
) -> None:
    (synthesizer,) = run(plan, tmp_path / "out").findings.synthesizers
    assert synthesizer.settings["sampler"] == "collapsed"  # settled by the size of the data
    assert synthesizer.settings["until"] == "–"
    assert synthesizer.settings["draws"] == "8"
    until = "until = { rhat = 1.01, ess = 400, most_draws = 12 }\n"
    plan.write_text(plan.read_text().replace("thin = 1\n", f"thin = 1\n{until}"))
    (synthesizer,) = run(plan, tmp_path / "other").findings.synthesizers
    assert synthesizer.settings["until"] == "rhat 1.01, ess 400.0, most draws 12"
    assert synthesizer.settings["draws"] == "8 asked, 12 kept"
    assert not [text for text in synthesizer.settings.values() if "null" in text or "{" in text]


def test_an_analysis(plan: Path, tmp_path: Path, run: Callable[..., us.Study]) -> None:
    analysis = '[[analyses]]\nformula = "age ~ gender"\nfamily = "logistic"\ntrain = "all"\n'
    plan.write_text(plan.read_text() + analysis)
    (synthesizer,) = run(plan, tmp_path / "out").findings.synthesizers
    assert [regression.formula for regression in synthesizer.utility.regressions] == [
        "age ~ gender"
    ]
    assert synthesizer.utility.regressions[0].train == 40


@pytest.mark.parametrize("level", ["north", "east"])
def test_an_analysis_compares_levels_with_those_that_are_asked_for(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], level: str
) -> None:
    analysis = f'[[analyses]]\nformula = "age ~ county"\nreference = {{ county = "{level}" }}\n'
    plan.write_text(plan.read_text() + analysis + 'family = "logistic"\ntrain = "all"\n')
    (synthesizer,) = run(plan, tmp_path / "out").findings.synthesizers
    names = {coefficient.name for coefficient in synthesizer.utility.regressions[0].coefficients}
    others = {"north", "south", "east", "west"} - {level}
    assert {f"county[{name}]" for name in others} <= names
    assert f"county[{level}]" not in names


def test_the_current_folder_is_named(
    plan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "other.txt").touch()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(OutputError, match='at "here"'):
        us.Study(plan).run(".")


def test_a_plan_without_a_file(plan: Path, tmp_path: Path, counted: Counted) -> None:
    asked = read_plan(plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnderstudyWarning)
        study = us.Study(asked, home=plan.parent)
        with pytest.raises(SettingError, match="call run"):
            study.report()
        assert repr(study) == 'Study("A study of synthetic data", not run yet)'
        assert study.run(tmp_path / "out") is study
    run_quietly(plan, tmp_path / "out")
    assert counted == ONCE
    assert us.Study(tomllib.loads(plan.read_text())).plan == asked
    with pytest.raises(SettingError, match="type int"):
        us.Study(5)  # type: ignore[arg-type]


def test_a_saved_fit_is_used_again(plan: Path, tmp_path: Path, counted: Counted) -> None:
    """Stopped in the middle of a fit, the study goes on with the segments that are there."""
    run_quietly(plan, tmp_path / "calm")
    seen = []

    def stop(now: StudyProgress) -> None:
        if now.words == "fitting dpmpm" and now.share is not None:
            seen.append(now.share)
            if len(seen) == 2:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_quietly(plan, tmp_path / "out", progress=stop)
    saved = tmp_path / "out" / "internal" / "fits" / "dpmpm"
    assert len(list(saved.glob("draws-*"))) >= 2
    run_quietly(plan, tmp_path / "out", progress=stop)
    assert not saved.parent.exists()
    assert files_of(tmp_path / "out") == files_of(tmp_path / "calm")


@pytest.mark.parametrize("content", ["file", "link", "other", "inside", "begun"])
def test_places_that_are_refused(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study], content: str
) -> None:
    out = tmp_path / "out"
    if content == "file":
        out.write_text("")
    elif content == "link":
        (tmp_path / "real").mkdir()
        out.symlink_to(tmp_path / "real")
    elif content == "other":
        out.mkdir()
        (out / "notes.txt").write_text("")
    elif content == "inside":
        (out / "internal").mkdir(parents=True)
        (out / "internal" / "draft.csv").write_text("")
    else:
        (out / "internal" / "sets").mkdir(parents=True)
    with pytest.raises(OutputError, match=r"found (a file|a symbolic link|one that holds other)"):
        run(plan, out)
    with pytest.raises(OutputError, match="path of a folder"):
        check_study_folder("a\0b", resume=True)


def test_a_study_is_not_resumed_unasked(
    plan: Path, tmp_path: Path, run: Callable[..., us.Study]
) -> None:
    run(plan, tmp_path / "out", resume=False)
    with pytest.raises(OutputError, match="holds a study"):
        run(plan, tmp_path / "out", resume=False)


def test_a_plan_for_both_synthesizers(plan: Path, tmp_path: Path, counted: Counted) -> None:
    short = "\nchains = 2\nwarmup = 4\ndraws = 8\nthin = 1\n"
    plan.write_text(
        PLAN.replace("{file}", "data.csv") + '[[synthesizers]]\nmodel = "areal"' + short
    )
    study = run_quietly(plan, tmp_path / "out")
    assert [synthesizer.title for synthesizer in study.findings.synthesizers] == [
        "DPMPM",
        "DP-areal",
    ]
    assert list(study.verdict.synthesizers) == ["dpmpm", "areal"]
