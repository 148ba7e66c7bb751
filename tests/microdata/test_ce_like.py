"""The bundled sample is what its program makes, and is as risky as the paper's data.

Tests that simulate use fixed seeds, so they cannot fail by chance from run to run; the false-alarm
rates say how likely a correct program was to fail when the seed was chosen.
"""

import gzip
import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.microdata.bundled import BUNDLED_DATA, load_ce_like
from understudy.microdata.bundled import make_ce_like as maker
from understudy.microdata.reading import read_microdata
from understudy.randomness import stream

SHIPPED = Path(maker.__file__).with_name("ce_like.csv.gz")

# Typed from the paper's supplement once more, by its index 1 to 40, not taken from the program.
PAPER_COUNTS = [
    *(27, 170, 168, 194, 48, 3, 193, 183, 242, 61),
    *(3, 291, 275, 199, 19, 4, 239, 454, 169, 4),
    *(33, 229, 222, 333, 128, 9, 250, 254, 308, 53),
    *(8, 244, 312, 184, 18, 3, 198, 344, 122, 10),
]
AGES = ["<20", "20-40", "40-60", "60-80", ">80"]
PATTERNS = list(itertools.product(["1", "2"], ["Q1", "Q2", "Q3", "Q4"], AGES))
GENDER_CELLS = np.array([int(gender) - 1 for gender, _, _ in PATTERNS])
GENDER_AGE_CELLS = np.array([5 * int(g) - 5 + AGES.index(age) for g, _, age in PATTERNS])


def rows_of(packed: bytes) -> list[list[str]]:
    """Split a gzipped CSV file into rows, the header first."""
    text = gzip.decompress(packed).decode("ascii")
    assert text.endswith("\n")
    assert "\r" not in text
    return [line.split(",") for line in text[:-1].split("\n")]


def counts_of(records: list[list[str]]) -> NDArray[np.int64]:
    """Count the records by (pattern, county), with the paper's pattern order."""
    counties = sorted({record[3] for record in records})
    table = np.zeros((len(PATTERNS), len(counties)), dtype=np.int64)
    for gender, income, age, county in records:
        table[PATTERNS.index((gender, income, age)), counties.index(county)] += 1
    return table


@pytest.fixture(scope="module")
def records() -> list[list[str]]:
    """Read the records of the shipped file, without the header."""
    return rows_of(SHIPPED.read_bytes())[1:]


@pytest.fixture(scope="module")
def counts(records: list[list[str]]) -> NDArray[np.int64]:
    """Count the shipped file: (pattern, county)."""
    return counts_of(records)


def test_shipped_text_is_what_the_program_makes() -> None:
    made = maker.pack(maker.draw_ce_like(maker.SETTLED, maker.SETTLED_SEED))
    assert gzip.decompress(SHIPPED.read_bytes()) == gzip.decompress(made)


def test_the_program_writes_the_shipped_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    maker.main(["--to", str(tmp_path / "again.csv.gz")])
    again = (tmp_path / "again.csv.gz").read_bytes()
    assert gzip.decompress(again) == gzip.decompress(SHIPPED.read_bytes())
    assert "133 counties" in capsys.readouterr().out


def test_gzip_header_holds_neither_time_nor_name() -> None:
    header = SHIPPED.read_bytes()[:10]
    assert header[3] == 0  # no optional fields: no file name
    assert header[4:8] == bytes(4)  # no time


def test_header_and_levels(records: list[list[str]]) -> None:
    assert rows_of(SHIPPED.read_bytes())[0] == ["gender", "income", "age", "county"]
    assert {record[3] for record in records} == {f"C{number:03d}" for number in range(1, 134)}


def test_pattern_counts_are_the_papers(records: list[list[str]]) -> None:
    seen = Counter((record[0], record[1], record[2]) for record in records)
    assert sum(PAPER_COUNTS) == len(records) == 6208
    assert [seen[pattern] for pattern in PATTERNS] == PAPER_COUNTS


def test_records_are_shuffled(records: list[list[str]]) -> None:
    """Neighbours in the file share a pattern no more often than chance (about 4 %) has it."""
    same = sum(left[:3] == right[:3] for left, right in itertools.pairwise(records))
    assert same / len(records) < 0.06


def test_levels_are_near_the_papers(counts: NDArray[np.int64]) -> None:
    assert maker.attribute_level(counts) == pytest.approx(175.33, rel=0.05)
    assert maker.match_risk_level(counts, GENDER_CELLS) == pytest.approx(4.708, rel=0.05)
    assert maker.match_risk_level(counts, GENDER_AGE_CELLS) == pytest.approx(20.073, rel=0.05)


def test_more_integration_points_change_nothing(counts: NDArray[np.int64]) -> None:
    """The cells of gender have degree about 3,300; 400 points leave no doubt."""
    for cells in (GENDER_CELLS, GENDER_AGE_CELLS):
        usual = maker.match_risk_level(counts, cells)
        assert usual == pytest.approx(maker.match_risk_level(counts, cells, nodes=400), rel=1e-10)


def naive_levels(records: list[tuple[int, int, int]]) -> tuple[float, float]:
    """Attribute and match-risk level by listing every file the perfect synthesizer can make.

    Records are (cell, pattern, label). Each gets the label of any record of its pattern, with
    equal chances.
    """
    donors = [[label for _, p, label in records if p == pattern] for _, pattern, _ in records]
    matches = risk = 0.0
    outcomes = list(itertools.product(*donors))
    for made in outcomes:
        for i, (cell, _, label) in enumerate(records):
            if made[i] == label:
                same = [j for j in range(len(records)) if (records[j][0], made[j]) == (cell, label)]
                matches += 1
                risk += 1 / len(same)
    return matches / len(outcomes), risk / len(outcomes)


def test_exact_levels_agree_with_the_naive_twin() -> None:
    """Three patterns in two cells; one pattern has a single label, one label is absent from one."""
    records = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 1), (0, 1, 2), (1, 2, 2), (1, 2, 2)]
    counts = np.array([[2, 1, 0], [0, 1, 1], [0, 0, 2]])  # (pattern, label)
    cells = np.array([0, 0, 1])
    matches, risk = naive_levels(records)
    assert maker.attribute_level(counts) == pytest.approx(matches, rel=1e-12)
    assert maker.match_risk_level(counts, cells) == pytest.approx(risk, rel=1e-12)


@pytest.mark.parametrize("seed", [1, 2])
def test_simulation_agrees_with_the_exact_levels(counts: NDArray[np.int64], seed: int) -> None:
    """Each of the three means lies within 4 standard errors; false alarms: about 6e-5 each."""
    runs = maker.simulate_perfect(stream(seed, "test ce-like"), counts, repeats=200)[:, :3]
    exact = [
        maker.attribute_level(counts),
        maker.match_risk_level(counts, GENDER_CELLS),
        maker.match_risk_level(counts, GENDER_AGE_CELLS),
    ]
    error = runs.std(axis=0, ddof=1) / 200**0.5
    assert (np.abs(runs.mean(axis=0) - exact) < 4 * error).all()


def test_table_deviations_are_the_seven_tables_added_by_order(counts: NDArray[np.int64]) -> None:
    made = np.roll(counts, 1, axis=1)
    difference = (made - counts).reshape(2, 4, 5, -1)
    one_way = np.abs(difference.sum(axis=(0, 1, 2))).sum() / 100
    by_gender = np.abs(difference.sum(axis=(1, 2))).sum() / 100
    by_income = np.abs(difference.sum(axis=(0, 2))).sum() / 100
    by_age = np.abs(difference.sum(axis=(0, 1))).sum() / 100
    by_two = sum(np.abs(difference.sum(axis=axis)).sum() for axis in (0, 1, 2)) / 100
    expected = [one_way, by_gender + by_income + by_age, by_two]
    assert maker._table_deviations(made - counts) == pytest.approx(expected)


def test_other_seeds_give_other_populations_with_the_same_patterns() -> None:
    first, second = (maker.draw_ce_like(maker.SETTLED, seed) for seed in (1, 2))
    assert first != second
    for name in ("gender", "income", "age"):
        assert sorted(first[name]) == sorted(second[name])
    for columns in (first, second):
        seen = Counter(zip(columns["gender"], columns["income"], columns["age"], strict=True))
        assert [seen[pattern] for pattern in PATTERNS] == PAPER_COUNTS


def test_the_settled_seed_is_the_first_that_fits() -> None:
    assert maker.search_seed(maker.SETTLED) == maker.SETTLED_SEED


def test_a_search_that_finds_nothing_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(maker, "SEEDS_TO_TRY", range(1, 2))
    with pytest.raises(LookupError, match="found none among 1"):
        maker.search_seed(maker.CountySpreads(size=3.0, income=0.1, age=0.1))


def test_loading_it_is_reading_its_file() -> None:
    path, codebook = BUNDLED_DATA["ce-like"]
    read = read_microdata(path, synthesize=["county"], codebook=codebook)
    loaded = load_ce_like()
    assert loaded.fingerprint() == read.fingerprint()
    assert loaded.variables == read.variables
    assert loaded.backend == read.backend
