"""Explanations of PEs that were not fused because they would form a loop with others (rule 56)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.explanation import Fact, listed
from streams_orchestration.compiler.explain.lookup import Lookup


def way_around(lookup: Lookup, first: int, second: int) -> list[int]:
    """Return the PEs on a path from one PE to another through others, empty if there is none."""
    came = {first: -1}
    waiting = [pe for pe in sorted(lookup.feeds[first]) if pe != second]
    came.update(dict.fromkeys(waiting, first))
    for pe in waiting:
        for other in sorted(lookup.feeds[pe]):
            if other == second:
                path = [pe]
                while came[path[-1]] != first:
                    path.append(came[path[-1]])
                return path[::-1]
            if other not in came:
                came[other] = pe
                waiting.append(other)
    return []


def loop_facts(lookup: Lookup, first: int, second: int) -> Iterator[Fact]:
    """Explain why two PEs would form a loop if they were one."""
    if lookup.options.fusion == "legacy" or lookup.options.faithful or lookup.costs is not None:
        return
    if between := way_around(lookup, first, second) or way_around(lookup, second, first):
        pes = listed([f"PE {pe}" for pe in between])
        yield Fact(f"as one PE they would feed {pes} and be fed by it, and PEs in a loop never end", "56")
