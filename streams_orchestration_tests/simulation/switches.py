"""The switches of simulated redeploys, and the records of started hosts: their transactions can be told from others."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from streams_orchestration.runtime.redeployment import redeploying
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

_SWITCHES = "it copies states and switches"


def switches(process: SimulatedProcess) -> bool:
    """Return True if a redeploy copies states at present, or switches to its plan."""
    return bool(process.state.get(_SWITCHES))


@contextlib.contextmanager
def installed(scheduler: Scheduler) -> Iterator[None]:
    """Let processes be marked while they switch within a block."""

    def marked(step: Callable[..., Any]) -> Callable[..., Any]:
        def marks(*given: Any) -> Any:
            if scheduler.current is None:
                return step(*given)
            state = scheduler.current.process.state
            state[_SWITCHES] = True
            try:
                return step(*given)
            finally:
                del state[_SWITCHES]

        return marks

    with (
        patch.object(redeploying, "carry_over", marked(redeploying.carry_over)),
        patch.object(redeploying, "switch_over", marked(redeploying.switch_over)),
    ):
        yield
