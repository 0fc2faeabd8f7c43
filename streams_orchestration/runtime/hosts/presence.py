"""A host's row in the catalog: the host checks there that it is still wanted, and reports its state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVarTuple

from sqlalchemy import Connection, bindparam, select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.host_transitions import (
    OwnHost,
    report_beat,
    report_end,
    report_end_for_files,
    report_start_up,
    report_storage,
    report_up,
)
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.states import HostState, WantedState
from streams_orchestration.runtime.errors.errors import (
    CatalogMissingError,
    StreamsRuntimeError,
    UnusableFilesError,
    explained,
)
from streams_orchestration.runtime.hosts.orphans import record_processes
from streams_orchestration.runtime.processes.processes import ProcessIdentity, family, process_started
from streams_orchestration.runtime.storage.store import StoreError

LAUNCH_SECONDS = 30.0
"""Seconds in which a launcher records a host that it has started; after that, the launcher counts as dead."""
POLL_SECONDS = 0.02

_a, _h = tables.application, tables.host
_WANTED = (
    select(
        *(_a.c.life, _a.c.base, _a.c.settings, _a.c.wanted, _a.c.plan, _a.c.bounded),
        *(_h.c.incarnation, _h.c.launched_at, _h.c.asked_at),
    )
    .join(_h, _h.c.application == _a.c.name)
    .where(_a.c.name == bindparam("of"), _h.c.id == bindparam("host"))
)
Facts = TypeVarTuple("Facts")


class UnwantedHostError(StreamsRuntimeError):
    """The host is no longer wanted. It has to end, and must report nothing."""


@dataclass(frozen=True, slots=True)
class Wanted(CatalogRow):
    """The wanted state of an application, and the wanted incarnation of the host. Times are unix seconds."""

    life: str
    base: str
    settings: dict[str, Any]
    wanted: WantedState
    plan: int
    bounded: str | None
    """The id of the bounded run; None for an endless one."""
    incarnation: str | None
    launched_at: float
    asked_at: float | None
    """The time of the command that launched the host; None if no command did."""


class Presence:
    """The catalog as one incarnation of a host sees it.

    Until `join` has returned, the host counts as unwanted: `row` raises an error, `wanted` returns False, and
    heartbeats and reports write nothing.
    """

    def __init__(self, catalog: Catalog, application: str, host: int, incarnation: str) -> None:
        self.application = application
        self.host = host
        self.incarnation = incarnation
        self._catalog = catalog
        self._place = self._catalog.identity()
        self._me: OwnHost | None = None
        """None until the catalog has named this incarnation as the host's."""
        self._processes: tuple[ProcessIdentity, ...] = ()

    def join(self, patience: float = LAUNCH_SECONDS) -> Wanted:
        """Wait until the catalog names this incarnation as the host's, and return the wanted state.

        Raises:
            UnwantedHostError: this did not happen in `patience` seconds, since the launcher died or another launcher
                was faster; or the catalog was removed or replaced.
            CatalogError: the catalog cannot be read.
        """
        until = world.monotonic() + patience
        while self._place is not None and self._catalog.identity() == self._place:
            row = self._row()
            if row is not None and row.incarnation == self.incarnation:
                self._me = OwnHost(self.application, self.host, self.incarnation, row.life)
                return row
            if world.monotonic() > until:
                break
            world.sleep(POLL_SECONDS)
        message = f"host {self.host} of {self.application}: its launch is not in the catalog {self._catalog.name}"
        raise UnwantedHostError(message)

    def row(self) -> Wanted:
        """Return the row of the host, which has its wanted state.

        Raises:
            UnwantedHostError: the application was dropped or started over, another host was started in place of this
                one, or the catalog was removed or replaced.
            CatalogError: the catalog cannot be read.
        """
        name = f"host {self.host} of {self.application}"
        if self._catalog.identity() != self._place:
            message = f"{name}: the catalog {self._catalog.name} was removed, or replaced by another one"
            raise UnwantedHostError(message)
        try:
            row = self._row()
        except CatalogMissingError:
            row = None
        if row is None or self._me is None or row.life != self._me.life:
            message = f"{name}: the application was dropped or started over"
            raise UnwantedHostError(message)
        if row.incarnation != self.incarnation:
            message = f"{name} was declared dead, and another host was started in its place"
            raise UnwantedHostError(message)
        return row

    def wanted(self) -> bool:
        """Return True if the host is wanted and its application is wanted to run.

        False if the catalog cannot be reached.
        """
        try:
            return self.row().wanted == "RUNNING"
        except StreamsRuntimeError:
            return False

    def _report(self, act: Callable[[Connection, OwnHost, *Facts], None], *facts: *Facts) -> None:
        """Report a fact by a function of `host_transitions`, which also writes a heartbeat.

        Nothing is written before `join` has returned, if another incarnation owns the row now, or if the application or
        the catalog was replaced.
        """
        if self._me is not None and self._catalog.identity() == self._place:
            with self._catalog.write() as connection:
                act(connection, self._me, *facts)

    def report_up(self) -> None:
        """Report that the host runs, and its process: the launcher may have died before it could record that."""
        pid = world.pid()
        self._report(report_up, pid, process_started(pid))

    def report_start_up(self, seconds: Mapping[str, float]) -> None:
        """Report the seconds up to the first committed batch, by phase."""
        self._report(report_start_up, seconds)

    def report_storage(self, error: str | None, since: float | None) -> None:
        """Report why and since when, in unix seconds, the host does not reach the storage; None if it reaches it."""
        self._report(report_storage, error, since)

    def report_end(self, state: HostState, error: str | None = None) -> None:
        """Report the state with which the host ends, and the error if it has failed."""
        self._report(report_end, state, error)

    def report_failure(self, reason: str, error: Exception) -> None:
        """Report that the host ends with an error.

        If the host could not use a file, the row says so, and the host is started on another machine if one takes it.
        """
        of_machine = isinstance(error, StoreError | UnusableFilesError)
        if of_machine or (isinstance(error, OSError) and error.filename is not None):
            why = str(error) if of_machine else explained(error)
            self._report(report_end_for_files, reason, why)
        else:
            self._report(report_end, "FAILED", reason)

    def beat(self) -> None:
        """Write a heartbeat as every report does, but wake no process that waits for changes of the catalog."""
        if self._me is not None and self._catalog.identity() == self._place:
            with self._catalog.note() as connection:
                report_beat(connection, self._me)

    def record_family(self) -> tuple[ProcessIdentity, ...]:
        """Record this process and its descendants in the catalog for `stop_orphans`, if they changed; return them."""
        processes = family(world.pid())
        if processes != self._processes:
            with self._catalog.write() as connection:
                record_processes(connection, self.application, self.host, self.incarnation, processes)
            self._processes = processes
        return processes

    def _row(self) -> Wanted | None:
        with self._catalog.read() as connection:
            return Wanted.one_or_none(connection, _WANTED, {"of": self.application, "host": self.host})
