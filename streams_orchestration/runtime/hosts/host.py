"""A host: a detached process with one engine that brings its PEs to the state that the catalog wants.

Others write the wanted state into the catalog. The host reads it there, and reports the actual state.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from sqlalchemy import bindparam, select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import held_units
from streams_orchestration.runtime.catalog.outage import SETTLE_SECONDS, Outage
from streams_orchestration.runtime.catalog.place_of_files import check_place
from streams_orchestration.runtime.catalog.states import HostState
from streams_orchestration.runtime.engine.port import Engine
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, StreamsRuntimeError
from streams_orchestration.runtime.hosts.heartbeat import Heartbeat
from streams_orchestration.runtime.hosts.janitor import Janitor
from streams_orchestration.runtime.hosts.presence import Presence, Wanted
from streams_orchestration.runtime.hosts.queries import Queries
from streams_orchestration.runtime.hosts.receivers import Receivers
from streams_orchestration.runtime.hosts.start_up import StartUp, StartUpReport
from streams_orchestration.runtime.hosts.storage_watch import StorageWatch
from streams_orchestration.runtime.hosts.turn_rows import read_turn_rows
from streams_orchestration.runtime.hosts.unit_observer import OBSERVE_SECONDS, UnitObserver
from streams_orchestration.runtime.lineage.reporter import reporter
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes, units_on, units_timed_by
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.bounded_run import end_bounded_run
from streams_orchestration.runtime.units.unusable_files import require_usable_files
from streams_orchestration.runtime.units.watch import PeOfUnit

MIN_INTERVAL_SECONDS = 0.1
"""Least seconds between two turns of the main loop, however often the catalog changes."""
MAX_INTERVAL_SECONDS = 5.0
"""The most seconds between two turns of the main loop: it also turns without an event, for safety."""
SHUTDOWN_SECONDS = 15.0
"""The most seconds that a stop waits for the batch under way."""

_p, _u = tables.pe, tables.unit
_OPEN_PES = select(_p.c.id).where(_p.c.application == bindparam("of"), _p.c.host == bindparam("host"), ~_p.c.final)
_OPEN_UNITS = select(_u.c.name).where(
    _u.c.application == bindparam("of"), _u.c.name.in_(bindparam("units", expanding=True)), _u.c.state != "COMPLETED"
)

log = logging.getLogger("streams.host")


class Host:
    """The loop of one host. Creation waits for its launch in the catalog, and loads the deployed plan.

    Methods raise ImplementationError or ValidationError for an unfit operator, StreamsRuntimeError for a lost unit.
    """

    def __init__(self, home: Home, application: str, number: int, incarnation: str, engine: Engine) -> None:
        self.home = home
        self.application = application
        self.number = number
        self.catalog = Catalog(home)
        self.catalog.check()
        self.outage = Outage()
        self.presence = Presence(self.catalog, application, number, incarnation)
        self.engine = engine
        self.terminated = False
        self.pes: Sequence[PeOfUnit] = ()
        """The rows of the host's PEs at the last turn; empty if another plan was deployed then."""
        row = self.outage.through(self.presence.join)
        self.start_up = StartUpReport(self.presence, StartUp(row.launched_at, row.asked_at))
        settings = Settings(**row.settings)
        self.queries = Queries(self.presence, self.catalog, engine, settings)
        self.heartbeat = Heartbeat(self.presence, settings.hang_limit, self.queries.busy)
        self.plan: int = row.plan
        """Number of the plan whose programs are loaded."""
        self.timed: tuple[str, ...] = ()
        """Units whose epochs this host triggers: it has the lowest number of their hosts."""
        self.observer = UnitObserver(self.catalog, application)
        self.publisher = self.outage.through(lambda: Publisher(self.catalog, application))
        self.receivers = Receivers(self.catalog, application)
        self.janitor = Janitor(self.catalog, application, number, settings.log_size, self.heartbeat)
        self.lineage = reporter(self.catalog, application, number)
        self.outage.through(lambda: self._load(row))

    def run(self) -> HostState:
        """Run until the PEs are complete or no longer wanted; return the state to report.

        Raises:
            Exception: the host cannot continue, for example since this machine's setting names another storage than the
                catalog does; or the engine could not start.
        """
        self.outage.through(self._check_storage)
        self.heartbeat.start()
        StorageWatch(self.home.store, self.presence.report_storage).start()
        self.start_up.reached("imports")
        self.janitor.rotate_logs()  # a host that fails soon after its start tidies nothing
        version = self.engine.wait()
        self.start_up.reached("session")
        self.heartbeat.watch(self.engine)
        self.engine.watch(self.catalog.changes.wake)
        log.info("%s is up", version)
        self.outage.through(self.presence.report_up)
        self.outage.through(self.presence.record_family)
        self.publisher.start()
        self.lineage.start()
        while True:
            try:
                state = self._follow()
                self.heartbeat.stop_checks()
                return state
            except CatalogUnavailableError as error:  # nothing is lost: every step of a turn may be repeated
                self._outlast(error)

    def _check_storage(self) -> None:
        with self.catalog.read() as connection:
            check_place(connection, self.home.store)

    def _outlast(self, error: CatalogUnavailableError) -> None:
        """Wait until the catalog is back, or the engine or host ends; raise UnwantedHostError if unwanted."""
        while not self.terminated and self.engine_end() is None:
            self.heartbeat.note_turn()
            self.outage.wait_or_raise(error)
            try:
                self.presence.row()
            except CatalogUnavailableError as still:
                error = still
            else:
                world.sleep(SETTLE_SECONDS)
                return

    def _follow(self) -> HostState:
        """Run the main loop until the host has to end; return the state to report, `FAILED` if it was terminated."""
        self.janitor.postpone()
        while True:
            mark = self.catalog.changes.mark()
            began = world.monotonic()
            self.heartbeat.note_turn()
            if self.terminated:
                self.stop_all()
                return "FAILED"
            if ended := self.engine_end():
                raise StreamsRuntimeError(ended)
            row = self.presence.row()
            if row.plan != self.plan:
                self._load(row)
            if row.wanted != "RUNNING":
                self._quiesce()
                self.stop_all()
                self.publisher.stop()
                self.lineage.stop()
                return "STOPPED"
            observes = self.observer.advance_if_due(began)
            urgent = self.observer.urgent = self.reconcile()
            if row.bounded is not None:
                end_bounded_run(self.catalog, self.application, list(self.queries.programs.values()))
            self.outage.end()
            self.start_up.note_turn(pe.committed_at for pe in self.pes)
            self.janitor.tidy_if_due(began)
            self._require_files()
            if self.complete_finished():
                self.stop_all()
                self.janitor.clear()
                self.lineage.stop()
                return "COMPLETED"
            next_turn = MIN_INTERVAL_SECONDS if urgent else MAX_INTERVAL_SECONDS if observes else OBSERVE_SECONDS
            self._await_change(mark, began, began + next_turn)

    def _load(self, row: Wanted) -> None:
        """Load the deployed plan, and stop queries of moved PEs. Raises OtherVersionError for unreadable programs."""
        pes = deployed_pes(self.catalog, self.application)
        here = [pe.program for pe in pes if pe.host == self.number]
        self.queries.load(pes, row.base)
        self.plan = row.plan
        self.observer.units = units_on(pes, self.number)
        self.timed = units_timed_by(pes, self.number)
        programs = self.queries.programs.values()
        self.janitor.load(pes, row.plan)
        self.publisher.deliver_to(make_deliverers(self.catalog, self.application, programs, self.timed))
        self.receivers.serve(self.home, here)
        self.lineage.load(pe.program for pe in pes)
        log.info("plan %s: PEs %s", row.plan, ", ".join(str(program.pe) for program in here))

    def _await_change(self, mark: int, began: float, until: float) -> None:
        """Wait for a change, a timer, the end of a host or the engine, or `until`; at least `MIN_INTERVAL_SECONDS`."""
        while not self.terminated and self.engine_end() is None:
            seconds = min(until - world.monotonic(), self.observer.patience())
            if seconds <= 0 or self.catalog.changes.wait(mark, seconds) or not self.observer.neighbours_live():
                break
            self.heartbeat.note_turn()
        world.sleep(max(began + MIN_INTERVAL_SECONDS - world.monotonic(), 0.0))

    def reconcile(self) -> bool:
        """Make the queries match the catalog, and note the PEs, the timers of their units, and which hosts live.

        Returns:
            True if a unit is about to change, a query has not begun, a plan is new, or another host here has died.
        """
        rows = read_turn_rows(self.catalog, self.application, self.number, self.plan)
        self.pes = () if rows is None else rows.pes
        if rows is None:
            return True
        urgent = self.observer.note(rows.pes, rows.others)
        return self.queries.start_and_stop_queries(rows.pes) or urgent

    def complete_finished(self) -> bool:
        """Complete finished units; return True if the host's PEs made their final commits and its units are complete.

        Its units are the units whose epochs it triggers. While a redeploy holds units, the host does not end, since the
        new plan may give it work, and keeps the states of that plan. The hold of a redeploy that has died expires.
        """
        if not self.pes or not all(pe.final for pe in self.pes):
            return False
        of = {"of": self.application}
        with self.catalog.read() as connection:
            is_open = connection.execute(_OPEN_PES, of | {"host": self.number}).first() is not None
            held = held_units(connection, self.application)
        if is_open or held:
            self.janitor.last_sweep.forget()
            return False
        complete(self.catalog, self.application, self.janitor.last_sweep)
        with self.catalog.read() as connection:
            return connection.execute(_OPEN_UNITS, of | {"units": self.timed}).first() is None

    def _require_files(self) -> None:
        """Raise UnusableFilesError if another machine is to publish or remove what this one cannot."""
        failures = self.publisher.unusable(), self.janitor.last_sweep.failure
        require_usable_files(self.catalog, self.application, self.number, failures)

    def _quiesce(self) -> None:
        """Stop the receivers, and wait `SHUTDOWN_SECONDS` at most for batches under way; no new ones begin then."""
        self.receivers.stop()
        until = world.monotonic() + SHUTDOWN_SECONDS
        while world.monotonic() < until and not self.queries.idle:
            world.sleep(0.02)

    def terminate(self) -> None:
        """Make the main loop end as soon as possible. A signal handler may call this method."""
        self.terminated = True
        self.catalog.changes.wake()

    def stop_all(self) -> None:
        """Stop all receivers and queries."""
        self.receivers.stop()
        self.queries.stop_all()

    def engine_end(self, patience: float = 0.0) -> str | None:
        """Return in words how the engine ended, or None if it still runs after `patience` seconds, or is not up yet."""
        return self.heartbeat.engine_end(patience)
