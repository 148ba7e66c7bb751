"""What the paper prints: every cell of its result tables, as data.

Values only. How many digits a cell was printed with decides how far rounding
may have moved it (`Published.rounding`). The Min column of identification is from the paper's text;
its table has none.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "COUNTIES",
    "INTERVALS",
    "IN_SHORT",
    "PUBLISHED",
    "SETTINGS",
    "TABLES",
    "Published",
    "printed_cell",
]

TABLES = {
    "utility": "Sum of absolute deviations of table counts, divided by 100",
    "identification": "Identification risk",
    "attribute": "Exact attribute disclosures",
    "classes": "Occupied classes, 95 % interval",
}


IN_SHORT = {  # measures that the page comes back to, in words
    "expected_match_risk gender": "expected match risk, gender known",
    "expected_match_risk gender, age": "expected match risk, gender and age known",
    "attribute_matches": "attribute matches",
    "deviation 1": "one-way deviation / 100",
    "deviation 2": "two-way deviation / 100",
    "deviation 3": "three-way deviation / 100",
}


@dataclass(frozen=True)
class Published:
    """One printed cell.

    Attributes
    ----------
    table : str
        A key of `TABLES`.
    measure : str
        What is measured; the key of the same measure of ours.
    row : str
        The row, in words.
    column : {"Min", "DPMPM", "DP-areal", "Max"}
        Whose value it is.
    printed : str
        The cell as the paper prints it.
    """

    table: str
    measure: str
    row: str
    column: str
    printed: str

    @property
    def value(self) -> float | None:
        """The number; None for an undefined one."""
        return None if self.printed == "NaN" else float(self.printed)

    @property
    def rounding(self) -> float:
        """Half a unit of the last digit that was printed.

        A risk printed without decimals is exact: the paper writes 0 beside 0.000.
        """
        digits = self.printed.partition(".")[2]
        return 0.0 if self.table == "identification" and not digits else 0.5 * 10.0 ** -len(digits)


def _cells(table: str, measure: str, row: str, **printed: str) -> list[Published]:
    columns = {"min": "Min", "dpmpm": "DPMPM", "areal": "DP-areal", "max": "Max"}
    return [Published(table, measure, row, columns[key], cell) for key, cell in printed.items()]


PUBLISHED: tuple[Published, ...] = (
    *_cells("utility", "deviation 1", "one-way", dpmpm="9.087", areal="17.105"),
    *_cells("utility", "deviation 2", "two-way", dpmpm="47.908", areal="64.165"),
    *_cells("utility", "deviation 3", "three-way", dpmpm="80.826", areal="88.843"),
    *_cells(
        "identification", "expected_match_risk gender", "gender known: expected match risk",
        min="0", dpmpm="2.497", areal="0.952", max="4.708",
    ),
    *_cells(
        "identification", "true_match_rate gender", "gender known: true match rate",
        min="0", dpmpm="0.000", areal="0", max="0.000",
    ),
    *_cells(
        "identification", "false_match_rate gender", "gender known: false match rate",
        min="NaN", dpmpm="0.997", areal="1", max="0.989",
    ),
    *_cells(
        "identification", "expected_match_risk gender, age",
        "gender and age known: expected match risk",
        min="0", dpmpm="10.474", areal="0.851", max="20.073",
    ),
    *_cells(
        "identification", "true_match_rate gender, age", "gender and age known: true match rate",
        min="0", dpmpm="0.000", areal="0.000", max="0.001",
    ),
    *_cells(
        "identification", "false_match_rate gender, age",
        "gender and age known: false match rate",
        min="NaN", dpmpm="0.991", areal="1.000", max="0.978",
    ),
    *_cells(
        "attribute", "attribute_matches", "number of records",
        min="47.25", dpmpm="115.25", areal="88.15", max="175.33",
    ),
    *_cells(
        "attribute", "attribute_percent", "per cent of records",
        min="0.76", dpmpm="1.86", areal="1.42", max="2.82",
    ),
    *_cells("classes", "classes_lower", "lower end", dpmpm="28"),
    *_cells("classes", "classes_upper", "upper end", dpmpm="36"),
)  # fmt: skip

# 95 % intervals of five counties' coefficients: by county, for the original and each synthesizer.
COUNTIES = ("4", "6", "18", "32", "33")
INTERVALS: dict[str, tuple[tuple[float, float], ...]] = {
    "original": (
        (-0.546, -0.027), (-0.301, 0.202), (-0.516, -0.004), (-0.032, 0.476), (-0.578, -0.065),
    ),
    "DPMPM": (
        (-0.682, -0.116), (-0.426, 0.115), (-0.661, -0.108), (-0.242, 0.295), (-0.587, -0.045),
    ),
    "DP-areal": (
        (-0.593, 0.031), (-0.344, 0.244), (-0.541, 0.059), (-0.169, 0.413), (-0.602, 0.004),
    ),
}  # fmt: skip

# By model: what is set, and to what in the paper. A table says beside it what is done here.
SETTINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "DPMPM": (
        ("sampler", "the R package NPBayesImputeCat, at most 40 classes"),
        ("prior of the concentration", "Gamma(0.25, 0.25)"),
        ("prior of level probabilities", "Dirichlet(1, ..., 1)"),
        ("class of a synthetic label", "from the weights, as the text says"),
        ("sweeps", "10,000, of which 5,000 are thrown away"),
        ("chains, effective draws", "4, about 1,500"),
    ),
    "DP-areal": (
        ("sampler", "Stan, at most 50 clusters"),
        ("prior of the concentration", "Gamma(1, 1)"),
        ("sweeps", "4,000 iterations, of which 2,000 are thrown away"),
        ("chains, effective draws", "4, about 1,500"),
    ),
    "both": (
        ("synthetic sets", "20"),
        ("repeats of Min and Max", "100"),
        ("records that train the regression", "5,000 of 6,208"),
    ),
}


def printed_cell(measure: str, column: str) -> str:
    """Look up a cell as the paper prints it; empty where there is none."""
    wanted = (measure, column)
    return next((cell.printed for cell in PUBLISHED if (cell.measure, cell.column) == wanted), "")
