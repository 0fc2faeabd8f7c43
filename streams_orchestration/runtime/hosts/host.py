"""A host: a detached process with one engine that brings its PEs to the state that the catalog wants.

Others write the wanted state into the catalog. The host reads it there, and reports the actual state.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Collection

from sqlalchemy import bindparam, select

from streams_orchestration import world
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.holds import held_units
from streams_orchestration.runtime.catalog.outage import SETTLE_SECONDS, Outage
from streams_orchestration.runtime.catalog.place_of_files import check_place
from streams_orchestration.runtime.catalog.states import HostState
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.engine.port import Engine
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError, StreamsRuntimeError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.hosts.heartbeat import Heartbeat
from streams_orchestration.runtime.hosts.last_sweep import LastSweep
from streams_orchestration.runtime.hosts.presence import Presence, Wanted
from streams_orchestration.runtime.hosts.queries import Queries
from streams_orchestration.runtime.hosts.receivers import Receivers
from streams_orchestration.runtime.hosts.segments_here import GarbageHere
from streams_orchestration.runtime.hosts.start_up import StartUp
from streams_orchestration.runtime.hosts.storage_watch import StorageWatch
from streams_orchestration.runtime.hosts.unusable_files import require_usable_files
from streams_orchestration.runtime.lineage.reporter import reporter
from streams_orchestration.runtime.logs.log_rotation import rotate_log
from streams_orchestration.runtime.processes.processes import MACHINE, is_alive, is_here
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes, units_on, units_timed_by
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.sinks.completing import clear_after_publishers, complete, flush_removals
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.advancing import advance_application
from streams_orchestration.runtime.units.bounded_run import end_bounded_run
from streams_orchestration.runtime.units.cut_files import check_and_record_cuts
from streams_orchestration.runtime.units.garbage import Garbage, collect_garbage, end_holds_and_find_unknown_pes, sweep
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY
from streams_orchestration.runtime.units.watch import PeOfUnit, changes_soon

MIN_INTERVAL_SECONDS = 0.1
"""Least seconds between two turns of the main loop, however often the catalog changes."""
NEIGHBOURS_SECONDS = 0.5
"""Seconds between two checks that the other hosts of the application live; each only calls the operating system."""
OBSERVE_SECONDS = 0.5
"""Least seconds between two checks of units whose state is not about to change."""
SURVEY_SECONDS = 10.0
"""Seconds between two checks of the units without a PE on this host, in case none of their own hosts lives."""
MAX_INTERVAL_SECONDS = 5.0
"""The most seconds between two turns of the main loop: it also turns without an event, for safety."""
GARBAGE_SECONDS = 5.0
"""Least seconds between two collections of garbage."""
CUT_BEATS = 2
"""Number of collections of garbage between two checks of the files that the last cuts need."""
SHUTDOWN_SECONDS = 15.0
"""The most seconds that a stop waits for the batch under way."""

_a, _p, _u, _h = tables.application, tables.pe, tables.unit, tables.host
_PLAN = select(_a.c.plan).where(_a.c.name == bindparam("of"))
_here = (_p.c.application == bindparam("of")) & (_p.c.host == bindparam("host"))
_PES = (
    select(
        *(_p.c.id, _p.c.final, _p.c.state, _u.c.generation, _u.c.dirty, _p.c.committed_at),
        *(_u.c.state.label("unit_state"), _u.c.timer, _u.c.deadline, _u.c.asked),
    )
    .join(_u, (_u.c.application == _p.c.application) & (_u.c.name == _p.c.unit))
    .where(_here)
)
_OPEN_PES = select(_p.c.id).where(_here, ~_p.c.final)
_OTHERS = select(_h.c.pid, _h.c.process_started, _h.c.space).where(
    *(_h.c.application == bindparam("of"), _h.c.id != bindparam("host"), _h.c.pid.is_not(None))
)
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
        self.urgent = True
        """True if the state of a unit is about to change."""
        self.deadline = math.inf
        """The time at which the next timer of a unit fires, in unix seconds."""
        self.finished = False
        """True if all PEs of the host have made their final commits."""
        self.commits: list[float] = []
        """The times of the PEs' last commits, as far as they were made since the host began, in unix seconds."""
        self.neighbours: list[tuple[int, float]] = []
        """Pid and start time of each other live host of the application on this machine."""
        self.observed = 0.0
        """The monotonic time of the last check of the host's own units."""
        self.surveyed = -math.inf
        """The monotonic time of the last check of all units."""
        self.began = clock.now()
        row = self.outage.through(self.presence.join)
        self.start_up = StartUp(row.launched_at, row.asked_at)
        self.started = False
        """True once the first batch is committed, and the duration of the start is recorded."""
        self.tidied = 0
        """The number of times so far that the host has collected garbage."""
        settings = Settings(**row.settings)
        self.log_size = settings.log_size
        self.errors = LoopErrors(log)
        self.queries = Queries(self.presence, self.catalog, engine, settings)
        self.heartbeat = Heartbeat(self.presence, settings.hang_limit, self.queries.busy)
        self.plan: int = row.plan
        """Number of the plan whose programs are loaded."""
        self.units: frozenset[str] = frozenset()
        """Names of the units that have a PE on this host."""
        self.timed: tuple[str, ...] = ()
        """Units whose epochs this host triggers: it has the lowest number of their hosts."""
        self.publisher = self.outage.through(lambda: Publisher(self.catalog, application))
        self.receivers = Receivers(self.catalog, application)
        self.last_sweep = LastSweep(self._clear_all)
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
        self.start_up.reached("imports", clock.now())
        self._rotate_logs()  # a host that fails soon after its start tidies nothing
        version = self.engine.wait()
        self.start_up.reached("session", clock.now())
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
        collected = world.monotonic()
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
            observes = self.urgent or began - self.observed >= OBSERVE_SECONDS or clock.now() >= self.deadline
            if observes:
                self.observed = began
                self.advance_units(began)
            self.urgent = self.reconcile()
            if row.bounded is not None:
                end_bounded_run(self.catalog, self.application, list(self.queries.programs.values()))
            self.outage.end()
            if not self.started:
                self._see_start()
            if began - collected > GARBAGE_SECONDS:
                self.tidy()
                collected = began
            self._require_files()
            if self.complete_finished():
                self.stop_all()
                self._clear(self.timed)
                self.lineage.stop()
                return "COMPLETED"
            next_turn = MIN_INTERVAL_SECONDS if self.urgent else MAX_INTERVAL_SECONDS if observes else OBSERVE_SECONDS
            self._await_change(mark, began, began + next_turn)

    def advance_units(self, now: float) -> None:
        """Advance the units of this host, or all units after `SURVEY_SECONDS` or a host's death."""
        everything = now - self.surveyed >= SURVEY_SECONDS
        advance_application(self.catalog, self.application, None if everything else self.units)
        if everything:
            self.surveyed = now

    def _load(self, row: Wanted) -> None:
        """Load the deployed plan, and stop queries of moved PEs. Raises OtherVersionError for unreadable programs."""
        pes = deployed_pes(self.catalog, self.application)
        here = [pe.program for pe in pes if pe.host == self.number]
        self.queries.load(pes, row.base)
        self.plan = row.plan
        self.units = units_on(pes, self.number)
        self.timed = units_timed_by(pes, self.number)
        programs = self.queries.programs.values()
        self.garbage = Garbage(self.catalog, self.application, programs, self.timed, row.plan)
        self.garbage_here = GarbageHere(self.catalog, self.application, [program.pe for program in here])
        self.publisher.deliver_to(make_deliverers(self.catalog, self.application, programs, self.timed))
        self.receivers.serve(self.home, here)
        self.lineage.load(pe.program for pe in pes)
        log.info("plan %s: PEs %s", row.plan, ", ".join(str(program.pe) for program in here))

    def _await_change(self, mark: int, began: float, until: float) -> None:
        """Wait for a change, a timer, the end of a host or the engine, or `until`; at least `MIN_INTERVAL_SECONDS`."""
        while not self.terminated and self.engine_end() is None:
            now = world.monotonic()
            seconds = min(until - now, self.deadline - clock.now(), NEIGHBOURS_SECONDS)
            if seconds <= 0 or self.catalog.changes.wait(mark, seconds) or not self._neighbours_live():
                break
            self.heartbeat.note_turn()
        world.sleep(max(began + MIN_INTERVAL_SECONDS - world.monotonic(), 0.0))

    def _neighbours_live(self) -> bool:
        return all(is_alive(*process) for process in self.neighbours)

    def tidy(self) -> None:
        """Rotate logs and collect garbage; at times also check the files of cuts. Raises OSError if a disk fails."""
        self._rotate_logs()
        if self.timed:
            self.garbage.collect()
        self.tidied += 1
        if self.tidied % CUT_BEATS:
            return
        self.garbage_here.collect()
        if self.timed:
            for message in check_and_record_cuts(self.catalog, self.application, self.timed, turn=self.tidied).values():
                log.error("%s. %s; the application keeps running until something fails", message, LOST_REMEDY)

    def _rotate_logs(self) -> None:
        """Rotate the host's log and, where an agent runs, the log of standbys, to which a JVM may still write."""
        machine = os.environ.get(MACHINE)
        standby = () if machine is None else (self.home.standby_log(machine),)
        for path in (self.home.host_log(self.application, self.number), *standby):
            with self.errors.survived(f"{path} is not rotated"):
                rotate_log(path, self.log_size)

    def reconcile(self) -> bool:
        """Make the queries match the catalog, and note which hosts live, the last commits, and the next deadline.

        Returns:
            True if a unit is about to change, a query has not begun, a plan is new, or another host here has died.
        """
        me = {"of": self.application, "host": self.number}
        self.finished = False
        with self.catalog.read() as connection:
            if connection.scalar(_PLAN, {"of": self.application}) != self.plan:
                return True  # generations that are read now belong to programs that are not loaded yet
            rows = PeOfUnit.all(connection, _PES, me)
            others = connection.execute(_OTHERS, me).all()
        self.finished = all(row.final for row in rows)
        self.commits = [at for row in rows if (at := row.committed_at) is not None and at > self.began]
        before = self.neighbours
        self.neighbours = [
            (row.pid, row.process_started)
            for row in others
            if is_here(row.space) and is_alive(row.pid, row.process_started)
        ]
        now = clock.now()
        urgent = any(changes_soon(row, now) for row in rows)
        if not set(before) <= set(self.neighbours):  # a host has died, and perhaps no other host watches its units
            self.surveyed, urgent = -math.inf, True
        self.deadline = min((row.deadline for row in rows if row.deadline is not None), default=math.inf)
        return self.queries.match(rows) or urgent

    def _clear(self, units: Collection[str]) -> bool:
        """Remove the garbage of complete units, whose queries start no more, and what killed processes have left.

        Return False if files are left, the storage could not be listed at once, or units are held.
        """
        programs = self.queries.programs
        collect_garbage(self.catalog, self.application, programs.values(), units, self.plan)
        self.heartbeat.note_turn()  # each step may wait for the storage
        mine = {pe: program for pe, program in programs.items() if program.unit in units}
        unknown = end_holds_and_find_unknown_pes(self.catalog, self.application)
        self.heartbeat.note_turn()
        return unknown is not None and not sweep(self.catalog, self.application, (*mine, *unknown), mine.values()).left

    def _clear_all(self) -> bool:
        is_clear = clear_after_publishers(self.catalog, self.application)
        self.heartbeat.note_turn()
        is_clear &= self._clear({program.unit for program in self.queries.programs.values()})
        return is_clear and flush_removals(self.catalog, self.application)

    def _see_start(self) -> None:
        """Note when the queries were first started, and report the phases of the start once a batch is committed."""
        if "queries" not in self.start_up.seconds:
            self.start_up.reached("queries", clock.now())
        if self.commits:
            self.start_up.committed(min(self.commits), self.presence.record_family())
            self.presence.report_start_up(self.start_up.seconds)
            self.started = True
            log.info("start-up took %s", self.start_up)

    def complete_finished(self) -> bool:
        """Complete finished units; return True if the host's PEs made their final commits and its units are complete.

        Its units are the units whose epochs it triggers. While a redeploy holds units, the host does not end, since the
        new plan may give it work, and keeps the states of that plan. The hold of a redeploy that has died expires.
        """
        if not self.finished:
            return False
        of = {"of": self.application}
        with self.catalog.read() as connection:
            is_open = connection.execute(_OPEN_PES, of | {"host": self.number}).first() is not None
            held = held_units(connection, self.application)
        if is_open or held:
            self.last_sweep.forget()
            return False
        complete(self.catalog, self.application, self.last_sweep)
        with self.catalog.read() as connection:
            return connection.execute(_OPEN_UNITS, of | {"units": self.timed}).first() is None

    def _require_files(self) -> None:
        """Raise UnusableFilesError if another machine is to publish or remove what this one cannot."""
        failures = self.publisher.unusable(), self.last_sweep.failure
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
