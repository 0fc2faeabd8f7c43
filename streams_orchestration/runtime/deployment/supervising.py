"""One step of watching an application: look at it, and begin the resets that its failures need.

The loops of `streams run`, of Dagster's bounded runs and of its sensor take this step. They differ in their pauses,
their ends and their displays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.units.failures import UnitFailure
from streams_orchestration.runtime.units.reset_decisions import KnownFailure, ResetDecisions, decide_resets
from streams_orchestration.runtime.units.status import UnitsStatus

Seen = TypeVar("Seen", bound=UnitsStatus)


def supervise(
    look: Callable[[], Seen],
    known: Mapping[str, KnownFailure],
    begin: Callable[[UnitFailure], object],
    *,
    patience: float = 0.0,
    now: Callable[[], float] = clock.now,
) -> tuple[Seen, ResetDecisions]:
    """Look at an application once, and begin the resets of its units that are due.

    Args:
        look: records the changes of the application's units, and returns its status.
        known: the `known` of the decisions of the last step; empty at the first one.
        begin: begins the reset that a failure needs; see `reset_failed_unit`.
        patience: seconds in which other processes may answer a failure first.
        now: the clock, in unix seconds.

    Returns:
        The status, and the decisions; all resets among them have begun.
    """
    status = look()
    decisions = decide_resets(status, now(), known, patience=patience)
    for request in decisions.resets:
        begin(request.failure)
    return status, decisions
