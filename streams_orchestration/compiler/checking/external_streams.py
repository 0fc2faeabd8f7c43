"""Checks of Imports and Exports that run before an application is deployed (rule 34)."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.compiler.checking.expression_faults import expression_fault
from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.physical_graph import PhysicalGraph, PortLink
from streams_orchestration.expressions.times import expected_zone
from streams_orchestration.model.brief import without_channels
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.subscription import check_properties, parse_subscription
from streams_orchestration.operators.errors.errors import FaultyExpressionError
from streams_orchestration.operators.expressions.evaluation import condition_of


def faulty_external_streams(done: Progress) -> Iterator[Diagnostic]:
    """Yield the faults of Imports and Exports: bad subscriptions, filters and properties, and streams of unknown type.

    Each fault is reported once for all replicas. Without an expanded graph there are none.
    """
    graph, time_zone = done.get(PhysicalGraph), done[LogicalGraph].time_zone
    if graph is None:
        return
    seen: set[tuple[str, str, str]] = set()
    for link in (*graph.imports, *graph.exports):
        code = "SO5005" if link.kind == "import" else "SO5006"
        try:
            problem = _import_problem(link, time_zone) if link.kind == "import" else _export_problem(link)
        except FaultyExpressionError as error:
            problem = str(error)
            found = expression_fault(code, error, link.name, link.location, lambda _, link=link: link.location)
        else:
            found = Diagnostic.of(code, problem or "", operator=link.name, location=link.location)
        fault = (code, without_channels(link.name), problem or "")
        if problem is not None and fault not in seen:
            seen.add(fault)
            yield found


def _import_problem(link: PortLink, time_zone: str) -> str | None:
    if link.schema is None:
        return "the imported stream has no schema; declare it at the Import: outputs: [{stream: Name, schema: Type}]"
    try:
        if "subscription" in link.parameters:
            parse_subscription(str(link.parameters["subscription"]))
        if "filter" in link.parameters:
            condition_of(str(link.parameters["filter"]), link.schema, expected_zone(time_zone))
    except FaultyExpressionError:
        raise
    except ValueError as error:
        return str(error)
    return None


def _export_problem(link: PortLink) -> str | None:
    if link.schema is None:
        return "the exported stream has no schema; declare it where the stream is produced"
    return check_properties(link.parameters.get("properties", {}))
