"""Starting an application from a savepoint: a redeploy whose old plan is the saved one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.operators.contract.operator import Offset, Operator, SourceOperator
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.runtime.catalog.application_transitions import insert_application
from streams_orchestration.runtime.deployment.deployment import continue_in_new_run
from streams_orchestration.runtime.deployment.dropping import drop_application
from streams_orchestration.runtime.deployment.opening import OpenedApplication
from streams_orchestration.runtime.programs.batches import StateFile
from streams_orchestration.runtime.programs.stored_compilation import base_directory, prepare_stored, stored_plan
from streams_orchestration.runtime.redeployment.state_migration import (
    Carried,
    Carrier,
    CommonCut,
    StateNotWrittenError,
    removed_on_failure,
    writing_states,
)
from streams_orchestration.runtime.redeployment.switching import NewPlan, begin_plan
from streams_orchestration.runtime.savepoints.manifest import Manifest, SavepointError
from streams_orchestration.runtime.savepoints.restore_checks import AcceptedRestore, accept, refuse_doubled_exports
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace, reason_of
from streams_orchestration.runtime.savepoints.shared_resources import enter_directories, go_on_reading
from streams_orchestration.runtime.storage.directories import directories_of


@dataclass(frozen=True)
class RestoredApplication:
    """An application that was deployed from a savepoint."""

    manifest: Manifest
    place: SavepointPlace
    """The place of the savepoint."""
    redeployment: Redeployment
    notes: tuple[str, ...] = ()
    """Differences from the savepoint, in words."""


def restore(
    opened: OpenedApplication, place: SavepointPlace, *, drop_state: Collection[str] = (), fresh: bool = False
) -> RestoredApplication:
    """Deploy an application that continues from a savepoint; `launch_hosts` starts its hosts.

    Args:
        opened: the application. It has the name of the saved application, or a name from its options for a clone.
        place: the savepoint, inside or outside of the state directory; it is not changed.
        drop_state: operators whose state may be lost.
        fresh: first drop the application that is deployed under this name, with its published results.

    Raises:
        SavepointError: the savepoint is damaged, or does not fit the application or the targets of its sinks
            (`accept`); or an Import would read the same tuples twice, or a state cannot be written.
        StreamsRuntimeError: `drop_state` names an operator whose state would not be lost; `fresh` is set and the
            application runs; a state cannot be read, or does not fit the new plan; queries cannot be analysed here; or
            the run is to continue a Spark query that has closed all its windows. Each cause has a subclass.
        ApplicationError: Spark refuses a query.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        OSError: `fresh` is set, and a published result cannot be removed.
    """
    accepted = accept(opened, place, drop_state, fresh=fresh)
    if fresh:
        drop_application(opened, accepted.after.deployment.programs)
    return _Restoring(opened, accepted).restore()


class _Restoring:
    """The start of one application from one savepoint."""

    def __init__(self, opened: OpenedApplication, accepted: AcceptedRestore) -> None:
        self._opened = opened
        self._home = opened.home
        self._accepted = accepted
        self._manifest = accepted.manifest
        self._written: list[str] = []
        """Paths of written files. They are garbage until the catalog names them."""

    def restore(self) -> RestoredApplication:
        """Carry the states over, and insert the application into the catalog; on failure, remove the written files.

        The files stay if it is unknown whether the application was inserted.
        """
        accepted, manifest, positions = self._accepted, self._manifest, self._manifest.positions
        cut = CommonCut(
            epoch=manifest.epoch,
            batch=manifest.batch,
            sources=positions.sources,
            exhausted=frozenset(positions.ended),
            finished=frozenset(positions.finished),
            clocks=positions.clocks,
            watermarks=positions.watermarks,
            idle=positions.idle,
            states=manifest.stored_states(accepted.place),
        )
        after, redeployment = accepted.after, accepted.redeployment
        plans = accepted.saved.deployment.programs, after.deployment.programs
        carrier = Carrier(self._home, base_directory(after), *plans, cut)
        store = self._home.store
        try:
            with removed_on_failure(store, carrier.written), removed_on_failure(store, self._written):
                carried = self._own(after, carrier.carry(redeployment))
                return self._enter(NewPlan(self._home, after, redeployment, cut, carried))
        except StateNotWrittenError as error:
            place = error.error.filename or self._home.root
            reason = reason_of(place, "written", error.error, "Make room, then try again.")
            raise SavepointError(self._not_started(reason)) from error

    def _not_started(self, reason: str) -> str:
        return f"{self._opened.name} was not started from {self._manifest.title}: {reason}"

    def _own(self, after: PlannedCompilation, carried: Carried) -> Carried:
        """Copy the savepoint's state files into the application's directories, and point the carried states to them.

        Sources adapt their offsets (`SourceOperator.restored`).
        """
        programs = after.deployment.programs
        operators = {operator.name: operator for program in programs for operator in program.operators.values()}
        places = {
            operator.name: directories_of(self._home, program.application, program.pe).states
            for program in programs
            for operator in program.operators.values()
        }
        states = {
            name: replace(state, files=tuple(self._copy_file(file, places[name]) for file in state.files))
            for name, state in carried.states.items()
        }
        offsets = {
            name: _restored(import_operator(operators[name].implementation), offset)
            for name, offset in carried.offsets.items()
        }
        with writing_states():
            self._home.store.sync(self._written)
        return replace(carried, states=states, offsets=offsets)

    def _copy_file(self, file: StateFile, place: str) -> StateFile:
        saved = self._accepted.place
        if not file.path.startswith(f"{saved.address}/"):
            return file
        name, store = file.path.rpartition("/")[2], self._home.store
        own = f"{place}/{self._manifest.id[:8]}-{name}"
        # files that were exported may be changed by their owner
        content = None if saved.store == store else self._content(saved, file)
        self._written.append(own)
        with writing_states():
            store.remove(own)  # left by a process that was killed before the catalog named it
            if content is None:
                store.copy(file.path, own)
            else:
                store.write(own, content)
        return replace(file, path=own)

    def _content(self, saved: SavepointPlace, file: StateFile) -> bytes:
        """Return the content of a file of the savepoint; raise SavepointError if it cannot be read."""
        try:
            return saved.store.read(file.path)
        except OSError as error:
            remedy = "Restore it from a copy, or name another savepoint."
            raise SavepointError(self._not_started(reason_of(file.path, "read", error, remedy))) from error

    def _enter(self, new: NewPlan) -> RestoredApplication:
        """Insert the application, with its units at the cut of the savepoint and the kind of its run."""
        application, manifest, redeployment = self._opened.name, self._manifest, new.redeployment
        prepare_stored()
        with self._opened.catalog.write() as connection:
            plan = stored_plan(new.compilation, redeployment.after)
            insert_application(connection, application, plan, self._opened.settings)
            begin_plan(connection, new, {})
            continue_in_new_run(connection, self._opened)
            enter_directories(connection, application, self._accepted.unmarked)
            refuse_doubled_exports(connection, application, manifest)
            notes = go_on_reading(connection, redeployment, manifest)
        return RestoredApplication(manifest, self._accepted.place, redeployment, notes)


def _restored(kind: type[Operator], offset: Offset) -> Offset:
    return kind.restored(offset) if issubclass(kind, SourceOperator) else offset
