"""Starting an application from a savepoint: a redeploy whose old plan is the saved one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import select

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.outcome import Redeployment, UnitAction
from streams_orchestration.compiler.redeployment.preview import NothingToDropError, preview
from streams_orchestration.operators.contract import Offset, Operator, SourceOperator
from streams_orchestration.operators.implementation import import_operator
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.start_lock import StartLock
from streams_orchestration.runtime.deployment.deployment import insert_application
from streams_orchestration.runtime.deployment.dropping import forget, refuse_running
from streams_orchestration.runtime.deployment.query_columns import with_columns_of_queries
from streams_orchestration.runtime.errors import CommitUnknownError
from streams_orchestration.runtime.programs.batches import StateFile
from streams_orchestration.runtime.programs.stored_compilation import base_directory, prepare_stored
from streams_orchestration.runtime.redeployment.carrying import Carried, Carrier, CommonCut
from streams_orchestration.runtime.redeployment.deployed import DropStateError, stored_facts
from streams_orchestration.runtime.redeployment.switching import NewPlan, begin
from streams_orchestration.runtime.savepoints.manifest import (
    Manifest,
    SavepointError,
    read_file,
    read_manifest,
    read_plan,
)
from streams_orchestration.runtime.savepoints.place import SavepointPlace, reason_of
from streams_orchestration.runtime.savepoints.surroundings import (
    enter_directories,
    go_on_reading,
    refuse_doubled_exports,
    refuse_other_files,
    refuse_shared_targets,
    unmarked_directories_there,
)
from streams_orchestration.runtime.settings import Settings
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import remove_files


@dataclass(frozen=True)
class Restored:
    """An application that was deployed from a savepoint."""

    manifest: Manifest
    place: SavepointPlace
    """The place of the savepoint."""
    redeployment: Redeployment
    notes: tuple[str, ...] = ()
    """Differences from the savepoint, in words."""


def restore(
    home: Home,
    lock: StartLock,
    wanted: Deployable,
    place: SavepointPlace,
    *,
    drop: Collection[str] = (),
    fresh: bool = False,
) -> Restored:
    """Deploy an application that continues from a savepoint; `launch` starts its hosts.

    Args:
        home: the state directory.
        lock: the start lock of the application.
        wanted: the application. It has the name of the saved application, or a name from its options for a clone.
        place: the savepoint, inside or outside of the state directory; it is not changed.
        drop: operators whose state may be lost.
        fresh: first drop the application that is deployed under this name, with its published results.

    Raises:
        SavepointError: the savepoint is damaged, is of another application, or does not fit the plan; the application
            is deployed already; or a target or stream of its sinks and Exports belongs to another application.
        DropStateError: `drop` names an operator whose state would not be lost.
        NotDeployableError: `fresh` is set and the application runs.
        ApplicationError: Spark refuses a query.
        StateRefusedError, MisplacedKeysError: a state does not fit the new plan.
        StateDirectoryError, CatalogError: the state directory cannot be used.
    """
    lock.require(wanted.name)
    application = lock.application
    settings = Settings.from_environment(home.environment)
    catalog = create_catalog(home)
    manifest = read_manifest(place)
    _refuse_other_application(manifest, wanted.compilation)
    if not fresh:
        _refuse_deployed(catalog, application)
    saved = read_plan(place, manifest)
    redeployment = preview_restore(place, manifest, saved, wanted.compilation, drop)
    if not redeployment.acceptable:
        message = f"{manifest.title} does not fit the present spec of {application}, so state would be lost:"
        message += redeployment.losses
        raise SavepointError(message)
    after = at_run_time(with_columns_of_queries(wanted), redeployment.numbering)
    refuse_shared_targets(home, catalog, after, manifest)
    if fresh:
        refuse_running(home, application)
        forget(home, catalog, application, after.plan.programs)
    refuse_other_files(home, after, manifest)
    return _Restoring(home, settings, catalog, place, manifest).restore(saved, after, redeployment)


def preview_restore(
    place: SavepointPlace, manifest: Manifest, saved: Compilation, wanted: Compilation, drop: Collection[str]
) -> Redeployment:
    """Preview the effect of a start from a savepoint on the saved states. Every file is read and checked.

    Raises:
        SavepointError: a file of the savepoint is damaged.
        DropStateError: `drop` names an operator whose state would not be lost.
    """
    for state in manifest.states:
        for file in state.files:
            read_file(place, file)
    facts = {name: stored_facts(place.store, chain) for name, chain in manifest.stored_states(place).items()}
    states = {name: each for name, each in facts.items() if each is not None}
    try:
        outcome = preview(saved, wanted, states=states, drop=drop, drained=True)
    except NothingToDropError as error:
        raise DropStateError(manifest.title, str(error)) from error
    units = tuple(UnitAction(outcome.numbering.units[unit.name], "start") for unit in wanted.plan.units)
    return replace(outcome, before=manifest.fingerprint, units=units)


class _Restoring:
    """The start of one application from one savepoint."""

    def __init__(
        self, home: Home, settings: Settings, catalog: Catalog, place: SavepointPlace, manifest: Manifest
    ) -> None:
        self._home = home
        self._settings = settings
        self._catalog = catalog
        self._place = place
        self._manifest = manifest
        self._written: list[str] = []
        """Paths of written files. They are garbage until the catalog names them."""

    def restore(self, saved: Compilation, after: Compilation, redeployment: Redeployment) -> Restored:
        """Carry the states over, and insert the application into the catalog."""
        manifest, positions = self._manifest, self._manifest.positions
        cut = CommonCut(
            epoch=manifest.epoch,
            batch=manifest.batch,
            sources=positions.sources,
            exhausted=frozenset(positions.ended),
            finished=frozenset(positions.finished),
            clocks=positions.clocks,
            watermarks=positions.watermarks,
            states=manifest.stored_states(self._place),
        )
        plans = saved.plan.programs, after.plan.programs
        carrier = Carrier(self._home, base_directory(after), *plans, cut)
        try:
            carried = self._own(after, carrier.carry(redeployment))
            return self._enter(NewPlan(self._home, after, redeployment, cut, carried))
        except BaseException as error:
            if not isinstance(error, CommitUnknownError):
                remove_files(self._home.store, [*carrier.written, *self._written])
            if isinstance(error, OSError):
                place = error.filename or self._home.root
                reason = reason_of(place, "written", error, "Make room, then try again.")
                message = f"{redeployment.application} was not started from {manifest.title}: {reason}"
                raise SavepointError(message) from error
            raise

    def _own(self, after: Compilation, carried: Carried) -> Carried:
        """Copy the savepoint's state files into the application's directories, and point the carried states to them."""
        programs = after.plan.programs
        operators = {operator.name: operator for program in programs for operator in program.operators.values()}
        places = {
            operator.name: directories_of(self._home, program.application, program.pe).states
            for program in programs
            for operator in program.operators.values()
        }
        states = {
            name: replace(state, files=tuple(self._file(file, places[name]) for file in state.files))
            for name, state in carried.states.items()
        }
        offsets = {
            name: _restored(import_operator(operators[name].implementation), offset)
            for name, offset in carried.offsets.items()
        }
        self._home.store.sync(self._written)
        return replace(carried, states=states, offsets=offsets)

    def _file(self, file: StateFile, place: str) -> StateFile:
        if not file.path.startswith(f"{self._place.address}/"):
            return file
        name, store = file.path.rpartition("/")[2], self._home.store
        own = f"{place}/{self._manifest.id[:8]}-{name}"
        self._written.append(own)
        store.remove(own)  # left by a process that was killed before the catalog named it
        if self._place.store == store:
            store.copy(file.path, own)
        else:  # files that were exported may be changed by their owner
            store.write(own, self._place.store.read(file.path))
        return replace(file, path=own)

    def _enter(self, new: NewPlan) -> Restored:
        redeployment = new.redeployment
        prepare_stored()
        unmarked = unmarked_directories_there(self._home, new.compilation, self._manifest)
        with self._catalog.write() as connection:
            insert_application(connection, new.compilation, redeployment.after, self._settings)
            begin(connection, new, {})
            enter_directories(connection, redeployment.application, unmarked)
            refuse_doubled_exports(connection, redeployment.application, self._manifest)
            notes = go_on_reading(connection, redeployment, self._manifest)
        return Restored(self._manifest, self._place, redeployment, notes)


def _restored(kind: type[Operator], offset: Offset) -> Offset:
    return kind.restored(offset) if issubclass(kind, SourceOperator) else offset


def _refuse_other_application(manifest: Manifest, wanted: Compilation) -> None:
    application = wanted.logical.application
    if manifest.application != application and wanted.options.name is None:
        message = (
            f"{manifest.title} is a savepoint of {manifest.application}, and the spec describes {application}. Name a "
            f"savepoint of {application}, or say with --name that this is a clone: --name {application}"
        )
        raise SavepointError(message)


def _refuse_deployed(catalog: Catalog, application: str) -> None:
    a = tables.application
    with catalog.read() as connection:
        if connection.scalar(select(a.c.name).where(a.c.name == application)) is None:
            return
    message = (
        f"{application} is deployed and would continue from its last complete epoch. Drop its state and published "
        "results with --fresh, or start a clone from the savepoint with --name OTHER."
    )
    raise SavepointError(message)
