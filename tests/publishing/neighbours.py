"""Surveys that differ in one record's label, and what a release of each would say.

Held fixed are the synthetic files and the fit: an intruder sees the files, and what she can compute
for each guess about the last label are the numbers that compare her guess with them. The findings
are measured again for every label, by the functions that a study uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

import understudy as us
from tests import findings_factory as making
from understudy.findings import utility as utility_measures
from understudy.findings.data import data_findings
from understudy.findings.own_record import own_record_findings, with_own_record
from understudy.findings.risk import intruder_findings, risk_findings
from understudy.findings.schema import Findings
from understudy.findings.utility import utility_findings
from understudy.microdata.codebook import Codebook, VariableBook
from understudy.microdata.table import Microdata
from understudy.microdata.variable import Variable
from understudy.publishing.public_pages import Release, codebook_page, methods_page, readme
from understudy.publishing.public_plots import public_findings
from understudy.publishing.public_summary import public_numbers, summarize, unrounded_numbers
from understudy.publishing.random_rounding import PublicNumber

__all__ = ["LABEL", "Neighbours", "made_neighbours", "public_text", "without_propensity"]

KEPT = ("sex", "age")
LABEL = "town"


def without_propensity(patch: pytest.MonkeyPatch) -> None:
    """Leave out a measure that takes long and is never published."""
    patch.setattr(utility_measures, "_propensity", lambda *_: None)


@dataclass
class Neighbours:
    """A survey, its synthetic files and its fit, and all surveys that differ in one label."""

    frame: pl.DataFrame
    levels: tuple[str, ...]
    sets: list[pl.DataFrame]
    fit: Any

    @property
    def n_records(self) -> int:
        """How many people there are."""
        return self.frame.height

    def others(self, row: int) -> list[int]:
        """Codes of all labels that a record does not have."""
        own = self.frame[LABEL][row]
        return [code for code, level in enumerate(self.levels) if level != own]

    def all_changes(self) -> Iterator[tuple[int, int]]:
        """Every record, with every label that it does not have."""
        for row in range(self.n_records):
            for code in self.others(row):
                yield row, code

    def data(self, change: tuple[int, int] | None) -> Microdata:
        """Read the survey, with another label of one record."""
        frame = self.frame
        if change is not None:
            labels = frame[LABEL].to_list()
            labels[change[0]] = self.levels[change[1]]
            frame = frame.with_columns(pl.Series(LABEL, labels))
        return read(frame, self.levels)

    def findings(self, change: tuple[int, int] | None = None) -> Findings:
        """Measure everything that a study measures."""
        data = self.data(change)
        sets = us.read_synthetic(data, self.sets)
        intruder = intruder_findings(data, KEPT, repeats=1, sets=len(self.sets), seed=4)
        risk = risk_findings(data, sets, (KEPT,), by_knowledge=False)
        if self.fit is not None:
            own = own_record_findings(
                data, self.fit, (KEPT,), sets=len(self.sets), refit=None, folds=1, seed=5
            )
            risk = with_own_record(risk, own, (intruder,))
        utility = utility_findings(data, sets, analyses=(), rule="partial", seed=6, repeats=2)
        made = making.synthesizer("dpmpm", m=len(self.sets)).model_copy(
            update={"utility": utility, "risk": risk}
        )
        described = data_findings(data, codebook_declared=True, codebook_reviewed=True)
        return making.findings((made,)).model_copy(
            update={"data": described, "intruders": (intruder,), "seed": 7}
        )

    def numbers(self, change: tuple[int, int] | None = None) -> list[PublicNumber]:
        """The numbers of a release, exact."""
        findings = self.findings(change)
        return unrounded_numbers(findings, findings.synthesizers[0])

    def public(self, change: tuple[int, int] | None = None, seed: int = 7) -> str:
        """Everything that is published but the data files, as text.

        Plots are drawn from findings that are compared instead of their pixels.
        """
        return public_text(self.findings(change), self.n_records, seed)


def public_text(findings: Findings, n_rows: int, seed: int = 7) -> str:
    """Write the pages of a release, and what its plots are drawn from."""
    released = findings.synthesizers[0]
    numbers = public_numbers(findings, released, seed)
    release = Release(
        title="Synthetic data",
        m=released.m,
        n_rows=n_rows,
        form="csv",
        fully_synthetic=False,
        converged=True,
        seed_drawn=True,
        variables=tuple(
            Variable(
                name=variable.name,
                role="kept" if variable.role == "kept" else "synthesized",
                levels=variable.levels,
                declared=True,
            )
            for variable in findings.data.variables
        ),
        quoted=False,
        summary=summarize(findings, released, numbers),
        version="0",
    )
    drawn = public_findings(findings, released, numbers).model_dump_json()
    return "\n".join([methods_page(release, {}), codebook_page(release), readme(release), drawn])


def read(frame: pl.DataFrame, levels: tuple[str, ...]) -> Microdata:
    """Read a survey; which levels there are is declared, whoever has them."""
    books = {name: VariableBook(levels=tuple(sorted(set(frame[name])))) for name in KEPT}
    book = Codebook(reviewed=True, variables={**books, LABEL: VariableBook(levels=levels)})
    return us.read_microdata(frame, synthesize=LABEL, codebook=book)


def made_neighbours(
    n_records: int,
    n_labels: int,
    seed: int,
    *,
    sets: int = 3,
    fit: Any = None,
    evenness: float = 1.0,
) -> Neighbours:
    """Draw a survey of people with sex, age and town, and synthetic files of it.

    Parameters
    ----------
    n_records, n_labels : int
        Sizes.
    seed : int
        Of the survey and its files.
    sets : int
        Number of files, drawn by the baseline Others.
    fit : callable, optional
        Makes the fit whose own-record effect is measured.
    evenness : float
        How alike the labels are in frequency.
    """
    generator = np.random.default_rng(seed)
    sex, age = generator.integers(2, size=n_records), generator.integers(3, size=n_records)
    chances = generator.dirichlet(np.full(n_labels, evenness), size=(2, 3))  # (sex, age, label)
    labels: NDArray[np.int64] = (
        chances[sex, age].cumsum(axis=1) < generator.random(n_records)[:, None]
    ).sum(axis=1)
    levels = tuple(f"town {number}" for number in range(n_labels))
    frame = pl.DataFrame(
        {
            "sex": [("f", "m")[code] for code in sex],
            "age": [("1", "2", "3")[code] for code in age],
            LABEL: [levels[min(code, n_labels - 1)] for code in labels],
        }
    )
    data = read(frame, levels)
    drawn = us.Others().fit(data).synthesize(sets, seed=seed + 1)
    frames = [drawn.frame(index, "polars") for index in range(sets)]
    return Neighbours(frame, levels, frames, None if fit is None else fit(data))
