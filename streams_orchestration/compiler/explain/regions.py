"""Explanations of consistent regions and of their members (A13-A45)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.explain.explanation import Explanation, Fact, listed, path_text, section
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.logical_graph import ConsistentAnnotation
from streams_orchestration.compiler.regions.starts import deciding_annotation
from streams_orchestration.compiler.regions.values import DEFAULTS
from streams_orchestration.compiler.stage_results import ConsistentRegion
from streams_orchestration.model.brief import plural

_SHOWN = 12
"""The most members and paths that an explanation names one by one."""


def membership_facts(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Explain why an operator is a member of its consistent region, or of none."""
    index = lookup.compilation.regions.region_of[operator]
    if index < 0:
        yield from _autonomous(lookup, operator)
        return
    region = lookup.compilation.regions.expanded[index]
    yield Fact(f"in consistent region {index}" + (" as a start" if operator in region.starts else ""))
    yield _reached(lookup, operator)
    if operator in region.ends:
        yield Fact("an end: no operator that reads from it is in the same region", "A32")
    ports = dict(region.autonomous_ports).get(operator, ())
    if ports:
        which = f"{'port' if len(ports) == 1 else 'ports'} {listed([str(port) for port in ports])}"
        yield Fact(f"input {which} autonomous: no operator of the region feeds it", "A33")


def _reached(lookup: CompilationIndex, operator: int) -> Fact:
    """Explain how the region reached a member: as a start, or along the streams from a start."""
    model = lookup.model(operator)
    if model.index in lookup.starts.starts:
        annotation = deciding_annotation(model, lookup.annotations)
        assert annotation is not None
        if annotation.scope == model.name:
            return Fact("it is annotated consistent itself, so it is a start", "A15", str(annotation.location or ""))
        why = "all its producers are outside" if model.inputs else "it has no inputs"
        text = f"the composite {annotation.scope} around it is annotated consistent, and {why}, so it is a start"
        return Fact(text, "A16, A17", str(annotation.location or ""))
    way = [operator]
    while lookup.growth.reached_from[way[-1]] >= 0:
        way.append(lookup.growth.reached_from[way[-1]])
    return Fact(f"reached from a start: {path_text(lookup.names(way[::-1]))}", "A23")


def _autonomous(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    model = lookup.model(operator)
    yield Fact("in no consistent region: autonomous", "A25")
    if model.index in lookup.starts.barriers:
        annotation = deciding_annotation(model, lookup.annotations)
        assert annotation is not None
        own = annotation.scope == model.name
        who = "it" if own else f"the composite {annotation.scope} around it"
        text = f"{who} is annotated autonomous, so no region enters it"
        yield Fact(text, "A19, A24" if own else "A20, A24", str(annotation.location or ""))
        return
    producers = sorted(
        {each.source for each in lookup.physical.connections if each.target == operator},
    )
    if producers:
        yield Fact(f"all its producers are autonomous, too: {listed(lookup.names(producers))}", "A23, A25")
    else:
        yield Fact("nothing in the application feeds it, and no consistent annotation makes it a start", "A16, A25")


def region_explanation(lookup: CompilationIndex, index: int) -> Explanation:
    """Explain a consistent region of the expanded graph."""
    region = lookup.compilation.regions.expanded[index]
    kinds = [
        section("Where it comes from", *_founding(lookup, region)),
        section("Values", *_values(lookup, region)),
        section("Starts", *_starts(lookup, region)),
        section("How the others are reached", *_members(lookup, region)),
        section("Ends", *_ends(lookup, region)),
        section("Autonomous input ports", *_ports(lookup, region)),
    ]
    question = f"Consistent region {index}: {plural(len(region.operators), 'operator')}"
    return Explanation(question, tuple(each for each in kinds if each.facts))


def _annotations(lookup: CompilationIndex, region: ConsistentRegion) -> list[ConsistentAnnotation]:
    """Return the annotations whose regions were merged into a region, in the order of creation."""
    merged = list(lookup.logical_growth[0].merged.values())[region.logical_index]
    return [lookup.starts.created[number] for number in merged]


def _founding(lookup: CompilationIndex, region: ConsistentRegion) -> Iterator[Fact]:
    annotations = _annotations(lookup, region)
    for annotation in annotations:
        text = f"founded by the consistent annotation of {annotation.scope}"
        yield Fact(text, "A14", str(annotation.location or ""))
    growth = lookup.logical_growth[0]
    for operator, first, second in growth.meetings:
        if lookup.logical_growth[1][operator] == region.logical_index:
            scopes = [lookup.starts.created[each].scope for each in (first, second)]
            at = lookup.logical.operators[operator].name
            yield Fact(f"the regions of {scopes[0]} and {scopes[1]} meet at {at} and become one", "A27")
    siblings = [
        each.index
        for each in lookup.compilation.regions.expanded
        if each.logical_index == region.logical_index and each.index != region.index
    ]
    if siblings:
        numbers = listed([str(each) for each in siblings])
        yield Fact(f"channels of its starts that never meet are regions of their own: {numbers}", "A40")
    elif len(region.starts) > len(lookup.compilation.regions.logical[region.logical_index].starts):
        yield Fact("the channels of its starts meet, so they are one region", "A40")


def _values(lookup: CompilationIndex, region: ConsistentRegion) -> Iterator[Fact]:
    annotations = _annotations(lookup, region)
    trigger = "the start operator says when" if region.trigger == "operatorDriven" else f"every {region.period:g} s"
    yield Fact(f"a cut is taken: {trigger}", "A1")
    final = {
        "period": region.period,
        "drainTimeout": region.drain_timeout,
        "resetTimeout": region.reset_timeout,
        "maxConsecutiveResetAttempts": region.max_consecutive_reset_attempts,
    }
    restart = {"restart.pause": region.restart.pause, "restart.limit": region.restart.limit}
    final |= {key: value for key, value in restart.items() if any(key in each.values for each in annotations)}
    for key, value in final.items():
        if value is None:
            continue
        parts: list[str] = []
        for annotation in annotations:
            origin = annotation.submission.get(key)
            written = annotation.values.get(key, DEFAULTS[key])
            source = f" from {origin}" if origin else "" if key in annotation.values else " (default)"
            parts.append(f"{annotation.scope}: {_number(written)}{source}")
        text = f"{key} {_number(value)}"
        if len(annotations) == 1:
            origin = annotations[0].submission.get(key)
            provenance = f", from the submission-time value {origin}" if origin else ", as written"
            yield Fact(text + (provenance if key in annotations[0].values else ", the default"), "A1")
        elif any(key in annotation.submission for annotation in annotations):
            yield Fact(f"{text}: a submission-time value overrides the written values ({'; '.join(parts)})", "A29")
        else:
            yield Fact(f"{text}: the largest of {'; '.join(parts)}", "A29")


def _number(value: float | int | None) -> str:
    return "none" if value is None else f"{value:g}"


def _starts(lookup: CompilationIndex, region: ConsistentRegion) -> Iterator[Fact]:
    for start in region.starts[:_SHOWN]:
        reached = _reached(lookup, start)
        yield Fact(f"{lookup.name(start)}: {reached.text}", reached.rules, reached.location)
    if len(region.starts) > _SHOWN:
        yield Fact(f"and {len(region.starts) - _SHOWN} more")


def _members(lookup: CompilationIndex, region: ConsistentRegion) -> Iterator[Fact]:
    members = [member for member in region.operators if member not in region.starts]
    for member in members[:_SHOWN]:
        reached = _reached(lookup, member)
        yield Fact(f"{lookup.name(member)}: {reached.text.partition(': ')[2]}", reached.rules)
    if len(members) > _SHOWN:
        yield Fact(f"and {len(members) - _SHOWN} more", "A23")


def _ends(lookup: CompilationIndex, region: ConsistentRegion) -> Iterator[Fact]:
    text = f"{listed(lookup.names(region.ends), _SHOWN)}: no operator of the region reads from "
    yield Fact(text + ("it" if len(region.ends) == 1 else "them"), "A32")


def _ports(lookup: CompilationIndex, region: ConsistentRegion) -> Iterator[Fact]:
    for operator, ports in region.autonomous_ports[:_SHOWN]:
        for port in ports:
            feeds = [
                lookup.name(lookup.physical.connections[number].source)
                for number in lookup.incoming.get((operator, port), ())
            ]
            by = f"fed by {listed(feeds)}, not of the region" if feeds else "fed by no operator"
            yield Fact(f"{lookup.name(operator)}.{port}: {by}", "A33")
