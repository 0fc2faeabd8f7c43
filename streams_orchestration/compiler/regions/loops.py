"""Loops inside a consistent region, through which a drain would never end (A35)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from streams_orchestration.compiler.logical.control_ports import is_control_port
from streams_orchestration.compiler.logical_graph import LogicalGraph
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
        passed = [0, int(root in starts)]  # start operators on the path, up to every position
        rest = [iter(followed[root])]
        while path:
            for successor in rest[-1]:
                if successor in position:
                    begin = position[successor]
                    code = "CDISP0832E" if passed[-1] > passed[begin] else "CDISP0833E"
                    yield _loop(logical, code, path[begin : begin + _SHOWN], len(path) - begin)
                elif successor not in visited:
                    visited.add(successor)
                    position[successor] = len(path)
                    path.append(successor)
                    passed.append(passed[-1] + (successor in starts))
                    rest.append(iter(followed.get(successor, ())))
                    break
            else:
                rest.pop()
                passed.pop()
                del position[path.pop()]


def _loop(logical: LogicalGraph, code: str, shown: Sequence[int], length: int) -> Diagnostic:
    first = logical.operators[shown[0]]
    names = [logical.operators[index].name for index in shown] + (["..."] if length > len(shown) else [])
    message = f"a loop lies inside the region: {' -> '.join([*names, first.name])}"
    return Diagnostic.of(code, message, operator=first.name, location=first.location)
