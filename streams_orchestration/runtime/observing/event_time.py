"""Finds the watermarks of a deployed application and the causes that hold them, for status, alerts and console.

Each batch records for every operator the connection, partition or tuple for which its watermark waits. Following these
connections upstream leads to the operator with the cause.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.pe_streams import stream_name
from streams_orchestration.compiler.event_time.roles import role_in
from streams_orchestration.compiler.stage_results import PeOutputPort
from streams_orchestration.model.brief import moment, plural
from streams_orchestration.operators.event_time.holder import HolderKind
from streams_orchestration.operators.event_time.role import EventTimeRole
from streams_orchestration.runtime.queries.watermark_alignment import source_behind


@dataclass(frozen=True, slots=True)
class OperatorEventTime:
    """The watermark of one physical operator in an event-time graph. All times are unix seconds of event time."""

    operator: str
    pe: int
    watermark: float | None
    """The watermark; None before the first one, and after the end of the streams."""
    age: float | None
    """Seconds from the watermark until now; None without a watermark."""
    ended: bool
    """True if all streams of the operator have ended."""
    inputs: int
    """The number of connections that bring watermarks, or of the partitions of a source."""
    idle_inputs: int
    """The number of connections or source partitions in `inputs` that are idle (EV51)."""
    holder: HolderKind
    """The kind of the thing that keeps the watermark from rising."""
    holder_name: str
    """The name of the stream or partition that keeps the watermark from rising; empty for other kinds of holders."""
    holder_time: float | None
    """The holding stream's watermark, or the time of the tuple or partition, in unix seconds; None without one."""
    tuples: int | None = None
    """The number of tuples of the partition so far; None if it is not a partition."""
    producers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Stream -> the operator that sends it, for each event-time connection."""
    imports: tuple[str, ...] = ()
    """The Imports that bring the operator watermarks."""
    holder_untimed: bool = False
    """True if the holder is a stream of another application that has no event time, so that it never moves (EV48)."""
    ahead_of: str = ""
    """The source that this source waits for, since it is too far ahead (EV65); empty if this source is read."""
    waiting: int = 0
    """The number of partitions of a source that are not read, since they are too far ahead (EV65)."""
    path: tuple[str, ...] = ()
    """The operators upstream that hold the watermark, up to the one with the cause; empty if the cause is here."""
    held_by: str = ""
    """The holder without times: for a connection, the path of operators up to the cause."""
    why: str = ""
    """The holder in words, with times."""

    @property
    def reached(self) -> str:
        """The watermark as text in UTC: `none yet` before the first one, `the end` after the end of the streams."""
        if self.ended:
            return "the end"
        return "none yet" if self.watermark is None else moment(self.watermark)


@dataclass(frozen=True, slots=True)
class EventTimeInputs:
    """The connections of one physical operator in an event-time graph, as compiled."""

    operator: str
    pe: int
    producers: Mapping[str, str]
    """Stream -> the operator that sends it, for each event-time connection."""
    imports: tuple[str, ...] = ()
    """The Imports that bring the operator watermarks (EV48)."""
    drifting: EventTimeRole | None = None
    """The role of a source whose drift is limited (EV65); None for other operators."""


class ImportedStream(NamedTuple):
    """An imported stream whose watermarks an operator takes; mostly, another application exports it."""

    operator: str
    """The operator that reads it."""
    shown: str
    """The stream, and its application if that is another one, for messages."""
    timed: bool
    """True if the stream has event time in the application that exports it."""


def event_time_inputs(compilation: Compilation) -> tuple[EventTimeInputs, ...]:
    """Return the operators in event-time graphs with their connections, in the order of the physical graph."""
    physical, found = compilation.physical, list[EventTimeInputs]()
    for each in compilation.event_time.operators:
        producers: dict[str, str] = {}
        for number in each.connections:
            c = physical.connections[number]
            producers[stream_name(compilation, PeOutputPort.of(c))] = physical.operators[c.source].name
        name = physical.operators[each.operator].name
        imports = tuple(dict.fromkeys(physical.imports[number].name for number in each.imports))
        model = compilation.logical.operators[physical.operators[each.operator].logical].event_time
        drifting = role_in(compilation, each) if model is not None and model.max_drift is not None else None
        pe = compilation.fusion.pe_of[each.operator]
        found.append(EventTimeInputs(name, pe, producers, imports, drifting))
    return tuple(found)


def event_times(
    inputs: Sequence[EventTimeInputs],
    reported: Mapping[str, Mapping[str, Any]],
    now: float,
    imported: Mapping[str, ImportedStream] | None = None,
    clocks: Mapping[str, int] | None = None,
) -> tuple[OperatorEventTime, ...]:
    """Return the watermark of every operator in an event-time graph, with the cause that holds it back.

    Args:
        inputs: the operators with their connections.
        reported: operator -> what its last batch has said, as `Holder.document`. An operator without an entry was
            never called, or got no watermark.
        now: unix seconds.
        imported: key of a connection with another application -> its stream.
        clocks: source -> its watermark in ticks, for sources whose drift is limited.
    """
    links = imported or {}
    known = {each.operator: _read(each, reported.get(each.operator), now, links) for each in inputs}
    for each in inputs:
        if each.drifting is not None:
            peer = source_behind(each.operator, each.drifting, clocks or {})
            known[each.operator] = replace(known[each.operator], ahead_of=peer or "")
    return tuple(_explained(each, known) for each in known.values())


def find_upstream_operators(operator: str, found: Sequence[OperatorEventTime]) -> set[str]:
    """Return an operator and all operators from which event time reaches it."""
    producers = {each.operator: each.producers.values() for each in found}
    known, ahead = {operator}, [operator]
    while ahead:
        further = set(producers.get(ahead.pop(), ())) - known
        known |= further
        ahead += further
    return known


def _read(
    place: EventTimeInputs, document: Mapping[str, Any] | None, now: float, imported: Mapping[str, ImportedStream]
) -> OperatorEventTime:
    if document is None:
        keys = [*place.producers, *(key for key, link in imported.items() if link.operator == place.operator)]
        kind: HolderKind = "connection" if keys else "unconnected" if place.imports else "source"
        document = {"watermark": None, "holder": kind, "name": keys[0] if keys else "", "time": None, "tuples": None}
        document = {**document, "inputs": len(keys), "idle": 0}
    watermark, name = document["watermark"], document["name"]
    link = imported.get(name)
    return OperatorEventTime(
        operator=place.operator,
        pe=place.pe,
        watermark=watermark,
        age=None if watermark is None else now - watermark,
        ended=document["holder"] == "end",
        inputs=document["inputs"],
        idle_inputs=document["idle"],
        holder=document["holder"],
        holder_name=name if link is None else link.shown,
        holder_time=document["time"],
        tuples=document["tuples"],
        producers=place.producers,
        imports=place.imports,
        holder_untimed=link is not None and not link.timed,
        waiting=document.get("waiting", 0),
    )


def _explained(each: OperatorEventTime, known: Mapping[str, OperatorEventTime]) -> OperatorEventTime:
    """Return the operator with its holder in words; the cause is where the chain of connections ends."""
    chain = list(_path(each, known))
    cause, path = chain[-1], tuple(part.operator for part in chain[1:])
    short = " < ".join(path)
    if name := _short(cause):
        short = f"{short}: {name}" if short else name
    why = _explain_holder(each)
    if cause is not each and cause.holder != "end":
        why = f"{why}; {cause.operator}: {_explain_holder(cause)}"
    return replace(each, path=path, held_by=short, why=why)


def _path(each: OperatorEventTime, known: Mapping[str, OperatorEventTime]) -> Iterator[OperatorEventTime]:
    """Yield an operator and those upstream that hold it, up to the cause; event-time graphs have no loops."""
    seen = set[str]()
    while each.operator not in seen:
        seen.add(each.operator)
        yield each
        producer = each.producers.get(each.holder_name) if each.holder == "connection" else None
        if producer is None or producer not in known:
            return
        each = known[producer]


def _short(each: OperatorEventTime) -> str:
    if each.ahead_of:
        return f"maxDrift, ahead of {each.ahead_of}"
    match each.holder:
        case "connection":
            return f"stream {each.holder_name}"
        case "partition":
            return f"partition {each.holder_name}"
        case "tuple":
            return "a tuple that it keeps"
        case "source" | "operator":
            return "no time yet" if each.holder_time is None else "its own times"
        case "idle":
            return "idle"
        case "unconnected":
            return "no imported stream"
        case "end":
            return ""


def _explain_holder(each: OperatorEventTime) -> str:
    time = "" if each.holder_time is None else moment(each.holder_time)
    if each.ahead_of:
        return f"is not read, since it is further ahead of {each.ahead_of} than its maxDrift"
    match each.holder:
        case "connection" if each.holder_untimed:
            return f"waits for stream {each.holder_name}, which has no event time"
        case "connection":
            at = f", at {time}" if each.holder_time != each.watermark else ""
            return f"waits for stream {each.holder_name}{at if time else ', which has no watermark yet'}"
        case "partition":
            seen = f"whose greatest time is {time}" if time else _nothing(each.tuples)
            others = (
                f"; {plural(each.waiting, 'partition')} further ahead than maxDrift not read" if each.waiting else ""
            )
            return f"waits for partition {each.holder_name}, {seen}{others}"
        case "source":
            return f"its greatest time is {time}" if time else f"waits for its first time: {_nothing(each.tuples)}"
        case "tuple":
            return f"keeps a tuple of {time}"
        case "operator":
            return f"has set it to {time}" if time else "has not set it yet"
        case "idle":
            return "all its inputs are idle" if each.inputs > 1 else "it is idle"
        case "unconnected":
            names = ", ".join(each.imports)
            return f"no exported stream is connected to {names or 'its Imports'}"
        case "end":
            return "its streams have ended"


def _nothing(tuples: int | None) -> str:
    if tuples:
        return f"{plural(tuples, 'tuple')} came, but none has a usable time"
    return "no tuple has come yet"
