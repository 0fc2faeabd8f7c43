"""Taking a savepoint: the application is held at a cut while its state files are copied, and then continues."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version

from sqlalchemy import Connection, select

from streams_orchestration import world
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.operators.loading.import_path import import_from
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import ApplicationRow, ConnectionRow
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.control import cancel_application, launch_hosts
from streams_orchestration.runtime.deployment.deployment import continue_if_stopped
from streams_orchestration.runtime.programs.batches import StateFile, StoredState
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.redeployment.deployed_plan import deployed_plan, stored_facts
from streams_orchestration.runtime.redeployment.draining import drain, postpone_if_drained, units_on_hold
from streams_orchestration.runtime.redeployment.state_migration import CommonCut, read_cut
from streams_orchestration.runtime.redeployment.trial_supervision import supervise_former_trial
from streams_orchestration.runtime.savepoints.atomic_places import new_directory, place_of, sweep
from streams_orchestration.runtime.savepoints.manifest import (
    SCHEMA_VERSION,
    Manifest,
    SavedFile,
    SavedImport,
    SavedPositions,
    SavedSink,
    SavedState,
    SavepointError,
    write_manifest,
    write_plan,
)
from streams_orchestration.runtime.savepoints.savepoint_place import STATES, SavepointPlace
from streams_orchestration.runtime.savepoints.shared_resources import sinks
from streams_orchestration.runtime.settings.limits import HOLD_SECONDS
from streams_orchestration.runtime.settings.settings import Settings
from streams_orchestration.runtime.sinks.directories import unmarked_directories
from streams_orchestration.runtime.sinks.outputs import newest_name
from streams_orchestration.runtime.tasks.state_files import content_of
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration.runtime.units.holding import HeldUnits, describe_held_work
from streams_orchestration.runtime.units.reading import application_row, read_units

CUT_TIMEOUT_SECONDS = 120.0
"""Default seconds in which the application must reach a cut."""
MAX_PARALLEL_COPIES = 8
"""The most states that are copied at the same time while the application is held."""


@dataclass(frozen=True)
class Created:
    """A new savepoint, and the time for which the application was held for it."""

    manifest: Manifest
    place: SavepointPlace
    paused_seconds: float
    """Seconds for which the application was held."""


@dataclass(frozen=True)
class _Taken:
    """The application at its cut."""

    row: ApplicationRow
    plan: PlannedCompilation
    cut: CommonCut
    """The cut. Its states point to files of the savepoint."""
    imports: tuple[SavedImport, ...]
    sinks: tuple[SavedSink, ...]


def create_savepoint(
    catalog: Catalog,
    lock: StartLock,
    name: str | None = None,
    *,
    within: float = CUT_TIMEOUT_SECONDS,
) -> Created:
    """Take a savepoint of an application, which keeps running.

    If the application was stopped within an epoch, it is started until it reaches a cut, and stopped again. If a
    redeploy is on trial, this function first waits until the trial is decided. Incomplete savepoints that killed
    processes have left are removed.

    Args:
        catalog: the catalog.
        lock: the start lock of the application.
        name: name of the savepoint; None for the current time in UTC.
        within: seconds in which the application must reach a cut.

    Raises:
        NotDeployedError: the catalog does not know the application.
        SavepointError: the application did not reach a cut in time, has a unit that is no longer reset, or has an
            operator that may change Imports and Exports or cannot be imported here; or the name is invalid or taken, or
            an OSError keeps the savepoint from being written. Nothing is left of the savepoint.
        ValidationError: the class of a sink has other parameters than at the compilation.
        StreamsRuntimeError: the last redeploy is on trial, and the application is stopped; a state cannot be read;
            another version of the product wrote the deployed plan; hosts that are needed to reach a cut cannot be
            started; the plan was replaced meanwhile; or a rule of the protocol is broken.
    """
    application, home = lock.application, catalog.home
    with catalog.read() as connection:
        import_from(application_row(connection, home, application).base)  # operators may be in modules beside the spec
    supervise_former_trial(catalog, application)
    sweep(home, application)
    place = place_of(home, application, name or time.strftime("%Y%m%d-%H%M%S", time.gmtime()))
    programs = [pe.program for pe in deployed_pes(catalog, application)]
    every_unit = HeldUnits(catalog, application, programs, {program.unit for program in programs})
    began = world.monotonic()
    with new_directory(place) as directory:
        with _at_rest(every_unit, within):
            taken = _copy_cut(every_unit, directory)
        paused = world.monotonic() - began
        manifest = _complete(directory, place.name, taken)
        write_manifest(directory, manifest)
    return Created(manifest, place, paused)


@contextmanager
def _at_rest(held: HeldUnits, within: float) -> Generator[None]:
    """Hold the application at a cut within the block; on exit it runs or is stopped as before.

    If it is not at a cut, its missing hosts are started first.
    """
    catalog, application = held.catalog, held.application
    changing = next((each.name for p in held.programs for each in p.operators.values() if each.links is not None), None)
    if changing is not None:
        message = (
            f"{application}: no savepoint can be taken, since {changing} may change Imports and Exports while it runs, "
            "and a savepoint has no connections"
        )
        raise SavepointError(message)
    status = read_units(catalog, application)
    hopeless = [failure for failure in find_failures(status, clock.now()) if failure.exhausted]
    if status.state in ("RUNNING", "WAITING") and hopeless:
        message = (
            f"{application}: no savepoint can be taken, since {hopeless[0].unit} has failed and is no longer reset: "
            f"{hopeless[0].explanation}. Fix the cause and reset it: streams reset {application} --force"
        )
        raise SavepointError(message)
    stopped = status.state == "STOPPED"
    continued = False
    with units_on_hold(held):
        try:
            rest = ""
            if not postpone_if_drained(held):
                continued = stopped
                _run_to_a_cut(catalog, application, for_a_while=stopped)
                launch_hosts(catalog, application)
                rest = drain(held, world.monotonic() + within, mend=False)
            if rest:
                standing = _explain_missing_cut(catalog, application, rest)
                message = (
                    f"{application} is unchanged, and no savepoint was taken: {standing} "
                    f"after {within:.0f} s. See `streams status {application}` for the cause of the delay, then "
                    "try again, or wait longer with --within"
                )
                raise SavepointError(message)
            yield
        finally:
            if continued:
                cancel_application(catalog, application)


def _run_to_a_cut(catalog: Catalog, application: str, *, for_a_while: bool) -> None:
    """Mark the application as wanted to run; with `for_a_while`, only until `HOLD_SECONDS` from now.

    The limit stops an application again that was stopped before, even if this process is killed.
    """
    settings = Settings.from_environment(catalog.home.environment)
    with catalog.write() as connection:
        application_row(connection, catalog.home, application)
        continue_if_stopped(
            connection, application, settings, until=clock.now() + HOLD_SECONDS if for_a_while else None
        )


def _explain_missing_cut(catalog: Catalog, application: str, rest: str) -> str:
    """Describe why an application reaches no cut: failed units, and units whose operator ends epochs."""
    units = read_units(catalog, application).units
    failing = [f"{unit.name} is {unit.state}" for unit in units if unit.state in ("UNHEALTHY", "RESETTING")]
    driven = [
        f"{unit.name} ends an epoch only when its start operator requests it"
        for unit in units
        if unit.row.region is not None and unit.row.period is None and unit.name in rest
    ]
    return ", ".join([rest, *failing, *driven])


def _copy_cut(held: HeldUnits, directory: SavepointPlace) -> _Taken:
    """Read the cut of the held application, and copy its state files into the savepoint. `_described` checks them."""
    catalog, application = held.catalog, held.application
    with catalog.read() as connection:
        if rest := describe_held_work(connection, held):
            message = f"{application} processed more batches while its savepoint was taken: {rest}. Try again."
            raise SavepointError(message)
        row = application_row(connection, catalog.home, application)
        plan = deployed_plan(connection, row)
        cut = read_cut(connection, held)
        imports = tuple(_imports(connection, application, cut))
    with world.Pool(MAX_PARALLEL_COPIES) as pool:
        kept = pool.map(partial(_copy_state, directory / STATES), range(len(cut.states)), cut.states.values())
        states = dict(zip(cut.states, kept, strict=True))
    listed = tuple(sinks(catalog.home, held.programs))
    with catalog.read() as connection:  # read after the listing, which then has all files of these directories
        written = tuple(
            SavedSink(
                operator=name,
                place=place,
                files=len(files),
                newest=newest_name(files),
                unmarked=unmarked_directories(connection, application, place),
            )
            for name, place, files in listed
        )
    return _Taken(row, plan, replace(cut, states=states), imports, written)


def _copy_state(directory: SavepointPlace, number: int, state: StoredState) -> StoredState:
    files: list[StateFile] = []
    for place, file in enumerate(state.files):
        address = (directory / f"{number}-{place}.state").address
        if file.path:
            directory.store.copy(file.path, address)
        else:
            directory.store.write(address, content_of(directory.store, file))
        files.append(replace(file, path=address, content=""))
    return StoredState(state.operator, tuple(files))


def _imports(connection: Connection, application: str, cut: CommonCut) -> Iterable[SavedImport]:
    k, a = tables.stream_connection, tables.application
    lives = {row.name: row.life for row in connection.execute(select(a.c.name, a.c.life))}
    links = select(k).where(k.c.application == application, k.c.problem.is_(None)).order_by(k.c.key)
    for link in ConnectionRow.all(connection, links):
        position = cut.inputs.get((link.pe, link.key), link.first)
        yield SavedImport(
            name=link.name,
            operator=link.operator,
            port=link.port,
            application=link.exporter,
            stream=link.stream,
            life=lives.get(link.exporter, ""),
            position=position,
        )


def _complete(directory: SavepointPlace, name: str, taken: _Taken) -> Manifest:
    """Write the plan, check every state file against the catalog by reading it, and return the manifest."""
    cut, row = taken.cut, taken.row
    directory.store.sync_contents(file.path for state in cut.states.values() for file in state.files)
    ended = tuple(sorted(cut.exhausted))
    return Manifest(
        schema_version=SCHEMA_VERSION,
        product=version("streams-orchestration"),
        id=world.new_id(),
        application=row.name,
        name=name,
        created_at=world.utc().isoformat(timespec="seconds"),
        life=row.life,
        fingerprint=row.fingerprint,
        epoch=cut.epoch,
        batch=cut.batch,
        complete=row.state == "COMPLETED",
        plan=write_plan(directory, taken.plan),
        positions=SavedPositions(
            sources=cut.sources,
            ended=ended,
            finished=tuple(sorted(cut.finished)),
            imports=taken.imports,
            clocks=cut.clocks,
            watermarks=cut.watermarks,
            idle=cut.idle,
        ),
        states=tuple(_described_state(directory, state) for state in cut.states.values()),
        sinks=taken.sinks,
    )


def _described_state(directory: SavepointPlace, state: StoredState) -> SavedState:
    facts = stored_facts(directory.store, state)
    files = tuple(
        SavedFile(
            name=file.path.removeprefix(f"{directory.address}/"),
            size=file.size,
            checksum=file.checksum,
            batch=file.batch,
            place=file.place,
        )
        for file in state.files
    )
    return SavedState(operator=state.operator, rows=facts.rows if facts is not None else 0, files=files)
