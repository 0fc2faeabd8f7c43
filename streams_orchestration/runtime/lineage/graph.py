"""The lineage graph of an application: from its sources over PEs and streams to its sinks, and from spec to deployment.

Dagster's lineage page and `streams lineage` show this graph. Nodes are named by their path: `spec`, `fusion_plan`,
`deployment`, `sources/Flights`, `pes/pe_0`, `streams/Out[1].B`, `sinks/Results`. A file that an operator reads beside
its streams is named by the operator and the parameter that names the file: `sources/Airlines.table`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import networkx as nx

from streams_orchestration.compiler.column_lineage import ColumnOrigins, reference_node
from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.deployment.deployment import address_of
from streams_orchestration.compiler.deployment_plan import DeploymentPlan
from streams_orchestration.compiler.drawing.picture import short_kind
from streams_orchestration.compiler.logical_graph import LogicalOperator
from streams_orchestration.compiler.physical_graph import PhysicalOperator
from streams_orchestration.compiler.stage import DEPLOYMENT
from streams_orchestration.compiler.stage_results import ProcessingElement
from streams_orchestration.compiler.stages import STAGES
from streams_orchestration.model.secrets import masked
from streams_orchestration.runtime.lineage.reference_files import ReferenceFile, reference_files

LOCATION_PARAMETERS = ("file", "path", "directory", "table", "topic")
FORMATS = ("csv", "json", "jsonl", "line", "parquet", "arrow", "orc", "txt")


def build_stage_lineage(application: str) -> nx.DiGraph[str]:
    """Return the part of the graph that is known before compilation: spec, stages, deployment."""
    graph: nx.DiGraph[str] = nx.DiGraph(application=application)
    _add(graph, "spec", "spec", f"The spec of {application}")
    for stage in STAGES:
        _add(graph, stage.name, "stage", stage.description)
        for source in stage.inputs or ("spec",):
            graph.add_edge(source, stage.name)
    words = "as it is deployed: its hosts, its PEs, and the units that fail and recover together"
    _add(graph, "deployment", "deployment", f"{application} {words}")
    graph.add_edge(DEPLOYMENT, "deployment")
    return graph


def build_lineage_graph(compilation: Compilation) -> nx.DiGraph[str]:
    """Return the whole lineage graph of a compiled application.

    Every node has `kind` (spec, stage, deployment, source, pe, stream, sink, import, export) and `description`. Further
    attributes, if known:

    - PEs: `operators`, `region` (-1 for none) and `host`.
    - Sources and sinks: `operator`, `operator_kind`, `location`, `address` without credentials, and `format`.
    - Imports and Exports: `parameters`.
    - Streams, sources and sinks: `schema`.
    - Streams and sinks: `columns`, the origins of their columns, and `influences`, the columns that decide which tuples
      exist.
    - PEs, streams, sources and sinks: `place`, the line of the spec.

    Raises:
        ImplementationError: the application is deployed, and the class of an operator cannot be imported.
    """
    origins = ColumnOrigins(compilation)
    logical, physical = compilation.logical, compilation.physical
    graph = build_stage_lineage(logical.application)
    models = [logical.operators[operator.logical] for operator in physical.operators]
    plan = compilation.progress.get(DeploymentPlan)
    deployed = () if plan is None else plan.pes
    programs = [operator for pe in deployed for operator in pe.program.operators.values()]
    addresses = {each.name: address_of(each) for each in programs if not (each.inputs and each.outputs)}
    read = {each.index: reference_files(each, import_all=plan is not None) for each in logical.operators}
    for pe in compilation.fusion.pes:
        name = f"pes/pe_{pe.id}"
        _add_pe(graph, name, pe, compilation)
        for number in pe.operators:
            operator = physical.operators[number]
            _add_ends(graph, name, operator, models[number], addresses.get(operator.name))
            _add_reference_files(graph, name, models[number], read[operator.logical])
        for number in pe.operators:
            if (sink := f"sinks/{physical.operators[number].name}") in graph:
                schemas = {
                    models[c.source].outputs[c.source_port].schema for c in physical.connections if c.target == number
                }
                schema = schemas.pop() if len(schemas) == 1 else None
                graph.nodes[sink].update(
                    schema=schema, columns=origins.of_inputs(number), influences=origins.influences_on_inputs(number)
                )
    stream_of: dict[tuple[int, int], str] = {}
    for pe in compilation.fusion.pes:
        for port in pe.outputs:
            stream = physical.operators[port.operator].streams[port.port]
            node = f"streams/{stream}"
            schema = models[port.operator].outputs[port.port].schema
            producer = physical.operators[port.operator].name
            _add(
                graph,
                node,
                "stream",
                f"Stream of {producer}, kept on the transport",
                schema=schema,
                columns=origins.of_output(port.operator, port.port),
                influences=origins.influences_on_output(port.operator),
                place=models[port.operator].location,
            )
            graph.add_edge(f"pes/pe_{pe.id}", node)
            stream_of[port.operator, port.port] = node
    pe_of = compilation.fusion.pe_of
    for connection in physical.connections:
        if pe_of[connection.source] != pe_of[connection.target]:
            node = stream_of[connection.source, connection.source_port]
            graph.add_edge(node, f"pes/pe_{pe_of[connection.target]}")
    for link in (*physical.imports, *physical.exports):
        node, pe = f"{link.kind}s/{link.name}", f"pes/pe_{pe_of[link.operator]}"
        words = ", ".join(f"{key} {value}" for key, value in sorted(link.parameters.items()))
        _add(
            graph,
            node,
            link.kind,
            f"{link.kind.capitalize()} of streams of other applications: {words}",
            parameters=dict(link.parameters),
        )
        graph.add_edge(*((node, pe) if link.kind == "import" else (pe, node)))
    return graph


def _add(graph: nx.DiGraph[str], node: str, kind: str, description: str, **facts: Any) -> None:
    graph.add_node(node, kind=kind, description=description, **facts)


def _add_pe(graph: nx.DiGraph[str], name: str, pe: ProcessingElement, compilation: Compilation) -> None:
    operators = tuple(compilation.physical.operators[number].name for number in pe.operators)
    # An autonomous operator in the PE of a region shares the region's fate.
    region = max((compilation.regions.region_of[number] for number in pe.operators), default=-1)
    place = f"consistent region {region}" if region >= 0 else "autonomous"
    description = f"PE {pe.id} on host {pe.host}, {place}: {', '.join(operators)}"
    first = compilation.logical.operators[compilation.physical.operators[pe.operators[0]].logical]
    _add(graph, name, "pe", description, operators=operators, region=region, host=pe.host, place=first.location)
    graph.add_edge("deployment", name)


def _add_ends(
    graph: nx.DiGraph[str], pe: str, operator: PhysicalOperator, model: LogicalOperator, address: str | None
) -> None:
    """Add the data that a source reads or a sink writes. Other operators, also those without ports, add nothing."""
    location = next(
        (masked(str(model.parameters[key])) for key in LOCATION_PARAMETERS if model.parameters.get(key)), None
    )
    location = location or address or None
    where = location or f"what {operator.name} {'makes' if not model.inputs else 'takes'}"
    facts = {"operator": operator.name, "operator_kind": short_kind(model.kind), "location": location}
    facts |= {"address": address or None}
    facts |= {"place": model.location, "format": model.parameters.get("format")}
    if model.outputs and not model.inputs:
        facts["schema"] = model.outputs[0].schema
        _add(graph, f"sources/{operator.name}", "source", f"{where}, read by {short_kind(model.kind)}", **facts)
        graph.add_edge(f"sources/{operator.name}", pe)
    if model.inputs and not model.outputs:
        _add(graph, f"sinks/{operator.name}", "sink", f"{where}, written by {short_kind(model.kind)}", **facts)
        graph.add_edge(pe, f"sinks/{operator.name}")


def _add_reference_files(
    graph: nx.DiGraph[str], pe: str, model: LogicalOperator, files: Sequence[ReferenceFile]
) -> None:
    """Add the files that an operator reads in addition to its streams; all replicas read the same files."""
    for each in files:
        node = reference_node(model.name, each.name)
        kind = short_kind(model.kind)
        location = masked(each.file)
        facts = {"operator": model.name, "operator_kind": kind, "location": location, "address": location}
        facts |= {"place": model.location, "format": each.facts.get("format"), "schema": each.facts.get("schema")}
        _add(graph, node, "source", f"{location}, read by {kind} {model.name} beside its streams", **facts)
        graph.add_edge(node, pe)


def find_data_format(node: Mapping[str, Any]) -> str | None:
    """Return the file format of a source or sink, by its operator, else by its location's ending; None if unknown."""
    ending = PurePath(str(node.get("location") or "")).suffix.lstrip(".").lower()
    return next((each for each in (node.get("format"), ending) if each in FORMATS), None)
