"""Logs that lie on another machine: they are named with it, and its agent gives their ends."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from sqlalchemy import func, select

from streams_orchestration.cli.entry import main
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.errors.errors import MachineError
from streams_orchestration.runtime.logs.logs import LogEnd
from streams_orchestration.runtime.machines import agent, log_requests
from streams_orchestration.runtime.machines.log_requests import ask_for_logs
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.processes.processes import place_for_others
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.machines.places import ELSEWHERE, Place
from streams_orchestration_tests.runtime.running import FakeHosts

pytestmark = pytest.mark.usefixtures("database")


def home_of_north(place: Place) -> Home:
    """Return the state directory of machine `north`."""
    return Home(place.home.root.parent / "north")


@pytest.fixture
def place(tmp_path: Path, hosts: FakeHosts) -> Place:
    """A host on machine `north`, whose state directory is another one."""
    file = write_rows(tmp_path / "rows.parquet", 5)
    place = Place(tmp_path, hosts, totals(file, fusion="manual", pes=2))
    place.registered("north").turn()
    control.launch_hosts(place.catalog, place.name)
    place.agents["north"].turn()
    there = home_of_north(place).root
    place.set(tables.machine, home=str(there))
    place.set(tables.host, space=ELSEWHERE, state="RUNNING", heartbeat_at=clock.now())
    logs = home_of_north(place).logs(place.name)
    logs.mkdir(parents=True)
    (logs / "host-0.log").write_text("".join(f"line {number}\n" for number in range(100)))
    (logs / "pe-1.log").write_text("of PE 1\n")
    return place


class Answering:
    """The agent of `north` answers within the block."""

    def __init__(self, place: Place) -> None:
        self._place, self._over = place, threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._over.wait(0.02):
            log_requests.answer_log_requests(self._place.catalog, home_of_north(self._place), "north")

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


def requests(place: Place) -> int:
    with place.catalog.read() as connection:
        return connection.scalar(select(func.count()).select_from(tables.log_request)) or 0


def test_the_agent_gives_the_end_of_a_log(place: Place):
    with Answering(place):
        (end,) = ask_for_logs(place.catalog, "north", place.name, ["host-0", "pe-7"], 2, {})
    path = home_of_north(place).logs(place.name) / "host-0.log"
    assert end == LogEnd("host-0", str(path), ["line 98", "line 99"], path.stat().st_size)
    assert requests(place) == 0


def test_an_agent_answers_in_its_turn(place: Place):
    asked = threading.Thread(target=ask_for_logs, args=(place.catalog, "north", place.name, ["host-0"], 2, {}))
    asked.start()
    while asked.is_alive():
        place.agents["north"].turn()
        asked.join(0.02)
    assert requests(place) == 0


def test_an_answer_has_a_bound(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(log_requests, "ANSWER_BYTES", 20)
    with Answering(place):
        (end,) = ask_for_logs(place.catalog, "north", place.name, ["host-0"], 1000, {})
    assert end.lines == ["line 98", "line 99"]


@pytest.mark.parametrize(("facts", "reason"), [
    ({"state": "UP"}, "its agent did not answer in 0 s"),
    ({"state": "DOWN"}, "its agent has ended"),
    ({"lease_until": 0.0}, "its lease has ended, so it is lost"),
])  # fmt: skip
def test_an_agent_that_does_not_answer(
    place: Place, monkeypatch: pytest.MonkeyPatch, facts: dict[str, object], reason: str
):
    monkeypatch.setattr(log_requests, "ANSWER_SECONDS", 0.0)
    place.set(tables.machine, **facts)
    where = home_of_north(place).logs(place.name)
    with pytest.raises(MachineError) as caught:
        ask_for_logs(place.catalog, "north", place.name, ["host-0"], 2, {})
    assert (
        str(caught.value) == f"the logs of app on north cannot be read: {reason}. They are in {where} on that machine."
    )
    assert requests(place) == 0


def test_a_machine_that_is_registered_no_more(place: Place):
    with pytest.raises(MachineError, match="logs of app on south cannot be read: the machine is no longer registered"):
        ask_for_logs(place.catalog, "south", place.name, ["host-0"], 2, {})


def test_a_request_whose_asker_has_died_is_dropped(place: Place, monkeypatch: pytest.MonkeyPatch):
    facts = {"id": "x", "machine": "gone", "application": "app", "names": [], "lines": 1, "after": {}}
    with place.catalog.write() as connection:
        connection.execute(tables.log_request.insert().values(**facts, asked_at=clock.now() - 1000.0))
    monkeypatch.setattr(agent, "ORPHANS_SECONDS", 0.0)
    place.agents["north"].turn()
    assert requests(place) == 0


def test_the_status_names_the_machine_of_a_log(place: Place):
    status = read_status(place.catalog, place.name)
    there = home_of_north(place).logs(place.name)
    assert status.log_places == f"{there} on north"
    assert status.hosts[0].log_place == f"{there}/host-0.log on north"
    assert status.pes[1].log_place == f"{there}/pe-1.log on north"
    place.set(tables.host, state="FAILED", error="boom")
    failed = find_failures(read_status(place.catalog, place.name), clock.now())
    explained = f"host 0 failed: boom (log: {there}/host-0.log on north)"
    assert {failure.explanation for failure in failed} == {explained}


def test_a_message_of_a_host_names_its_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("STREAMS_MACHINE", "north")
    assert place_for_others("/logs/pe-1.log") == "/logs/pe-1.log on north"
    monkeypatch.delenv("STREAMS_MACHINE")
    assert place_for_others("/logs/pe-1.log") == "/logs/pe-1.log"


def test_streams_logs_shows_what_is_elsewhere(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("STREAMS_HOME", str(place.home.root))
    there = home_of_north(place).logs(place.name)
    with Answering(place):
        assert main(["logs", place.name, "--lines", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"==> {there}/host-0.log on north", "line 99", f"==> {there}/pe-1.log on north", "of PE 1",
    ]  # fmt: skip


def test_streams_logs_says_what_it_could_not_read(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("STREAMS_HOME", str(place.home.root))
    place.set(tables.machine, state="DOWN")
    assert main(["logs", place.name]) == 1
    said = " ".join(capsys.readouterr().err.split())
    assert "the logs of app on north cannot be read: its agent has ended" in said
