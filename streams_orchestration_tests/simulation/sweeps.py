"""The sweeps of simulated hosts: each list of files is a step, at which a host can stop until another replaces it.

Processes that collect garbage can be told from others, too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any
from unittest.mock import patch

from streams_orchestration.runtime.hosts import queries
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.units import garbage
from streams_orchestration.runtime.units.garbage import Swept, sweep
from streams_orchestration_tests.simulation.scheduler import Scheduler, SimulatedProcess

LIST = "list of a sweep"
"""The step before a sweep lists files."""
_SWEPT = "PE that is swept"
_COLLECTS = "it collects garbage"


def swept_pe(process: SimulatedProcess) -> int | None:
    """Return the PE that a host sweeps at present."""
    return process.state.get(_SWEPT)


def collects(process: SimulatedProcess) -> bool:
    """Return True if a host collects garbage at present while its queries run."""
    return bool(process.state.get(_COLLECTS))


@contextlib.contextmanager
def installed(scheduler: Scheduler) -> Iterator[None]:
    """Let a step come before each list of files of a sweep within a block, and processes that collect be marked."""
    below, collect = Store.below, garbage.collect_garbage

    def collected(*given: Any) -> int:
        if scheduler.current is None:
            return collect(*given)
        state = scheduler.current.process.state
        state[_COLLECTS] = True
        try:
            return collect(*given)
        finally:
            del state[_COLLECTS]

    def listed(store: Store, directory: str) -> list[str]:
        if scheduler.current is not None and swept_pe(scheduler.current.process) is not None:
            scheduler.step(LIST)
        return below(store, directory)

    def swept(catalog: Any, application: str, pes: Collection[int], *more: Any) -> Swept:
        if scheduler.current is None:
            return sweep(catalog, application, pes, *more)
        state = scheduler.current.process.state
        (state[_SWEPT],) = pes
        try:
            return sweep(catalog, application, pes, *more)
        finally:
            del state[_SWEPT]

    with (
        patch.object(Store, "below", listed),
        patch.object(queries, "sweep", swept),
        patch.object(garbage, "collect_garbage", collected),
    ):
        yield
