"""The sixth stage decides where tuples wait in queues, and which operators several threads enter.

Without a queue, a producer calls its consumer in its own thread. A *queue* in front of an input port gives the consumer
a thread of its own. The stage adds one after a splitter, so that the channels of a region run at the same time; a spec
can ask for more. Here one is added: `Scale[1]` is in the PE of the splitter, while `Scale[0]` is in the other PE
and gets its tuples from the transport.

Then threads are counted. Besides queues, they begin at sources, at every input port without a queue, and once more at a
port that is fed from another PE; they reach downstream as far as calls go. So two threads enter `Scale[0]`. `Write` is
entered by four: those two, and two that begin at its own input port. An operator that several threads can enter is
*locked* (rule 77).

    >>> from streams_orchestration.compiler.tour import results_before
    >>> plan, findings = THREADS_STAGE.compute(results_before(THREADS))
    >>> for queue in plan.queues:
    ...     print(queue.operator, queue.port, queue.congestion_policy, queue.queue_size, queue.injected)
    3 0 Sys.Wait 1000 True
    >>> for number, operator in enumerate(plan.operators):
    ...     print(number, operator.threads, "locked" if operator.locked else "not locked")
    0 1 not locked
    1 2 locked
    2 4 locked
    3 1 not locked
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.sections.tables import BOOLEAN, INTEGER, TEXT, Table, columns_of
from streams_orchestration.compiler.sections.terms import Section, Terms
from streams_orchestration.compiler.stage import FUSION, LOGICAL, PARALLEL, THREADS, Stage, Summary, SummaryRows
from streams_orchestration.compiler.stage_results import FusionPlan, OperatorThreads, ThreadPlan
from streams_orchestration.compiler.threads.deadlock import check_waits
from streams_orchestration.compiler.threads.origins import find_origins, threading_model
from streams_orchestration.compiler.threads.propagation import count_threads
from streams_orchestration.compiler.threads.queues import place_queues
from streams_orchestration.model.diagnostics import Diagnostic


def plan_threads(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, options: Options
) -> tuple[ThreadPlan, list[Diagnostic]]:
    """Place the queues of every PE, count the threads that enter every operator, and report waits for the own thread.

    An operator is single-threaded on inputs if at most one thread enters it, and its threading model is manual or it
    has at most one input port. Any other operator is locked (rule 77). An operator that is single-threaded on inputs is
    also single-threaded on outputs, unless its operator model denies that (rule 75).
    """
    queues = place_queues(logical, physical, fusion, options)
    queued = frozenset((queue.operator, queue.port) for queue in queues)
    origins = find_origins(logical, physical, fusion, queued, options)
    entering = count_threads(logical, physical, fusion, origins)
    operators: list[OperatorThreads] = []
    made: dict[tuple[int, int], OperatorThreads] = {}
    """(logical operator, number of entering threads) -> the thread facts of a replica. Replicas with the same key share
    them."""
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
    )
    return plan, check_waits(logical, physical, origins)


def _compute(done: Progress) -> tuple[ThreadPlan, list[Diagnostic]]:
    return plan_threads(done[LogicalGraph], done[PhysicalGraph], done[FusionPlan], done.options)


def queues_are_placed(done: Progress) -> Iterator[str]:
    """Check that every added queue is after a splitter of its PE, or in front of an operator with its own thread.

    Also check that every queue has an input port, and that the plan covers all operators. Rules 65 and 66.
    """
    models = done[LogicalGraph].operators
    physical = done[PhysicalGraph]
    fusion = done[FusionPlan]
    threads = done[ThreadPlan]
    behind = {
        (c.target, c.target_port)
        for c in physical.connections
        if c.splitter >= 0 and fusion.pe_of[c.source] == fusion.pe_of[c.target]
    }
    if len(threads.operators) != len(physical.operators):
        yield f"the plan covers {len(threads.operators)} of {len(physical.operators)} operators"
    for queue in threads.queues:
        operator = physical.operators[queue.operator]
        model = models[operator.logical]
        dedicated = threading_model(model, done.options) == "dedicated"
        if queue.port >= len(model.inputs):
            yield f"{operator.name} has a queue on input {queue.port}, which does not exist"
        elif queue.injected and not dedicated and (queue.operator, queue.port) not in behind:
            yield f"{operator.name}[{queue.port}] got a queue, although no splitter of its PE leads there"


def _thread_plan(done: Progress, terms: Terms) -> Section:
    plan = done[ThreadPlan]
    return {
        "threadedPorts": columns_of(
            sorted(plan.queues, key=attrgetter("operator", "port")),
            {
                "operator": (terms.name, "operator"),
                "port": (INTEGER, "port"),
                "injected": (BOOLEAN, "injected"),
                "congestionPolicy": (TEXT, "congestion_policy"),
                "queueSize": (INTEGER, "queue_size"),
            },
        ),
        "operators": Table(
            {
                "operator": (terms.name, range(len(plan.operators))),
                "threads": (INTEGER, map(attrgetter("threads"), plan.operators)),
                "singleThreadedOnInputs": (BOOLEAN, map(attrgetter("single_threaded_on_inputs"), plan.operators)),
                "singleThreadedOnOutputs": (BOOLEAN, map(attrgetter("single_threaded_on_outputs"), plan.operators)),
                "locked": (BOOLEAN, map(attrgetter("locked"), plan.operators)),
            }
        ),
    }


def _summary(done: Progress) -> Summary:
    threads, operators = done[ThreadPlan], done[PhysicalGraph].operators
    summary: Summary = {
        "queues": len(threads.queues),
        "injected_queues": sum(queue.injected for queue in threads.queues),
        "locked_operators": sum(op.locked for op in threads.operators),
    }
    rows = [
        (
            operators[number].name,
            op.threads,
            "yes" if op.single_threaded_on_inputs else "no",
            "yes" if op.locked else "no",
        )
        for number, op in enumerate(threads.operators)
    ]
    summary["thread_table"] = SummaryRows(("operator", "threads", "single-threaded", "locked"), rows)
    return summary


THREADS_STAGE = Stage(
    name=THREADS,
    result=ThreadPlan,
    inputs=(LOGICAL, PARALLEL, FUSION),
    description="The queues inside the PEs, and which operators more than one thread enters.",
    compute=_compute,
    subject="threads",
    invariant=queues_are_placed,
    summary=_summary,
    key="threadPlan",
    place=3,
    section=_thread_plan,
    empty={"threadedPorts": [], "operators": []},
)
