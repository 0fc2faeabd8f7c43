"""Savepoints of applications whose PEs are stepped by hand."""

from __future__ import annotations

from collections.abc import Callable
from unittest.mock import patch

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.runtime.engine.port import Engine
from streams_orchestration.runtime.savepoints import creating
from streams_orchestration.runtime.savepoints.creating import Created
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.holding import HeldUnits
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import create_savepoint, restore
from streams_orchestration_tests.runtime.redeployed import adopt, drained


def take(local: LocalApplication, name: str = "point") -> Created:
    """Take a savepoint of an application that runs: its PEs are stepped until it is at rest."""

    def step(held: HeldUnits) -> bool:
        drained(local, list(held.names))
        return True

    with patch.object(creating, "postpone_if_drained", step):
        return create_savepoint(local.home, local.name, name)


def begun(
    home: Home, compilation: PlannedCompilation, place: SavepointPlace, *drop: str, fresh: bool = False, limit: int = 4,
    engine: Callable[[], Engine] | None = None,
) -> LocalApplication:  # fmt: skip
    """An application that goes on from a savepoint."""
    restore(home, deployable(compilation), place, drop_state=drop, fresh=fresh)
    local = LocalApplication(home, compilation, limit, engine)
    adopt(local)
    return local
