"""The part of event time that compiles and does not run yet: a Spark query that is annotated with `eventTime`."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.compilation import Stages, need
from streams_orchestration.compiler.event_time.uses import uses_event_time
from streams_orchestration.compiler.walks import reached
from streams_orchestration.model.diagnostics import Diagnostic


def refused_queries(done: Stages) -> Iterator[Diagnostic]:
    """Yield a finding for each annotated Spark query upstream of an operator that uses event time.

    Only the watermark of a query's input is known, not the times of its results before Spark has computed them.
    """
    logical, physical, event_time = need(done.logical), done.physical, done.event_time
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
                "eventTime of a Spark query compiles, and does not run: the times of its results are not known before "
                "Spark has computed them. Annotate an operator behind it, or let it take event time from its input"
            )
            yield Diagnostic.of("SO5012", message, operator=operator.name, location=operator.location)
