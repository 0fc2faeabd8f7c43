"""Carrying over: the states and offsets of the new plan's operators are made and written before the switch."""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, select

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import OperatorProgram, PeProgram
from streams_orchestration.compiler.redeployment.outcome import Redeployment, StateMove
from streams_orchestration.model.brief import without_channels
from streams_orchestration.operators.contract.offset import Offsets
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.decision import IdleDecision
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import ApplicationRow, PeRow, UnitRow
from streams_orchestration.runtime.errors.errors import CommitUnknownError, StreamsRuntimeError
from streams_orchestration.runtime.programs.batches import StoredState
from streams_orchestration.runtime.redeployment.former_channels import floors_of
from streams_orchestration.runtime.redeployment.rescaling import (
    REPLICAS_AT_ONCE,
    carried_state,
    common_watermark,
    divide_states,
)
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import Store, remove_files
from streams_orchestration.runtime.tasks.instances import WATERMARK, operator_context
from streams_orchestration.runtime.tasks.state_files import read_state, small_state, state_data, store_dump
from streams_orchestration.runtime.tasks.stored_states import newest_states
from streams_orchestration.runtime.units.holding import HeldUnits


class StateNotWrittenError(StreamsRuntimeError):
    """A file with a state of the new plan could not be written."""

    def __init__(self, error: OSError) -> None:
        self.error = error
        place = f"{error.filename}: " if error.filename else ""
        super().__init__(f"the states of the new plan cannot be written: {place}{error.strerror or error}")


class SetUpError(StreamsRuntimeError):
    """An operator of the new plan cannot be set up, so its state cannot be carried over."""

    def __init__(self, operator: str, error: OSError) -> None:
        super().__init__(f"operator {operator} cannot be set up, so its state cannot be carried over: {error}")


@contextmanager
def writing_states() -> Generator[None]:
    """Run a block that writes files of states.

    Raises:
        StateNotWrittenError: the block raises an OSError.
    """
    try:
        yield
    except OSError as error:
        raise StateNotWrittenError(error) from error


@contextmanager
def removed_on_failure(store: Store, written: Collection[str]) -> Generator[None]:
    """Run a block that writes files and enters them into the catalog; if it fails, remove the files.

    They stay if it is unknown whether the catalog names them.

    Args:
        store: the storage of the files.
        written: the addresses of the written files; the block may add to them.
    """
    try:
        yield
    except BaseException as error:
        if not isinstance(error, CommitUnknownError):
            remove_files(store, written)
        raise


@dataclass(frozen=True)
class CommonCut:
    """States and offsets of the units that change, at their common cut."""

    epoch: int = 0
    """The highest complete epoch of the changing units, and of units that earlier redeploys have replaced."""
    batch: int = -1
    """The highest batch of the changing units' PEs, and of PEs that earlier redeploys have replaced."""
    generation: int = 0
    """The highest generation of all units, and of units that earlier redeploys have replaced."""
    inputs: dict[tuple[int, str], int] = field(default_factory=dict[tuple[int, str], int])
    """(PE, stream) -> the next segment to read."""
    outputs: dict[str, int] = field(default_factory=dict[str, int])
    """Stream -> the next segment to write."""
    sources: Offsets = field(default_factory=Offsets)
    """Source operator -> its offset."""
    watermarks: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """Operators without output ports -> the watermarks of their connections, as in `Position`."""
    clocks: dict[str, int] = field(default_factory=dict[str, int])
    """Source operator -> its watermark, as in `Position`."""
    idle: dict[str, list[dict[str, Any]]] = field(default_factory=dict[str, list[dict[str, Any]]])
    """Source operator -> its decisions that partitions are idle, from before a reset, that are still to be repeated."""
    exhausted: frozenset[str] = frozenset()
    """Sources that have ended."""
    ended: frozenset[tuple[int, str]] = frozenset()
    """(PE, stream) of each stream from another unit that has ended and that the PE has read to its end."""
    finished: frozenset[str] = frozenset()
    """Operators of PEs that have made their last commit."""
    states: dict[str, StoredState] = field(default_factory=dict[str, StoredState])
    """Operator -> its state at the cut."""


def read_cut(connection: Connection, held: HeldUnits) -> CommonCut:
    """Read the states and offsets of held units at their cuts."""
    application, changed = held.application, set(held.names)
    members = {program.pe for program in held.programs if program.unit in changed}
    a, u, p = tables.application, tables.unit, tables.pe
    before = ApplicationRow.one(connection, select(a).where(a.c.name == application))
    rows = UnitRow.all(connection, select(u).where(u.c.application == application))
    pes = PeRow.all(connection, select(p).where(p.c.application == application, p.c.id.in_(members)))
    return CommonCut(
        epoch=max((before.last_epoch, *(row.completed_epoch for row in rows if row.name in changed))),
        batch=max((before.last_batch, *(row.batch for row in pes))),
        generation=max((before.last_generation, *(row.generation for row in rows))),
        inputs={(row.id, stream): number for row in pes for stream, number in row.position["inputs"].items()},
        outputs={stream: number for row in pes for stream, number in row.position["outputs"].items()},
        sources={source: offset for row in pes for source, offset in row.position["sources"].items()},
        watermarks={name: each for row in pes for name, each in row.position.get("watermarks", {}).items()},
        clocks={name: value for row in pes for name, value in row.position.get("clocks", {}).items()},
        idle={name: _pending(each) for row in pes for name, each in row.position.get("idle", {}).items()},
        exhausted=frozenset(name for row in pes for name in _exhausted(row, "sources")),
        ended=frozenset((row.id, name) for row in pes for name in _exhausted(row, "inputs")),
        finished=frozenset(name for row in pes if row.final for name in row.operators),
        states={name: state for row in pes for name, state in newest_states(connection, application, row.id).items()},
    )


def _exhausted(row: PeRow, kind: str) -> list[str]:
    """Return the names of a PE's ended sources if `kind` is `sources`, else of its ended input streams.

    A source and a stream may have the same name.
    """
    own = row.initial["sources"] if kind == "sources" else row.position["inputs"]
    return [name for name in row.position["exhausted"] if name in own]


def _pending(decisions: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the decisions after the cut that partitions are idle; they belong to no epoch yet."""
    return [each for each in decisions if each["epoch"] is None]


@dataclass(frozen=True)
class Carried:
    """States and offsets with which operators of the new plan begin, by their physical names."""

    states: dict[str, StoredState] = field(default_factory=dict[str, StoredState])
    offsets: Offsets = field(default_factory=Offsets)
    exhausted: set[str] = field(default_factory=set[str])
    """Sources that have ended."""
    clocks: dict[str, int] = field(default_factory=dict[str, int])
    """The watermarks of sources, as in `Position`."""
    idle: dict[str, list[IdleDecision]] = field(default_factory=dict[str, list[IdleDecision]])
    """Source -> its decisions that partitions are idle, to be repeated at the same tuples (EV51)."""
    written: list[str] = field(default_factory=list[str])
    """Paths of the new files. They are garbage until the switch names them in the catalog."""


class Carrier:
    """The conversion of the states at a cut into the states of the new plan.

    Args:
        home: the state directory.
        base: directory of the spec.
        deployed: the deployed programs.
        wanted: the programs of the new plan, with their run-time numbers.
        cut: the cut of the units that change.
    """

    def __init__(
        self, home: Home, base: Path, deployed: Iterable[PeProgram], wanted: Iterable[PeProgram], cut: CommonCut
    ) -> None:
        self._home = home
        self._base = base
        self._formers = {each.name: each for program in deployed for each in program.operators.values()}
        self._programs = {each.name: (program, each) for program in wanted for each in program.operators.values()}
        self.cut = cut
        """The cut of the units that change."""
        self._former_names: dict[str, list[str]] = {}
        """Operator of the new plan -> the deployed operators whose state it gets."""
        self.written: list[str] = []
        """Paths of written files, also after an error; see `Carried`."""

    def carry(self, redeployment: Redeployment) -> Carried:
        """Convert the kept states, write them to new files that are synced to disk, and return them with the offsets.

        States that do not change keep their files. Errors of an operator's import, constructor or `setup` are raised.

        Raises:
            OperatorError: a stored state cannot be read.
            StateNotWrittenError: a file cannot be written.
            StreamsRuntimeError: a state does not fit the new plan, or an operator raises an OSError in `setup`.
        """
        carried = Carried(written=self.written)
        for action in redeployment.operators:
            if action.former is not None and action.action in ("kept", "moved"):
                self._former_names[action.operator] = [action.former]
        for move in redeployment.moves:
            names = [place.operator for place in move.sources]
            self._former_names |= {place.operator: names for place in move.targets}
        for action in redeployment.operators:
            if action.former is not None and action.action in ("kept", "moved"):
                self._move(action.former, action.operator, carried)
        for move in redeployment.moves:
            if move.before is not None:
                self._divide(move, carried)
        self._begin_channels(redeployment, carried)
        with writing_states():
            self._home.store.sync(self.written)
        return carried

    def _begin_channels(self, redeployment: Redeployment, carried: Carried) -> None:
        """Write a state with the least watermark of the former replicas for each new replica without a state (EV45).

        This concerns stateful replicas that merge the watermarks of several connections. Without a common watermark,
        nothing is written. Raises OperatorError if a state cannot be read, and StateNotWrittenError if one cannot be
        written.
        """
        for name, (_, program) in self._programs.items():
            imports = program.event_time is not None and program.event_time.imports
            if (program.entries or imports) and program.stateful and name not in carried.states:
                channels = without_channels(name)
                formers = [
                    each.former for each in redeployment.operators if without_channels(each.operator) == channels
                ]
                states = [self._read(former) for former in formers if former is not None]
                watermark = common_watermark(states, program, self._unchanged(name), self._over(name))
                if watermark:
                    self._store(name, watermark, carried)

    def _move(self, former: str, operator: str, carried: Carried) -> None:
        if former in self.cut.sources:
            carried.offsets[operator] = self.cut.sources[former]
            if former in self.cut.exhausted:
                carried.exhausted.add(operator)
            if former in self.cut.clocks:
                carried.clocks[operator] = self.cut.clocks[former]
            if pending := self.cut.idle.get(former):
                carried.idle[operator] = [IdleDecision(**each) for each in pending]
        stored = self.cut.states.get(former)
        if stored is None:
            return
        before, (_, after) = self._formers[former], self._programs[operator]
        same = (before.inputs, before.deliveries, before.parameters, {*before.entries.values()})
        is_same = same == (after.inputs, after.deliveries, after.parameters, {*after.entries.values()})
        if stored.is_checkpoint or is_same:
            carried.states[operator] = StoredState(operator, stored.files)
            return
        read = read_state(self._home.store, stored)
        state = carried_state(
            self._operator(after), before, after, read, self._unchanged(operator), self._over(operator)
        )
        self._store(operator, state, carried)

    def _over(self, operator: str) -> list[str]:
        """Return the event-time streams of an operator that have ended: their last watermark is not sent again.

        Raises OperatorError if a stored state cannot be read.
        """
        return [each for each in self._programs[operator][1].entries.values() if self._has_ended(each)]

    def _has_ended(self, stream: str) -> bool:
        """Return True if the sources of an event-time stream had no more tuples at the cut.

        Operators in between have passed the last watermark on, unless they keep tuples or make their own watermarks.
        The state of such an operator has the watermark that it has sent last. The result is False for an operator
        without streams in event time, and for an unknown one. Raises OperatorError if a state cannot be read.
        """
        output = stream.partition(">")[0]
        name = output if output in self._programs else output.rpartition(":")[0]
        if name not in self._programs:
            return False
        _, program = self._programs[name]
        formers = self._former_names.get(name, [])
        if program.source:
            return bool(formers) and self.cut.exhausted.issuperset(formers)
        role = program.event_time
        if role is None:
            return False
        if formers and (role.imports or role.mode != "inputWatermark"):
            last = "sent" if role.mode in ("heldInput", "manual") else "watermark"
            return all(self._read(each).get(WATERMARK, {}).get(last) == END for each in formers)
        if role.imports or role.mode in ("outputEventTime", "manual"):
            return False
        return bool(program.entries) and all(map(self._has_ended, program.entries.values()))

    def _unchanged(self, operator: str) -> set[str]:
        """Return the streams that an operator's PE reads from units that the redeploy does not change."""
        program, _ = self._programs[operator]
        return {each.stream for each in program.inputs if each.foreign and each.stream not in self.cut.outputs}

    def _divide(self, move: StateMove, carried: Carried) -> None:
        names = [place.operator for place in move.sources]
        if move.source:
            states: list[Mapping[str, Any]] = [self.cut.sources.get(name, {}) for name in names]
        else:
            with world.Pool(REPLICAS_AT_ONCE) as pool:
                states = list(pool.map(self._read, names))
        operator = self._operator(self._programs[move.targets[0].operator][1])
        targets = [place.operator for place in move.targets]
        floors = None if move.source else floors_of(operator, move, states, self._programs[targets[0]][1])
        divided = dict(zip(targets, divide_states(operator, move, states, floors), strict=True))
        if move.source:
            carried.offsets.update(divided)
            reached = [value for name in names if (value := self.cut.clocks.get(name, IDLE)) != IDLE]
            carried.clocks.update(dict.fromkeys(targets if reached else (), min(reached, default=IDLE)))
            clocks = [state for name in names if (state := self._read(name))]
            for target in targets:
                if watermark := common_watermark(clocks, self._programs[target][1]):
                    self._store(target, watermark, carried)
            if self.cut.exhausted.issuperset(names):  # otherwise any new channel may have unread input
                carried.exhausted.update(targets)
            return
        parts = {
            name: state | common_watermark(states, self._programs[name][1], self._unchanged(name), self._over(name))
            for name, state in divided.items()
            if state
        }
        with world.Pool(REPLICAS_AT_ONCE) as pool:
            stored = [pool.submit(self._store, name, state, carried) for name, state in parts.items()]
        for each in stored:
            each.result()

    def _read(self, operator: str) -> dict[str, Any]:
        """Return the state of an operator at the cut; empty without one, and for the checkpoint of a Spark query."""
        stored = self.cut.states.get(operator)
        return {} if stored is None or stored.is_checkpoint else read_state(self._home.store, stored)

    def _operator(self, program: OperatorProgram) -> Operator:
        implementation = import_operator(program.implementation)
        pe, _ = self._programs[program.name]
        directories = directories_of(self._home, pe.application, pe.pe, str(self._base))
        parameters = implementation.Parameters.model_validate(program.parameters)
        try:
            operator = implementation(operator_context(program, directories), parameters)
            operator.setup()
        except OSError as error:
            raise SetUpError(program.name, error) from error
        return operator

    def _store(self, operator: str, state: dict[str, Any], carried: Carried) -> None:
        pe, program = self._programs[operator]
        batch, generation = self.cut.batch + 1, self.cut.generation + 1
        directories = directories_of(self._home, pe.application, pe.pe, str(self._base))
        dump = state_data(state, batch, None, b"")
        if dump.parts:
            place = (directories.store, directories.states, generation, batch, program.index)
            with writing_states():
                file = store_dump(*place, dump, small_state(pe))
            if file.path:
                self.written.append(file.path)
            carried.states[operator] = StoredState(operator, (file,))
