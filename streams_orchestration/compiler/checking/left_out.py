"""The parts of an application that compiling does not check, since only running needs them."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.implementations import is_standard
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.model.brief import short_list


def queries_of(graph: LogicalGraph) -> tuple[str, ...]:
    """Return the full names of the operators that are Spark queries."""
    return tuple(each.name for each in graph.operators if each.engine == "dataframe")


def left_out(graph: LogicalGraph) -> Iterator[str]:
    """Yield a sentence for each part that compiling did not check; as many operators are named as fit a line."""
    standard = [each for each in graph.operators if is_standard(each) and each.engine != "dataframe"]
    if standard:
        yield "types of expressions, required parameters and packages of standard operators"
    own = [each.name for each in graph.operators if not is_standard(each) and not each.is_native]
    if own:
        yield f"the code of {short_list(own)}"
    if graph.imports or graph.exports:
        yield "properties and subscriptions"
    if any("eventTime" in each.parameters for each in graph.imports):
        yield "the event time of the imported streams"
    if queries := queries_of(graph):
        yield f"the queries of {short_list(queries)}"
