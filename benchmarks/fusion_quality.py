"""Traffic between PEs under manual fusion against an exact optimum, on small random graphs.

The optimum has as many PEs, none of them empty and none larger than the packing lets them be.
"""

from __future__ import annotations

import random
from typing import Any

from benchmarks.harness import Row
from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.fusion.packing import most_operators
from streams_orchestration.compiler.fusion.unit_flows import connection_traffic
from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import RegionMap
from streams_orchestration.model.loading import application_from_mapping

GRAPHS = 200


def random_graph(seed: int, *, rates: bool) -> tuple[LogicalGraph, PhysicalGraph]:
    """Return a graph of 6 to 12 operators with up to three producers each; with `rates`, most streams declare one."""
    chance = random.Random(seed)
    graph: list[dict[str, Any]] = []
    for number in range(chance.randint(6, 12)):
        before = range(max(0, number - chance.choice((2, 4, number))), number)
        producers = sorted(chance.sample(before, min(len(before), chance.choice((0, 1, 1, 1, 2, 2, 3)))))
        outputs: dict[str, Any] = {"stream": f"N{number}"}
        if rates and chance.random() < 0.7:
            outputs["rate"] = chance.randint(1, 100)
        invocation = {"name": f"N{number}", "operator": "Work" if producers else "Source", "outputs": [outputs]}
        graph.append(invocation | ({"inputs": [[f"N{each}" for each in producers]]} if producers else {}))
    operators = {"Source": {"inputs": []}, "Work": {}}
    application = {"specVersion": 1, "application": "small", "operators": operators, "graph": graph}
    logical, _ = build_logical_graph(application_from_mapping(application), Options())
    return logical, expand(logical)[0]


def least_traffic(operators: int, flows: list[tuple[int, int, float]], pes: int, most: int) -> float:
    """Return the least traffic between PEs, by branch and bound over all partitions."""
    before: list[list[tuple[int, float]]] = [[] for _ in range(operators)]
    for source, target, weight in flows:
        before[max(source, target)].append((min(source, target), weight))
    best = float("inf")
    home = [-1] * operators
    size = [0] * pes

    def place(operator: int, opened: int, traffic: float) -> None:
        nonlocal best
        if traffic >= best or operators - operator < pes - opened:
            return
        if operator == operators:
            best = traffic
            return
        for pe in range(min(opened + 1, pes)):
            if size[pe] < most:
                home[operator] = pe
                size[pe] += 1
                crossing = sum(weight for other, weight in before[operator] if home[other] != pe)
                place(operator + 1, max(opened, pe + 1), traffic + crossing)
                size[pe] -= 1

    place(0, 0, 0.0)
    return best


def compared(seed: int, *, rates: bool) -> tuple[float, float]:
    """Return the traffic between the PEs of the plan, and the least possible traffic."""
    logical, physical = random_graph(seed, rates=rates)
    operators = len(physical.operators)
    pes = 2 + seed % 3
    regions = RegionMap((), (), (-1,) * operators)
    plan, _ = fuse(logical, physical, regions, Options(fusion="manual", pes=pes))
    traffic = connection_traffic(logical, physical, {})
    flows = [(each.source, each.target, weight) for each, weight in zip(physical.connections, traffic, strict=True)]
    traffic = sum(weight for source, target, weight in flows if plan.pe_of[source] != plan.pe_of[target])
    return traffic, least_traffic(operators, flows, pes, most_operators(operators, pes))


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratio over all graphs together, and the worst of them."""
    result = []
    for what, rates in (("connections", False), ("declared rates", True)):
        pairs = [compared(seed, rates=rates) for seed in range(GRAPHS)]
        traffic, least = (sum(each) for each in zip(*pairs, strict=True))
        result.append(Row(f"traffic between PEs, by {what}, {GRAPHS} graphs / optimum", traffic, "", least, 1.05))
        # a plan without any traffic where none is needed counts as 1
        traffic, least = max(pairs, key=lambda pair: pair[0] / pair[1] if pair[1] else float(pair[0] > 0))
        result.append(Row("the worst of them", traffic or 1.0, "", least or 1.0, 1.05))
    return result
