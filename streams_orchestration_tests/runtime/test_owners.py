"""A task stays with the process that ran it first, as long as that lives."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.tasks.owners import Worker

FORK = multiprocessing.get_context("fork")


def work(request: Any) -> Any:
    """Says who ran it; an exception is raised, a signal kills."""
    if isinstance(request, Exception):
        raise request
    if isinstance(request, signal.Signals):
        os.kill(os.getpid(), request)
    return os.getpid(), request


def _worker(pipe: Connection, register: Path) -> None:
    worker = Worker(work)
    while True:
        request = pipe.recv()
        try:
            pipe.send(worker.run(register, request))
        except Exception as error:
            pipe.send(error)


class Process:
    def __init__(self, register: Path) -> None:
        self.pipe, inner = FORK.Pipe()
        self.process = FORK.Process(target=_worker, args=(inner, register), daemon=True)
        self.process.start()
        inner.close()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def run(self, request: Any) -> Any:
        self.pipe.send(request)
        return self.pipe.recv()

    def end(self) -> None:
        self.process.kill()
        self.process.join()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], Process]]:
    started: list[Process] = []

    def one() -> Process:
        started.append(Process(tmp_path / "0-0"))
        return started[-1]

    yield one
    for process in started:
        process.end()


def test_the_first_worker_owns_the_task(start: Callable[[], Process]):
    first, second = start(), start()
    assert first.run("a") == (first.pid, "a")
    assert [second.run("b"), first.run("c"), second.run("d")] == [(first.pid, text) for text in "bcd"]


def test_what_is_large_arrives_whole(start: Callable[[], Process]):
    first, second = start(), start()
    first.run(b"")
    data = os.urandom(3 << 20)
    assert second.run(data) == (first.pid, data)


def test_an_owner_that_has_ended_is_replaced(start: Callable[[], Process]):
    first, second, third = start(), start(), start()
    first.run("a")
    assert second.run("b") == (first.pid, "b")
    first.end()
    assert second.run("c") == (second.pid, "c")
    assert third.run("d") == (second.pid, "d")


def test_an_owner_that_ends_under_way_is_an_error(start: Callable[[], Process]):
    first, second = start(), start()
    first.run("a")
    error = second.run(signal.SIGKILL)
    assert isinstance(error, StreamsRuntimeError)
    assert "has ended" in str(error)
    assert second.run("b") == (second.pid, "b")


def test_an_error_comes_back_in_words(start: Callable[[], Process]):
    first, second = start(), start()
    first.run("a")
    assert str(second.run(ValueError("no"))) == "ValueError('no')"
    assert second.run("b") == (first.pid, "b")
