"""Former channels with different watermarks, whose keys stay apart while a redeploy divides states (EV46)."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.compiler.redeployment.outcome import StateMove, StateRouting
from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.watermarks import END, IDLE
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.redeployment.routes import SplitterRoute
from streams_orchestration.runtime.tasks.clock_calls import goes_by_clock
from streams_orchestration.runtime.tasks.floors import FLOORS, Floors, states_in
from streams_orchestration.runtime.tasks.instances import OF_RUNTIME, WATERMARK

_NONE = Floors((IDLE,), (0,), ())
"""The floors of a state that has none: a single old channel without a watermark."""


class StateRefusedError(StreamsRuntimeError):
    """A state does not fit the new plan."""

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(f"state of {operator} {reason}; drop it with --drop-state {operator}, or keep the plan")


def own_states(state: State) -> list[State]:
    """Return the states of an operator's objects without the runtime's parts; mostly there is one object."""
    return [{name: part for name, part in each.items() if name not in OF_RUNTIME} for each in states_in(state)]


def floors_of(operator: Operator, move: StateMove, states: Sequence[State], program: OperatorProgram) -> Floors | None:
    """Return the watermarks of old channels, which decide for a while whether tuples with their keys are late (EV46).

    Return None if the move has no splitters, the watermarks are equal, keys do not decide about channels, or the
    operator has no input in event time or uses the clock. A channel that has ended gets no further tuples, so its
    watermark does not count. If an earlier redeploy has left floors, the old channels are the pairs of a channel from
    before it and a channel from after it, and the greater watermark of a pair counts.

    Args:
        operator: any replica of the new plan, after `setup`.
        move: the move, with the old splitters.
        states: the stored state of each replica in `move.sources`, in order.
        program: the program of a replica of the new plan.

    Raises:
        StateRefusedError: an earlier redeploy has left floors, and keys no longer decide about channels; or an input
            of the new plan lacks an attribute of an old splitter.
        ImplementationError: the operator's class cannot be imported.
    """
    if move.before is None:
        return None
    earlier = next((Floors.of(state[FLOORS]) for state in states if FLOORS in state), _NONE)
    reached = [state.get(WATERMARK, {}).get("watermark") for state in states]
    known = [IDLE if each is None else each for each in reached if each != END]
    own = [max(known, default=IDLE) if each == END else IDLE if each is None else each for each in reached]
    judged = [max(earlier.watermarks[group], each) for group in earlier.groups for each in own]
    watermarks = sorted(set(judged))
    if not program.entries or goes_by_clock(program) or not known or len(watermarks) < 2:
        return None
    if not all(_is_keyed(operator, part, move.before) for state in states if state for part in own_states(state)):
        if earlier is _NONE:
            return None
        raise _unsplit(operator)
    levels = [
        tuple((level.width, level.feed.attributes) for level in port if level.width > 1) for port in move.before.ports
    ]
    ports = levels if earlier is _NONE else [old + new for old, new in zip(earlier.ports, levels, strict=True)]
    for schema, port in zip(operator.context.inputs, ports, strict=True):
        if not {name for _, attributes in port for name in attributes} <= {*schema.names}:
            raise _unsplit(operator)
    groups = tuple(watermarks.index(each) for each in judged)
    return Floors(tuple(watermarks), groups, tuple(ports))


def grouped(floors: Floors, states: Sequence[State], parts: Sequence[Sequence[State]]) -> list[list[State]]:
    """Return, for each watermark in `floors`, the states of the former objects whose old channel had that watermark.

    Args:
        floors: the watermarks, which `floors_of` has found for these states.
        states: the stored states of the former replicas.
        parts: the states of the replicas' objects.
    """
    groups: list[list[State]] = [[] for _ in floors.watermarks]
    for channel, (state, own) in enumerate(zip(states, parts, strict=True)):
        earlier = Floors.of(state[FLOORS]) if FLOORS in state else _NONE
        for number, part in enumerate(own):
            old = earlier.groups.index(number)
            groups[floors.groups[old * len(states) + channel]].append(part)
    return groups


def _is_keyed(operator: Operator, state: State, routing: StateRouting) -> bool:
    """Return True if the old splitters hash only attributes that the keys of a state have; True for an empty state.

    False if a splitter does not hash, or the state has no keys.
    """
    route = SplitterRoute(routing)
    attributes = [route.attributes(port) for port in range(len(routing.ports))]
    keys = list(operator.keys_of(state)) if state else []
    known = all(set(attributes[port] or ()) <= set(values.schema.names) for port, values in keys)
    return None not in attributes and known and bool(keys or not state)


def _unsplit(operator: Operator) -> StateRefusedError:
    reason = (
        "has another watermark for each channel of an earlier redeploy, and tuples are no longer split by these keys"
    )
    return StateRefusedError(operator.context.name, f"{reason}; wait until event time has passed all of them")
