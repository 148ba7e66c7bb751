"""What a synthesizer is fitted to: microdata, or a frame or file that is read on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from understudy.checks import kind_of
from understudy.errors import InputError, SettingError, nearest, quoted
from understudy.microdata.reading import read_microdata
from understudy.microdata.table import Microdata

__all__ = ["given_data"]


def given_data(
    data: Any,
    synthesize: Sequence[str] | str | None,
    reading: Mapping[str, Any],
    known: Sequence[str] = (),
) -> Microdata:
    """Take microdata as they are, and read anything else with the options of `read_microdata`.

    `known` are options of the caller's own, to name the nearest where an option is neither.
    """
    if not isinstance(data, Microdata):
        if synthesize is None:
            raise InputError(
                expected="the confidential data as Microdata, or a frame and what to synthesize",
                came=kind_of(data),
                do='read files and frames with read_microdata first, or say synthesize="COLUMN"',
            )
        return read_microdata(data, synthesize, **reading)
    for name in reading:
        raise SettingError(
            expected="options of fit",
            came=f"{quoted(name)}{nearest(name, known)}",
            do="leave it out; options of reading go with a frame or a path",
        )
    if synthesize is not None:
        raise SettingError(
            expected="synthesize= with a frame or a path only",
            came="microdata, which know what is to be synthesized",
            do="leave it out",
        )
    return data
