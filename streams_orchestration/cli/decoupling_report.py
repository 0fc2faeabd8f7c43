"""A decoupling decision for a terminal: the new loads, the streams that cross PEs, and the predicted speed-up."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.decoupling.application_decision import ApplicationDecision
from streams_orchestration.compiler.decoupling.decision_document import stream_of
from streams_orchestration.model.brief import count, plural, short_list
from streams_orchestration.model.short_texts import first_names

MAX_NAMED_OPERATORS = 6
"""The most operators of a part that are named, the hottest first."""


def decision_table(compilation: Compilation, decision: ApplicationDecision) -> RenderableType:
    """Return a decision for a terminal: loads before and after, the streams that cross, the predicted speed-up."""
    measured = decision.before[decision.pe] / decision.saturation
    return Group(
        Text(f"PE {decision.pe} took {measured:.1f} % of a processor when it was measured."),
        Text("The loads below are extrapolated to the rate at which the busiest PE is fully busy.", "dim"),
        "",
        _loads(compilation, decision),
        "",
        *_crossings(compilation, decision),
        *_outcome(decision),
    )


def _loads(compilation: Compilation, decision: ApplicationDecision) -> Table:
    names = [each.name for each in compilation.physical.operators]
    loads = dict(zip(decision.problem.operators, decision.problem.loads, strict=True))
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("PE", "before", "after", "operators"):
        table.add_column(
            title, justify="right" if title in ("before", "after") else "left", no_wrap=title != "operators"
        )
    for pe, load in decision.before.items():
        if pe != decision.pe:
            members = short_list((names[each] for each in compilation.fusion.pes[pe].operators), 60)
            table.add_row(f"{pe}", f"{load:.1f} %", f"{load:.1f} %", members)
    parts = decision.parting.parts
    for part, operators in enumerate(parts):
        hottest = sorted(operators, key=lambda each: -loads[each])
        shown = [f"{names[each]} {loads[each]:.1f} %" for each in hottest]
        table.add_row(
            f"{decision.pe}" if len(parts) == 1 else f"{decision.pe}, part {part}",
            f"{decision.before[decision.pe]:.1f} %" if part == 0 else "",
            f"{decision.after[part]:.1f} %",
            first_names(shown, MAX_NAMED_OPERATORS),
        )
    return table


def _crossings(compilation: Compilation, decision: ApplicationDecision) -> Iterator[Text]:
    for each in decision.parting.crossings:
        outlet = each.outlet
        amount = f"{count(outlet.tuples or 0)} tuples/s of {count(outlet.size)} bytes were measured"
        ends = f"from part {each.sender} to part {each.receiver}"
        yield Text(
            f"{stream_of(compilation.physical, each)} crosses {ends}: {amount}; "
            f"sending takes {outlet.send:.2f} %, receiving {outlet.receive * each.readers:.2f} %"
        )
    names = [each.name for each in compilation.physical.operators]
    for group in decision.problem.groups:
        members = short_list((names[each] for each in group.operators), 60)
        yield Text(f"{members} stay together: {', '.join(group.reasons)}", "dim")


def _outcome(decision: ApplicationDecision) -> Iterator[Text]:
    if len(decision.parting.parts) == 1:
        machines = decision.problem.problem.params.k
        yield Text(f"No operator is moved: no split into {plural(machines, 'PE')} has a smaller peak load.")
        return
    solution = decision.solution
    proof = "the optimum" if solution.gap < 1e-6 else f"at most {100 * solution.gap:.2g} % above the best"
    loads = [*decision.others, *decision.after]
    took = f"{solution.solver}, {solution.seconds:.1f} s"
    speedup = f"predicted speed-up {decision.predicted_speedup:.2f}"
    yield Text(f"largest part {max(decision.after):.1f} %, {proof}; {speedup} ({took})")
    if decision.costs.headroom(loads) < 100 / max(loads) * (1 - 1e-9):
        yield Text(
            f"No higher rate is predicted: all PEs share {decision.costs.processors} processors, and each PE uses "
            f"{decision.costs.surroundings:.2f} of them outside its tasks.",
            "yellow",
        )
