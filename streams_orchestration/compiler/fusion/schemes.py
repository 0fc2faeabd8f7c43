"""Fusion schemes: the number of PEs, and the classes of units that may share one (rules 54-56)."""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from streams_orchestration.compiler.logical_graph import HostPool
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.placement.fusable_units import FusableUnit, HostSpec


@dataclass(frozen=True, slots=True)
class Class:
    """Fusable units of one kind. Only units of the same class can share PEs."""

    units: tuple[int, ...]
    operators: int
    least: int
    """The least number of PEs for this class, since units with different claims must be apart."""
    host: HostSpec | None


@dataclass(frozen=True, slots=True)
class Allotment:
    """The number of PEs that each class of units gets, and the units that get a PE of their own."""

    classes: tuple[Class, ...]
    sizes: tuple[int, ...]
    isolated: tuple[int, ...]
    """Units that get a PE of their own."""


def allot(
    units: Sequence[FusableUnit], tags: Mapping[int, Iterable[str]], pools: Sequence[HostPool], options: Options
) -> Allotment:
    """Return the number of PEs that the manual or the automatic scheme makes of every class of units.

    Args:
        units: all fusable units.
        tags: tags of host exlocation by host set.
        pools: all host pools.
        options: the scheme, and for the manual one the wanted number of PEs, 1 by default.
    """
    groups = classes(units, tags)
    alone = [number for number, unit in enumerate(units) if unit.isolated]
    if options.fusion == "manual":
        sizes = manual_sizes(groups, len(alone), options.pes or 1)
    else:
        taken: dict[HostSpec | None, int] = {}
        for number in alone:
            taken[units[number].kind.host] = taken.get(units[number].kind.host, 0) + 1
        sizes = automatic_sizes(groups, taken, pools)
    return Allotment(tuple(groups), tuple(sizes), tuple(alone))


def classes(units: Sequence[FusableUnit], tags: Mapping[int, Iterable[str]]) -> list[Class]:
    """Return the units that are not isolated, by kind.

    Args:
        units: all fusable units.
        tags: tags of host exlocation by host set.
    """
    by_kind: dict[Hashable, list[int]] = {}
    for number, unit in enumerate(units):
        if not unit.isolated:
            by_kind.setdefault(unit.kind, []).append(number)
    result: list[Class] = []
    for members in by_kind.values():
        values: dict[tuple[str, str], set[int]] = {}
        for member in members:
            for name, value in units[member].claims:
                values.setdefault(name, set()).add(value)
            for tag in tags.get(units[member].host_set, ()):
                values.setdefault(("host", tag), set()).add(units[member].host_set)
        least = max((len(distinct) for distinct in values.values()), default=1)
        operators = sum(len(units[member].operators) for member in members)
        result.append(Class(tuple(members), operators, least, units[members[0]].kind.host))
    return result


def manual_sizes(groups: Sequence[Class], isolated: int, wanted: int) -> list[int]:
    """Share the wanted PEs out among the classes, after one PE for each isolated unit (rule 55).

    Every class gets its minimum, even if that makes more PEs than wanted, and at most one PE for each of its units.
    """
    return _allot(groups, wanted - isolated)


def automatic_sizes(
    groups: Sequence[Class], isolated: Mapping[HostSpec | None, int], pools: Sequence[HostPool]
) -> list[int]:
    """Return the number of PEs of each class: about one per resource, the PEs of isolated units included (rule 56).

    Resources are the named hosts, the hosts of pools, and the default host. A pool without a size counts as one host.
    Every class gets its minimum, and at most one PE for each of its units.
    """
    sizes = [0] * len(groups)
    hosts = {pool.name: pool.size or 1 for pool in pools}
    by_host: dict[HostSpec | None, list[int]] = {}
    for number, each in enumerate(groups):
        by_host.setdefault(each.host, []).append(number)
    for spec, numbers in by_host.items():
        resources = hosts.get(spec.pool, 1) if spec is not None and spec.host is None and spec.pool else 1
        allotted = _allot([groups[number] for number in numbers], resources - isolated.get(spec, 0))
        for number, size in zip(numbers, allotted, strict=True):
            sizes[number] = size
    return sizes


def _allot(groups: Sequence[Class], wanted: int) -> list[int]:
    """Share PEs out among classes so that the largest average PE is as small as possible.

    Every class gets its minimum, and at most one PE for each of its units.
    """
    sizes = [min(each.least, len(each.units)) for each in groups]
    room = [(-each.operators / size, number) for number, (each, size) in enumerate(zip(groups, sizes, strict=True))]
    heapq.heapify(room)
    spare = wanted - sum(sizes)
    while spare > 0 and room:
        _, number = heapq.heappop(room)
        if sizes[number] < len(groups[number].units):
            sizes[number] += 1
            spare -= 1
            heapq.heappush(room, (-groups[number].operators / sizes[number], number))
    return sizes
