"""Explanations of PEs and hosts: why operators share a PE or not, and why a PE is on its host (rules 42-63)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.explanation import Fact, listed
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.explain.parting import part_facts, parted_facts
from streams_orchestration.compiler.fusion.load_fusion import PERCENT
from streams_orchestration.compiler.logical_graph import PlacementGroup
from streams_orchestration.compiler.placement.fusable_units import HostSpec
from streams_orchestration.compiler.placement.tags import resolve_tag
from streams_orchestration.compiler.walks import shortest_path
from streams_orchestration.model.brief import plural


def _way_around(lookup: CompilationIndex, first: int, second: int) -> list[int]:
    """Return the PEs on a path from the first PE to the second through at least one other PE.

    The list is empty without such a path.
    """
    feeds = {pe: sorted(others) for pe, others in lookup.feeds.items()}
    feeds[first] = [pe for pe in feeds[first] if pe != second]
    return shortest_path(first, second, feeds.__getitem__)[1:-1]


def loop_facts(lookup: CompilationIndex, first: int, second: int) -> Iterator[Fact]:
    """Explain why two PEs would form a loop if they were one; nothing if they would not, or if loops are allowed."""
    if lookup.options.fusion == "legacy" or lookup.options.faithful or lookup.costs is not None:
        return
    if between := _way_around(lookup, first, second) or _way_around(lookup, second, first):
        pes = listed([f"PE {pe}" for pe in between])
        yield Fact(f"as one PE they would feed {pes} and be fed by it, and PEs in a loop never end", "56")


def load_facts(lookup: CompilationIndex, pe: int) -> Iterator[Fact]:
    """Explain how many processors a PE keeps busy; nothing if fusion did not use measured costs."""
    if lookup.costs is None:
        return
    from streams_orchestration.compiler.decoupling.application_decision import pe_loads

    load = pe_loads(lookup.logical, lookup.physical, lookup.fusion, lookup.costs)[pe] / PERCENT
    text = f"by the profile it keeps {load:.2f} processors busy"
    if lookup.options.pes is None:
        text += f", of the {lookup.options.pe_capacity:g} that automatic fusion lets it"
    yield Fact(text, "56")


def number_facts(lookup: CompilationIndex) -> Iterator[Fact]:
    """Explain the number of PEs; nothing if fusion did not use measured costs."""
    if lookup.costs is None:
        return
    if lookup.options.pes is None:
        text = f"PEs are as few as keep at most {lookup.options.pe_capacity:g} processors busy each"
    else:
        text = (
            f"{lookup.options.pes} PEs were asked for, and operators are distributed so that the busiest PE has the "
            "smallest load"
        )
    yield Fact(f"{text}, by the operators' costs in the profile", "56")


def origin(group: PlacementGroup, operator: str) -> str:
    """Return the phrase that names the owner of a placement group: the operator itself, or a composite around it."""
    return "its own config" if group.introducer in ("", operator) else f"the config of {group.introducer}"


def place(group: PlacementGroup) -> str:
    """Return the location in the spec of the config that sets a placement group; empty if unknown."""
    return str(group.location or "")


def together_or_apart(lookup: CompilationIndex, first: int, second: int) -> Iterator[Fact]:
    """Explain why two operators share a PE, or why they do not.

    The decoupling decision comes first, then colocation, then the scheme `legacy`. Otherwise configs may keep them
    apart, then a loop of PEs, then the number of PEs.
    """
    if parted := list(parted_facts(lookup, first, second)):
        yield from parted
        return
    if lookup.unit_of[first] == lookup.unit_of[second]:
        yield from _chain(lookup, first, second)
        return
    pe, other = lookup.fusion.pe_of[first], lookup.fusion.pe_of[second]
    same = pe == other
    if lookup.options.fusion == "legacy":
        yield Fact("no colocation joins them, and the legacy scheme makes one PE of every colocated group", "52, 54")
        return
    reasons = list(conflicts(lookup, first, second))
    if not same and not reasons:
        reasons = list(loop_facts(lookup, pe, other))
    yield from reasons
    if same:
        yield Fact("no config keeps them apart", "53")
    elif not reasons:
        yield Fact("no config of these two keeps them apart: the number of PEs does", "53, 55")
    if same or not reasons:
        yield from _share(lookup, first)
    if not same and not reasons:
        pes = [lookup.pes[lookup.fusion.pe_of[each]] for each in (first, second)]
        sizes = " and ".join(f"PE {pe.id} has {plural(len(pe.operators), 'operator')}" for pe in pes)
        how = "shared out by load" if lookup.costs is not None else "filled evenly"
        filled = f"PEs are {how}; operators that exchange most tuples are put together"
        yield Fact(f"{sizes}; {filled}", "55")


def _chain(lookup: CompilationIndex, first: int, second: int) -> Iterator[Fact]:
    """Yield facts about the chain of colocation tags that joins two operators in one fusable unit.

    If there is none, the fact is that host isolation with host colocation joins them.
    """
    members = lookup.units[lookup.unit_of[first]].operators
    tags = {member: colocation_tags(lookup, member) for member in members}
    holders: dict[str, list[int]] = {}
    for member in members:
        for tag in tags[member]:
            holders.setdefault(tag, []).append(member)
    came: dict[int, tuple[int, str]] = {first: (-1, "")}
    queue = [first]
    for member in queue:
        for tag in tags[member]:
            for other in holders.pop(tag, ()):
                if other not in came:
                    came[other] = member, tag
                    queue.append(other)
    if second not in came:
        isolated = [lookup.name(member) for member in members if member in lookup.placements.host_isolated]
        yield Fact(f"host isolation of {listed(isolated)} with host colocation makes one PE of them", "52")
        return
    steps: list[tuple[int, str, int]] = []
    member = second
    while member != first:
        previous, tag = came[member]
        steps.append((previous, tag, member))
        member = previous
    for previous, tag, member in reversed(steps):
        one = lookup.model(previous).partition
        other = lookup.model(member).partition
        names = lookup.name(previous), lookup.name(member)
        where = f"{names[0]} from {origin(one, lookup.model(previous).name)}"
        where += f", {names[1]} from {origin(other, lookup.model(member).name)}"
        yield Fact(f"{names[0]} and {names[1]} share the colocation tag {tag} ({where})", "45, 52", place(one))
    if len(steps) > 1:
        yield Fact("colocation is transitive, and no scheme splits what it joins", "45, 52")


def colocation_tags(lookup: CompilationIndex, operator: int) -> tuple[str, ...]:
    """Return the resolved colocation tags of one replica."""
    replica = lookup.physical.operators[operator]
    return tuple(dict.fromkeys(resolve_tag(tag, replica) for tag in lookup.model(operator).partition.colocation))


def conflicts(lookup: CompilationIndex, first: int, second: int) -> Iterator[Fact]:
    """Yield the reasons why the units of two operators cannot share a PE under the manual and automatic schemes.

    These are the conditions of rule 53.
    """
    units = lookup.units[lookup.unit_of[first]], lookup.units[lookup.unit_of[second]]
    one, other = lookup.name(first), lookup.name(second)
    for unit, name in zip(units, (one, other), strict=True):
        yield from _isolation(lookup, unit.operators, name) if unit.isolated else ()
    kinds = units[0].kind, units[1].kind
    for flag in ("restartable", "relocatable"):
        values = getattr(kinds[0], flag), getattr(kinds[1], flag)
        if values[0] != values[1]:
            is_, is_not = (one, other) if values[0] else (other, one)
            yield Fact(f"{is_} is {flag} and {is_not} is not", "53")
    if kinds[0].regions != kinds[1].regions:
        yield Fact(f"{one} is {_regions(kinds[0].regions)} and {other} is {_regions(kinds[1].regions)}", "53, A44")
    if kinds[0].host != kinds[1].host:
        yield Fact(f"{one} runs on {_spec(kinds[0].host)} and {other} on {_spec(kinds[1].host)}", "53")
    if kinds[0].channel != kinds[1].channel:
        yield Fact("channelIsolation: they are not in the same channel of one parallel region", "59")
    for kind, name in zip(kinds, (one, other), strict=True):
        if kind.dataframe >= 0:
            yield Fact(
                f"{name} is a Spark query: it shares its PE only with operators with which it is colocated", "53"
            )
    claimed = dict(units[0].claims)
    for (kind, name), value in dict.fromkeys(units[1].claims):
        if claimed.get((kind, name), value) == value:
            continue
        if kind == "exlocation":
            yield from _exlocation(lookup, units[0].operators, units[1].operators, name)
        else:
            region = lookup.logical.regions[int(name)].name
            yield Fact(f"channelExlocation: they are in different channels of {region}", "59")
    if not lookup.bindings.fits(units[0].host_set, units[1].host_set):
        yield Fact("host exlocation or host isolation puts them on different hosts", "53")


def _isolation(lookup: CompilationIndex, members: tuple[int, ...], name: str) -> Iterator[Fact]:
    isolated = [member for member in members if member in lookup.placements.isolated]
    for member in isolated[:1]:
        group = lookup.model(member).partition
        text = f"{lookup.name(member)} is isolated by {origin(group, lookup.model(member).name)}"
        yield Fact(text, "50, 53", place(group))
    if not isolated:
        yield Fact(
            f"{name} is colocated across channels, so it has a PE of its own ({lookup.options.channel_fusion})", "59"
        )


def _exlocation(lookup: CompilationIndex, first: tuple[int, ...], second: tuple[int, ...], tag: str) -> Iterator[Fact]:
    holders = [
        next(member for member in members if tag in lookup.placements.exlocation.get(member, ()))
        for members in (first, second)
    ]
    group = lookup.model(holders[0]).partition
    text = f"{lookup.name(holders[0])} and {lookup.name(holders[1])} both carry the exlocation tag {tag}"
    yield Fact(f"{text} (from {origin(group, lookup.model(holders[0]).name)})", "50, 53", place(group))


def _regions(regions: frozenset[int]) -> str:
    return listed(["autonomous" if each < 0 else f"in consistent region {each}" for each in sorted(regions)])


def _spec(spec: HostSpec | None) -> str:
    if spec is None:
        return "any host"
    return f"host {spec.host}" if spec.host is not None else f"pool {spec.pool}"


def _share(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Yield the fact how many PEs the scheme makes of the units that may share PEs with an operator's unit, and why.

    Nothing for an isolated unit, unless fusion used measured costs.
    """
    if lookup.costs is not None:
        yield from number_facts(lookup)
        return
    number, options = lookup.unit_of[operator], lookup.options
    for group, size in zip(lookup.allotment.classes, lookup.allotment.sizes, strict=True):
        if number not in group.units:
            continue
        text = f"{plural(group.operators, 'operator')} may share PEs (same region, host, restart flags), and "
        text += f"the {options.fusion} scheme makes {plural(size, 'PE')} of them"
        if options.fusion == "manual":
            text += f": {options.pes or 1} asked for in all"
        else:
            text += f": about one PE per resource, on {_spec(group.host)}"
        if group.least > 1:
            text += f"; exlocation needs at least {group.least}"
        yield Fact(text, "55" if options.fusion == "manual" else "56")
        if size > 1:
            yield Fact(f"they are spread so that few tuples cross PEs, by {_weights(lookup)}", "55")


def _weights(lookup: CompilationIndex) -> str:
    """Return a phrase that names the source of the traffic on connections: a profile, declared rates, or none."""
    if lookup.options.profile is not None:
        return "the rates of the profile"
    declared = any(port.rate is not None for each in lookup.logical.operators for port in each.outputs)
    return "declared rates" if declared else "the number of connections"


def pe_reasons(lookup: CompilationIndex, pe: int) -> Iterator[Fact]:
    """Explain why exactly these operators are in a PE; of groups that must be together, at most six are named."""
    element = lookup.pes[pe]
    yield from part_facts(lookup, pe)
    units = sorted({lookup.unit_of[operator] for operator in element.operators})
    joined = [number for number in units if len(lookup.units[number].operators) > 1]
    for number in joined[:6]:
        members = lookup.units[number].operators
        tags = sorted({tag for member in members for tag in colocation_tags(lookup, member)})
        by = f"the colocation tag{'s' * (len(tags) > 1)} {listed(tags)}" if tags else "host isolation"
        group = next((lookup.model(member).partition for member in members), PlacementGroup())
        yield Fact(f"{listed(lookup.names(members))} must be together: {by}", "45, 52", place(group))
    if lookup.options.fusion == "legacy":
        yield Fact("the legacy scheme makes one PE of every colocated group", "54")
        return
    isolated = [number for number in units if lookup.units[number].isolated]
    if isolated:
        yield from _isolation(lookup, lookup.units[isolated[0]].operators, lookup.name(element.operators[0]))
    else:
        yield from _share(lookup, element.operators[0])
        yield from load_facts(lookup, pe)
        for other in lookup.fusion.pes if lookup.options.fusion == "automatic" else ():
            if other.original != element.original and not any(
                conflicts(lookup, element.operators[0], other.operators[0])
            ):
                for fact in loop_facts(lookup, pe, other.id):
                    yield Fact(f"PE {other.id} is apart: {fact.text}", fact.rules)


def pe_flags(lookup: CompilationIndex, pe: int) -> Fact:
    """Explain whether a PE is restartable and relocatable."""
    element = lookup.pes[pe]
    flags = [("restartable", element.restartable), ("relocatable", element.relocatable)]
    text = ", ".join(name if value else f"not {name}" for name, value in flags)
    return Fact(f"{text}: all operators of a PE must agree in this", "61")


def host_reasons(lookup: CompilationIndex, pe: int) -> Iterator[Fact]:
    """Explain why a PE is on its host; of its operators with host configs, at most six are named."""
    element = lookup.pes[pe]
    placements = lookup.placements
    named = 0
    for operator in element.operators:
        spec = placements.host.get(operator)
        group = lookup.model(operator).host_placement
        stated: list[str] = []
        if spec is not None:
            stated.append(f"requires {_spec(spec)}")
        if group.isolation:
            stated.append("must be alone on its host")
        for what, tags in (("colocation", group.colocation), ("exlocation", group.exlocation)):
            resolved = [resolve_tag(tag, lookup.physical.operators[operator]) for tag in tags]
            stated += [f"has the host {what} tag {tag}" for tag in resolved]
        if stated and named < 6:
            named += 1
            yield Fact(f"{lookup.name(operator)} {listed(stated)}", "37, 52, 53", place(group))
    others = [other.id for other in lookup.fusion.pes if other.host == element.host and other.id != pe]
    beside = f" with PE {listed([str(other) for other in others])}" if others else " alone"
    if named:
        yield Fact(f"so it is on host {element.host}{beside}", "53")
    elif element.host == 0:
        yield Fact(f"no config says where it runs, so it is on host 0{beside}", "53")
    else:
        yield Fact(f"host configs of other operators leave it host {element.host}{beside}", "53")
