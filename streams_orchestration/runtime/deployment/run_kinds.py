"""Bounded runs, which read only the input that exists when they begin, and reopening of complete applications."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.contract.operator import Offset, SourceOperator
from streams_orchestration.operators.implementations.implementation import import_operator, make_operator
from streams_orchestration.operators.loading.import_path import import_from
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import begin_bounded_run, reopen_application
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.pe_transitions import reopen_pe
from streams_orchestration.runtime.catalog.rows import HostRow, PeRow, StoredPosition, UnitRow
from streams_orchestration.runtime.catalog.unit_transitions import reopen_unit
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.errors.errors import NotDeployableError
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes, read_program
from streams_orchestration.runtime.sinks.outputs import operators_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.reading import application_row
from streams_orchestration.runtime.units.status import HostStatus

PROBE_SECONDS = 10.0
"""Seconds to find out if a source has more input. After that, the source counts as having more."""
PROBE_PAUSE_SECONDS = 0.05
"""The most seconds between two calls of a source that is asked whether it has more input."""


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
    for _, name, kind in _sources(program):
        if name in position["exhausted"] and name in sources:
            sources[name] = kind.continued(sources[name])
    return {**position, "sources": sources, "exhausted": []}


def _sources(program: PeProgram) -> Iterator[tuple[int, str, type[SourceOperator]]]:
    for index in program.sources:
        kind = import_operator(program.operators[index].implementation)
        assert issubclass(kind, SourceOperator)
        yield index, program.operators[index].name, kind


def find_sources_with_input(catalog: Catalog, application: str) -> Sequence[str]:
    """Return the names of sources of a complete application that have more input than they had at its end.

    The sources run in this process, one after the other, and their tuples are discarded. A source that is still reading
    after `PROBE_SECONDS` counts, an endless one does not. The directory of the spec is added to the module search path.

    Raises:
        NotDeployedError: the catalog does not know the application.
        OtherVersionError: another version of the product wrote the deployed plan.
        Exception: a source fails in this process.
    """
    with catalog.read() as connection:
        base = application_row(connection, catalog.home, application).base
        rows = PeRow.all(connection, select(tables.pe).where(tables.pe.c.application == application))
    import_from(base)
    positions = {pe.id: pe.position for pe in rows}
    return [
        name
        for placed in deployed_pes(catalog, application)
        for name, offset in positions[placed.program.pe]["sources"].items()
        if name in positions[placed.program.pe]["exhausted"]
        and _probe(catalog.home, base, placed.program, name, offset)
    ]


def _probe(home: Home, base: str, program: PeProgram, name: str, offset: Offset) -> bool:
    """Run a source from an offset on; return True if it has tuples, or is still reading after `PROBE_SECONDS`.

    False if no operator of the program has this name, or if the source is endless. Errors of the source are raised,
    also those that keep its class from being imported or set up.
    """
    for each, kind, context, parameters in operators_of(home, program):
        if each != name or not issubclass(kind, SourceOperator) or kind.endless(parameters):
            continue
        tuples = 0

        def count(_: int, batch: Any) -> None:
            nonlocal tuples
            tuples += len(batch)

        context.base, context.submit = Path(base), count
        source = make_operator(kind, context, parameters)
        assert isinstance(source, SourceOperator)
        offset, until = kind.continued(offset), world.monotonic() + PROBE_SECONDS
        while not tuples:
            produced = source.produce(offset, 1)
            offset = produced.offset
            if produced.exhausted:
                return tuples > 0
            if world.monotonic() > until:
                break
            world.sleep(min(source.pause() or 0.0, PROBE_PAUSE_SECONDS))
        return True
    return False
