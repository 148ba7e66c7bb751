"""Settings files: TOML in, a frozen model out, and all mistakes reported at once."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError, WrapValidator

from understudy.errors import SettingError, nearest, quoted

__all__ = ["Settings", "one_mistake", "read_settings", "settings_from", "toml_key", "toml_text"]

MOST_PROBLEMS = 20
# A key of hundreds of parts, in a.b.c = 1 or [a.b.c].
DEEP_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){200}""")


class Settings(BaseModel):
    """A frozen group of settings that refuses unknown keys.

    Attributes
    ----------
    keys_may_be_levels : bool
        Whether an unknown key may be a level in the wrong table, which no message shows.
    """

    keys_may_be_levels: ClassVar[bool] = True

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


Model = TypeVar("Model", bound=Settings)


def one_mistake(text: str) -> WrapValidator:
    """Report one mistake, not one per kind, for a value that may be of several kinds."""

    def check(value: Any, handler: Any) -> Any:
        try:
            return handler(value)
        except ValidationError:
            raise ValueError(text) from None

    return WrapValidator(check)


def read_settings(path: str | os.PathLike[str], model: type[Model], what: str) -> Model:
    """Read a TOML file into settings of this model.

    `what` is what the file is called in messages, such as ``"codebook"``.
    """
    file = Path(path)
    if file.suffix.lower() in {".yaml", ".yml", ".json"}:
        raise SettingError(
            expected=f"a {what} in TOML",
            came=f"the file {quoted(file.name)}, whose name says it is something else",
            do=f"write the {what} as a .toml file; understudy init makes a first one",
        )
    try:
        text = file.read_text(encoding="utf-8")
        if DEEP_KEY.search(text):
            raise RecursionError
        content = tomllib.loads(text)
    except FileNotFoundError:
        raise SettingError(
            expected=f"a {what} at {quoted(path)}",
            came="no such file (not found)",
            do="check the path, or let understudy init write a first one",
        ) from None
    except (OSError, UnicodeDecodeError):
        raise SettingError(
            expected=f"a {what} in TOML (UTF-8) at {quoted(path)}",
            came="something that cannot be read as text",
            do="check the path and the permissions",
        ) from None
    except tomllib.TOMLDecodeError as problem:
        raise SettingError(
            expected=f"a {what} in TOML, every key once",
            came=f"a mistake in {quoted(file.name)}{_line_of(problem)}",
            do="correct that line: text in quotation marks, lists in [ ], no key twice in a table",
        ) from None
    except (ValueError, RecursionError):  # a number of thousands of digits, brackets in brackets
        raise _too_deep(what) from None
    return settings_from(content, model, what)


def settings_from(content: object, model: type[Model], what: str) -> Model:
    """Check settings that were read or given as a mapping; report all problems at once."""
    try:
        # By way of JSON, in which a list may be a tuple while "4" is still no number.
        return model.model_validate_json(json.dumps(content, default=str))
    except TypeError:
        raise SettingError(
            expected=f"a {what} whose keys are text",
            came="a key of another type",
            do="write the keys as text",
        ) from None
    except RecursionError:
        raise _too_deep(what) from None
    except ValidationError as problem:  # also a ValueError
        errors = problem.errors(include_input=False, include_url=False)
    except ValueError:  # a list that holds itself
        raise _too_deep(what) from None
    listed = [_problem(error, model) for error in errors[:MOST_PROBLEMS]]
    more = f" (and {len(errors) - len(listed)} more)" if len(errors) > len(listed) else ""
    raise SettingError(
        expected=f"a {what} without mistakes",
        came=f"{len(errors)}: " + "; ".join(listed) + more,
        do="correct them; understudy init writes a file in which every key is explained",
    )


def _too_deep(what: str) -> SettingError:
    return SettingError(
        expected=f"a {what} of a few levels of lists and tables, with numbers that can be read",
        came="numbers of thousands of digits, or lists and tables nested too deeply",
        do=f"check how the {what} was made; understudy init writes a first one",
    )


def _line_of(problem: tomllib.TOMLDecodeError) -> str:
    line = re.search(r"at line (\d+)", str(problem))
    return f" at line {line.group(1)}" if line else " near its end"


def _problem(error: Any, model: type[Settings]) -> str:
    where = _where(error["loc"], model)
    if error["type"] == "extra_forbidden":
        owner = _owner(model, error["loc"][:-1])
        allowed = _keys(owner) if owner is not None else []
        close = nearest(str(error["loc"][-1]), allowed)
        if not close and not model.keys_may_be_levels:
            return f"{quoted(where)} is not a key here (known: {', '.join(allowed)})"
        if not close:
            inside = _where(error["loc"][:-1], model)
            return f"{quoted(inside)} has a key other than {', '.join(allowed)}"
        return f"{quoted(where)} is not a key here{close}"
    if error["type"] == "union_tag_invalid":
        known = re.findall(r"'([^']+)'", error["ctx"]["expected_tags"])
        given = str(error["ctx"]["tag"])
        key = error["ctx"]["discriminator"].strip("'")
        return f"{quoted(f'{where}.{key}')} should be one of {', '.join(known)}" + nearest(
            given, known
        )
    text = str(error["msg"]).removeprefix("Value error, ").replace("Input should", "should")
    if error["type"] == "missing":
        text = "is missing"
    elif error["type"] == "union_tag_not_found":
        text = f"needs a key {error['ctx']['discriminator'].strip(chr(39))}"
    elif error["type"] == "too_short":
        fewest = error["ctx"]["min_length"]
        text = f"should list at least {'one entry' if fewest == 1 else f'{fewest} entries'}"
    return f"{quoted(where)} {text}"


def _keys(owner: type[BaseModel]) -> list[str]:
    """List the keys of a model as they are written in a file."""
    named = {name: field.validation_alias for name, field in owner.model_fields.items()}
    return [alias if isinstance(alias, str) else name for name, alias in named.items()]


def _where(path: Sequence[str | int], model: type[Settings]) -> str:
    """Write the key of a mistake. Keys below labels are levels, which are not shown.

    Entries of lists count from 1. The name of an entry's kind, where there are several, is no key.
    """
    parts: list[str] = []
    for depth, part in enumerate(path):
        if isinstance(part, int):
            parts[-1:] = [f"{parts[-1] if parts else 'entry'}[{part + 1}]"]
        elif not (depth and isinstance(path[depth - 1], int) and _tagged(model, path[:depth])):
            parts.append(str(part))
    if "labels" in parts:
        parts = parts[: parts.index("labels") + 1]
    return ".".join(parts) or "the file"


def _tagged(model: type[Settings], path: Sequence[str | int]) -> bool:
    """Tell whether a path leads to an entry that may be one of several models."""
    return len(_models(model, path)) > 1


def _owner(model: type[Settings], path: Iterable[str | int]) -> type[BaseModel] | None:
    """Find the model that a path of keys leads to."""
    return next(iter(_models(model, path)), None)


def _models(model: type[Settings], path: Iterable[str | int]) -> list[type[BaseModel]]:
    """Find all models that a path of keys may lead to."""
    kinds: list[Any] = [model]
    for part in path:
        inside: list[Any] = []
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                field = kind.model_fields.get(str(part))
                # A part that is no field is a key of a mapping to this model, or its kind.
                inside += _unpacked(field.annotation) if field else [kind]
            else:
                inside += _unpacked(kind)
        kinds = [kind for kind in inside if _is_kind(kind, part)] or inside
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)]


def _is_kind(kind: Any, part: str | int) -> bool:
    """Tell whether one of a model's keys may only be this word, which names its kind."""
    if not (isinstance(kind, type) and issubclass(kind, BaseModel)):
        return False
    return any(get_args(field.annotation) == (part,) for field in kind.model_fields.values())


def _unpacked(annotation: Any) -> list[Any]:
    """Take a type apart into the types of its parts."""
    parts = get_args(annotation)
    if not parts:
        return [annotation]
    return [inner for part in parts for inner in _unpacked(part)]


def toml_text(text: str) -> str:
    """Write a text as a TOML string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    """Write a key as TOML wants it: bare where that is possible."""
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_text(key)
