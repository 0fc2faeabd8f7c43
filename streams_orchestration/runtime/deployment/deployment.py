"""Deploys an application: writes its wanted state into the catalog, and keeps existing state."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, insert, select

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment_plan import DeployedPe, DeploymentPlan
from streams_orchestration.compiler.documents import dump
from streams_orchestration.compiler.redeployment.numbered import as_deployed
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import (
    continue_application,
    insert_application,
    replace_compilation,
    want_running,
)
from streams_orchestration.runtime.catalog.host_transitions import forget_launches, insert_host
from streams_orchestration.runtime.catalog.pe_transitions import replace_program
from streams_orchestration.runtime.catalog.rows import ApplicationRow
from streams_orchestration.runtime.catalog.trial_transitions import begin_time_again
from streams_orchestration.runtime.catalog.unit_transitions import insert_unit
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.dropping import drop_application, refuse_left_files, refuse_running
from streams_orchestration.runtime.deployment.opening import OpenedApplication
from streams_orchestration.runtime.deployment.query_columns import add_query_columns
from streams_orchestration.runtime.deployment.run_kinds import record_run_kind, reopen
from streams_orchestration.runtime.programs.batches import Position
from streams_orchestration.runtime.programs.deployed_pes import read_program
from streams_orchestration.runtime.programs.spread import spread
from streams_orchestration.runtime.programs.stored_compilation import (
    prepare_stored,
    read_stored,
    require_not_removed,
    require_same,
    stored,
    stored_plan,
)
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.sinks.outputs import insert_sinks
from streams_orchestration.runtime.transport.connections import connect, declare
from streams_orchestration.runtime.units.controller import begin_again
from streams_orchestration.runtime.units.host_requirements import stored_requirements
from streams_orchestration.runtime.units.region_record import RegionRecord
from streams_orchestration.runtime.units.unit_store import columns_of

FIRST_PLAN = 1
"""Number of the first plan. An application with this plan was not redeployed since its fresh start."""


def write_first_plan(opened: OpenedApplication, *, fresh: bool = False, asks_spark: bool = True) -> None:
    """Write the wanted state of an application without state into the catalog; `launch_hosts` starts its hosts.

    Args:
        opened: the application. It is not deployed, unless `fresh` is set; see `continue_from_state`.
        fresh: first stop its hosts, and drop its state, logs and published results (`drop_application`).
        asks_spark: analyse its dataframe queries with Spark.

    Raises:
        NotDeployableError: `fresh` is set and the application runs; or the target of a sink has files of an earlier
            run, or cannot be read.
        ApplicationError: Spark refuses a query.
        StreamsRuntimeError: Spark could not analyse the queries, or the state directory cannot be used.
        OSError: `fresh` is set, and a published result cannot be removed; the application is partly removed.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
    """
    wanted = opened.wanted
    programs = wanted.plan.programs
    if fresh:
        refuse_running(opened)
    compilation = add_query_columns(wanted) if asks_spark else wanted.compilation
    if fresh:
        drop_application(opened, programs)
    refuse_left_files(opened.home, programs)
    prepare_stored()
    with opened.catalog.write() as connection:
        _insert(connection, compilation, opened)
        for program in programs:
            insert_sinks(connection, opened.home, program)
        record_run_kind(connection, opened.name, opened.run)
        declare(connection, compilation)
        connect(connection)


def continue_from_state(opened: OpenedApplication) -> None:
    """Continue a deployed application from its state; `launch_hosts` starts its hosts.

    Imports and Exports are connected again.

    Raises:
        ApplicationChangedError: another application of the same name is deployed.
        OtherVersionError: another version of the product wrote the deployed plan.
        ImplementationError: the class of a source cannot be imported.
        NotDeployableError: the application is partly removed; a bounded run is wanted, but an unbounded one is under
            way; or a run is to continue a complete application with a Spark query that has closed all its windows.
        StateDirectoryError, CatalogError: the state directory cannot be used.
    """
    a, wanted = tables.application, opened.wanted
    prepare_stored()
    with opened.catalog.write() as connection:
        row = ApplicationRow.one(connection, select(a).where(a.c.name == opened.name))
        require_same(row, wanted)
        continue_in_new_run(connection, opened)
        declare(connection, _replace_stored(connection, row, wanted))
        connect(connection)


def _replace_stored(connection: Connection, row: ApplicationRow, wanted: Deployable) -> Compilation:
    """Replace the stored compilation of the same plan, and its stored programs unless the application was redeployed.

    Return the compilation with the deployed numbers of its PEs.
    """
    compilation = wanted.compilation
    if row.plan == FIRST_PLAN:
        _write_programs(connection, wanted.plan)
    else:  # the deployed PEs have other numbers than the compiled ones
        compilation = as_deployed(compilation, read_stored(row))
    if any(program.engine == "dataframe" for program in wanted.plan.programs):
        compilation = compilation.with_columns_of(read_stored(row))
    # the fingerprint does not cover uids, so they may have changed
    replace_compilation(connection, row.name, stored(compilation))
    return compilation


def continue_in_new_run(connection: Connection, opened: OpenedApplication) -> None:
    """Begin a run of the wanted kind, in which the application continues; reopen its complete parts if the kind may.

    Args:
        connection: a connection in a write transaction.
        opened: the application, with the kind of run that begins.

    Raises:
        NotDeployableError: the application is partly removed; a bounded run is wanted, but an unbounded one is under
            way; or a Spark query has closed all its windows.
        OtherVersionError: another version of the product wrote the program of a PE.
        ImplementationError: the class of a source cannot be imported.
    """
    application, run = opened.name, opened.run
    record_run_kind(connection, application, run)
    reopened = (run.available_now or run.reopens) and reopen(connection, application)
    continue_if_stopped(connection, application, opened.settings, reopened=reopened)


def _insert(connection: Connection, compilation: Compilation, opened: OpenedApplication) -> None:
    application, plan = opened.name, opened.wanted.plan
    insert_application(connection, application, stored_plan(compilation, opened.wanted.fingerprint), opened.settings)
    for unit in plan.units:
        insert_unit(connection, application, unit, columns_of(RegionRecord.first(unit.max_attempts, clock.now())))
    for host in plan.hosts:
        insert_host(connection, application, host, stored_requirements(plan.requirements_of(host)))
    for pe in plan.pes:
        insert_pe(connection, pe)


def insert_pe(connection: Connection, pe: DeployedPe, **values: Any) -> None:
    """Insert the row of a PE. `values` override columns of a fresh PE."""
    program = pe.program
    position = asdict(Position(inputs={stream.stream: 0 for stream in program.inputs}, sources=pe.initial))
    plain = {
        "application": program.application,
        "id": program.pe,
        "unit": program.unit,
        "host": pe.host,
        "feeds": bool(program.starts or program.sources or program.imports or any(s.foreign for s in program.inputs)),
        "restartable": pe.restartable,
        "operators": [program.operators[i].name for i in sorted(program.operators)],
        "levels": [asdict(level) for level in spread(program)],
        "program": dump(program),
        "initial": position,
        "position": position,
    }
    connection.execute(insert(tables.pe), [plain | values])  # one statement for all PEs, made once


def _write_programs(connection: Connection, plan: DeploymentPlan) -> None:
    """Replace the stored PE programs, since another version of the product may have written them."""
    for program in plan.programs:
        replace_program(connection, program.application, program.pe, dump(program))


def continue_if_stopped(
    connection: Connection,
    application: str,
    settings: Settings,
    *,
    reopened: bool = False,
    until: float | None = None,
) -> bool:
    """Mark an application as wanted to run. If it has stopped, let it continue; return True if it had.

    Every PE then continues after its last commit, in a new generation that fences off old processes. Its hosts get the
    given settings, their failed launches no longer count, and an open trial begins its time again. A unit with a Spark
    query that has stopped within an epoch is marked for a reset.

    Args:
        connection: a connection in a write transaction.
        application: the name of the application.
        settings: the settings of its hosts if it continues.
        reopened: let it continue even if it runs or is complete, since a source or PE was reopened.
        until: the end of a temporary run in unix seconds; None without an end.

    Raises:
        NotDeployableError: the application is partly removed.
        OtherVersionError: another version of the product wrote the program of a PE.
    """
    a, u = tables.application, tables.unit
    row = connection.execute(select(a.c.wanted, a.c.state).where(a.c.name == application)).one()
    require_not_removed(application, row.wanted)
    # a bounded run that has stopped by itself is no longer wanted, but may not be marked as STOPPED yet
    stopped = row.state == "STOPPED" or (row.wanted == "STOPPED" and row.state != "COMPLETED")
    want_running(connection, application, until)
    if not (stopped or reopened):
        return False
    continue_application(connection, application, settings)
    forget_launches(connection, application)
    begin_time_again(connection, application)  # a redeploy may have been interrupted, with its trial still open
    open_units = (u.c.application == application, u.c.state != "COMPLETED")
    cause = "it was stopped within an epoch, and a Spark query has no checkpoint of that epoch"
    resets = dict.fromkeys(_units_of_queries_within_an_epoch(connection, application), cause)
    begin_again(connection, application, connection.scalars(select(u.c.name).where(*open_units)).all(), resets)
    return True


def _units_of_queries_within_an_epoch(connection: Connection, application: str) -> set[str]:
    """Return the units with a dataframe query whose last commit is not at an epoch boundary.

    Spark's checkpoints are stored at boundaries only, so the query cannot continue after such a commit.
    """
    p, c = tables.pe, tables.commit
    last = (c.c.application == p.c.application) & (c.c.pe == p.c.id) & (c.c.batch == p.c.batch)
    between = select(p.c.unit, p.c.program).join(c, last).where(p.c.application == application, ~c.c.boundary)
    return {
        row.unit for row in connection.execute(between) if read_program(application, row.program).engine == "dataframe"
    }
