"""The assignment of PEs to hosts, which are small integers.

Host 0 runs all PEs without a host config (rules 37, 52, 53).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.placement.fusable_units import HostSpec, Placements, host_specs
from streams_orchestration.model.diagnostics import Diagnostic


@dataclass(slots=True)
class _Bundle:
    """PEs that must share a host."""

    pes: list[int]
    spec: HostSpec = field(default_factory=HostSpec)
    tags: set[str] = field(default_factory=set[str])
    isolated: bool = False


@dataclass(slots=True)
class _Host:
    """A host, the number of its bundles, and the exlocation tags of these bundles."""

    number: int
    bundles: int = 0
    tags: set[str] = field(default_factory=set[str])
    closed: bool = False

    def takes(self, bundle: _Bundle) -> bool:
        return not self.closed and not (bundle.isolated and self.bundles) and self.tags.isdisjoint(bundle.tags)


@dataclass(slots=True)
class _Pool:
    """The hosts of a declared pool, or the hosts for operators without a host config."""

    size: int | None
    hosts: list[_Host] = field(default_factory=list[_Host])
    taken: dict[str, int] = field(default_factory=dict[str, int])
    """Exlocation tag -> position after the last host that has a PE with the tag; earlier hosts need not be tried."""

    @property
    def full(self) -> bool:
        return self.size is not None and len(self.hosts) >= self.size

    def choose(self, bundle: _Bundle) -> _Host | None:
        """Return an open host for the bundle, or None if a new host must be opened, or if no host of a full pool fits.

        A pool of known size first opens all its hosts, then uses them evenly. Other pools fill the first host that
        takes the bundle, and note its tags in `taken`.
        """
        if self.size is not None:
            free = [host for host in self.hosts if host.takes(bundle)]
            return min(free, key=lambda host: (host.bundles, host.number), default=None) if self.full else None
        start = max((self.taken.get(tag, 0) for tag in bundle.tags), default=0)
        if bundle.isolated and self.hosts and self.hosts[0].bundles:
            return None
        for position in range(start, len(self.hosts)):
            if self.hosts[position].takes(bundle):
                self.taken.update(dict.fromkeys(bundle.tags, position + 1))
                return self.hosts[position]
        return None

    def open(self, host: _Host, bundle: _Bundle) -> None:
        """Add a newly opened host to the pool, and note in `taken` that the bundle's tags have it."""
        self.hosts.append(host)
        self.taken.update(dict.fromkeys(bundle.tags, len(self.hosts)))


def place_on_hosts(
    logical: LogicalGraph, physical: PhysicalGraph, placements: Placements, pes: Sequence[Sequence[int]]
) -> tuple[list[int], list[Diagnostic]]:
    """Return the host of every PE, from the placement configs of its operators.

    PEs without configs are on host 0. Named hosts are numbered from 1 in the order of their PEs. Then come hosts of
    pools, and hosts that exlocation and isolation open. A pool spreads its PEs over as many hosts as it has. A pool
    without a size has as many hosts as are needed; one that is too small is an error, CDISP0562E, and its first host is
    taken. Contradictions on a named host have been reported before, since its operators are one host colocation.
    """
    if not (placements.host or placements.host_exlocation or placements.host_isolated):
        return [0] * len(pes), []
    bundles = _bundles(placements, pes)
    names = dict.fromkeys(bundle.spec.host for bundle in bundles if bundle.spec.host is not None)
    named = {name: _Host(number) for number, name in enumerate(names, start=1)}
    pools: dict[str | None, _Pool] = {pool.name: _Pool(pool.size) for pool in physical.host_pools}
    pools[None] = _Pool(None, [_Host(0)])
    opened = 1 + len(named)
    host_of = [0] * len(pes)
    diagnostics: list[Diagnostic] = []
    for bundle in _in_order(bundles):
        pool = pools.setdefault(bundle.spec.pool, _Pool(None))
        host = named[bundle.spec.host] if bundle.spec.host is not None else pool.choose(bundle)
        if host is None and not pool.full:
            host = _Host(opened)
            opened += 1
            pool.open(host, bundle)
        if host is None:
            host = pool.hosts[0]
            model = logical.operators[physical.operators[pes[bundle.pes[0]][0]].logical]
            message = f"pool {bundle.spec.pool} has {pool.size} hosts, which are too few for the configs"
            diagnostics.append(Diagnostic.of("CDISP0562E", message, operator=model.name, location=model.location))
        host.bundles += 1
        host.tags |= bundle.tags
        host.closed |= bundle.isolated
        for pe in bundle.pes:
            host_of[pe] = host.number
    return host_of, diagnostics


def _bundles(placements: Placements, pes: Sequence[Sequence[int]]) -> list[_Bundle]:
    """Join PEs that must share a host, and return them in the order of their first PE.

    Of several host configs in a bundle, the first counts.
    """
    find = placements.host_colocated.find
    sets = DisjointSets(len(pes))
    first: dict[int, int] = {}
    for pe, operators in enumerate(pes):
        for operator in operators:
            sets.union(first.setdefault(find(operator), pe), pe)
    specs = host_specs(placements)
    bundles: dict[int, _Bundle] = {root: _Bundle(members) for root, members in sets.groups().items()}
    for pe, operators in enumerate(pes):
        bundle = bundles[sets.find(pe)]
        for operator in operators:
            spec = specs.get(find(operator))
            if spec is not None and bundle.spec == HostSpec():
                bundle.spec = spec
            bundle.tags.update(placements.host_exlocation.get(operator, ()))
            bundle.isolated |= operator in placements.host_isolated
    return list(bundles.values())


def _in_order(bundles: Sequence[_Bundle]) -> list[_Bundle]:
    """Return the bundles in order: named hosts, bundles without a pool, bundles in pools.

    Bundles with tags or isolation come last among those without a pool, and first among those in pools.
    """

    def key(bundle: _Bundle) -> tuple[int, bool, bool]:
        asks = bundle.isolated or bool(bundle.tags)
        if bundle.spec.host is not None:
            return 0, False, False
        return (1, asks, bundle.isolated) if bundle.spec.pool is None else (2, not bundle.isolated, not asks)

    return sorted(bundles, key=key)
