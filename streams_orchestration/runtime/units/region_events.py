"""Events of a consistent region, and the actions that its state machine requests in turn: plain data (B13, B14)."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.runtime.catalog.states import Timer


@dataclass(frozen=True, slots=True)
class Healthy:
    """Event: every PE of the region runs."""


@dataclass(frozen=True, slots=True)
class Unhealthy:
    """Some PE is not there, and why."""

    cause: str
    kind: str = ""
    """Identifies causes that are alike, whatever their text: the attempts of each kind are counted apart."""
    outside: bool = False
    """True if the cause is outside of the application, such as a service that is away, so that it passes by itself."""


@dataclass(frozen=True, slots=True)
class TimerFired:
    """A timer has run out; one of an older number is ignored (B6)."""

    timer: Timer
    number: int


@dataclass(frozen=True, slots=True)
class DrainReported:
    """The trigger operator of an operator-driven region has begun a drain."""

    sequence: int


@dataclass(frozen=True, slots=True)
class SourcesEnded:
    """Event: nothing comes into the region any more. It drains without waiting for the period. Not in Streams (B23)."""


@dataclass(frozen=True, slots=True)
class CheckpointDone:
    """A PE has finished its drain and stored its state."""

    pe: int
    sequence: int


@dataclass(frozen=True, slots=True)
class ResetDone:
    """A PE stands at the cut again, and runs."""

    pe: int
    sequence: int
    attempt: int


@dataclass(frozen=True, slots=True)
class ResetRequested:
    """An operator or a user wants a reset."""

    force: bool = False
    healthy: bool = True
    """Every PE is there; matters to a forced one only."""
    cause: str = "it was requested"


Event = Healthy | Unhealthy | TimerFired | DrainReported | SourcesEnded | CheckpointDone | ResetDone | ResetRequested


@dataclass(frozen=True, slots=True)
class TriggerDrain:
    """Start operators end the epoch."""

    sequence: int


@dataclass(frozen=True, slots=True)
class TriggerReset:
    """Action: every PE goes back to a complete sequence id."""

    sequence: int
    attempt: int


@dataclass(frozen=True, slots=True)
class Resume:
    """Action: every PE goes on in the sequence id `next`."""

    next: int


@dataclass(frozen=True, slots=True)
class ResetFailed:
    """The attempts are used up."""

    sequence: int


Action = TriggerDrain | TriggerReset | Resume | ResetFailed
