"""Threads: the queues of PEs, and the operators that several threads enter (rules 64-77)."""

from __future__ import annotations

from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan, OperatorThreads, ThreadPlan
from streams_orchestration.compiler.threads.deadlock import check_waits
from streams_orchestration.compiler.threads.origins import find_origins
from streams_orchestration.compiler.threads.propagation import count_threads
from streams_orchestration.compiler.threads.queues import place_queues
from streams_orchestration.model.diagnostics import Diagnostic


def plan_threads(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, options: Options
) -> tuple[ThreadPlan, list[Diagnostic]]:
    """Place the queues of every PE and count the threads that enter every operator.

    An operator is single-threaded on inputs when at most one thread enters it and its threading model is manual or
    it has at most one input port; single-threaded on outputs when its operator model keeps that (rule 75). It is
    locked when it is not single-threaded on inputs (rule 77).
    """
    queues = place_queues(logical, physical, fusion, options)
    queued = frozenset((queue.operator, queue.port) for queue in queues)
    origins = find_origins(logical, physical, fusion, queued, options)
    entering = count_threads(logical, physical, fusion, origins)
    operators: list[OperatorThreads] = []
    made: dict[tuple[int, int], OperatorThreads] = {}
    """Results for replicas of one operator with equally many threads."""
    for operator, threads in zip(physical.operators, entering.operators, strict=True):
        key = operator.logical, threads
        if key not in made:
            model = logical.operators[operator.logical]
            single = threads <= 1 and (operator.index in origins.manual or len(model.inputs) <= 1)
            made[key] = OperatorThreads(threads, single, single and model.single_threaded == "Always", not single)
        operators.append(made[key])
    plan = ThreadPlan(
        tuple(
            queue if entering.queues[queue.operator, queue.port] > 1 else queue._replace(single_producer=True)
            for queue in queues
        ),
        tuple(operators),
        tuple(port for pe in fusion.pes for port in pe.outputs if entering.submitting[port.operator] <= 1),
    )
    return plan, check_waits(logical, physical, origins)
