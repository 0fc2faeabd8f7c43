"""Explanations of units of recovery and of the results of stages."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.explanation import Explanation, Fact, listed, section
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.stage import Stage


def recovery_facts(lookup: CompilationIndex, pe: int) -> Iterator[Fact]:
    """Yield the unit of recovery of a PE and the reason for it; nothing for an application that cannot run here.

    Of other PEs and of autonomous operators, six are named, and the others counted.
    """
    unit = next((unit for unit in lookup.deployment.units if pe in unit.pes), None)
    if unit is None:
        return
    region_of = lookup.compilation.regions.region_of
    operators = lookup.pes[pe].operators
    regions = sorted({region_of[operator] for operator in operators} - {-1})
    autonomous = [operator for operator in operators if region_of[operator] < 0]
    others = [f"PE {other}" for other in unit.pes if other != pe]
    with_them = f", with {listed(others)}" if others else ""
    yield Fact(f"goes back to a cut as part of unit {unit.name}{with_them}")
    if unit.region is None:
        yield Fact("none of its operators is in a consistent region, and no other PE has to go back with it", "A49")
        return
    if not regions:
        yield Fact("it reads from the unit and feeds it: apart, each would wait for the other's end")
        return
    yield Fact(f"it holds operators of consistent {_numbers(regions)}, which goes back as a whole")
    if autonomous:
        yield Fact(f"a PE goes back as a whole, its autonomous {listed(lookup.names(autonomous))} too", "A45")
    if len(regions) > 1:
        yield Fact("a PE goes back as a whole, so regions that share one have their epochs together", "A44")


def _numbers(regions: list[int]) -> str:
    return f"{'region' if len(regions) == 1 else 'regions'} {listed([str(region) for region in regions])}"


def stage_explanation(lookup: CompilationIndex, stage: Stage) -> Explanation:
    """Explain a stage: its task, its inputs, and its result in figures; tables of the result are left out."""
    summary = stage.summary(lookup.compilation.progress)
    figures = [
        Fact(f"{name.replace('_', ' ')}: {entry}") for name, entry in summary.items() if isinstance(entry, int | str)
    ]
    reads = f"reads {listed(list(stage.inputs), len(stage.inputs))}" if stage.inputs else "reads the application"
    return Explanation(
        f"Stage {stage.name}",
        (
            section(
                "Definition", Fact(stage.description), Fact(reads), Fact(f"checked: {stage.invariant_description}")
            ),
            section("In this application", *figures),
        ),
    )
