"""Hosts that wait: a small process stands in for one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.logs.logs import read_log_end
from streams_orchestration.runtime.machines import standbys
from streams_orchestration.runtime.machines.standbys import Standbys
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.running import FakeHosts
from streams_orchestration_tests.waiting import until

pytestmark = pytest.mark.slow
READY = "import os, sys; os.write(int(sys.argv[-1]), b'1'); os.close(int(sys.argv[-1])); "
WAITS = "import sys; print(sys.stdin.readline(), end='', flush=True); sys.stdin.read()"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], Standbys]]:
    monkeypatch.setattr(standbys, "process_command", lambda *_: (sys.executable, "-c", READY + WAITS))
    monkeypatch.setattr(standbys, "launch_host", FakeHosts().launch)
    monkeypatch.setattr(standbys, "STANDBY_DELAY_SECONDS", 0.0)
    all_made: list[Standbys] = []

    def make(wanted: int) -> Standbys:
        all_made.append(Standbys(Home(tmp_path), "m", wanted, EngineSettings("1g")))
        return all_made[-1]

    yield make
    for each in all_made:
        each.end()


def comes_to_wait(standbys: Standbys, wanted: int) -> None:
    """Wait until so many have their engine up."""
    until(lambda: standbys.waiting == wanted, lambda: f"{standbys.waiting} of {wanted} wait")


def start(tmp_path: Path, memory: str = "1g", *, queries: bool = False) -> HostStart:
    return HostStart(Home(tmp_path), "app", 3, "first", Path("/specs"), EngineSettings(memory, queries=queries))


def test_as_many_wait_as_are_wanted(made: Callable[[int], Standbys]):
    waiting = made(2)
    for _ in range(3):
        waiting.keep()
    comes_to_wait(waiting, 2)
    assert len(waiting.standbys) == 2


def test_a_standby_whose_engine_is_not_up_does_not_count_and_is_taken_last(
    made: Callable[[int], Standbys], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    waiting = made(2)
    monkeypatch.setattr(standbys, "process_command", lambda *_: (sys.executable, "-c", WAITS))
    waiting.keep()
    monkeypatch.setattr(standbys, "process_command", lambda *_: (sys.executable, "-c", READY + WAITS))
    waiting.keep()
    starting, ready = waiting.standbys
    comes_to_wait(waiting, 1)
    for standby in (ready, starting):
        assert waiting.launch(start(tmp_path)) == standby.identity


@pytest.mark.parametrize("queries", [False, True], ids=["tuples", "queries of Spark's own"])
def test_a_standby_becomes_the_host(made: Callable[[int], Standbys], tmp_path: Path, *, queries: bool):
    waiting = made(1)
    waiting.keep()
    comes_to_wait(waiting, 1)
    process = waiting.standbys[0].process
    assert waiting.launch(start(tmp_path, queries=queries)).pid == process.pid
    assert waiting.waiting == 0
    assert process.stdin is not None
    process.stdin.close()
    process.wait(10)
    reported = (tmp_path / "logs" / ".standby" / "m.log").read_text()
    assert reported == '{"application": "app", "host": 3, "incarnation": "first", "base": "/specs"}\n'


@pytest.mark.parametrize("memory", ["1g", "2g"], ids=["none waits", "another memory"])
def test_a_host_is_started_if_no_standby_fits(made: Callable[[int], Standbys], tmp_path: Path, memory: str):
    waiting = made(int(memory != "1g"))
    waiting.keep()
    assert waiting.launch(start(tmp_path, memory)).pid == 101


def test_their_log_is_rotated(tmp_path: Path):
    log = Home(tmp_path).standby_log("m")
    log.parent.mkdir(parents=True)
    log.write_text("a line\n" * 100)
    Standbys(Home(tmp_path), "m", 0, EngineSettings("1g"), log_size=100).keep()
    assert log.read_text() == ""
    assert read_log_end(log, 1000)[0] == ["a line"] * 100


def test_a_standby_that_has_ended_is_replaced(made: Callable[[int], Standbys], tmp_path: Path):
    waiting = made(1)
    waiting.keep()
    ended = waiting.standbys[0].process
    ended.kill()
    ended.wait()
    assert waiting.launch(start(tmp_path)).pid == 101
    waiting.keep()
    comes_to_wait(waiting, 1)


def test_a_standby_that_has_died_does_not_keep_the_others(
    made: Callable[[int], Standbys], monkeypatch: pytest.MonkeyPatch
):
    class Broken:
        def close(self) -> None:
            raise BrokenPipeError

    waiting = made(2)
    for _ in range(2):
        waiting.keep()
    comes_to_wait(waiting, 2)
    first, second = waiting.standbys
    own = first.process.stdin
    assert own is not None
    monkeypatch.setattr(first.process, "stdin", Broken())
    waiting.end()
    own.close()
    assert second.process.stdin is not None
    assert second.process.stdin.closed
