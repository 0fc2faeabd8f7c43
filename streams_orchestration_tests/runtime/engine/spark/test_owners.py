"""A task stays with the process that ran it first, as long as that lives."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import signal
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest

from streams_orchestration.runtime.engine.spark import owner_sockets, owners
from streams_orchestration.runtime.engine.spark.direct_batches import run_by_owners
from streams_orchestration.runtime.engine.spark.owner_sockets import DRIVER, connect, listen
from streams_orchestration.runtime.engine.spark.owners import (
    DIRECTORY,
    Owners,
    SilentOwnerError,
    Worker,
    forget_workers,
    receive,
    take_silent,
)
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration_tests.waiting import until

pytestmark = pytest.mark.slow

FORK = multiprocessing.get_context("fork")


ANSWER_SECONDS = 60.0
FORKS, FORKS_AND_ENDS = "forks", "forks and ends"


def work(request: Any) -> Any:
    """Says who ran it; an exception is raised, a signal kills; and children are left behind, which live for a while."""
    if request in (FORKS, FORKS_AND_ENDS) and not os.fork():
        signal.alarm(round(10 * ANSWER_SECONDS))
        Path(os.environ[DIRECTORY]).with_name(f"child-{os.getpid()}").touch()
        while True:
            signal.pause()
    if request == FORKS_AND_ENDS:
        os.kill(os.getpid(), signal.SIGKILL)
    if isinstance(request, Exception):
        raise request
    if isinstance(request, signal.Signals):
        os.kill(os.getpid(), request)
    return os.getpid(), request


def _worker(pipe: Connection, query: Path, *, careless: bool) -> None:
    os.environ[DIRECTORY] = str(query / "workers")
    if careless:
        owner_sockets.keep_from_forks = owners.keep_from_forks = lambda _: None
    worker = Worker(work)
    worker.announce()
    pipe.send(None)
    while True:
        task, request = pipe.recv()
        try:
            pipe.send(worker.run(query / "owners" / task, request))
        except Exception as error:  # noqa: BLE001  goes to the other process
            pipe.send(error)


class Process:
    """A worker.

    Args:
        query: directory of the query.
        careless: its children keep all descriptors, as those of code in C do.
    """

    def __init__(self, query: Path, *, careless: bool = False) -> None:
        self.pipe, inner = FORK.Pipe()
        self.process = FORK.Process(target=_worker, args=(inner, query), kwargs={"careless": careless}, daemon=True)
        self.process.start()
        inner.close()
        self.pipe.recv()

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def run(self, request: Any, task: str = "0-0") -> Any:
        self.pipe.send((task, request))
        assert self.pipe.poll(ANSWER_SECONDS), "no answer"
        return self.pipe.recv()

    def end(self) -> None:
        self.process.kill()
        self.process.join()


@pytest.fixture(params=["on this machine", "on this machine, whose forks keep all", "in executors"])
def start(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], Process]]:
    if request.param == "in executors":
        monkeypatch.setenv(DRIVER, "127.0.0.1")
    started: list[Process] = []
    (tmp_path / "pe-0" / "owners").mkdir(parents=True)

    def one() -> Process:
        started.append(Process(tmp_path / "pe-0", careless="whose forks" in request.param))
        return started[-1]

    yield one
    for process in started:
        process.end()
    for child in (tmp_path / "pe-0").glob("child-*"):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(child.name.partition("-")[2]), signal.SIGKILL)


def test_the_first_worker_owns_the_task(start: Callable[[], Process]):
    first, second = start(), start()
    assert first.run("a") == (first.pid, "a")
    assert [second.run("b"), first.run("c"), second.run("d")] == [(first.pid, text) for text in "bcd"]


def test_a_large_payload_arrives_whole(start: Callable[[], Process]):
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


def test_the_child_of_an_owner_that_has_ended_takes_not_its_place(start: Callable[[], Process], tmp_path: Path):
    first, second, third = start(), start(), start()
    first.run("a")
    assert second.run(FORKS) == (first.pid, FORKS)
    until(lambda: list(tmp_path.rglob("child-*")), "the child has not let go of its sockets")
    first.end()
    assert [second.run("b"), third.run("c"), third.run("d", "0-1")] == [
        (second.pid, "b"),
        (second.pid, "c"),
        (third.pid, "d"),
    ]


def test_an_owner_that_ends_under_way_is_an_error_though_its_child_lives(start: Callable[[], Process]):
    first, second = start(), start()
    first.run("a")
    assert "has ended" in str(second.run(FORKS_AND_ENDS))
    assert second.run("b") == (second.pid, "b")


def test_batches_that_spark_does_not_see_end_with_their_owner_too(start: Callable[[], Process], tmp_path: Path):
    first = start()
    first.run("a")
    connection = Owners().connect_to((tmp_path / "pe-0" / "owners" / "0-0").read_text())
    assert connection is not None
    request: Any = FORKS_AND_ENDS
    with pytest.raises(StreamsRuntimeError, match="has ended"):
        run_by_owners([(connection, request)])


def test_an_error_comes_back_in_words(start: Callable[[], Process]):
    first, second = start(), start()
    first.run("a")
    assert str(second.run(ValueError("no"))) == "ValueError: no"
    assert second.run("b") == (first.pid, "b")


def test_tasks_of_a_level_are_shared_out_evenly_whoever_gets_them(start: Callable[[], Process]):
    workers = [start(), start(), start()]
    owners = [workers[0].run("a", f"1-{partition}")[0] for partition in range(6)]
    assert Counter(owners) == {worker.pid: 2 for worker in workers}


def test_tasks_of_a_level_are_shared_out_evenly_when_workers_look_for_owners_at_once(start: Callable[[], Process]):
    workers = [start() for _ in range(4)]
    workers[0].run("a", "0-0")
    for partition, worker in enumerate(workers):
        worker.pipe.send((f"1-{partition}", "a"))
    assert Counter(worker.pipe.recv()[0] for worker in workers) == {worker.pid: 1 for worker in workers}


def test_the_first_task_of_a_level_goes_to_the_process_that_owns_the_fewest_of_all_levels(start: Callable[[], Process]):
    first, second = start(), start()
    assert [first.run("a", f"{level}-0")[0] for level in range(3)] == [first.pid, second.pid, first.pid]


def test_a_process_that_has_ended_gets_no_task(start: Callable[[], Process]):
    first, second = start(), start()
    second.end()
    assert [first.run("a", f"1-{partition}")[0] for partition in range(2)] == [first.pid, first.pid]


@pytest.fixture
def owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, bytes]:
    """Address and key of an owner in this process, in an executor."""
    monkeypatch.setenv(DRIVER, "127.0.0.1")
    (tmp_path / "owners").mkdir()
    worker = Worker(work)
    worker.announce()
    address, key, _ = worker.address.split("\n")
    return address, bytes.fromhex(key)


def test_a_listener_that_does_not_answer_is_no_owner(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(owner_sockets, "HANDSHAKE_SECONDS", 1)
    address, listener = listen()
    assert connect(address, b"key") is None
    listener.close()


def test_an_owner_listens_where_it_would_reach_the_driver(owner: tuple[str, bytes]):
    assert owner[0].startswith("tcp://127.0.0.1:")


def test_a_connection_without_the_key_is_refused(owner: tuple[str, bytes]):
    assert connect(owner[0], b"another") is None


def test_a_silent_connection_does_not_block_others(owner: tuple[str, bytes]):
    place = urlsplit(owner[0])
    with socket.create_connection((place.hostname, place.port)):
        connection = connect(*owner)
        assert connection is not None
        connection.send("a")
        assert connection.receive() == (True, (os.getpid(), "a"))
        connection.close()


def test_a_process_without_room_for_a_thread_accepts_later(owner: tuple[str, bytes], monkeypatch: pytest.MonkeyPatch):
    start, full = threading.Thread.start, [True]

    def starting(thread: threading.Thread) -> None:
        if full and full.pop():
            message = "can't start new thread"
            raise RuntimeError(message)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", starting)
    assert connect(*owner) is None
    connection = connect(*owner)
    assert connection is not None
    connection.close()


def test_an_address_at_which_nobody_is_is_no_owner(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(DRIVER, "127.0.0.1")
    address, listener = listen()
    listener.close()
    assert connect(address, b"key") is None


@pytest.fixture
def executors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Process, Process]]:
    """Workers of two executors, `0` and `1`."""
    monkeypatch.setenv(DRIVER, "127.0.0.1")
    (tmp_path / "pe-0" / "owners").mkdir(parents=True)
    made: list[Process] = []
    for executor in ("0", "1"):
        monkeypatch.setattr(owners, "executor_id", lambda executor=executor: executor)
        made.append(Process(tmp_path / "pe-0"))
    yield made[0], made[1]
    for process in made:
        process.end()


def test_a_worker_whose_executor_was_lost_gets_no_task_of_the_next_generation(
    tmp_path: Path, executors: tuple[Process, Process]
):
    first, second = executors
    assert {first.run("a", f"1-{partition}")[0] for partition in range(2)} == {first.pid, second.pid}
    forget_workers(tmp_path / "pe-0" / "workers", {"0"})
    assert {first.run("a", f"2-{partition}")[0] for partition in range(4)} == {first.pid}


def test_workers_of_executors_that_are_there_are_kept(tmp_path: Path, executors: tuple[Process, Process]):
    first, second = executors
    forget_workers(tmp_path / "pe-0" / "workers", {"0", "1"})
    assert {first.run("a", f"1-{partition}")[0] for partition in range(2)} == {first.pid, second.pid}


def test_an_executor_that_is_not_heard_is_named_once(
    tmp_path: Path, executors: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch
):
    workers = tmp_path / "pe-0" / "workers"
    monkeypatch.setenv(DIRECTORY, str(workers))
    (announced,) = workers.glob("*@1")
    known = Owners()
    connection = known.connect_to(announced.read_text())
    assert connection is not None

    def silence() -> None:
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    monkeypatch.setattr(connection, "receive", silence)
    with pytest.raises(SilentOwnerError) as caught:
        receive(connection)
    known.suspect(caught.value.connection)
    assert take_silent(workers) == ["1"]
    assert take_silent(workers) == []
    assert executors[0].run("a") == (executors[0].pid, "a")


def test_the_executor_of_a_worker_is_read_from_its_parents(monkeypatch: pytest.MonkeyPatch):
    lines = [["python", "-m", "daemon"], ["java", "Backend", "--executor-id", "7", "--cores", "1"], ["init"]]
    parents = [SimpleNamespace(cmdline=lambda line=line: line) for line in lines]
    monkeypatch.setattr(owners.psutil, "Process", lambda: SimpleNamespace(parents=lambda: parents))
    owners.executor_id.cache_clear()
    assert owners.executor_id() == ""
    monkeypatch.setenv(DRIVER, "127.0.0.1")
    owners.executor_id.cache_clear()
    assert owners.executor_id() == "7"
    owners.executor_id.cache_clear()
