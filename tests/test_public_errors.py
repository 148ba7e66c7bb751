"""No error leaves a public function with a value of the data: not in its text, causes or frames."""

from __future__ import annotations

import gc
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import understudy as us
from tests.bad_inputs.cases import SECRET, accepted, covers
from understudy.errors import (
    DataWarning,
    InternalError,
    LevelError,
    NotEnoughMemoryError,
    SetIndexError,
    UnderstudyError,
)
from understudy.microdata import reading
from understudy.public_errors import from_the_user, only_our_errors, where_raised

FRAME = pl.DataFrame({"age": ["old", "young"] * 4, "county": [SECRET, "south"] * 4})
METHODS: list[Callable[..., Any]] = [
    us.DPMPM.fit,
    us.DPAreal.fit,
    us.BackoffTree.fit,
    us.Perfect.fit,
    us.Study.run,
    us.Microdata.frame,
    us.Microdata.write,
    us.SyntheticSets.frame,
    us.SyntheticSets.write,
]


def everything_in(error: BaseException) -> str:
    """Write down all that an error carries: its text, what it was raised from, its frames' values.

    The frames of the caller are left out, which has the data anyway.
    """
    pieces = []
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        now = waiting.pop()
        if now is None or id(now) in seen:
            continue
        seen.add(id(now))
        waiting += [now.__cause__, now.__context__]
        pieces += [repr(now), repr(now.args), repr(vars(now))]
        trace = now.__traceback__
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            if "src/understudy" in name.replace("\\", "/"):
                held = {
                    key: value
                    for key, value in trace.tb_frame.f_locals.items()
                    if key not in {"arguments", "options", "function"}  # what the caller gave
                }
                pieces.append(repr(held))
            trace = trace.tb_next
    return "\n".join(pieces)


def raised(call: Callable[..., Any], *arguments: Any, **options: Any) -> BaseException:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        with pytest.raises(BaseException) as caught:  # noqa: PT011
            call(*arguments, **options)
    return caught.value


@covers(117)
def test_every_public_function_is_covered() -> None:
    functions = [getattr(us, name) for name in us.__all__ if name.islower()]
    assert len(functions) > 20
    for function in (*functions, *METHODS):
        assert hasattr(function, "__wrapped__"), function
        assert function.__doc__
        assert "arguments" not in inspect.signature(function).parameters, function


@covers(117)
def test_our_own_errors_carry_nothing() -> None:
    """A level that the codebook lacks: the text never had it, and nothing behind it does."""
    book = {"variables": {"county": {"levels": ["south", "east"]}}}
    error = raised(us.read_microdata, FRAME, synthesize="county", codebook=book)
    assert isinstance(error, LevelError)
    assert SECRET not in everything_in(error)
    error = raised(us.read_microdata, FRAME, synthesize="county", na=[1])
    assert isinstance(error, UnderstudyError)
    assert SECRET not in everything_in(error)


@covers(117)
def test_bytes_that_cannot_be_decoded_stay_inside(tmp_path: Any) -> None:
    """Python's own error holds the whole block of the file that it is about."""
    path = tmp_path / "data.csv"
    path.write_bytes(f"age,county\nold,{SECRET}\n".encode() + b"young,\xff\n")
    error = raised(us.read_microdata, path, synthesize="county")
    assert isinstance(error, UnderstudyError)
    assert SECRET not in everything_in(error)


@covers(117)
@pytest.mark.parametrize("kind", [KeyError, ValueError, pl.exceptions.ComputeError, BaseException])
def test_faults_of_ours_become_typed_errors(
    monkeypatch: pytest.MonkeyPatch, kind: type[BaseException]
) -> None:
    def fail(*_: object, **__: object) -> None:
        held = SECRET
        raise kind(held)

    monkeypatch.setattr(reading, "build_microdata", fail)
    error = raised(us.read_microdata, FRAME, synthesize="county")
    assert isinstance(error, InternalError)
    assert kind.__name__ in str(error)
    assert "reading.py, line" in str(error)
    assert SECRET not in everything_in(error)


@covers(117)
def test_memory_errors_stay_memory_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise MemoryError(SECRET)

    monkeypatch.setattr(reading, "build_microdata", fail)
    error = raised(us.read_microdata, FRAME, synthesize="county")
    assert isinstance(error, NotEnoughMemoryError)
    assert isinstance(error, MemoryError)
    assert SECRET not in everything_in(error)


@covers(117)
@pytest.mark.parametrize("model", [us.DPMPM(), us.DPAreal(), us.BackoffTree(), us.Perfect()])
def test_a_data_frame_given_to_fit(model: Any) -> None:
    error = raised(model.fit, FRAME)
    assert isinstance(error, UnderstudyError)
    assert not isinstance(error, InternalError), error
    assert SECRET not in everything_in(error)


@covers(117)
def test_a_set_that_is_not_there() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        sets = us.read_synthetic(accepted(FRAME), [FRAME, FRAME])
    for index in ("first", 2, -3, None):
        error = raised(sets.__getitem__, index)
        assert isinstance(error, SetIndexError)
        assert isinstance(error, IndexError)
        assert SECRET not in everything_in(error)
    assert len(list(sets)) == 2


@covers(117)
def test_what_passes_as_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Wrong calls, interruptions, warnings that are errors, and errors of the user's functions."""
    assert isinstance(raised(us.read_microdata), TypeError)
    path = tmp_path / "data.csv"
    FRAME.write_csv(path)

    def own(_done: int, _total: int) -> None:
        raise ZeroDivisionError("mine")

    error = raised(us.read_microdata, path, synthesize="county", progress=own)
    assert isinstance(error, ZeroDivisionError)
    assert error.__traceback__ is not None
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        with pytest.raises(DataWarning):
            us.read_microdata(
                pl.DataFrame({"age": ["a", "b", "A "], "county": ["x", "y", "x"]}), "county"
            )

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "build_microdata", interrupt)
    assert isinstance(raised(us.read_microdata, FRAME, synthesize="county"), KeyboardInterrupt)


def test_developers_see_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_TRACEBACKS", "1")

    @only_our_errors
    def fail() -> None:
        raise KeyError(SECRET)

    with pytest.raises(KeyError):
        fail()


def test_errors_are_not_kept_alive() -> None:
    @only_our_errors
    def fail() -> None:
        raise KeyError(SECRET)

    with pytest.raises(InternalError):
        fail()
    gc.collect()
    kinds = map(type, gc.get_objects())  # `isinstance` asks weak proxies, whose object may be gone
    assert not [kind for kind in kinds if issubclass(kind, InternalError)]


def test_small_parts() -> None:
    assert from_the_user(None) is None
    assert where_raised(KeyError()) == "unknown"
    assert from_the_user(len)("abc") == 3  # type: ignore[misc]
