"""Width changes that Streams refuses while the application runs (A43)."""

from __future__ import annotations

from collections.abc import Set

from streams_orchestration.compiler.compilation import Compilation

_SHOWN = 4
"""The most operators that a reason names."""


def refusal(old: Compilation, new: Compilation, parallel: Set[str]) -> str:
    """Return why Streams refuses to change the widths of some parallel regions; empty if it does not.

    A consistent region stands in the way when it shares an operator with the parallel region or a stream that enters
    or leaves it; a checkpoint config does when it stands on such an operator.

    Args:
        old: the plan that runs.
        new: the plan that is to run.
        parallel: names of the regions whose width changes.
    """
    reasons: dict[str, None] = {}
    for compilation in (old, new):
        near = _near(compilation, parallel)
        operators = compilation.logical.operators
        for region in compilation.regions.logical:
            shared = [operators[member].name for member in region.operators if member in near]
            if shared:
                reasons[f"consistent region {region.index} is in or next to the parallel region: {_some(shared)}"] = (
                    None
                )
        checkpointed = [each.name for each in operators if each.index in near and each.checkpoint is not None]
        if checkpointed:
            reasons[f"operators in or next to the parallel region have a checkpoint config: {_some(checkpointed)}"] = (
                None
            )
    return "; ".join(reasons)


def _near(compilation: Compilation, parallel: Set[str]) -> set[int]:
    """Return the logical operators in the regions, and those that exchange tuples with them."""
    logical = compilation.logical
    numbers = {region.index for region in logical.regions if region.name in parallel}
    inside = {each.index for each in logical.operators if not numbers.isdisjoint(each.regions)}
    near = set(inside)
    for each in logical.connections:
        if each.source in inside:
            near.add(each.target)
        if each.target in inside:
            near.add(each.source)
    return near


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
