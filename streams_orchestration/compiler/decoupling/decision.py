"""Decisions: the answers to decoupling problems, with their costs and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.decoupling.contraction import Contraction
from streams_orchestration.compiler.decoupling.dataflow import SINKS, Dataflow
from streams_orchestration.compiler.decoupling.evaluation import Evaluation, evaluate, executions, total_load
from streams_orchestration.compiler.decoupling.legality import violations
from streams_orchestration.model.brief import significant
from streams_orchestration.model.diagnostics import Diagnostic

_DIGITS = 12
"""The number of significant digits in a document, whatever the unit of loads is."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision and its cost, evaluated from the decision itself (rule Q16)."""

    flow: Dataflow
    outputs: tuple[int, ...]
    """The machine that gets the output of each node."""
    evaluation: Evaluation
    bound: float
    """The lower bound on the objective of every decision."""
    solver: str
    seconds: float
    """The seconds that the decision took."""
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def gap(self) -> float:
        """The largest possible distance from the optimum, as a fraction of the objective; 0 for a proven optimum."""
        objective = self.evaluation.objective
        return max(0.0, objective - self.bound) / objective if objective > 0 else 0.0

    @property
    def predicted_speedup(self) -> float:
        """The factor by which the load may grow, compared with everything on one machine; 1 without load."""
        return total_load(self.flow) / self.evaluation.worst if self.evaluation.worst > 0 else 1.0

    def document(self) -> dict[str, Any]:
        """Return the answer as JSON; it has `machines` if the problem has a budget of machines."""
        executes = executions(self.flow, self.outputs)
        written = list(enumerate(self.flow.nodes[: self.flow.written]))
        evaluation = self.evaluation
        counts = {str(group): count for group, count in enumerate(evaluation.counts) if count}
        return {
            "objective": _rounded(evaluation.objective),
            "bound": _rounded(min(self.bound, evaluation.objective)),
            "gap": _rounded(self.gap),
            "loads": [_rounded(load) for load in evaluation.loads],
            "execAt": {str(node.operation.id): executes[number] for number, node in written},
            "outputTo": {
                str(node.operation.id): self.outputs[number] for number, node in written if node.kind not in SINKS
            },
            "newNetworks": [[each.operator, each.sender, each.receiver] for each in evaluation.networks],
            "hops": len(evaluation.networks),
            "predictedSpeedup": _rounded(self.predicted_speedup),
            "solver": self.solver,
            "seconds": round(self.seconds, 6),
            **({"machines": counts} if self.flow.params.machine_budget is not None else {}),
        }


_TRIES = 40_000
"""The highest number of nodes that are evaluated to make a decision canonical."""


def _rounded(number: float) -> float:
    return significant(number, _DIGITS)


def canonical(contraction: Contraction, assignment: Sequence[int]) -> list[int]:
    """Return an equally good decision in which machines are numbered in order of use, and cuts are as late as possible.

    Several decisions often cost the same, such as a cut of a stream and one at all of its tees (rule Q10).

    Args:
        contraction: the problem.
        assignment: the machines of classes. In large problems only the numbers of machines change.

    Returns:
        The machine that gets the output of each node.
    """
    flow = contraction.flow
    best = _renumbered(contraction, assignment)
    known = evaluate(flow, contraction.outputs_of(best))
    tries = _TRIES // len(flow.nodes)
    changed = tries >= contraction.size * len(contraction.machines)
    while changed and tries > 0:
        changed = False
        for number, pin in enumerate(contraction.pins):
            for machine in range(best[number] if pin < 0 else 0):
                tries -= 1
                if tries < 0:
                    break
                moved = _renumbered(contraction, [*best[:number], machine, *best[number + 1 :]])
                outputs = contraction.outputs_of(moved)
                renumbered = evaluate(flow, outputs)
                if moved < best and not known.better_than(renumbered) and not any(violations(flow, outputs)):
                    best = moved
                    known = renumbered
                    changed = True
                    break
    return contraction.outputs_of(best)


def _renumbered(contraction: Contraction, assignment: Sequence[int]) -> list[int]:
    """Return an assignment whose free machines are numbered in order of use.

    If the order of machines matters (`forward`), they keep it: with pins nothing changes, and without pins numbers
    that no piece uses are closed up.
    """
    if contraction.forward:
        used = range(contraction.pinned) if any(pin >= 0 for pin in contraction.pins) else sorted(set(assignment))
        return [used.index(machine) for machine in assignment]
    names = {machine: machine for machine in range(contraction.pinned)}
    for machine in assignment:
        names.setdefault(machine, len(names))
    return [names[machine] for machine in assignment]
