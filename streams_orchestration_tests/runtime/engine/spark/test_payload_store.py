"""A payload is held by the process that has made it until the one that reads it takes it."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from multiprocessing.connection import Connection

import pyarrow as pa
import pytest

from streams_orchestration.runtime.engine.spark.owner_sockets import DRIVER
from streams_orchestration.runtime.engine.spark.owners import Worker
from streams_orchestration.runtime.engine.spark.payload_store import PayloadStore
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError

DATA = bytes(range(256)) * 10_000


def _hold(pipe: Connection) -> None:
    held = PayloadStore(lambda: worker.address)
    worker = Worker(held.give)
    worker.announce()
    while True:
        task = pipe.recv()
        held.begin_batch(task)
        pipe.send(held.hold(task, pa.py_buffer(DATA)))


class Holder:
    def __init__(self) -> None:
        self.pipe, inner = multiprocessing.Pipe()
        context = multiprocessing.get_context("fork")
        self.process = context.Process(target=_hold, args=(inner,), daemon=True)
        self.process.start()

    def hold(self, task: str) -> bytes:
        self.pipe.send(task)
        return self.pipe.recv()

    def end(self) -> None:
        self.process.kill()
        self.process.join()


@pytest.fixture
def holder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Holder]:
    monkeypatch.setenv(DRIVER, "127.0.0.1")
    made = Holder()
    yield made
    made.end()


def test_a_payload_is_taken_by_another_process_once(holder: Holder):
    payload, here = holder.hold("task"), PayloadStore(str)
    assert here.take(payload).to_pybytes() == DATA
    with pytest.raises(StreamsRuntimeError, match="a newer batch has begun"):
        here.take(payload)


def test_a_payload_is_taken_by_the_process_itself():
    here = PayloadStore(lambda: "here")
    assert here.take(here.hold("task", pa.py_buffer(DATA))).to_pybytes() == DATA


def test_an_untaken_payload_is_dropped_with_the_next_batch_of_its_task(holder: Holder):
    former, of_another = holder.hold("task"), holder.hold("another")
    holder.hold("task")
    here = PayloadStore(str)
    with pytest.raises(StreamsRuntimeError, match="a newer batch has begun"):
        here.take(former)
    assert here.take(of_another).to_pybytes() == DATA


def test_a_holder_that_has_ended_is_an_error(holder: Holder):
    payload = holder.hold("task")
    holder.end()
    with pytest.raises(StreamsRuntimeError, match="has ended"):
        PayloadStore(str).take(payload)
