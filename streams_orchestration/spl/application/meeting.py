"""The check if output streams of one operator meet again downstream, where the order of their tuples matters."""

from __future__ import annotations

from collections.abc import Sequence

from streams_orchestration.spl.language.definitions import Composite


def meet(composite: Composite, streams: Sequence[str]) -> bool:
    """Return True if tuples of several streams may reach one operator, judged by the text of a composite.

    Streams that leave the composite may meet further downstream.
    """
    reached: set[object] = set()
    for stream in streams:
        found = _reached(composite, stream)
        if reached & found:
            return True
        reached |= found
    return False


def _reached(composite: Composite, stream: str) -> set[object]:
    """Return the numbers of the invocations that tuples of a stream reach, and `out` if they leave the composite."""
    leaving = {port.name.name for port in composite.outputs}
    found: set[object] = set()
    waiting, seen = [stream], {stream}
    while waiting:
        name = waiting.pop()
        if name in leaving:
            found.add("out")
        for number, invocation in enumerate(composite.graph):
            if any(each.name == name for port in invocation.inputs for each in port.streams):
                found.add(number)
                new = {each.stream.name for each in invocation.outputs} - seen
                seen |= new
                waiting += new
    return found
