"""A width change as the difference of two plans: unchanged, new and restarted operators and PEs (rule 41, A43)."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.parallel.channels import local_channels
from streams_orchestration.compiler.physical_graph import PhysicalGraph, PhysicalOperator
from streams_orchestration.compiler.redeployment.pes import PeChange, compare_pes
from streams_orchestration.model.short_texts import first_names

_SHOWN = 4
"""The most operators that the reason of a refusal names."""


def refusal(old: Compilation, new: Compilation, parallel: Set[str]) -> str:
    """Return why IBM Streams refuses to change the widths of some parallel regions; empty if it does not refuse.

    A consistent region is a reason if it shares an operator with the parallel region, or a stream that enters or leaves
    it. A checkpoint config is a reason if such an operator has it.

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
                names = first_names(shared, _SHOWN)
                reasons[f"consistent region {region.index} is in or next to the parallel region: {names}"] = None
        checkpointed = [each.name for each in operators if each.index in near and each.checkpoint is not None]
        if checkpointed:
            names = first_names(checkpointed, _SHOWN)
            reasons[f"operators in or next to the parallel region have a checkpoint config: {names}"] = None
    return "; ".join(reasons)


def _near(compilation: Compilation, parallel: Set[str]) -> set[int]:
    """Return the logical operators in the regions, and the operators that exchange tuples with these."""
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


class Replica(NamedTuple):
    """The identity of a replica: its logical operator and its channel in every region around it."""

    name: str
    channels: tuple[int, ...]
    """The local channels, outermost region first."""


class ChangedWidth(NamedTuple):
    """A parallel region whose width changes."""

    region: str
    old: int
    new: int


class AddedOperator(NamedTuple):
    """A physical operator that only the new plan has, with its run-time number."""

    name: str
    index: int  # pyright: ignore[reportIncompatibleMethodOverride]


@dataclass(frozen=True, slots=True)
class WidthChange:
    """The difference of two plans of one application. Operators are physical names, in the order of their numbers."""

    widths: tuple[ChangedWidth, ...]
    changed: tuple[str, ...]
    """Operators of both plans that differ, by their new names."""
    renamed: tuple[tuple[str, str], ...]
    """Old and new names of the operators whose global channel shifts; all of them are in `changed`."""
    added: tuple[AddedOperator, ...]
    removed: tuple[str, ...]
    """Operators that the new plan lacks, by their old names."""
    pes: PeChange
    reason: str
    """The reason why IBM Streams refuses the change while the application runs (A43); empty if it does not."""


def replicas(logical: LogicalGraph, physical: PhysicalGraph) -> list[Replica]:
    """Return the identities of the physical operators, in their order."""
    return [
        Replica(logical.operators[each.logical].identity, local_channels(each.channels, each.widths))
        for each in physical.operators
    ]


def width_change(old: Compilation, new: Compilation) -> WidthChange:
    """Return what changes when the running plan `old` becomes the plan `new` of the same application.

    An operator of both plans is changed if its own facts differ (name, channels, widths, values in the spec) or the
    splitters and producers at its ports do. This is rule 41 for any number of regions at once. Operators of both plans
    keep their numbers, and new ones get the numbers after them.

    Args:
        old: the plan that runs.
        new: the plan that is to run; its PEs that continue have the numbers that they have in `old`.
    """
    before, after = (replicas(each.logical, each.physical) for each in (old, new))
    old_of, new_of = _positions(before), _positions(after)
    facts_before, facts_after = _facts(old, before), _facts(new, after)
    changed = [
        replica
        for replica in before
        if replica in new_of and facts_before[old_of[replica]] != facts_after[new_of[replica]]
    ]
    added = [each.name for each, replica in zip(new.physical.operators, after, strict=True) if replica not in old_of]
    old_names = [each.name for each in old.physical.operators]
    new_names = [each.name for each in new.physical.operators]
    pairs = [(old_names[old_of[replica]], new_names[new_of[replica]]) for replica in changed]
    widths = _widths(old, new)
    return WidthChange(
        widths=widths,
        changed=tuple(name for _, name in pairs),
        renamed=tuple(pair for pair in pairs if pair[0] != pair[1]),
        added=tuple(AddedOperator(name, number) for number, name in enumerate(added, len(before))),
        removed=tuple(name for name, replica in zip(old_names, before, strict=True) if replica not in new_of),
        pes=compare_pes(old, new, before, after, frozenset(changed)),
        reason=refusal(old, new, frozenset(each.region for each in widths)),
    )


def _positions(operators: Sequence[Replica]) -> dict[Replica, int]:
    return {replica: position for position, replica in enumerate(operators)}


def _widths(old: Compilation, new: Compilation) -> tuple[ChangedWidth, ...]:
    before = {region.name: region.width for region in old.logical.regions}
    return tuple(
        ChangedWidth(region.name, before[region.name], region.width)
        for region in new.logical.regions
        if before.get(region.name, region.width) != region.width
    )


@dataclass(frozen=True, slots=True)
class _Facts:
    """All facts about one physical operator that a width change can alter, with names in place of numbers."""

    operator: PhysicalOperator
    model: LogicalOperator
    splitters: tuple[tuple[object, ...], ...]
    leaving: frozenset[tuple[object, ...]]
    entering: frozenset[tuple[object, ...]]


def _facts(compilation: Compilation, operators: Sequence[Replica]) -> list[_Facts]:
    physical = compilation.physical
    models = [replace(each, location=None) for each in compilation.logical.operators]
    leaving: list[set[tuple[object, ...]]] = [set() for _ in operators]
    entering: list[set[tuple[object, ...]]] = [set() for _ in operators]
    keys = _splitter_keys(physical)
    for each in physical.connections:
        key = keys[each.splitter] if each.splitter >= 0 else ()
        leaving[each.source].add((each.source_port, operators[each.target], each.target_port, key, each.channel))
        entering[each.target].add((each.target_port, operators[each.source], each.source_port))
    splitters: list[list[tuple[object, ...]]] = [[] for _ in operators]
    for splitter, key in zip(physical.splitters, keys, strict=True):
        splitters[splitter.operator].append(key)
    return [
        _Facts(
            each._replace(index=0),
            models[each.logical],
            tuple(splitters[each.index]),
            frozenset(leaving[each.index]),
            frozenset(entering[each.index]),
        )
        for each in physical.operators
    ]


def _splitter_keys(physical: PhysicalGraph) -> list[tuple[object, ...]]:
    """Return the facts of every splitter, and of the splitters around it, that a width change does not shift.

    The splitter's own number and names are left out. Splitters are in their physical order, parents before children.
    """
    keys: list[tuple[object, ...]] = []
    for each in physical.splitters:
        parent = keys[each.parent] if each.parent >= 0 else ()
        facts = replace(each, index=0, id="", operator=0, parent=0)
        keys.append((facts, parent))
    return keys
