"""The states that the catalog holds, and the words of its other columns that take one of a few."""

from __future__ import annotations

from typing import Literal

ApplicationState = Literal["RUNNING", "WAITING", "COMPLETED", "STOPPED", "FAILED"]
"""State of an application. It is WAITING while a host of it is; the catalog holds RUNNING then."""
HostState = Literal["WAITING", "STARTING", "RUNNING", "COMPLETED", "STOPPED", "FAILED"]
"""State of a host. It is WAITING while no machine takes it."""
MachineState = Literal["UP", "DRAINING", "DOWN"]
"""State of a machine: hosts may be started there, or are to leave it, or its agent has ended."""
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
UnitState = RegionState | Literal["COMPLETED", "STOPPED", "FAILED"]
Timer = Literal["period", "drain", "reset"]
"""Kinds of the timer of a unit: what its deadline ends."""
TrialState = Literal["OPEN", "PASSED", "REVERTED"]
"""State of a redeploy: it may still be reverted, or it is final, or the previous plan was brought back."""
EventKind = Literal[
    "unhealthy", "taken up", "reset began", "reset done", "first commit", "attempts used up", "cut lost", "cut restored"
]
