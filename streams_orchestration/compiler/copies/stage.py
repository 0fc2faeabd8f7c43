"""The seventh stage decides for every connection whether tuples are handed on by reference or copied.

A consumer that only reads its tuples shares them with everybody else. A consumer that changes them needs a copy, unless
the producer gives its tuples away and nothing else reads them afterwards. A queue takes a copy, because its tuples are
read later, and a consumer in another PE gets a tuple of its own from the transport anyway. Each decision comes with its
reason, which `streams explain` shows.

In the tour, no operator changes the tuples that it reads: `Scale` makes new ones.

    >>> from streams_orchestration.compiler.tour import results_before
    >>> done = results_before(COPIES)
    >>> plan, findings = COPIES_STAGE.compute(done)
    >>> for connection, passing in zip(done[PhysicalGraph].connections, plan.connections):
    ...     print(connection.source, connection.target, passing.passing, "-", passing.reason)
    0 1 serialize - the consumer is in another PE and gets a tuple of its own from the transport
    0 3 enqueue - the queue in front of the consumer takes a copy
    1 2 reference - the consumer does not change tuples
    3 2 serialize - the consumer is in another PE and gets a tuple of its own from the transport
    >>> plan.sender_copies, plan.enqueue_copies, plan.eliminated
    (0, 1, 1)

`eliminated` is the number of copies that are saved per tuple, compared with copying on every connection within a PE.
"""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.copies.copies import plan_copies
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph
from streams_orchestration.compiler.sections.tables import FIELDS, Table, fields
from streams_orchestration.compiler.sections.terms import Document, Section, Terms
from streams_orchestration.compiler.stage import COPIES, FUSION, LOGICAL, PARALLEL, THREADS, Stage, Summary, SummaryRows
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, Passing, ThreadPlan
from streams_orchestration.model.diagnostics import Diagnostic


def _compute(done: Progress) -> tuple[CopyPlan, list[Diagnostic]]:
    plans = done[FusionPlan], done[ThreadPlan]
    return plan_copies(done[LogicalGraph], done[PhysicalGraph], *plans, done.options), []


def copies_are_right(done: Progress) -> Iterator[str]:
    """Check that only consumers that change tuples get copies, that others do not see changes, and that counts add up.

    Also check that the plan covers all connections, and that its order has each once; else nothing more is checked.
    Rules 81 to 90.
    """
    models = done[LogicalGraph].operators
    physical = done[PhysicalGraph]
    fusion = done[FusionPlan]
    copies = done[CopyPlan]
    if len(copies.connections) != len(physical.connections):
        yield f"the plan covers {len(copies.connections)} of {len(physical.connections)} connections"
        return
    queued = {(queue.operator, queue.port) for queue in done[ThreadPlan].queues}
    served = {number: place for place, number in enumerate(copies.order)}
    if sorted(served) != list(range(len(physical.connections))):
        yield "the serving order does not hold every connection once"
        return
    for number, (c, passing) in enumerate(zip(physical.connections, copies.connections, strict=True)):
        target = physical.operators[c.target]
        where = f"{physical.operators[c.source].name}[{c.source_port}] to {target.name}[{c.target_port}]"
        port = models[target.logical].inputs[c.target_port]
        changes = port.mutable and port.mutates != ()
        expected = _unless_direct(c, fusion.pe_of, queued)
        if expected:
            if passing.passing != expected:
                yield f"{where} passes by {passing.passing}, not {expected}"
        elif not changes:
            if passing.passing != "reference":
                yield f"{where} passes by {passing.passing} to a consumer that changes nothing"
        elif passing.passing == "reference":
            source = models[physical.operators[c.source].logical]
            if not source.outputs[c.source_port].mutable:
                yield f"{where} hands over tuples that the producer keeps"
            if any(served[other] > served[number] for other in _siblings(physical, number, fusion.pe_of)):
                yield f"{where} hands over tuples that another consumer is served afterwards"
    made = sum(passing.passing == "copy" for passing in copies.connections)
    if made != copies.sender_copies:
        yield f"{made} connections copy, the plan counts {copies.sender_copies}"


def _siblings(physical: PhysicalGraph, number: int, pe_of: tuple[int, ...]) -> Iterator[int]:
    """Yield the other connections of the same output port that stay within its PE."""
    port = physical.connections[number][:2]
    for other, c in enumerate(physical.connections):
        if other != number and c[:2] == port and pe_of[c.source] == pe_of[c.target]:
            yield other


def _unless_direct(c: Connection, pe_of: tuple[int, ...], queued: set[tuple[int, int]]) -> str:
    if pe_of[c.source] != pe_of[c.target]:
        return "serialize"
    return "enqueue" if (c.target, c.target_port) in queued else ""


def _copy_plan(done: Progress, terms: Terms) -> Section:
    plan = done[CopyPlan]
    return {
        "connections": Table(
            {
                "from": (terms.source, plan.order),
                "to": (terms.target, plan.order),
                FIELDS: (fields(_passing), map(plan.connections.__getitem__, plan.order)),
            }
        ),
        "senderCopies": plan.sender_copies,
        "enqueueCopies": plan.enqueue_copies,
        "eliminated": plan.eliminated,
    }


def _passing(passing: Passing) -> Document:
    document: Document = {
        "passing": passing.passing,
        "constness": passing.constness,
        "reason": passing.reason,
    }
    if passing.attributes is not None:
        document["attributes"] = list(passing.attributes)
    return document


def _summary(done: Progress) -> Summary:
    copies, graph = done[CopyPlan], done[PhysicalGraph]
    rows = [
        (
            f"{graph.operators[c.source].name}[{c.source_port}]",
            f"{graph.operators[c.target].name}[{c.target_port}]",
            passing.passing,
            passing.reason,
        )
        for c, passing in zip(graph.connections, copies.connections, strict=True)
    ]
    return {
        "sender_copies": copies.sender_copies,
        "enqueue_copies": copies.enqueue_copies,
        "copies_eliminated": copies.eliminated,
        "passing_table": SummaryRows(("from", "to", "passing", "reason"), rows),
    }


COPIES_STAGE = Stage(
    name=COPIES,
    result=CopyPlan,
    inputs=(LOGICAL, PARALLEL, FUSION, THREADS),
    description="Passing of tuples on every connection: by reference, copied, through a queue or over the transport.",
    compute=_compute,
    subject=None,
    invariant=copies_are_right,
    summary=_summary,
    key="copyPlan",
    place=4,
    section=_copy_plan,
    empty={"connections": [], "senderCopies": 0, "enqueueCopies": 0, "eliminated": 0},
)
