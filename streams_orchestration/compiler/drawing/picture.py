"""The geometry of an application's drawing: operators in PE boxes, wires between them; no colours, no SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.drawing.layout import Point, place
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import (
    CopyPlan,
    EventTimeMap,
    FusionPlan,
    ProcessingElement,
    RegionMap,
    ThreadPlan,
)

MARGIN = 16.0
LINE = 16.0
HEADER = 26.0
PORT = 8.0


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with text: an operator, or the frame of a PE."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    region: int = -1
    """The number of the consistent region; -1 for an autonomous operator, or while regions are unknown."""
    tip: str = ""
    clock: bool = False
    """True for an operator where event time begins; it is drawn with a clock."""


@dataclass(frozen=True, slots=True)
class Wire:
    """One connection, drawn through `points`."""

    points: tuple[Point, ...]
    passing: Literal["", "reference", "copy", "enqueue", "serialize"] = ""
    queue: bool = False
    """True if the connection ends in a queue."""
    arrow: bool = True
    tip: str = ""
    event_time: bool = False
    """True if the connection carries watermarks."""


@dataclass(slots=True)
class Picture:
    """The boxes, wires and signs of a drawing; all lengths are in pixels."""

    width: float = 0.0
    height: float = 0.0
    frames: list[Box] = field(default_factory=list[Box])
    operators: list[Box] = field(default_factory=list[Box])
    ports: list[Point] = field(default_factory=list[Point])
    """Centres of PE ports."""
    networks: list[Point] = field(default_factory=list[Point])
    """Centres of Network operators."""
    wires: list[Wire] = field(default_factory=list[Wire])


def picture(drawn: Progress) -> Picture:
    """Return the geometry of the drawing of a compilation, as far as its stages have run, at least the first."""
    return _Painter(drawn).paint()


class _Operator:
    """The facts of one operator, logical or physical, that are drawn."""

    def __init__(
        self, index: int, name: str, inputs: int, outputs: int, lines: Iterable[str], tip: str, *, clock: bool
    ) -> None:
        self.index = index
        self.inputs = inputs
        self.outputs = outputs
        self.lines = (name, *lines)
        self.tip = tip
        self.clock = clock
        """True for an operator where event time begins."""
        width = max(text_width(name, 13.0, bold=True), *(text_width(line, 11.0) for line in self.lines[1:]))
        self.size = (max(width + 24, 72.0), 14 + LINE * len(self.lines))


class _Painter:
    def __init__(self, drawn: Progress) -> None:
        self.logical, self.physical = drawn[LogicalGraph], drawn.get(PhysicalGraph)
        self.fusion, self.threads, self.copies = drawn.get(FusionPlan), drawn.get(ThreadPlan), drawn.get(CopyPlan)
        regions, event_time = drawn.get(RegionMap), drawn.get(EventTimeMap)
        self.region_of = regions.region_of if regions else ()
        self.operators = self._operators(_marks(regions))
        self.edges: Sequence[tuple[int, int, int, int]] = [
            (c.source, c.source_port, c.target, c.target_port) for c in (self.physical or self.logical).connections
        ]
        timed = event_time.operators if event_time else ()
        self.timed = {number for each in timed for number in each.connections}
        """The numbers of the connections that carry watermarks."""
        queues = self.threads.queues if self.threads else ()
        self.queued = {(queue.operator, queue.port) for queue in queues}
        pairs = self.fusion.networks if self.fusion else ()
        self.networked: set[tuple[int, ...]] = {tuple(end) for pair in pairs for end in (*pair.outputs, *pair.inputs)}
        """The input and output ports of PEs that a Network operator serves."""
        self.picture = Picture()
        self.anchors: dict[tuple[str, int, int], Point] = {}

    def _operators(self, marks: dict[int, list[str]]) -> list[_Operator]:
        logical, physical = self.logical, self.physical
        if physical is None:
            return [
                _Operator(
                    op.index,
                    op.name,
                    len(op.inputs),
                    len(op.outputs),
                    [short_kind(op.kind), *self._width_of(op.regions)],
                    f"{op.name}: {op.kind}",
                    clock=op.event_time is not None,
                )
                for op in logical.operators
            ]
        splits: dict[int, list[str]] = {}
        for splitter in physical.splitters:
            text = f"hash({', '.join(splitter.attributes)})" if splitter.policy == "hash" else "round robin"
            splits.setdefault(splitter.operator, []).append(text)
        shown: list[_Operator] = []
        for op in physical.operators:
            model = logical.operators[op.logical]
            kind = " · ".join([short_kind(model.kind), *marks.get(op.index, [])])
            split = [f"splits by {text}" for text in dict.fromkeys(splits.get(op.index, []))]
            tip = [f"{op.name}: {model.kind}", *split]
            if self.threads:
                threads = self.threads.operators[op.index]
                tip.append(f"{threads.threads} thread(s){', locked' if threads.locked else ''}")
            clock = model.event_time is not None
            if model.event_time is not None:
                tip.append(f"event time by {model.event_time.attribute}, lag {model.event_time.lag:g} s")
            ports = len(model.inputs), len(model.outputs)
            shown.append(_Operator(op.index, op.name, *ports, [kind, *split], "\n".join(tip), clock=clock))
        return shown

    def _width_of(self, regions: tuple[int, ...]) -> list[str]:
        named = {region.index: region for region in self.logical.regions}
        return [f"parallel × {' × '.join(str(named[r].width) for r in regions)}"] if regions else []

    def paint(self) -> Picture:
        pes = self.fusion.pes if self.fusion else ()
        groups = [_Group(self, pe.operators, pe) for pe in pes]
        groups = groups or [_Group(self, tuple(range(len(self.operators))), None)]
        where = {op: number for number, group in enumerate(groups) for op in group.members}
        crossing = [number for number, e in enumerate(self.edges) if where[e[0]] != where[e[2]]]
        sizes = {number: group.size for number, group in enumerate(groups)}
        ends = [(where[self.edges[n][0]], where[self.edges[n][2]]) for n in crossing]
        outer = place(sizes, ends, column_gap=56, row_gap=26, flush=True)
        for number, group in enumerate(groups):
            self._draw_group(number, group, outer.corners[number])
        for position, number in enumerate(crossing):
            source, target = ends[position]
            start = self.anchors["out", source, groups[source].leaves[number]]
            end = self.anchors["in", target, groups[target].enters[number]]
            bends = tuple((x + MARGIN, y + MARGIN) for x, y in outer.bends[position])
            self._wire((start, *bends, end), number)
        self.picture.width = outer.width + 2 * MARGIN
        self.picture.height = outer.height + 2 * MARGIN
        return self.picture

    def title(self, pe: ProcessingElement) -> str:
        """Return the text on the frame of a PE: its number, its region if it is in one, its machine if decoupled."""
        region = max(self.region_of[op] for op in pe.operators) if self.region_of else -1
        part = f" · machine {pe.machine} of PE {pe.origin}" if pe.origin >= 0 else ""
        return f"PE {pe.id}" + (f" · region {region}" if region >= 0 else "") + part

    def _draw_group(self, number: int, group: _Group, corner: Point) -> None:
        x, y = corner[0] + MARGIN, corner[1] + MARGIN
        if group.pe is not None:
            region = max(self.region_of[op] for op in group.members) if self.region_of else -1
            title = self.title(group.pe)
            self.picture.frames.append(Box(x, y, *group.size, (title,), region, f"{title}, host {group.pe.host}"))
        left, top = x + group.left, y + group.top
        for op in group.members:
            shown = self.operators[op]
            cx, cy = group.inner.corners["op", op]
            region = self.region_of[op] if self.region_of else -1
            box = Box(left + cx, top + cy, *shown.size, shown.lines, region, shown.tip, shown.clock)
            self.picture.operators.append(box)
        for kind, side, ports in (("in", x, group.inputs), ("out", x + group.size[0], group.outputs)):
            for port in range(len(ports)):
                centre = (side, top + group.inner.corners[kind, port][1] + PORT / 2)
                self.anchors[kind, number, port] = centre
                ends = self.picture.networks if ports[port] in self.networked else self.picture.ports
                ends.append(centre)

        def anchor(cell: tuple[str, int], connection: int, *, out: bool) -> Point:
            if cell[0] != "op":
                return self.anchors[cell[0], number, cell[1]]
            shown = self.operators[cell[1]]
            port = self.edges[connection][1 if out else 3]
            count = max(shown.outputs if out else shown.inputs, port + 1)
            cx, cy = group.inner.corners[cell]
            return (left + cx + (shown.size[0] if out else 0), top + cy + shown.size[1] * (port + 1) / (count + 1))

        for position, (source, target, connection) in enumerate(group.wires):
            bends = tuple((left + bx, top + by) for bx, by in group.inner.bends.get(position, ()))
            ends = anchor(source, connection, out=True), anchor(target, connection, out=False)
            self._wire((ends[0], *bends, ends[1]), connection, inner=(source[0], target[0]))

    def _wire(self, points: tuple[Point, ...], number: int, inner: tuple[str, str] | None = None) -> None:
        source, source_port, target, target_port = self.edges[number]
        ends_at_operator = inner is not None and inner[1] == "op"
        passing = self.copies.connections[number].passing if self.copies else ""
        if inner is not None and inner != ("op", "op"):
            passing = ""
        queue = ends_at_operator and (target, target_port) in self.queued
        named = self.operators
        tip = f"{named[source].lines[0]}[{source_port}] → {named[target].lines[0]}[{target_port}]"
        if self.copies:
            tip += f"\n{self.copies.connections[number].reason}"
        timed = number in self.timed
        tip += "\nevent time" if timed else ""
        self.picture.wires.append(Wire(points, passing, queue, ends_at_operator, tip, timed))


class _Group:
    """One PE with its operators, laid out separately. Without a fusion plan, the group is the whole graph."""

    def __init__(self, painter: _Painter, members: tuple[int, ...], pe: ProcessingElement | None) -> None:
        self.members = members
        self.pe = pe
        self.inputs = [(port.operator, port.port) for port in pe.inputs] if pe else []
        self.outputs = [(p.operator, p.port, p.splitter, p.channel) for p in pe.outputs] if pe else []
        own = set(members)
        self.wires: list[tuple[tuple[str, int], tuple[str, int], int]] = []
        self.enters: dict[int, int] = {}
        self.leaves: dict[int, int] = {}
        seen: set[tuple[tuple[str, int], tuple[str, int]]] = set()
        connections = painter.physical.connections if painter.physical else ()
        for number, (source, source_port, target, target_port) in enumerate(painter.edges):
            if source in own and target in own:
                self.wires.append((("op", source), ("op", target), number))
            elif target in own:
                self.enters[number] = self.inputs.index((target, target_port))
                wire = (("in", self.enters[number]), ("op", target))
                if wire not in seen:
                    seen.add(wire)
                    self.wires.append((*wire, number))
            elif source in own:
                key = (source, source_port, connections[number].splitter, connections[number].channel)
                self.leaves[number] = self.outputs.index(key)
                wire = (("op", source), ("out", self.leaves[number]))
                if wire not in seen:
                    seen.add(wire)
                    self.wires.append((*wire, number))
        sizes: dict[tuple[str, int], Point] = {("in", port): (PORT, PORT) for port in range(len(self.inputs))}
        sizes |= {("op", op): painter.operators[op].size for op in members}
        sizes |= {("out", port): (PORT, PORT) for port in range(len(self.outputs))}
        pins: dict[tuple[str, int], Literal["first", "last"]] = {
            ("in", port): "first" for port in range(len(self.inputs))
        }
        pins |= {("out", port): "last" for port in range(len(self.outputs))}
        self.inner = place(sizes, [wire[:2] for wire in self.wires], column_gap=44, row_gap=16, pinned=pins)
        framed = pe is not None
        self.left = (-PORT / 2 if self.inputs else MARGIN) if framed else 0.0
        self.top = HEADER + 4 if framed else 0.0
        right = (-PORT / 2 if self.outputs else MARGIN) if framed else 0.0
        title = max(96.0, text_width(painter.title(pe), 11.0, bold=True)) if pe is not None else 0.0
        self.size = (
            max(self.inner.width + self.left + right, title + 2 * MARGIN if framed else 0.0),
            self.inner.height + self.top + (14 if framed else 0),
        )


def _marks(regions: RegionMap | None) -> dict[int, list[str]]:
    marks: dict[int, list[str]] = {}
    for region in regions.expanded if regions else ():
        for word, operators in (("start", region.starts), ("end", region.ends)):
            for op in operators:
                marks.setdefault(op, []).append(word)
    return marks


def short_kind(kind: str) -> str:
    """Return the operator's kind without its package: `Enrich` for `flights.operators:Enrich`."""
    return kind.rsplit(":", 1)[-1]


def text_width(text: str, size: float, *, bold: bool = False) -> int:
    """Return the width in pixels of a text in a sans-serif font, estimated rather too large than too small.

    All numbers are integers, so that a picture is the same on every machine.
    """
    wide = sum(36 if c in "ijlt.,:;|!'()[] ·" else 88 if c in "mwMW@%" else 68 if c.isupper() else 58 for c in text)
    return math.ceil(wide * size * (1.07 if bold else 1.0) / 100)
