"""What the public folder holds: exactly the allowed files, in their form, and usable."""

from __future__ import annotations

import inspect
import json
import os
import re
import stat
import tomllib
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import polars as pl
import pyreadstat
import pytest

import understudy as us
from tests.conftest import Command
from tests.publishing.fake_study import APPROVAL, EXACT, Study, digest
from tests.publishing.looking import places, png_parts
from understudy.errors import OutputError
from understudy.microdata.variable import Variable
from understudy.pages.plots import bare_png
from understudy.publishing import random_rounding
from understudy.publishing.combining_examples import examples
from understudy.publishing.evidence import CodebookRecord
from understudy.publishing.manifest import check_bundle, is_whole_release
from understudy.publishing.public_variables import public_variables
from understudy.publishing.target import MOMENT

FORMATS = {"csv": ".csv", "parquet": ".parquet", "stata": ".dta", "spss": ".sav"}


def names(folder: Path) -> set[str]:
    """Names of all files."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def read(path: Path) -> pl.DataFrame:
    """Read a released file as text."""
    if path.suffix == ".csv":
        return pl.read_csv(path, infer_schema=False, null_values="-9")
    if path.suffix == ".parquet":
        return pl.read_parquet(path).cast(pl.String)
    reader = pyreadstat.read_dta if path.suffix == ".dta" else pyreadstat.read_sav
    content, _ = reader(str(path), output_format="dict", user_missing=True)
    frame = pl.DataFrame(
        {name: [str(value) for value in column] for name, column in content.items()}
    )
    return frame.with_columns(pl.col("age").replace({"-9": None, "": None, "None": None}))


@pytest.mark.parametrize("form", FORMATS)
def test_exactly_the_allowed_files(study: Study, public: Path, form: str) -> None:
    us.release(study.folder, public, APPROVAL, format=form)  # type: ignore[arg-type]
    data = {f"synthetic-0{number}{FORMATS[form]}" for number in (1, 2, 3)}
    words = {"README.txt", "codebook.html", "codebook.toml", "manifest.json", "methods.html"}
    assert names(public) == data | words
    assert sorted(path.name for path in public.parent.iterdir()) == ["public", "study"]


@pytest.mark.parametrize("form", FORMATS)
def test_files_hold_the_sets_in_another_order(study: Study, public: Path, form: str) -> None:
    us.release(study.folder, public, APPROVAL, format=form)  # type: ignore[arg-type]
    columns = ["gender", "age", "county"]
    for number in (1, 2, 3):
        given = study.frame(number).cast(pl.String)
        frame = read(public / f"synthetic-0{number}{FORMATS[form]}")
        assert frame.columns == columns
        assert frame.sort(columns).equals(given.sort(columns))
        assert not frame.equals(given)


def test_modes_and_times(study: Study, public: Path) -> None:
    old = os.umask(0o077)
    try:
        us.release(study.folder, public, APPROVAL)
    finally:
        os.umask(old)
    for path in [public, *public.rglob("*")]:
        seen = path.stat()
        assert stat.S_IMODE(seen.st_mode) == (0o755 if path.is_dir() else 0o644), path
        assert seen.st_mtime == MOMENT
    approvals = study.internal / "approvals.json"
    assert stat.S_IMODE(approvals.stat().st_mode) == 0o600


def test_manifest_has_the_hash_of_every_file(study: Study, public: Path) -> None:
    us.release(study.folder, public, APPROVAL)
    manifest = json.loads((public / "manifest.json").read_text())
    assert {*manifest["files"], "manifest.json"} == names(public)
    for name, listed in manifest["files"].items():
        content = (public / name).read_bytes()
        assert listed == {"bytes": len(content), "sha256": sha256(content).hexdigest()}
    assert (manifest["sets"], manifest["rows"], manifest["combining_rule"]) == (3, 240, "partial")
    kept = json.loads((study.internal / "approvals.json").read_text())[0]
    assert kept["manifest_sha256"] == sha256((public / "manifest.json").read_bytes()).hexdigest()


def test_limits_and_targets_are_kept_with_the_approval_only(study: Study, public: Path) -> None:
    """Whoever reads the approval later sees by which limits the files passed."""
    study.thresholds = {
        "own_record_pass": 98.7613,
        "own_record_review": 98.7613,
        "table_deviation_pass": 99.4711,
        "table_deviation_review": 99.4711,
        "smallest_pattern": 0,
        "codebook_required": False,
    }
    study.seal()
    us.release(study.folder, public, APPROVAL, reason="limits that suit these data")
    kept = json.loads((study.internal / "approvals.json").read_text())[0]
    assert kept["thresholds"].items() >= study.thresholds.items()
    assert kept["thresholds"]["codebook_required"] is False
    assert kept["convergence_targets"] == {"rhat": 1.01, "ess": 400.0}
    for word in ("98.7613", "99.4711", "_pass", "smallest_pattern", "codebook_required"):
        assert places(public, word) == []


def test_there_is_no_seed_and_no_release_is_repeated(study: Study, tmp_path: Path) -> None:
    """Two orders of 240 rows are the same with probability 1 / 240!."""
    parameters = {*inspect.signature(us.release).parameters}
    assert not parameters & {"seed", "rng", "generator", "random_state", "order"}
    first = us.release(study.folder, tmp_path / "a", APPROVAL)
    second = us.release(study.folder, tmp_path / "b", APPROVAL)
    for number in (1, 2, 3):
        name = f"synthetic-0{number}.csv"
        assert (first / name).read_bytes() != (second / name).read_bytes()
    same = {"README.txt", "codebook.html", "codebook.toml", "methods.html"}
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in same)


def test_codebook_can_be_read_back(study: Study, public: Path) -> None:
    us.release(study.folder, public, APPROVAL)
    book = tomllib.loads((public / "codebook.toml").read_text())
    assert book["variables"]["county"]["levels"] == ["03", "01", "02", "unused"]
    assert book["variables"]["county"]["labels"] == {"01": "North & Coast"}
    data = us.read_microdata(
        public / "synthetic-01.csv",
        synthesize=["county"],
        codebook=public / "codebook.toml",
        missing="level",
        unused_levels="keep",
    )
    assert data.n_records == 240
    assert data.variable("county").levels == ("03", "01", "02", "unused")
    assert data.variable("age").has_missing


def test_labels_of_unpublished_levels_stay_inside(study: Study, public: Path) -> None:
    variable = study.variables[2]
    labels = variable.labels | {"99": "Witness protection"}
    study.variables[2] = variable.model_copy(update={"labels": labels})
    us.release(study.seal().folder, public, APPROVAL, format="parquet")
    assert not places(public, "Witness")


def test_more_levels_than_findings_list(study: Study, public: Path) -> None:
    levels = tuple(f"place {number:04d}" for number in range(1500))
    study.variables[2] = study.variables[2].model_copy(update={"levels": levels, "labels": {}})
    study.seal()
    findings = json.loads((study.internal / "findings.json").read_text())
    findings["data"]["variables"][2]["levels"] = levels[:1000]
    content = json.dumps(findings).encode()
    study.reseal("findings.json", content)
    study.reseal("verdict.json", json.dumps(study.verdict(digest(content))).encode())
    us.release(study.folder, public, APPROVAL)
    book = tomllib.loads((public / "codebook.toml").read_text())
    assert book["variables"]["county"]["levels"] == list(levels)


# Replacing


def test_earlier_release_is_refused_or_replaced_as_a_whole(study: Study, public: Path) -> None:
    us.release(study.folder, public, APPROVAL, format="parquet")
    before = {name: (public / name).read_bytes() for name in names(public)}
    with pytest.raises(OutputError, match="an earlier release"):
        us.release(study.folder, public, APPROVAL)
    assert {name: (public / name).read_bytes() for name in names(public)} == before
    us.release(study.folder, public, APPROVAL, overwrite=True)
    assert not any(name.endswith(".parquet") for name in names(public))
    assert is_whole_release(public)
    assert sorted(path.name for path in public.parent.iterdir()) == ["public", "study"]
    assert len(json.loads((study.internal / "approvals.json").read_text())) == 2


@pytest.mark.parametrize("how", ["added", "changed", "removed", "linked", "not ours"])
def test_only_an_unchanged_release_is_replaced(study: Study, public: Path, how: str) -> None:
    if how == "not ours":
        public.mkdir()
        (public / "thesis.docx").write_text("the only copy")
    else:
        us.release(study.folder, public, APPROVAL)
    if how == "added":
        (public / "notes.txt").write_text("mine")
    elif how == "changed":
        (public / "README.txt").write_text("mine")
    elif how == "removed":
        (public / "README.txt").unlink()
    elif how == "linked":
        (public / "codebook.html").unlink()
        (public / "codebook.html").symlink_to(public / "README.txt")
    before = sorted(public.rglob("*"))
    with pytest.raises(OutputError, match="no release"):
        us.release(study.folder, public, APPROVAL, overwrite=True)
    assert sorted(public.rglob("*")) == before


def test_empty_folder_is_used(study: Study, public: Path) -> None:
    public.mkdir(mode=0o700)
    us.release(study.folder, public, APPROVAL)
    assert is_whole_release(public)


@pytest.mark.parametrize("name", ["manifest.json", "README.txt"])
def test_what_is_no_release(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"kind": "something else", "files": {}}')
    assert not is_whole_release(tmp_path)


# The last look


def test_last_look_finds_what_is_not_allowed(tmp_path: Path) -> None:
    (tmp_path / "README.txt").write_text("seed 123456789012")
    check_bundle(tmp_path, ["999999999999"])
    with pytest.raises(OutputError, match="internal mark"):
        check_bundle(tmp_path, ["123456789012"])
    (tmp_path / "draws.npz").write_text("")
    with pytest.raises(OutputError, match="not on the list"):
        check_bundle(tmp_path, [])


def test_path_in_the_title_does_not_leave(study: Study, public: Path) -> None:
    with pytest.raises(OutputError, match="internal mark"):
        us.release(study.folder, public, APPROVAL, title=str(study.internal.resolve())[:200])
    assert not public.exists()


# Numbers; the rule itself is tested in test_random_rounding


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_no_exact_figure_is_public(study: Study, public: Path, form: str) -> None:
    us.release(study.folder, public, APPROVAL, format=form)  # type: ignore[arg-type]
    exact = [*EXACT.values(), 909.1357, 0.98761, 1.77777, 0.54321, 1.2345, 0.87654, 0.312345]
    exact += [0.812345, 0.51234, 44.4, 151.5, 133.0, 0.292345, 0.212345, 73.4567]
    text = (public / "methods.html").read_text()
    for value in exact:
        assert f"{value}" not in text, value
        for digits in (1, 2, 3) if value > 10 else (3, 4):
            shown = f"{value:.{digits}f}"
            assert len(shown) < 4 or not re.search(rf"(?<![\d.]){re.escape(shown)}(?!\d)", text)


# The pages


class Reader(HTMLParser):
    """Reads a page and complains about what a public page must not have."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Refuse what can run or reach out."""
        assert tag not in {"script", "iframe", "object", "link", "form"}
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in {"src", "href"} or (value or "").startswith("data:image/png;")
            assert name != "alt" or value
        self.seen.add(tag)
        if tag not in {"meta", "img"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """See that elements are closed in order."""
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        """Refuse remarks."""
        raise AssertionError(f"a comment of {len(data)} characters in a public page")

    def handle_data(self, data: str) -> None:
        """Collect the text."""
        self.text += data


def text_of(path: Path) -> str:
    """Read a page, whose markup must be whole."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    assert not reader.open
    return reader.text


def test_pages_are_whole_and_say_what_they_must(study: Study, public: Path) -> None:
    us.release(study.folder, public, APPROVAL, title="Households <2026> & more")
    said = text_of(public / "methods.html")
    for words in (
        "Households <2026> & more",
        "partially synthetic",
        "T = u + b/m",
        "the order carries no information",
        "What is not protected",
        "The values of gender and age are true",
        "not differentially private",
        "everything printed here would be the same with a probability of at least 99",
        "DPMPM",
        "references and not bounds",
        "understudy 0.1.0",
    ):
        assert words in said, words
    assert "12345" not in said
    assert "host7" not in said
    book = text_of(public / "codebook.html")
    assert "North & Coast" in book
    assert "Gender of the respondent" in book
    assert (public / "README.txt").read_text().startswith("Households <2026> & more\n====")


def test_labels_do_no_harm(study: Study, public: Path) -> None:
    evil = "<script>alert(1)</script>"
    study.variables[2] = study.variables[2].model_copy(
        update={
            "name": "a <b> & \"c\" 'd'",
            "levels": (evil, "x--><img src=x onerror=alert(1)>", "x" * 300),
            "labels": {evil: evil},
            "description": evil,
        }
    )
    us.release(study.seal().folder, public, APPROVAL)
    for name in ("methods.html", "codebook.html"):
        assert "<script" not in (public / name).read_text()
        text_of(public / name)


def test_one_file_has_no_rule(study: Study, public: Path) -> None:
    study.m = 1
    for path in study.sets.iterdir():
        path.unlink()
    us.release(study.seal().folder, public, APPROVAL)
    said = text_of(public / "methods.html")
    assert "there is no rule" in said
    assert "synthetic-01.csv" in said
    assert "no rule" in (public / "README.txt").read_text()


def test_fully_synthetic_files_have_their_own_rule(study: Study, public: Path) -> None:
    study.fully_synthetic = True
    study.variables = [
        variable.model_copy(update={"role": "synthesized"}) for variable in study.variables
    ]
    study.frames = [study.frame(number).head(100) for number in (1, 2, 3)]
    us.release(study.seal().folder, public, APPROVAL)
    said = text_of(public / "methods.html")
    assert "T = (1 + 1/m) b − u" in said
    assert "No row represents a record" in said
    assert "are true" not in said
    assert "records of one person alone that a file repeats verbatim" in said
    assert json.loads((public / "manifest.json").read_text())["combining_rule"] == "full"


# The examples


def variables_of(study: Study) -> tuple[Variable, ...]:
    """The variables as published."""
    return public_variables(CodebookRecord.model_validate(study.codebook()), "refuse")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rule", ["partial", "full"])
def test_python_example_agrees_with_the_package(
    study: Study,
    public: Path,
    form: str,
    rule: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    us.release(study.folder, public, APPROVAL, format=form)  # type: ignore[arg-type]
    written = examples(rule, 3, form, variables_of(study))["Python"]  # type: ignore[arg-type]
    monkeypatch.chdir(public)
    exec(compile(written, "example", "exec"), {})  # noqa: S102
    low, middle, high = map(float, capsys.readouterr().out.split())
    shares = [(study.frame(number)["county"] == "03").mean() for number in (1, 2, 3)]
    squared = [share * (1 - share) / 240 for share in shares]  # type: ignore[operator]
    expected = us.combine_estimates(shares, squared, rule=rule)
    assert middle == pytest.approx(float(expected.estimate))
    assert (low, high) == pytest.approx((float(expected.lower), float(expected.upper)))


def test_examples_name_the_files_and_columns(study: Study) -> None:
    shown = variables_of(study)
    written = examples("partial", 20, "csv", shown)
    assert list(written) == ["R", "Python"]  # the languages that the tests run
    assert 'sprintf("synthetic-%02d.csv", 1:20)' in written["R"]
    assert 'data[["county"]] == "03"' in written["R"]
    assert 'sprintf("synthetic-%03d.dta", 1:120)' in examples("full", 120, "stata", shown)["R"]
    study.variables[2] = study.variables[2].model_copy(
        update={"name": "a b", "levels": ("`x'", '"$y"')}
    )
    odd = examples("partial", 20, "csv", variables_of(study))
    for program in odd.values():
        assert '"a b"' in program
        assert '== "LEVEL"' in program  # no level is plain enough to stand in a program


def test_whole_numbers_stay_numbers_in_statistical_programs(study: Study, public: Path) -> None:
    study.variables[2] = study.variables[2].model_copy(
        update={"levels": ("2", "1", "-7", "10"), "labels": {"1": "one"}}
    )
    us.release(study.seal().folder, public, APPROVAL, format="stata")
    frame = pd.read_stata(public / "synthetic-01.dta", convert_categoricals=False)
    assert set(frame["county"]) == {2, 1, -7}
    written = examples("partial", 3, "stata", variables_of(study))
    assert 'data[["county"]] == 2' in written["R"]
    assert '(data["county"] == 2)' in written["Python"]


# Pictures


def test_pictures_lose_their_remarks(
    study: Study, public: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random_rounding, "CHANCE", 9.0)  # small studies have no picture
    us.release(study.folder, public, APPROVAL)
    parts = [kind for kind, _ in png_parts((public / "figures" / "tables.png").read_bytes())]
    assert parts == [b"IHDR", b"IDAT", b"IEND"]


@pytest.mark.parametrize(
    "content", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\x89PNG\r\n\x1a\n" * 9]
)
def test_what_is_no_picture(content: bytes) -> None:
    with pytest.raises(OutputError, match="complete PNG"):
        bare_png(content)


# The command


def test_command(study: Study, public: Path, command: Command) -> None:
    answer = command("release", study.folder, "--to", public, "--approve", APPROVAL)
    assert answer.code == 0
    assert "8 files, 3 of them data" in answer.out
    assert "No register was named" in answer.out
    assert "methods.html" in answer.out
    answer = command("release", study.folder, "--to", public, "--approve", APPROVAL)
    assert answer.code == 2
    assert "an earlier release" in answer.err
    options = ("--overwrite", "--json", "--format", "parquet", "--title", "Title")
    answer = command("release", study.folder, "--to", public, "--approve", APPROVAL, *options)
    assert "synthetic-01.parquet" in json.loads(answer.out)["files"]
    study.chains = 1
    study.seal()
    other = public.with_name("other")
    answer = command("release", study.folder, "--to", other, "--approve", APPROVAL)
    assert answer.code == 3
