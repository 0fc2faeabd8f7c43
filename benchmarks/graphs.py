"""Small applications over `k string, n bigint`, made up for benchmarks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = "benchmarks.sample_operators"
PORTS = {"inputs": [{}], "outputs": [{"mutable": True}], "singleThreaded": "Always"}
OPERATORS: dict[str, Any] = {
    "Totals": {"implementation": f"{HERE}:Totals", "stateful": True} | PORTS,
    "Keyed": {"implementation": f"{HERE}:Keyed", "stateful": True} | PORTS,
    "Pass": {"implementation": f"{HERE}:Pass"} | PORTS,
    "Digest": {"implementation": f"{HERE}:Digest"} | PORTS,
    "Add": {"implementation": f"{HERE}:Add"} | PORTS | {"inputs": [{"mutable": True, "mutates": ["n"]}]},
}


Composites = Mapping[str, dict[str, Any]]


def document(name: str, graph: Sequence[dict[str, Any]], composites: Composites | None = None) -> dict[str, Any]:
    """Return the document of an application."""
    return {
        "specVersion": 1,
        "application": name,
        "schemas": {"Row": "k string, n bigint"},
        "operators": OPERATORS,
        "composites": dict(composites or {}),
        "graph": [*graph],
    }


def write(directory: Path, name: str, graph: Sequence[dict[str, Any]], composites: Composites | None = None) -> Path:
    """Write an application to a spec file, and return its path."""
    path = directory / f"{name}.yaml"
    path.write_text(json.dumps(document(name, graph, composites)))
    return path


def beacon(name: str, tuples: int | None = None) -> dict[str, Any]:
    """Return a source of some tuples, or an endless one, that starts a region with an epoch every two seconds."""
    parameters: dict[str, Any] = {"output": {"k": "'k' || (IterationCount() % 5)", "n": "IterationCount()"}}
    return {
        "name": name,
        "operator": "Beacon",
        "outputs": [{"stream": name, "schema": "Row"}],
        "parameters": parameters | ({} if tuples is None else {"iterations": tuples}),
        "annotations": {"consistent": {"trigger": "periodic", "period": 2.0}},
    }


def node(name: str, operator: str, *streams: str, **more: Any) -> dict[str, Any]:
    """Return an operator with one input port and one output stream of its name."""
    return {
        "name": name,
        "operator": operator,
        "inputs": [list(streams)],
        "outputs": [{"stream": name, "schema": "Row"}],
    } | more


def sink(name: str, stream: str) -> dict[str, Any]:
    """Return a sink that writes Parquet files."""
    parameters = {"file": name, "format": "parquet"}
    return {"name": name, "operator": "FileSink", "inputs": [stream], "parameters": parameters}
