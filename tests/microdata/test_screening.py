"""A first look at a file, as `check` and `init` show it."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from tests.conftest import Command, MakeFile
from understudy.randomness import stream


def test_init_keeps_how_the_file_was_read(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    path = make_file("a|county|_row\n1|Århus|1\n2|Fyn|1\n1|Fyn|1\n".encode("latin-1"))
    options = ("--encoding", "latin-1", "--delimiter", "|", "--ignore", "_row", "--out", tmp_path)
    assert command("init", path, "--synthesize", "county", *options).code == 0
    answer = command("check", tmp_path / "plan.toml")
    assert answer.code == 0, answer.err
    assert "No codebook" not in answer.out


def test_check_of_reserved_and_unknown_names(command: Command, make_file: MakeFile) -> None:
    path = make_file("_row,a,county\n1,1,x\n2,2,y\n1,1,x\n")
    assert command("check", path, "--ignore", "_row").code == 0
    assert command("check", path).code == 2
    assert command("check", path, "--ignore", "_row,zzz").code == 2
    kept = command("check", path, "--keep", "a")
    assert "county" not in kept.out.split("Ignored")[0]


def test_check_recognizes_what_passes_through(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    rows = "".join(f"P{row:03d},{row % 4},{'ab'[row % 2]},{row / 7}\n" for row in range(60))
    path = make_file("person_id,wave,town,w\n" + rows)
    options = ("--synthesize", "town", "--pass-through", "person_id,wave,w", "--weight", "w")
    told = command("check", path.rename(tmp_path / "with.csv"), *options)
    assert told.code == 2, told.out  # nothing is kept
    path = make_file("sex,person_id,wave,town,w\n" + "".join(
        f"{'fm'[row % 3 % 2]},{line}\n" for row, line in enumerate(rows.splitlines())
    ))  # fmt: skip
    told = command("check", path, *options)
    assert told.code == 0, told.err
    advice = " ".join(told.out.split())
    assert '"person_id" passes through: identifier, and 60 of 60 records' in advice
    assert "wave passes" not in advice
    assert '"w" passes through' not in advice
    wrote = command("init", path, *options, "--out", tmp_path)
    assert '"person_id" passes through' in " ".join(wrote.out.split())
    assert "P0" not in told.out + wrote.out


def test_check_when_no_column_holds_categories(command: Command, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pl.DataFrame({"a": [[1], [2]], "b": [[3], [4]]}).write_parquet(path)
    answer = command("check", path, "--synthesize", "a")
    assert answer.code == 2
    assert "a column of categories" in answer.err
    assert '"b"' in answer.err


def test_check_counts_what_reading_would_keep(command: Command, make_file: MakeFile) -> None:
    path = make_file("a,county\n1,x\n2,y\nNA,y\n1,y\n2,x\n")
    answer = command("check", path, "--synthesize", "county", "--na", "NA", "--missing", "drop")
    assert answer.code == 0
    assert "2 patterns of the kept variables" in answer.out


def test_init_with_a_label_that_cannot_be_used(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    rows = "".join(f"{number / 7:.5f},{'ab'[number % 2]}\n" for number in range(40))
    path = make_file("county,a\n" + rows)
    answer = command("init", path, "--synthesize", "county", "--out", tmp_path)
    assert answer.code == 0
    assert "cannot be" in " ".join(answer.out.split())
    assert "[variables.a]" in (tmp_path / "codebook.toml").read_text()


def test_check_and_init_say_what_decides_the_label(
    command: Command, make_file: MakeFile, tmp_path: Path
) -> None:
    """A recoded label, and two columns that tell it together; a column that tells nothing."""
    generator = stream(3, "recoded labels")
    rows = [(int(town), int(half), int(wave)) for town, half, wave in
            zip(*generator.integers(0, [[3], [7], [4]], (3, 200)), strict=True)]  # fmt: skip
    path = make_file("sex,code,half,rest,wave,town\n" + "".join(
        f"{'fm'[half % 2]},c{7 - 2 * town},{half},{(half + town) % 7},{wave},{'nse'[town]}\n"
        for town, half, wave in rows
    ))  # fmt: skip
    options = ("--synthesize", "town", "--pass-through", "code,half,rest,wave")
    told = command("check", path, *options)
    wrote = command("init", path, *options, "--out", tmp_path)
    assert (told.code, wrote.code) == (0, 0)
    for answer in (told, wrote):
        words = " ".join(answer.out.split())
        assert words.count("nearly decides what is synthesized") == 2
        assert 'synthesized: "code". Such files fail' in words
        assert 'synthesized: "half", "rest" together.' in words
