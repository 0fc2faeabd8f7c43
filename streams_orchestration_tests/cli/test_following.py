from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from io import StringIO

import pytest

from streams_orchestration.cli import following
from streams_orchestration.cli.display import Display
from streams_orchestration.cli.following import (
    POLL_SECONDS,
    Follower,
    ResetsExhaustedError,
)
from streams_orchestration.cli.interrupts import BackgroundCall, Interrupts
from streams_orchestration.cli.terminal import SafeConsole
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.cause_kinds import NamedKind
from streams_orchestration.runtime.catalog.outage import OUTAGE_TIMEOUT_SECONDS, SETTLE_SECONDS
from streams_orchestration.runtime.catalog.unit_columns import Tries
from streams_orchestration.runtime.errors.errors import CatalogLostError, HostLaunchError
from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration.runtime.units.reset_decisions import RETRIES, SENSOR_GRACE_SECONDS
from streams_orchestration_tests.cli.fake_foreground import FakeForeground
from streams_orchestration_tests.cli.made_up import NOW, host, pe, status, unit
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.readings import changed

DONE = status(state="COMPLETED", pes=(pe(0, state="COMPLETED"),))
AWAY = NamedKind("no answer")
FAILED = status(pes=(pe(0, state="FAILED", error="boom"), pe(1)))


class Begun(BackgroundCall[object]):
    """Something that ends at some time of the world's clock, maybe with an error; `inf` is what hangs."""

    def __init__(self, world: World, ends: float, error: Exception | None) -> None:
        self.world, self.ends, self.error = world, ends, error

    def wait(self, seconds: float) -> bool:
        return self.world.clock + seconds >= self.ends

    def result(self) -> None:
        if self.error is not None:
            raise self.error


class World(FakeForeground):
    """A clock that moves when the follower waits, and a script of statuses, the last of which stays."""

    takes: float = 0.0
    """Seconds until a reset is begun."""
    records: float | None = None
    """Seconds until a reset is recorded; None if it takes as long as a reset."""
    error: Exception | None = None
    """The error with which a reset, or its record, ends."""
    record_error: Exception | None = None
    """The error with which only the record ends."""

    def __init__(self, script: Iterable[ApplicationStatus], stop_after: float = 1000.0) -> None:
        super().__init__()
        self.script = list(script)
        self.clock = NOW
        self.stop_at = NOW + stop_after
        self.resets: list[tuple[str, int, float]] = []
        self.recorded: list[tuple[str, int]] = []
        self.notes = Notes()
        self._follower = Follower(self, self.notes, Pauses(self))

    def follow(self) -> ApplicationStatus:
        with pytest.MonkeyPatch.context() as patch:
            replace_function(patch, api, "now", lambda: self.clock)
            return self._follower.follow()

    def advance_and_read(self) -> ApplicationStatus:
        scripted = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        return replace(scripted, hosts=tuple(changed(h, heartbeat_at=self.clock) for h in scripted.hosts))

    def begin_reset(self, failure: UnitFailure) -> Begun:
        self.resets.append((failure.unit, failure.generation, self.clock - NOW))
        return Begun(self, self.clock + self.takes, self.error)

    def begin_recording(self, failure: UnitFailure) -> Begun:
        self.recorded.append((failure.unit, failure.generation))
        takes = self.takes if self.records is None else self.records
        return Begun(self, self.clock + takes, self.error or self.record_error)


class Notes(Display):
    """Keeps what it is to show."""

    def __init__(self) -> None:
        super().__init__(SafeConsole(file=StringIO()))
        self.said: list[str] = []
        self.shown: list[ApplicationStatus] = []

    def say(self, text: str) -> None:
        self.said.append(text)

    def show(self, status: ApplicationStatus, now: float) -> None:
        self.shown.append(status)


class Pauses(Interrupts):
    """Moves the world's clock instead of waiting; the user wants to stop at the world's `stop_at`."""

    def __init__(self, world: World) -> None:
        super().__init__(lambda: None)
        self.world = world

    def pause(self, seconds: float, over: Callable[[], bool] = lambda: False) -> bool:
        self.world.clock += seconds
        return self.world.clock >= self.world.stop_at


@pytest.mark.parametrize("end", ["COMPLETED", "STOPPED"])
def test_follows_to_the_end(end):
    world = World([status(), status(), status(state=end)])
    assert world.follow().state == end
    assert [shown.state for shown in world.notes.shown] == ["RUNNING", "RUNNING", end]


def test_leaves_when_the_user_wants_to():
    world = World([status()], stop_after=3 * POLL_SECONDS)
    assert world.follow().state == "RUNNING"
    assert len(world.notes.shown) == 3


def test_a_failure_that_somebody_else_resets_is_left_alone():
    world = World([FAILED, replace(FAILED, units=(unit(generation=2, state="RESETTING"),), pes=(pe(0),)), DONE])
    world.follow()
    assert world.resets == []
    assert world.notes.said == ["region-0 failed: PE 0 failed: boom (log: /logs/pe-0.log)"]


def test_a_failure_that_stays_is_reset_after_a_while_and_once():
    world = World([FAILED], stop_after=RETRIES.first - 1)
    world.follow()
    assert world.resets == [("region-0", 1, SENSOR_GRACE_SECONDS)]
    assert "attempt 1 of 5" in world.notes.said[-1]


def test_a_reset_that_changed_nothing_is_tried_again():
    world = World([FAILED], stop_after=SENSOR_GRACE_SECONDS + RETRIES.first + 1)
    world.follow()
    assert [at for _, _, at in world.resets] == [SENSOR_GRACE_SECONDS, SENSOR_GRACE_SECONDS + RETRIES.first]


def test_every_generation_is_reset_of_its_own():
    second = replace(FAILED, units=(unit(generation=2, attempts=1),))
    world = World([FAILED] * 10 + [second] * 10 + [DONE])
    world.follow()
    assert [generation for _, generation, _ in world.resets] == [1, 2]


def test_the_cause_of_a_unit_s_failure_is_reported_once():
    second = replace(FAILED, units=(unit(generation=2, attempts=1),))
    other = replace(FAILED, units=(unit(generation=3, attempts=2),), pes=(pe(0, state="FAILED", error="bang"), pe(1)))
    world = World([FAILED] * 10 + [second] * 10 + [other] * 10 + [DONE])
    world.follow()
    assert [text for text in world.notes.said if text.startswith("region-0")] == [
        "region-0 failed: PE 0 failed: boom (log: /logs/pe-0.log)",
        "region-0 failed as before",
        "region-0 failed: PE 0 failed: bang (log: /logs/pe-0.log)",
    ]


def test_a_reset_that_is_to_wait_is_announced_and_one_for_a_cause_outside_counts_no_attempts():
    away = unit(generation=3, attempts=7, max_attempts=12, kind=AWAY, tries=(Tries(AWAY, 7, NOW),),
                give_up_at=NOW + 999, outage={"detected": NOW})  # fmt: skip
    failing = pe(0, state="FAILED", error="ConnectionError: no answer", kind=AWAY, outside=True)
    world = World([replace(FAILED, units=(away,), pes=(failing, pe(1)))] * 140 + [DONE])
    world.follow()
    assert world.notes.said[:2] == [
        "region-0 failed: PE 0 failed: ConnectionError: no answer (log: /logs/pe-0.log). It is reset in 60 s",
        "Resetting region-0 to its last complete epoch (attempt 8) ...",
    ]
    assert [at for _, _, at in world.resets] == [60.0]


def test_a_reset_that_fails_is_said_and_the_follower_goes_on():
    world = World([FAILED] * 10 + [DONE])
    world.error = HostLaunchError("host 0 did not come up")
    assert world.follow().state == "COMPLETED"
    assert world.notes.said[-1] == "The reset of region-0 failed: host 0 did not come up"


TWO = (unit(pes=(0,)), unit(name="region-1", region=1, pes=(1,)))


def two(*failed: int, **first: object) -> ApplicationStatus:
    """Two regions of a PE each, some of them failed; the first one as it is said."""
    pes = tuple(
        pe(number, unit=f"region-{number}", state="FAILED" if number in failed else "RUNNING") for number in (0, 1)
    )
    return status(pes=pes, units=(changed(TWO[0], **first), TWO[1]))


def test_two_regions_that_fail_together_are_reset_together():
    world = World([two(0, 1)], stop_after=SENSOR_GRACE_SECONDS + 1)
    world.takes = float("inf")
    world.follow()
    assert [(name, at) for name, _, at in world.resets] == [
        ("region-0", SENSOR_GRACE_SECONDS),
        ("region-1", SENSOR_GRACE_SECONDS),
    ]


def test_while_one_reset_hangs_another_region_is_reset():
    hangs = two(state="UNHEALTHY", asked=1)
    world = World([two(0), two(0), hangs, replace(two(1), units=hangs.units)], stop_after=10.0)
    world.takes = float("inf")
    world.follow()
    assert [name for name, _, _ in world.resets] == ["region-0", "region-1"]


def test_a_region_that_fails_again_in_its_reset_is_reset_again_and_recorded_once_when_it_works():
    again = two(0, state="RESETTING", generation=2, attempts=1)
    under_way = two(state="RESETTING", generation=3, attempts=2)
    world = World([two(0), two(0), again, again, under_way, two(generation=3, attempts=2), DONE])
    world.follow()
    assert [(name, generation) for name, generation, _ in world.resets] == [("region-0", 1), ("region-0", 2)]
    assert world.recorded == [("region-0", 2)]


def test_resets_are_recorded_one_after_the_other():
    world = World([two(0, 1), two(0, 1), two(0, 1)], stop_after=SENSOR_GRACE_SECONDS + 0.2)
    world.follow()
    world.takes, world.stop_at = 2.0, world.clock + 4.0
    both = replace(two(generation=2), units=tuple(changed(each, generation=2) for each in two().units))
    world.script = [both]
    for expected in (["region-0"], ["region-0", "region-1"]):
        world.stop_at = world.clock + POLL_SECONDS * 4
        world.follow()
        assert [name for name, _ in world.recorded] == expected


def test_outstanding_resets_are_recorded_when_the_application_is_complete():
    complete = replace(two(generation=2), state="COMPLETED")
    complete = replace(complete, units=tuple(changed(each, state="COMPLETED", generation=2) for each in complete.units))
    world = World([two(0, 1), two(0, 1), complete])
    world.follow()
    assert [name for name, _ in world.recorded] == ["region-0", "region-1"]


def test_a_record_that_hangs_is_not_waited_for_and_named(monkeypatch: pytest.MonkeyPatch):
    complete = replace(two(generation=2), state="COMPLETED")
    complete = replace(complete, units=tuple(changed(each, state="COMPLETED", generation=2) for each in complete.units))
    world = World([two(0, 1), two(0, 1), complete])
    world.records = float("inf")
    monkeypatch.setattr(following, "FINISH_SECONDS", 0.0)
    assert world.follow().state == "COMPLETED"
    assert world.notes.said[-1] == "Dagster does not show the reset of region-0, region-1: recording took more than 0 s"


def test_a_record_that_fails_is_reported_unless_the_resets_are_used_up_which_is_the_cause():
    for last, reported in ((two(generation=2), True), (two(0, generation=2, attempts=5), False)):
        # the last status but one says that the unit works again, so that the reset is recorded
        world = World([*[two(0)] * 8, two(generation=2), last], stop_after=SENSOR_GRACE_SECONDS + 5.0)
        world.records, world.record_error = POLL_SECONDS, HostLaunchError("region-0 was reset 5 times in a row")
        if reported:
            world.follow()
        else:
            with pytest.raises(ResetsExhaustedError):
                world.follow()
        assert any("Dagster does not show the reset of region-0" in line for line in world.notes.said) == reported


def test_a_dead_host_is_a_failure():
    world = World([status(hosts=(host(alive=False),))], stop_after=SENSOR_GRACE_SECONDS + 1)
    world.follow()
    assert world.resets == [("region-0", 1, SENSOR_GRACE_SECONDS)]
    assert world.notes.said[0] == "region-0 failed: host 0 (pid 4711) is gone (log: /logs/host-0.log)"


def test_following_gives_up_when_no_attempt_is_left_and_names_the_way_on():
    world = World([replace(FAILED, units=(unit(attempts=5),))])
    with pytest.raises(ResetsExhaustedError) as raised:
        world.follow()
    assert world.resets == []
    for part in ("region-0", "5 of 5", "boom", "/logs/pe-0.log", "run it again"):
        assert part in str(raised.value)


def test_says_when_the_same_data_would_fail_again():
    world = World([status(pes=(pe(0, state="FAILED", error="no number", permanent=True), pe(1)))])
    with pytest.raises(ResetsExhaustedError) as raised:
        world.follow()
    assert "a reset would meet the same error again" in str(raised.value)
    assert str(raised.value).count("/logs/pe-0.log") == 1


LOST = "there", "no route to it"


class Outages(World):
    """The catalog is away for a while."""

    def __init__(self, script: Iterable[ApplicationStatus], away: tuple[float, float], **limits: float) -> None:
        super().__init__(script, **limits)
        self.away = away

    def advance_and_read(self) -> ApplicationStatus:
        if self.away[0] <= self.clock - NOW < self.away[1]:
            raise CatalogLostError(*LOST)
        return super().advance_and_read()


def test_an_outage_of_the_catalog_is_waited_for_and_said_once():
    world = Outages([status(), status(), status(state="COMPLETED")], away=(POLL_SECONDS, 60.0))
    assert world.follow().state == "COMPLETED"
    assert [message.partition(":")[0] for message in world.notes.said] == ["there", "The catalog can be used again."]


def test_after_an_outage_hosts_have_time_for_a_heartbeat_before_they_are_judged():
    world = Outages([status(), DONE], away=(POLL_SECONDS, 60.0))
    world.follow()
    assert world.clock - NOW >= 60.0 + SETTLE_SECONDS


@pytest.mark.parametrize("case", [{"away": (1.0, 1e6)}, {"away": (1.0, 100.0), "stop_after": 50.0}])
def test_an_outage_that_lasts_or_that_the_user_does_not_wait_for_ends_with_the_error(case):
    world = Outages([status()], **case)
    with pytest.raises(CatalogLostError):
        world.follow()
    assert world.clock - NOW <= 1.0 + OUTAGE_TIMEOUT_SECONDS + 2 * POLL_SECONDS
