"""Small surveys for tests: made from codes, and as plain lists for the slow twins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import hypothesis.strategies as st
import numpy as np
from hypothesis import settings

from understudy.microdata.coding import regroup
from understudy.microdata.table import Microdata, SyntheticSets
from understudy.microdata.variable import Variable

# Fixed examples: a test cannot fail by chance from run to run.
EXAMPLES = settings(max_examples=5 * settings().max_examples // 2)


def microdata(
    kept: Mapping[str, Sequence[int]],
    synthesized: Mapping[str, Sequence[int]],
    levels: Mapping[str, int],
) -> Microdata:
    """Make data from codes; the level of code 3 of "town" is "secret town 3"."""
    columns = {**kept, **synthesized}
    variables = tuple(
        Variable(
            name,
            "kept" if name in kept else "synthesized",
            tuple(f"secret {name} {code}" for code in range(levels[name])),
        )
        for name in columns
    )
    n = len(next(iter(columns.values())))
    codes = np.array([list(column) for column in columns.values()], dtype=np.int32).T
    combinations, counts, of_record = regroup(
        codes.reshape(n, len(columns)),
        np.ones(n, dtype=np.int64),
        np.arange(n, dtype=np.int32),
        [levels[name] for name in columns],
    )
    return Microdata(variables, combinations, counts, of_record)


@dataclass(frozen=True)
class Survey:
    """Data with synthetic sets, and the same as lists."""

    data: Microdata
    sets: SyntheticSets

    @property
    def true(self) -> list[tuple[int, ...]]:
        """List the true labels."""
        return self.values(self.data.synthesized)

    @property
    def made(self) -> list[list[tuple[int, ...]]]:
        """List the labels of every set."""
        return [[tuple(row) for row in labels] for labels in self.sets.codes.tolist()]

    def values(self, names: Sequence[str]) -> list[tuple[int, ...]]:
        """List the records' codes of some variables."""
        columns = [self.data.codes(name).tolist() for name in names]
        return [tuple(column[i] for column in columns) for i in range(self.data.n_records)]


@st.composite
def surveys(draw: st.DrawFn, most_records: int = 9, most_sets: int = 4) -> Survey:
    """Draw tables of any codes, with empty patterns, unused labels and any number of sets."""
    n = draw(st.integers(1, most_records))
    levels: dict[str, int] = {}
    kept: dict[str, list[int]] = {}
    synthesized: dict[str, list[int]] = {}
    for part, prefix, most, largest in ((kept, "k", 3, 3), (synthesized, "s", 2, 4)):
        for number in range(draw(st.integers(1, most))):
            name = f"{prefix}{number}"
            levels[name] = draw(st.integers(1, largest))
            part[name] = draw(st.lists(st.integers(0, levels[name] - 1), min_size=n, max_size=n))
    data = microdata(kept, synthesized, levels)
    m = draw(st.integers(1, most_sets))
    codes = np.zeros((m, n, len(synthesized)), dtype=np.int32)  # (set, record, variable)
    for column, name in enumerate(synthesized):
        own = draw(st.sampled_from(["any", "mostly own"]))
        values = draw(st.lists(st.integers(0, levels[name] - 1), min_size=m * n, max_size=m * n))
        codes[:, :, column] = np.array(values).reshape(m, n)
        if own == "mostly own":
            stays = draw(st.lists(st.integers(0, 3), min_size=m * n, max_size=m * n))
            keep = np.array(stays).reshape(m, n) > 0
            codes[:, :, column] = np.where(keep, data.codes(name), codes[:, :, column])
    return Survey(data, SyntheticSets(data, codes))


def known_sets(data: Microdata) -> list[tuple[str, ...]]:
    """List what intruders may know: the first kept variable, and all of them."""
    return list(dict.fromkeys([data.kept[:1], data.kept]))


def close(value: float | None, expected: object) -> bool:
    """Compare a figure with a fraction; None is only equal to None."""
    if value is None or expected is None:
        return value is None and expected is None
    return bool(np.isclose(value, float(expected), rtol=1e-12, atol=1e-12))  # type: ignore[arg-type]
