"""The fifth stage fuses operators into PEs, and places the PEs on hosts.

A PE (*processing element*) is what runs as one query. Within a PE tuples are handed on by function calls; between PEs
they are serialized. So the stage keeps operators together that exchange many tuples, and parts them where the options,
placement configs or measured loads ask for it. By default the tour would be a single PE. The option `--pes 2` makes
two of the same size, such that as few streams as possible cross: one channel stays with the source, the other one
with the sink.

Wherever a stream crosses, both PEs get a port. A port for one channel of a splitter names the splitter and the channel.

    >>> from streams_orchestration.compiler.tour import results_before
    >>> plan, findings = FUSION_STAGE.compute(results_before(FUSION))
    >>> for pe in plan.pes:
    ...     print("PE", pe.id, "operators", pe.operators, "host", pe.host)
    PE 0 operators (0, 3) host 0
    PE 1 operators (1, 2) host 0
    >>> for port in plan.pes[0].outputs:
    ...     print(port)
    PeOutputPort(operator=0, port=0, splitter=0, channel=0)
    PeOutputPort(operator=3, port=0, splitter=-1, channel=-1)
    >>> plan.pes[1].inputs
    (PeInputPort(operator=1, port=0), PeInputPort(operator=2, port=0))

A decision of `streams decouple` is applied in this stage, too: it divides a fused PE into parts on machines of their
own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.fusion.fusion import fuse
from streams_orchestration.compiler.fusion.rewriting import decouple
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.sections.tables import BOOLEAN, INTEGER, Table, columns_of, extended, listed
from streams_orchestration.compiler.sections.terms import Section, Terms
from streams_orchestration.compiler.stage import FUSION, LOGICAL, PARALLEL, REGIONS, Stage, Summary, SummaryRows
from streams_orchestration.compiler.stage_results import FusionPlan, RegionMap
from streams_orchestration.model.diagnostics import Diagnostic, errors_of


def _compute(done: Progress) -> tuple[FusionPlan, list[Diagnostic]]:
    before = done[LogicalGraph], done[PhysicalGraph], done[RegionMap]
    fused, diagnostics = fuse(*before, done.options)
    if errors_of(diagnostics):
        return fused, diagnostics
    parted, more = decouple(*before, fused, done.options)
    return parted, diagnostics + more


def pes_partition_operators(done: Progress) -> Iterator[str]:
    """Check that every operator is in exactly one PE, and that connections of PEs have a PE port at either end.

    Also check that PEs have no other operators, and that `pe_of` agrees with them. Rules 52 and 62.
    """
    physical, fusion = done[PhysicalGraph], done[FusionPlan]
    times = Counter(operator for pe in fusion.pes for operator in pe.operators)
    for operator in physical.operators:
        if times[operator.index] != 1:
            yield f"{operator.name} is in {times[operator.index]} PEs"
    for operator in sorted(set(times) - {operator.index for operator in physical.operators}):
        yield f"operator {operator} is in a PE but not in the graph"
    for pe in fusion.pes:
        if any(fusion.pe_of[operator] != pe.id for operator in pe.operators):
            yield f"PE {pe.id} holds an operator whose PE is another one"
    inputs = {port for pe in fusion.pes for port in pe.inputs}
    outputs = {port for pe in fusion.pes for port in pe.outputs}
    for c in physical.connections:
        if fusion.pe_of[c.source] != fusion.pe_of[c.target]:
            names = physical.operators[c.source].name, physical.operators[c.target].name
            if (c.source, c.source_port, c.splitter, c.channel) not in outputs:
                yield f"{names[0]}[{c.source_port}] sends to another PE without a PE output port"
            if (c.target, c.target_port) not in inputs:
                yield f"{names[1]}[{c.target_port}] receives from another PE without a PE input port"


def _fusion_plan(done: Progress, terms: Terms) -> Section:
    plan = done[FusionPlan]
    parted = any(pe.origin >= 0 for pe in plan.pes)
    return {
        "scheme": plan.scheme,
        "pes": columns_of(
            plan.pes,
            {
                "id": (INTEGER, "id"),
                "operators": (listed(terms.name), "operators"),
                "host": (INTEGER, "host"),
                "restartable": (BOOLEAN, "restartable"),
                "relocatable": (BOOLEAN, "relocatable"),
                "inputPorts": (listed(terms.end), "inputs"),
                "outputPorts": (listed(extended(terms.end, "splitter", terms.channel)), "outputs"),
                **({"origin": (_part, "origin"), "machine": (_part, "machine")} if parted else {}),
            },
        ),
        **({"networks": _networks(plan, terms)} if parted else {}),
    }


def _part(number: int) -> str:
    """Return the number of a divided PE or of a machine as JSON; null for a PE that decoupling did not make."""
    return "null" if number < 0 else str(number)


def _networks(plan: FusionPlan, terms: Terms) -> Table:
    rows = plan.networks
    channels = [[each[2:] for each in row.outputs if each.splitter >= 0] for row in rows]
    return Table(
        {
            "id": (INTEGER, range(len(rows))),
            "from": (terms.end, (row.outputs[0][:2] for row in rows)),
            "channels": (listed(terms.channel), channels),
            "sendPe": (INTEGER, (row.sender for row in rows)),
            "receivePe": (INTEGER, (row.receiver for row in rows)),
            "to": (listed(terms.end), (row.inputs for row in rows)),
        }
    )


def _summary(done: Progress) -> Summary:
    fusion, operators = done[FusionPlan], done[PhysicalGraph].operators
    rows = [
        (pe.id, pe.host, len(pe.inputs), len(pe.outputs), ", ".join(operators[op].name for op in pe.operators))
        for pe in fusion.pes
    ]
    parts = [
        (pe.origin, pe.machine, pe.id, ", ".join(operators[op].name for op in pe.operators))
        for pe in fusion.pes
        if pe.origin >= 0
    ]
    networks = [
        (f"{operators[each.outputs[0].operator].name}[{each.outputs[0].port}]", each.sender, each.receiver)
        for each in fusion.networks
    ]
    decoupled: Summary = {
        "parts_table": SummaryRows(("was PE", "machine", "PE", "operators"), parts),
        "network_table": SummaryRows(("sent from", "by PE", "to PE"), networks),
    }
    return {
        **(decoupled if parts else {}),
        "pes": len(fusion.pes),
        "hosts": len({pe.host for pe in fusion.pes}),
        "scheme": fusion.scheme,
        "pe_table": SummaryRows(("PE", "host", "input ports", "output ports", "operators"), rows),
    }


FUSION_STAGE = Stage(
    name=FUSION,
    result=FusionPlan,
    inputs=(LOGICAL, PARALLEL, REGIONS),
    description="The operators partitioned into processing elements, and those placed on hosts.",
    compute=_compute,
    subject="placement",
    decisive=True,
    invariant=pes_partition_operators,
    summary=_summary,
    key="fusionPlan",
    place=2,
    section=_fusion_plan,
    empty={"scheme": None, "pes": []},
)
