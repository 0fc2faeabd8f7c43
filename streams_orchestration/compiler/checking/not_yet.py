"""The parts of event time that compile and do not run: some watermarks of Spark queries."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.event_time.uses import uses_event_time
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeMap, FusionPlan
from streams_orchestration.compiler.walks import reached
from streams_orchestration.model.containers import is_mapping
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.operators.contract.frame_operator import INNER_WATERMARK


def refused_queries(done: Progress) -> Iterator[Diagnostic]:
    """Yield a finding for each annotated Spark query upstream of an operator that uses event time.

    Only the watermark of a query's input is known, not the times of its results before Spark has computed them. Yield
    nothing if an earlier error left no expanded graph or no event-time map.
    """
    logical = done[LogicalGraph]
    physical = done.get(PhysicalGraph)
    event_time = done.get(EventTimeMap)
    if physical is None or event_time is None:
        return
    model_of = {each.operator: physical.operators[each.operator].logical for each in event_time.operators}
    producers = {
        each.operator: [physical.connections[number].source for number in each.connections]
        for each in event_time.operators
    }
    using = [number for number, model in model_of.items() if uses_event_time(logical.operators[model])]
    upstream = reached((source for number in using for source in producers[number]), producers)
    for model in sorted({model_of[number] for number in upstream}):
        operator = logical.operators[model]
        if operator.engine == "dataframe" and operator.event_time is not None:
            message = (
                "a Spark query with eventTime compiles, but cannot run: the times of its results are not known before "
                "Spark has computed them. Annotate an operator downstream of it, or let it take event time from its "
                "input"
            )
            yield Diagnostic.of("SO5012", message, operator=operator.name, location=operator.location)


def inner_watermarks(done: Progress) -> Iterator[Diagnostic]:
    """Yield a finding for each view with a watermark that comes from another query in the same PE.

    Queries of one PE are composed to one query of Spark, which has the watermarks of its inputs. Yield nothing if an
    earlier error left no expanded graph or no PEs.
    """
    logical = done[LogicalGraph]
    physical = done.get(PhysicalGraph)
    fusion = done.get(FusionPlan)
    if physical is None or fusion is None:
        return
    inner = {
        (physical.operators[each.target].logical, each.target_port)
        for each in physical.connections
        if fusion.pe_of[each.source] == fusion.pe_of[each.target]
        and logical.operators[physical.operators[each.source].logical].engine == "dataframe"
    }
    for model, port in sorted(inner):
        operator = logical.operators[model]
        watermarks, view = operator.parameters.get("watermarks"), operator.inputs[port].name
        if operator.engine == "dataframe" and is_mapping(watermarks) and view in watermarks:
            place = operator.location_of("watermarks")
            yield Diagnostic.of("SO5010", INNER_WATERMARK.format(view), operator=operator.name, location=place)
