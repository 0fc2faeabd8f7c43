"""The events of the state machine of a consistent region, as plain data (B14)."""

from __future__ import annotations

from dataclasses import dataclass

from streams_orchestration.runtime.catalog.cause_kinds import NO_KIND, CauseKind
from streams_orchestration.runtime.catalog.states import Timer

REQUESTED = "it was requested"
"""The cause of a reset that a user or an operator requests while nothing has failed."""


@dataclass(frozen=True, slots=True)
class Healthy:
    """Event: every PE of the region runs."""


@dataclass(frozen=True, slots=True)
class FailureCause:
    """The reason why a unit needs a reset. As an event: a host or a PE of the region does not work."""

    reason: str
    """The reason in words."""
    kind: CauseKind = NO_KIND
    """The kind of the cause, which does not depend on its text; the attempts of each kind are counted separately."""
    outside: bool = False
    """True if the cause is outside of the application, such as a service that is down, so that it passes by itself."""


@dataclass(frozen=True, slots=True)
class TimerFired:
    """Event: a timer has expired. It is ignored if the current timer has another number (B6)."""

    timer: Timer
    number: int


@dataclass(frozen=True, slots=True)
class DrainReported:
    """Event: the trigger operator of an operator-driven region has begun a drain."""

    sequence: int


@dataclass(frozen=True, slots=True)
class SourcesEnded:
    """Event: the region gets no more input, and drains without waiting for its period. Not in IBM Streams (B23)."""


@dataclass(frozen=True, slots=True)
class CheckpointDone:
    """Event: a PE has finished its drain and stored its state."""

    pe: int
    sequence: int


@dataclass(frozen=True, slots=True)
class ResetDone:
    """Event: a PE runs again after it has gone back to the cut."""

    pe: int
    sequence: int
    attempt: int


@dataclass(frozen=True, slots=True)
class ResetRequested:
    """Event: an operator or a user requests a reset."""

    force: bool = False
    healthy: bool = True
    """True if every PE runs; this matters only for a forced reset of a region that has given up."""
    failure: FailureCause | None = None
    """The failure of the region that the state machine may not know yet; None if all its hosts and PEs work."""


@dataclass(frozen=True, slots=True)
class BegunAgain:
    """Event: every PE of the region continues in a new generation, after a stop or at its cut. Not in IBM Streams."""

    sequence: int
    """The sequence id of the next drain: the lowest epoch in which a PE continues."""
    forgives: bool = True
    """True if the resets before no longer count, as after a complete checkpoint."""
    cause: str | None = None
    """The reason why the PEs must first go back to the cut; None if they need not."""


Event = (
    Healthy
    | FailureCause
    | TimerFired
    | DrainReported
    | SourcesEnded
    | CheckpointDone
    | ResetDone
    | ResetRequested
    | BegunAgain
)
