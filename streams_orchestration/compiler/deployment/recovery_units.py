"""Units of recovery: what goes back to a cut together, because it fails together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.deployment.errors import CannotRunError
from streams_orchestration.compiler.deployment_plan import AUTONOMOUS_ATTEMPTS, Unit
from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.stage_results import RestartPolicy


def recovery_units(compilation: Compilation) -> tuple[Unit, ...]:
    """The units of an application, regions first.

    An autonomous operator that shares a PE with members of a region shares their fate (A45). So do regions that share a
    PE (A44), since a PE goes back as a whole: they are one unit, whose epochs are those of all of them. And so do units
    that read from one another, a region and the autonomous PE through which its tuples come back to it, say: apart,
    each would wait for the other's end.

    Raises:
        CannotRunError: a PE holds operators of two regions, one of which is operator-driven.
    """
    parts = _Parts(compilation)
    _join_regions(compilation, parts)
    _join_circles(compilation, parts)
    units = [_unit(compilation, parts, pes) for pes in parts.sets.groups().values()]
    return tuple(sorted(units, key=lambda unit: (unit.region is None, unit.region or 0, unit.pes)))


class _Parts:
    """PEs by number in the plan, in sets that go back together."""

    def __init__(self, compilation: Compilation) -> None:
        regions, pes = compilation.regions, compilation.fusion.pes
        self.ids = [pe.id for pe in pes]
        self.place = {pe.id: place for place, pe in enumerate(pes)}
        self.regions = [{regions.region_of[operator] for operator in pe.operators} - {-1} for pe in pes]
        self.sets = DisjointSets(len(pes))
        self.successors: list[set[int]] = [set() for _ in pes]
        """PEs that each PE feeds."""
        for connection in compilation.physical.connections:
            source, target = (compilation.fusion.pe_of[i] for i in (connection.source, connection.target))
            if source != target:
                self.successors[self.place[source]].add(self.place[target])

    def regions_of(self, places: Iterable[int]) -> set[int]:
        """All regions of some PEs."""
        return set[int]().union(*(self.regions[place] for place in places))


def _join_regions(compilation: Compilation, parts: _Parts) -> None:
    """All PEs of a region, and so of the regions that share a PE."""
    for place, inside in enumerate(parts.regions):
        if driven := _driven(compilation, inside):
            message = (
                f"PE {parts.ids[place]} holds operators of the consistent regions {sorted(inside)}, and an operator "
                f"drives region {driven[0]}: they cannot have their epochs together (A28). Keep them in different PEs "
                "with partitionExlocation"
            )
            raise CannotRunError(message)
    for number in range(len(compilation.regions.expanded)):
        parts.sets.union_all(place for place, inside in enumerate(parts.regions) if number in inside)


def _join_circles(compilation: Compilation, parts: _Parts) -> None:
    """Units that read from one another, unless their PEs themselves go round in circles: none could be first then."""
    units: list[list[int]] = [[] for _ in parts.ids]
    for place, successors in enumerate(parts.successors):
        units[parts.sets.find(place)] += (parts.sets.find(each) for each in successors)
    groups = parts.sets.groups()
    looped = {place for part in _circles(parts.successors) for place in part}
    for circle in _circles(units):
        places = [place for name in circle for place in groups[name]]
        if looped.isdisjoint(places) and not _driven(compilation, parts.regions_of(places)):
            parts.sets.union_all(places)


def _circles(successors: Sequence[Iterable[int]]) -> list[list[int]]:
    """Nodes that lead to one another."""
    return [part for part in strong_components([[*each] for each in successors]) if len(part) > 1]


def _driven(compilation: Compilation, numbers: Set[int]) -> list[int]:
    """The operator-driven ones among several regions."""
    driven = [number for number in sorted(numbers) if compilation.regions.expanded[number].trigger == "operatorDriven"]
    return driven if len(numbers) > 1 else []


def _unit(compilation: Compilation, parts: _Parts, places: Sequence[int]) -> Unit:
    """One region, or several: then the shortest period, and of everything else the most (A29)."""
    pes = tuple(sorted(parts.ids[place] for place in places))
    regions = [compilation.regions.expanded[number] for number in sorted(parts.regions_of(places))]
    if not regions:
        return Unit(f"pe-{pes[0]}", None, pes, pes, None, AUTONOMOUS_ATTEMPTS)
    starts = {compilation.fusion.pe_of[operator] for region in regions for operator in region.starts}
    return Unit(
        name="region-" + "+".join(str(region.index) for region in regions),
        region=regions[0].index,
        pes=pes,
        starts=tuple(sorted(starts)),
        period=min((region.period for region in regions if region.period is not None), default=None),
        max_attempts=max(region.max_consecutive_reset_attempts for region in regions),
        drain_timeout=max(region.drain_timeout for region in regions),
        reset_timeout=max(region.reset_timeout for region in regions),
        restart=RestartPolicy(
            max(region.restart.pause for region in regions), max(region.restart.limit for region in regions)
        ),
    )
