"""The nodes of a lineage that Dagster does not compute, as external assets."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import dagster as dg
import networkx as nx

from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.orchestration.lineage import data_format
from streams_orchestration.orchestration.watching import REPORT_INTERVAL

LINK = "streams/parameters"
"""Metadata of Imports and Exports: what they are about."""
LAYERS = {"spec": "compilation", "deployment": "deployment", "pe": "deployment", "stream": "deployment"}
"""Kind of a node -> layer of its asset; all others are data."""


def external_assets(graph: nx.DiGraph) -> list[dg.AssetSpec]:
    """An asset for each node but the stages, which are assets with a computation behind them."""
    application = graph.graph["application"]
    return [
        dg.AssetSpec(
            key=asset_key(application, node),
            deps=[asset_key(application, source) for source in graph.predecessors(node)],
            group_name=application,
            description=facts["description"],
            kinds=_kinds(facts),
            tags={"streams/application": application, "streams/layer": LAYERS.get(facts["kind"], "data")},
            metadata=_metadata(facts),
            freshness_policy=_freshness(facts),
        )
        for node, facts in graph.nodes(data=True)
        if node not in BY_NAME
    ]


def _freshness(facts: Mapping[str, Any]) -> dg.FreshnessPolicy | None:
    """Of a deployment that is to complete epochs for ever: a materialization says that every region has done so."""
    period = facts.get("cut_seconds")
    if period is None:
        return None
    warn = timedelta(seconds=2 * REPORT_INTERVAL + 5 * period)
    return dg.FreshnessPolicy.time_window(fail_window=2 * warn, warn_window=warn)


def asset_key(application: str, node: str) -> dg.AssetKey:
    """The asset of a lineage node: `pes/pe_0` of `flights` is `flights/pes/pe_0`."""
    return dg.AssetKey([application, *node.split("/", 1)])


def _kinds(facts: Mapping[str, Any]) -> set[str]:
    fixed = {"spec": {"yaml"}, "deployment": {"spark"}, "pe": {"spark", "python"}, "stream": {"arrow"}}
    return fixed.get(facts["kind"]) or {data_format(facts) or facts["kind"]}


def _metadata(facts: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        f"streams/{name}": value
        for name, value in facts.items()
        if name in ("operator", "operator_kind", "location", "schema", "host", "region") and value not in (None, -1)
    }
    if "parameters" in facts:
        shown[LINK] = facts["parameters"]
    if facts.get("operators"):
        shown["streams/operators"] = list(facts["operators"])
    return shown
