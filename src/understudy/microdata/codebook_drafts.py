"""Drafts of a codebook from what a survey publishes anyway: value labels, DDI, a table of levels.

Such a list does not come from the records, so it holds levels that nobody has. It is a draft all
the same: somebody who knows the survey reviews it.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

from understudy.errors import FileError, FormatError, SettingError, nearest, quoted
from understudy.microdata.codebook import Codebook, VariableBook
from understudy.microdata.csv_reader import check_encoding
from understudy.microdata.file_format import open_source
from understudy.microdata.parser_parent import describe_foreign

__all__ = ["about_columns", "draft_codebook", "with_observed"]

LARGEST = 1 << 26  # bytes of a description of data
HEADERS = {
    "variable": ("variable", "name", "column", "var"),
    "level": ("level", "code", "value"),
    "label": ("label", "meaning", "text", "description"),
    "missing": ("missing",),
}
YES = {"y", "yes", "true", "1", "x", "missing"}
FORMS = (
    "a file with value labels (SPSS, Stata, SAS), a DDI codebook (.xml), or a table with the "
    "columns variable, level and label (.csv)"
)


def draft_codebook(
    path: str | os.PathLike[str],
    *,
    variable: str | None = None,
    encoding: str | None = None,
    catalog: str | os.PathLike[str] | None = None,
) -> Codebook:
    """Draft a codebook, not reviewed, from value labels, DDI, or a table of levels and labels.

    The file is of SPSS, Stata or SAS, whose labels lie in the `catalog`; or DDI Codebook (versions
    1.2 to 2.5) in XML; or CSV with the columns variable, level and label, and missing where a level
    means it. `variable` is what a table without a column of variables is about.
    """
    name = Path(path).name.lower()
    if name.endswith(".xml"):
        return _from_ddi(_content(path), Path(path).name)
    if name.endswith((".csv", ".tsv", ".txt")):
        return _from_table(_content(path), Path(path).name, variable, encoding)
    source = open_source(path)
    if source.kind in {"csv", "parquet"}:
        raise SettingError(
            expected=f"a codebook as {FORMS}",
            came=quoted(Path(path).name),
            do="export one of these",
        )
    return _from_labels(*describe_foreign(source, check_encoding(encoding), catalog))


def _content(path: str | os.PathLike[str]) -> bytes:
    try:
        size = Path(path).stat().st_size
        content = Path(path).read_bytes() if size <= LARGEST else b""
    except OSError:
        raise FileError(
            expected=f"a file {quoted(Path(path).name)} that describes the levels",
            came="none that can be read (not found, or not permitted)",
            do="check the path",
        ) from None
    if not content:
        raise FormatError(
            expected=f"a description of levels of 1 to {LARGEST:,} bytes",
            came=f"{size:,} bytes",
            do="give the codebook, not the data",
        )
    return content


def _from_labels(
    labels: Mapping[str, Mapping[str, str]],
    missing: Mapping[str, Sequence[str]],
    descriptions: Mapping[str, str],
) -> Codebook:
    """Take value labels: each labelled value is a level, unless the file calls it missing."""
    books = {}
    for name, own in labels.items():
        absent = [code for code in own if code in missing.get(name, ())]
        levels = [code for code in own if code not in absent]
        if levels:
            books[name] = _book(levels, own, absent, descriptions.get(name, ""))
    return Codebook(variables=books)


def _from_ddi(content: bytes, name: str) -> Codebook:
    """Take the variables of a DDI codebook that list their categories."""
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise FormatError(
            expected=f"a DDI codebook in {quoted(name)} without a document type",
            came="declarations of a document type or of entities, which can do harm",
            do="remove them, or export the codebook again",
        )
    try:
        tree = ET.fromstring(content)  # noqa: S314  (no entities, see above)
    except ET.ParseError:
        raise FormatError(
            expected=f"XML in {quoted(name)}",
            came="something else, or a file that is cut off",
            do="export the codebook again",
        ) from None
    books = {}
    for variable in _below(tree, "var"):
        own = variable.get("name") or variable.get("ID") or ""
        categories = [
            (_text(category, "catValu"), _text(category, "labl"), category.get("missing") == "Y")
            for category in _below(variable, "catgry")
        ]
        absent = {
            item.get("VALUE", "") for items in _below(variable, "invalrng")
            for item in _below(items, "item")
        }  # fmt: skip
        absent |= {code for code, _, missing in categories if missing}
        levels = [code for code, _, _ in categories if code and code not in absent]
        labels = {code: label for code, label, _ in categories if code and label}
        if own and levels:
            books[own] = _book(levels, labels, sorted(absent - {""}), _text(variable, "labl"))
    if not books:
        raise FormatError(
            expected=f"a DDI codebook (versions 1.2 to 2.5) in {quoted(name)}",
            came="XML without a variable (var) that lists categories (catgry)",
            do="export as DDI Codebook; DDI Lifecycle (3 and later) is not read",
        )
    return Codebook(variables=books)


def _below(element: ET.Element, tag: str) -> Iterable[ET.Element]:
    return (child for child in element.iter() if child.tag.rpartition("}")[2] == tag)


def _text(element: ET.Element, tag: str) -> str:
    """Read the text of a child of this name, on one line."""
    for child in element:
        if child.tag.rpartition("}")[2] == tag:
            return " ".join("".join(child.itertext()).split())
    return ""


def _from_table(content: bytes, name: str, variable: str | None, encoding: str | None) -> Codebook:
    """Take a table of levels and labels, a row per level."""
    try:
        text = content.decode(check_encoding(encoding) or "utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(
            expected=f"text in {quoted(name)}",
            came="bytes that do not fit its encoding",
            do="name the encoding (--encoding)",
        ) from None
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter) if row]
    header = [field.strip().lower() for field in rows[0]] if rows else []
    at = {
        key: next((index for index, field in enumerate(header) if field in words), None)
        for key, words in HEADERS.items()
    }
    if at["level"] is None or (at["variable"] is None and variable is None):
        raise FormatError(
            expected=f"a header in {quoted(name)} with the columns variable, level and label",
            came=f"{len(header)} other columns",
            do="name the columns so; without variable, exactly one column has to be synthesized",
        )
    books: dict[str, list[tuple[str, str, bool]]] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(header):
            raise FormatError(
                expected=f"{len(header)} fields in every line of {quoted(name)}",
                came=f"{len(row)} in line {number:,}",
                do="correct that line",
            )
        field = {key: row[index] for key, index in at.items() if index is not None}
        own = field.get("variable", variable or "").strip()
        missing = field.get("missing", "").strip().lower() in YES
        books.setdefault(own, []).append((field["level"], field.get("label", ""), missing))
    return Codebook(
        variables={
            own: _book(
                [level for level, _, missing in listed if not missing],
                {level: label for level, label, _ in listed if label},
                [level for level, _, missing in listed if missing],
                "",
            )
            for own, listed in books.items()
        }
    )


def _book(
    levels: Iterable[str], labels: Mapping[str, str], missing: Iterable[str], description: str
) -> VariableBook:
    listed = tuple(dict.fromkeys(levels))
    return VariableBook(
        levels=listed or None,
        labels={level: label for level, label in labels.items() if level in listed},
        missing=tuple(dict.fromkeys(missing)),
        description=" ".join(description.split()),
    )


def with_observed(
    drafted: VariableBook, observed: Sequence[str], labels: Mapping[str, str], description: str
) -> tuple[VariableBook, int]:
    """Add the levels of the data that a drafted entry lacks; also how many those are."""
    listed = drafted.levels or ()
    beyond = [level for level in observed if level not in listed and level not in drafted.missing]
    book = VariableBook(
        levels=(*listed, *beyond) or None,
        labels={**labels, **drafted.labels},
        missing=drafted.missing,
        description=drafted.description or description,
    )
    return book, len(beyond) if listed else 0


def about_columns(drafted: Codebook, columns: Sequence[str], path: str) -> Codebook:
    """Leave out what is about other columns; refuse a description that is about none of these."""
    there = {name: book for name, book in drafted.variables.items() if name in columns}
    if drafted.variables and not there:
        first = next(iter(drafted.variables))
        raise SettingError(
            expected=f"levels of columns of the data in {quoted(Path(path).name)}",
            came=f"levels of others, such as {quoted(first)}{nearest(first, columns)}",
            do="give the description that belongs to the data",
        )
    return Codebook(variables=there)
