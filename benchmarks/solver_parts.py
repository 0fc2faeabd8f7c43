"""The worth of each part of the solvers: every part is switched off by itself, on random graphs of several sizes.

A part is worth the peak load, the bound, the traffic or the processor time that the rest loses without it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from statistics import fmean
from typing import Any
from unittest.mock import patch

from benchmarks.decoupling_graphs import graph
from streams_orchestration.compiler.decoupling.contraction import contract
from streams_orchestration.compiler.decoupling.dataflow import dataflow
from streams_orchestration.compiler.decoupling.effort import solve_task
from streams_orchestration.compiler.decoupling.evaluation import evaluate
from streams_orchestration.compiler.decoupling.fewest import best_use
from streams_orchestration.compiler.decoupling.lower_bounds import simple_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.solver_task import SolverProgress, SolverTask
from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.fusion.unit_flows import connection_traffic
from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.stage_results import RegionMap
from streams_orchestration.model.decoupling import Problem
from streams_orchestration.model.decoupling_document import problem_from_mapping
from streams_orchestration.model.loading import application_from_mapping

DECOUPLING = "streams_orchestration.compiler.decoupling"
FUSION = "streams_orchestration.compiler.fusion"
SIZES = ((50, 4, 4.0, (0, 1, 2)), (500, 16, 8.0, (0, 1)), (5000, 16, 30.0, (0,)))
"""Operators, machines, processor seconds and seeds of the decoupling problems."""
FORWARD = ((50, 4, 3.0, (0, 1, 2)), (500, 8, 4.0, (0, 1)), (5000, 8, 8.0, (0,)))
"""The same for problems whose streams only go forward."""
PES = ((50, 6), (500, 20), (5000, 60))
"""Operators and PEs of the graphs that are fused by traffic."""
LOADS = ((50, 4), (50, 8), (100, 6), (200, 8), (500, 8))
"""Operators and PEs of the graphs that are fused by load."""
DECOUPLING_PARTS: dict[str, dict[str, Any]] = {
    "all parts": {},
    "coarse clusters": {"search.coarser": lambda *_: None},
    "annealing": {"search.anneal": lambda placed, *_: list(placed.home)},
    "first packing": {"search.Search.pack": lambda _: None},
    "bound of blocks": {"effort.block_bound": lambda *_: 0.0},
    "bound from distances": {"effort.spreading_bound": lambda *_: 0.0},
    "integer program": {"solver_task._LARGE": 0},
}
FORWARD_PARTS: dict[str, dict[str, Any]] = {
    "all parts": {},
    "moves along the flow": {"search.anneal": lambda placed, *_: list(placed.home)},
    "integer program": {"solver_task._LARGE": 0},
}
LOAD_PARTS: dict[str, dict[str, Any]] = {"all parts": {}, "several fillings": {"search._FILLINGS": 1}}
FUSION_PARTS: dict[str, dict[str, Any]] = {
    "all parts": {},
    "growing PEs by traffic": {"packing.Packing._next_neighbour": lambda *_: None},
    "chains of moves": {"move_chains.MoveChains.improve": lambda *_: None},
    "disturbing": {"move_chains._TRIES": 0},
    "one PE too large meanwhile": {
        "move_chains.MoveChains._fits": lambda self, unit, there, _: (
            self._operators[there] + self._sizes[unit] <= self._bound[there]
        )
    },
}


class Without:
    """A context in which a part is replaced, and clocks count processor time of this process."""

    def __init__(self, package: str, replaced: Mapping[str, Any]) -> None:
        self._replaced = {f"{package}.{name}": value for name, value in replaced.items()}
        self._stack = ExitStack()

    def __enter__(self) -> None:
        self._stack.enter_context(patch("time.monotonic", time.process_time))
        for name, value in self._replaced.items():
            self._stack.enter_context(patch(name, value))

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def decoupled(document: dict[str, Any], seconds: float, *, forward: bool) -> tuple[float, float, float]:
    """Return the peak load, the bound and the processor seconds of a decision that is made in this process."""
    begin = time.process_time()
    problem = problem_from_mapping(document)
    params = problem.params.model_copy(update={"forward": forward})
    contraction = contract(dataflow(problem.model_copy(update={"params": params})))
    search = Search(contraction)
    search.pack()
    bounds = [simple_bound(contraction)]

    def report(progress: SolverProgress) -> None:
        bounds.append(progress.bound)
        if progress.assignment is not None:
            search.offer(progress.assignment)

    start = None if search.best is None else tuple(search.best)
    gap = 0.0 if contraction.size * len(contraction.machines) <= 300 else 1e-3
    solve_task(SolverTask(contraction, "highs", start, bounds[0], gap, seconds), report)
    assert search.best is not None
    peak = evaluate(contraction.flow, contraction.outputs_of(search.best)).objective
    return peak, min(peak, max(bounds)), time.process_time() - begin


def decoupling(
    sizes: tuple[tuple[int, int, float, tuple[int, ...]], ...],
    parts: Mapping[str, Mapping[str, Any]],
    *,
    forward: bool = False,
) -> Iterator[str]:
    """Yield lines with the peak load, the bound and the time without each part, as ratios to the whole solver."""
    for operators, machines, seconds, seeds in sizes:
        known: dict[int, tuple[float, float, float]] = {}
        for name, replaced in parts.items():
            for seed in seeds:
                document = graph(operators, seed, machines, 4.0 if seed % 2 == 0 else 0.5)
                with Without(DECOUPLING, replaced):
                    measured = decoupled(document, seconds, forward=forward)
                all_parts = known.setdefault(seed, measured)
                ratios = [value / other for value, other in zip(measured, all_parts, strict=True)]
                peak, bound, took = ratios
                absolute = " ".join(f"{value:.3f}" for value in measured)
                yield f"{operators} {seed} {name}: peak {peak:.4f} bound {bound:.4f} time {took:.2f} ({absolute})"


def by_load(seeds: int = 12) -> Iterator[str]:
    """Yield lines with the mean and the greatest peak load without each part, as ratios to fusion with all parts."""
    for operators, pes in LOADS:
        known: list[float] = []
        for name, replaced in LOAD_PARTS.items():
            begin = time.process_time()
            with Without(DECOUPLING, replaced):
                peaks = [best_use(forward_problem(operators, seed, pes)).evaluation.worst for seed in range(seeds)]
            known = known or peaks
            ratios = [peak / other for peak, other in zip(peaks, known, strict=True)]
            took = time.process_time() - begin
            yield f"{operators} {pes} {name}: mean {fmean(ratios):.4f} greatest {max(ratios):.3f} ({took:.1f} s)"


def forward_problem(operators: int, seed: int, machines: int) -> Problem:
    """Return a problem in the form of fusion by load: streams lead forward, and each reader decodes for itself."""
    document = graph(operators, seed, machines, (4.0, 0.5, 1.0)[seed % 3])
    document["params"] |= {"forward": True, "tee": "each"}
    return problem_from_mapping(document)


def fused(operators: int, pes: int, seed: int) -> tuple[float, float]:
    """Return the traffic between PEs, and the processor seconds of fusion."""
    chance = random.Random(seed)
    invocations: list[dict[str, Any]] = []
    for number in range(operators):
        before = range(max(0, number - chance.choice((2, 8, 40))), number)
        producers = sorted(chance.sample(before, min(len(before), chance.choice((0, 1, 1, 1, 1, 2, 2)))))
        name = f"N{number}"
        outputs = [{"stream": name, "rate": chance.randint(1, 100)}]
        inputs = {"inputs": [[f"N{each}" for each in producers]]} if producers else {}
        invocations.append({"name": name, "operator": "Work" if producers else "Source", "outputs": outputs} | inputs)
    declared = {"Source": {"inputs": []}, "Work": {}}
    document = {"specVersion": 1, "application": "made", "operators": declared, "graph": invocations}
    logical, _ = build_logical_graph(application_from_mapping(document), Options())
    physical = expand(logical)[0]
    regions = RegionMap((), (), (-1,) * len(physical.operators))
    begin = time.process_time()
    plan, _ = fuse(logical, physical, regions, Options(fusion="manual", pes=pes))
    took = time.process_time() - begin
    traffic = zip(physical.connections, connection_traffic(logical, physical, {}), strict=True)
    return sum(weight for each, weight in traffic if plan.pe_of[each.source] != plan.pe_of[each.target]), took


def fusion() -> Iterator[str]:
    """Yield lines with the traffic and the time without each part, as ratios to the solver with all parts."""
    for operators, pes in PES:
        known: tuple[float, float] | None = None
        for name, replaced in FUSION_PARTS.items():
            with Without(FUSION, replaced):
                measured = [fused(operators, pes, seed) for seed in range(3)]
            traffic, took = (sum(each) for each in zip(*measured, strict=True))
            known = known or (traffic, took)
            yield f"{operators} {name}: traffic {traffic / known[0]:.4f} time {took / known[1]:.2f}"


TABLES: dict[str, Callable[[], Iterator[str]]] = {
    "decoupling": lambda: decoupling(SIZES, DECOUPLING_PARTS),
    "forward": lambda: decoupling(FORWARD, FORWARD_PARTS, forward=True),
    "load": by_load,
    "fusion": fusion,
}


def main() -> None:
    """Print the tables that the command line names, or all of them."""
    for name in sys.argv[1:] or TABLES:
        print(f"# {name}")
        for line in TABLES[name]():
            print(line, flush=True)


if __name__ == "__main__":
    main()
