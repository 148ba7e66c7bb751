"""The role of every column: synthesized, kept, passed through, of the design, or ignored."""

from __future__ import annotations

import itertools
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from understudy.checks import kind_of
from understudy.errors import (
    ColumnError,
    DataWarning,
    SettingError,
    nearest,
    quoted,
    quoted_list,
    warn_user,
)

__all__ = [
    "MOST_USED",
    "RESERVED",
    "Roles",
    "assign_roles",
    "check_names",
    "folded",
    "listed_columns",
    "warn_of_similar_names",
]

# Names that synthetic files and result tables use for themselves.
RESERVED = ("_row", "_set")
# More columns make no pattern that two records share, and every step slow.
MOST_USED = 1000


@dataclass(frozen=True)
class Roles:
    """Names of the columns by role, each in the order of the file."""

    synthesized: tuple[str, ...]
    kept: tuple[str, ...]
    ignored: tuple[str, ...]
    used: tuple[str, ...]  # synthesized and kept together
    passed: tuple[str, ...] = ()  # in every file unchanged, and in no model
    design: tuple[str, ...] = ()  # weight, strata and the like that have no other part


def folded(text: str) -> str:
    """Fold differences that people overlook: case, spaces, composed characters."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def check_names(names: Sequence[str]) -> None:
    """Refuse columns without a name, and columns with the same name."""
    blank = [str(number) for number, name in enumerate(names, start=1) if not name.strip()]
    if blank:
        raise ColumnError(
            expected="a name for every column",
            came=f"no name, or only spaces, for column number {', '.join(blank[:12])}",
            do="give every column a name in the header",
        )
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ColumnError(
            expected="every column name once",
            came=f"{quoted_list(twice)} more than once",
            do="rename the columns so that each has a name of its own",
        )


def warn_of_similar_names(names: Iterable[str]) -> None:
    """Warn of names that differ only in case or spaces."""
    by_folded: dict[str, list[str]] = {}
    for name in names:
        by_folded.setdefault(folded(name), []).append(name)
    for similar in by_folded.values():
        if len(similar) > 1:
            warn_user(
                f"the columns {quoted_list(similar)} differ only in case or spaces: check that "
                "you name the one you mean",
                DataWarning,
            )


def assign_roles(
    names: Sequence[str],
    synthesize: Sequence[str] | str,
    keep: Sequence[str] | str | None,
    ignore: Sequence[str] | str | None,
    pass_through: Sequence[str] | str = (),
    design: Sequence[str] = (),
    *,
    may_be_none: bool = False,
) -> Roles:
    """Assign a role to every column of a source, as the options of `read_microdata` say.

    Columns of the survey design are kept only if `keep` names them, and are no ignored ones even if
    `ignore` names them. With `may_be_none` there may be nothing to synthesize, for a look at the
    columns.
    """
    wanted = _listed(synthesize, "synthesize")
    kept = None if keep is None else _listed(keep, "keep")
    left_out = [] if ignore is None else _listed(ignore, "ignore")
    through = _listed(pass_through, "pass_through")
    if not wanted and not may_be_none:
        raise SettingError(
            expected="at least one column to synthesize",
            came="none",
            do=f"name one of {listed_columns(names)} (synthesize, --synthesize)",
        )
    given = {"synthesize": wanted, "keep": kept or [], "ignore": left_out, "pass_through": through}
    for option, listed in {**given, "the weight or the design": design}.items():
        _check_known(names, listed, option)
    _check_apart(wanted, kept or [], left_out, through)
    synthesized, out, passed = set(wanted), set(left_out), set(through)
    _check_reserved([name for name in names if name not in out])
    others = set(names) - synthesized - out - passed - set(design)
    stay = others if kept is None else set(kept)
    used = synthesized | stay
    if passed and wanted and not stay:
        raise SettingError(
            expected="at least one kept column where columns pass through",
            came="none: the rows of fully synthetic files stand for nobody, and true values in "
            "them would belong to nobody either",
            do="keep a column, or pass none through",
        )
    if design and wanted and not stay:
        raise SettingError(
            expected="at least one kept column where a survey weight is named",
            came="none: the rows of fully synthetic files are new people, and have nobody's weight",
            do="keep a column, or name no weight",
        )
    if len(used) > MOST_USED:
        raise ColumnError(
            expected=f"at most {MOST_USED:,} columns that are kept or synthesized",
            came=f"{len(used):,} of {len(names):,} columns",
            do="name the columns to keep (keep, --keep), or ignore the others (ignore, --ignore)",
        )
    of_design = set(design) - used - passed
    return Roles(
        synthesized=tuple(name for name in names if name in synthesized),
        kept=tuple(name for name in names if name in stay),
        ignored=tuple(name for name in names if name not in used | passed | of_design),
        used=tuple(name for name in names if name in used),
        passed=tuple(name for name in names if name in passed),
        design=tuple(name for name in names if name in of_design),
    )


def _listed(given: Sequence[str] | str, option: str) -> list[str]:
    listed = [given] if isinstance(given, str) else given
    several = isinstance(listed, Iterable) and not isinstance(listed, Mapping | bytes)
    wrong = [name for name in listed if not isinstance(name, str)] if several else [given]
    if wrong:
        raise SettingError(
            expected=f"names of columns as text for {option}",
            came=kind_of(wrong[0]),
            do="give the names as in the header",
        )
    return list(listed)


def listed_columns(names: Sequence[str]) -> str:
    """List the columns of a source, unless the names may hold a record's values."""
    if len(names) == 1 or any(len(name) > 200 or not name.isprintable() for name in names):
        return f"the {len(names)} column{'s' * (len(names) != 1)} found"
    return f"the columns {quoted_list(names)}"


def _check_known(names: Sequence[str], given: Sequence[str], option: str) -> None:
    known = set(names)
    unknown = [name for name in given if name not in known]
    if not unknown:
        return
    hint = "; is the delimiter right? Only one column was found" if len(names) == 1 else ""
    raise ColumnError(
        expected=f"one of {listed_columns(names)}",
        came=f"{quoted(unknown[0])}{nearest(unknown[0], names)}, which is not in the data",
        do=f"use a name from the list for {option}{hint}",
    )


def _check_apart(
    synthesized: Sequence[str],
    kept: Sequence[str],
    ignored: Sequence[str],
    passed: Sequence[str],
) -> None:
    roles = {
        "synthesized": set(synthesized),
        "kept": set(kept),
        "ignored": set(ignored),
        "passed through": set(passed),
    }
    for first, second in itertools.combinations(roles, 2):
        both = sorted(roles[first] & roles[second])
        if both:
            raise SettingError(
                expected="one role for every column",
                came=f"{quoted_list(both)} both {first} and {second}",
                do="name each column in one of the lists only",
            )


def _check_reserved(names: Iterable[str]) -> None:
    taken = [name for name in names if name in RESERVED]
    if taken:
        raise ColumnError(
            expected=f"names other than {quoted_list(RESERVED)}, which result files use themselves",
            came=f"a column called {quoted_list(taken)}",
            do="rename the column, or ignore it",
        )
