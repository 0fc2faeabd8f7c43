"""Bounded runs, which read only the input that exists when they begin, and reopening of complete applications."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection, select

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.contract.operator import SourceOperator
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import begin_bounded_run, reopen_application
from streams_orchestration.runtime.catalog.pe_transitions import reopen_pe
from streams_orchestration.runtime.catalog.rows import HostRow, PeRow, StoredPosition, UnitRow
from streams_orchestration.runtime.catalog.unit_transitions import reopen_unit
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import NotDeployableError
from streams_orchestration.runtime.programs.deployed_pes import read_program
from streams_orchestration.runtime.units.status import HostStatus


class RunKind(NamedTuple):
    """The kind of run that begins when an application is deployed."""

    available_now: bool = False
    """True for a bounded run: it reads only the input that exists now, and stops at a cut, from which the next run
    continues."""
    reopens: bool = False
    """True if the run may continue an application that is complete. A bounded run always may."""


ENDLESS = RunKind()


def require_ends(programs: Iterable[PeProgram]) -> None:
    """Check that a bounded run of these PEs can end.

    Raises:
        NotDeployableError: a source is endless, or an Import reads from another application.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
    """
    reasons: list[str] = []
    for program in programs:
        for operator in program.operators.values():
            kind = import_operator(operator.implementation)
            if not issubclass(kind, SourceOperator):
                continue
            if why := kind.endless(kind.Parameters.model_validate(operator.parameters)):
                reasons.append(f"{operator.name}: {why}")
        for index, port in program.imports:
            name = program.operators[index].name
            reasons.append(f"{name}: its input port {port} imports a stream of another application, which has no end")
    if reasons:
        lines = "\n".join(sorted(reasons))
        message = f"{lines}\n--available-now needs sources whose input ends. Run the application without it"
        raise NotDeployableError(message)


def record_run_kind(connection: Connection, application: str, wanted: RunKind) -> None:
    """Record the kind of run that begins, and forget when a bounded run has taken all its input.

    A new bounded run gets an id, and one that is under way keeps its id. A source that sees a new id determines again
    where its input ends.

    Raises:
        NotDeployableError: a bounded run is wanted, but an unbounded one is under way.
    """
    a, h = tables.application, tables.host
    row = connection.execute(select(a.c.bounded, a.c.wanted).where(a.c.name == application)).one()
    run = None
    if wanted.available_now:
        now = clock.now()
        hosts = HostRow.all(connection, select(h).where(h.c.application == application))
        runs = row.wanted == "RUNNING" and any(HostStatus.of(host, now).alive for host in hosts)
        if runs and row.bounded is None:
            message = (
                f"{application} is already running without an end, so it reads all available input itself. To run it "
                f"by schedule, stop it first: streams cancel {application}"
            )
            raise NotDeployableError(message)
        run = row.bounded if runs else world.new_id()
    begin_bounded_run(connection, application, run)


def reopen(connection: Connection, application: str) -> bool:
    """Reopen the completed parts of an application, so that they continue from their state.

    That state is the one after the final punctuation, so windows that it closed stay closed. An application whose final
    epoch is under way is not reopened: that epoch is completed first.

    Returns:
        True if anything was reopened.

    Raises:
        NotDeployableError: a Spark query has closed all its windows for good.
        OtherVersionError: another version of the product wrote the program of a PE.
        ImplementationError: the class of a source cannot be imported.
    """
    u, p = tables.unit, tables.pe
    units = {each.name: each for each in UnitRow.all(connection, select(u).where(u.c.application == application))}
    pes = PeRow.all(connection, select(p).where(p.c.application == application))
    ended = [pe for pe in pes if pe.final or pe.position["exhausted"]]
    if not ended or any(
        units[pe.unit].state != "COMPLETED" and (pe.final or units[pe.unit].final_epoch is not None) for pe in ended
    ):
        return False
    for pe in ended:
        _reopen(connection, pe)
    for name in {pe.unit for pe in ended}:
        reopen_unit(connection, units[name])
    reopen_application(connection, application)
    return True


def _reopen(connection: Connection, pe: PeRow) -> None:
    """Change the last commit of a PE so that the PE has not ended there."""
    program = read_program(pe.application, pe.program)
    if any(kept.get("flushed") for kept in pe.position["sources"].values()):
        queries = ", ".join(operator.name for operator in program.operators.values())
        message = (
            f"{pe.application} is complete, and {queries} closed all windows at its end: Spark accepts no later rows. "
            "Start over with --fresh. If later input is to continue the run, use --available-now each time, or set "
            "flush: false"
        )
        raise NotDeployableError(message)
    reopen_pe(connection, pe, _continued(program, pe.position))


def _continued(program: PeProgram, position: StoredPosition) -> StoredPosition:
    sources = dict(position["sources"])
    for operator in (program.operators[index] for index in program.sources):
        if operator.name in position["exhausted"] and operator.name in sources:
            kind = import_operator(operator.implementation)
            assert issubclass(kind, SourceOperator)
            sources[operator.name] = kind.continued(sources[operator.name])
    return {**position, "sources": sources, "exhausted": []}
