"""The page: complete, self-contained, the same every time, and deaf to hostile names."""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests import findings_factory as making

from understudy.findings.schema import Findings, Pattern
from understudy.pages.report import WORDS, page
from understudy.verdict.verdict import judge

HOSTILE = "<script>alert(1)</script>"
TURNED = "a\u202eb\u2066c"
LONG = "long " * 60
QUOTED = '"><img src=x onerror=alert(1)> & $x$ #b04a00 id="a"'


class Reader(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note words."""
        self.words.append(data)

    def all(self, *names: str) -> list[dict[str, str | None]]:
        """List the attributes of all such tags."""
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture(scope="module")
def html(study: Findings) -> str:
    return page(study, judge(study))


@pytest.fixture(scope="module")
def read(html: str) -> Reader:
    return Reader(html)


def test_small_enough(html: str) -> None:
    assert len(html.encode("utf-8")) < 3_000_000


def test_the_same_bytes_in_another_process(study: Findings, html: str, tmp_path: Path) -> None:
    kept = tmp_path / "findings.json"
    kept.write_text(study.model_dump_json(), encoding="utf-8")
    code = (
        "import sys, hashlib, pathlib\n"
        "from understudy.findings.schema import Findings\n"
        "from understudy.pages.report import page\n"
        "from understudy.verdict.verdict import judge\n"
        "found = Findings.model_validate_json(pathlib.Path(sys.argv[1]).read_text('utf-8'))\n"
        "print(hashlib.sha256(page(found, judge(found)).encode('utf-8')).hexdigest())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(kept)],
        capture_output=True,
        check=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"},
    )
    assert ended.stdout.strip() == hashlib.sha256(html.encode("utf-8")).hexdigest()


def test_asks_for_nothing_from_anywhere(html: str, read: Reader) -> None:
    assert "http://" not in html
    assert "https://" not in html
    assert "@import" not in html
    for attributes in (attributes for _, attributes in read.tags):
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    assert not read.all("link", "iframe", "object", "embed", "form", "img")


def test_only_its_own_script_may_run(html: str, read: Reader) -> None:
    (policy,) = [
        tag["content"]
        for tag in read.all("meta")
        if tag.get("http-equiv") == "Content-Security-Policy"
    ]
    script = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode("utf-8")).digest()).decode()
    assert policy is not None
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]


def test_every_id_is_used_once_and_every_reference_is_there(html: str, read: Reader) -> None:
    ids = [tag["id"] for _, tag in read.tags if "id" in tag]
    assert len(ids) == len(set(ids))
    for _, attributes in read.tags:
        for name in ("aria-labelledby", "data-panels"):
            assert set((attributes.get(name) or "").split()) <= set(ids)
        target = attributes.get("href")
        if target:
            assert target[1:] in ids
    assert set(re.findall(r"url\(#([^)]+)\)", html)) <= set(ids)


def test_landmarks_headers_and_descriptions(read: Reader) -> None:
    assert len(read.all("main")) == len(read.all("h1")) == len(read.all("footer")) == 1
    assert all(tag.get("scope") in {"row", "col"} for tag in read.all("th"))
    assert len(read.all("table")) == len(read.all("caption"))
    pictures = [tag for tag in read.all("svg") if tag.get("aria-hidden") != "true"]
    assert len(pictures) > 60
    assert all(tag.get("role") == "img" and tag.get("aria-labelledby") for tag in pictures)
    assert len(read.all("desc")) == len(pictures)


def test_everything_the_board_asks_for_is_there(study: Findings, read: Reader) -> None:
    sections = {tag.get("id") for tag in read.all("section")}
    assert sections == EVERY_SECTION
    ids = {tag.get("id") or "" for _, tag in read.tags}
    for order in (1, 2, 3):
        assert f"signed-{order}-title" in ids
    assert {f"panel-{pattern}-title" for pattern in range(40)} <= ids
    assert "deviation-title" in ids
    assert "predictions-0-title" in ids
    assert "forest-0-0-title" in ids
    for intruder in range(2):
        assert f"strips-{intruder}-expected-match-risk-title" in ids
        assert f"riskiest-{intruder}-0-title" in ids
    assert {"strips-attribute-title", "risk-utility-title"} <= ids
    assert {"bars-0-0-title", "bars-0-15-title", "heat-0-0-title"} <= ids
    assert "chains-1-trace-0-title" in ids
    assert {"positions-title", "strip-risk-title", "strip-utility-title"} <= ids
    words = " ".join(read.words)
    assert "CONFIDENTIAL" in words
    assert len([tag for tag in read.all("p") if tag.get("class") == "reading"]) >= 12
    assert "not bounds" in words
    assert "small pattern" in words
    assert study.data_fingerprint in words


def test_the_verdict_comes_first_and_convergence_is_said_once(read: Reader) -> None:
    words = " ".join(" ".join(read.words).split())
    at = words.index("Verdict Review")
    box = "The chains have not converged:"
    assert at < words.index("The board decides") < words.index("Recommended:")
    assert words.index("Recommended:") < words.index(box) < words.index("What analysts keep")
    assert words.count(box) == 1
    assert "relied on" not in words
    assert "rely on" not in words
    assert "NOT CONVERGED" not in words


def hostile() -> Findings:
    """Make findings in which every name is hostile."""
    plain = making.findings([making.synthesizer("one", kind="areal"), making.synthesizer("two")])
    names = {"sex": HOSTILE, "town": TURNED, "f": QUOTED, "m": LONG, "a": HOSTILE, "ONE": QUOTED,
             "TWO": LONG, "Plain": HOSTILE, "sex ~ town": HOSTILE}  # fmt: skip

    def turned(value: object) -> object:
        if isinstance(value, str):
            return names.get(value, value)
        if isinstance(value, dict):
            return {key: turned(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return [turned(part) for part in value]
        return value

    made = Findings.model_validate(turned(plain.model_dump()))
    return made.model_copy(update={"versions": {HOSTILE: TURNED}})


def test_hostile_names_do_no_harm() -> None:
    findings = hostile()
    html = page(findings, judge(findings))
    read = Reader(html)
    assert html.count("<script") == 1
    assert not read.all("img")
    assert not [name for _, attributes in read.tags for name in attributes if name.startswith("on")]
    assert "\u202e" not in html
    assert "\u2066" not in html
    words = " ".join(read.words)
    assert HOSTILE in words
    assert "a\\u202eb" in words
    assert any((tag.get("title") or "").startswith("long long") for tag in read.all("abbr"))
    longest = max(len(text) for text in read.words if "{" not in text)
    assert longest < 2_000


def test_long_levels_are_cut_with_the_full_text_beside() -> None:
    findings = making.findings()
    data = findings.data.model_copy(
        update={"patterns": (findings.data.patterns[0].model_copy(update={"levels": (LONG,)}),
                             findings.data.patterns[1])}
    )  # fmt: skip
    read = Reader(page(findings.model_copy(update={"data": data}), judge(findings)))
    titles = [tag.get("title") for tag in read.all("abbr")]
    assert any(LONG in (title or "") for title in titles)
    assert not any(LONG in text for text in read.words if len(text) < 200)


EVERY_SECTION = {"verdict", "map", "convergence", "tables", "regression", "within", "own-record",
                 "identification", "riskiest", "settings"}  # fmt: skip
RISK_SECTIONS = {"identification", "riskiest"}
UNMEASURED = making.synthesizer(identification=(), attribute=None, own_record=None)


@pytest.mark.parametrize(
    ("findings", "missing"),
    [
        (
            making.findings([]),
            {"map", "regression", "own-record", "riskiest"},
        ),
        (making.findings().model_copy(update={"intruders": ()}), RISK_SECTIONS),
        (making.findings([UNMEASURED]), {"own-record", "riskiest"}),
        (making.findings([making.synthesizer(regressions=())]), {"regression"}),
        (
            making.findings(
                [UNMEASURED], kept=(), patterns=(Pattern(levels=(), records=50),) * 2
            ).model_copy(update={"intruders": ()}),
            {*RISK_SECTIONS, "own-record"},
        ),
        (making.findings(patterns=()), {"within"}),
        (making.findings([making.synthesizer(), making.synthesizer("two", kind="other")]), set()),
    ],
    ids=[
        "nobody",
        "no intruder",
        "fully synthetic",
        "no analysis",
        "nothing kept",
        "no pattern",
        "other kind",
    ],
)
def test_what_was_not_measured_is_left_out(findings: Findings, missing: set[str]) -> None:
    """All other sections are there and in the contents; nothing undefined is printed as such."""
    verdict = judge(findings)
    html = page(findings, verdict)
    read = Reader(html)
    sections = {tag.get("id") or "" for tag in read.all("section")}
    assert sections == EVERY_SECTION - missing
    links = {(tag["href"] or "")[1:] for tag in read.all("a")}
    assert links == sections
    words = " ".join(" ".join(read.words).split())
    assert f"Verdict {WORDS[verdict.outcome]} " in words
    assert "CONFIDENTIAL" in words
    assert not re.search(r"\b(None(?! of)|nan|inf|Undefined)\b", words)
    assert all(synthesizer.title in words for synthesizer in findings.synthesizers)
    ids = [tag["id"] for _, tag in read.tags if "id" in tag]
    assert len(ids) == len(set(ids))


def table_of(html: str, caption: str) -> str:
    """Cut the table with this caption out of a page."""
    start = html.index(f"<caption>{caption}")
    return html[start : html.index("</table>", start)]


def test_one_table_has_the_risks_of_all_files_and_what_perfect_sets_reach() -> None:
    findings = making.findings()
    rows = table_of(page(findings, judge(findings)), "The study in one table").split("<tr")
    told = [re.sub(r"<[^>]*>", " ", row.partition(">")[2]).split() for row in rows]
    (overlap,) = [row for row in told if row[:2] == ["Interval", "overlap"]]
    assert overlap[-4:] == ["80", "%", "85", "%"]
    (joint,) = [row for row in told if row[:5] == ["Match", "risk", "of", "all", "files"]]
    assert joint[-3:] == ["2.0", "4.0", "10.0"]
    (vote,) = [row for row in told if "vote" in row]
    assert vote[-3:] == ["10.0", "21.0", "40.0"]
    (alone,) = [row for row in told if row[:5] == ["Match", "risk", "of", "one", "file,"]]
    assert alone[-3:] == ["2.0000", "4.0000", "10.0000"]


def test_one_overlap_is_shown_everywhere() -> None:
    """That of the coefficients that resampled sets can estimate, as the verdict has it."""
    regression = making.regression().model_copy(
        update={"mean_overlap": 0.83, "overlap_in_common": 0.71}
    )
    findings = making.findings([making.synthesizer(regressions=(regression,))])
    told = " ".join(Reader(page(findings, judge(findings))).words)
    assert told.count("71 %") == 3  # the study in one table, the verdict, the regression's table
    assert "83 %" not in told


def test_a_mean_over_some_sets_says_over_how_many() -> None:
    synthesizer = making.synthesizer()
    rate = making.spread(0.9, None, 0.8, None)
    own = synthesizer.risk.identification[0]
    own = own.model_copy(update={"measures": own.measures | {"false_match_rate": rate}})
    synthesizer = synthesizer.model_copy(
        update={"risk": synthesizer.risk.model_copy(update={"identification": (own,)})}
    )
    findings = making.findings([synthesizer])
    told = table_of(page(findings, judge(findings)), "Matches, known: sex; mean over sets")
    assert "0.850 (2 of 4 sets)" in told
    assert told.count(" sets)") == 1  # the other measures have a figure of every set


def test_remarks_about_a_regression_are_made_where_they_hold(html: str) -> None:
    some = "The 20 of "
    every = "No predictions are compared: the model was fitted on all records"
    assert some in html  # the bundled data have 133 counties
    few = making.findings([making.synthesizer(regressions=(making.regression(),))])
    html = page(few, judge(few))
    assert some not in html
    assert every not in html
    whole = making.regression().model_copy(update={"train": 100})
    findings = making.findings([making.synthesizer(regressions=(whole,))])
    assert every in page(findings, judge(findings))


def test_legends_show_the_original_as_it_is_drawn(html: str) -> None:
    """As an area; a synthesizer's mean in the panels as a line."""
    block = '<rect width="26" height="10" fill="var(--original)"'
    assert html.count(block) == 2  # of the bars, in full, and of the panels
    assert '<path d="M0 5H26" stroke="var(--areal)"' in html  # recommended


def test_what_was_done_with_missing_values_is_said() -> None:
    """Dropped, a level of its own, or modelled: with how many records."""

    def about(**data: Any) -> str:
        study = making.findings(**data)
        (line,) = re.findall(r'<p class="about">(.*?)</p>', page(study, judge(study)))
        return str(line)

    assert "issing" not in about()
    assert "2 records with missing values left out." in about(n_dropped=2)
    assert "Missing is a level of its own in age (3)." in about(missing_levels={"age": 3})
    modelled = about(holes={"age": 4})
    assert "modelled in age (4); in the files those of kept variables stay" in modelled
