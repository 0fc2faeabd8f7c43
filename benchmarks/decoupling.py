"""Decoupling: time against HiGHS alone, and how close to the best large problems come.

`dearness` is what one side of a mean cut costs, in mean loads of an operator.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.decoupling_graphs import graph
from benchmarks.harness import Row
from streams_orchestration.compiler.decoupling import Decision, solve
from streams_orchestration.compiler.decoupling.contraction import contract
from streams_orchestration.compiler.decoupling.dataflow import dataflow
from streams_orchestration.compiler.decoupling.formulation import Formulation
from streams_orchestration.compiler.decoupling.integer_program import SolverAnswer, run
from streams_orchestration.model.decoupling import Problem
from streams_orchestration.model.decoupling_document import problem_from_mapping

GAP = 1e-4
MINUTE = 58.0
"""Seconds that a solution may take, so that reading and writing fit into the minute."""


def problem(operators: int, seed: int, machines: int, dearness: float) -> Problem:
    return problem_from_mapping(graph(operators, seed, machines, dearness))


def processor(function: Callable[[], Any]) -> float:
    """Return the processor seconds of a function and of the processes that it starts."""

    def now() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + usage.ru_utime + usage.ru_stime

    begin = now()
    function()
    return now() - begin


def alone(given: Problem) -> SolverAnswer:
    """Solve the contracted model with HiGHS alone, without a first solution."""
    return run(Formulation(contract(dataflow(given))), None, GAP, MINUTE, lambda _: None)


def against_highs(*, quick: bool) -> list[Row]:
    """Return the median ratio of processor times for 1,000 operators on two machines, solved to 0.01 %."""
    ratios = []
    for seed in range(2 if quick else 5):
        given = problem(1000, seed, 2, 0.5 if seed % 2 else 4)
        least = processor(lambda given=given: alone(given))
        whole = processor(lambda given=given: solve(given, seconds=MINUTE, gap=GAP))
        ratios.append(whole / least)
    return [Row("1,000 operators, 2 machines, gap 0.01 % / HiGHS alone, median", median(ratios), "", 1.0, 4.0)]


def certified(operators: int, dearness: float, seconds: float) -> tuple[Decision, float]:
    """Return a decision for 16 machines, and the seconds from the document to it."""
    begin = time.monotonic()
    decision = solve(problem(operators, 0, 16, dearness), seconds=seconds, gap=1e-3)
    return decision, time.monotonic() - begin


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios to HiGHS alone, to the bounds of large problems, and to their time limits."""
    result = against_highs(quick=quick)
    for dearness in (0.5,) if quick else (0.5, 1.0, 4.0):
        what = f"1,000 operators, 16 machines, dearness {dearness:g}: "
        decision, took = certified(1000, dearness, MINUTE)
        result.append(Row(what + "objective / bound", decision.evaluation.objective, "", decision.bound, 1.06))
        result.append(Row(what + "seconds", took, "s", 60.0, 1.0))
    if not quick:
        decision, took = certified(10_000, 4.0, 110.0)
        what = "10,000 operators, 16 machines, dearness 4: "
        result.append(Row(what + "objective / bound", decision.evaluation.objective, "", decision.bound, 1.06))
        result.append(Row(what + "seconds", took, "s", 120.0, 1.0))
    return result
