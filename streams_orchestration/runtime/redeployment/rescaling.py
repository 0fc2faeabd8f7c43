"""Conversion of states from one plan to another. The result is proved before anything is written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from streams_orchestration import world
from streams_orchestration.compiler.pe_program import OperatorProgram, SplitDelivery
from streams_orchestration.compiler.redeployment.outcome import StateMove
from streams_orchestration.model.brief import plural, without_channels
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.event_time.partitions import merged_clocks
from streams_orchestration.operators.states.conversion import ConversionError, converted
from streams_orchestration.operators.states.rescaling import PortKeys, RescaleError
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.redeployment.former_channels import StateRefusedError, grouped, own_states
from streams_orchestration.runtime.redeployment.routes import SplitterRoute
from streams_orchestration.runtime.tasks.floors import FLOORS, Floors, floored_state
from streams_orchestration.runtime.tasks.instances import OF_CONNECTIONS, SPLITTERS, WATERMARK

REPLICAS_AT_ONCE = 4
"""The most replicas whose states are proved, read or written at the same time."""


def carried_state(
    operator: Operator,
    former: OperatorProgram,
    program: OperatorProgram,
    state: State,
    unchanged: Collection[str],
    over: Collection[str],
) -> dict[str, Any]:
    """Return a state that is carried over undivided, converted to the operator's current types.

    A round-robin position is kept if the splitter has the same number of channels; otherwise it is dropped. All
    connections begin with the operator's watermark, except connections that have ended (EV45).

    Args:
        operator: the operator of the new plan, after `setup`.
        former: its deployed program.
        program: its program in the new plan.
        state: the stored state.
        unchanged: the operator's streams from units that the redeploy does not change.
        over: the operator's streams that have ended.

    Raises:
        StateRefusedError: the state cannot be converted to the operator's types.
    """
    parts = [dict(_converted(operator, own)) if own else {} for own in own_states(state)]
    merged = floored_state(parts, Floors.of(state[FLOORS])) if FLOORS in state else parts[0]
    before, after = (dict(_round_robins(each)) for each in (former, program))
    positions = state.get(SPLITTERS, {})
    kept = {name: positions[name] for name in positions if name in after and before.get(name) == after[name]}
    own_watermark = {name: each for name, each in state.get(WATERMARK, {}).items() if name not in OF_CONNECTIONS}
    watermark = common_watermark([state], program, unchanged, over)
    if watermark:
        watermark[WATERMARK] = own_watermark | watermark[WATERMARK]
    return merged | ({SPLITTERS: kept} if kept else {}) | watermark


def divide_states(
    operator: Operator, move: StateMove, states: Sequence[State], floors: Floors | None = None
) -> list[dict[str, Any]]:
    """Divide the states of a move among its targets, and return them in the targets' order.

    The positions of round-robin splitters are dropped.

    Args:
        operator: any replica of the new plan, after `setup`.
        move: the move, with the old and the new splitters.
        states: the stored state of each replica in `move.sources`, in order; empty for a replica without one. For a
            source operator, these are its offsets.
        floors: the watermarks of the old channels. With these watermarks, each target keeps the states from different
            old channels apart.

    Raises:
        MisplacedKeysError: a key is not in the channel of its tuples, before or after the division.
        StateRefusedError: the operator cannot divide the states, or they cannot be converted to its types.
        ValueError: the move has no splitters.
    """
    if move.before is None or move.after is None:
        message = "a move without splitters divides nothing"
        raise ValueError(message)
    name = operator.context.name
    before, after = SplitterRoute(move.before), SplitterRoute(move.after)
    own: list[list[State]] = [own_states(state) for state in states]
    if not move.source:
        own = [[_converted(operator, part) if part else {} for part in parts] for parts in own]
    _prove(operator, [place.operator for place in move.sources], own, before)
    targets = [place.operator for place in move.targets]
    together = [[part for parts in own for part in parts]] if floors is None else grouped(floors, states, own)
    divided: list[list[State]] = []
    for each in together:
        try:
            parts: list[State] = list(operator.rescale(each, after)) if any(each) else [{} for _ in targets]
        except RescaleError as error:
            raise StateRefusedError(name, str(error)) from error
        if len(parts) != len(targets):
            raise StateRefusedError(name, f"was divided into {len(parts)} parts for {len(targets)} channels")
        _prove(operator, targets, [[part] for part in parts], after)
        divided.append(parts)
    if floors is None:
        return [dict(state) for state in divided[0]]
    return [floored_state(each, floors) for each in zip(*divided, strict=True)]


def common_watermark(
    states: Sequence[State], program: OperatorProgram, unchanged: Collection[str] = (), over: Collection[str] = ()
) -> dict[str, Any]:
    """Return the part of a state with which a replica begins in event time.

    The watermark is the least watermark of the former replicas, and none if one of them has none (EV46). A connection
    begins with that watermark, or with `END` if its stream has ended. The clocks of all partitions go to each replica
    of a source, which forgets the clocks of partitions that it does not read. A stream of an unchanged unit, or of
    another application, stays idle, since it is not sent again that it is idle; other streams send it. An operator that
    sets its watermark itself also keeps the result of `_set_by_itself`. Without any of these, the part is empty.

    Args:
        states: the states of the former replicas; empty for one that has had neither tuple nor watermark.
        program: the program of the replica.
        unchanged: the streams from units that the redeploy does not change.
        over: the streams that have ended.
    """
    parts: list[dict[str, Any]] = [state.get(WATERMARK, {}) for state in states]
    parts = [part for part in parts if part.get("partitions") != {}]  # a source without partitions: see EV52
    clocks = merged_clocks(parts)
    reached = [part["watermark"] for part in parts if part.get("watermark") is not None]
    watermark = min(reached) if len(reached) == len(parts) and reached else None
    entries = [(_stream(name), value) for part in parts for name, value in part.get("entries", {}).items()]
    going_on = {stream for stream, value in entries if value != END}
    ended = {stream for stream, _ in entries} - going_on
    kept = {name: END for name in program.entries.values() if _stream(name) in ended or name in over}
    imports = program.event_time is not None and program.event_time.imports
    if imports:
        kept |= {name: END for part in parts for name, value in part.get("entries", {}).items() if value == END}
    own = {*program.entries.values()}
    idle = {
        name for part in parts for name in part.get("idle", ()) if name in unchanged or (imports and name not in own)
    }
    idle -= {*over} | {name for part in parts for name in part.get("entries", {}) if name not in part.get("idle", ())}
    kept |= dict.fromkeys(idle, watermark)
    own_marks = _set_by_itself(parts) if program.event_time is not None and program.event_time.mode == "manual" else {}
    if watermark is None and not (kept or clocks or own_marks):
        return {}
    return {WATERMARK: {"watermark": watermark, "entries": kept, "idle": sorted(idle)} | clocks | own_marks}


def _set_by_itself(parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the least watermark that former replicas have set (EV23), and whether all have declared themselves idle.

    The result is empty if one of them has set none, and one has not declared itself idle.
    """
    sent = [part["sent"] for part in parts if part.get("sent") is not None]
    least = min(sent) if sent and len(sent) == len(parts) else None
    declared = bool(parts) and all(part.get("declared", False) for part in parts)
    return {"sent": least, "declared": declared} if declared or least is not None else {}


def _stream(connection: str) -> str:
    """Return a name for the stream of a connection that is the same for all its channels, without its splitter."""
    return without_channels(connection.partition(">")[0])


def _prove(operator: Operator, names: Sequence[str], states: Sequence[Sequence[State]], route: SplitterRoute) -> None:
    """Check that the keys of all replicas' states are in the right channels, several replicas in parallel.

    Args:
        operator: any replica of the new plan, after `setup`.
        names: the names of the replicas.
        states: the states of each replica's objects.
        route: the splitters of the replicas.
    """
    proofs: list[Future[None]] = []
    with world.Pool(REPLICAS_AT_ONCE) as pool:
        for channel, (name, parts) in enumerate(zip(names, states, strict=True)):
            for state in parts:
                if state:
                    try:
                        keys = list(operator.keys_of(state))
                    except RescaleError as error:
                        raise StateRefusedError(name, str(error)) from error
                    proofs.append(pool.submit(prove, name, keys, route, channel))
    for proof in proofs:
        proof.result()


def _converted(operator: Operator, state: State) -> State:
    try:
        return converted(state, operator.checkpoint())
    except ConversionError as error:
        raise StateRefusedError(operator.context.name, str(error)) from error


def _round_robins(program: OperatorProgram) -> Iterator[tuple[str, int]]:
    """Yield the id and the number of channels of each round-robin splitter at an operator's output ports."""
    pending = [each for deliveries in program.deliveries for each in deliveries]
    while pending:
        each = pending.pop()
        if isinstance(each, SplitDelivery):
            pending += [inner for channel in each.channels for inner in channel]
            if each.policy == "roundRobin":
                yield each.id, len(each.channels)


class MisplacedKeysError(StreamsRuntimeError):
    """Keys of a state are not in the channel of their tuples. The message contains no key."""

    def __init__(self, operator: str, attributes: tuple[str, ...], count: int, total: int) -> None:
        super().__init__(
            f"state of {operator}: {count} of {plural(total, 'key')} of ({', '.join(attributes)}) would not be found, "
            "since their tuples go to another channel: the attributes have other values in the state than at the "
            f"splitter. Split by attributes that no operator in between changes, or drop the state with "
            f"--drop-state {operator}"
        )


def prove(operator: str, keys: Iterable[PortKeys], route: SplitterRoute, channel: int) -> None:
    """Check every key of a replica's state by hashing it as the splitters do.

    Args:
        operator: physical name of the replica.
        keys: keys in its state, per input port. A port without a hashing splitter, or whose keys lack an attribute of
            it, is skipped.
        route: the splitters of the replicas.
        channel: index of this replica.

    Raises:
        MisplacedKeysError: the tuples of a key go to another channel.
    """
    for port, values in keys:
        attributes = route.attributes(port)
        if attributes is None or not set(attributes) <= set(values.schema.names):
            continue
        wrong = int(np.count_nonzero(route.channels(values, port) != channel))
        if wrong:
            raise MisplacedKeysError(operator, attributes, wrong, values.num_rows)
