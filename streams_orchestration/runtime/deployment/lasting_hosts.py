"""The refusal to start hosts from a process with which they would end, such as a run in a container of its own."""

from __future__ import annotations

from collections.abc import Collection

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import MachineRow
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.machines.register import registered
from streams_orchestration.runtime.storage.home import Home


class ShortLivedProcessError(StreamsRuntimeError):
    """Hosts would end with the process that starts them, and no machine is registered for them."""

    def __init__(self, application: str, reason: str) -> None:
        super().__init__(
            f"no host of {application} is started: {reason}, and hosts that it starts would end with it. Keep `streams "
            "agent` running on the machines, or in the containers, that are to have the hosts "
            "(docs/dagster.md#runs-in-containers)."
        )


def require_lasting_hosts(catalog: Catalog, application: str) -> None:
    """Check that hosts which are started now do not end with this process, before anything else is changed.

    The claim of hosts checks it for all callers, by `refuse_short_lived`.

    Raises:
        ShortLivedProcessError: they would, and no machine is registered.
    """
    if catalog.home.short_lived is None:
        return
    with catalog.read() as connection:
        machines = registered(connection)
    refuse_short_lived(catalog.home, application, machines)


def refuse_short_lived(home: Home, application: str, machines: Collection[MachineRow]) -> None:
    """Raise ShortLivedProcessError if hosts of this process would end with it, and no machine is registered."""
    if home.short_lived is not None and not machines:
        raise ShortLivedProcessError(application, home.short_lived)
