"""The state machine of a consistent region: (record, event) -> record, and nothing else (B1 to B12).

Timers are part of the record: the one that runs, its deadline and its number. The caller of the machine sends
`TimerFired` when the deadline has passed.
"""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.runtime.catalog.cause_kinds import TIMEOUT
from streams_orchestration.runtime.catalog.states import Timer
from streams_orchestration.runtime.units.region_events import (
    REQUESTED,
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
from streams_orchestration.runtime.units.region_record import RegionRecord, RegionSettings

WORKING = ("PROCESSING", "DRAINING", "RESETTING")
"""The states in which a PE that does not run makes the region unhealthy."""
LIMIT = "MAXIMUM_RESET_ATTEMPTS_REACHED"
"""The state of a region for which no reset attempt is left."""
HALTED = ("UNHEALTHY", LIMIT)
"""The states of a region between a failure and its reset, in which its PEs neither plan nor commit."""


def step(settings: RegionSettings, record: RegionRecord, event: Event, at: float) -> RegionRecord:
    """Return the record after one event.

    Args:
        settings: the settings of the region.
        record: the record before the event.
        event: the event; if it does not fit the state, nothing changes.
        at: unix seconds.
    """
    match event:
        case Healthy():
            return _healthy(settings, record, at)
        case FailureCause():
            if record.state in WORKING:
                return record.enter("UNHEALTHY", at).blame(settings, at, event)
            if record.state == "STARTED":
                known = record if record.cause else record.blame(settings, at, event)
                return replace(known, dirty=True)
        case TimerFired(timer, number):
            if record.timer == timer and record.timer_number == number:
                return _fired(settings, record, at)
        case DrainReported(sequence):
            if record.state == "PROCESSING" and settings.period is None and sequence == record.current_epoch:
                return _drain(settings, record, at)
        case SourcesEnded():
            if record.state == "PROCESSING":
                return _drain(settings, record, at)
        case CheckpointDone(pe, sequence):
            if (
                record.state == "DRAINING" and sequence == record.current_epoch
            ):  # else of a drain that was abandoned (B6)
                return _stored(settings, replace(record, done=record.done | {pe}), at)
        case ResetDone(pe, sequence, attempt):
            if (record.state, record.completed_epoch, record.attempt) == ("RESETTING", sequence, attempt):
                return _restored(settings, replace(record, done=record.done | {pe}), at)
        case ResetRequested():
            return _requested(settings, record, event, at)
        case BegunAgain():
            return _begun_again(settings, record, event, at)
    return record


def begins_reset(before: RegionRecord, after: RegionRecord) -> bool:
    """Return True if one step has begun a reset: nothing else adds to the attempts of a record."""
    return after.attempts > before.attempts


def explain_timeout(timer: Timer | None, epoch: int, drain_timeout: float, reset_timeout: float) -> str:
    """Return the sentence that a drain took too long if that is the timer, else that a reset took too long.

    Args:
        timer: the kind of the timer that has fired or is due.
        epoch: the epoch that is open.
        drain_timeout: the seconds that a drain may take.
        reset_timeout: the seconds that a reset may take.
    """
    if timer == "drain":
        return f"epoch {epoch} was not complete after the drainTimeout of {drain_timeout:g} s"
    return f"the reset was not done after the resetTimeout of {reset_timeout:g} s"


def _healthy(settings: RegionSettings, record: RegionRecord, at: float) -> RegionRecord:
    if record.state == "STARTED" and not record.dirty:
        return _process(settings, record, at)
    if record.state in ("STARTED", "UNHEALTHY"):
        return _reset(settings, record, at)
    return record


def _fired(settings: RegionSettings, record: RegionRecord, at: float) -> RegionRecord:
    if record.timer == "period":
        return _drain(settings, record, at)
    reason = explain_timeout(record.timer, record.current_epoch, settings.drain_timeout, settings.reset_timeout)
    return _reset(settings, record.blame(settings, at, FailureCause(reason, TIMEOUT)), at)


def _drain(settings: RegionSettings, record: RegionRecord, at: float) -> RegionRecord:
    draining = replace(record.enter("DRAINING", at), began_at=at)
    return draining.arm("drain", at, settings.drain_timeout)


def _stored(settings: RegionSettings, record: RegionRecord, at: float) -> RegionRecord:
    if not settings.members <= record.done:
        return record
    complete = replace(
        record,
        completed_epoch=record.current_epoch,
        current_epoch=record.current_epoch + 1,
        drains=record.drains.add(record.current_epoch, at, at - record.began_at),
    )
    forgiven = complete.forgive(settings.attempts, at)
    return _process(settings, forgiven, at)


def _restored(settings: RegionSettings, record: RegionRecord, at: float) -> RegionRecord:
    if not settings.members <= record.done:
        return record
    restored = replace(
        record,
        current_epoch=record.current_epoch + 1,
        resets=record.resets.add(record.completed_epoch, at, at - record.began_at),
    )
    return _process(settings, restored, at)


def _requested(settings: RegionSettings, record: RegionRecord, event: ResetRequested, at: float) -> RegionRecord:
    if event.force and record.gives_up(at):
        record = record.allow(settings, at)
    if record.state == "STARTED":
        reason = REQUESTED if event.failure is None else event.failure.reason
        return replace(record, dirty=True, cause=record.cause or reason)
    if record.state == "UNHEALTHY" or (record.state == LIMIT and not event.force):
        return record
    if record.state == LIMIT and not event.healthy:
        return record.enter("UNHEALTHY", at)
    if event.failure is not None:
        return _reset(settings, record.blame(settings, at, event.failure), at)
    return _reset(settings, replace(record, cause=REQUESTED), at)


def _begun_again(settings: RegionSettings, record: RegionRecord, event: BegunAgain, at: float) -> RegionRecord:
    known = record.forgive(settings.attempts, at) if event.forgives else record.without_cause()
    begun = replace(known.enter("STARTED", at), current_epoch=max(record.current_epoch, event.sequence))
    return replace(begun, dirty=event.cause is not None, cause=event.cause)


def _reset(settings: RegionSettings, record: RegionRecord, at: float) -> RegionRecord:
    """Begin a reset, or refuse it if no attempt is left (B3)."""
    if record.gives_up(at):
        return replace(record.enter(LIMIT, at), dirty=False)
    begun = replace(record.enter("RESETTING", at).count(at), dirty=False, began_at=at)
    return begun.arm("reset", at, settings.reset_timeout)


def _process(settings: RegionSettings, record: RegionRecord, at: float) -> RegionRecord:
    """Return the record in PROCESSING, with the timer of the period, if there is one, set from now on (B7)."""
    return record.enter("PROCESSING", at).arm("period", at, settings.period)
