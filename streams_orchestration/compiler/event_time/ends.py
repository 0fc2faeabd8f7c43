"""The places where event time ends, and why (EV5, EV7, EV10, EV12)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from streams_orchestration.compiler.event_time.growth import Ends, Reach
from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph
from streams_orchestration.compiler.time_attributes import attribute_type
from streams_orchestration.compiler.walks import reached


class EventTimeEnd(NamedTuple):
    """A place where event time ends, with the rule that ends it."""

    reason: str
    rule: str
    within: bool = True
    """True if event time ends within the operator; False if it ends on the way to the next one."""

    @property
    def text(self) -> str:
        """The end of a sentence about the operator: the reason, after `it ends here` if event time ends within it."""
        return f"it ends here: {self.reason}" if self.within else self.reason

    def seen_from(self, name: str) -> str:
        """Return the end of a sentence about an operator further upstream: the place and the reason.

        Args:
            name: the name of the operator at which event time ends.
        """
        return f"downstream, it ends at {name}: {self.reason}" if self.within else f"downstream, {self.reason}"


class EventTimeIndex:
    """An index of the operators and ports that event time reaches from the annotations."""

    def __init__(self, logical: LogicalGraph, reaches: Sequence[Reach]) -> None:
        self.logical = logical
        self.reaches = reaches
        self.of_operator: dict[int, list[Reach]] = {}
        self.of_port: dict[tuple[int, int], list[Reach]] = {}
        self.entered: dict[int, dict[int, Reach]] = {}
        """Operator -> its input ports that event time enters, each with the first reach that enters it."""
        self._into: dict[int, list[Ends]] = {}
        for reach in reaches:
            for number in reach.operators:
                self.of_operator.setdefault(number, []).append(reach)
            for port in reach.ports:
                self.of_port.setdefault(port, []).append(reach)
            for each in reach.imports:
                self.entered.setdefault(each.operator, {}).setdefault(each.port, reach)
            for ends in reach.connections:
                self.entered.setdefault(ends.target, {}).setdefault(ends.target_port, reach)
                self._into.setdefault(ends.target, []).append(ends)

    @cached_property
    def _consumers(self) -> dict[int, list[int]]:
        """The operators that event-time connections lead to, for each operator in a graph."""
        consumers: dict[int, list[int]] = {number: [] for number in self.of_operator}
        for reach in self.reaches:
            for ends in reach.connections:
                consumers[ends.source].append(ends.target)
        return consumers

    @cached_property
    def _incoming(self) -> dict[int, list[LogicalConnection]]:
        incoming: dict[int, list[LogicalConnection]] = {}
        for each in self.logical.connections:
            incoming.setdefault(each.target, []).append(each)
        return incoming

    @cached_property
    def _outgoing(self) -> dict[int, list[LogicalConnection]]:
        outgoing: dict[int, list[LogicalConnection]] = {}
        for each in self.logical.connections:
            outgoing.setdefault(each.source, []).append(each)
        return outgoing

    def incoming(self, operator: int) -> list[LogicalConnection]:
        """Return the connections into an operator."""
        return self._incoming.get(operator, [])

    def into(self, operator: int) -> list[Ends]:
        """Return the event-time connections into an operator."""
        return self._into.get(operator, [])

    def why_not(self, operator: int) -> str:
        """Return why no event time reaches an operator: the nearest place upstream at which event time ends.

        Other reasons are that the operator is annotated itself, or that no operator upstream is.
        """
        name = self.logical.operators[operator].name
        if self.logical.operators[operator].event_time is not None:
            return f"{name} is annotated itself, so its watermark comes from the times that it submits"
        seen, waiting = {operator}, [operator]
        for number in waiting:
            for each in self.incoming(number):
                if met := self.of_operator.get(each.source):
                    return self._why_ended(each, met[0])
                if each.source not in seen:
                    seen.add(each.source)
                    waiting.append(each.source)
        links = [link.name for link in self.logical.imports if link.operator in seen]
        if links:
            return f"no operator upstream is annotated with eventTime, and the Import {links[0]} has no eventTime"
        return "no operator upstream is annotated with eventTime"

    def _why_ended(self, connection: LogicalConnection, reach: Reach) -> str:
        source, target = (self.logical.operators[number] for number in (connection.source, connection.target))
        if target.event_time is not None:
            return f"{target.name} is annotated itself, so the event time of {source.name} does not pass through it"
        if Ends(*connection[:4]) in reach.left_out:
            return f"the stream of {source.name} closes a loop"
        return f"it ends at {source.name}: {self.lacking(connection.source, connection.source_port, reach)}"

    def lacking(self, operator: int, port: int, reach: Reach) -> str:
        """Return a phrase that says why an output port lacks the event-time attribute with its type."""
        schema, time = self.logical.operators[operator].outputs[port].schema, reach.time
        if schema is None:
            return f"the tuple type of output port {port} is not known"
        kind = attribute_type(schema, time.attribute)
        if kind is None:
            return f"output port {port} has no attribute {time.attribute}"
        return f"{time.attribute} is {kind} on output port {port}, and {time.type} where event time begins"

    def ends(self, operator: int) -> list[EventTimeEnd]:
        """Return the places at which event time ends: at an operator with event time, or at its consumers."""
        model, reach = self.logical.operators[operator], self.of_operator[operator][0]
        if not model.outputs:
            return [EventTimeEnd("there is no output port", "EV7")]
        ports = [port for port in range(len(model.outputs)) if (operator, port) not in reach.ports]
        rule = "EV5, EV7" if len(ports) == len(model.outputs) else "EV5"
        found = [EventTimeEnd(self.lacking(operator, port, reach), rule) for port in ports]
        for each in self._outgoing.get(operator, ()):
            if (operator, each.source_port) not in reach.ports:
                continue
            target = self.logical.operators[each.target]
            if target.event_time is not None:
                found.append(
                    EventTimeEnd(f"it begins again at {target.name}, which is annotated", "EV10", within=False)
                )
            elif Ends(*each[:4]) in reach.left_out:
                text = f"the stream to {target.name}.{each.target_port} closes a loop"
                found.append(EventTimeEnd(text, "EV12", within=False))
        return list(dict.fromkeys(found))

    def ends_downstream(self, operator: int) -> list[tuple[int, EventTimeEnd]]:
        """Return the places further downstream at which the event time of an operator ends.

        Each place comes with the operator at which event time ends.
        """
        behind = sorted(reached((operator,), self._consumers) - {operator})
        return [(number, end) for number in behind for end in self.ends(number)]
