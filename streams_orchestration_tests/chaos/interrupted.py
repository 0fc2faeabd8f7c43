"""A reset that dies somewhere: `python -m streams_orchestration_tests.chaos.interrupted HOME APP UNIT PLACE`."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import claims
from streams_orchestration.runtime.deployment import reset as resetting
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units import controller

PLACES = ("nowhere", "in the transaction", "behind the transaction", "behind the launch of a host")


def die(*_: Any, **__: Any) -> Any:
    """End this process as a kill does."""
    os.kill(os.getpid(), signal.SIGKILL)


def after(call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes the call, then dies."""

    def called(*arguments: Any, **named: Any) -> Any:
        call(*arguments, **named)
        die()

    return called


def main(home: str, application: str, unit: str, place: str) -> None:
    """Reset the unit, up to the place."""
    if place == "in the transaction":
        controller.roll_back = after(controller.roll_back)
    elif place == "behind the transaction":
        resetting.start_missing_hosts = die
    elif place == "behind the launch of a host":
        claims.launch_host = after(claims.launch_host)
    resetting.reset_unit(Catalog(Home(Path(home))), application, unit, force=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
