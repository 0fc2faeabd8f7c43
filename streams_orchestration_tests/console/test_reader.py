"""The reader behind all pages: what is wrong neither ends it nor polls as if it were current."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import urllib.request
from urllib.parse import urlsplit

import pytest

from streams_orchestration.console import reader as reading
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration_tests.console.conftest import served
from streams_orchestration_tests.console.deployed import Deployed
from streams_orchestration_tests.fake_functions import replace_function


def test_pages_without_number_leave_room_for_answers(deployed: Deployed):
    with served(SnapshotReader(deployed.home), most=20) as address, contextlib.ExitStack() as stack:
        port = urlsplit(address).port
        asked = f"GET /api/applications/app/events HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        pages = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(50)]
        for page in pages:
            with contextlib.suppress(ConnectionError):
                page.sendall(asked)
        with urllib.request.urlopen(f"{address}/api/applications", timeout=20) as answer:
            assert json.load(answer)[0]["name"] == "app"
        received = b""
        while b"event: snapshot" not in received:
            received += pages[-1].recv(4096)


def test_pages_that_are_opened_at_once_share_one_look(deployed: Deployed, monkeypatch: pytest.MonkeyPatch):
    polls: list[str] = []
    read_status = api.read_status

    def counted(catalog: Catalog, application: str) -> ApplicationStatus:
        polls.append(application)
        return read_status(catalog, application)

    async def first_events() -> set[str]:
        reader = SnapshotReader(deployed.home)
        pages = [reader.events("app") for _ in range(20)]
        for page in pages:
            await anext(page)
        return set(await asyncio.gather(*(anext(page) for page in pages)))

    replace_function(monkeypatch, api, "read_status", counted)
    (event,) = asyncio.run(first_events())
    assert event.startswith("event: snapshot")
    assert polls == ["app"]


def test_a_page_is_told_when_nothing_is_read_any_more(deployed: Deployed, monkeypatch: pytest.MonkeyPatch):
    async def kinds() -> list[str]:
        page = SnapshotReader(deployed.home).events("app")
        return [(await anext(page)).partition("\n")[0] for _ in range(4)]

    monkeypatch.setattr(reading, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(reading, "STALE_SECONDS", 0.02)
    assert asyncio.run(kinds())[1:] == ["event: snapshot", "event: beat", "event: unreadable"]


UNEXPECTED = [KeyError("pe"), ValueError("Out of range float values are not JSON compliant"), RuntimeError("defect")]


@pytest.mark.parametrize("error", UNEXPECTED, ids=repr)
def test_an_error_that_nobody_expects_is_told_to_pages_and_the_reader_goes_on(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
):
    failing = [error] * 3
    read_status = api.read_status

    def read(catalog: Catalog, application: str) -> ApplicationStatus:
        if failing:
            raise failing.pop()
        return read_status(catalog, application)

    async def kinds() -> list[str]:
        reader = SnapshotReader(deployed.home)
        page = reader.events("app")
        running = asyncio.create_task(reader.run())
        events = [await anext(page) for _ in range(6)]
        running.cancel()
        return [event.partition("\n")[0] for event in events[1:]]

    replace_function(monkeypatch, api, "read_status", read)
    monkeypatch.setattr(reading, "pause_after", lambda *_, **__: 0.0)
    monkeypatch.setattr(reading, "SHOWN_SECONDS", 0.0)
    seen = asyncio.run(kinds())
    assert seen[0] == "event: unreadable"
    assert seen[-1] == "event: snapshot"
    assert [record.exc_info is not None for record in caplog.records] == [True], "logged once, with its place"


def test_applications_that_cannot_be_listed_do_not_end_the_reader(deployed: Deployed, monkeypatch: pytest.MonkeyPatch):
    listings: list[Catalog] = []

    def listed(catalog: Catalog) -> tuple[str, ...]:
        listings.append(catalog)
        raise KeyError(catalog)

    async def run() -> None:
        running = asyncio.create_task(SnapshotReader(deployed.home).run())
        while len(listings) < 3:
            await asyncio.sleep(0)
            assert not running.done()
        running.cancel()

    replace_function(monkeypatch, api, "list_applications", listed)
    monkeypatch.setattr(reading, "pause_after", lambda *_, **__: 0.0)
    monkeypatch.setattr(reading, "HISTORY_POLL_SECONDS", 0.0)
    asyncio.run(run())
