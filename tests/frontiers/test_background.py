"""Work behind the fits: side by side, saved in order, and soon."""

from __future__ import annotations

import threading

import pytest

from understudy.frontiers.background import Background


def test_what_is_finished_is_saved_when_the_next_piece_starts() -> None:
    """On many cores, too, where there is room for all of them."""
    saved: list[int] = []
    go_on, before = threading.Event(), set(threading.enumerate())
    with Background(16) as behind:
        behind.start(lambda: 1, saved.append)
        for thread in set(threading.enumerate()) - before:
            thread.join()
        behind.start(lambda: 2 if go_on.wait(600) else 0, saved.append)
        assert saved == [1]
        behind.start(lambda: 3, saved.append)
        assert saved == [1]  # the second comes before the third
        go_on.set()
    assert saved == [1, 2, 3]


def test_a_problem_is_raised_after_what_came_before_it_was_saved() -> None:
    saved: list[int] = []

    def fails() -> int:
        raise KeyError

    behind = Background(2)

    def together() -> None:
        with behind:
            behind.start(lambda: 1, saved.append)
            behind.start(fails, saved.append)

    with pytest.raises(KeyError):
        together()
    assert saved == [1]
