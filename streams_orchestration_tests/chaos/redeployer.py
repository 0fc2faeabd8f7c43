"""A redeploy that waits somewhere: `python -m streams_orchestration_tests.chaos.redeployer HOME PLAN PLACE`.

It says on its output when it is there, and goes on with the next line of its input. At last it says what came of it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.documents import load
from streams_orchestration.runtime.deployment.requests import REDEPLOY_TIMEOUT_SECONDS
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.redeployment import draining, redeploying
from streams_orchestration.runtime.redeployment.state_migration import Carrier
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime import locked

PLACES = ("hold", "drain", "carry", "switch", "reload")
"""Behind the hold; in the drain; behind the writing of states; in the transaction; behind it."""


def waiting(place: str, call: Callable[..., Any], *, before: bool = False) -> Callable[..., Any]:
    """Return a function that waits after the call, or before it; the first time only."""
    waited: list[str] = []

    def wait() -> None:
        if not waited:
            waited.append(place)
            print(f"at {place}", flush=True)
            sys.stdin.readline()

    def called(*arguments: Any, **named: Any) -> Any:
        if before:
            wait()
        result = call(*arguments, **named)
        wait()
        return result

    return called


def main(home: str, plan: str, place: str) -> None:
    """Redeploy, and wait at the place."""
    match place:
        case "hold":
            redeploying.postpone_if_drained = waiting(place, redeploying.postpone_if_drained, before=True)
        case "drain":
            draining.close_epochs = waiting(place, draining.close_epochs)
        case "carry":
            Carrier.carry = waiting(place, Carrier.carry)
        case "switch":
            redeploying.switch = waiting(place, redeploying.switch)
        case "reload":
            redeploying.switch_over = waiting(place, redeploying.switch_over)
    try:
        done = locked.redeploy(
            Home(Path(home)),
            deployable(load(PlannedCompilation, Path(plan).read_bytes())),
            within=REDEPLOY_TIMEOUT_SECONDS,
        )
        reported = {"verdict": done.verdict, "seconds": done.measured_seconds}
    except (StreamsRuntimeError, OSError) as error:
        reported = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps(reported), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
