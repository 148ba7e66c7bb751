"""The survey design: weights, strata, primary sampling units, replicate weights.

The models do not use them: labels are drawn given the kept variables, whatever a record's weight.
Analysts use them, so utility and population risk are weighted where a weight is named. How weighted
totals and shares vary over samples is in `design_variance`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import Field, model_validator

from understudy.checks import kind_of
from understudy.errors import ColumnError, SettingError, quoted
from understudy.settings import Settings, settings_from
from understudy.summaries import counted

__all__ = ["DesignColumns", "SurveyDesign", "design_from", "read_design"]

Numbers = NDArray[np.float64]


class DesignColumns(Settings):
    """Columns that describe how the sample was drawn, beside the weight.

    Attributes
    ----------
    strata, psu : str, optional
        Columns of strata and of primary sampling units. Units are numbered within their stratum.
        Left out: one stratum, and every record a unit of its own.
    replicates : tuple of str
        Columns of replicate weights, instead of strata and units.
    method : {"brr", "bootstrap", "jk1", "jk2"}
        How the replicate weights were made: balanced repeated replication, bootstrap, or a
        jackknife that leaves out one unit (jk1) or one of a pair (jk2).
    fay : float
        Fay's coefficient of balanced repeated replication, from 0 to below 1.
    """

    strata: str | None = None
    psu: str | None = None
    replicates: tuple[str, ...] = ()
    method: Literal["brr", "bootstrap", "jk1", "jk2"] = "brr"
    fay: float = Field(default=0.0, ge=0, lt=1)

    @model_validator(mode="after")
    def _check(self) -> DesignColumns:
        if self.replicates and (self.strata or self.psu):
            raise ValueError("has replicates beside strata or psu: give one of the two")
        if len(self.replicates) == 1:
            raise ValueError("has one column of replicate weights: at least two are needed")
        if len(set(self.replicates)) < len(self.replicates):
            raise ValueError("has a column of replicate weights twice: name each once")
        if self.fay and self.method != "brr":
            raise ValueError("has fay, which belongs to the method brr")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """All columns."""
        single = (name for name in (self.strata, self.psu) if name is not None)
        return (*single, *self.replicates)

    def parts(self, weight: str | None) -> dict[str, tuple[str, ...]]:
        """Name the columns, and that of the weight, by what they are."""
        given = {"weight": weight, "strata": self.strata, "psu": self.psu}
        single: dict[str, tuple[str, ...]] = {
            part: (name,) for part, name in given.items() if name is not None
        }
        return {**single, "replicates": self.replicates} if self.replicates else single

    @property
    def factor(self) -> float:
        """What the sum of squared deviations of replicates is multiplied by."""
        n_replicates = len(self.replicates)
        return {
            "brr": 1 / (n_replicates * (1 - self.fay) ** 2) if n_replicates else 0.0,
            "bootstrap": 1 / n_replicates if n_replicates else 0.0,
            "jk1": (n_replicates - 1) / n_replicates if n_replicates else 0.0,
            "jk2": 1.0,
        }[self.method]


@dataclass(frozen=True, repr=False, eq=False)
class SurveyDesign:
    """Weights of the records, and how estimates vary over samples.

    Attributes
    ----------
    weights : float64 (record,)
        Survey weights.
    stratum, unit : int64 (record,)
        Number of each record's stratum and of its primary sampling unit, over all strata.
    replicates : float64 (record, replicate) or None
        Replicate weights, where these are used instead of strata and units.
    factor : float
        Of the replicates; see `DesignColumns`.
    columns : tuple of str
        Name of the weight, then of the others.
    """

    weights: Numbers
    stratum: NDArray[np.int64]
    unit: NDArray[np.int64]
    replicates: Numbers | None
    factor: float
    columns: tuple[str, ...]

    @property
    def degrees_of_freedom(self) -> float:
        """Units less strata, or the number of replicates."""
        if self.replicates is not None:
            return float(self.replicates.shape[1])
        return float(max(1, self.unit.max() + 1 - (self.stratum.max() + 1)))

    def only(self, stay: NDArray[np.bool_]) -> SurveyDesign:
        """Leave out the other records; those that stay are numbered anew."""
        return replace(
            self,
            weights=self.weights[stay],
            stratum=_numbered(self.stratum[stay]),
            unit=_numbered(self.unit[stay]),
            replicates=None if self.replicates is None else self.replicates[stay],
        )

    def __repr__(self) -> str:
        """Show shapes only."""
        how = (
            f"{self.unit.max() + 1:,} units in {self.stratum.max() + 1:,} strata"
            if self.replicates is None
            else f"{self.replicates.shape[1]} replicates"
        )
        return f"SurveyDesign({self.weights.size:,} records, {how})"


def design_from(given: DesignColumns | Mapping[str, Any] | None) -> DesignColumns:
    """Read what the user gave as ``design=``."""
    if given is None:
        return DesignColumns()
    if isinstance(given, DesignColumns):
        return given
    if isinstance(given, Mapping):
        content = {key: tuple(value) if isinstance(value, list) else value
                   for key, value in given.items()}  # fmt: skip
        return settings_from(content, DesignColumns, "design")
    raise SettingError(
        expected="a survey design as a mapping",
        came=kind_of(given),
        do='write for instance design={"strata": "stratum", "psu": "cluster"}',
    )


def read_design(weight: str, columns: DesignColumns, values: pl.DataFrame) -> SurveyDesign:
    """Make the design from its columns as they are in the source."""
    weights = _weights(values[weight])
    if not weights.sum() > 0:
        raise ColumnError(
            expected=f"survey weights in {quoted(weight)} that are above zero",
            came="zero in every record",
            do="name the column that holds the weights",
        ).about(weight)
    for name in filter(None, (columns.strata, columns.psu)):
        _check_complete(values[name])
    stratum = np.zeros(weights.size, dtype=np.int64)
    if columns.strata is not None:
        stratum = _groups(values.select(columns.strata))
    unit = np.arange(weights.size, dtype=np.int64)
    if columns.psu is not None:
        unit = _groups(values.select(columns.psu).with_columns(pl.Series("_row", stratum)))
    replicates = [_weights(values[name]) for name in columns.replicates]
    return SurveyDesign(
        weights,
        stratum,
        unit,
        np.stack(replicates, axis=1) if replicates else None,
        columns.factor,
        (weight, *columns.names),
    )


def _weights(column: pl.Series) -> Numbers:
    numbers = column.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    numbers = numbers.fill_nan(None)
    wrong = int((numbers.is_null() | numbers.is_infinite() | (numbers < 0)).sum())
    if wrong:
        raise ColumnError(
            expected=f"survey weights in {quoted(column.name)}: numbers from 0, none missing",
            came=f"{wrong:,} record{'s' * (wrong != 1)} with something else",
            do="correct the weights, or leave such records out of the file",
        ).about(column.name)
    return numbers.to_numpy().astype(np.float64)


def _check_complete(column: pl.Series) -> None:
    """Refuse strata or units that some records do not have."""
    absent = int((column.cast(pl.String).fill_null("").str.strip_chars() == "").sum())
    if absent:
        raise ColumnError(
            expected=f"a stratum or sampling unit for every record in {quoted(column.name)}",
            came=f"none for {counted(absent, 'record')}",
            do="complete the column in the source, leave such records out of the file, or name no "
            "design: every record is then a unit of its own",
        ).about(column.name)


def _groups(values: pl.DataFrame) -> NDArray[np.int64]:
    """Number the distinct rows of some columns in order of appearance: (record,)."""
    numbered = values.unique(maintain_order=True).with_row_index("_set")
    joined = values.join(numbered, on=values.columns, how="left", nulls_equal=True,
                         maintain_order="left")  # fmt: skip
    return joined["_set"].to_numpy().astype(np.int64)


def _numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
