"""The refusal to start hosts from a process with which they would end, such as a run in a container of its own."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.machines.register import registered

_REASON: ContextVar[str | None] = ContextVar("why hosts would end with this process", default=None)


class ShortLivedProcessError(StreamsRuntimeError):
    """Hosts would end with the process that starts them, and no machine is registered for them."""

    def __init__(self, application: str, reason: str) -> None:
        super().__init__(
            f"no host of {application} is started: {reason}, and hosts that it starts would end with it. Keep `streams "
            "agent` running on the machines, or in the containers, that are to have the hosts "
            "(docs/dagster.md#runs-in-containers)."
        )


@contextmanager
def starting_by_agents(reason: str | None) -> Generator[None]:
    """Let only agents start hosts within the block, on registered machines.

    Args:
        reason: a clause that says why hosts would end with this process; None lets this process start hosts, too.
    """
    token = _REASON.set(reason)
    try:
        yield
    finally:
        _REASON.reset(token)


def require_lasting_hosts(catalog: Catalog, application: str) -> None:
    """Check that hosts which are started now do not end with this process.

    `launch_hosts` checks it for all callers. Callers that change something before they start hosts check it first.

    Raises:
        ShortLivedProcessError: they would, and no machine is registered.
    """
    reason = _REASON.get()
    if reason is None:
        return
    with catalog.read() as connection:
        machines = registered(connection)
    if not machines:
        raise ShortLivedProcessError(application, reason)
