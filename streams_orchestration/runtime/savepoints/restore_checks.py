"""Accepts a start from a savepoint: everything that could refuse it is checked before anything is changed.

Only `refuse_doubled_exports` comes later, while the application is inserted, since it needs the connected streams.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection, select

from streams_orchestration.compiler.compilation import Compilation, PlannedCompilation
from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.outcome import Redeployment, UnitAction
from streams_orchestration.compiler.redeployment.preview import NothingToDropError, preview
from streams_orchestration.model.brief import plural
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import ConnectionRow
from streams_orchestration.runtime.deployment.dropping import refuse_running
from streams_orchestration.runtime.deployment.opening import OpenedApplication
from streams_orchestration.runtime.deployment.query_columns import add_query_columns
from streams_orchestration.runtime.redeployment.deployed_plan import DropStateError, stored_facts
from streams_orchestration.runtime.savepoints.manifest import (
    Manifest,
    SavedSink,
    SavepointError,
    read_file,
    read_manifest,
    read_plan,
)
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace
from streams_orchestration.runtime.savepoints.shared_resources import SinkTarget, sinks
from streams_orchestration.runtime.sinks.outputs import newest_name


@dataclass(frozen=True, slots=True)
class AcceptedRestore:
    """A savepoint, and the plan that begins with its states; made by `accept` only."""

    place: SavepointPlace
    manifest: Manifest
    saved: PlannedCompilation
    """The plan in the savepoint."""
    after: PlannedCompilation
    """The new plan, with its run-time numbers."""
    redeployment: Redeployment
    """The effects of the new plan on the saved states."""
    unmarked: Mapping[str, tuple[str, ...]]
    """Target of a sink -> the directories that were not yet marked as complete when the savepoint was taken.

    Targets without files are left out.
    """


def accept(
    opened: OpenedApplication, place: SavepointPlace, drop_state: Collection[str], *, fresh: bool
) -> AcceptedRestore:
    """Check that an application can begin with the states of a savepoint. Nothing is changed.

    Args:
        opened: the application.
        place: the savepoint. Every file is read and checked.
        drop_state: operators whose state may be lost.
        fresh: True if the deployed application is dropped first, with its published results.

    Raises:
        SavepointError: the savepoint is damaged or cannot be read, is of another application, or does not fit the plan;
            the application is deployed already; or a target of its sinks cannot be listed, belongs to another
            application, or has other files.
        DropStateError: `drop_state` names an operator whose state would not be lost.
        OperatorError: a state of the savepoint cannot be read as one of its operator.
        NotDeployableError: `fresh` is set and the application runs.
        NotDeployedError: `fresh` is set, and another process has dropped the application meanwhile.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
        ApplicationError: Spark refuses a query.
        AnalysisError, JavaError, HostLaunchError: Spark could not analyse the queries.
    """
    wanted, manifest = opened.wanted.compilation, read_manifest(place)
    _refuse_other_application(wanted, manifest)
    if fresh:
        refuse_running(opened)
    else:
        _refuse_deployed(opened)
    saved = read_plan(place, manifest)
    redeployment = _preview(place, manifest, saved, wanted, drop_state)
    if not redeployment.acceptable:
        message = f"{manifest.title} does not fit the present spec of {opened.name}, so state would be lost:"
        message += redeployment.losses
        raise SavepointError(message)
    after = at_run_time(add_query_columns(opened.wanted), redeployment.numbering)
    targets = tuple(sinks(opened.home, after.deployment.programs))
    _refuse_shared_targets(opened, manifest, targets)
    unmarked = {} if fresh else _unmarked(opened, manifest, targets)
    return AcceptedRestore(place, manifest, saved, after, redeployment, unmarked)


def _refuse_other_application(wanted: Compilation, manifest: Manifest) -> None:
    application = wanted.logical.application
    if manifest.application != application and wanted.options.name is None:
        message = (
            f"{manifest.title} is a savepoint of {manifest.application}, and the spec describes {application}. Name a "
            f"savepoint of {application}, or say with --name that this is a clone: --name {application}"
        )
        raise SavepointError(message)


def _refuse_deployed(opened: OpenedApplication) -> None:
    if opened.deployed:
        message = (
            f"{opened.name} is deployed and would continue from its last complete epoch. Drop its state and published "
            "results with --fresh, or start a clone from the savepoint with --name OTHER."
        )
        raise SavepointError(message)


def _preview(
    place: SavepointPlace,
    manifest: Manifest,
    saved: PlannedCompilation,
    wanted: PlannedCompilation,
    drop_state: Collection[str],
) -> Redeployment:
    """Preview the effect of a start from a savepoint on the saved states. Every file is read and checked."""
    for state in manifest.states:
        for file in state.files:
            read_file(place, file)
    facts = {name: stored_facts(place.store, chain) for name, chain in manifest.stored_states(place).items()}
    states = {name: each for name, each in facts.items() if each is not None}
    try:
        outcome = preview(saved, wanted, states=states, drop_state=drop_state, drained=True)
    except NothingToDropError as error:
        raise DropStateError(manifest.title, str(error)) from error
    units = tuple(UnitAction(outcome.numbering.units[unit.name], "start") for unit in wanted.deployment.units)
    return replace(outcome, before=manifest.fingerprint, units=units)


def _refuse_shared_targets(opened: OpenedApplication, manifest: Manifest, targets: Iterable[SinkTarget]) -> None:
    """Raise SavepointError if a sink's target belongs to another application, such as the one that was cloned.

    The targets of a cloned application count even if it is not deployed here, except those that refer to the
    environment, which may name other places there.
    """
    application, s = opened.name, tables.sink
    taken: dict[str, str] = {}
    if manifest.application != application:  # elsewhere a reference to the environment may mean another place
        taken = {sink.place: manifest.application for sink in manifest.sinks if "{env:" not in sink.place}
    with opened.catalog.read() as connection:
        rows = connection.execute(select(s.c.place, s.c.application).where(s.c.application != application)).all()
    taken |= {row.place: row.application for row in rows}
    for operator, place, _ in targets:
        if place and place in taken:
            message = (
                f"{operator} of {application} would write to {place}, as {taken[place]} does, so results would be "
                f"doubled. Give {application} a place of its own, for example by a submission-time value of the spec "
                "(--set)."
            )
            raise SavepointError(message)


def _unmarked(
    opened: OpenedApplication, manifest: Manifest, targets: Iterable[SinkTarget]
) -> dict[str, tuple[str, ...]]:
    """Return the directories to be marked, as in `AcceptedRestore`."""
    known: dict[str, SavedSink] = {}
    if manifest.application == opened.name:
        known = {sink.operator: sink for sink in manifest.sinks} | {sink.place: sink for sink in manifest.sinks}
    unmarked: dict[str, tuple[str, ...]] = {}
    for operator, place, files in targets:
        before = known.get(place) or known.get(operator)
        if not files:
            continue
        if before is None or (before.files, before.newest) != (len(files), newest_name(files)):
            there = "none" if before is None or not before.files else f"{before.files} up to {before.newest}"
            message = (
                f"{place} has {plural(len(files), 'file')}, up to {newest_name(files)}; at the savepoint it had "
                f"{there}. Results after the savepoint would be doubled: move the newer files away."
            )
            raise SavepointError(message)
        if before.unmarked:
            unmarked[place] = before.unmarked
    return unmarked


def refuse_doubled_exports(connection: Connection, application: str, manifest: Manifest) -> None:
    """Raise SavepointError if an Import would read both the clone's streams and the streams of the original."""
    k = tables.stream_connection
    readers = {
        (row.application, row.name, row.exporter)
        for row in ConnectionRow.all(connection, select(k).where(k.c.application != application))
    }
    for reader, name, exporter in sorted(readers):
        if exporter == application and (reader, name, manifest.application) in readers:
            message = (
                f"{application} would send {name} of {reader} the same tuples as {manifest.application} does. Give "
                f"the Exports of {application} other properties, or leave them out."
            )
            raise SavepointError(message)
