"""A host sends its lineage to a server, whatever the server does; and none where none is wanted."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli.preparing import take_start_lock
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.hosts import host as hosts
from streams_orchestration.runtime.hosts.heartbeat import Heartbeat
from streams_orchestration.runtime.hosts.host import Host
from streams_orchestration.runtime.lineage import client, reporter
from streams_orchestration.runtime.lineage.client import target
from streams_orchestration.runtime.lineage.events import run_event
from streams_orchestration.runtime.lineage.flows import About
from streams_orchestration.runtime.processes.processes import identify, process_space
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import write_rows
from streams_orchestration_tests.runtime.idle_engine import IdleEngine
from streams_orchestration_tests.runtime.lineage.sent import filtered
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.running import COUNT, joined
from streams_orchestration_tests.servers.http import Receiver, receiver

pytestmark = pytest.mark.slow
API_KEY = "sesame-open"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Restrict the environment to that of the test; the client itself writes into it."""
    before = dict(os.environ)
    for name in before:
        if name.startswith("OPENLINEAGE"):
            monkeypatch.delenv(name)
    monkeypatch.setattr(Heartbeat, "start", lambda _self: None)
    monkeypatch.setattr(hosts, "MIN_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(reporter, "MIN_INTERVAL_SECONDS", 0.0)
    yield
    for name in set(os.environ) - set(before):
        if name.startswith("OPENLINEAGE"):
            del os.environ[name]


@pytest.fixture
def server() -> Iterator[Receiver]:
    with receiver() as made:
        yield made


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    made = LocalApplication(Home(tmp_path / "home"), filtered(write_rows(tmp_path / "rows.parquet", COUNT), 1), 5)
    joined(made.home)
    here = identify(os.getpid())
    assert here is not None
    with made.catalog.write() as connection:
        mine = {"pid": here.pid, "process_started": here.started, "space": process_space()}
        connection.execute(tables.host.update().values(**mine))
    return made


@contextmanager
def running_host(local: LocalApplication) -> Iterator[list[str]]:
    """Yield a host of a PE whose batches the test makes, and what it returned."""
    engine = IdleEngine()
    host = Host(local.home, local.name, 0, "mine", engine)
    ended: list[str] = []
    thread = threading.Thread(target=lambda: ended.append(host.run()), daemon=True)
    thread.start()
    assert engine.started.wait(60)
    yield ended
    thread.join(60)
    assert not thread.is_alive()


def events_of(server: Receiver) -> list[dict[str, Any]]:
    return [json.loads(body) for _, body in server.requests]


def test_a_host_sends_its_application_from_start_to_end(
    local: LocalApplication, server: Receiver, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENLINEAGE_URL", server.address)
    monkeypatch.setenv("OPENLINEAGE_API_KEY", API_KEY)
    monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "shop")
    with running_host(local) as ended:
        local.run()
    assert ended == ["COMPLETED"]
    events = events_of(server)
    names = [event["eventType"] for event in events]
    assert (names[0], names[-1], set(names[1:-1]) | {"RUNNING"}) == ("START", "COMPLETE", {"RUNNING"})
    assert {(event["job"]["namespace"], event["job"]["name"]) for event in events} == {("shop", "app")}
    assert events[-1]["outputs"][0]["outputFacets"]["outputStatistics"]["rowCount"] > 0
    assert {headers["Authorization"] for headers, _ in server.requests} == {f"Bearer {API_KEY}"}
    assert all(API_KEY.encode() not in body for _, body in server.requests)
    assert all("sourceCodeLocation" not in event["job"]["facets"] for event in events), "it may have a token"


def test_a_server_that_refuses_is_logged_once_and_gets_all_later(
    local: LocalApplication, server: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(reporter, "MAX_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr(reporter, "PAUSES", Pauses(0.0, 0.0))
    monkeypatch.setenv("OPENLINEAGE_URL", server.address)
    server.answers = [500, 500, 500]
    with caplog.at_level(logging.INFO, "streams.lineage"), running_host(local):
        while server.answers:
            local.trigger()
        local.run()
    names = [event["eventType"] for event in events_of(server)]
    assert names[:4] == ["START"] * 4
    assert names[-1] == "COMPLETE"
    logged = [record for record in caplog.records if record.name == "streams.lineage"]
    assert [record.levelname for record in logged] == ["WARNING", "INFO"]
    assert logged[0].getMessage().startswith(f"Lineage does not reach {server.address}: 500 Server Error")
    assert logged[0].exc_info is None


def test_a_server_that_is_not_there_changes_nothing(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(reporter, "PAUSES", Pauses(0.0, 0.0))
    monkeypatch.setenv("OPENLINEAGE_URL", "http://me:sesame@127.0.0.1:1")
    with running_host(local) as ended:
        local.run()
    assert ended == ["COMPLETED"]
    assert "Connection refused" in caplog.text
    assert "sesame" not in caplog.text
    assert "object at 0x" not in caplog.text


def test_a_server_that_hangs_holds_neither_a_batch_nor_the_end_up(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    reached, over = threading.Event(), threading.Event()

    def hang(_self: Receiver, _body: bytes) -> bool:
        reached.set()
        return over.wait(60)

    monkeypatch.setattr(client, "SEND_SECONDS", 60.0)
    monkeypatch.setattr(reporter, "SHUTDOWN_SECONDS", 0.1)
    with receiver() as server:
        server.refuses = hang.__get__(server)
        monkeypatch.setenv("OPENLINEAGE_URL", server.address)
        with running_host(local) as ended:
            assert reached.wait(60)
            local.run()
        assert ended == ["COMPLETED"]
        assert not over.is_set()
        over.set()


def test_a_server_that_answers_late_is_said_to_do_so(monkeypatch: pytest.MonkeyPatch):
    over = threading.Event()
    monkeypatch.setattr(client, "SEND_SECONDS", 0.05)
    with receiver() as server:
        server.refuses = lambda _body: over.wait(60)
        monkeypatch.setenv("OPENLINEAGE_URL", server.address)
        event = run_event("START", str(uuid.uuid4()), About("streams", "app", "", None), 0.0)
        with pytest.raises(client.LineageError, match="it does not answer in time"):
            client.Client().send(event)
        over.set()


def test_a_stop_is_told(local: LocalApplication, server: Receiver, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENLINEAGE_URL", server.address)
    with running_host(local) as ended, local.catalog.write() as connection:
        connection.execute(tables.application.update().values(wanted="STOPPED"))
    assert ended == ["STOPPED"]
    names = [event["eventType"] for event in events_of(server)]
    assert (names[0], names[-1]) == ("START", "ABORT")


def test_a_host_without_the_extra_says_how_to_install_it_and_runs(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("OPENLINEAGE_URL", "http://marquez.example:5000")
    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    with running_host(local) as ended:
        local.run()
    assert ended == ["COMPLETED"]
    (record,) = [record for record in caplog.records if record.name == "streams.lineage"]
    assert "http://marquez.example:5000" in record.getMessage()
    assert "pip install 'streams-orchestration[openlineage]'" in record.getMessage()


def test_the_command_that_starts_it_warns_of_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def start() -> str:
        take_start_lock(Home(tmp_path).prepare(), "app", "streams run").release()
        return capsys.readouterr().err

    monkeypatch.setitem(sys.modules, "openlineage.client", None)
    assert start() == ""
    monkeypatch.setenv("OPENLINEAGE_URL", "http://marquez.example:5000")
    assert "No lineage is sent to http://marquez.example:5000" in start()


@pytest.mark.parametrize(
    "variables",
    [{}, {"OPENLINEAGE_URL": " "}, {"OPENLINEAGE_URL": "http://a", "OPENLINEAGE_DISABLED": "True"},
     {"OPENLINEAGE_NAMESPACE": "shop"}],
)  # fmt: skip
def test_nothing_is_sent_unless_a_target_is_named(variables: dict[str, str]):
    assert target(variables) is None


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"OPENLINEAGE_URL": "https://me:sesame@a.example"}, "https://me:•••@a.example"),
        ({"OPENLINEAGE__TRANSPORT__TYPE": "console"}, "the transport that OPENLINEAGE__TRANSPORT... names"),
        ({"OPENLINEAGE_CONFIG": "/etc/ol.yml"}, "the transport that /etc/ol.yml names"),
    ],
)
def test_the_target_in_words(variables: dict[str, str], words: str):
    assert target(variables) == words


def test_a_transport_of_the_client_is_taken_as_it_is(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    place = tmp_path / "events.jsonl"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(place))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    with running_host(local):
        local.run()
    names = [json.loads(line)["eventType"] for line in place.read_text().splitlines()]
    assert (names[0], names[-1]) == ("START", "COMPLETE")


def test_a_transport_that_is_no_transport_is_logged(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "pigeon")
    with running_host(local) as ended:
        local.run()
    assert ended == ["COMPLETED"]
    assert "No lineage is sent to the transport that OPENLINEAGE__TRANSPORT... names: " in caplog.text
