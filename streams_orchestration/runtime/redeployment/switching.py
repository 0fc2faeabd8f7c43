"""Switching: a new plan replaces the deployed one in one transaction, at a cut of the units that change.

Every PE of these units begins with a boundary commit, which names the states and positions that it continues from. The
boundary commit has a higher batch and epoch than all earlier commits, so that names of files, marks of sinks and
versions of states only grow. Unchanged units are not touched.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, delete, select

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.deployment_plan import DeployedPe, DeploymentPlan
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.model.brief import without_channels
from streams_orchestration.operators.event_time.operator_watermark import OWN
from streams_orchestration.operators.tuples.watermarks import IDLE
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.application_transitions import enter_plan
from streams_orchestration.runtime.catalog.chains import files_of
from streams_orchestration.runtime.catalog.pe_transitions import columns_at_commit
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.catalog.sink_rows import SinkRow
from streams_orchestration.runtime.catalog.sink_transitions import (
    carry_sink_counts,
    delete_other_sinks,
    pass_outputs_on,
)
from streams_orchestration.runtime.catalog.unit_transitions import insert_unit
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.deployment import insert_pe
from streams_orchestration.runtime.errors.errors import NotDeployableError, StreamsRuntimeError
from streams_orchestration.runtime.errors.invariants import promise
from streams_orchestration.runtime.programs.batches import Position
from streams_orchestration.runtime.programs.stored_compilation import stored_plan
from streams_orchestration.runtime.redeployment.counters import read_counters
from streams_orchestration.runtime.redeployment.state_migration import Carried, CommonCut, read_cut
from streams_orchestration.runtime.sinks.outputs import insert_sinks
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.clock_calls import goes_by_clock
from streams_orchestration.runtime.tasks.stored_states import state_files
from streams_orchestration.runtime.transport.connections import carry_connections, connect, declare, next_number
from streams_orchestration.runtime.transport.readers import drop_unread_exports
from streams_orchestration.runtime.trials.boundaries import forget_units, insert_cut, insert_states, place_hosts
from streams_orchestration.runtime.trials.previous_plan import read_plan
from streams_orchestration.runtime.trials.trial import open_trial
from streams_orchestration.runtime.units.holding import HeldUnits, describe_held_work
from streams_orchestration.runtime.units.region_record import RegionRecord
from streams_orchestration.runtime.units.unit_store import columns_of


def require_incomplete(connection: Connection, application: str) -> None:
    """Raise NotDeployableError if an application is complete: no host would run the units of a new plan."""
    a = tables.application
    if connection.scalar(select(a.c.state).where(a.c.name == application)) == "COMPLETED":
        message = (
            f"{application} is complete, so there is nothing to redeploy. Start the new plan from the beginning "
            "with --fresh"
        )
        raise NotDeployableError(message)


class NotAtCutError(StreamsRuntimeError):
    """A changed unit is not held at the cut from which the states of the new plan were read."""


@dataclass(frozen=True)
class NewPlan:
    """A plan that is ready to begin, with the states that its operators begin with."""

    home: Home
    compilation: PlannedCompilation
    """The plan, with its run-time numbers."""
    redeployment: Redeployment
    """The actions on units and operators, and the operators' former names."""
    cut: CommonCut
    """The cut at which its units begin, from which `carried` was made."""
    carried: Carried

    @property
    def deployment(self) -> DeploymentPlan:
        """The deployment plan, with the programs of the PEs."""
        return self.compilation.deployment

    @cached_property
    def formers(self) -> Mapping[str, str]:
        """Operator -> its deployed name, for operators that continue."""
        return self.redeployment.formers


def switch(connection: Connection, held: HeldUnits, new: NewPlan, within: float) -> list[str]:
    """Replace the deployed plan by a new one, and open its trial.

    Args:
        connection: a connection in a writing transaction.
        held: the units that change.
        new: the new plan.
        within: seconds in which every started unit must complete an epoch.

    Returns:
        Files that the catalog no longer names.

    Raises:
        NotAtCutError: a changed unit is not at a cut or no longer held, or has moved on from the cut of the new plan,
            or there are unread tuples between changed units.
        NotDeployableError: the application has been completed.
        InvariantError: a former unit has the generation in which its successor would begin, or a later one.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
    """
    redeployment = new.redeployment
    application, changed, begins = held.application, set(held.names), set(redeployment.beginning)
    require_incomplete(connection, application)
    if rest := describe_held_work(connection, held):
        raise NotAtCutError(rest)
    if read_cut(connection, held) != new.cut:
        message = f"{application} has processed more batches since its states were read"
        raise NotAtCutError(message)
    u = tables.unit
    rows = {row.name: row for row in UnitRow.all(connection, select(u).where(u.c.application == application))}
    if free := sorted(name for name in changed & rows.keys() if rows[name].held_until is None):
        message = f"the hold on {free[0]} has expired, so the states of the new plan may have been removed"
        raise NotAtCutError(message)
    before = read_plan(connection, application, changed, new.formers)
    counters = read_counters(connection, application, [each.pe for each in held.programs if each.unit in changed])
    garbage = _remove(connection, held)
    begin_plan(connection, new, rows)
    begun = [program for program in new.deployment.programs if program.unit in begins]
    counters.carry_on(connection, begun, new.formers, clock.now())
    garbage += open_trial(connection, application, begins, within, before)
    streams = {name for each in new.deployment.programs for name in each.consumers}
    garbage += drop_unread_exports(connection, application, streams)
    left = state_files(connection, application)
    return [path for path in garbage if path not in left]


def begin_plan(connection: Connection, new: NewPlan, rows: Mapping[str, UnitRow]) -> None:
    """Insert the units that begin with a new plan, and update the rows of the application, its hosts and its sinks.

    Its Exports and Imports are declared and connected.

    Args:
        connection: a connection in a writing transaction.
        new: the new plan.
        rows: the rows of the former units, by name.

    Raises:
        InvariantError: a former unit has the generation in which its successor would begin, or a later one.
        ImplementationError, ValidationError: the class of an operator cannot be imported, or has other parameters.
    """
    redeployment, plan, cut = new.redeployment, new.deployment, new.cut
    application, begins = redeployment.application, set(redeployment.beginning)
    # higher than all earlier ones, so that no query of a PE that changed its unit counts as a query of the new unit
    generation = cut.generation + 1
    newest = max((row.generation for name, row in rows.items() if name in begins), default=0)
    reused = (
        f"units of {application} would begin in generation {generation}, but one was already in generation {newest}"
    )
    promise(generation > newest, "B6", reused)
    read = carry_connections(connection, application, new.formers)
    sinks = set(connection.scalars(select(tables.sink.c.operator).where(tables.sink.c.application == application)))
    for unit in plan.units:
        if unit.name in begins:
            pes = [pe for pe in plan.pes if pe.program.unit == unit.name]
            final = _is_finished(new, pes)
            ended = True
            for pe in pes:
                position = _position(new, pe, _reached_by_sinks(new, pe.program, sinks))
                position = _continued(connection, new, pe.program, position, read)
                ended &= _begin(connection, new, pe, position, final=final)
            last = cut.epoch if final else cut.epoch + 1 if ended else None
            record = columns_of(RegionRecord.first(unit.max_attempts, clock.now(), cut.epoch))
            insert_unit(
                connection,
                application,
                unit,
                record,
                generation=generation,
                final_epoch=last,
                former=rows.get(unit.name),
            )
            insert_cut(connection, application, unit.name, cut.epoch, generation)
    place_hosts(connection, application, {host: plan.requirements_of(host) for host in plan.hosts})
    _place_sinks(connection, new)
    _write_application(connection, new)


def _remove(connection: Connection, held: HeldUnits) -> list[str]:
    """Delete held units with their states and segments, except segments of streams that others may still read.

    Return the files to remove, since the catalog no longer names them.
    """
    application, programs, units = held.application, held.programs, held.names
    members = [program for program in programs if program.unit in units]
    ids = [program.pe for program in members]
    read_on = {stream.stream for program in programs if program.unit not in units for stream in program.inputs}
    s, c = tables.segment, tables.stream_connection
    # an earlier plan may have written an exported stream in another PE
    read_on |= {stream for program in programs for stream in program.exports}
    read_on |= set(connection.scalars(select(c.c.stream).where(c.c.exporter == application)))
    gone = (s.c.application == application, s.c.pe.in_(ids), s.c.stream.not_in(read_on))
    garbage = list(connection.scalars(select(s.c.path).where(*gone)))
    connection.execute(delete(s).where(*gone))
    states = (tables.state.c.application == application, tables.state.c.pe.in_(ids))
    chains = connection.scalars(select(tables.state.c.files).where(*states))
    garbage += sorted(files_of(chains))
    forget_units(connection, application, units)
    return garbage


def _is_finished(new: NewPlan, pes: Iterable[DeployedPe]) -> bool:
    """Return True if all carried-over operators of a unit made their last commit, and the unit has no new sources.

    New operators in such a unit get no input. False if the unit has only new operators.
    """
    formers = new.formers
    former = {formers.get(each.name) for pe in pes for each in pe.program.operators.values()} - {None}
    sources = {name for pe in pes for name in pe.initial}
    return bool(former) and former <= new.cut.finished and sources <= formers.keys()


def _begin(connection: Connection, new: NewPlan, pe: DeployedPe, begins: Position, *, final: bool) -> bool:
    """Insert a PE, complete if `final` is set, with its operators' states; return True if its inputs have ended."""
    program, cut, position = pe.program, new.cut, asdict(begins)
    exhausted = _is_exhausted(program, position)
    insert_pe(
        connection,
        pe,
        batch=cut.batch + 1,
        epoch=cut.epoch + 1,
        position=position,
        exhausted=exhausted,
        final=final,
        committed_at=clock.now(),
        **columns_at_commit(final=final),
    )
    names = {operator.name for operator in program.operators.values()}
    states = [state for name, state in new.carried.states.items() if name in names]
    insert_states(connection, program.application, program.pe, cut.batch + 1, states)
    return exhausted


def _position(new: NewPlan, pe: DeployedPe, reached: dict[str, dict[str, int]]) -> Position:
    program, cut, carried = pe.program, new.cut, new.carried
    ended = carried.exhausted & pe.initial.keys()
    own = {operator.name for operator in program.operators.values()}
    ended |= {s.stream for s in program.inputs if s.foreign and (program.pe, s.stream) in cut.ended}
    return Position(
        # the PE's former position; for a stream that it did not read before, the end of the stream
        inputs={
            stream.stream: cut.inputs.get((program.pe, stream.stream), cut.outputs.get(stream.stream, 0))
            for stream in program.inputs
        },
        # dataframe queries keep offsets here, too, but have no initial ones
        sources=pe.initial | {name: offset for name, offset in carried.offsets.items() if name in own},
        exhausted=tuple(sorted(ended)),
        outputs={stream: cut.outputs[stream] for stream in program.consumers if stream in cut.outputs},
        watermarks=reached,
        idle={name: decisions for name, decisions in carried.idle.items() if name in own},
        clocks={
            operator.name: carried.clocks[operator.name]
            for operator in program.operators.values()
            if operator.name in carried.clocks and operator.event_time is not None and operator.event_time.peers
        },
        # the first batch asks the states for the times at which their operators want to be called
        wake=0.0 if any(map(goes_by_clock, program.operators.values())) else None,
    )


def _reached_by_sinks(new: NewPlan, program: PeProgram, sinks: Collection[str]) -> dict[str, dict[str, int]]:
    """Return the watermarks with which the connections of sinks begin (EV67): sink -> connection -> microseconds.

    Sinks without event time, and sinks for which the cut has no watermarks, are left out.

    Connections keep their watermarks if a sink has the same connections and channels. Otherwise all begin with the
    least watermark of the former channels, up to which the results stay complete.

    Args:
        new: the new plan.
        program: the program of one of its PEs.
        sinks: the deployed sinks.
    """
    cut, formers = new.cut, new.formers
    begun: dict[str, dict[str, int]] = {}
    for operator in program.operators.values():
        former = formers.get(operator.name, operator.name)
        channels = {each for each in {*sinks, *cut.watermarks} if without_channels(each) == without_channels(former)}
        reached = [cut.watermarks.get(each, {}) for each in channels]
        if operator.outputs or operator.event_time is None or not any(reached):
            continue
        own, declared = cut.watermarks.get(former, {}), {*operator.entries.values()}
        imported = own.keys() - declared - {OWN} if operator.event_time.imports else ()
        if len(channels) == max(operator.max_channels, 1) and own.keys() - {OWN} == declared | {*imported}:
            begun[operator.name] = own
        else:
            least = min(min(each.values(), default=IDLE) for each in reached)
            begun[operator.name] = dict.fromkeys((*declared, *imported), least) | ({OWN: least} if OWN in own else {})
    return begun


def _continued(
    connection: Connection,
    new: NewPlan,
    program: PeProgram,
    position: Position,
    read: Mapping[str, Mapping[str, int]],
) -> Position:
    """Add to a position the next segments of imported streams, and the next numbers of formerly exported streams."""
    inputs = new.cut.inputs
    imported = {
        key: inputs[former, key]
        for operator in program.operators.values()
        for key, former in read.get(operator.name, {}).items()
        if (former, key) in inputs
    }
    again = {
        stream: number
        for stream in program.exports
        if stream not in position.outputs and (number := next_number(connection, program.application, stream))
    }
    return replace(position, inputs=position.inputs | imported, outputs=position.outputs | again)


def _is_exhausted(program: PeProgram, position: Mapping[str, Any]) -> bool:
    sources = {program.operators[index].name for index in program.sources}
    return not program.imports and sources | program.awaited_streams <= set(position["exhausted"])


def _place_sinks(connection: Connection, new: NewPlan) -> None:
    """Update the rows of sinks: carried-over operators keep their counts, new ones start at 0, others are deleted.

    Outputs that are not final, or are to be removed, pass to the operators that continue. The rows of sinks in units
    that do not begin stay as they are.
    """
    application, begins = new.redeployment.application, set(new.redeployment.beginning)
    formers, programs = new.formers, new.deployment.programs
    deployed = select(tables.sink).where(tables.sink.c.application == application)
    rows = {row.operator: row for row in SinkRow.all(connection, deployed)}
    staying = {each.name for program in programs for each in program.operators.values() if program.unit not in begins}
    delete_other_sinks(connection, application, staying)
    for program in programs:
        if program.unit not in begins:
            continue
        insert_sinks(connection, new.home, program)
        for operator in program.operators.values():
            former = rows.get(formers.get(operator.name, ""))
            if former is not None:
                carry_sink_counts(connection, application, operator.name, former)
                # rows remain only for outputs that are not final, or that a reset has retracted and has to remove
                pass_outputs_on(connection, application, [former.operator], operator.name, program.pe)


def _write_application(connection: Connection, new: NewPlan) -> None:
    wanted, cut = new.compilation, new.cut
    plan, last = stored_plan(wanted, new.redeployment.after), cut.generation + 1
    enter_plan(connection, wanted.logical.application, plan, epoch=cut.epoch, batch=cut.batch + 1, generation=last)
    declare(connection, wanted)
    connect(connection)
