from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from streams_orchestration.runtime.engine.spark.owners import CLAIMS, Worker, owner_pids
from streams_orchestration.runtime.errors.errors import CatalogLostError
from streams_orchestration.runtime.hosts import heartbeat
from streams_orchestration.runtime.hosts.hangs import EnginePing, HungTasks
from streams_orchestration.runtime.hosts.heartbeat import (
    ENGINE_START_SECONDS,
    HEARTBEAT_SECONDS,
    STUCK_SECONDS,
    Heartbeat,
)
from streams_orchestration.runtime.processes.processes import process_started, thread_runs
from streams_orchestration.runtime.queries.scratch import Scratch
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.waiting import until

TIMEOUT_SECONDS = 15.0
WAITS = "import sys; print('up', flush=True); sys.stdin.read()"
WORKS = "import time\nprint('up', flush=True)\nwhile True: time.sleep(0.001)"


def test_beats_without_an_answer_of_the_engine_are_counted():
    proceed = threading.Event()
    ping = EnginePing(proceed.wait)
    assert [ping.beat() for _ in range(4)] == [0, 1, 2, 3]
    proceed.set()
    until(lambda: not ping.beat(), "what answers is counted")
    assert ping.beat() <= 1


def test_an_engine_whose_answer_fails_does_not_count_as_hanging():
    def fail() -> None:
        message = "the JVM is gone"
        raise ConnectionError(message)

    ping = EnginePing(fail)
    for _ in range(3):
        until(lambda: not ping.beat(), "what has ended is counted")


@pytest.fixture
def processes() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    """One that waits for what never comes, and one that is awake now and then."""
    started = {
        name: subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name, code in (("waits", WAITS), ("works", WORKS))
    }
    for process in started.values():
        assert process.stdout is not None
        process.stdout.readline()
    yield started
    for process in started.values():
        process.kill()
        process.communicate()


def test_an_engine_that_does_not_answer_is_ended_and_its_process_named(processes: dict[str, subprocess.Popen[bytes]]):
    jvm = processes["waits"]
    heart = Heartbeat(cast(Any, None), 3, list)
    heart.watch(IdleEngine(jvm, ping=threading.Event().wait))
    for _ in range(3):
        heart.kill_hung(HungTasks(3), 0.0)
        assert heart.engine_end() is None
    heart.kill_hung(HungTasks(3), 0.0)
    assert f"its idle process (pid {jvm.pid}) gave no answer for 3 s and was killed" in (heart.engine_end() or "")
    assert process_started(jvm.pid) is None


LOST = ("the catalog", "no route to it")


def test_a_heartbeat_that_the_catalog_does_not_take_is_tried_again_at_the_next_look(monkeypatch: pytest.MonkeyPatch):
    clock = Readings(count=9)
    monkeypatch.setattr(heartbeat, "world", clock)
    beats: list[float] = []

    def beat() -> None:
        beats.append(clock.now)
        if len(beats) in (2, 3):
            raise CatalogLostError(*LOST)

    presence = SimpleNamespace(beat=beat, record_family=tuple, row=lambda: None)
    with pytest.raises(NoMoreLooksError):
        Heartbeat(cast(Any, presence), 3, list).run()
    assert beats == [0.0, 5.0, 6.0, 7.0]


def test_a_look_that_fails_is_logged_and_the_next_one_follows(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    clock = Readings(count=12)
    monkeypatch.setattr(heartbeat, "world", clock)
    monkeypatch.setattr(heartbeat, "kill", lambda *_: pytest.fail("nothing hangs"))
    beats: list[float] = []

    def busy() -> list[int]:
        message = "the register of a task cannot be read"
        raise OSError(message)

    presence = SimpleNamespace(beat=lambda: beats.append(clock.now), record_family=tuple, row=lambda: None)
    heart = Heartbeat(cast(Any, presence), 1000, busy)
    heart.watch(IdleEngine(cast(Any, None)))
    with pytest.raises(NoMoreLooksError):
        heart.run()
    assert beats == [0.0, 5.0, 10.0]
    assert "the register of a task cannot be read" in caplog.text


@pytest.mark.parametrize(("is_up", "last"), [(False, ENGINE_START_SECONDS + STUCK_SECONDS), (True, STUCK_SECONDS)])
def test_a_host_is_heard_while_its_engine_starts_and_then_as_long_as_its_main_loop_turns(
    monkeypatch: pytest.MonkeyPatch, is_up: bool, last: float
):
    clock = Readings(count=round(ENGINE_START_SECONDS + 2 * STUCK_SECONDS))
    monkeypatch.setattr(heartbeat, "world", clock)
    beats: list[float] = []
    presence = SimpleNamespace(beat=lambda: beats.append(clock.now), record_family=tuple, row=lambda: None)
    heart = Heartbeat(cast(Any, presence), 0, list)
    if is_up:
        heart.watch(IdleEngine(cast(Any, None)))
    with pytest.raises(NoMoreLooksError):
        heart.run()
    assert beats[-1] == last - HEARTBEAT_SECONDS


class NoMoreLooksError(Exception):
    """The test has seen enough."""


class Readings:
    """A clock that goes on when the heart sleeps."""

    def __init__(self, count: int) -> None:
        self.now, self.count = 0.0, count

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.count:
            raise NoMoreLooksError


def awake(pid: int) -> None:
    """Until it has run again."""
    before = thread_runs(pid)
    while thread_runs(pid) == before:
        pass


@pytest.mark.skipif(sys.platform != "linux", reason="only there is it known")
def test_a_task_that_stands_still_is_ended_and_no_other(processes: dict[str, subprocess.Popen[bytes]]):
    pids = [process.pid for process in processes.values()]
    hung, now = HungTasks(TIMEOUT_SECONDS), 0.0
    assert hung.kill_hung(pids, now) == ()
    awake(processes["works"].pid)
    assert hung.kill_hung(pids, TIMEOUT_SECONDS - 1) == ()
    ended: tuple[int, ...] = ()
    while not ended:  # the one that waits may just have begun to
        awake(processes["works"].pid)
        now += TIMEOUT_SECONDS
        ended = hung.kill_hung(pids, now)
    assert ended == (processes["waits"].pid,)
    assert process_started(processes["waits"].pid) is None
    assert process_started(processes["works"].pid) is not None


@pytest.mark.skipif(sys.platform != "linux", reason="only there is it known")
def test_only_time_with_a_task_counts(processes: dict[str, subprocess.Popen[bytes]]):
    pid = processes["waits"].pid
    hung, now = HungTasks(TIMEOUT_SECONDS), 0.0
    for _ in range(5):
        assert hung.kill_hung([pid], now) == ()
        hung.kill_hung([], now)
        now += TIMEOUT_SECONDS
    while not hung.kill_hung([pid], now):
        now += TIMEOUT_SECONDS
    assert process_started(pid) is None


def test_a_process_that_is_gone_is_no_matter():
    assert HungTasks(TIMEOUT_SECONDS).kill_hung([2**22 + 1], 0.0) == ()


def test_busy_are_the_owners_of_the_first_level_that_has_not_answered(tmp_path: Path):
    scratch = Scratch.create(tmp_path / "scratch", cast(Any, None))
    owner = Worker(lambda request: request)
    for level, partition in ((0, 0), (0, 1), (1, 0)):
        owner.run(scratch.owner(level, partition), None)
    register = scratch.owner(0, 0)
    mine = register.read_text()
    pid = mine.partition("\n")[0].rpartition("streams-")[2].partition("-")[0]
    scratch.owner(1, 0).write_text(mine.replace(f"streams-{pid}-", "streams-77-"))
    assert owner_pids(scratch.unanswered()) == [], "no batch is under way"
    scratch.mark_planned(5)
    assert owner_pids(scratch.unanswered()) == [int(pid)] * 2
    (Path(scratch.answers) / "5-0-0.json").touch()
    assert owner_pids(scratch.unanswered()) == [int(pid)]
    (Path(scratch.answers) / "5-0-1.json").touch()
    assert owner_pids(scratch.unanswered()) == [77]
    (Path(scratch.answers) / "5-1-0.json").touch()
    assert owner_pids(scratch.unanswered()) == []
    scratch.clear_planned()
    scratch.mark_planned(6)
    assert owner_pids(scratch.unanswered()) == [int(pid)] * 2
    scratch.clear_planned()
    assert owner_pids(scratch.unanswered()) == []


def test_busy_is_also_a_worker_that_looks_for_the_owner_of_its_task(tmp_path: Path):
    scratch = Scratch.create(tmp_path / "scratch", cast(Any, None))
    scratch.mark_planned(5)
    register = scratch.owner(0, 0)
    task = threading.Thread(target=Worker(lambda request: request).run, args=(register, None), daemon=True)
    with (register.parent / CLAIMS).open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        task.start()
        busy = until(lambda: owner_pids(scratch.unanswered()), "nobody looks for an owner")
    task.join(60)
    assert busy == [os.getpid()] == owner_pids([register.read_text()])
    assert {path.name for path in register.parent.iterdir()} == {CLAIMS, register.name}


def test_a_register_that_is_being_written_is_none(tmp_path: Path):
    scratch = Scratch.create(tmp_path / "scratch", cast(Any, None))
    scratch.mark_planned(5)
    (scratch.owner(0, 0).parent / "part77.0-0").touch()
    assert scratch.unanswered() == []
