"""Reading ahead changes nothing but who waits."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable, Iterator

import pytest

from streams_orchestration.operators.background import read_ahead
from streams_orchestration.operators.background.background import Background, background_cpu_ns
from streams_orchestration.operators.background.read_ahead import ReadAhead


def reading(items: Iterator[int], work: Callable[[int], int] = abs, *, threads: int = 1) -> ReadAhead[int]:
    return ReadAhead(Background(), items, work, lambda _: 10, threads=threads)


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_items_come_in_their_order_however_many_make_them_ready(threads: int):
    assert list(reading(iter(range(200)), lambda item: item * item, threads=threads)) == [n * n for n in range(200)]


def test_a_later_item_that_is_ready_sooner_waits_for_its_turn():
    later = threading.Event()

    def work(item: int) -> int:
        if item == 0:
            later.wait()
        else:
            later.set()
        return item

    assert list(reading(iter(range(5)), work, threads=2)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_bytes_are_made_ready_than_allowed(monkeypatch: pytest.MonkeyPatch, threads: int):
    monkeypatch.setattr(read_ahead, "AHEAD_BYTES", 50)
    most, held = 0, 0
    lock = threading.Lock()

    def work(item: int) -> int:
        nonlocal most, held
        with lock:
            held += 10
            most = max(most, held)
        return item

    for _ in reading(iter(range(100)), work, threads=threads):
        with lock:
            held -= 10
    assert most <= 60 + 10 * threads  # the limit, and the items under way when it is reached


@pytest.mark.parametrize("where", ["items", "work"])
def test_an_error_comes_in_its_turn_and_again(where: str):
    def items() -> Iterator[int]:
        yield 1
        yield 2
        if where == "items":
            message = "damaged"
            raise ValueError(message)
        yield 3

    def work(item: int) -> int:
        if item == 3:
            message = "damaged"
            raise ValueError(message)
        return item

    ahead = reading(items(), work, threads=2)
    assert [next(ahead), next(ahead)] == [1, 2]
    for _ in range(2):
        with pytest.raises(ValueError, match="damaged"):
            next(ahead)


@pytest.mark.slow
def test_a_forgotten_reader_reads_no_more(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(read_ahead, "AHEAD_BYTES", 10)
    ended = threading.Event()

    def items() -> Iterator[int]:
        try:
            while True:
                yield 1
        finally:
            ended.set()

    ahead = reading(items())
    known = weakref.ref(ahead)
    assert next(ahead) == 1
    del ahead
    gc.collect()
    assert known() is None
    assert ended.wait(10)


def test_the_cpu_time_of_threads_is_reported_while_they_run_and_afterwards():
    before, background, proceed = background_cpu_ns(), Background(), threading.Event()

    def work(item: int) -> int:
        sum(range(200_000))
        if item == 1:
            proceed.wait()
        return item

    ahead = ReadAhead(background, iter(range(2)), work, lambda _: 10)
    assert next(ahead) == 0
    running = background.taken_ns()
    assert running > 0
    proceed.set()
    assert list(ahead) == [1]
    assert background.taken_ns() > 0
    assert background_cpu_ns() - before >= background.cpu_ns() > running
