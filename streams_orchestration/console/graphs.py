"""A compiled application as the page draws it: operators in nested boxes, and the connections between them.

Boxes are PEs, composites, replicas and channels: the channels of a parallel region are boxes in one box of replicas. A
box that contains only one box or operator is left out. On the physical graph, a box of a composite or of replicas is
drawn around PEs if it contains all their operators, and inside a PE if the PE contains more than the box.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.stage import COPIES, DEPLOYMENT, FUSION, REGIONS, THREADS
from streams_orchestration.compiler.stages import STAGES

View = Literal["physical", "logical"]
BoxPath = tuple[str, ...]
"""Names of nested boxes, the outermost first."""


@dataclass(frozen=True, slots=True)
class GraphBox:
    """A PE, composite, set of replicas or channel: a box around its operators, which the page can collapse."""

    id: str
    parent: str | None
    kind: Literal["pe", "composite", "replicas", "channel"]
    label: str
    region: int = -1
    """The consistent region of all operators in the box; -1 if they are in none or in several."""
    pe: int = -1
    """The PE, if the box is a PE or in one; otherwise -1."""
    host: int = -1
    """The number of the PE's host; -1 without a PE."""


@dataclass(frozen=True, slots=True)
class GraphOperator:
    """An operator, logical or physical."""

    name: str
    kind: str
    box: str | None
    region: int
    pe: int
    marks: tuple[str, ...]
    """Short remarks: splitters, start or end of a region, width, lock."""
    logical: str
    """The logical operator, by which the page finds the operator in the other view."""


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """A connection; `source` and `target` are positions in the graph's list of operators."""

    source: int
    target: int
    port: int
    """Output port of the source."""
    stream: str
    passing: str
    """The way in which tuples pass: reference, copy, enqueue, serialize; empty on the logical graph."""
    queue: bool
    network: bool
    split: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The boxes, operators and edges of one view."""

    application: str
    view: View
    boxes: tuple[GraphBox, ...]
    operators: tuple[GraphOperator, ...]
    edges: tuple[GraphEdge, ...]

    def document(self) -> dict[str, Any]:
        """Return the graph as a JSON document."""
        return asdict(self)


def graph_of(compilation: Compilation, view: View, upto: str = DEPLOYMENT) -> Graph:
    """Return one view of a compiled application.

    Args:
        compilation: the application.
        view: the logical graph, or the physical one.
        upto: the last stage of the compiler whose decisions are shown.
    """
    names = [stage.name for stage in STAGES]
    decided = frozenset(names[: names.index(upto) + 1])
    return _physical(compilation, decided) if view == "physical" else _logical(compilation, decided)


def _logical(compilation: Compilation, decided: Set[str]) -> Graph:
    logical = compilation.logical
    widths = {region.name: region.width for region in logical.regions}
    starts: dict[int, list[str]] = {}
    regions = [-1] * len(logical.operators)
    for region in compilation.regions.logical if REGIONS in decided else ():
        for operator in region.operators:
            regions[operator] = region.index
        for operator in region.starts:
            starts.setdefault(operator, []).append(f"starts region {region.index}")
    tree = _Tree("")
    for operator in logical.operators:
        tree.add(operator.composites, operator.index)
    kept = tree.kept()
    places = [tree.box(operator.composites, kept) for operator in logical.operators]
    boxes = tuple(replace(box, kind="composite", label=_named(box.label, widths)) for box in tree.boxes(kept, regions))
    operators = tuple(
        GraphOperator(
            operator.name,
            operator.kind,
            place,
            regions[operator.index],
            -1,
            (
                *(f"parallel × {widths[operator.name]}" for _ in range(operator.name in widths)),
                *starts.get(operator.index, ()),
            ),
            operator.name,
        )
        for operator, place in zip(logical.operators, places, strict=True)
    )
    edges = tuple(
        GraphEdge(
            each.source,
            each.target,
            each.source_port,
            logical.operators[each.source].outputs[each.source_port].stream,
            "",
            queue=False,
            network=False,
            split=False,
            reason="",
        )
        for each in logical.connections
    )
    return Graph(logical.application, "logical", boxes, operators, edges)


def _named(name: str, widths: dict[str, int]) -> str:
    return f"{name} × {widths[name]}" if name in widths else name


def _physical(compilation: Compilation, decided: Set[str]) -> Graph:
    operators = compilation.physical.operators
    region_of = compilation.regions.region_of if REGIONS in decided else (-1,) * len(operators)
    boxes, place_of = (_in_pes if FUSION in decided else _in_composites)(compilation, region_of)
    return Graph(
        compilation.logical.application,
        "physical",
        tuple(boxes),
        tuple(_operators(compilation, place_of, decided)),
        tuple(_edges(compilation, decided)),
    )


def _in_composites(compilation: Compilation, region_of: Sequence[int]) -> tuple[list[GraphBox], dict[int, str | None]]:
    """Return the boxes of a graph before fusion, which has no PEs, and the innermost box of every operator."""
    paths = [_path(operator.name) for operator in compilation.physical.operators]
    tree = _Tree("")
    for operator, path in enumerate(paths):
        tree.add(path[:-1], operator)
    kept = tree.kept()
    place_of = {operator: tree.box(path[:-1], kept) for operator, path in enumerate(paths)}
    return list(tree.boxes(kept, region_of)), place_of


def _in_pes(compilation: Compilation, region_of: Sequence[int]) -> tuple[list[GraphBox], dict[int, str | None]]:
    """Return the boxes of PEs and the boxes around and inside them, and the innermost box of every operator."""
    physical, fusion = compilation.physical, compilation.fusion
    paths = [_path(operator.name) for operator in physical.operators]
    around = _Tree("")
    outer: dict[int, BoxPath] = {}
    inner: dict[int, _Tree] = {}
    for pe in fusion.pes:
        outer[pe.id] = _common([paths[operator][:-1] for operator in pe.operators])
        around.add(outer[pe.id], pe.id)
        inner[pe.id] = _Tree(f"pe:{pe.id}")
        for operator in pe.operators:
            inner[pe.id].add(paths[operator][len(outer[pe.id]) : -1], operator)
    kept = around.kept()
    members = {pe.id: pe.operators for pe in fusion.pes}
    within = {path: [operator for pe in pes for operator in members[pe]] for path, pes in kept.items()}
    boxes = list(around.boxes(within, region_of))
    place_of: dict[int, str | None] = {}
    for pe in fusion.pes:
        own = f"pe:{pe.id}"
        region = _region(region_of, pe.operators)
        boxes.append(GraphBox(own, around.box(outer[pe.id], kept), "pe", f"PE {pe.id}", region, pe.id, pe.host))
        tree = inner[pe.id]
        inside = tree.kept()
        boxes += [
            replace(box, parent=box.parent or own, pe=pe.id, host=pe.host) for box in tree.boxes(inside, region_of)
        ]
        for operator in pe.operators:
            place_of[operator] = tree.box(paths[operator][len(outer[pe.id]) : -1], inside) or own
    return boxes, place_of


def _operators(compilation: Compilation, place_of: dict[int, str | None], decided: Set[str]) -> Iterator[GraphOperator]:
    physical, logical = compilation.physical, compilation.logical
    marks: dict[int, list[str]] = {}
    for splitter in physical.splitters:
        how = f"hash({', '.join(splitter.attributes)})" if splitter.policy == "hash" else "round robin"
        marks.setdefault(splitter.operator, []).append(f"splits by {how}")
    for region in compilation.regions.expanded if REGIONS in decided else ():
        for word, operators in (("starts", region.starts), ("ends", region.ends)):
            for operator in operators:
                marks.setdefault(operator, []).append(f"{word} region {region.index}")
    for operator in physical.operators:
        locked = THREADS in decided and compilation.threads.operators[operator.index].locked
        shown = [*dict.fromkeys(marks.get(operator.index, ())), *(["locked"] if locked else [])]
        model = logical.operators[operator.logical]
        yield GraphOperator(
            operator.name,
            model.kind,
            place_of[operator.index],
            compilation.regions.region_of[operator.index] if REGIONS in decided else -1,
            compilation.fusion.pe_of[operator.index] if FUSION in decided else -1,
            tuple(shown),
            model.name,
        )


def _edges(compilation: Compilation, decided: Set[str]) -> Iterator[GraphEdge]:
    physical = compilation.physical
    fusion = compilation.fusion
    copies = COPIES in decided
    queued = {(queue.operator, queue.port) for queue in compilation.threads.queues if THREADS in decided}
    sent = {(*pair.outputs[0][:2], pair.receiver) for pair in fusion.networks if FUSION in decided}
    for each, how in zip(physical.connections, compilation.copies.connections, strict=True):
        network = (each.source, each.source_port, fusion.pe_of[each.target]) in sent
        yield GraphEdge(
            each.source,
            each.target,
            each.source_port,
            physical.operators[each.source].streams[each.source_port],
            how.passing if copies else "",
            (each.target, each.target_port) in queued,
            network,
            each.splitter >= 0,
            how.reason if copies else "",
        )


def _path(name: str) -> BoxPath:
    """Return the boxes around an operator, then itself: `P[1].H[5]` gives `P[*]`, `P[1]`, `P[1].H[*]`, `P[1].H[5]`."""
    path: list[str] = []
    before = ""
    for part in name.split("."):
        base, bracket, _ = part.partition("[")
        if bracket:
            path.append(f"{before}{base}[*]")
        path.append(before + part)
        before += f"{part}."
    return tuple(path)


def _kind(label: str) -> Literal["composite", "replicas", "channel"]:
    last = label.rpartition(".")[2]
    if last.endswith("[*]"):
        return "replicas"
    return "channel" if last.endswith("]") else "composite"


def _common(paths: Sequence[BoxPath]) -> BoxPath:
    first, last = min(paths), max(paths)
    same = 0
    while same < min(len(first), len(last)) and first[same] == last[same]:
        same += 1
    return first[:same]


def _region(regions: Sequence[int], members: Sequence[int]) -> int:
    there = {regions[member] for member in members}
    return there.pop() if len(there) == 1 else -1


@dataclass(slots=True)
class _Tree:
    """Boxes by their paths, each with its members and its direct children."""

    prefix: str
    held: dict[BoxPath, list[int]] = field(default_factory=dict[BoxPath, list[int]])
    children: dict[BoxPath, set[BoxPath | int]] = field(default_factory=dict[BoxPath, set["BoxPath | int"]])

    def add(self, path: BoxPath, member: int) -> None:
        """Add a member to the box at the path, and to all boxes around it."""
        self.children.setdefault(path, set()).add(member)
        for end in range(len(path), 0, -1):
            self.held.setdefault(path[:end], []).append(member)
            self.children.setdefault(path[: end - 1], set()).add(path[:end])

    def kept(self) -> dict[BoxPath, list[int]]:
        """Return path -> members, for the boxes with more than one direct child."""
        return {path: members for path, members in self.held.items() if len(self.children[path]) > 1}

    def boxes(self, kept: dict[BoxPath, list[int]], regions: Sequence[int]) -> Iterator[GraphBox]:
        """Yield the kept boxes.

        Args:
            kept: path -> operators.
            regions: the consistent region of every operator; -1 for none.
        """
        for path, operators in kept.items():
            region = _region(regions, operators)
            yield GraphBox(self.id(path), self.box(path[:-1], kept), _kind(path[-1]), path[-1], region)

    def box(self, path: BoxPath, kept: dict[BoxPath, list[int]]) -> str | None:
        """Return the id of the innermost kept box at the path or around it; None if there is none."""
        inner = next((path[:end] for end in range(len(path), 0, -1) if path[:end] in kept), None)
        return None if inner is None else self.id(inner)

    def id(self, path: BoxPath) -> str:
        """Return the id of a box, which is unique in the graph."""
        return f"{self.prefix}/{path[-1]}"
