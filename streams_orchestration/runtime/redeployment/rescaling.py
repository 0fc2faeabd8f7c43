"""States of one plan made into those of another, and proved, before anything is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from streams_orchestration.compiler.pe_program import OperatorProgram, Split
from streams_orchestration.compiler.redeployment.outcome import StateMove
from streams_orchestration.operators.contract import Operator
from streams_orchestration.operators.states.conversion import ConversionError, converted
from streams_orchestration.operators.states.rescaling import RescaleError
from streams_orchestration.operators.states.state import State
from streams_orchestration.runtime.errors import StreamsRuntimeError
from streams_orchestration.runtime.redeployment.proof import prove
from streams_orchestration.runtime.redeployment.routes import SplitterRoute
from streams_orchestration.runtime.tasks.instances import SPLITTERS

REPLICAS_AT_ONCE = 4
"""Replicas whose states are proved, read or written at the same time."""


class StateRefusedError(StreamsRuntimeError):
    """A state cannot be brought into the new plan."""

    def __init__(self, operator: str, reason: str) -> None:
        super().__init__(f"state of {operator} {reason}; lose it with --drop-state {operator}, or keep to the plan")


def carried_state(
    operator: Operator, former: OperatorProgram, program: OperatorProgram, state: State
) -> dict[str, Any]:
    """Return a state that goes on in one replica, with the types that the operator has now.

    Positions of round robins go on where the splitter has the same channels; others start anew.

    Args:
        operator: of the new plan, after `setup`.
        former: its program as deployed.
        program: as wanted.
        state: as it was stored.

    Raises:
        StateRefusedError: its types cannot be brought to those that the operator has.
    """
    own = {name: part for name, part in state.items() if name != SPLITTERS}
    converted = dict(_converted(operator, own)) if own else {}
    before, after = (dict(_round_robins(each)) for each in (former, program))
    positions = state.get(SPLITTERS, {})
    kept = {name: positions[name] for name in positions if name in after and before.get(name) == after[name]}
    return converted | ({SPLITTERS: kept} if kept else {})


def divided_states(operator: Operator, move: StateMove, states: Sequence[State]) -> list[dict[str, Any]]:
    """Return the states of a move's targets, in their order; round robins start anew.

    Args:
        operator: of the new plan, any replica, after `setup`.
        move: with the splitters before and after.
        states: of its sources, in their order, as they were stored; empty for one that has none. Offsets of sources.

    Raises:
        MisplacedKeysError: a key does not lie where its tuples went, or would not lie where they will go.
        StateRefusedError: the operator cannot divide them, or their types are others.
        ValueError: the move does not divide.
    """
    if move.before is None or move.after is None:
        message = "a move without splitters divides nothing"
        raise ValueError(message)
    name = operator.context.name
    before, after = SplitterRoute(move.before), SplitterRoute(move.after)
    plain = [{part: value for part, value in state.items() if part != SPLITTERS} for state in states]
    own = plain if move.source else [_converted(operator, state) if state else {} for state in plain]
    _prove(operator, [place.operator for place in move.sources], own, before)
    try:
        divided = list(operator.rescale(own, after))
    except RescaleError as error:
        raise StateRefusedError(name, str(error)) from error
    if len(divided) != len(move.targets):
        raise StateRefusedError(name, f"was divided into {len(divided)} parts for {len(move.targets)} channels")
    _prove(operator, [place.operator for place in move.targets], divided, after)
    return [dict(state) for state in divided]


def _prove(operator: Operator, names: Sequence[str], states: Sequence[State], route: SplitterRoute) -> None:
    """Replica by replica, the hashing at the same time."""
    proofs: list[Future[None]] = []
    with ThreadPoolExecutor(REPLICAS_AT_ONCE) as pool:
        for channel, (name, state) in enumerate(zip(names, states, strict=True)):
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
    """The splitters behind an operator that go round, with their widths."""
    pending = [each for deliveries in program.deliveries for each in deliveries]
    while pending:
        each = pending.pop()
        if isinstance(each, Split):
            pending += [inner for channel in each.channels for inner in channel]
            if each.policy == "roundRobin":
                yield each.id, len(each.channels)
