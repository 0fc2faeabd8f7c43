"""The switches of simulated redeploys, and the records of started hosts: their transactions can be told from others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from streams_orchestration.runtime.redeployment.redeploying import PlanChange
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

_SWITCHES = "it copies states and switches"


def switches(process: SimulatedProcess) -> bool:
    """Return True if a redeploy copies states at present, or switches to its plan."""
    return bool(process.state.get(_SWITCHES))


@contextlib.contextmanager
def installed(scheduler: Scheduler) -> Iterator[None]:
    """Let processes be marked while they switch within a block."""
    switch = PlanChange.carry_and_switch

    def switched(change: PlanChange, *given: Any) -> list[str]:
        if scheduler.current is None:
            return switch(change, *given)
        state = scheduler.current.process.state
        state[_SWITCHES] = True
        try:
            return switch(change, *given)
        finally:
            del state[_SWITCHES]

    with patch.object(PlanChange, "carry_and_switch", switched):
        yield
