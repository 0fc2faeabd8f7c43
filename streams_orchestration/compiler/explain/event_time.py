"""Explanations of event-time graphs: the path by which event time reaches an operator, its lag, and where it ends."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.event_time.roles import triggers_region
from streams_orchestration.compiler.event_time.uses import uses_of
from streams_orchestration.compiler.explain.explanation import Fact, listed, path_text
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.stage_results import EventTimeGraph, EventTimeOperator
from streams_orchestration.model.brief import plural

_SHOWN = 12
_MODES = {
    "outputEventTime": ("its watermark is the greatest time that it has submitted, less the lag", "EV17"),
    "inputWatermark": ("its watermark is the least of its event-time connections", "EV19"),
    "heldInput": ("its watermark is the least of its event-time connections, and of the times of tuples kept", "EV62"),
    "manual": ("it sets its watermark itself", "EV23"),
}


def event_time_facts(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Explain the event time of an operator; nothing in an application without event time."""
    if not lookup.compilation.event_time.graphs:
        return
    role, model = lookup.event_time_roles.get(operator), lookup.model(operator)
    if role is None:
        yield Fact(f"no event time reaches it: {lookup.event_time.why_not(model.index)}", "EV24")
        return
    graph = lookup.compilation.event_time.graphs[role.graph]
    yield Fact(f"in event-time graph {graph.index}, by {graph.time}")
    text, rule = _MODES[role.mode]
    yield Fact(f"{role.mode}: {text}", rule)
    if model.event_time is not None:
        yield _annotation(model)
        yield from _drift(lookup, operator)
    else:
        yield from _reached(lookup, model, role)
    if model.engine == "dataframe":
        yield from _of_query(model)
    yield from (Fact(end.text, end.rule) for end in lookup.event_time.ends(model.index))
    yield from _ends_downstream(lookup, model.index)


def graph_facts(lookup: CompilationIndex, graph: EventTimeGraph) -> Iterator[Fact]:
    """Explain one event-time graph: its annotations and Imports, its operators, and the places where it ends.

    At most `_SHOWN` of each kind are named.
    """
    operators = lookup.logical.operators
    for source in graph.sources[:_SHOWN]:
        fact = _annotation(operators[source])
        yield Fact(f"{operators[source].name}: {fact.text}", fact.rules, fact.location)
    for name in graph.imports[:_SHOWN]:
        yield Fact(f"the Import {name} brings the watermarks of the exported stream", "EV48")
    if len(graph.sources) > 1:
        yield Fact(f"these {len(graph.sources)} annotations agree in attribute, type and resolution, and meet", "EV8")
    names = [operators[each].name for each in graph.operators]
    yield Fact(f"{plural(len(names), 'operator')}: {listed(names, _SHOWN)}", "EV5")
    ends = [(operators[each].name, end) for each in graph.operators for end in lookup.event_time.ends(each)]
    yield from (Fact(f"{name}: {end.text}", end.rule) for name, end in ends[:_SHOWN])
    if len(ends) > _SHOWN:
        yield Fact(f"and {plural(len(ends) - _SHOWN, 'more place')} where it ends")


def _ends_downstream(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Explain where the event time of an operator ends further downstream (EV5, EV7).

    At most `_SHOWN` places are named, and the others are counted.
    """
    ends = lookup.event_time.ends_downstream(operator)
    for number, end in ends[:_SHOWN]:
        yield Fact(end.seen_from(lookup.logical.operators[number].name), end.rule)
    if len(ends) > _SHOWN:
        yield Fact(f"and {plural(len(ends) - _SHOWN, 'more place')} downstream where it ends")


def _annotation(model: LogicalOperator) -> Fact:
    annotation = model.event_time
    assert annotation is not None
    text = f"it is annotated with eventTime, lag {annotation.lag:g} s, minimumGap {annotation.minimum_gap:g} s"
    return Fact(text, "EV4", str(annotation.location or ""))


def _of_query(model: LogicalOperator) -> Iterator[Fact]:
    """Yield facts about the watermarks that a Spark query waits for, and how far its results may be behind them."""
    taken = [use.ports[0] for use in uses_of(model) if use.of_port]
    if taken:
        names = listed([model.inputs[port].name for port in taken], _SHOWN)
        yield Fact(f"the tuples of {names} wait until the watermark has passed them; late ones are dropped", "EV66")
    delay = model.parameters.get("outputDelay")
    if not isinstance(delay, int | float):
        text = "its results may be older than the watermark by the longest windows and joins in Spark's plan"
    else:
        text = f"its results may be {delay:g} s older than the watermark"
    yield Fact(text, "EV66")


def _drift(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Yield the fact how far a source may be read ahead of the slowest source of its graph, if it has a `maxDrift`.

    For the trigger of an operator-driven region, the fact is that its `maxDrift` has no effect.
    """
    model = lookup.model(operator)
    if model.event_time is None or model.event_time.max_drift is None:
        return
    text = f"it is not read while it is more than {model.event_time.max_drift:g} s ahead of its graph's slowest source"
    if triggers_region(operator, lookup.compilation.regions):
        text = "its maxDrift has no effect, since the epochs of its region end only by its tuples"
    yield Fact(text, "EV65")


def _reached(lookup: CompilationIndex, model: LogicalOperator, role: EventTimeOperator) -> Iterator[Fact]:
    """Explain by which path and from which annotations event time reaches an operator, and which lag is the largest."""
    operators = lookup.logical.operators
    for number in role.imports:
        name = lookup.physical.imports[number].name
        yield Fact(f"the Import {name} brings the watermarks of the exported stream", "EV48")
    before: dict[int, int] = {}
    waiting, sources = [model.index], list[int]()
    for number in waiting:
        if operators[number].event_time is not None:
            sources.append(number)
            continue
        for ends in lookup.event_time.into(number):
            if ends.source not in before and ends.source != model.index:
                before[ends.source] = number
                waiting.append(ends.source)
    if not sources:
        return
    way = sources[:1]
    while way and way[-1] != model.index:
        way.append(before[way[-1]])
    yield Fact(f"event time comes by {path_text([operators[number].name for number in way])}", "EV5")
    if len(sources) > 1:
        yield Fact(f"from the annotations of {listed([operators[number].name for number in sorted(sources)])}", "EV8")
    for name, value, key in (("lag", role.lag, "lag"), ("minimumGap", role.minimum_gap, "minimum_gap")):
        owners = [number for number in sorted(sources) if getattr(operators[number].event_time, key) == value]
        owner = operators[owners[0]].name
        yield Fact(f"{name} {value:g} s, {'the greatest, ' if len(sources) > 1 else ''}from {owner}", "EV8")
