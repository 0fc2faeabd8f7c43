"""Hosts of PEs: small integers, 0 for everything of which nothing is said (rules 37, 52, 53)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from streams_orchestration.compiler.disjoint_sets import DisjointSets
from streams_orchestration.compiler.fusable_units import HostSpec, Placements, host_specs
from streams_orchestration.compiler.graph import LogicalGraph, PhysicalGraph
from streams_orchestration.model.diagnostics import Diagnostic


@dataclass(slots=True)
class _Bundle:
    """PEs that must share a host."""

    pes: list[int]
    spec: HostSpec = field(default_factory=HostSpec)
    tags: set[str] = field(default_factory=set)
    isolated: bool = False

    @property
    def bound(self) -> bool:
        """Is anything asked that keeps other PEs away from its host?"""
        return self.isolated or bool(self.tags)


@dataclass(slots=True)
class _Host:
    """A host and what keeps others away from it."""

    tags: set[str] = field(default_factory=set)
    closed: bool = False
    used: int = 0


def place_on_hosts(
    logical: LogicalGraph, physical: PhysicalGraph, placements: Placements, pes: Sequence[Sequence[int]]
) -> tuple[list[int], list[Diagnostic]]:
    """The host of every PE, given by its operators.

    Named hosts are numbered from 1 in the order of the PEs on them, then come hosts of pools and those that
    exlocation and isolation open. A pool spreads its PEs over as many hosts as it has; one without a size
    has as many as are needed. CDISP0562E: a pool is too small; CDISP0297E: exlocation or isolation cannot be kept on
    a named host.
    """
    bundles = _bundles(physical, placements, pes)
    hosts: list[_Host] = [_Host()]
    named: dict[str, int] = {}
    members: dict[str, list[int]] = {pool.name: [] for pool in physical.host_pools}
    sizes = {pool.name: pool.size for pool in physical.host_pools}
    for bundle in bundles:
        if bundle.spec.host is not None and bundle.spec.host not in named:
            named[bundle.spec.host] = len(hosts)
            hosts.append(_Host())
    anywhere = [0]
    host_of = [0] * len(pes)
    diagnostics: list[Diagnostic] = []

    def settle(bundle: _Bundle, host: int) -> None:
        hosts[host].tags |= bundle.tags
        hosts[host].closed |= bundle.isolated
        hosts[host].used += 1
        for pe in bundle.pes:
            host_of[pe] = host

    def allowed(bundle: _Bundle, host: int) -> bool:
        found = hosts[host]
        return not found.closed and not (bundle.isolated and found.used) and found.tags.isdisjoint(bundle.tags)

    def report(code: str, bundle: _Bundle, message: str) -> None:
        model = logical.operators[physical.operators[pes[bundle.pes[0]][0]].logical]
        diagnostics.append(Diagnostic.of(code, message, operator=model.name, location=model.location))

    for bundle in _in_order(bundles):
        if bundle.spec.host is not None:
            host = named[bundle.spec.host]
            if not allowed(bundle, host):
                report("CDISP0297E", bundle, f"host {bundle.spec.host} cannot be shared as the configs ask")
            settle(bundle, host)
            continue
        pool = bundle.spec.pool
        choice = anywhere if pool is None else members.setdefault(pool, [])
        size = sizes.get(pool) if pool is not None else None
        free = [host for host in choice if allowed(bundle, host)] if bundle.bound or size else choice[:1]
        if pool is not None and size and len(choice) < size and all(hosts[host].used for host in free):
            free = []
        if free and not allowed(bundle, free[0]):
            free = [host for host in choice if allowed(bundle, host)]
        if free:
            settle(bundle, min(free, key=lambda host: (hosts[host].used, host)) if size else free[0])
        elif size and len(choice) >= size:
            report("CDISP0562E", bundle, f"pool {pool} has {size} hosts, but the configs need more")
            settle(bundle, choice[0])
        else:
            choice.append(len(hosts))
            hosts.append(_Host())
            settle(bundle, choice[-1])
    return host_of, diagnostics


def _bundles(physical: PhysicalGraph, placements: Placements, pes: Sequence[Sequence[int]]) -> list[_Bundle]:
    """PEs joined by what their operators ask of hosts, in the order of their first PE."""
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
    """Named hosts first; then those without any wish, which stay together; in pools those that ask for most first."""

    def key(bundle: _Bundle) -> tuple[int, bool]:
        if bundle.spec.host is not None:
            return 0, bundle.isolated
        return (1, bundle.bound) if bundle.spec.pool is None else (2, not bundle.bound)

    return sorted(bundles, key=key)
