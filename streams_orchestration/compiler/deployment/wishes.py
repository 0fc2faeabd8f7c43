"""Requirements of hosts: the machines on which each may run, and the hosts with which it shares no machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment_plan import HostWish
from streams_orchestration.compiler.placement.fusable_units import resolve_placements
from streams_orchestration.compiler.placement.tags import resolve_text


def wishes_of(compilation: Compilation) -> tuple[HostWish, ...]:
    """Return the wishes of the hosts that have any, ascending (rules 36, 37, 51, 53)."""
    pes = compilation.fusion.pes
    wishes = _placed(compilation)
    if len({pe.host for pe in pes}) > 1:
        placements = resolve_placements(compilation.logical, compilation.physical)
        for host, tags in _shared_tags(compilation, placements.host_exlocation).items():
            wishes[host] = replace(wishes.get(host) or HostWish(host, None, ()), exlocation=tags)
        for host in {pe.host for pe in pes if not placements.host_isolated.isdisjoint(pe.operators)}:
            wishes[host] = replace(wishes.get(host) or HostWish(host, None, ()), isolated=True)
    return tuple(wishes[host] for host in sorted(wishes))


def _placed(compilation: Compilation) -> dict[int, HostWish]:
    """Return the machine or the tags that the operators of a host name; the first one that names any counts."""
    physical, logical = compilation.physical, compilation.logical
    tags = {pool.name: pool.tags for pool in physical.host_pools}
    wishes: dict[int, HostWish] = {}
    for pe in compilation.fusion.pes:
        for index in sorted(pe.operators):
            operator = physical.operators[index]
            model = logical.operators[operator.logical]
            pool = operator.host_pool or model.host_pool
            if model.host is not None:
                wishes.setdefault(pe.host, HostWish(pe.host, resolve_text(model.host, operator), ()))
            elif pool is not None and tags.get(pool):
                wishes.setdefault(pe.host, HostWish(pe.host, None, tuple(tags[pool])))
    return wishes


def _shared_tags(compilation: Compilation, tags: Mapping[int, tuple[str, ...]]) -> dict[int, tuple[str, ...]]:
    """Return the tags of `hostExlocation` of each host that other hosts have, too.

    Args:
        compilation: the application.
        tags: the tags of each operator.
    """
    hosts: dict[str, set[int]] = {}
    for pe in compilation.fusion.pes:
        for operator in pe.operators:
            for tag in tags.get(operator, ()):
                hosts.setdefault(tag, set()).add(pe.host)
    shared: dict[int, tuple[str, ...]] = {}
    for tag in sorted(tag for tag, among in hosts.items() if len(among) > 1):
        for host in hosts[tag]:
            shared[host] = (*shared.get(host, ()), tag)
    return shared
