"""Options that several commands share: columns, how a file is read, who helps to compute."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from cyclopts import Parameter, Token

from understudy.errors import ExitCode, SettingError, quoted
from understudy.memory import memory_limit
from understudy.microdata.bins import Bins, bins_from

__all__ = [
    "AsJson",
    "ColumnOptions",
    "HelperOptions",
    "LevelOptions",
    "Names",
    "ReadingOptions",
    "Switch",
    "Texts",
    "has_memory",
    "helped_by",
    "read_bins",
    "source_options",
    "split_names",
    "with_design",
]


Command = TypeVar("Command", bound=Callable[..., ExitCode])


def _split(_type: Any, tokens: tuple[Token, ...]) -> tuple[str, ...]:
    """Read names separated by commas; an option that is given twice adds to the list."""
    return tuple(name for token in tokens for name in split_names(token.value))


def split_names(text: str) -> tuple[str, ...]:
    """Split names at commas; one with a comma needs quotation marks, as in a CSV file."""
    fields = re.findall(r'\s*("(?:[^"]|"")*"(?=\s*(?:,|$))|[^,]*)\s*(?:,|$)', text)
    names = (
        field[1:-1].replace('""', '"') if re.fullmatch(r'"(?:[^"]|"")*"', field) else field.strip()
        for field in fields
    )
    return tuple(name for name in names if name)


# No default is shown where it is nothing: an empty list, or a switch that is off.
Names = Annotated[
    tuple[str, ...], Parameter(converter=_split, n_tokens=1, negative="", show_default=False)
]
Texts = Annotated[  # one for each time that the option is given
    tuple[str, ...], Parameter(negative="", consume_multiple=False, show_default=False)
]
BinOptions = Texts
Switch = Annotated[bool, Parameter(negative="", show_default=False)]
AsJson = Annotated[bool, Parameter(name="--json", negative="", show_default=False)]


@Parameter(name="*")
@dataclass(frozen=True)
class ColumnOptions:
    """What the columns of a file are.

    Parameters
    ----------
    synthesize
        Columns that may not be published as they are, separated by commas.
    keep
        Columns to publish as they are; all others when left out.
    ignore
        Columns to leave out of everything.
    pass_through
        Columns that are in every file unchanged, and in no model: weights, strata, dates, numbers.
    weight
        The survey weight, by which utility and population risk are weighted.
    strata
        The column of strata that the sample was drawn in, for standard errors.
    psu
        The column of primary sampling units, for standard errors.
        Replicate weights need a plan.
    """

    synthesize: Names = ()
    keep: Names | None = None
    ignore: Names = ()
    pass_through: Names = ()
    weight: str | None = None
    strata: str | None = None
    psu: str | None = None


@Parameter(name="*")
@dataclass(frozen=True)
class ReadingOptions:
    """How files are read.

    Parameters
    ----------
    bins
        Groups of a column of numbers, by cut points (age=20,40,60,80) or quantiles
        (income=quartiles); may be given several times.
    na
        A text that means missing, in any column; may be given several times.
    encoding
        Encoding of text files, such as latin-1.
    delimiter
        Delimiter of text files.
    header
        Whether the first line of a text file holds column names: auto finds out, yes is sure.
    """

    bins: BinOptions = ()
    na: Texts = ()
    encoding: str | None = None
    delimiter: str | None = None
    header: Literal["auto", "yes"] = "auto"


@Parameter(name="*")
@dataclass(frozen=True)
class LevelOptions:
    """What the levels of a file are.

    Parameters
    ----------
    codebook
        A codebook in TOML.
    missing
        What to do with missing values: refuse, make missing a level of its own, drop records, or
        keep them as holes that the DPMPM fills.
    unused_levels
        What to do with declared levels that no record has: refuse, keep or drop.
    """

    codebook: Path | None = None
    missing: Literal["error", "level", "drop", "model"] = "error"
    unused_levels: Literal["error", "keep", "drop"] = "error"


@Parameter(name="*")
@dataclass(frozen=True)
class HelperOptions:
    """Who helps to compute.

    Parameters
    ----------
    workers
        Compute in so many processes (needs understudy[dask]).
    cluster
        Compute on a Dask cluster, given the address of its scheduler.
    tls
        A folder with ca.pem, cert.pem and key.pem for the cluster.
    """

    workers: int | None = None
    cluster: str | None = None
    tls: Path | None = None


def read_bins(given: Sequence[str]) -> dict[str, Bins]:
    """Read options such as ``age=20,40,60,80`` (cut points) and ``income=quartiles``."""
    bins: dict[str, Any] = {}
    for text in given:
        name, equals, groups = text.rpartition("=")
        if not equals or not name or not groups.strip():
            raise SettingError(
                expected="--bins such as age=20,40,60,80 or income=quartiles",
                came=quoted(text),
                do="name a column, then its cut points or a word such as quartiles",
            )
        if name in bins:
            raise SettingError(
                expected="the bins (--bins) of every column once",
                came=f"those of {quoted(name)} twice",
                do="give all cut points of a column in one option",
            )
        pieces = [piece.strip() for piece in groups.split(",")]
        try:
            bins[name] = [float(piece) for piece in pieces]
        except ValueError:
            bins[name] = groups.strip()
    return bins_from(bins)


def source_options(
    file: str,
    columns: ColumnOptions,
    levels: LevelOptions,
    reading: ReadingOptions,
    **further: Any,
) -> dict[str, Any]:
    """Turn a file and its options, or a plan, into arguments for reading.

    Parameters
    ----------
    file : str
        The data, or a plan whose name ends in ``.toml``.
    columns, levels, reading
        Options of the command line.
    **further
        Others of them.

    Returns
    -------
    dict
        Arguments of `understudy.microdata.screening.inspect_source`.
    """
    given = {**vars(columns), **vars(levels), **vars(reading), **further}
    given["bins"] = read_bins(reading.bins)
    if not file.lower().endswith(".toml"):
        return {"source": file, **with_design(given)}
    beside = [name for name, value in given.items() if value and value not in ("error", "auto")]
    if beside:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in beside)
        raise SettingError(
            expected="a plan without further options",
            came=f"{options} beside it",
            do="write what these options say into the plan",
        )
    from understudy.study.plan import read_plan

    return read_plan(file).data.reading_options(Path(file).parent)


def with_design(given: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the options ``strata`` and ``psu`` into the one argument that reading has."""
    design = {part: given[part] for part in ("strata", "psu") if given.get(part)}
    rest = {name: value for name, value in given.items() if name not in {"strata", "psu"}}
    return {**rest, "design": design}


def has_memory(command: Command) -> Command:
    """Run a command within what its option ``memory`` says."""

    @wraps(command)
    def limited(*arguments: Any, **options: Any) -> ExitCode:
        with memory_limit(options.get("memory")):
            return command(*arguments, **options)

    return cast("Command", limited)


@contextmanager
def helped_by(helpers: HelperOptions) -> Iterator[None]:
    """Compute on workers where any are asked for; see `understudy.on_workers`."""
    if helpers.workers is None and helpers.cluster is None:
        if helpers.tls is not None:
            raise SettingError(
                expected="the address of a cluster (--cluster) beside certificates",
                came="none",
                do="give the address, or leave --tls out: local workers have keys of their own",
            )
        yield
        return
    from understudy.synthesis.workers import on_workers

    with on_workers(helpers.workers, cluster=helpers.cluster, tls=helpers.tls):
        yield
