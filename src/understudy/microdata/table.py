"""The data as the rest of the package uses them: codes, combinations, patterns, and the way back.

`Microdata` holds no ignored column and no value that was binned away. Its records keep the order of
the source, and so do the frames of `Microdata` and `SyntheticSets`.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from understudy.checks import check_one_of, kind_of
from understudy.errors import InputError, SetIndexError, SettingError, nearest, quoted, quoted_list
from understudy.microdata.cells import Cells
from understudy.microdata.coding import Backend, regroup
from understudy.microdata.frames import Columns, data_frame
from understudy.microdata.imputations import check_imputations
from understudy.microdata.passed_columns import PassedColumns
from understudy.microdata.shown_data import ShownData, ShownSets
from understudy.microdata.survey_design import SurveyDesign
from understudy.microdata.variable import Variable
from understudy.microdata.writing import write_table
from understudy.public_errors import only_our_errors
from understudy.summaries import counted

__all__ = ["Microdata", "SyntheticSets"]


@dataclass(frozen=True, repr=False, eq=False)
class Microdata(ShownData):
    """Confidential records as coded, distinct combinations.

    Made by `read_microdata`; printing it shows shapes only.

    Attributes
    ----------
    variables : tuple of Variable
        The synthesized and the kept variables, in the order of the source's columns.
    combinations : int32 (combination, variable)
        Codes of the distinct combinations, in lexicographic order.
    counts : int64 (combination,)
        Records with each combination.
    of_record : int32 (record,)
        Each record's row in `combinations`, in the order of the source.
    impossible : tuple of dict
        Rules of the codebook: levels that cannot occur together, by variable.
    n_dropped : int
        Records left out because of missing values, where that was asked for.
    backend : {"polars", "pandas", "pyarrow"}
        Which kind of frame `frame` gives: the kind that the data came in, Polars for files.
    passed : PassedColumns or None
        Columns that are in every file unchanged, and in no model.
    survey : SurveyDesign or None
        Survey weights and the design that they belong to.
    """

    variables: tuple[Variable, ...]
    combinations: NDArray[np.int32]
    counts: NDArray[np.int64]
    of_record: NDArray[np.int32]
    impossible: tuple[dict[str, tuple[str, ...]], ...] = ()
    n_dropped: int = 0
    backend: Backend = "polars"
    passed: PassedColumns | None = None
    survey: SurveyDesign | None = None

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self.of_record.size

    @property
    def n_combinations(self) -> int:
        """Number of distinct combinations of all variables."""
        return self.counts.size

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the variables, in the order of the source's columns."""
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def synthesized(self) -> tuple[str, ...]:
        """Names of the variables that are drawn anew."""
        return tuple(variable.name for variable in self.variables if variable.role == "synthesized")

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """Names of the variables that stay as they are."""
        return tuple(variable.name for variable in self.variables if variable.role == "kept")

    @cached_property
    def with_holes(self) -> tuple[str, ...]:
        """Names of the variables whose missing values a model fills."""
        return tuple(variable.name for variable in self.variables if variable.has_holes)

    @cached_property
    def predictors(self) -> tuple[str, ...]:
        """Names of the kept variables with more than one level, which models can use."""
        return tuple(name for name in self.kept if self.variable(name).n_levels > 1)

    @property
    def n_cells(self) -> int:
        """Number of conceivable combinations: the product of all numbers of levels, exactly."""
        return math.prod(variable.n_levels for variable in self.variables)

    @property
    def n_labels(self) -> int:
        """Number of combined labels: the product of the synthesized variables' levels, exactly."""
        return math.prod(self.variable(name).n_levels for name in self.synthesized)

    @cached_property
    def released(self) -> Microdata:
        """The data without variables that models alone use: what files show, and risk is about."""
        shown = [index for index, variable in enumerate(self.variables) if variable.released]
        if len(shown) == len(self.variables):
            return self
        variables = tuple(self.variables[index] for index in shown)
        combinations, counts, of_record = regroup(
            self.combinations[:, shown],
            self.counts,
            self.of_record,
            [variable.n_levels for variable in variables],
        )
        return replace(
            self,
            variables=variables,
            combinations=combinations,
            counts=counts,
            of_record=of_record,
        )

    @cached_property
    def patterns(self) -> Cells:
        """Combinations of all kept variables that occur; one pattern where nothing is kept."""
        return self.cells(self.kept)

    @cached_property
    def labels(self) -> Cells:
        """Combinations of the synthesized variables that occur."""
        return self.cells(self.synthesized)

    def variable(self, name: str) -> Variable:
        """Return the variable of this name.

        Parameters
        ----------
        name : str
            Name of its column.
        """
        return self.variables[self._index(name)]

    def codes(self, name: str) -> NDArray[np.int32]:
        """Return the codes of one variable, in the order of the source.

        Parameters
        ----------
        name : str
            The variable.

        Returns
        -------
        int32 (record,)
        """
        return self.combinations[:, self._index(name)][self.of_record]

    def cells(self, names: Sequence[str]) -> Cells:
        """Group the data by some of the variables.

        Parameters
        ----------
        names : sequence of str
            Variables; none gives one cell with all records.

        Returns
        -------
        Cells
        """
        columns = [self._index(name) for name in names]
        codes, sizes, of_combination = regroup(
            self.combinations[:, columns],
            self.counts,
            np.arange(self.n_combinations, dtype=np.int32),
            [self.variables[column].n_levels for column in columns],
        )
        return Cells(tuple(names), codes, sizes, of_combination)

    def known(self, names: Sequence[str] | str) -> tuple[str, ...]:
        """Check what an intruder is assumed to know: some of the kept variables.

        Parameters
        ----------
        names : sequence of str
            Names of kept variables, at least one.

        Returns
        -------
        tuple of str
            The same names, each once, in the order of the data.
        """
        do = f"name some of {quoted_list(self.kept)}"
        given: object = [names] if isinstance(names, str) else names
        if not isinstance(given, Iterable):
            came = kind_of(names)
            raise SettingError("what an intruder knows as a list of names", came, do)
        listed = list(given)
        if not listed:
            raise SettingError("at least one kept variable that an intruder knows", "none", do)
        for name in listed:
            if name in self.synthesized:
                raise SettingError(
                    expected="kept variables as what an intruder knows",
                    came=f"{quoted(name)}, which is synthesized and is known in every attack",
                    do=do,
                )
            check_one_of(
                "what an intruder knows", name, self.kept, "use names of kept variables (--known)"
            )
        return tuple(name for name in self.kept if name in listed)

    @only_our_errors
    def frame(self, backend: Backend | None = None) -> Any:
        """Give the records back as a data frame of categories, in the order of the source.

        Rows of a pandas frame are numbered from 0, whatever the index of the source was.

        Parameters
        ----------
        backend : {"polars", "pandas", "pyarrow"}, optional
            Which kind of frame; the kind that the data came in when left out.
        """
        return data_frame(_columns(self), backend or self.backend)

    @only_our_errors
    def write(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the records to a file: CSV, Parquet, Stata or SPSS, by the ending of its name.

        Parameters
        ----------
        path : str or path
            Ends in ``.csv``, ``.csv.gz``, ``.tsv``, ``.parquet``, ``.dta`` or ``.sav``.
        **options
            ``encoding``, ``delimiter`` and ``overwrite``, as in
            `understudy.microdata.writing.write_table`.
        """
        return write_table(_columns(self), path, **options)

    def fingerprint(self) -> str:
        """Digest of everything in the data, to notice when a run resumes with other data.

        It is confidential: whoever can guess the data can check the guess against it.
        """
        digest = hashlib.blake2b(digest_size=32)
        for variable in self.variables:
            holes = ("holes",) if variable.has_holes else ()
            described = (variable.name, variable.role, variable.levels, *holes)
            digest.update(repr(described).encode("utf-8", "surrogatepass"))
        digest.update(repr(self.impossible).encode("utf-8", "surrogatepass"))
        for array in (self.combinations, self.counts, self.of_record):
            digest.update(repr(array.shape).encode("ascii"))
            digest.update(np.ascontiguousarray(array).tobytes())
        if self.passed is not None:
            digest.update(self.passed.digest())
        if self.survey is not None:
            digest.update(repr(self.survey.columns).encode("utf-8", "surrogatepass"))
            for numbers in (self.survey.weights, self.survey.unit, self.survey.stratum):
                digest.update(numbers.tobytes())
            if self.survey.replicates is not None:
                digest.update(repr((self.survey.factor, self.survey.replicates.shape)).encode())
                digest.update(np.ascontiguousarray(self.survey.replicates).tobytes())
        return digest.hexdigest()

    def people_digest(self) -> str:
        """Digest of the labels of all records, whatever their order and all other columns.

        The same people give the same one with other kept columns, bins, a longer codebook or sorted
        rows: a register recognizes them by it. Confidential, like the fingerprint.
        """
        names = sorted(self.synthesized)
        codes = self.combinations[:, [self._index(name) for name in names]]
        labels, of_combination = np.unique(codes, axis=0, return_inverse=True)  # (label, variable)
        counts = np.bincount(of_combination.reshape(-1), weights=self.counts)  # (label,)
        levels = [self.variable(name).levels for name in names]
        told = sorted(
            (*(own[code] for own, code in zip(levels, row, strict=True)), int(count))
            for row, count in zip(labels.tolist(), counts.tolist(), strict=True)
        )
        digest = hashlib.blake2b(digest_size=32)
        digest.update(repr((names, told)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {name: index for index, name in enumerate(self.names)}

    def _index(self, name: str) -> int:
        try:
            return self._indices[name]
        except (KeyError, TypeError):
            raise SettingError(
                expected=f"one of the variables {quoted_list(self.names)}",
                came=f"{quoted(name)}{nearest(str(name), self.names)}",
                do="use a name from the list",
            ) from None

    def __repr__(self) -> str:
        """Show shapes only: nothing confidential."""
        lines = [f"Microdata: {counted(self.n_records, 'record')}"]
        lines += [
            f"  {quoted(variable.name)}: {variable.role}, {counted(variable.n_levels, 'level')}"
            for variable in self.variables
        ]
        lines += [f"  {quoted(name)}: passed through" for name in _passed_names(self)]
        lines.append(
            f"  {counted(len(self.patterns), 'pattern')}, "
            f"{counted(self.n_combinations, 'combination')}"
        )
        return "\n".join(lines)


@dataclass(frozen=True, repr=False, eq=False)
class SyntheticSets(ShownSets):
    """Several synthetic versions of the data, row by row beside the confidential records.

    ``len(sets)`` is their number; ``sets[3]`` and iteration give data frames with the columns of
    the data, in the order of its records: row i of every set stands in for record i. A slice such
    as ``sets[:5]`` gives synthetic sets again.

    Attributes
    ----------
    data : Microdata
        The confidential data that they stand in for.
    codes : integer (set, record, synthesized variable)
        Codes of the synthetic levels.
    fully_synthetic : bool
        Whether the rows are new people rather than stand-ins for the records: then row i has
        nothing to do with record i, and matching by rows is refused.
    filled : mapping of str to integer (set, record)
        Codes of kept variables whose holes were filled, by name; the others are the data's own.
        Risk and tables are measured as if the holes had been put back.
    imputations : int, optional
        How many imputations files with filled holes are of, each with as many sets: set number
        ``i * r + j`` is set j of r of imputation i. None: no holes are filled, or not known.
    """

    data: Microdata
    codes: NDArray[np.integer[Any]]
    fully_synthetic: bool = False
    filled: Mapping[str, NDArray[np.integer[Any]]] = field(default_factory=dict)
    imputations: int | None = None

    def __post_init__(self) -> None:
        """Check the shape, and that every code is that of a level."""
        if not isinstance(self.codes, np.ndarray) or self.codes.dtype.kind not in "iu":
            raise InputError(
                expected="synthetic codes as an array of whole numbers",
                came=kind_of(self.codes),
                do="number the levels of each variable from 0",
            )
        shape = (self.data.n_records, len(self.data.synthesized))
        if self.codes.ndim != 3 or self.codes.shape[1:] != shape:
            raise InputError(
                expected=f"synthetic codes with axes (set, record, variable) = (any, {shape[0]:,}, "
                f"{shape[1]})",
                came=f"an array of shape {self.codes.shape}",
                do="give one row for every record of the confidential data",
            )
        for axis, name in enumerate(self.data.synthesized):
            codes = self.codes[:, :, axis]
            n_levels = self.data.variable(name).n_levels
            if codes.size and not (codes.min() >= 0 and codes.max() < n_levels):
                raise InputError(
                    expected=f"codes from 0 to {n_levels - 1} for {quoted(name)}",
                    came="codes outside of that range",
                    do="number the levels of the variable from 0",
                )
        if self.imputations is not None:
            check_imputations(self.imputations, len(self), self.filled)

    @property
    def combining_rule(self) -> Literal["full", "nested", "partial"]:
        """The rule by which estimates from these sets are combined."""
        if not self.data.kept:
            return "full"
        return "nested" if self.filled else "partial"

    def __len__(self) -> int:
        """Count the sets."""
        return int(self.codes.shape[0])

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    @only_our_errors
    def __getitem__(self, index: Any) -> Any:
        """Give one set as a data frame, or some of the sets as synthetic sets."""
        return self._chosen(index) if isinstance(index, slice) else self.frame(index)

    def _chosen(self, which: slice) -> Self:
        filled = {name: codes[which] for name, codes in self.filled.items()}
        return replace(self, codes=self.codes[which], filled=filled, imputations=None)

    def __iter__(self) -> Iterator[Any]:
        """Give one data frame after the other."""
        return (self.frame(index) for index in range(len(self)))

    @only_our_errors
    def frame(self, index: int, backend: Backend | None = None) -> Any:
        """Give one set as a data frame, in the order of the records.

        Parameters
        ----------
        index : int
            Which set, from 0.
        backend : {"polars", "pandas", "pyarrow"}, optional
            Which kind of frame; the kind that the data came in when left out.
        """
        return data_frame(self._columns(index), backend or self.data.backend)

    @only_our_errors
    def write(
        self, directory: str | os.PathLike[str], ending: str = ".csv", **options: Any
    ) -> list[Path]:
        """Write every set to a file of its own: ``synthetic-01.csv`` and so on.

        These files are row-aligned with the confidential data and are confidential themselves;
        `understudy.release` makes the files that may be published.

        Parameters
        ----------
        directory : str or path
            A folder that exists.
        ending : str
            Decides on the format, as in `Microdata.write`.
        **options
            As in `Microdata.write`.
        """
        width = max(2, len(str(len(self))))
        return [
            write_table(
                self._columns(index),
                Path(directory) / f"synthetic-{index + 1:0{width}d}{ending}",
                **options,
            )
            for index in range(len(self))
        ]

    def _all_columns(self) -> list[Columns]:
        return [self._columns(index) for index in range(len(self))] or [_columns(self.data)]

    def _columns(self, index: int) -> Columns:
        """Columns of one set, with the drawn codes for the synthesized variables."""
        whole = isinstance(index, int | np.integer)
        if not whole or not -len(self) <= index < len(self):
            raise SetIndexError(
                expected=f"the number of one of {len(self)} sets, from 0",
                came=f"{index}" if whole else kind_of(index),
                do="ask for one set at a time, or go through all of them in a loop",
            )
        drawn = {
            name: self.codes[index, :, axis] for axis, name in enumerate(self.data.synthesized)
        }
        filled = {name: codes[index] for name, codes in self.filled.items()}
        return _columns(self.data, {**drawn, **filled})

    def __repr__(self) -> str:
        """Show shapes only."""
        records = counted(self.data.n_records, "record")
        return f"SyntheticSets: {counted(len(self), 'set')} of {records}"


def _columns(data: Microdata, drawn: Mapping[str, NDArray[Any]] | None = None) -> Columns:
    """Pair every variable with its codes (record,): those drawn, or else the data's own.

    Columns that pass through are among them, in the order of the source.
    """
    drawn, passed = drawn or {}, data.passed
    coded: dict[str, tuple[Variable, NDArray[Any]] | pl.Series] = {
        name: (variable, drawn[name] if name in drawn else data.codes(name))
        for name, variable in zip(data.names, data.variables, strict=True)
        if variable.released
    }
    if passed is None:
        return coded
    return {name: coded[name] if name in coded else passed.frame[name] for name in passed.order}


def _passed_names(data: Microdata) -> tuple[str, ...]:
    return () if data.passed is None else data.passed.names
