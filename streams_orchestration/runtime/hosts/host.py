"""A host: a detached process with one engine that makes its PEs be as the catalog wants them.

It only ever reads what is wanted and reports what is; what is wanted of it is written into the catalog.
"""

from __future__ import annotations

import logging
import math
import os
import time
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, func, select, update

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime import clock
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.outage import SETTLE_SECONDS, Outage
from streams_orchestration.runtime.catalog.place_of_files import check_place
from streams_orchestration.runtime.engine.port import Engine, Query, QueryStart
from streams_orchestration.runtime.errors import CatalogUnavailableError, OperatorFailure, StreamsRuntimeError
from streams_orchestration.runtime.hosts.heart import Heart
from streams_orchestration.runtime.hosts.pes import deployed_pes, units_on, units_timed_by
from streams_orchestration.runtime.hosts.presence import Presence, Wanted
from streams_orchestration.runtime.hosts.receivers import Receivers
from streams_orchestration.runtime.hosts.relay import Relay
from streams_orchestration.runtime.hosts.segments_here import GarbageHere, streams_here
from streams_orchestration.runtime.hosts.start_up import StartUp
from streams_orchestration.runtime.processes import is_alive, is_here
from streams_orchestration.runtime.settings import Settings
from streams_orchestration.runtime.sinks.delivering import deliverers
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.sinks.publishing import complete
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.cut_files import check_cuts
from streams_orchestration.runtime.units.garbage import Garbage, sweep, unknown_pes
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration.runtime.units.repeated_failures import failed_again
from streams_orchestration.runtime.units.unit_status import LOST_REMEDY
from streams_orchestration.runtime.units.watch import PeOfUnit, changes_soon, observe

TICK_SECONDS = 0.1
"""The least time between two turns, however often the catalog changes."""
NEIGHBOURS_SECONDS = 0.5
"""Between two looks whether the other hosts of the application live; it asks the operating system only."""
OBSERVE_SECONDS = 0.5
"""The least time between two looks at units of which nothing is expected now."""
SURVEY_SECONDS = 10.0
"""Between two looks at the units that have no PE on the host; their own hosts look at them, if any lives."""
LOOK_SECONDS = 5.0
"""Between two turns while nothing happens: a safety."""
GARBAGE_SECONDS = 5.0
CUT_BEATS = 2
"""Collections of garbage between two looks at the files that the last cuts need."""
STARTING = max(4, 2 * (os.cpu_count() or 1))
"""Queries that start at the same time: each has a process of its own, which Spark gives ten seconds to start."""
QUIET_SECONDS = 15.0
"""How long a stop waits for the batch under way."""

log = logging.getLogger("streams.host")


class Host:
    """The loop of one host process."""

    def __init__(self, home: Home, application: str, number: int, incarnation: str, engine: Engine) -> None:
        self.home = home
        self.application = application
        self.number = number
        self.catalog = Catalog(home)
        self.outage = Outage()
        self.presence = Presence(self.catalog, application, number, incarnation)
        self.engine = engine
        self.relay = Relay(application)
        self.catalog.changes.heard = self.relay.ring
        self.queries: dict[int, Query] = {}
        self.failed: set[int] = set()
        self.terminated = False
        self.news = True
        """The state of a unit is to change about now."""
        self.deadline = math.inf
        """Of the timers of the units, in unix seconds."""
        self.neighbours: list[tuple[int, float]] = []
        """Process and its start, of the other hosts of the application that live."""
        self.observed = 0.0
        self.surveyed = -math.inf
        """When it looked at the units of other hosts, too; both on the monotonic clock."""
        self.began = clock.now()
        row = self.outage.through(self.presence.join)
        self.start_up = StartUp(row.launched_at, row.asked_at)
        self.started = False
        self.tidied = 0
        self.base: str = row.base
        self.settings = Settings(**row.settings)
        self.heart = Heart(self.presence, self.settings.hang_limit, self._busy)
        self.plan: int = row.plan
        """Number of the plan whose programs are loaded."""
        self.programs: dict[int, PeProgram] = {}
        self.units: frozenset[str] = frozenset()
        """Those that it has PEs of."""
        self.timed: tuple[str, ...] = ()
        """Units whose epochs this host triggers: those whose first host it is."""
        self.publisher = self.outage.through(lambda: Publisher(self.catalog, application))
        self.receivers = Receivers(self.catalog, application)
        self.outage.through(self._load)

    def run(self) -> str:
        """Until the PEs are complete, or are not wanted any more; returns the state to report.

        Raises:
            StorageSettingError: this machine names another storage than that of the catalog.
        """
        self.outage.through(self._check_storage)
        self.heart.start()
        self.start_up.reached("imports", clock.now())
        version = self.engine.wait()
        self.start_up.reached("session", clock.now())
        self.heart.watch(self.engine)
        self.engine.watch(self.catalog.changes.wake)
        log.info("%s is up", version)
        self.outage.through(self.presence.record_family)
        self.outage.through(lambda: self.presence.report(state="RUNNING", launches=0))
        self.publisher.start()
        while True:
            try:
                state = self._follow()
                self.heart.rest()
                return state
            except CatalogUnavailableError as error:  # nothing is lost: every step of a turn may be repeated
                self._outlast(error)

    def _check_storage(self) -> None:
        with self.catalog.read() as connection:
            check_place(connection, self.home.store)

    def _outlast(self, error: CatalogUnavailableError) -> None:
        """Wait until the catalog is back, unless the host has to end, or its engine has ended, meanwhile."""
        while not self.terminated and self.engine_end() is None:
            self.heart.turned()
            self.outage.met(error)
            try:
                self.presence.row()
            except CatalogUnavailableError as still:
                error = still
            else:
                time.sleep(SETTLE_SECONDS)
                return

    def _follow(self) -> str:
        """Turn after turn, until there is a state to report."""
        collected = time.monotonic()
        while True:
            mark = self.catalog.changes.mark()
            began = time.monotonic()
            self.heart.turned()
            if self.terminated:
                self.stop_all()
                return "FAILED"
            if ended := self.engine_end():
                raise StreamsRuntimeError(ended)
            row = self.presence.row()
            if row.plan != self.plan:
                self._reload(row)
            if row.wanted == "STOPPED":
                self._quiesce()
                self.stop_all()
                self.publisher.stop()
                return "STOPPED"
            observes = self.news or began - self.observed >= OBSERVE_SECONDS or clock.now() >= self.deadline
            if observes:
                self.observed = began
                self._observe(began)
            self.news = self._reconcile()
            self.outage.over()
            if not self.started:
                self._see_start()
            if began - collected > GARBAGE_SECONDS:
                self._tidy()
                collected = began
            if self._done():
                self.stop_all()
                self.garbage.collect()
                self._sweep_all()
                return "COMPLETED"
            next_turn = TICK_SECONDS if self.news else LOOK_SECONDS if observes else OBSERVE_SECONDS
            self._rest(mark, began, began + next_turn)

    def _observe(self, now: float) -> None:
        """Look at the units that have PEs here; now and then, and when another host has died, at all of them."""
        everything = now - self.surveyed >= SURVEY_SECONDS
        observe(self.catalog, self.application, None if everything else self.units)
        if everything:
            self.surveyed = now

    def _load(self) -> None:
        """Load the programs of the deployed plan."""
        pes = deployed_pes(self.catalog, self.application)
        self.programs = {pe.program.pe: pe.program for pe in pes}
        self.units = units_on(pes, self.number)
        self.relay.know(self.programs, self.units)
        self.timed = units_timed_by(pes, self.number)
        self.here = {pe.program.pe: streams_here(pe.program, pes) for pe in pes if pe.host == self.number}
        self.garbage_here = GarbageHere(self.catalog, self.application, self.here)
        self.garbage = Garbage(self.catalog, self.application, self.programs.values(), self.timed)
        sinks = deliverers(self.catalog, self.home, self.application, self.programs.values(), self.timed)
        self.publisher.deliver_to(sinks)
        self.receivers.serve(self.home, [pe.program for pe in pes if pe.host == self.number])

    def _reload(self, row: Wanted) -> None:
        """Another plan was deployed: stop the queries of PEs that are not here any more; the others are compared."""
        before = self.programs
        self._load()
        self.plan, self.base = row.plan, row.base
        p = tables.pe
        with self.catalog.read() as connection:
            here = set(
                connection.scalars(select(p.c.id).where(p.c.application == self.application, p.c.host == self.number))
            )
        for pe in self.queries.keys() - here:
            self.queries.pop(pe).stop()
            self.relay.drop(pe)
            self.failed.discard(pe)
            sweep(self.catalog, self.home, self.application, [pe], [before[pe]])
        log.info("plan %s: PEs %s", self.plan, ", ".join(map(str, sorted(here))))

    def _rest(self, mark: int, began: float, until: float) -> None:
        """Wait until there is something to do: the catalog changes, a query or a process ends, a timer runs out."""
        while not self.terminated and self.engine_end() is None:
            now = time.monotonic()
            seconds = min(until - now, self.deadline - clock.now(), NEIGHBOURS_SECONDS)
            if seconds <= 0 or self.catalog.changes.wait(mark, seconds) or not self._neighbours_live():
                break
            self.heart.turned()
        time.sleep(max(began + TICK_SECONDS - time.monotonic(), 0.0))

    def _neighbours_live(self) -> bool:
        return all(is_alive(*process) for process in self.neighbours)

    def _tidy(self) -> None:
        """Collect garbage, and at every other time look whether what is kept is still there."""
        if self.timed:
            self.garbage.collect()
        self.tidied += 1
        if self.tidied % CUT_BEATS:
            return
        self.garbage_here.collect()
        if self.timed:
            for message in check_cuts(self.catalog, self.application, self.timed, turn=self.tidied).values():
                log.error("%s. %s; while nothing fails the application runs on", message, LOST_REMEDY)

    def _reconcile(self) -> bool:
        """Start, stop and replace queries until they match the catalog; report the ones that failed.

        Returns:
            Whether the state of a unit is to change about now.
        """
        a, p, u, h = tables.application, tables.pe, tables.unit, tables.host
        with self.catalog.read() as connection:
            if connection.scalar(select(a.c.plan).where(a.c.name == self.application)) != self.plan:
                return True  # generations that are read now belong to programs that are not loaded yet
            rows = PeOfUnit.all(
                connection,
                select(
                    p.c.id,
                    p.c.final,
                    p.c.state,
                    u.c.generation,
                    u.c.dirty,
                    u.c.state.label("unit_state"),
                    u.c.timer,
                    u.c.deadline,
                    u.c.asked,
                )
                .join(u, (u.c.application == p.c.application) & (u.c.name == p.c.unit))
                .where(p.c.application == self.application, p.c.host == self.number),
            )
            others = connection.execute(
                select(h.c.pid, h.c.process_started, h.c.space).where(
                    h.c.application == self.application, h.c.id != self.number, h.c.pid.is_not(None)
                )
            ).all()
        before = self.neighbours
        self.neighbours = [
            (row.pid, row.process_started)
            for row in others
            if is_here(row.space) and is_alive(row.pid, row.process_started)
        ]
        now = clock.now()
        news = any(changes_soon(row, now) for row in rows)
        if not set(before) <= set(self.neighbours):  # nobody may be left who looks at the units of one that has died
            self.surveyed, news = -math.inf, True
        self.deadline = min((row.deadline for row in rows if row.deadline is not None), default=math.inf)
        starting = sum(query.starting for query in self.queries.values())
        for row in rows:
            query = self.queries.get(row.id)
            if query is not None and (row.final or query.generation != row.generation):
                query.stop()
                if row.final:
                    self._sweep(row.id)
                del self.queries[row.id]
                self.relay.drop(row.id)
                self.failed.discard(row.id)
                query = None
            if row.final or row.unit_state in ("UNHEALTHY", LIMIT) or row.dirty:
                continue
            if query is None and starting < STARTING:
                starting += 1
                # What the query before had written and not committed. Not earlier: until the unit is whole
                # again, a commit of a host that was taken for dead may still name it.
                self._sweep(row.id)
                self._start(row.id, row.generation)
            elif query is not None and row.state != "RUNNING" and row.id not in self.failed and query.begun:
                self._report_running(row.id, row.generation)
                news = True
            if query is not None and row.id not in self.failed and (error := query.failure()) is not None:
                log.error("%s", error)
                lost = check_cuts(self.catalog, self.application, [self.programs[row.id].unit])
                self._report_failure(
                    row.id, row.generation, str(error), query.cause, permanent=query.permanent or bool(lost)
                )
                self.failed.add(row.id)
                news = True
        return news or not all(query.begun for query in self.queries.values())

    def _busy(self) -> list[int]:
        """Processes that have a task to run."""
        return [pid for query in tuple(self.queries.values()) for pid in query.busy()]

    def _sweep_all(self) -> None:
        """Remove what publishers and redeploys left that have died: no query starts any more that would do it."""
        timed = {pe: program for pe, program in self.programs.items() if program.unit in self.timed}
        pes = (*timed, *unknown_pes(self.catalog, self.home, self.application))
        sweep(self.catalog, self.home, self.application, pes, timed.values())

    def _sweep(self, pe: int) -> None:
        removed = sweep(self.catalog, self.home, self.application, [pe], [self.programs[pe]])
        if removed:
            log.info("PE %s: %s files that no commit names were removed", pe, removed)

    def _start(self, pe: int, generation: int) -> None:
        directories = directories_of(
            self.home, self.application, pe, self.base, compression=self.settings.compression, here=self.here[pe]
        )
        start = QueryStart(
            self.home, self.programs[pe], directories, generation, source_limit=self.settings.source_limit,
            measured=self.settings.metrics, relayed=self.catalog.names_units,
        )  # fmt: skip
        if start.relayed:
            self.relay.serve(pe, start.scratch.bell)
        self.queries[pe] = self.engine.query(start)

    def _see_start(self) -> None:
        """Write down how long the start took, as soon as a batch of this host is committed."""
        if "queries" not in self.start_up.seconds:
            self.start_up.reached("queries", clock.now())
        p = tables.pe
        with self.catalog.read() as connection:
            first = connection.scalar(
                select(func.min(p.c.committed_at)).where(
                    p.c.application == self.application, p.c.host == self.number, p.c.committed_at > self.began
                )
            )
        if first is not None:
            self.start_up.committed(first, self.presence.record_family())
            self.presence.report(start_up=self.start_up.seconds)
            self.started = True
            log.info("start-up took %s", self.start_up)
            self.publisher.load()

    def _report_running(self, pe: int, generation: int) -> None:
        """Report that a PE runs, unless a reset has made that out of date or the PE has completed meanwhile."""
        self.presence.row()
        with self.catalog.write_unit(self.application, self.programs[pe].unit) as connection:
            self._report(connection, pe, generation, {"state": "RUNNING", "error": None, "permanent": False,
                                                      "running": generation})  # fmt: skip

    def _report_failure(
        self, pe: int, generation: int, error: str, cause: OperatorFailure | None, *, permanent: bool
    ) -> None:
        """Report why a PE has failed, and whether the failure of its operator has come before."""
        self.presence.row()
        p = tables.pe
        with self.catalog.write_unit(self.application, self.programs[pe].unit) as connection:
            values: dict[str, Any] = {"state": "FAILED", "error": error, "permanent": permanent}
            if cause is not None:
                before = connection.scalar(
                    select(p.c.failures).where(p.c.application == self.application, p.c.id == pe)
                )
                again = failed_again(before, cause, clock.now())
                values["failures"] = again.row()
                values["error"] = again.describe(error)
                values["permanent"] = permanent or again.hopeless
            self._report(connection, pe, generation, values)

    def _report(self, connection: Connection, pe: int, generation: int, values: Mapping[str, Any]) -> None:
        p, u = tables.pe, tables.unit
        current = connection.scalar(
            select(u.c.generation).where(u.c.application == self.application, u.c.name == self.programs[pe].unit)
        )
        if current == generation:
            connection.execute(
                update(p).where(p.c.application == self.application, p.c.id == pe, ~p.c.final).values(**values)
            )

    def _done(self) -> bool:
        """The host's PEs have made their final commits, and the units it times are published and complete."""
        p = tables.pe
        with self.catalog.read() as connection:
            open_pes = select(p.c.id).where(p.c.application == self.application, p.c.host == self.number, ~p.c.final)
            if connection.execute(open_pes).first() is not None:
                return False
        complete(self.catalog, self.application)
        u = tables.unit
        with self.catalog.read() as connection:
            unfinished = select(u.c.name).where(
                u.c.application == self.application, u.c.name.in_(self.timed), u.c.state != "COMPLETED"
            )
            return connection.execute(unfinished).first() is None

    def _quiesce(self) -> None:
        """Let the batches under way end: the readers plan no more, since the application is not wanted."""
        self.receivers.stop()
        until = time.monotonic() + QUIET_SECONDS
        while time.monotonic() < until and not all(query.idle for query in self.queries.values()):
            time.sleep(0.02)

    def terminate(self) -> None:
        """Have the loop end as soon as it can; a signal handler may call it."""
        self.terminated = True
        self.catalog.changes.wake()

    def stop_all(self) -> None:
        """Stop all receivers and queries."""
        self.receivers.stop()
        for query in self.queries.values():
            query.stop()
        self.queries.clear()

    def engine_end(self, patience: float = 0.0) -> str | None:
        """How the engine has ended, in words; the errors of its queries say nothing then."""
        return self.heart.engine_end(patience)
