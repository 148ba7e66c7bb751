"""Plans and settings: read, written, and explained."""

from __future__ import annotations

import dataclasses
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from tests.conftest import MakeFile

import understudy as us
from understudy import read_microdata
from understudy.errors import SettingError
from understudy.microdata.codebook import Codebook, VariableBook, codebook_from, codebook_text
from understudy.settings import _unpacked, toml_key, toml_text
from understudy.study.plan import (
    MODEL_PLANS,
    IntruderPlan,
    StudyPlan,
    SynthesizerPlan,
    plan_from,
    read_plan,
)
from understudy.study.plan_template import plan_as_toml, plan_text
from understudy.synthesis.registry import MODELS, load_model

NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)


def fields_of(model: type[BaseModel]) -> set[str]:
    """Walk a model for the names of all its keys, whatever they lie in."""
    fields: set[str] = set()
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        fields.add(alias if isinstance(alias, str) else name)
        for kind in _unpacked(field.annotation):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                fields |= fields_of(kind)
    return fields


FIRST = plan_text(
    "data.csv", ["a", "county", "id"], ["county"], {"id": "an\nidentifier"}, "book.toml"
)


def test_a_first_plan_explains_every_key() -> None:
    fields = fields_of(StudyPlan)
    assert {"file", "quantiles", "n_classes", "variant", "most_draws", "train", "repeats"} <= fields
    for key in fields:
        assert re.search(rf"\b{key} = |\[+{key}\]+|\.{key}\.", FIRST), key
    assert tomllib.loads(FIRST)["data"]["ignore"] == ["id"]


def test_a_first_plan_is_valid_as_it_is_and_with_every_setting(make_file: MakeFile) -> None:
    plain = read_plan(make_file(FIRST, "plan.toml"))
    bare = "\n".join(line for line in FIRST.splitlines() if not line.startswith("#"))
    assert read_plan(make_file(bare, "bare.toml")) == plain
    # What is commented out is a setting with its default, or an example.
    settings = re.sub(r"^# (?=[a-z_]+ = |\[)", "", FIRST, flags=re.M)
    settings = settings.replace("quantiles = 4\n[data.bins.a]\n", "")
    whole = read_plan(make_file(settings, "whole.toml"))
    assert whole.thresholds == plain.thresholds
    assert whole.baselines == plain.baselines
    assert whole.title == plain.title
    assert [synthesizer.model for synthesizer in whole.synthesizers or ()] == list(MODELS)
    assert whole.intruders == (IntruderPlan(known=("a",)),)
    assert whole.analyses[0].formula == "a ~ county"


def test_settings_in_a_first_plan_are_those_of_the_model(make_file: MakeFile) -> None:
    settings = re.sub(r"^# (?=[a-z_]+ = |\[\[|\[frontier\])", "", FIRST, flags=re.M)
    settings = settings.replace("quantiles = 4\n", "").replace("cuts = [20, 40, 60, 80]\n", "")
    settings = re.sub(r"^names = .*$", "", settings, flags=re.M)
    both = read_plan(make_file(settings, "whole.toml")).chosen_synthesizers()
    shown = both["dpmpm"]
    assert us.DPMPM(**shown.own_settings()) == us.DPMPM()
    taken = inspect.signature(us.DPMPM.fit).parameters
    defaults = {name: taken[name].default for name in shown.fit_options()}
    assert defaults["draws"] is None  # left out, chains go on until they have converged
    assert shown.fit_options() == {**defaults, "draws": 1000}
    assert set(shown.fit_options()) == {"chains", "warmup", "draws", "thin"}
    assert shown.until is not None
    assert us.ConvergenceTargets(**shown.until.model_dump()) == us.ConvergenceTargets()
    areal = us.DPAreal(**both["areal"].own_settings())
    assert dataclasses.replace(areal, correlation_shape=None) == us.DPAreal()


@pytest.mark.parametrize("name", MODELS)
def test_a_plan_knows_every_setting_of_a_model(name: str) -> None:
    own = [key for key in MODEL_PLANS[name].model_fields if key not in SynthesizerPlan.model_fields]
    assert own == list(MODELS[name].settings)
    assert own == [field.name for field in dataclasses.fields(load_model(name))]


def test_a_plan_comes_back_from_toml(make_file: MakeFile) -> None:
    text = (
        FIRST
        + """
[[intruders]]
known = ["a"]
[[synthesizers]]
model = "dpmpm"
level_prior = { county = 2.0, a = [0.5, 1] }
until = { ess = 500 }
[data.bins.b]
quantiles = 4
"""
    )
    plan = read_plan(make_file(text, "plan.toml"))
    assert read_plan(make_file(plan_as_toml(plan), "again.toml")) == plan


def test_all_mistakes_of_a_plan_at_once(make_file: MakeFile) -> None:
    text = """
sedd = 1
sets = 0
seed = -1
[data]
file = "data.csv"
synthesize = []
[[synthesizers]]
model = "dpmpn"
[[synthesizers]]
model = "areal"
n_cluster = 3
chains = 0
name = "NUL"
[[synthesizers]]
model = "dpmpm"
sampler = "slow"
level_prior = -1
[[synthesizers]]
chains = 3
[[intruders]]
known = []
[[analyses]]
formula = "a ~ b"
train = 2.5
[baselines]
repeat = 3
qqq = 1
[thresholds]
own_record_pass = -1
"""
    with pytest.raises(SettingError) as caught:
        read_plan(make_file(text, "plan.toml"))
    said = str(caught.value)
    for part in (
        "found 16:",
        '"sedd" is not a key here (nearest: "seed")',
        '"baselines.qqq" is not a key here (known: repeats)',
        '"sets" should be greater',
        '"seed" should be greater',
        '"data.synthesize"',
        '"synthesizers[1].model" should be one of dpmpm, areal, backoff, formal (nearest: "dpmpm")',
        '"synthesizers[2].n_cluster" is not a key here (nearest: "n_clusters")',
        '"synthesizers[2].chains" should be greater',
        '"synthesizers[2].name" should be 1 to 40 small letters',
        "\"synthesizers[3].sampler\" should be 'auto', 'collapsed' or 'blocked'",
        '"synthesizers[3].level_prior" should be a number above zero',
        '"synthesizers[4]" needs a key model',
        '"intruders[1].known" should list at least one entry',
        '"analyses[1].train" should be a number of records',
        '"baselines.repeat" is not a key here (nearest: "repeats")',
        '"thresholds.own_record_pass" should be greater',
    ):
        assert part in said, part


def test_two_synthesizers_of_one_name(make_file: MakeFile) -> None:
    text = FIRST + '[[synthesizers]]\nmodel = "dpmpm"\n' * 2
    with pytest.raises(SettingError, match="same name"):
        read_plan(make_file(text, "plan.toml"))
    text = FIRST + '[[synthesizers]]\nmodel = "dpmpm"\n[[synthesizers]]\nmodel = "dpmpm"\nname="b"'
    plan = read_plan(make_file(text, "plan.toml"))
    assert list(plan.chosen_synthesizers()) == ["dpmpm", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("synthesizers = []\n", "empty list of synthesizers"),
        ('sets = 1\n[[analyses]]\nformula = "a ~ county"\n', "at least two sets"),
    ],
)
def test_plans_that_make_no_sense(make_file: MakeFile, text: str, says: str) -> None:
    data = '[data]\nfile = "data.csv"\nsynthesize = ["county"]\n'
    with pytest.raises(SettingError, match=says):
        read_plan(make_file(text + data, "plan.toml"))


def test_a_catalog_lies_beside_the_plan(tmp_path: Path) -> None:
    plan = plan_from(
        {"data": {"file": "a.sas7bdat", "synthesize": ["b"], "catalog": "formats.sas7bcat"}}
    )
    assert plan.data.reading_options(tmp_path)["catalog"] == tmp_path / "formats.sas7bcat"
    assert plan.with_seed(None) is plan
    assert plan.with_seed(3).seed == 3


def test_a_plan_without_synthesizers_has_the_one_that_answers_soon(make_file: MakeFile) -> None:
    plan = read_plan(make_file(FIRST, "plan.toml"))
    assert list(plan.chosen_synthesizers()) == ["backoff"]
    assert list(plan.chosen_synthesizers(patterns=False)) == ["backoff"]
    assert 'Left out: "backoff", or "dpmpm" where missing values are modelled.' in FIRST


def test_a_plan_can_name_bundled_data(make_file: MakeFile, tmp_path: Path) -> None:
    text = '[data]\nfile = "bundled:ce-like"\nsynthesize = ["county"]\n'
    options = read_plan(make_file(text, "plan.toml")).data.reading_options(tmp_path)
    data = read_microdata(**options)
    assert data.fingerprint() == us.load_ce_like().fingerprint()
    assert options["codebook"].reviewed
    other = read_plan(make_file(text.replace("ce-like", "ce-lice"), "plan.toml"))
    with pytest.raises(SettingError, match='nearest: "ce-like"'):
        other.data.reading_options(tmp_path)


def test_a_plan_reads_the_data_beside_it(make_file: MakeFile) -> None:
    make_file("age,id,county\n" + "".join(f"{n},{n},{'xy'[n % 2]}\n" for n in range(40)))
    make_file('[variables.county]\nlevels = ["y", "x"]\n', "book.toml")
    plan = make_file(
        '[data]\nfile = "data.csv"\nsynthesize = ["county"]\nignore = ["id"]\n'
        'codebook = "book.toml"\n[data.bins.age]\ncuts = [10, 20]\nnames = ["a", "b", "c"]\n',
        "plan.toml",
    )
    options = read_plan(plan).data.reading_options(plan.parent)
    data = read_microdata(**options)
    assert data.variable("county").levels == ("y", "x")
    assert data.variable("age").levels == ("a", "b", "c")
    assert data.patterns.sizes.tolist() == [10, 10, 20]


@given(columns=st.lists(NAMES, min_size=1, max_size=4, unique=True), reason=NAMES)
def test_any_names_make_a_plan_that_can_be_read(columns: list[str], reason: str) -> None:
    text = plan_text(columns[0], columns, columns[:1], dict.fromkeys(columns[1:], reason), None)
    plan = tomllib.loads(text)["data"]
    assert plan["file"] == columns[0]
    assert plan["synthesize"] == columns[:1]
    assert plan["ignore"] == columns[1:]


@given(
    levels=st.lists(NAMES, min_size=1, max_size=4, unique=True), name=NAMES, label=NAMES, text=NAMES
)
def test_any_codebook_comes_back(
    tmp_path: Path, levels: list[str], name: str, label: str, text: str
) -> None:
    book = Codebook(
        reviewed=True,
        variables={
            name: VariableBook(levels=tuple(levels), labels={label: text}, description=text)
        },
        impossible=({name: (levels[0],)},),
    )
    path = tmp_path / "book.toml"
    path.write_text(codebook_text(book, ["note"]), encoding="utf-8", newline="")
    assert codebook_from(path) == book


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[variables.a]\nlevels = []", "empty list"),
        ('[variables.a]\nlevels = ["x", "x"]', "twice"),
        ('[variables.a]\nlevels = ["x"]\nmissing = ["x"]', "in common"),
        ("impossible = 5", "impossible"),
        ("[[impossible]]\na = []", "names no level"),
        ("[[impossible]]\na = 1", "impossible"),
        ("reviewed = 1", "reviewed"),
    ],
)
def test_mistakes_in_a_codebook(make_file: MakeFile, text: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        codebook_from(make_file(text, "book.toml"))


def test_toml_words() -> None:
    assert toml_key("plain_key-1") == "plain_key-1"
    assert tomllib.loads(f"{toml_key('a b')} = {toml_text(chr(127))}") == {"a b": "\x7f"}


def test_many_mistakes_are_counted() -> None:
    wrong: dict[str, object] = {"variables": {f"v{n}": {"levels": []} for n in range(30)}}
    with pytest.raises(SettingError, match=r"found 30: .*and 10 more"):
        codebook_from(wrong)


def test_plans_in_the_documentation_are_valid() -> None:
    docs = Path(__file__).parents[2] / "docs"
    whole = (docs / "examples" / "study-plan.toml").read_text(encoding="utf-8")
    parts = re.findall(r"```toml\n(.*?)```", (docs / "study.md").read_text("utf-8"), flags=re.S)
    assert plan_from(tomllib.loads(whole)).analyses
    data = '[data]\nfile = "a.csv"\nsynthesize = ["b"]\n'
    plans = [plan_from(tomllib.loads(part + data)) for part in parts]
    assert [len(plan.synthesizers or ()) for plan in plans] == [1]
    dials = tomllib.loads((docs / "examples" / "frontier-dials.toml").read_text("utf-8"))
    assert plan_from(tomllib.loads(data) | dials).frontier.dials
    book = codebook_from(tomllib.loads((docs / "examples" / "codebook.toml").read_text("utf-8")))
    assert book.impossible
