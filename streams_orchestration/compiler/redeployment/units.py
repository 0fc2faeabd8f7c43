"""The units of recovery that continue untouched: with the same programs, places and streams."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.deployment_plan import DeployedPe, Unit
from streams_orchestration.compiler.pe_program import (
    Delivery,
    Direct,
    Exchange,
    InputStream,
    OperatorProgram,
    PeProgram,
    SplitDelivery,
    Task,
)
from streams_orchestration.compiler.redeployment.outcome import RunTimeNumbers, UnitAction
from streams_orchestration.compiler.redeployment.plans import Operators
from streams_orchestration.compiler.redeployment.widths import Replica
from streams_orchestration.model.programs import without_places


def unit_actions(old: Operators, new: Operators, numbers: RunTimeNumbers) -> tuple[UnitAction, ...]:
    """Return the change of every unit, by run-time names: units of the new plan, then units that stop.

    Programs may differ in the numbers of operators, connections, PEs and regions, which are only references within the
    plan. A unit also restarts if an operator that reads one of its streams moves to another PE. Both PEs must have read
    the stream up to the same point, which is certain only after a drain.
    """
    moved = _with_moved_readers(old, new, numbers)
    before = {unit.name: _facts(old, unit, None) for unit in old.plan.units}
    actions: list[UnitAction] = []
    for unit in new.plan.units:
        name = numbers.units[unit.name]
        if name not in before:
            actions.append(UnitAction(name, "start"))
        else:
            same = before[name] == _facts(new, unit, numbers) and not moved & {numbers.pes[pe] for pe in unit.pes}
            actions.append(UnitAction(name, "run on" if same else "restart"))
    there = {each.unit for each in actions}
    return (*actions, *(UnitAction(unit.name, "stop") for unit in old.plan.units if unit.name not in there))


def circle_of_changed(old: Operators, actions: tuple[UnitAction, ...]) -> tuple[str, ...]:
    """Return deployed units that change and feed one another, so that none could be drained first; usually none."""
    changed = {each.unit for each in actions if each.ends}
    units = [unit for unit in old.plan.units if unit.name in changed]
    place = {pe: number for number, unit in enumerate(units) for pe in unit.pes}
    successors: list[list[int]] = [[] for _ in units]
    for pe in old.plan.pes:
        for stream in pe.program.inputs:
            source, target = place.get(stream.producer), place.get(pe.program.pe)
            if source is not None and target is not None and source != target:
                successors[source].append(target)
    circle = next((part for part in strong_components(successors) if len(part) > 1), list[int]())
    return tuple(sorted(units[number].name for number in circle))


def _with_moved_readers(old: Operators, new: Operators, numbers: RunTimeNumbers) -> set[int]:
    """Return the PEs, by run-time numbers, with a stream whose reader moves to another PE."""
    before = dict(_readings(old))
    return {
        numbers.pes[producer]
        for reading, (producer, pe) in _readings(new)
        if reading in before and before[reading][1] != numbers.pes[pe]
    }


def _readings(operators: Operators) -> Iterator[tuple[tuple[Replica, int, str], tuple[int, int]]]:
    """Yield ((operator, port, stream), (producer, reader)) for each stream that a PE reads from a PE."""
    for pe in operators.plan.pes:
        for stream in pe.program.inputs:
            reader = operators.replicas[pe.program.operators[stream.operator].name]
            yield (reader, stream.port, stream.stream), (stream.producer, pe.program.pe)


def _facts(operators: Operators, unit: Unit, numbers: RunTimeNumbers | None) -> tuple[Any, ...]:
    """Return all facts that must stay equal for a unit to continue without a restart, with run-time numbers.

    The results for two plans are only compared with each other.
    """
    pes: Mapping[int, int] = {} if numbers is None else numbers.pes
    members = {pes.get(pe.program.pe, pe.program.pe): pe for pe in operators.unit_pes(unit)}
    plain = replace(
        unit,
        name="",
        region=None if unit.region is None else 0,
        pes=tuple(sorted(members)),
        starts=tuple(sorted(pes.get(pe, pe) for pe in unit.starts)),
    )
    return plain, {number: _pe_facts(operators, pe, numbers) for number, pe in members.items()}


def _pe_facts(operators: Operators, pe: DeployedPe, numbers: RunTimeNumbers | None) -> tuple[Any, ...]:
    host = pe.host if numbers is None else numbers.hosts[pe.host]
    identities = {program.name: operators.replicas[program.name] for program in pe.program.operators.values()}
    return host, pe.restartable, identities, _Plain(pe.program, {} if numbers is None else numbers.pes).program()


class _Plain:
    """The parts of a PE program, with operator names in place of numbers, to compare two programs."""

    def __init__(self, program: PeProgram, pes: Mapping[int, int]) -> None:
        self._program = program
        self._pes = pes

    def program(self) -> tuple[Any, ...]:
        """Return all facts in the program that decide what the PE does."""
        program = self._program
        consumers = {
            stream: sorted(self._pes.get(pe, pe) for pe in readers) for stream, readers in program.consumers.items()
        }
        flags = (program.application, program.starts, program.autonomous)
        streams = (consumers, program.exports, program.uncommitted, program.uncommitted_exports)
        operators = {each.name: self._operator(each) for each in program.operators.values()}
        return flags, streams, operators, [self._task(task) for task in program.tasks]

    def _name(self, operator: int) -> str:
        return self._program.operators[operator].name

    def _operator(self, program: OperatorProgram) -> tuple[Any, ...]:
        deliveries = [list(self._deliveries(each)) for each in program.deliveries]
        region = None if program.region is None else replace(program.region, index=0)
        parameters = without_places(program.parameters)
        return replace(program, index=0, deliveries=(), region=region, pe=0, parameters=parameters), deliveries

    def _deliveries(self, deliveries: tuple[Delivery, ...]) -> Iterator[Any]:
        for each in deliveries:
            match each:
                case Direct() | Exchange():
                    yield self._name(each.operator), replace(each, operator=0, connection=0)
                case SplitDelivery():
                    yield replace(each, channels=()), [list(self._deliveries(channel)) for channel in each.channels]
                case _:
                    yield each

    def _task(self, task: Task) -> tuple[Any, ...]:
        operators = [[self._name(number) for number in part] for part in (task.operators, task.sources, task.owns)]
        imports = [(self._name(operator), port) for operator, port in task.imports]
        place = (task.level, task.partition, self._name(task.home), task.forwards)
        return place, operators, imports, [self._input(stream) for stream in task.inputs]

    def _input(self, stream: InputStream) -> tuple[Any, ...]:
        producer = self._pes.get(stream.producer, stream.producer)
        return self._name(stream.operator), replace(stream, operator=0, producer=producer)
