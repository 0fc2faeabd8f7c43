"""Placement configs of operators and composites, from the resolved configs of each operator in a compiled application.

The compiler of Streams has resolved inheritance. But the meaning of the tags `byChannel()` and `byReplica()` depends on
the instance that has the config. Such a tag names that instance, so the config is restored there.
"""

from __future__ import annotations

import re
from typing import Any

from streams_orchestration.spl.adl.graph import AdlInstance, AdlSettings, CompiledApplication, PlacementTags

_BY_CHANNEL = re.compile(r"byChannel\((?P<introducer>[^,()]*), *\d+\)")
_GROUPS = {
    "partitions": ("partitionColocation", "partitionExlocation", "partitionIsolation"),
    "hosts": ("hostColocation", "hostExlocation", "hostIsolation"),
}


def configs_of(application: CompiledApplication) -> dict[int, dict[str, Any]]:
    """Map the index of each instance with configs to its entry `config`."""
    configs: dict[int, dict[str, Any]] = {}
    fused = {name: number for number, names in enumerate(application.pes) for name in names}
    regions = {each.instance for each in application.regions}
    _collect(application.main, (), configs)
    if fused:
        _fuse(application, fused, regions, configs)
    return {index: config for index, config in configs.items() if config}


def _collect(instance: AdlInstance, around: tuple[AdlInstance, ...], configs: dict[int, dict[str, Any]]) -> None:
    for child in instance.children or ():
        _collect(child, (*around, child), configs)
    if instance.children is not None:
        return
    settings = instance.settings
    own = configs.setdefault(instance.index, {})
    own |= _simple(settings)
    for name in _GROUPS:
        group: PlacementTags = getattr(settings, name)
        if group:
            introducer = _introducer(group, around) or instance
            placement = configs.setdefault(introducer.index, {}).setdefault("placement", {})
            placement |= _tags(name, group, introducer.name)
    if settings.host is not None:
        own.setdefault("placement", {})["host"] = settings.host
    if settings.pool is not None:
        own.setdefault("placement", {})["hostPool"] = settings.pool


def _simple(settings: AdlSettings) -> dict[str, Any]:
    """Return the configs other than placement: `restartable` and `relocatable` if False, and a given `checkpoint`."""
    config: dict[str, Any] = {}
    if settings.restartable is False:
        config["restartable"] = False
    if settings.relocatable is False:
        config["relocatable"] = False
    if settings.checkpoint is not None:
        own = settings.checkpoint
        config["checkpoint"] = own if isinstance(own, str) else {"periodic": own}
    return config


def _introducer(group: PlacementTags, around: tuple[AdlInstance, ...]) -> AdlInstance | None:
    """Return the innermost composite that a group's tags name as their origin; None if they are the operator's own."""
    names = {
        match["introducer"] if (match := _BY_CHANNEL.search(tag)) else tag
        for tag in (*group.colocation, *group.exlocation)
    }
    return next((each for each in reversed(around[:-1]) if each.name in names), None)


def _tags(name: str, group: PlacementTags, introducer: str) -> dict[str, Any]:
    colocation, exlocation, isolation = _GROUPS[name]
    tags: dict[str, Any] = {}
    if group.colocation:
        tags[colocation] = [_tag(tag, introducer) for tag in group.colocation]
    if group.exlocation:
        tags[exlocation] = [_tag(tag, introducer) for tag in group.exlocation]
    if group.isolation:
        tags[isolation] = True
    return tags


def _tag(tag: str, introducer: str) -> str:
    if _BY_CHANNEL.fullmatch(tag):
        return "byChannel()"
    return "byReplica()" if tag == introducer else _BY_CHANNEL.sub("${getChannel()}", tag)


def _fuse(
    application: CompiledApplication, fused: dict[str, int], regions: set[int], configs: dict[int, dict[str, Any]]
) -> None:
    """Set the placement tags of an already fused application, so that its PEs stay one PE each.

    Operators of a PE get a common colocation tag, and the first operator of each PE gets one exlocation tag for all.
    These tags replace the operators' own tags for PEs. If all operators of a PE are in one parallel region, there is
    one such PE for each channel.
    """
    members: dict[int, list[tuple[AdlInstance, int | None]]] = {}

    def collect(instance: AdlInstance, region: int | None) -> None:
        region = instance.index if instance.index in regions else region
        if instance.children is None and instance.name in fused:
            members.setdefault(fused[instance.name], []).append((instance, region))
        for child in instance.children or ():
            collect(child, region)

    collect(application.main, None)
    for number, operators in members.items():
        around = {region for _, region in operators}
        each_channel = len(around) == 1 and None not in around
        tag = f"pe{number}" + ("-${getChannel()}" if each_channel else "")
        for position, (operator, _) in enumerate(operators):
            placement = configs.setdefault(operator.index, {}).setdefault("placement", {})
            placement["partitionColocation"] = [tag]
            placement.pop("partitionIsolation", None)
            placement.pop("partitionExlocation", None)
            if position == 0:
                placement["partitionExlocation"] = ["pe"]
