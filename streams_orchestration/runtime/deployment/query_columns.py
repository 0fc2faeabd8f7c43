"""The output columns of an application's Spark queries, which Spark finds out before a deployment."""

from __future__ import annotations

from dataclasses import replace

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.query_columns import QueryColumns
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic
from streams_orchestration.runtime.programs.stored_compilation import base_directory


def add_query_columns(wanted: Deployable) -> PlannedCompilation:
    """Analyse the dataframe queries of an application with Spark, which takes some seconds if there are any.

    Returns:
        The compilation with the origins of the queries' output columns.

    Raises:
        ApplicationError: Spark refuses a query, or the function of a query raises.
        AnalysisError, JavaError: Spark could not analyse the queries.
        HostLaunchError: this process may have too few files open for Spark.
    """
    compilation = wanted.compilation
    queries = [program for program in wanted.plan.programs if program.engine == "dataframe"]
    if not queries:
        return replace(compilation, query_columns=())
    # loads the analysis of the engine, which applications without queries do without
    from streams_orchestration.runtime.engine.spark.frames.analysis import analyse_queries

    analysis = analyse_queries(queries, base_directory(compilation))
    operators, logical = compilation.physical.operators, compilation.logical.operators
    if analysis.refusals:
        models = {each.name: logical[each.logical] for each in operators}
        raise ApplicationError(_refused(models[each.operator], each.reason) for each in analysis.refusals)
    known = {logical[operators[number].logical].name: each for number, each in analysis.columns.items()}
    columns = tuple(QueryColumns(name, known[name].outputs, known[name].influences) for name in sorted(known))
    return replace(compilation, query_columns=columns)


def _refused(operator: LogicalOperator, reason: str) -> Diagnostic:
    place = next((key for key in ("query", "function") if key in operator.parameters), "")
    text = f"Spark refuses it: {reason}" if reason.startswith("[") else reason
    return Diagnostic.of("SO5010", text, operator=operator.name, location=operator.location_of(place))
