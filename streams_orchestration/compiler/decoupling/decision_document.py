"""The document of a decision about an application, which `--decoupling` applies."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.decoupling.application_decision import ApplicationDecision, Crossing
from streams_orchestration.compiler.decoupling.outcome import entering_rate
from streams_orchestration.compiler.fusion_fingerprint import fusion_fingerprint
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.model.assignment import Assignment
from streams_orchestration.model.assignment_document import mapping_of_assignment
from streams_orchestration.model.brief import significant


def assignment_of(
    logical: LogicalGraph, physical: PhysicalGraph, fusion: FusionPlan, decision: ApplicationDecision
) -> Assignment:
    """Return the machines of the operators of the divided PE, by their names; all other operators stay in their PEs."""
    machines = {
        physical.operators[operator].name: part
        for part, operators in enumerate(decision.parting.parts)
        for operator in operators
    }
    return Assignment(logical.application, fusion_fingerprint(logical, physical, fusion), machines)


def decision_document(
    logical: LogicalGraph,
    physical: PhysicalGraph,
    fusion: FusionPlan,
    decision: ApplicationDecision,
    running: FusionPlan | None = None,
) -> dict[str, Any]:
    """Return the whole document: the assignment, and under `decision` the facts behind it.

    Loads are in percent of a processor, at the rates that saturate the busiest PE (rule Q14).

    Args:
        logical: the application.
        physical: its expanded graph.
        fusion: its PEs before the decision.
        decision: the decision about one of them.
        running: the PEs in which it runs, if known; `gain` is relative to these.
    """
    solution = decision.solution
    rate = entering_rate(logical, physical, decision.costs)
    return {
        **mapping_of_assignment(assignment_of(logical, physical, fusion, decision)),
        "decision": {
            "pe": decision.pe,
            "loads": {
                "before": {str(pe): significant(load) for pe, load in decision.before.items()},
                "after": [significant(load) for load in decision.after],
            },
            "saturation": significant(decision.saturation),
            "tuplesPerSecond": significant(rate),
            "mostTuplesPerSecond": significant(
                rate * decision.saturation * decision.costs.headroom([*decision.before.values()])
            ),
            "predictedSpeedup": significant(decision.predicted_speedup),
            **({"gain": significant(decision.gain(running))} if running is not None else {}),
            "processors": decision.costs.processors,
            "objective": significant(solution.evaluation.objective),
            "bound": significant(min(solution.bound, solution.evaluation.objective)),
            "gap": significant(solution.gap),
            "solver": solution.solver,
            "seconds": round(solution.seconds, 3),
            "parts": [
                {
                    "load": significant(load),
                    "operators": {physical.operators[each].name: significant(loads[each]) for each in operators},
                }
                for loads in (dict(zip(decision.problem.operators, decision.problem.loads, strict=True)),)
                for operators, load in zip(decision.parting.parts, decision.after, strict=True)
            ],
            "cuts": [_cut(physical, each) for each in decision.parting.crossings],
            "together": [
                {
                    "operators": [physical.operators[each].name for each in group.operators],
                    "why": list(group.reasons),
                }
                for group in decision.problem.groups
            ],
        },
    }


def _cut(physical: PhysicalGraph, crossing: Crossing) -> dict[str, Any]:
    outlet = crossing.outlet
    tuples = outlet.tuples or 0.0
    return {
        "stream": stream_of(physical, crossing),
        "from": crossing.sender,
        "to": crossing.receiver,
        "tuplesPerSecond": significant(tuples),
        "bytesPerTuple": significant(outlet.size),
        "send": significant(outlet.send),
        "receive": significant(outlet.receive * crossing.readers),
    }


def stream_of(physical: PhysicalGraph, crossing: Crossing) -> str:
    """Return the name that a crossing stream has in the transport."""
    output = crossing.outlet.output
    stream = physical.operators[output.operator].streams[output.port]
    if output.splitter < 0:
        return stream
    return f"{stream}>{physical.splitters[output.splitter].id.partition('>')[2]}[{output.channel}]"
