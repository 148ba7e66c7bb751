"""Draws with names on their axes, and their export in ArviZ's layout.

The core needs neither xarray nor pandas: a `LabelledArray` knows the names of its axes and their
coordinates, which is all that the netCDF file or an ArviZ object need.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import OutputError, SettingError, quoted

__all__ = ["Draws", "LabelledArray"]


@dataclass(frozen=True, eq=False)
class LabelledArray:
    """An array whose axes have names.

    Attributes
    ----------
    values : array
        The numbers.
    dims : tuple of str
        Names of the axes, ``("chain", "draw", ...)``.
    """

    values: NDArray[Any]
    dims: tuple[str, ...]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Give the numbers to NumPy."""
        return np.array(self.values, dtype=dtype, copy=copy)

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return self.values.shape

    def __repr__(self) -> str:
        """Show axes only."""
        axes = ", ".join(
            f"{name}: {size}" for name, size in zip(self.dims, self.shape, strict=True)
        )
        return f"LabelledArray({axes})"


@dataclass(frozen=True, repr=False, eq=False)
class Draws(Mapping[str, Mapping[str, LabelledArray]]):
    """Groups of labelled arrays: ``draws["posterior"]["concentration"]``.

    Attributes
    ----------
    groups : mapping of str to mapping of str to LabelledArray
        The arrays, by group and name.
    coordinates : mapping of str to list
        Names along the axes other than chain and draw.
    attributes : mapping of str to str, int or float
        About the run, for an exported file.
    """

    groups: Mapping[str, Mapping[str, LabelledArray]]
    coordinates: Mapping[str, list[Any]] = field(default_factory=dict)
    attributes: Mapping[str, str | int | float] = field(default_factory=dict)

    def __getitem__(self, group: str) -> Mapping[str, LabelledArray]:
        """Give one group of arrays."""
        return self.groups[group]

    def __iter__(self) -> Iterator[str]:
        """Name the groups."""
        return iter(self.groups)

    def __len__(self) -> int:
        """Count the groups."""
        return len(self.groups)

    def __repr__(self) -> str:
        """Show names and axes."""
        lines = [
            f"  {group}.{name}: {array!r}"
            for group, arrays in self.groups.items()
            for name, array in arrays.items()
        ]
        return "\n".join(["Draws", *lines])

    def to_arviz(self) -> Any:
        """Give the draws as an ArviZ data tree (needs the extra ``understudy[arviz]``)."""
        arviz_base = _needed("arviz_base")
        content = {
            group: {name: array.values for name, array in arrays.items()}
            for group, arrays in self.groups.items()
        }
        dims = {
            name: list(array.dims[2:])
            for arrays in self.groups.values()
            for name, array in arrays.items()
        }
        return arviz_base.from_dict(content, dims=dims, coords=dict(self.coordinates))

    def to_netcdf(self, path: str | os.PathLike[str]) -> None:
        """Write a netCDF file in ArviZ's layout: one group per group of arrays.

        It holds draws from a posterior given confidential data: keep it inside.
        """
        h5netcdf = _needed("h5netcdf")
        target = Path(path)
        if target.exists():
            raise OutputError(
                expected=f"a new file at {quoted(target.name)}",
                came="one that exists",
                do="give another name, or remove the file",
            )
        try:
            with h5netcdf.File(target, "w") as file:
                for name, value in self.attributes.items():
                    file.attrs[name] = value
                for group, arrays in self.groups.items():
                    self._write_group(file.create_group(group), arrays)
        except OSError as problem:
            target.unlink(missing_ok=True)
            raise OutputError(
                expected=f"a folder in which the file {quoted(target.name)} can be written",
                came=f"one that cannot be written ({problem.strerror or 'not possible'})",
                do="choose another folder, or free some disk space",
            ) from None

    def _write_group(self, group: Any, arrays: Mapping[str, LabelledArray]) -> None:
        sizes = {
            name: size
            for array in arrays.values()
            for name, size in zip(array.dims, array.shape, strict=True)
        }
        group.dimensions = sizes
        for name, size in sizes.items():
            along = self.coordinates.get(name, list(range(size)))
            if along and isinstance(along[0], str):
                import h5py

                variable = group.create_variable(name, (name,), dtype=h5py.string_dtype())
                variable[...] = np.array(along, dtype=object)
            else:
                group.create_variable(name, (name,), data=np.asarray(along, dtype=np.int64))
        for name, array in arrays.items():
            group.create_variable(name, array.dims, data=array.values)


def _needed(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise SettingError(
            expected=f"the package {quoted(module)} for exporting draws",
            came="no such package in this environment",
            do="install understudy with its extra: understudy[arviz]",
        ) from None
