"""Units of recovery: the PEs that are reset together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.components import strong_components
from streams_orchestration.compiler.deployment.errors import CannotRunError
from streams_orchestration.compiler.deployment_plan import AUTONOMOUS_ATTEMPTS, Unit
from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.stage_results import RestartPolicy


def recovery_units(compilation: Compilation) -> tuple[Unit, ...]:
    """Return the units of an application, regions first.

    An autonomous operator that shares a PE with members of a region is reset with them (A45). Regions that share a PE
    are one unit with common epochs, since a PE is reset as a whole (A44). Units that read from one another are one
    unit, too; an example is a region and the autonomous PE through which its tuples come back. As two units, each
    would wait for the other's end. They stay apart only if their PEs form a cycle, or if they hold several regions,
    one of which is operator-driven.

    Raises:
        CannotRunError: a PE holds operators of two regions, one of which is operator-driven.
    """
    parts = _Parts(compilation)
    _join_regions(compilation, parts)
    _join_circles(compilation, parts)
    units = [_unit(compilation, parts, pes) for pes in parts.sets.groups().values()]
    return tuple(sorted(units, key=lambda unit: (unit.region is None, unit.region or 0, unit.pes)))


class _Parts:
    """Sets of PEs that are reset together, by the positions of the PEs in the plan."""

    def __init__(self, compilation: Compilation) -> None:
        regions, pes = compilation.regions, compilation.fusion.pes
        self.ids = [pe.id for pe in pes]
        self.place = {pe.id: place for place, pe in enumerate(pes)}
        self.regions = [{regions.region_of[operator] for operator in pe.operators} - {-1} for pe in pes]
        self.sets = DisjointSets(len(pes))
        self.successors: list[set[int]] = [set() for _ in pes]
        """PE -> the PEs that it feeds."""
        for connection in compilation.physical.connections:
            source, target = (compilation.fusion.pe_of[i] for i in (connection.source, connection.target))
            if source != target:
                self.successors[self.place[source]].add(self.place[target])

    def regions_of(self, places: Iterable[int]) -> set[int]:
        """Return the regions of some PEs, which are given by their positions in the plan."""
        return set[int]().union(*(self.regions[place] for place in places))


def _join_regions(compilation: Compilation, parts: _Parts) -> None:
    """Join the PEs of each region, and so of regions that share a PE."""
    for place, inside in enumerate(parts.regions):
        if driven := _driven(compilation, inside):
            message = (
                f"PE {parts.ids[place]} holds operators of the consistent regions {sorted(inside)}, and an operator "
                f"drives region {driven[0]}: their epochs cannot coincide (A28). Keep them in different PEs "
                "with partitionExlocation"
            )
            raise CannotRunError(message)
    for number in range(len(compilation.regions.expanded)):
        parts.sets.union_all(place for place, inside in enumerate(parts.regions) if number in inside)


def _join_circles(compilation: Compilation, parts: _Parts) -> None:
    """Join units that read from one another, unless their PEs form a cycle, where no PE could be drained first.

    Units that hold several regions, one of which is operator-driven, are not joined, either.
    """
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
    """Return the strongly connected components of more than one node: the sets of nodes that form cycles."""
    return [part for part in strong_components([[*each] for each in successors]) if len(part) > 1]


def _driven(compilation: Compilation, numbers: Set[int]) -> list[int]:
    """Return the operator-driven regions of a unit of several regions; empty for a unit of a single region."""
    driven = [number for number in sorted(numbers) if compilation.regions.expanded[number].trigger == "operatorDriven"]
    return driven if len(numbers) > 1 else []


def _unit(compilation: Compilation, parts: _Parts, places: Sequence[int]) -> Unit:
    """Return the unit of one or several regions, with the shortest period, longest timeouts and most attempts (A29).

    A PE outside of regions is a unit with the default values.
    """
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
