"""The fifth stage: the queues and threads of every PE, their check, section and summary."""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from streams_orchestration.compiler.compilation import Progress, Stages, need
from streams_orchestration.compiler.sections.tables import BOOLEAN, INTEGER, TEXT, Column, Table, columns_of
from streams_orchestration.compiler.sections.terms import Section, Terms
from streams_orchestration.compiler.stage import FUSION, LOGICAL, PARALLEL, THREADS, Rows, Stage, Summary
from streams_orchestration.compiler.stage_results import ThreadPlan
from streams_orchestration.compiler.threads.origins import threading_model
from streams_orchestration.compiler.threads.threads import plan_threads
from streams_orchestration.model.diagnostics import Diagnostic


def _compute(done: Progress) -> tuple[ThreadPlan, list[Diagnostic]]:
    return plan_threads(need(done.logical), need(done.physical), need(done.fusion), done.options)


def queues_are_placed(done: Stages) -> Iterator[str]:
    """An added queue stands behind a splitter of its PE, or its operator is dedicated.

    Rules 65 and 66.
    """
    physical, fusion, threads = need(done.physical), need(done.fusion), need(done.threads)
    behind = {
        (c.target, c.target_port)
        for c in physical.connections
        if c.splitter >= 0 and fusion.pe_of[c.source] == fusion.pe_of[c.target]
    }
    if len(threads.operators) != len(physical.operators):
        yield f"the plan covers {len(threads.operators)} of {len(physical.operators)} operators"
    for queue in threads.queues:
        operator = physical.operators[queue.operator]
        model = need(done.logical).operators[operator.logical]
        dedicated = threading_model(model, done.options) == "dedicated"
        if queue.port >= len(model.inputs):
            yield f"{operator.name} has a queue on input {queue.port}, which does not exist"
        elif queue.injected and not dedicated and (queue.operator, queue.port) not in behind:
            yield f"{operator.name}[{queue.port}] got a queue, although no splitter of its PE leads there"


def _thread_plan(stages: Stages, terms: Terms) -> Section:
    plan = need(stages.threads)
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
                "operator": Column(terms.name, range(len(plan.operators))),
                "threads": Column(INTEGER, map(attrgetter("threads"), plan.operators)),
                "singleThreadedOnInputs": Column(BOOLEAN, map(attrgetter("single_threaded_on_inputs"), plan.operators)),
                "singleThreadedOnOutputs": Column(
                    BOOLEAN, map(attrgetter("single_threaded_on_outputs"), plan.operators)
                ),
                "locked": Column(BOOLEAN, map(attrgetter("locked"), plan.operators)),
            }
        ),
    }


def _summary(done: Stages) -> Summary:
    threads, operators = need(done.threads), need(done.physical).operators
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
    summary["thread_table"] = Rows(("operator", "threads", "single-threaded", "locked"), rows)
    return summary


THREADS_STAGE = Stage(
    name=THREADS,
    field="threads",
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
