"""Loops inside a consistent region, through which a drain would never end (A35)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from streams_orchestration.compiler.control_ports import is_control_port
from streams_orchestration.compiler.graph import LogicalGraph
from streams_orchestration.model.diagnostics import Diagnostic

_SHOWN = 12
"""Operators of a loop that a message names."""


def find_loops(logical: LogicalGraph, region_of: Sequence[int], starts: Collection[int]) -> Iterator[Diagnostic]:
    """One finding per connection that closes a loop: CDISP0832E with a start operator in it, else CDISP0833E.

    A connection into a control port closes no loop, unless it enters a start operator.
    """
    followed: dict[int, list[int]] = {}
    for connection in logical.connections:
        source, target = connection.source, connection.target
        if region_of[source] == region_of[target] >= 0 and (
            target in starts or not is_control_port(logical.operators[target], connection.target_port)
        ):
            followed.setdefault(source, []).append(target)
    visited: set[int] = set()
    for root in sorted(followed):
        if root in visited:
            continue
        visited.add(root)
        path = [root]
        position = {root: 0}
        rest = [iter(followed[root])]
        while path:
            for successor in rest[-1]:
                if successor in position:
                    yield _loop(logical, path[position[successor] :], starts)
                elif successor not in visited:
                    visited.add(successor)
                    position[successor] = len(path)
                    path.append(successor)
                    rest.append(iter(followed.get(successor, ())))
                    break
            else:
                rest.pop()
                del position[path.pop()]


def _loop(logical: LogicalGraph, loop: Sequence[int], starts: Collection[int]) -> Diagnostic:
    first = logical.operators[loop[0]]
    names = [logical.operators[index].name for index in loop[:_SHOWN]]
    if len(loop) > _SHOWN:
        names.append("...")
    code = "CDISP0832E" if any(index in starts for index in loop) else "CDISP0833E"
    message = f"a loop lies inside the region: {' -> '.join([*names, first.name])}"
    return Diagnostic.of(code, message, operator=first.name, location=first.location)
