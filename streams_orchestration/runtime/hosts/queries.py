"""The queries of a host. They are started, stopped and replaced to match the catalog, and failures are reported."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence

from sqlalchemy import bindparam, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.model.brief import plural
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.pe_transitions import report_failure, report_running
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.engine.port import Engine, Query, QueryStart
from streams_orchestration.runtime.hosts.planner_notifier import PlannerNotifier
from streams_orchestration.runtime.hosts.presence import Presence
from streams_orchestration.runtime.hosts.segments_here import streams_here
from streams_orchestration.runtime.programs.deployed_pes import PlacedPe, units_on
from streams_orchestration.runtime.programs.failure import Failure
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.units.cut_files import check_and_record_cuts
from streams_orchestration.runtime.units.garbage import sweep
from streams_orchestration.runtime.units.judged_failures import PeBeforeFailure, judge_failure
from streams_orchestration.runtime.units.region_machine import HALTED
from streams_orchestration.runtime.units.watch import PeOfUnit

STARTING = max(4, 2 * (os.cpu_count() or 1))
"""The most queries that start at once. Each starts a process of its own, and Spark allows ten seconds for that."""

log = logging.getLogger("streams.host")

_p, _h = tables.pe, tables.host
_BEFORE_FAILURE = (
    select(_p.c.id, _p.c.host, _p.c.failures, _h.c.machine)
    .join(_h, (_h.c.application == _p.c.application) & (_h.c.id == _p.c.host))
    .where(_p.c.application == bindparam("of"), _p.c.id == bindparam("at"))
)


class Queries:
    """The queries of a host, one for each of its PEs that has to run.

    Args:
        presence: the host's row. Nothing is reported once another incarnation owns it.
        catalog: the catalog. Its changes are passed on to the planners of the queries.
        engine: runs the queries.
        settings: the application's settings.
    """

    def __init__(self, presence: Presence, catalog: Catalog, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.running: dict[int, Query] = {}
        """The started queries, also failed ones, by the number of their PE."""
        self.programs: dict[int, PeProgram] = {}
        """Programs of all PEs of the application on all hosts, by the PE's number."""
        self._presence = presence
        self._application = presence.application
        self._catalog = catalog
        self._settings = settings
        self._base = ""
        self._here: dict[int, frozenset[str]] = {}
        """PE of this host -> its streams whose segments stay on this machine (`segments_here`)."""
        self._failed: set[int] = set()
        self._relay = PlannerNotifier(self._application)
        catalog.changes.on_change = self._relay.notify

    def load(self, pes: Sequence[PlacedPe], base: str) -> None:
        """Take over a new plan; stop the queries of PEs that have left this host, and remove their uncommitted files.

        All planners of the host are woken once. `start_and_stop_queries` updates the other queries.

        Raises:
            ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        """
        host = self._presence.host
        here = {pe.program.pe: streams_here(pe.program, pes) for pe in pes if pe.host == host}
        for pe in self.running.keys() - here:
            self._stop(pe)
            self._sweep(pe)
        self.programs = {pe.program.pe: pe.program for pe in pes}
        self._here, self._base = here, base
        self._relay.know(self.programs, units_on(pes, host))

    def start_and_stop_queries(self, rows: Iterable[PeOfUnit]) -> bool:
        """Start, stop and replace queries to match the catalog, and report those that run or have failed.

        At most `STARTING` queries start at once. Before a query starts and after the final commit of its PE, files of
        the PE that no commit names are removed.

        Returns:
            True if a query was reported to run or to have failed, or has not begun yet.

        Raises:
            UnwantedHostError: the host that would report is no longer wanted.
            ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        """
        urgent = False
        starting = sum(query.starting for query in self.running.values())
        for row in rows:
            query = self.running.get(row.id)
            if query is not None and (row.final or query.generation != row.generation):
                self._stop(row.id)
                if row.final:
                    self._sweep(row.id)
                query = None
            if row.final or row.unit_state in HALTED or row.dirty:
                continue
            if query is not None:
                urgent |= self._follow(row, query)
            elif starting < STARTING:
                starting += 1
                # Remove files that the previous query wrote and did not commit. Not earlier: until the unit is
                # healthy again, a host that was wrongly taken for dead may still commit them.
                self._sweep(row.id)
                self._start(row.id, row.generation)
        return urgent or not all(query.begun for query in self.running.values())

    def busy(self) -> list[int]:
        """Return the pids of the workers that have a task to run."""
        return [pid for query in tuple(self.running.values()) for pid in query.busy()]

    @property
    def idle(self) -> bool:
        """True if no batch is under way, and none will begin."""
        return all(query.idle for query in self.running.values())

    def stop_all(self) -> None:
        """Stop all queries."""
        for query in self.running.values():
            query.stop()
        self.running.clear()

    def _start(self, pe: int, generation: int) -> None:
        directories = directories_of(
            self._catalog.home,
            self._application,
            pe,
            self._base,
            compression=self._settings.compression,
            here=self._here[pe],
            log_size=self._settings.log_size,
        )
        start = QueryStart(
            self._catalog.home,
            self.programs[pe],
            directories,
            generation,
            source_limit=self._settings.source_limit,
            measured=self._settings.metrics,
            relayed=self._catalog.names_units,
            hang_limit=self._settings.hang_limit,
        )
        if start.relayed:
            self._relay.serve(pe, start.scratch.notified)
        self.running[pe] = self.engine.query(start)

    def _stop(self, pe: int) -> None:
        self.running.pop(pe).stop()
        self._relay.drop(pe)
        self._failed.discard(pe)

    def _sweep(self, pe: int) -> None:
        me = (self._presence.host, self._presence.incarnation)
        removed = sweep(self._catalog, self._application, [pe], [self.programs[pe]], me).removed
        if removed:
            log.info("PE %s: removed %s that no commit names", pe, plural(removed, "file"))

    def _follow(self, row: PeOfUnit, query: Query) -> bool:
        """Report once that a query runs, or why it failed; return True if anything was reported.

        A failure is logged. Raises UnwantedHostError if the host that would report is unwanted.
        """
        if row.id in self._failed:
            return False
        runs = row.state not in ("RUNNING", "FAILED") and query.begun  # a sink of a query that runs may have failed
        if runs:
            self._report_running(row.id, row.generation)
        if (failure := query.find_failure_or_restart()) is None:
            return runs
        log.error("PE %s: %s", row.id, failure)
        self._report_failure(row.id, row.generation, failure)
        self._failed.add(row.id)
        return True

    def _report_running(self, pe: int, generation: int) -> None:
        """Report that a PE runs, unless the unit was reset, or the PE has completed or failed meanwhile."""
        self._presence.row()
        with self._catalog.write_unit(self._application, self.programs[pe].unit) as connection:
            report_running(connection, self._application, pe, generation)

    def _report_failure(self, pe: int, generation: int, failure: Failure) -> None:
        """Report a failure with its judgement, unless the unit was reset or the PE has completed meanwhile."""
        unit = self.programs[pe].unit
        lost = check_and_record_cuts(self._catalog, self._application, [unit])
        self._presence.row()
        with self._catalog.write_unit(self._application, unit) as connection:
            before = PeBeforeFailure.one_or_none(connection, _BEFORE_FAILURE, {"of": self._application, "at": pe})
            if before is not None:
                judged = judge_failure(failure, before, clock.now(), lost=bool(lost))
                report_failure(connection, self._application, pe, generation, judged)
