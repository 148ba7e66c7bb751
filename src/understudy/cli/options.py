"""Options that several commands share: lists of names, and where the data come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter, Token

from understudy.errors import SettingError

__all__ = ["Names", "source_options"]


def _split(_type: Any, tokens: tuple[Token, ...]) -> tuple[str, ...]:
    """Read names separated by commas; an option that is given twice adds to the list."""
    return tuple(
        name.strip() for token in tokens for name in token.value.split(",") if name.strip()
    )


Names = Annotated[tuple[str, ...], Parameter(converter=_split, n_tokens=1, negative="")]


def source_options(file: str, **given: Any) -> dict[str, Any]:
    """Turn a file and its options, or a plan, into arguments for reading.

    Parameters
    ----------
    file : str
        The data, or a plan whose name ends in ``.toml``.
    **given
        Options of the command line.

    Returns
    -------
    dict
        Arguments of `understudy.microdata.screening.inspect_source`.
    """
    if not file.lower().endswith(".toml"):
        return {"source": file, **given}
    if any(value for value in given.values() if value not in {"error", "auto"}):
        raise SettingError(
            expected="a plan without further options",
            came="both",
            do="write the options into the plan",
        )
    from understudy.study.plan import read_plan

    return read_plan(file).data.reading_options(Path(file).parent)
