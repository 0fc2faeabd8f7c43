"""Loops on threads that nothing may end: an error is logged once, and the next turn follows."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streams_orchestration.runtime.catalog.changes import Changes, CommitListener
from streams_orchestration.runtime.engine.spark import progress_watchdog
from streams_orchestration.runtime.engine.spark.progress_watchdog import ProgressWatchdog
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.errors.invariants import InvariantError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.hosts import storage_watch
from streams_orchestration.runtime.hosts.storage_watch import StorageWatch
from streams_orchestration.runtime.redeployment import draining, host_rescheduling
from streams_orchestration.runtime.sinks import publisher as publishing
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.holding import HeldUnits

TIMEOUT_SECONDS = 20.0


class Reached:
    """A function that raises errors, by default two that nobody expects, and then is reached."""

    def __init__(self, errors: Sequence[Exception] = (KeyError(0), KeyError(1))) -> None:
        self.again = threading.Event()
        self._turns = chain(errors, repeat(None))

    def __call__(self, *_: Any) -> Any:
        error = next(self._turns)
        if error is not None:
            raise error
        self.again.set()
        return 0

    def is_reached(self) -> bool:
        return self.again.wait(TIMEOUT_SECONDS)


def test_an_error_is_logged_once_until_it_is_another_one_or_gone(caplog: pytest.LogCaptureFixture):
    errors = LoopErrors(logging.getLogger("test"))
    for error in (OSError("a"), OSError("a"), OSError("b"), None, OSError("b")):
        with errors.survived("it does not work"):
            if error is not None:
                raise error
    assert [record.getMessage() for record in caplog.records] == ["it does not work; it is tried again"] * 3
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == ["a", "b", "b"]


def test_the_storage_is_checked_at_again_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch):
    class Storage:
        address = "s3://bucket"
        reach = reached = Reached()

    monkeypatch.setattr(storage_watch, "STORAGE_CHECK_SECONDS", 0.0)
    StorageWatch(Storage(), lambda *_: None).start()  # type: ignore[arg-type]
    assert Storage.reached.is_reached()


def test_tasks_are_checked_at_again_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch):
    checked = Reached()
    monkeypatch.setattr(progress_watchdog, "HANG_CHECK_SECONDS", 0.001)
    monkeypatch.setattr(progress_watchdog, "thread_runs", checked)
    with ProgressWatchdog(lambda _: None).task(100):
        assert checked.is_reached()


@pytest.mark.parametrize(
    ("error", "logged"),
    [
        (KeyError("a defect"), 1),
        (InvariantError("a broken rule"), 1),
        (CatalogUnavailableError("the catalog does not answer"), 0),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_hold_is_renewed_after_an_error_and_only_an_outage_is_not_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception, logged: int
):
    renewed = Reached([error, error])
    first = iter([True])
    monkeypatch.setattr(draining, "HOLD_SECONDS", 0.003)
    monkeypatch.setattr(draining, "hold_units", lambda *_, **__: None if next(first, None) else renewed())
    monkeypatch.setattr(draining, "release_units", lambda *_: None)
    with draining.units_on_hold(HeldUnits(None, "app", (), ["region-0"])):  # type: ignore[arg-type]
        assert renewed.is_reached()
    assert [record.exc_info[1] for record in caplog.records if record.exc_info] == [error] * logged


def test_hosts_are_tended_again_after_an_unexpected_error(monkeypatch: pytest.MonkeyPatch):
    checked = Reached()
    changes = SimpleNamespace(mark=lambda: 0, wait=lambda *_: True)
    monkeypatch.setattr(host_rescheduling, "MIN_INTERVAL_SECONDS", 0.001)
    monkeypatch.setattr(host_rescheduling, "Catalog", lambda _home: SimpleNamespace(changes=changes))
    monkeypatch.setattr(host_rescheduling.HostRescheduler, "reschedule_hosts", checked)
    thread = host_rescheduling.HostRescheduler(Home(Path("home")), "m")
    thread.start()
    try:
        assert checked.is_reached()
    finally:
        thread.end()


class AlwaysNotified(CommitListener):
    """A listener that is always notified, and the first of which cannot be closed without an error."""

    closed = 0

    def __init__(self) -> None:
        self._interrupted = threading.Event()

    def wait(self) -> None:
        self._interrupted.wait(0.001)

    def interrupt(self) -> None:
        self._interrupted.set()

    def take(self) -> tuple[str, ...]:
        return ("app/region-0",)

    def close(self) -> None:
        type(self).closed += 1
        if self.closed == 1:
            raise KeyError


@pytest.fixture
def changes(monkeypatch: pytest.MonkeyPatch) -> Iterator[Changes]:
    monkeypatch.setattr(AlwaysNotified, "closed", 0)
    made = Changes(AlwaysNotified)
    yield made
    made.close()


def test_changes_are_heard_when_somebody_who_is_told_of_them_fails(changes: Changes):
    heard = Reached()
    AlwaysNotified.closed = 1
    mark = changes.mark()  # afterwards it changes with the two errors only
    changes.on_change = heard
    assert changes.wait(mark, TIMEOUT_SECONDS)
    assert heard.is_reached()


@pytest.mark.usefixtures("reopened_at_once")
def test_changes_are_reported_when_a_listener_fails_and_cannot_be_closed(
    monkeypatch: pytest.MonkeyPatch, changes: Changes
):
    taken = Reached()
    monkeypatch.setattr(AlwaysNotified, "take", lambda _: [taken(), "app/region-0"])
    mark = changes.mark()
    assert changes.wait(mark, TIMEOUT_SECONDS)
    assert taken.is_reached()


def test_the_publisher_goes_on_when_it_cannot_wait_for_changes(monkeypatch: pytest.MonkeyPatch):
    turns = Reached([])

    class Catalog:
        class changes:  # noqa: N801  as in the catalog
            mark = Reached()

            @staticmethod
            def wake() -> None: ...

            @staticmethod
            def wait(*_: object) -> bool:
                return True

    monkeypatch.setattr(publishing, "failing_sinks", lambda *_: ())
    monkeypatch.setattr(Publisher, "turn", lambda _self: turns())
    monkeypatch.setattr(publishing, "publish_files", lambda *_: (0, []))
    publisher = Publisher(Catalog(), "app")  # type: ignore[arg-type]
    publisher.start()
    try:
        assert turns.is_reached()
    finally:
        publisher.stop()
