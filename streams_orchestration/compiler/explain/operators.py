"""Explanations of one operator and its state, of two operators, and of a port."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from math import prod

from pydantic import ValidationError

from streams_orchestration.compiler.explain.event_time import event_time_facts
from streams_orchestration.compiler.explain.explanation import Explanation, Fact, Section, listed, path_text, section
from streams_orchestration.compiler.explain.lookup import CompilationIndex
from streams_orchestration.compiler.explain.passing import connection_facts
from streams_orchestration.compiler.explain.placement import host_reasons, pe_reasons, together_or_apart
from streams_orchestration.compiler.explain.regions import membership_facts
from streams_orchestration.compiler.explain.threads import feed_facts, lock_facts, model_fact, queue_facts
from streams_orchestration.compiler.implementations import load_operator
from streams_orchestration.compiler.logical_graph import LogicalOperator, ParallelRegion
from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.compiler.redeployment.feeds import Feeds, Level
from streams_orchestration.compiler.redeployment.sharding import divisible, sharding_of
from streams_orchestration.compiler.redeployment.states import (
    CHANNELS,
    GONE,
    OFFSET_WITHOUT_CHANNEL,
    reads_by_channel,
    refusal,
    remedy_of_gone,
)
from streams_orchestration.compiler.walks import shortest_path
from streams_orchestration.model.brief import plural
from streams_orchestration.operators.contract.operator import Operator, SourceOperator


def operator_explanation(lookup: CompilationIndex, operators: list[int]) -> Explanation:
    """Explain an operator. If it has several replicas, explain the first and list the places of the others.

    Of the others, six are listed and the rest is counted. Sections without facts are left out.

    Raises:
        ImplementationError: the class of an operator can no longer be imported.
    """
    operator, *others = operators
    model = lookup.model(operator)
    pe = lookup.fusion.pe_of[operator]
    others_at = [f"{lookup.name(each)} in PE {lookup.fusion.pe_of[each]}" for each in others]
    sections = [
        section(
            "Definition",
            Fact(f"{model.kind}, operator {operator} of the application", "5", str(model.location or "")),
            Fact(f"{model.name} has {plural(len(operators), 'replica')}; this is {lookup.name(operator)}", "3")
            if others
            else None,
            Fact(f"the others: {listed(others_at)}") if others else None,
        ),
        section("Channel", *_channels(lookup, operator), _partitions(lookup, operator)),
        section(f"PE {pe}", *pe_reasons(lookup, pe)),
        section(f"Host {lookup.pes[pe].host}", *host_reasons(lookup, pe)),
        section("Consistent region", *membership_facts(lookup, operator)),
        section("Event time", *event_time_facts(lookup, operator)),
        section("Threads and lock", model_fact(lookup, operator), *lock_facts(lookup, operator)),
        section("State", *state_facts(lookup, operator)),
        section("Input ports", *_inputs(lookup, operator)),
        section("Output ports", *_outputs(lookup, operator)),
    ]
    return Explanation(f"Operator {lookup.name(operator)}", tuple(each for each in sections if each.facts))


def width_reason(lookup: CompilationIndex, region: ParallelRegion) -> str:
    """Return a phrase that names the origin of a parallel region's width: an option, a submission value, or the spec.

    Rule 6 has their order.
    """
    for pattern, _ in lookup.options.widths:
        if region.matches(pattern):
            return f"given with --width {pattern}"
    return f"from the submission-time value {region.width_submission}" if region.width_submission else "as written"


def _channels(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    replica = lookup.physical.operators[operator]
    if not replica.channels:
        yield Fact("in no parallel region: channel -1", "29")
        return
    levels = zip(lookup.model(operator).regions, replica.channels, replica.widths, strict=True)
    for number, channel, width in levels:
        region = lookup.logical.regions[number]
        local = channel % width
        where = f"channel {local} of {width} in {region.name} (width {width_reason(lookup, region)})"
        yield Fact(where + (f", global channel {channel}" if channel != local else ""), "6, 27")


def _partitions(lookup: CompilationIndex, operator: int) -> Fact | None:
    """Return a fact about the partitions of an operator's Spark query; None for an operator without a query."""
    if lookup.model(operator).engine != "dataframe":
        return None
    if prod(lookup.physical.operators[operator].widths) > 1:
        return Fact("a query of Spark's with one partition: the channels divide its tuples")
    return Fact("one query of Spark's, whose partitions are its own: one for each core of its host")


def _inputs(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    for port, model in enumerate(lookup.model(operator).inputs):
        control = ", a control port" if model.control else ""
        for fact in (*feed_facts(lookup, operator, port), *queue_facts(lookup, operator, port)):
            yield Fact(f"{port} ({model.name}{control}): {fact.text}", fact.rules, fact.location)


def _outputs(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    streams = lookup.physical.operators[operator].streams
    for port, stream in enumerate(streams):
        numbers = lookup.outgoing.get((operator, port), [])
        if not numbers:
            yield Fact(f"{port} (stream {stream}): read by nothing")
        by_way: dict[tuple[str, str], list[str]] = {}
        for number in numbers:
            passing = lookup.compilation.copies.connections[number]
            target = lookup.physical.connections[number].target
            by_way.setdefault((passing.passing, passing.reason), []).append(lookup.name(target))
        for (way, reason), names in by_way.items():
            yield Fact(f"{port} (stream {stream}) to {listed(names)} by {way}: {reason}", "81, 82")


def pair_explanation(lookup: CompilationIndex, first: list[int], second: list[int]) -> Explanation:
    """Explain two operators: why they share a PE or not, and how tuples pass between them.

    Of their replicas, a pair is explained that is connected, if there is one.
    """
    one, other = _connected(lookup, first, second)
    pes = lookup.fusion.pe_of[one], lookup.fusion.pe_of[other]
    title = f"Why both are in PE {pes[0]}" if pes[0] == pes[1] else f"Why PE {pes[0]} and PE {pes[1]}, not one"
    sections = [section(title, *together_or_apart(lookup, one, other))]
    sections += _between(lookup, one, other)
    return Explanation(f"Operators {lookup.name(one)} and {lookup.name(other)}", tuple(sections))


def _connected(lookup: CompilationIndex, first: list[int], second: list[int]) -> tuple[int, int]:
    """Return a connected pair of replicas of two operators; a connection from the first to the second is preferred.

    If no replicas are connected, return the first replicas of both operators, or the first two replicas if they are one
    operator.
    """
    firsts, seconds = set(first), set(second)
    backwards: tuple[int, int] | None = None
    for each in lookup.physical.connections:
        if each.source in firsts and each.target in seconds:
            return each.source, each.target
        if backwards is None and each.source in seconds and each.target in firsts:
            backwards = each.target, each.source
    return backwards or (first[0], next((each for each in second if each != first[0]), second[0]))


def _between(lookup: CompilationIndex, one: int, other: int) -> Iterator[Section]:
    connected = False
    for number, each in enumerate(lookup.physical.connections):
        if (each.source, each.target) in ((one, other), (other, one)):
            connected = True
            title = f"{lookup.name(each.source)}.{each.source_port} -> {lookup.name(each.target)}.{each.target_port}"
            queue = queue_facts(lookup, each.target, each.target_port)
            yield section(title, *connection_facts(lookup, number), *queue)
    if connected:
        return
    followers: dict[int, list[int]] = defaultdict(list)
    for each in lookup.physical.connections:
        followers[each.source].append(each.target)
    way = shortest_path(one, other, followers.__getitem__) or shortest_path(other, one, followers.__getitem__)
    text = (
        f"no stream connects them directly; a path is {path_text(lookup.names(way))}"
        if way
        else "no stream leads from one to the other"
    )
    yield section("Connection", Fact(text))


def port_explanation(lookup: CompilationIndex, operator: int, port: int) -> Explanation:
    """Explain an input port: its producers, its queue, the lock behind it, and the first eight connections into it."""
    sections = [
        section("What feeds it", *feed_facts(lookup, operator, port)),
        section("Queue", *queue_facts(lookup, operator, port)),
        section("Threads and lock", model_fact(lookup, operator), *lock_facts(lookup, operator)),
    ]
    for number in lookup.incoming.get((operator, port), ())[:8]:
        each = lookup.physical.connections[number]
        title = f"From {lookup.name(each.source)}.{each.source_port}"
        sections.append(section(title, *connection_facts(lookup, number)))
    name = lookup.model(operator).inputs[port].name
    return Explanation(f"Input port {port} ({name}) of {lookup.name(operator)}", tuple(sections))


def state_facts(lookup: CompilationIndex, operator: int) -> Iterator[Fact]:
    """Explain which state an operator keeps, and the effect of a redeploy on that state.

    Yield nothing for an operator that cannot run here, or whose parameters are wrong.

    Raises:
        ImplementationError: the operator's class can no longer be imported.
    """
    program = _program(lookup, operator)
    if program is None:
        return
    model = lookup.model(operator)
    kind = load_operator(model)
    try:
        parameters = kind.Parameters.model_validate(program.parameters)
    except ValidationError:
        return
    if not kind.has_state(parameters):
        yield Fact("it keeps no state, so a redeploy loses none")
        return
    what = "its offset" if issubclass(kind, SourceOperator) else "its state"
    known = f"its uid {model.uid}" if model.uid else f"its full name {model.name}; set a uid before you rename it"
    yield Fact(f"a redeploy keeps {what}, also in another PE or on another host, and finds the operator by {known}")
    levels = Feeds(lookup.logical).levels(model.index)
    for place in range(len(levels)):
        yield Fact(f"if the width of {levels[place].region} changes, {_divided(model, program, kind, levels, place)}")
    yield Fact(f"if the operator is removed, {what} is lost: {GONE}. {remedy_of_gone(model.identity, model.name)}")


def _program(lookup: CompilationIndex, operator: int) -> OperatorProgram | None:
    programs = lookup.deployment.programs
    return next((each.operators[operator] for each in programs if operator in each.operators), None)


def _divided(
    model: LogicalOperator, program: OperatorProgram, kind: type[Operator], levels: tuple[Level, ...], place: int
) -> str:
    """Return a phrase that says whether an operator's state survives a change of a region's width, and how."""
    if reads_by_channel(model.parameters, kind):
        last = refusal(model.name, OFFSET_WITHOUT_CHANNEL.format("the last one"), CHANNELS)
        return f"each channel continues from its own offset; with fewer channels, {last.text}. {last.remedy}"
    wider = tuple(level._replace(width=max(level.width, 2)) for level in levels)
    reason = divisible(sharding_of(program, kind), wider, wider, (place,))
    if reason:
        refused = refusal(model.name, reason, f"parallel region {levels[place].region}")
        return f"its state cannot be kept: {refused.text}. {refused.remedy}"
    return "its state is divided over the new channels"
