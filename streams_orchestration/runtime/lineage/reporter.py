"""Sends events of OpenLineage while an application runs, on a thread of its own: a slow server delays nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import asdict, replace

from sqlalchemy import delete, insert, select, update

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.pauses import Pauses
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import ApplicationRow, LineageRunRow
from streams_orchestration.runtime.errors.errors import CatalogUnavailableError
from streams_orchestration.runtime.errors.loop_errors import LoopErrors
from streams_orchestration.runtime.lineage.client import (
    URL,
    Client,
    LineageError,
    explain_missing_client,
    import_client,
    namespace,
    target,
)
from streams_orchestration.runtime.lineage.flows import About, flows_of
from streams_orchestration.runtime.lineage.progress import EventName, RunMoment, next_step
from streams_orchestration.runtime.lineage.views import View, read_view, rows_since
from streams_orchestration.runtime.programs.stored_compilation import read_stored

MIN_INTERVAL_SECONDS = 2.0
"""Least seconds between two checks, however often the catalog changes."""
MAX_INTERVAL_SECONDS = 10.0
"""Seconds between two checks while the catalog does not change."""
PAUSES = Pauses(first=MIN_INTERVAL_SECONDS, longest=60.0)
"""Pauses between two attempts while the server is not reached."""
SHUTDOWN_SECONDS = 4.0
"""The most seconds that a stop waits for the last events."""
MAX_STEPS = 5
"""The most steps of one call of `send_due`: the end of the former run, a new run, its START, a RUNNING, its end."""

log = logging.getLogger("streams.lineage")


class Reporter:
    """The reporter of one application. Sent events are recorded in the catalog, so that another host can continue.

    `host` is None in a process that is not a host, which reports failures only. Without a client, nothing is sent.
    """

    def __init__(self, catalog: Catalog, application: str, host: int | None, client: Client | None) -> None:
        self._catalog = catalog
        self._application = application
        self._host = host
        self._client = client
        self._programs: tuple[PeProgram, ...] = ()
        self._about: About | None = None
        """The facts about the loaded plan; None until they are first needed."""
        self._told: tuple[str, RunMoment] | None = None
        """The run of the last event that this process sent, and the application then; None before the first event."""
        self._said: str | None = None
        self._failures = 0
        self._errors = LoopErrors(log)
        self._stopped = world.Event()
        self._thread = world.Thread(target=self._run, name="lineage", daemon=True)

    def load(self, programs: Iterable[PeProgram]) -> None:
        """Take over the programs of all PEs of the deployed plan, and import their modules before threads start.

        Without a client, do nothing.

        Raises:
            ImplementationError: an operator's class cannot be imported.
        """
        if self._client is None:
            return
        self._programs, self._about = tuple(programs), None
        for program in self._programs:
            for operator in program.operators.values():
                import_operator(operator.implementation)

    def start(self) -> None:
        """Start the thread that sends events; do nothing without a client."""
        if self._client is not None:
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread, which sends the final event of an ended application; wait `SHUTDOWN_SECONDS` at most."""
        self._stopped.set()
        self._catalog.changes.wake()
        if self._thread.is_alive():
            self._thread.join(SHUTDOWN_SECONDS)

    def send_due(self, *, last: bool = False) -> None:
        """Read the state of the application, and send the events that are due, in at most `MAX_STEPS` steps.

        Do nothing if the application is not deployed, or another process sends its events. When the reporter stops
        (`last`), an application that is not wanted to run counts as ended.

        Raises:
            LineageError: an event could not be sent; it stays due.
            CatalogUnavailableError: the catalog is unavailable.
        """
        for _ in range(MAX_STEPS):
            with self._catalog.read() as connection:
                view = read_view(connection, self._catalog.home, self._application, last=last)
            if view is None or not self._tells(view, last=last):
                return
            told = self._told[1] if self._told and view.run and self._told[0] == view.run.run else None
            step = next_step(view.run, view.moment, told)
            if step is None:
                return
            if step == "BEGIN":
                self._begin(view)
            else:
                self._send(step, view)

    def _tells(self, view: View, *, last: bool) -> bool:
        """Return True if this process sends the events.

        The first live host sends them; the end of a run is sent by any host that ends (`last`); processes that are not
        hosts send failures.
        """
        if self._host is None:
            return view.moment.failure is not None
        return view.reporter == self._host or (last and view.moment.state != "RUNNING")

    def _begin(self, view: View) -> None:
        """Enter a new run into the catalog, unless another process was faster."""
        from openlineage.client.uuid import generate_new_uuid

        r = tables.lineage_run
        started = view.moment.started_at
        rows = {} if view.first and view.run is None else view.rows  # batches may have been committed before this
        mine = r.c.application == self._application
        with self._catalog.write() as connection:
            if LineageRunRow.one_or_none(connection, select(r).where(mine)) != view.run:
                return
            connection.execute(delete(r).where(mine))
            row = LineageRunRow(self._application, str(generate_new_uuid(world.utc())), started, "", rows)
            connection.execute(insert(r).values(**asdict(row)))

    def _send(self, name: EventName, view: View) -> None:
        from streams_orchestration.runtime.lineage.events import UnitFacet, run_event, time_of

        assert view.run is not None
        assert self._client is not None
        moment, run = view.moment, view.run
        if run.started_at != moment.started_at:  # the run ended long ago
            event = run_event(name, run.run, About(namespace(), self._application, "", None), moment.at)
        else:
            units = [
                UnitFacet(
                    unit.name,
                    unit.state,
                    unit.completed_epoch,
                    None if unit.completed_at is None else time_of(unit.completed_at),
                )
                for unit in view.units
            ]
            event = run_event(
                name,
                run.run,
                self._facts(),
                moment.started_at if name == "START" else moment.at,
                units=units,
                rows=rows_since(view, view.rows),
                error=moment.failure if name == "FAIL" else None,
            )
        self._client.send(event)
        r = tables.lineage_run
        this = (r.c.application == self._application, r.c.run == run.run)
        with self._catalog.write() as connection:
            connection.execute(update(r).where(*this).values(event=name))
        self._told = run.run, moment

    def _facts(self) -> About:
        """Return the facts about the deployed application, read once for each plan.

        If they cannot be read, this is logged, and its description and datasets are left out.
        """
        if self._about is None:
            self._about = self._read_facts()
        return self._about

    def _read_facts(self) -> About:
        a = tables.application
        with self._catalog.read() as connection:
            row = ApplicationRow.one(connection, select(a).where(a.c.name == self._application))
        about = About(namespace(), self._application, "", None)
        try:
            compilation = read_stored(row)
            flows = flows_of(self._catalog.home, row.base, compilation, self._programs) if self._programs else None
            return replace(about, description=compilation.logical.description, flows=flows)
        except Exception as error:  # noqa: BLE001  from reading what another version has stored, or from a user's code
            log.warning("Events of %s name no datasets: %s", self._application, error)
            return about

    def _run(self) -> None:
        mark = 0
        while True:
            last = self._stopped.is_set()
            try:
                mark = self._catalog.changes.mark()
                self.send_due(last=last)
                self._note_arrival()
            except CatalogUnavailableError:
                pass  # the host's main loop says so
            except LineageError as error:
                self._note_failure(error)
            except Exception as error:  # noqa: BLE001  logged
                self._errors.log_new("Lineage cannot be sent", error)
            if last:
                self._close()
                return
            self._stopped.wait(PAUSES.after(self._failures) or MIN_INTERVAL_SECONDS)
            self._catalog.changes.wait(mark, MAX_INTERVAL_SECONDS)

    def _note_arrival(self) -> None:
        if self._said is not None:
            log.info("Lineage reaches %s again", target())
        self._said, self._failures = None, 0
        self._errors.forget("Lineage cannot be sent")

    def _note_failure(self, error: LineageError) -> None:
        """Log an error, unless the last one had the same text, and make the pause longer."""
        self._failures += 1
        if self._said != str(error):
            self._said = str(error)
            log.warning("Lineage does not reach %s: %s. It is tried again; the application runs on", target(), error)

    def _close(self) -> None:
        assert self._client is not None
        try:
            self._client.close(SHUTDOWN_SECONDS)
        except LineageError as error:
            self._note_failure(error)


def reporter(catalog: Catalog, application: str, host: int | None) -> Reporter:
    """Return the reporter of an application, with the target of the environment; call this before threads start.

    `host` is None in a process that is not a host.
    """
    return Reporter(catalog, application, host, _make_client())


def _make_client() -> Client | None:
    """Return the client; None if no target is configured, or if the client cannot be used, which is logged."""
    if (where := target()) is None:
        return None
    if problem := explain_missing_client():
        log.warning(problem)
        return None
    import_client()
    try:
        return Client()
    except LineageError as error:
        log.warning("No lineage is sent to %s: %s. The application runs without lineage; unset %s", where, error, URL)
        return None
