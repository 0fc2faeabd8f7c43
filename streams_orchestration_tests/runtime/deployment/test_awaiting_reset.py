"""A reset is decided once, after the patience, and whoever awaits one resets lost hosts again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from streams_orchestration import world
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import awaiting_reset
from streams_orchestration.runtime.deployment.awaiting_reset import HEALING_SECONDS, await_reset
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, HostLaunchError, UnitRemovedError
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import LAUNCH_PAUSES, FailedAgainError, UnitFailure
from streams_orchestration.runtime.units.reset_decisions import Resetter
from streams_orchestration_tests.cli.made_up import NOW, host, pe, status, unit
from streams_orchestration_tests.runtime.readings import changed, unit_event

TIMEOUT_SECONDS = 120.0
WORKS = status()
FAILED = status(pes=(pe(0, state="FAILED", error="boom"), pe(1)), units=(unit(generation=2),))
GONE = status(hosts=(host(alive=False, state="STARTING"),), units=(unit(generation=2, state="UNHEALTHY", asked=2),))
RECOVERED = (unit_event(NOW, "reset done", 2, 4, 1),)


def test_each_reset_is_decided_once_and_after_the_patience():
    requested: list[str] = []
    resetter = Resetter(lambda failure: requested.append(failure.unit), patience=1.0)
    both = status(
        pes=(pe(0, state="FAILED", error="boom"), pe(1, unit="region-1", state="FAILED", error="bang")),
        units=(unit(pes=(0,)), unit(name="region-1", region=1, pes=(1,), attempts=5)),
    )
    for turn in range(8):
        decisions = resetter.request_resets(both, NOW + 0.5 * turn)
        assert requested == (["region-0"] if turn >= 2 else [])
        assert [failure.unit for failure in decisions.exhausted] == ["region-1"]


def test_a_reset_whose_request_fails_is_requested_again_at_the_next_check():
    answers: list[Exception | None] = [CatalogUnavailableError("no answer"), None]
    requested: list[str] = []

    def request(failure: UnitFailure) -> None:
        requested.append(failure.unit)
        if (error := answers.pop(0)) is not None:
            raise error

    resetter = Resetter(request, patience=0.0)
    with pytest.raises(CatalogUnavailableError):
        resetter.request_resets(FAILED, NOW)
    for later in (0.5, 1.0):
        resetter.request_resets(FAILED, NOW + later)
        assert requested == ["region-0", "region-0"]


class Awaited:
    """The catalog of an application whose unit is awaited: a clock, a script of statuses, and the resets it gets."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, check: Callable[[float], ApplicationStatus]) -> None:
        self.now = 0.0
        self.resets: list[tuple[int, float]] = []
        self.said: list[str] = []
        self.check = check
        monkeypatch.setattr(world, "now", lambda: NOW + self.now)
        monkeypatch.setattr(world, "monotonic", lambda: self.now)
        monkeypatch.setattr(world, "sleep", self.sleep)
        monkeypatch.setattr(awaiting_reset, "advance_and_read_units", self.observe)
        monkeypatch.setattr(awaiting_reset, "reset_failed_unit", self.reset)

    def sleep(self, seconds: float) -> None:
        self.now = round(self.now + seconds, 3)

    def observe(self, *_: object) -> ApplicationStatus:
        seen = self.check(self.now)
        alive = [changed(each, heartbeat_at=NOW + self.now) if each.alive else each for each in seen.hosts]
        return replace(seen, hosts=tuple(alive))

    def reset(self, _catalog: Catalog, failure: UnitFailure) -> None:
        self.resets.append((failure.generation, self.now))

    def wait(self, failed: int | None = 1) -> None:
        catalog: Catalog = SimpleNamespace(home=Home(Path("nowhere")))  # pyright: ignore[reportAssignmentType]
        await_reset(catalog, "flights", "region-0", failed, TIMEOUT_SECONDS, self.said.append)


def test_a_unit_whose_host_is_gone_and_that_nobody_resets_is_reset_again(monkeypatch: pytest.MonkeyPatch):
    awaited = Awaited(monkeypatch, lambda at: GONE if at < 20.0 else WORKS)
    awaited.wait()
    assert awaited.resets == [(2, HEALING_SECONDS)]
    assert [line.partition(": ")[2] for line in awaited.said] == [
        "host 0 (pid 4711) is gone (log: /logs/host-0.log); it is reset again"
    ]


def test_a_host_that_does_not_come_up_is_not_started_again_before_its_pause_is_over(monkeypatch: pytest.MonkeyPatch):
    third = changed(GONE.hosts[0], launches=3, launched_at=NOW)
    awaited = Awaited(monkeypatch, lambda at: replace(GONE, hosts=(third,)) if at < 100.0 else WORKS)
    awaited.wait()
    assert awaited.resets == [(2, LAUNCH_PAUSES.after(2))]


@pytest.mark.parametrize(
    ("seen", "reason", "seconds"),
    [
        (replace(GONE, units=(unit(state="MAXIMUM_RESET_ATTEMPTS_REACHED"),)), "is gone", 0.0),
        (FAILED, "needs a reset: PE 0 failed: boom", HEALING_SECONDS),
        (replace(FAILED, state="STOPPED"), "flights was stopped", 0.0),
        (replace(WORKS, units=(unit(state="RESETTING"),)), "did not all run after 120 s", TIMEOUT_SECONDS + 0.1),
        (replace(WORKS, pes=(pe(0, state="STARTING"),)), "did not all run after 120 s", TIMEOUT_SECONDS + 0.1),
    ],
    ids=["no attempt is left", "a PE has failed again", "it was stopped", "it is being reset", "a PE starts"],
)
def test_awaiting_a_reset_ends_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, seen: ApplicationStatus, reason: str, seconds: float
):
    monkeypatch.setattr(awaiting_reset, "has_taken_all", lambda *_: False)
    awaited = Awaited(monkeypatch, lambda _: seen)
    with pytest.raises(HostLaunchError, match=reason):
        awaited.wait()
    assert (awaited.resets, awaited.now) == ([], seconds)


def test_a_failure_whose_reset_is_due_later_than_the_wait_ends_is_the_reason(monkeypatch: pytest.MonkeyPatch):
    fourth = changed(GONE.hosts[0], launches=4, launched_at=NOW)
    awaited = Awaited(monkeypatch, lambda _: replace(GONE, hosts=(fourth,)))
    with pytest.raises(FailedAgainError, match="is gone"):
        awaited.wait()
    assert awaited.resets == []


@pytest.mark.parametrize(
    "end",
    [
        WORKS,
        replace(WORKS, state="COMPLETED"),
        replace(WORKS, state="STOPPED"),
        replace(FAILED, units=(unit(generation=2, events=RECOVERED),)),
    ],
    ids=["it works", "it is complete", "all input is taken", "it has failed once more"],
)
def test_awaiting_a_reset_ends_when_the_unit_has_recovered(monkeypatch: pytest.MonkeyPatch, end: ApplicationStatus):
    monkeypatch.setattr(awaiting_reset, "has_taken_all", lambda *_: True)
    awaited = Awaited(monkeypatch, lambda at: GONE if at < 5.0 else end)
    awaited.wait()
    assert awaited.resets == []
    assert awaited.now == 5.0


def test_a_unit_that_a_redeploy_has_removed_is_not_awaited_and_the_user_is_told(monkeypatch: pytest.MonkeyPatch):
    other = replace(WORKS, units=(unit(name="region-1", region=1),))
    awaited = Awaited(monkeypatch, lambda at: GONE if at < 5.0 else other)
    with pytest.raises(UnitRemovedError, match="region-0 no longer exists, since the application was redeployed"):
        awaited.wait()
    assert awaited.now == 5.0


def test_other_units_are_left_alone_by_a_wait_for_one(monkeypatch: pytest.MonkeyPatch):
    other = unit(name="region-1", region=1, pes=(1,))
    pes = (pe(0, state="STARTING"), pe(1, unit="region-1", state="FAILED", error="boom"))
    waiting = status(pes=pes, units=(unit(pes=(0,)), other))
    awaited = Awaited(
        monkeypatch,
        lambda at: waiting if at < 60.0 else replace(waiting, pes=(changed(pes[0], state="RUNNING"), pes[1])),
    )
    awaited.wait()
    assert (awaited.resets, awaited.now) == ([], 60.0)


def test_awaiting_a_reset_outlasts_an_outage_of_the_catalog(monkeypatch: pytest.MonkeyPatch):
    def check(at: float) -> ApplicationStatus:
        if at < 60.0:
            message = "the catalog does not answer"
            raise CatalogUnavailableError(message)
        return WORKS

    awaited = Awaited(monkeypatch, check)
    awaited.wait()
    assert awaited.now == 60.0
    with pytest.raises(CatalogUnavailableError):
        Awaited(monkeypatch, lambda _: check(0.0)).wait()
