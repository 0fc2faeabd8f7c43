"""External assets for the nodes of a lineage that Dagster does not compute."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import dagster as dg
import networkx as nx

from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.model.schema import parse_schema
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, LINEAGE, own_key
from streams_orchestration.orchestration.console_links import console_metadata
from streams_orchestration.orchestration.lineage import whole_row_columns
from streams_orchestration.orchestration.spec_state import spec_kind
from streams_orchestration.runtime import api

LINK = "streams/parameters"
"""Key of the metadata of Imports and Exports: their parameters, which decide what connects with what."""
WHOLE_ROWS = "streams/whole_rows"
"""Key of the metadata of streams and sinks: the columns that functions over whole rows make."""
LAYERS = {"spec": "compilation", "deployment": "deployment", "pe": "deployment", "stream": "deployment"}
"""Kind of a node -> layer of its asset; the layer of all other kinds is data."""


def external_assets(graph: nx.DiGraph[str]) -> list[dg.AssetSpec]:
    """Return an asset for each node except the stages, whose assets Dagster computes."""
    application = graph.graph["application"]
    return [
        dg.AssetSpec(
            key=own_key(application, node),
            deps=[own_key(application, source) for source in graph.predecessors(node)],
            group_name=application,
            description=facts["description"],
            kinds=_kinds(facts),
            tags={APPLICATION_TAG: application, "streams/layer": LAYERS.get(facts["kind"], "data")},
            metadata=_metadata(facts)
            | _standard_metadata(application, facts)
            | console_metadata(application, node, facts),
        )
        for node, facts in graph.nodes(data=True)
        if node not in BY_NAME
    ]


def _kinds(facts: Mapping[str, Any]) -> set[str]:
    spec = spec_kind(facts.get("location") or "")
    fixed = {"spec": {spec}, "deployment": {"spark"}, "pe": {"spark", "python"}, "stream": {"arrow"}}
    if facts["kind"] in fixed:
        return fixed[facts["kind"]]
    # the operator's kind tells a Beacon from a file whose ending says nothing
    return {api.find_data_format(facts) or facts.get("operator_kind", facts["kind"]).lower(), facts["kind"]}


def _standard_metadata(application: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that Dagster's UI understands: columns, their origins, the line of the spec.

    Each is left out if it is unknown.
    """
    shown: dict[str, Any] = {}
    attributes = parse_schema(facts["schema"]).attributes if facts.get("schema") else ()
    if attributes:
        columns = [
            dg.TableColumn(each.name, each.type, constraints=dg.TableColumnConstraints(nullable=not each.required))
            for each in attributes
        ]
        shown["dagster/column_schema"] = dg.TableSchema(columns)
    if facts.get("columns"):
        deps = {
            column: [dg.TableColumnDep(own_key(application, node), name) for node, name in sorted(origin.columns)]
            for column, origin in facts["columns"].items()
        }
        shown[LINEAGE] = dg.TableColumnLineage(deps)
        if whole := whole_row_columns(facts):
            shown[WHOLE_ROWS] = whole
    if (place := facts.get("place")) is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", dg.BetaWarning)
            reference = dg.LocalFileCodeReference(
                file_path=place.file, line_number=place.line, label=f"line {place.line} of the spec"
            )
            shown["dagster/code_references"] = dg.CodeReferencesMetadataValue(code_references=[reference])
    return shown


def _metadata(facts: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        f"streams/{name}": value
        for name, value in facts.items()
        if name in ("operator", "operator_kind", "location", "address", "schema", "host", "region")
        and value not in (None, -1)
    }
    if "parameters" in facts:
        shown[LINK] = facts["parameters"]
    if facts.get("operators"):
        shown["streams/operators"] = list(facts["operators"])
    return shown
