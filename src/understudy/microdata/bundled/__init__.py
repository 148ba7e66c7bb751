"""The bundled sample: 6,208 invented records made like those of the paper.

`make_ce_like` is the program that made the file; nothing in it is confidential.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import polars as pl

from understudy.microdata.codebook import Codebook, VariableBook
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata
from understudy.public_errors import only_our_errors

__all__ = ["BUNDLED_DATA", "load_ce_like"]

CODEBOOK = Codebook(
    reviewed=True,
    variables={
        "gender": VariableBook(description="Gender of the reference person", levels=("1", "2")),
        "income": VariableBook(
            description="Income of the household, in quartile groups",
            levels=("Q1", "Q2", "Q3", "Q4"),
        ),
        "age": VariableBook(
            description="Age of the reference person, in years",
            levels=("<20", "20-40", "40-60", "60-80", ">80"),
        ),
        "county": VariableBook(
            description="County of the household (invented codes)",
            levels=tuple(f"C{number:03d}" for number in range(1, 134)),
        ),
    },
)

# File and codebook of each bundled sample, by the name that plans use.
BUNDLED_DATA = {"ce-like": (Path(str(files(__package__) / "ce_like.csv.gz")), CODEBOOK)}


@only_our_errors
def load_ce_like() -> Microdata:
    """Load the bundled sample: gender, income and age kept, county (133 levels) to synthesize.

    The counts of its 40 patterns are those printed in the paper's supplement; its counties are
    drawn so that the data's own baselines of risk come close to the printed ones. Nobody is in it.

    Returns
    -------
    Microdata
        6,208 records.

    References
    ----------
    Hu, J. and Savitsky, T. D., "Bayesian Data Synthesis and Disclosure Risk Quantification: An
    Application to the Consumer Expenditure Surveys".

    Examples
    --------
    >>> import understudy as us
    >>> data = us.load_ce_like()
    >>> data.n_records, len(data.patterns)
    (6208, 40)
    """
    path, codebook = BUNDLED_DATA["ce-like"]
    # As a frame: for files that anybody may have written there is a strict reader, which is
    # compiled when it is first used. This file is ours.
    frame = pl.read_csv(path, infer_schema=False)
    return read_microdata(frame, synthesize=["county"], codebook=codebook)
