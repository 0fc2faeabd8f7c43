"""The state machine of a consistent region does what the traces of Streams say, and keeps its promises on any other."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.stage_results import RestartPolicy
from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND, FilesKind, NamedKind
from streams_orchestration.runtime.units.region_events import (
    BegunAgain,
    CheckpointDone,
    DrainReported,
    Event,
    FailureCause,
    Healthy,
    ResetDone,
    ResetRequested,
    SourcesEnded,
    TimerFired,
)
from streams_orchestration.runtime.units.region_machine import LIMIT, begins_reset, step
from streams_orchestration.runtime.units.region_record import (
    LATELY_SECONDS,
    RegionRecord,
    RegionSettings,
)
from streams_orchestration_tests.specs import CASES

TRACES = yaml.safe_load((CASES / "region_traces.yaml").read_text())
PES = {"p": 1, "q": 2}
MEMBERS = frozenset(PES.values())
GIVE_UP_SECONDS = 12.0
SERVICE = NamedKind("service")

PLAIN: dict[str, Event] = {
    "healthy": Healthy(),
    "unhealthy": FailureCause("a PE is gone"),
    "reset": ResetRequested(),
    "forced reset": ResetRequested(force=True),
    "forced reset unhealthy": ResetRequested(force=True, healthy=False),
    "sources ended": SourcesEnded(),
}


def event(text: str, record: RegionRecord) -> Event:
    """Return an event as a trace writes it."""
    if text in PLAIN:
        return PLAIN[text]
    if text == "timer":
        return TimerFired(record.timer or "drain", record.timer_number)
    if text == "old timer":
        return TimerFired("drain", record.timer_number)
    kind, _, name = text.partition(" ")
    if kind in ("unhealthy", "outside"):
        return FailureCause(f"{name} failed", kind=NamedKind(name), outside=kind == "outside")
    numbers = [PES.get(word) or int(word) for word in re.findall(r"\b[pq]\b|\d+", text)]
    kinds = {"done": CheckpointDone, "reset": ResetDone, "drain": DrainReported}
    return kinds[re.match(r"\w+", text)[0]](*numbers)  # type: ignore[index]


def messages(before: RegionRecord, after: RegionRecord, each: Event) -> list[str]:
    """Return what a controller of Streams sends to the PEs for a step, as a trace writes it (B13)."""
    if begins_reset(before, after):
        return [f"triggerReset(seq={after.completed_epoch}, attempt={after.attempt})"]
    if after.state == before.state:
        return []
    if after.state == "DRAINING" and not isinstance(each, DrainReported):
        return [f"triggerDrain({after.current_epoch})"]
    if after.state == "PROCESSING" and before.state in ("DRAINING", "RESETTING"):
        return [f"resumeSubmission(next={after.current_epoch})"]
    return [f"resetFailed({after.completed_epoch})"] if after.state == LIMIT else []


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: trace["id"])
def test_the_machine_follows_the_traces_of_streams(trace: dict[str, Any]):
    config = trace["config"]
    restart = RestartPolicy(limit=config.get("limit", 1000.0))
    settings = RegionSettings(MEMBERS, config["period"], 180.0, 180.0, config["max"], restart)
    record = RegionRecord.first(settings.attempts)
    if before := trace.get("before"):
        record = replace(record, **before)
        if record.state == "PROCESSING":
            record = record.arm("period", 0.0, settings.period)
    for number, wanted in enumerate(trace["steps"], start=1):
        before, each = record, event(wanted["ev"], record)
        record = step(settings, record, each, float(number))
        actual = {
            "state": record.state,
            "sent": messages(before, record, each),
            "cur": record.current_epoch,
            "last": record.completed_epoch,
            "attempts": record.attempts,
            "max": record.max_attempts,
            "timer": record.timer,
            "finished": sorted(record.done),
        }
        expected = {key: value for key, value in wanted.items() if key != "ev"}
        assert {key: actual[key] for key in expected} == expected, f"step {number}: {wanted['ev']}"


small = st.integers(0, 6)
EVENTS = st.one_of(
    st.sampled_from(list(PLAIN.values())),
    st.builds(FailureCause, st.just("it failed"), st.sampled_from(["", "a", "b"]), st.booleans()),
    st.builds(CheckpointDone, st.sampled_from([1, 2]), small),
    st.builds(ResetDone, st.sampled_from([1, 2]), small, small),
    st.builds(DrainReported, small),
    st.builds(TimerFired, st.sampled_from(["period", "drain", "reset"]), small),
    st.builds(BegunAgain, small, st.booleans(), st.sampled_from([None, "it was stopped within an epoch"])),
    st.sampled_from(["the timer", "every report"]),
)


@given(events=st.lists(EVENTS, max_size=60), period=st.sampled_from([None, 10.0]), attempts=st.integers(1, 4))
def test_the_machine_keeps_its_promises_in_any_course(events: list[Any], period: float | None, attempts: int):
    settings = RegionSettings(MEMBERS, period, 20.0, 30.0, attempts, RestartPolicy(limit=GIVE_UP_SECONDS))
    record = RegionRecord.first(settings.attempts)
    used: set[int] = set()
    for at, given_event in enumerate(events, start=1):
        for each in concrete(given_event, record):
            before = record
            record = step(settings, before, each, float(at))
            if isinstance(each, BegunAgain):
                check_beginning(settings, before, record, each)
                used.discard(record.current_epoch)  # the PEs close the epoch that they were in
            else:
                check(settings, before, record, each, used)
            check_counts(settings, before, record, at)


def concrete(given_event: Any, record: RegionRecord) -> list[Event]:
    if given_event == "the timer":
        return [TimerFired(record.timer or "reset", record.timer_number)]
    if given_event == "every report":
        if record.state == "RESETTING":
            return [ResetDone(pe, record.completed_epoch, record.attempt) for pe in MEMBERS]
        return [CheckpointDone(pe, record.current_epoch) for pe in MEMBERS]
    return [given_event]


def check(settings: RegionSettings, before: RegionRecord, after: RegionRecord, each: Event, used: set[int]) -> None:
    assert after.current_epoch >= before.current_epoch > before.completed_epoch, "sequence ids grow"
    assert after.completed_epoch >= before.completed_epoch
    assert after.completed_epoch < after.current_epoch
    if after.state == "DRAINING" != before.state and not isinstance(each, DrainReported):
        assert after.current_epoch == before.current_epoch
        assert after.current_epoch not in used, "a sequence id is used once (B4)"
        used.add(after.current_epoch)
    if after.timer == "reset" and after.timer_number > before.timer_number:
        assert (after.state, after.completed_epoch) == ("RESETTING", before.completed_epoch), "to the last complete one"
        assert before.attempts == after.attempt == after.attempts - 1 < after.max_attempts
        if isinstance(each, ResetRequested) and each.force:
            assert after.max_attempts in (before.max_attempts, before.attempts + settings.attempts)
    else:
        assert not begins_reset(before, after)
    if after.completed_epoch > before.completed_epoch:
        assert after.completed_epoch in used or settings.period is None
        assert (after.attempts, after.max_attempts) == (0, settings.attempts), "given back by a checkpoint only (B5)"
    elif not begins_reset(before, after):
        assert after.attempts == before.attempts
    if before.state == "RESETTING" and after.state == "PROCESSING":
        assert after.current_epoch == before.current_epoch + 1, "a completed reset burns a sequence id (B4)"
    if before.state == LIMIT and after.state != LIMIT:
        assert isinstance(each, ResetRequested)
        assert each.force
    timers = {"DRAINING": "drain", "RESETTING": "reset"}
    periodic = "period" if settings.period is not None else None
    assert after.timer == timers.get(after.state, periodic if after.state == "PROCESSING" else None)
    assert (after.timer is None) == (after.deadline is None)
    assert after.timer_number >= before.timer_number
    assert len(after.drains.seconds) <= 10
    assert len(after.resets.seconds) <= 10


def check_beginning(settings: RegionSettings, before: RegionRecord, after: RegionRecord, each: BegunAgain) -> None:
    assert (after.state, after.timer, after.deadline) == ("STARTED", None, None)
    assert (after.current_epoch, after.completed_epoch) == (
        max(before.current_epoch, each.sequence),
        before.completed_epoch,
    )
    assert (after.dirty, after.cause) == (each.cause is not None, each.cause)
    assert (after.kind, after.give_up_at) == (NO_KIND, None), "the limits of the cause before"
    kept = (0, settings.attempts) if each.forgives else (before.attempts, before.max_attempts)
    assert (after.attempts, after.max_attempts) == kept


def check_counts(settings: RegionSettings, before: RegionRecord, after: RegionRecord, at: int) -> None:
    """No cause gets more attempts than are configured, unless it is forced; one outside gets time in their place."""
    if begins_reset(before, after) and after.give_up_at is not None:
        assert at < after.give_up_at <= at + GIVE_UP_SECONDS
        assert after.max_attempts - after.attempts == before.max_attempts - before.attempts
    if after.state == LIMIT != before.state:
        assert before.attempts > 0
        assert after.attempts == before.attempts
    if after.completed_epoch > before.completed_epoch:
        assert (after.kind, after.tries, after.give_up_at) == (NO_KIND, (), None), "progress forgets all causes"
    assert sum(each.number for each in after.tries) <= after.attempts
    assert len({each.kind for each in after.tries}) == len(after.tries)
    for each in after.tries:
        if each.kind not in (after.kind, before.kind):
            assert each == before.tried(each.kind, 0.0), "other causes keep their counts"


@pytest.mark.parametrize(("seconds", "kept"), [(LATELY_SECONDS - 1.0, 3), (LATELY_SECONDS, 0)])
def test_resets_for_files_are_counted_over_complete_epochs_for_a_while(seconds: float, kept: int):
    """An epoch without tuples needs no file, so it may be complete on a machine with a broken disk.

    Limits and pauses of resets go by the count that each complete epoch ends.
    """
    settings, kind = RegionSettings(MEMBERS, 10.0, 20.0, 30.0), FilesKind(0, "north")
    record = step(settings, RegionRecord.first(settings.attempts), Healthy(), 0.0)
    for at in (0.0, 1.0, seconds):
        failure = FailureCause("it failed", kind=kind, outside=True)
        for each in (failure, Healthy(), "every report", "the timer", "every report"):
            assert record.tried(kind, at).number == (each not in (failure, Healthy()))
            for one in concrete(each, record):
                record = step(settings, record, one, at)
        assert record.state == "PROCESSING"
    assert (record.kind, record.give_up_at) == (NO_KIND, None)
    assert [(each.kind, each.number, each.lately) for each in record.tries] == [(kind, kept, True)] * (kept > 0)


@given(st.lists(st.sampled_from(["a", "b", "c"]), max_size=40), st.integers(1, 4))
def test_no_cause_within_the_application_gets_more_attempts_than_are_configured(kinds: list[str], attempts: int):
    settings = RegionSettings(MEMBERS, 10.0, 20.0, 30.0, attempts)
    record = step(settings, RegionRecord.first(settings.attempts), Healthy(), 0.0)
    resets: Counter[str] = Counter()
    for at, kind in enumerate(kinds, start=1):
        record = step(settings, record, FailureCause("it failed", kind=NamedKind(kind)), float(at))
        before, record = record, step(settings, record, Healthy(), float(at))
        used_up = resets[kind] == attempts
        assert (record.state == LIMIT) == used_up
        if used_up:
            return
        resets[kind] += 1
        assert begins_reset(before, record)


def test_an_outage_is_answered_until_the_restart_limit_however_many_resets_that_takes():
    settings = RegionSettings(MEMBERS, 10.0, 20.0, 30.0, 2, RestartPolicy(pause=1.0, limit=600.0))
    record = step(settings, RegionRecord.first(settings.attempts), Healthy(), 0.0)
    for at in range(100, 700, 5):
        record = step(settings, record, FailureCause("no answer", kind=SERVICE, outside=True), float(at))
        record = step(settings, record, Healthy(), float(at))
        assert record.state == "RESETTING"
    record = step(settings, record, FailureCause("no answer", kind=SERVICE, outside=True), 700.0)
    record = step(settings, record, Healthy(), 700.0)
    assert (record.state, record.completed_epoch) == (LIMIT, 0)


@given(events=st.lists(EVENTS, max_size=30), stale=EVENTS)
def test_a_late_event_changes_nothing(events: list[Any], stale: Any):
    settings = RegionSettings(MEMBERS, 10.0)
    record = RegionRecord.first(settings.attempts)
    for at, given_event in enumerate(events, start=1):
        for each in concrete(given_event, record):
            record = step(settings, record, each, float(at))
    late: list[Event] = [
        TimerFired(record.timer or "drain", record.timer_number - 1),
        CheckpointDone(1, record.completed_epoch),
        ResetDone(1, record.completed_epoch, record.attempt - 1),
    ]
    for each in late:
        assert step(settings, record, each, 99.0) == record


def test_times_are_averages_of_the_last_ten():
    settings = RegionSettings(MEMBERS, 10.0)
    record = step(settings, RegionRecord.first(settings.attempts), Healthy(), 0.0)
    assert record.deadline == 10.0
    for number in range(1, 13):
        began = 100.0 * number
        record = step(settings, record, TimerFired("period", record.timer_number), began)
        for pe in MEMBERS:
            record = step(settings, record, CheckpointDone(pe, number), began + number)
    assert record.drains.sequence == 12
    assert record.drains.at == record.since == 1212.0
    assert record.deadline == 1222.0, "the period counts from the end of the drain (B7)"
    assert record.drains.seconds == tuple(map(float, range(3, 13)))
    assert record.drains.average == 7.5


def test_a_request_for_a_unit_with_a_failure_outside_of_the_application_uses_up_no_attempt():
    settings = RegionSettings(MEMBERS, 10.0, 20.0, 30.0, 2)
    record = step(settings, RegionRecord.first(settings.attempts), Healthy(), 0.0)
    failure = FailureCause("no answer", kind=SERVICE, outside=True)
    record = step(settings, record, ResetRequested(failure=failure), 1.0)
    assert (record.cause, record.kind) == ("no answer", SERVICE)
    assert record.max_attempts - record.attempts == 2
