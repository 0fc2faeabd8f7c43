"""The states that the catalog holds, and the other columns with a fixed set of values."""

from __future__ import annotations

from typing import Literal

ApplicationState = Literal["RUNNING", "WAITING", "COMPLETED", "STOPPED"]
"""State of an application. It is shown as WAITING while one of its hosts is WAITING; the catalog then holds RUNNING."""
WantedState = Literal["RUNNING", "STOPPED", "REMOVED"]
"""State that an application is to have. It is REMOVED once its files are being removed: then it cannot run again."""
HostState = Literal["WAITING", "STARTING", "RUNNING", "COMPLETED", "STOPPED", "FAILED"]
"""State of a host. It is WAITING while no machine takes it."""
MachineState = Literal["UP", "DRAINING", "DOWN"]
"""State of a machine: it accepts hosts, or its hosts are to move away, or its agent has ended."""
PeState = Literal["WANTED", "STARTING", "RUNNING", "COMPLETED", "STOPPED", "FAILED"]
RegionState = Literal[
    "STARTED",
    "PROCESSING",
    "DRAINING",
    "RESETTING",
    "UNHEALTHY",
    "MAXIMUM_RESET_ATTEMPTS_REACHED",
]
"""States of a region (B1). State is part of every commit, so there is no CHECKPOINT_PENDING."""
UnitState = RegionState | Literal["COMPLETED", "STOPPED"]
ENDED = ("COMPLETED", "STOPPED")
"""States of an application, a unit, a host or a PE that is not to work; the state machine of such a unit does nothing.
"""
Timer = Literal["period", "drain", "reset"]
"""Kinds of a unit's deadline: a period's end, or the timeout of a drain or of a reset."""
TrialState = Literal["OPEN", "PASSED", "REVERTED"]
"""State of a redeploy: it may still be reverted, it is final, or the previous plan was restored."""
EventKind = Literal[
    "unhealthy",
    "taken up",
    "reset began",
    "reset done",
    "first commit",
    "attempts used up",
    "cut lost",
    "cut restored",
    "host leaves",
    "host stays",
]


def state_in_effect(wanted: WantedState, state: ApplicationState) -> ApplicationState:
    """Return the state of an application: stopped if it is neither complete nor wanted to run, even if its row lags.

    A complete application that is partly removed is stopped, too, since its results may be gone.

    Args:
        wanted: the column `wanted` of its row.
        state: the column `state`.
    """
    return state if wanted == "RUNNING" or (wanted == "STOPPED" and state == "COMPLETED") else "STOPPED"


def heard_at(launched_at: float, heartbeat_at: float | None) -> float:
    """Return the unix time of a host's last sign of life: its last heartbeat, or its launch if that is later.

    Args:
        launched_at: the time of the launch, in unix seconds.
        heartbeat_at: the time of the last heartbeat; None before the first one.
    """
    return max(heartbeat_at or 0.0, launched_at)


def waits_for_reset(state: UnitState, *, dirty: bool) -> bool:
    """Return True if a unit waits for a reset.

    Args:
        state: the state of the unit.
        dirty: True if the unit cannot start without a reset.
    """
    return state == "UNHEALTHY" or (state == "STARTED" and dirty)
