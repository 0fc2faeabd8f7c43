"""Reads the deployed plan and the stored states of an application, and previews its redeploy."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy import Connection, select

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.deployment_plan import DeployedPe, DeploymentPlan, Unit
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.compiler.redeployment.preview import NothingToDropError, preview
from streams_orchestration.compiler.redeployment.states import StateFacts
from streams_orchestration.compiler.stage_results import RestartPolicy
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.rows import ApplicationRow
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import StoredState
from streams_orchestration.runtime.programs.deployed_pes import read_program
from streams_orchestration.runtime.programs.stored_compilation import read_stored
from streams_orchestration.runtime.redeployment.predicting import read_prediction
from streams_orchestration.runtime.storage.store import Store
from streams_orchestration.runtime.tasks.instances import OF_RUNTIME
from streams_orchestration.runtime.tasks.state_files import check_state, read_state
from streams_orchestration.runtime.tasks.stored_states import newest_states
from streams_orchestration.runtime.units.reading import application_row


class DropStateError(StreamsRuntimeError):
    """`--drop-state` names an operator whose state would not be lost."""

    def __init__(self, application: str, reason: str) -> None:
        super().__init__(
            f"{application}: {reason}. Name only operators that would lose their state according to the preview"
        )


def preview_redeploy(
    catalog: Catalog, wanted: Deployable, drop_state: Collection[str] = (), *, stored: bool = True
) -> Redeployment:
    """Preview the effect of a redeploy on a deployed application and its stored states. Nothing is changed.

    Args:
        catalog: the catalog.
        wanted: the application with the new plan.
        drop_state: operators whose state may be lost.
        stored: read the stored states. If False, their rows and bytes are unknown, and a state that only its keys could
            prove divisible is refused.

    Raises:
        NotDeployedError: the application is not deployed.
        OtherVersionError: another version of the product wrote the deployed plan.
        DropStateError: `drop_state` names an operator whose state would not be lost.
        OperatorError: a stored state cannot be read.
        ImplementationError: an operator that is wanted cannot be imported.
        ValueError: the time zone changes, and the filter of an Import is wrong.
        CatalogError: the catalog cannot be used.
    """
    application = wanted.name
    with catalog.read() as connection:
        row = application_row(connection, catalog.home, application)
        deployed = deployed_plan(connection, row)
        chains = state_chains(connection, deployed) if stored else {}
    facts = {operator: _facts_of(chain, catalog, deployed) for operator, chain in chains.items()}
    states = {operator: each for operator, each in facts.items() if each is not None} if stored else None
    try:
        redeployment = preview(deployed, wanted.compilation, states=states, drop_state=drop_state)
    except NothingToDropError as error:
        raise DropStateError(application, str(error)) from error
    with catalog.read() as connection:
        seconds = read_prediction(connection, redeployment)
    # the row has the fingerprint of the plan as compiled: after a redeploy, the deployed plan has other numbers
    return replace(redeployment, before=row.fingerprint, predicted_seconds=seconds)


def _facts_of(chain: StoredState, catalog: Catalog, deployed: PlannedCompilation) -> StateFacts | None:
    """Return facts of one operator's stored state. If a newer state has replaced it meanwhile, read that one.

    None if the state holds only parts of the runtime's own, such as round-robin positions.
    """
    while True:
        try:
            return stored_facts(catalog.store, chain)
        except OperatorError:
            with catalog.read() as connection:
                newest = state_chains(connection, deployed).get(chain.operator)
            if newest is None or newest == chain:
                raise
            chain = newest


def deployed_plan(connection: Connection, row: ApplicationRow) -> PlannedCompilation:
    """Return the compilation in an application's row, with the units and PE programs as they are in the catalog.

    Raises:
        OtherVersionError: another version of the product wrote the plan.
    """
    p, u, application = tables.pe, tables.unit, row.name
    rows = connection.execute(select(p).where(p.c.application == application).order_by(p.c.id)).all()
    pes = tuple(
        DeployedPe(read_program(application, row.program), row.host, row.restartable, row.initial["sources"])
        for row in rows
    )
    units = tuple(
        Unit(
            name=row.name,
            region=row.region,
            pes=tuple(pe.program.pe for pe in pes if pe.program.unit == row.name),
            starts=tuple(pe.program.pe for pe in pes if pe.program.unit == row.name and pe.program.starts),
            period=row.period,
            max_attempts=row.configured_attempts,
            drain_timeout=row.drain_timeout,
            reset_timeout=row.reset_timeout,
            restart=RestartPolicy(row.restart_pause, row.restart_limit),
        )
        for row in connection.execute(select(u).where(u.c.application == application).order_by(u.c.name))
    )
    return read_stored(row).with_plan(DeploymentPlan(pes, units))


def state_chains(connection: Connection, deployed: PlannedCompilation) -> dict[str, StoredState]:
    """Return the newest state of each operator of the deployed plan that has one."""
    chains: dict[str, StoredState] = {}
    for program in deployed.deployment.programs:
        chains |= newest_states(connection, program.application, program.pe)
    return chains


def stored_facts(store: Store, chain: StoredState) -> StateFacts | None:
    """Return facts of an operator's stored state. Only the size is known for the checkpoint of a Spark query.

    None if the state holds only parts of the runtime's own, such as round-robin positions.

    Raises:
        OperatorError: a file cannot be read.
    """
    if chain.is_checkpoint:
        check_state(store, chain)
        return StateFacts(None, sum(file.size for file in chain.files))
    return state_facts(read_state(store, chain), chain)


def state_facts(state: State, chain: StoredState) -> StateFacts | None:
    """Return facts of a state, or None if it holds only parts of the runtime's own, such as round-robin positions.

    A state without tables counts each of its values as a row.
    """
    parts = {name: part for name, part in state.items() if name not in OF_RUNTIME}
    if not parts:
        return None
    keys = {name: tuple(part.keys_schema.names) if isinstance(part, KeyedState) else () for name, part in parts.items()}
    counted = [part for part in parts.values() if isinstance(part, KeyedState | DictState | TupleLog | pa.Table)]
    rows = sum(map(len, counted)) if counted else len(parts)
    return StateFacts(rows, sum(file.size for file in chain.files), keys)
