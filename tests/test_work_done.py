"""The share of work that is done: never falling, from 0 to 1, whatever is nested in what."""

from __future__ import annotations

import pytest

from understudy.spreading import in_order
from understudy.work_done import Parts, in_parts, telling


def test_parts_within_parts() -> None:
    told: list[float] = []
    with telling(told.append):
        done = Parts(2, 1, 1)
        inner = Parts(1, 1)
        done((inner("a"), inner("b")))
        assert done(list(in_parts(range(4), 4))) == [0, 1, 2, 3]
        assert done(sum(in_order(pow, [2, 3], 2))) == 13
    assert told == pytest.approx([0.25, 0.5, 0.5625, 0.625, 0.6875, 0.75, 0.875, 1.0])


def test_the_share_never_falls_and_errors_leave_the_next_part_alone() -> None:
    told: list[float] = []

    def fails() -> None:
        inner = Parts(1, 1)
        inner(None)
        raise ValueError

    with telling(told.append):
        done = Parts(1, 1)
        with pytest.raises(ValueError):  # noqa: PT011 - our own
            fails()
        done(None)
        done(list(in_parts(range(2), 3)))  # fewer than were announced
        Parts(1, 3)(None)  # work that was not announced
    assert told == pytest.approx([0.25, 0.5, 2 / 3, 5 / 6, 1.0])


def test_nobody_asked() -> None:
    done = Parts()
    assert list(in_parts(iter("ab"), 2)) == ["a", "b"]
    with telling(None):
        assert Parts(1)("x") == "x"
    assert done is not None
