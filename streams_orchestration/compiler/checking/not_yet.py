"""The parts of event time that compile and do not run yet. An entry goes when its part runs."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.event_time.uses import uses_of
from streams_orchestration.compiler.logical_graph import LogicalGraph, LogicalOperator
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.stage_results import EventTimeMap
from streams_orchestration.compiler.walks import reached
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.operators.event_time.clause import WindowClauseError

CODE = "SO5012"
_PARAMETERS = {
    "Sql": ("watermarks",),
    "DataFrame": ("watermarks",),
}
"""Parameters of standard operators of which a value that needs event time does not run yet."""


def not_yet(operator: LogicalOperator) -> tuple[str, ...]:
    """Return the parts of event time that an operator has and that do not run yet."""
    return tuple(_of_parameters(operator))


def refusals(operator: LogicalOperator) -> Iterator[Diagnostic]:
    """Yield a finding for each part of event time of an operator that does not run yet."""
    for part in not_yet(operator):
        message = f"{part} compiles, and does not run yet"
        yield Diagnostic.of(CODE, message, operator=operator.name, location=operator.location)


def refused_queries(logical: LogicalGraph, physical: PhysicalGraph, event_time: EventTimeMap) -> Iterator[Diagnostic]:
    """Yield a finding for each Spark query upstream of an operator that uses event time.

    Such a query sends no watermarks, so panes would be complete only at the end of the stream.
    """
    model_of = {each.operator: physical.operators[each.operator].logical for each in event_time.operators}
    producers = {
        each.operator: [physical.connections[number].source for number in each.connections]
        for each in event_time.operators
    }
    using = [number for number, model in model_of.items() if _uses_event_time(logical.operators[model])]
    upstream = reached((source for number in using for source in producers[number]), producers)
    for model in sorted({model_of[number] for number in upstream}):
        operator = logical.operators[model]
        if operator.engine == "dataframe":
            message = "a query of Spark's sends no watermarks yet, and an operator behind it uses event time"
            yield Diagnostic.of(CODE, message, operator=operator.name, location=operator.location)


def _uses_event_time(operator: LogicalOperator) -> bool:
    try:
        return any(True for _ in uses_of(operator))
    except WindowClauseError:
        return False  # a finding of the stage


def _of_parameters(operator: LogicalOperator) -> Iterator[str]:
    try:
        uses = list(uses_of(operator))
    except WindowClauseError:
        return  # a finding of the stage
    yield from (use.shown for use in uses if use.parameter in _PARAMETERS.get(operator.kind, ()))
