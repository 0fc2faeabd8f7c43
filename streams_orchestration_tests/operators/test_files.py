"""Reading ahead changes nothing but who waits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from streams_orchestration.operators.files import ahead


def counting(taken: list[int], until: int) -> Iterator[int]:
    for number in range(until):
        taken.append(number)
        yield number


@pytest.mark.parametrize("count", [0, 1, 4, 100])
def test_items_come_in_their_order(count: int):
    assert list(ahead(iter(range(10)), count)) == list(range(10))


def test_no_more_is_taken_than_said():
    taken: list[int] = []
    items = ahead(counting(taken, 100), 3)
    assert next(items) == 0
    assert len(taken) <= 4


def test_an_error_comes_in_its_turn():
    def failing() -> Iterator[int]:
        yield 1
        yield 2
        message = "damaged"
        raise ValueError(message)

    items = ahead(failing(), 10)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(ValueError, match="damaged"):
        next(items)
