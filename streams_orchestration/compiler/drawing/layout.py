"""Layered layout: places the boxes of a directed graph in columns, so that nearly every edge runs left to right."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, Literal, NamedTuple, TypeVar

Node = TypeVar("Node", bound=Hashable)
Point = tuple[float, float]
SWEEPS = 24
"""Rounds of crossing reduction and of straightening; more rounds change nothing visible."""


@dataclass(frozen=True, slots=True)
class Layout(Generic[Node]):
    """The positions of all boxes and edges, in the units in which the sizes of boxes are given; y grows downwards."""

    corners: dict[Node, Point]
    """Top left corner of every node."""
    bends: dict[int, tuple[Point, ...]]
    """Edge number -> the points that the edge passes in the columns between its ends, from source to target."""
    width: float
    height: float


def place(
    sizes: Mapping[Node, Point],
    edges: Sequence[tuple[Node, Node]],
    *,
    column_gap: float,
    row_gap: float,
    flush: bool = False,
    pinned: Mapping[Node, Literal["first", "last"]] | None = None,
) -> Layout[Node]:
    """Lay a graph out in columns.

    Args:
        sizes: (width, height) of every node; their order breaks ties, so the same input gives the same picture.
        edges: (source, target), parallel edges allowed; loops are ignored, cycles are cut at an edge that points back.
        column_gap: free width between columns.
        row_gap: free height between the boxes of a column.
        flush: the boxes of a column share their left edge, not their middle.
        pinned: nodes that belong in the first or last column, whatever their edges say.
    """
    pins = pinned or {}
    layers = _layers(list(sizes), edges, pins)
    grid = _Grid(sizes, edges, layers, row_gap)
    grid.reduce_crossings()
    grid.straighten()
    return grid.layout(column_gap, flush=flush)


def _layers(
    nodes: Sequence[Node], edges: Sequence[tuple[Node, Node]], pins: Mapping[Node, Literal["first", "last"]]
) -> dict[Node, int]:
    targets: dict[Node, list[Node]] = defaultdict(list)
    for source, target in edges:
        if source != target and pins.get(target) != "first" and pins.get(source) != "last":
            targets[source].append(target)
    order = _topological(nodes, targets)
    rank = {node: position for position, node in enumerate(order)}
    first = int("first" in pins.values())
    layer = {node: 0 if pins.get(node) == "first" else first for node in order}
    for node in order:
        for target in targets[node]:
            if rank[target] > rank[node]:
                layer[target] = max(layer[target], layer[node] + 1)
    # A source is drawn next to its first consumer, not at the far left.
    sourced = {target for node in order for target in targets[node] if rank[target] > rank[node]}
    for node in order:
        after = [layer[target] for target in targets[node] if rank[target] > rank[node]]
        if node not in sourced and node not in pins and after:
            layer[node] = max(layer[node], min(after) - 1)
    last = max((layer[node] for node in order if pins.get(node) != "last"), default=0) + 1
    return {node: last if pins.get(node) == "last" else layer[node] for node in order}


def _topological(nodes: Sequence[Node], targets: Mapping[Node, list[Node]]) -> list[Node]:
    """Return the reverse postorder of a depth-first walk, a topological order of the graph without back edges."""
    seen: set[Node] = set()
    order: list[Node] = []
    entered = {target for node in nodes for target in targets.get(node, ())}
    for root in [*(n for n in reversed(nodes) if n not in entered), *nodes]:
        if root in seen:
            continue
        seen.add(root)
        stack = [(root, iter(reversed(targets.get(root, []))))]
        while stack:
            node, rest = stack[-1]
            following = next((target for target in rest if target not in seen), None)
            if following is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(following)
                stack.append((following, iter(reversed(targets.get(following, [])))))
    return order[::-1]


class _Bend(NamedTuple):
    """The place where a long edge passes a column."""

    edge: int
    column: int
    forward: bool


class _Grid(Generic[Node]):
    """Columns of cells; a cell is a node or a bend."""

    def __init__(
        self, sizes: Mapping[Node, Point], edges: Sequence[tuple[Node, Node]], layers: dict[Node, int], gap: float
    ) -> None:
        self.sizes = sizes
        self.gap = gap
        self.columns: list[list[object]] = [[] for _ in range(max(layers.values(), default=-1) + 1)]
        self.heights: dict[object, float] = {}
        self.widths: dict[object, float] = {}
        self.before: dict[object, list[object]] = defaultdict(list)
        self.after: dict[object, list[object]] = defaultdict(list)
        self.chains: dict[int, list[_Bend]] = {}
        self.column_of = layers
        for node, layer in layers.items():
            self._add(layer, node, sizes[node])
        for number, (source, target) in enumerate(edges):
            if source == target:
                continue
            step = 1 if layers[target] >= layers[source] else -1
            passed = range(layers[source] + step, layers[target], step)
            chain = [_Bend(number, column, step > 0) for column in passed]
            for bend in chain:
                self._add(bend.column, bend, (0.0, 0.0))
            self.chains[number] = chain
            cells: list[object] = [source, *chain, target]
            for left, right in pairwise(cells[::step]):
                self.after[left].append(right)
                self.before[right].append(left)
        self.middle: dict[object, float] = {}

    def _add(self, column: int, cell: object, size: Point) -> None:
        self.columns[column].append(cell)
        self.widths[cell], self.heights[cell] = size

    def reduce_crossings(self) -> None:
        """Sort the columns by the mean position of their neighbours, in sweeps both ways, and keep the best order."""
        best = [list(column) for column in self.columns]
        fewest = self._crossings()
        for sweep in range(SWEEPS):
            forward = sweep % 2 == 0
            neighbours = self.before if forward else self.after
            indexes = range(1, len(self.columns)) if forward else range(len(self.columns) - 2, -1, -1)
            for index in indexes:
                fixed = self.columns[index - 1 if forward else index + 1]
                position = {cell: float(number) for number, cell in enumerate(fixed)}
                own = {cell: number for number, cell in enumerate(self.columns[index])}
                self.columns[index].sort(key=lambda c, p=position, o=own: (_mean(neighbours[c], p, o[c]), o[c]))
            crossings = self._crossings()
            if crossings < fewest:
                fewest, best = crossings, [list(column) for column in self.columns]
        self.columns = best

    def _crossings(self) -> int:
        total = 0
        for left, right in pairwise(self.columns):
            position = {cell: number for number, cell in enumerate(right)}
            ends = [end for cell in left for end in sorted(position[c] for c in self.after[cell] if c in position)]
            total += sum(a > b for i, a in enumerate(ends) for b in ends[i + 1 :])
        return total

    def straighten(self) -> None:
        """Move every cell towards the mean of its neighbours, as far as the order and the gaps of its column allow."""
        for column in self.columns:
            top = 0.0
            for cell in column:
                self.middle[cell] = top + self.heights[cell] / 2
                top += self.heights[cell] + self.gap
        for sweep in range(SWEEPS):
            columns = self.columns if sweep % 2 == 0 else self.columns[::-1]
            for column in columns:
                wanted = [_mean([*self.before[c], *self.after[c]], self.middle, self.middle[c]) for c in column]
                offsets: list[float] = []
                reach = 0.0
                for above, cell in zip([None, *column], column, strict=False):
                    if above is not None:
                        reach += (self.heights[above] + self.heights[cell]) / 2 + self.gap
                    offsets.append(reach)
                settled = _isotonic([want - offset for want, offset in zip(wanted, offsets, strict=True)])
                for cell, middle, offset in zip(column, settled, offsets, strict=True):
                    self.middle[cell] = middle + offset

    def layout(self, column_gap: float, *, flush: bool) -> Layout[Node]:
        """Return the layout, moved so that it starts at the origin."""
        top = min((self.middle[cell] - self.heights[cell] / 2 for cell in self.middle), default=0.0)
        widths = [max((self.widths[c] for c in column), default=0.0) for column in self.columns]
        lefts = [sum(widths[:column]) + column_gap * column for column in range(len(widths))]
        corners: dict[Node, Point] = {}
        for node, column in self.column_of.items():
            width, height = self.sizes[node]
            inset = 0.0 if flush else (widths[column] - width) / 2
            corners[node] = (lefts[column] + inset, self.middle[node] - top - height / 2)
        bends = {number: self._bends(chain, lefts, widths, top) for number, chain in self.chains.items()}
        height = max((corners[node][1] + self.sizes[node][1] for node in corners), default=0.0)
        return Layout(corners, bends, lefts[-1] + widths[-1] if widths else 0.0, height)

    def _bends(
        self, chain: Sequence[_Bend], lefts: Sequence[float], widths: Sequence[float], top: float
    ) -> tuple[Point, ...]:
        """Return the bends of long edges, which enter and leave each column at the same height."""
        points: list[Point] = []
        for bend in chain:
            across = [lefts[bend.column], lefts[bend.column] + widths[bend.column]]
            points += [(x, self.middle[bend] - top) for x in (across if bend.forward else across[::-1])]
        return tuple(points)


def _mean(cells: Sequence[object], position: Mapping[object, float], otherwise: float) -> float:
    known = [position[cell] for cell in cells if cell in position]
    return sum(known) / len(known) if known else otherwise


def _isotonic(values: Sequence[float]) -> list[float]:
    """Return the nondecreasing sequence nearest to `values` by least squares (pool adjacent violators)."""
    blocks: list[list[float]] = []
    for value in values:
        blocks.append([value, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            mean, count = blocks.pop()
            total = blocks[-1][1] + count
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + mean * count) / total, total]
    return [mean for mean, count in blocks for _ in range(int(count))]
