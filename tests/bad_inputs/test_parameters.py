"""Rows 70 and 73 to 75: parameters and settings files."""

from __future__ import annotations

import numpy as np
import pytest

from tests.bad_inputs.cases import SECRET, covers, refused
from tests.conftest import Command, MakeFile
from understudy import load_ce_like
from understudy.errors import SettingError
from understudy.randomness import LARGEST_SEED, check_seed
from understudy.study.plan import read_plan

GOOD = "a,county\n1,x\n2,y\n1,y\n2,x\n"


@covers(70)
@pytest.mark.parametrize(
    ("seed", "says"),
    [
        (-1, "negative"),
        (1.0, "type float"),
        (True, "type bool"),
        (2**128, "too large"),
        ("1", "type str"),
        (np.float64(3), "type float64"),
        ([1], "type list"),
    ],
)
def test_bad_seeds(seed: object, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        check_seed(seed)


@covers(70)
def test_good_seeds() -> None:
    assert check_seed(0) == 0
    assert check_seed(np.int64(7)) == 7
    assert check_seed(LARGEST_SEED) == LARGEST_SEED
    assert len({check_seed(None) for _ in range(50)}) == 50


@covers(73)
@pytest.mark.parametrize(
    ("known", "says"),
    [
        ((), "at least one kept variable"),
        (("county",), "synthesized and is known in every attack"),
        (("gendr",), 'nearest: "gender"'),
    ],
)
def test_bad_knowledge(known: tuple[str, ...], says: str) -> None:
    with pytest.raises(SettingError, match=says):
        load_ce_like().known(known)


@covers(73)
def test_knowledge_on_the_command_line(command: Command, make_file: MakeFile) -> None:
    path = make_file(GOOD)
    for known in ("county", "b"):
        answer = command("check", path, "--synthesize", "county", "--known", known)
        assert answer.code == 2
        assert "What to do" in answer.err
    assert load_ce_like().known("age") == ("age",)
    assert load_ce_like().known(["age", "gender", "age"]) == ("gender", "age")


@covers(74)
def test_unknown_option(command: Command, make_file: MakeFile) -> None:
    answer = command("check", make_file(GOOD), "--sinthesize", "county")
    assert answer.code == 2
    assert 'nearest: "--synthesize"' in answer.err
    answer = command("chekc", make_file(GOOD))
    assert answer.code == 2
    assert 'nearest: "check"' in answer.err
    answer = command("check")
    assert answer.code == 2
    assert "understudy check --help" in answer.err
    answer = command("check", make_file(GOOD), "--missing", "perhaps")
    assert answer.code == 2


@covers(74)
def test_unknown_key_in_a_codebook(command: Command, make_file: MakeFile) -> None:
    text = '[variables.county]\nlevles = ["x"]\n[variables.a]\nlevels = [1]\nmissing = "x"\n'
    book = make_file(text, "book.toml")
    path = make_file(GOOD)
    said = refused(command, SettingError, "levles", path, "--codebook", book, codebook=book)
    assert 'nearest: "levels"' in said
    assert "found 3:" in said
    refused(None, SettingError, "type int", path, codebook=5)
    refused(None, SettingError, 'nearest: "county"', path, codebook={"variables": {"conty": {}}})


@covers(74)
def test_unknown_key_in_a_plan(command: Command, make_file: MakeFile) -> None:
    make_file(GOOD)
    plan = make_file(
        '[data]\nfile = "data.csv"\nsynthesise = ["county"]\nmissing = "perhaps"\n'
        "[data.bins.a]\nquantile = 4\n[dta]\n",
        "plan.toml",
    )
    answer = command("check", plan)
    assert answer.code == 2
    for part in ('nearest: "synthesize"', "missing", 'nearest: "quantiles"', 'nearest: "data"'):
        assert part in answer.err, answer.err
    with pytest.raises(SettingError, match="not found"):
        read_plan(plan.with_name("nothing.toml"))


@covers(75)
def test_settings_that_are_no_toml(command: Command, make_file: MakeFile) -> None:
    path = make_file(GOOD)
    yaml = make_file("variables: !!python/object:os.system", "book.yaml")
    refused(command, SettingError, "in TOML", path, "--codebook", yaml, codebook=yaml)
    twice = make_file(f"reviewed = true\nreviewed = false # {SECRET}\n", "book.toml")
    refused(command, SettingError, "at line 2", path, "--codebook", twice, codebook=twice)
    open_end = make_file('reviewed = "', "open.toml")
    refused(command, SettingError, "mistake", path, "--codebook", open_end, codebook=open_end)
    binary = make_file(b"\xff\xfe\x00", "binary.toml")
    refused(command, SettingError, "as text", path, "--codebook", binary, codebook=binary)
