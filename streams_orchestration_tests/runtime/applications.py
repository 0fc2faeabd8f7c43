"""Small applications over made-up rows, compiled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping

HERE = "streams_orchestration_tests.runtime.sample_operators"
KEYS = ("a", "b", "c", "d", "e")
RowTuple = tuple[Any, ...]

OPERATORS: dict[str, Any] = {
    "Doubling": {"implementation": f"{HERE}:Doubling", "inputs": [{"mutable": True}], "outputs": [{"mutable": True}]},
    "Writing": {"implementation": f"{HERE}:Writing", "inputs": [{"mutable": True}], "outputs": []},
    "WritingToConst": {"implementation": f"{HERE}:Writing", "inputs": [{"mutable": False}], "outputs": []},
    "Passing": {
        "implementation": f"{HERE}:Passing",
        "inputs": [{}],
        "outputs": [{"mutable": True, "preservesWindowPunctuation": True}],
    },
    "RunningTotals": {
        "implementation": f"{HERE}:RunningTotals",
        "inputs": [{}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    },
    "KeyedTotals": {
        "implementation": f"{HERE}:KeyedTotals",
        "inputs": [{}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    },
    "Visits": {
        "implementation": "streams_orchestration_tests.runtime.redeployment.keyed_operators:Visits",
        "inputs": [{}],
        "outputs": [{}],
        "stateful": True,
    },
    "Last": {
        "implementation": "streams_orchestration_tests.runtime.redeployment.keyed_operators:Last",
        "inputs": [{}],
        "outputs": [{}],
        "stateful": True,
    },
    "Partitions": {
        "implementation": "streams_orchestration_tests.runtime.redeployment.keyed_operators:Partitions",
        "inputs": [],
        "outputs": [{}],
        "consistent": {"start": True},
    },
    "Holding": {"implementation": f"{HERE}:Holding", "inputs": [{}], "outputs": [{}], "stateful": True},
    "Refusing": {"implementation": f"{HERE}:Refusing", "inputs": [{}], "outputs": [{}]},
    "Marks": {"implementation": f"{HERE}:Marks", "inputs": [{}, {}], "outputs": [{}], "stateful": True},
    "leaving": {"implementation": f"{HERE}:leaving", "inputs": [{}], "outputs": [{"mutable": True}]},
    "inverse": {"implementation": f"{HERE}:inverse", "inputs": [{}], "outputs": [{"mutable": True}]},
    "inverse_in_place": {
        "implementation": f"{HERE}:inverse_in_place",
        "inputs": [{"mutates": ["n"]}],
        "outputs": [{"mutable": True}],
    },
    "OtherSchema": {"implementation": f"{HERE}:OtherSchema", "inputs": [{}], "outputs": [{}]},
}
SCHEMAS = {"Row": "k string, n bigint", "Total": "k string, number bigint, total bigint", "Key": "k string"}
PERIODIC = {"consistent": {"trigger": "periodic", "period": 1.0}}
ALONE = {"placement": {"partitionIsolation": True}}


def rows(count: int, first: int = 0) -> list[tuple[str, int]]:
    return [(KEYS[i * i % len(KEYS)], i * 7 % 11) for i in range(first, first + count)]


def write_rows(path: Path, count: int, first: int = 0) -> Path:
    """Write rows into a file; one that holds just these stays as it is, since sources name a file that was replaced."""
    data = rows(count, first)
    table = pa.table({"k": [k for k, _ in data], "n": pa.array([n for _, n in data], pa.int64())})
    if not path.exists() or pq.read_table(path) != table:
        pq.write_table(table, path)
    return path


def source(name: str, path: Path, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "operator": "FileSource",
        "outputs": [{"stream": name, "schema": "Row"}],
        "parameters": {"file": str(path), "format": "parquet"},
        "annotations": PERIODIC,
    } | more


def sink(name: str, *streams: str, **more: Any) -> dict[str, Any]:
    """Return a FileSink that publishes every batch as it is; other parameters take the place of these."""
    parameters = {"file": name, "closeMode": "batch"}
    return {"name": name, "operator": "FileSink", "inputs": [list(streams)], "parameters": parameters} | more


def node(name: str, operator: str, *inputs: str, schema: str = "Row", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "operator": operator,
        "inputs": list(inputs),
        "outputs": [{"stream": name, "schema": schema}],
    } | more


def compiled(
    graph: list[dict[str, Any]],
    composites: dict[str, Any] | None = None,
    *,
    application: str = "app",
    time_zone: str = "UTC",
    **options: Any,
) -> PlannedCompilation:
    document = {
        "specVersion": 1,
        "application": application,
        "timeZone": time_zone,
        "schemas": SCHEMAS,
        "operators": OPERATORS,
        "composites": composites or {},
        "graph": graph,
    }
    return compile_application(application_from_mapping(document), Options(**options))


def totals(path: Path, width: int = 2, **options: Any) -> PlannedCompilation:
    """Rows -> Doubling -> (parallel by key: running totals) -> sink; a second sink reads the rows themselves."""
    graph = [
        source("Rows", path),
        node("Doubled", "Doubling", "Rows"),
        node(
            "PerKey",
            "TotalsOfKeys",
            "Doubled",
            schema="Total",
            annotations={"parallel": {"width": width, "partitionBy": [{"port": "In", "attributes": ["k"]}]}},
        ),
        sink("Out", "PerKey"),
        sink("Raw", "Rows"),
    ]
    inner = [node("Kept", "Filter", "In", parameters={"filter": "n >= 0"})]
    inner += [node("Totals", "RunningTotals", "Kept", schema="Total")]
    composites = {"TotalsOfKeys": {"inputs": ["In"], "outputs": ["Totals"], "graph": inner}}
    graph[2]["outputs"] = ["PerKey"]
    return compiled(graph, composites, **options)


def expected_totals(data: Iterable[tuple[str, int]], factor: int = 2) -> list[RowTuple]:
    """Return the expected totals, computed by pandas."""
    frame = pd.DataFrame(list(data), columns=pd.Index(["k", "n"]))
    number = frame.groupby("k").cumcount() + 1
    total = (frame["n"] * factor).groupby(frame["k"]).cumsum()
    return sorted(zip(frame["k"], number.tolist(), total.tolist(), strict=True))


def published(paths: Iterable[Path]) -> list[RowTuple]:
    """Return all tuples of the parts, sorted."""
    return sorted(tuple(row.values()) for path in paths for row in pq.read_table(path).to_pylist())


def network(directory: Path, count: int, **options: Any) -> PlannedCompilation:
    """Two regions, what both feed outside of regions, and state in every one of them."""
    autonomous: Any = {"annotations": {"autonomous": True}}
    by_key = {"parallel": {"width": 2, "partitionBy": [{"port": "In", "attributes": ["k"]}]}}
    first = write_rows(directory / "first.parquet", count)
    second = write_rows(directory / "second.parquet", count // 2, first=1000)
    graph = [
        source("Rows", first),
        {
            "name": "PerKey",
            "operator": "TotalsOfKeys",
            "inputs": ["Rows"],
            "outputs": ["PerKey"],
            "annotations": by_key,
        },
        sink("Totals", "PerKey"),
        source("Other", second),
        node("Held", "Holding", "Other"),
        node("HeldTotals", "RunningTotals", "Held", schema="Total"),
        sink("Others", "HeldTotals"),
        node("Tail", "KeyedTotals", "Rows", schema="Total", **autonomous),
        sink("Tails", "Tail"),
        node("Either", "Passing", "Rows", **autonomous) | {"inputs": [["Rows", "Other"]]},
        sink("Both", "Either"),
    ]
    inner = [node("Kept", "Doubling", "In"), node("Totals", "KeyedTotals", "Kept", schema="Total")]
    composites = {"TotalsOfKeys": {"inputs": ["In"], "outputs": ["Totals"], "graph": inner}}
    return compiled(graph, composites, **options)


def expected_of_network(count: int) -> dict[str, list[RowTuple]]:
    """Return the tuples that the sinks of the network publish."""
    first, second = rows(count), rows(count // 2, first=1000)
    return {
        "Totals": expected_totals(first),
        "Others": expected_totals(second, factor=1),
        "Tails": expected_totals(first, factor=1),
        "Both": sorted(first + second),
    }
