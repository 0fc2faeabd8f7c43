"""The connections that close loops within a PE: their tuples come back in a later batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.logical.control_ports import is_control_port


def returning_connections(compilation: Compilation, members: Set[int], connections: Iterable[int]) -> frozenset[int]:
    """Return connections without which the operators of a PE form no loop.

    In a loop with control ports, these are the connections into the control ports. In another loop, these are the
    connections that lead back to an operator on the path from the first operator.

    Args:
        compilation: the application.
        members: the physical numbers of the operators.
        connections: the numbers of the connections that begin or end at the operators.
    """
    physical, logical = compilation.physical, compilation.logical

    def is_control(connection: int) -> bool:
        ends = physical.connections[connection]
        return is_control_port(logical.operators[physical.operators[ends.target].logical], ends.target_port)

    inside: dict[int, tuple[int, int]] = {}
    for number in sorted(connections):
        ends = physical.connections[number]
        if ends.source in members and ends.target in members:
            inside[number] = ends.source, ends.target
    looped = _looped(inside)
    control = {number for number in looped if is_control(number)}
    left = _looped({number: looped[number] for number in looped.keys() - control})
    return frozenset(control | _closing(left))


def _looped(connections: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """Return the connections that are part of a loop."""
    operators = sorted({operator for ends in connections.values() for operator in ends})
    place = {operator: at for at, operator in enumerate(operators)}
    successors: list[list[int]] = [[] for _ in operators]
    for source, target in connections.values():
        successors[place[source]].append(place[target])
    part_of = {operators[at]: number for number, part in enumerate(strong_components(successors)) for at in part}
    return {number: ends for number, ends in connections.items() if part_of[ends[0]] == part_of[ends[1]]}


def _closing(connections: Mapping[int, tuple[int, int]]) -> set[int]:
    """Return the connections that lead back to an operator on the path of a search in depth."""
    outgoing: dict[int, list[tuple[int, int]]] = {}
    for number, (source, target) in sorted(connections.items()):
        outgoing.setdefault(source, []).append((number, target))
    closing: set[int] = set()
    seen: set[int] = set()
    for start in sorted(outgoing.keys()):
        path: dict[int, Iterator[tuple[int, int]]] = {} if start in seen else {start: iter(outgoing[start])}
        while path:
            operator, rest = next(reversed(path.items()))
            seen.add(operator)
            for number, target in rest:
                if target in path:
                    closing.add(number)
                elif target not in seen:
                    path[target] = iter(outgoing.get(target, ()))
                    break
            else:
                del path[operator]
    return closing
