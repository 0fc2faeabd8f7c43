"""From which attributes the columns of queries are made, as Spark's analysis says: SQL or a function -> origins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.engine.spark.frames.analysis import analyse_queries

pytestmark = pytest.mark.java
ROW = "k string, ts timestamp, n bigint, many array<string>"
TIME = {"attribute": "ts", "delay": "1 minute"}
NAMES = {"names": {"file": "names.csv", "format": "csv", "schema": "id string, name string"}}
QUERIES: dict[str, tuple[str, str, dict[str, str]]] = {
    "expressions": (
        "SELECT k, n + length(many[0]) AS sum, 'x' AS fixed FROM Rows WHERE ts > TIMESTAMP '2026-01-01'",
        "k string, sum bigint, fixed string",
        {"k": "Rows.k", "sum": "Rows.many Rows.n", "fixed": ""},
    ),
    "star": ("SELECT * FROM Rows", ROW, {"k": "Rows.k", "ts": "Rows.ts", "n": "Rows.n", "many": "Rows.many"}),
    "swapped by position": (
        "SELECT k AS n, n AS k FROM Rows", "k bigint, n string", {"k": "Rows.n", "n": "Rows.k"},
    ),
    "nested query": (
        "SELECT up AS k, m FROM (SELECT upper(a) AS up, m FROM (SELECT k AS a, n * 2 AS m FROM Rows))",
        "k string, m bigint",
        {"k": "Rows.k", "m": "Rows.n"},
    ),
    "common table used twice": (
        "WITH some AS (SELECT k AS key, n FROM Rows) "
        "SELECT key AS k, n FROM some WHERE n > 1 UNION ALL SELECT concat(key, n) AS k, 0L AS n FROM some",
        "k string, n bigint",
        {"k": "Rows.k Rows.n", "n": "Rows.n"},
    ),
    "windows": (
        "SELECT k, window.start AS w, count(*) AS c, sum(n) AS s FROM Rows GROUP BY k, window(ts, '1 minute')",
        "k string, w timestamp, c bigint, s bigint",
        {"k": "Rows.k", "w": "Rows.ts", "c": "", "s": "Rows.n"},
    ),
    "sliding windows": (
        "SELECT window.`end` AS w, max(n) FILTER (WHERE k > 'a') AS m FROM Rows "
        "GROUP BY window(ts, '2 minutes', '1 minute')",
        "w timestamp, m bigint",
        {"w": "Rows.ts", "m": "Rows.k Rows.n"},
    ),
    "sessions": (
        "SELECT k, session_window.start AS w, count(*) AS c FROM Rows GROUP BY k, session_window(ts, '1 minute')",
        "k string, w timestamp, c bigint",
        {"k": "Rows.k", "w": "Rows.ts", "c": ""},
    ),
    "join": (
        "SELECT Rows.k, Other.n, Rows.n + coalesce(Other.n, 0) AS both FROM Rows LEFT JOIN Other ON Rows.k = Other.k "
        "AND Other.ts BETWEEN Rows.ts - INTERVAL 1 MINUTE AND Rows.ts",
        "k string, n bigint, both bigint",
        {"k": "Rows.k", "n": "Other.n", "both": "Other.n Rows.n"},
    ),
    "join by name": (
        "SELECT k, Other.n FROM Rows JOIN Other USING (k) WHERE Rows.ts = Other.ts",
        "k string, n bigint",
        {"k": "Rows.k", "n": "Other.n"},
    ),
    "join with itself": (
        "SELECT a.k, b.n FROM Rows a JOIN Rows b ON a.k = b.k AND a.ts = b.ts",
        "k string, n bigint",
        {"k": "Rows.k", "n": "Rows.n"},
    ),
    "union": (
        "SELECT k, n FROM Rows UNION ALL SELECT concat(k, '!') AS k, length(k) AS n FROM Other",
        "k string, n bigint",
        {"k": "Other.k Rows.k", "n": "Other.k Rows.n"},
    ),
    "unfolded": (
        "SELECT k, part FROM Rows LATERAL VIEW explode(many) parts AS part",
        "k string, part string",
        {"k": "Rows.k", "part": "Rows.many"},
    ),
    "table that does not stream": (
        "SELECT k, name, concat(name, n) AS both FROM Rows JOIN names ON k = id",
        "k string, name string, both string",
        {"k": "Rows.k", "name": "", "both": "Rows.n"},
    ),
    "looked up": (
        "SELECT k, (SELECT max(name) FROM names WHERE id = Rows.k) AS name FROM Rows",
        "k string, name string",
        {"k": "Rows.k", "name": "Rows.k"},
    ),
    "unpivoted": (
        "SELECT k, kind, value FROM (SELECT k, n, length(k) AS m FROM Rows) UNPIVOT (value FOR kind IN (n, m))",
        "k string, kind string, value bigint",
        {"k": "Rows.k", "kind": "", "value": "Rows.k Rows.n"},
    ),
}  # fmt: skip
"""Name -> query over the streams Rows and Other, its schema, and the origins of each column."""
CODE = """
import pandas as pd
from pyspark.sql import functions as F

def renamed(rows, other):
    return rows.dropDuplicates(["k", "ts"]).withColumnRenamed("k", "key").withColumn("m", F.col("n") + 1).drop("ts")

def two_ports(rows, other):
    return {0: rows.select("k"), 1: other.selectExpr("k as o", "n")}

def scalar(rows, other):
    return rows.select("k", F.udf(lambda k, n: n, "bigint")("k", "n").alias("m"))

def over_rows(rows, other):
    return rows.select("k", "n").mapInPandas(lambda frames: frames, "k string, n bigint").withColumn("up", F.upper("k"))

def over_groups(rows, other):
    def update(key, frames, state):
        yield pd.DataFrame({"k": [key[0]], "c": [1]})
    return rows.select("k", "n", "ts").groupBy("k").applyInPandasWithState(
        update, "k string, c bigint", "c bigint", "append", "NoTimeout")
"""
FUNCTIONS: dict[str, tuple[list[str], dict[str, str]]] = {
    "renamed": (
        ["key string, n bigint, many array<string>, m bigint"],
        {"key": "Rows.k", "n": "Rows.n", "many": "Rows.many", "m": "Rows.n"},
    ),
    "two_ports": (["k string", "o string, n bigint"], {"k": "Rows.k", "o": "Other.k", "n": "Other.n"}),
    "scalar": (["k string, m bigint"], {"k": "Rows.k", "m": "Rows.k Rows.n"}),
    "over_rows": (
        ["k string, n bigint, up string"],
        {"k": "Rows.k Rows.n, whole rows", "n": "Rows.k Rows.n, whole rows", "up": "Rows.k Rows.n, whole rows"},
    ),
    "over_groups": (
        ["k string, c bigint"],
        {"k": "Rows.k Rows.n Rows.ts, whole rows", "c": "Rows.k Rows.n Rows.ts, whole rows"},
    ),
}
"""Function -> the schemas of its output ports, and the origins of all of their columns."""
INFLUENCES = {
    "expressions": "Rows.ts FILTER",
    "common table used twice": "Rows.n FILTER",
    "windows": "Rows.k GROUP_BY, Rows.ts FILTER, Rows.ts GROUP_BY",
    "sliding windows": "Rows.ts FILTER, Rows.ts GROUP_BY",
    "sessions": "Rows.k GROUP_BY, Rows.ts FILTER, Rows.ts GROUP_BY",
    "join": "Other.k JOIN, Other.ts JOIN, Rows.k JOIN, Rows.ts JOIN",
    "join by name": "Other.k JOIN, Other.ts FILTER, Rows.k JOIN, Rows.ts FILTER",
    "join with itself": "Rows.k JOIN, Rows.ts JOIN",
    "table that does not stream": "Rows.k JOIN",
    "looked up": "Rows.k FILTER",
    "unpivoted": "Rows.k FILTER, Rows.n FILTER",
    "renamed": "Rows.k FILTER, Rows.ts FILTER",
    "over_groups": "Rows.k GROUP_BY",
}
"""Query or function -> the attributes that decide which rows there are, with the way; of others there are none."""
SECOND = {"k": "First.up", "m": "First.m"}
"""The origins of a query behind another one in the same PE: its own input counts."""


def document() -> dict[str, Any]:
    graph: list[dict[str, Any]] = [
        {"name": name, "operator": "Beacon", "parameters": {"output": {"n": "1"}},
         "outputs": [{"stream": name, "schema": ROW}]} for name in ("Rows", "Other")
    ]  # fmt: skip

    def add(name: str, operator: str, schemas: list[str], parameters: dict[str, Any], **more: Any) -> None:
        outputs = [{"stream": f"{name}{port}", "schema": schema} for port, schema in enumerate(schemas)]
        graph.append({"name": name, "operator": operator, "inputs": ["Rows", "Other"], "outputs": outputs,
                      "parameters": parameters} | more)  # fmt: skip

    for number, (query, schema, _) in enumerate(QUERIES.values()):
        both = {"watermarks": {"Rows": TIME, "Other": TIME}, "static": NAMES}
        add(f"Q{number}", "Sql", [schema], {"query": query} | both)
    for name, (schemas, _) in FUNCTIONS.items():
        add(name, "DataFrame", schemas, {"function": f"shop:{name}"})
    together = {"config": {"placement": {"partitionColocation": "together"}}}
    add("A", "Sql", ["up string, m bigint"], {"query": "SELECT upper(k) AS up, n AS m FROM Rows"}, **together)
    second = {"inputs": [{"streams": ["A0"], "name": "First"}]}
    add("B", "Sql", ["k string, m bigint"], {"query": "SELECT up AS k, m FROM First"}, **together, **second)
    split = {
        "parallel": {"width": 2, "partitionBy": [{"port": port, "attributes": ["k"]} for port in ("Rows", "Other")]}
    }
    add("C", "Sql", ["m bigint"], {"query": "SELECT n AS m FROM Rows"}, annotations=split)
    return {"specVersion": 1, "application": "origins", "graph": graph}


def test_each_column_of_a_query_has_the_attributes_that_it_is_made_from(tmp_path: Path):
    (tmp_path / "shop.py").write_text(CODE)
    (tmp_path / "names.csv").write_text("id,name\na,Anna\n")
    path = tmp_path / "origins.yaml"
    path.write_text(yaml.safe_dump(document()))
    compilation = compile_spec(path, Options())
    answer = analyse_queries(compilation.deployment.programs, tmp_path, spark_engine().session)
    assert answer.refusals == ()

    actual: dict[str, dict[str, str]] = {}
    influences: dict[str, str] = {}
    for number, known in answer.columns.items():
        operator = compilation.physical.operators[number]
        ports = [port.name for port in compilation.logical.operators[operator.logical].inputs]
        for column, origin in ((name, each) for output in known.outputs for name, each in output.items()):
            inputs = " ".join(sorted(f"{ports[port]}.{attribute}" for port, attribute in origin.inputs))
            actual.setdefault(operator.name, {})[column] = inputs + ", whole rows" * origin.whole_rows
        if known.influences:
            ways = sorted(f"{ports[port]}.{attribute} {use.subtype}" for port, attribute, use in known.influences)
            influences[operator.name] = ", ".join(ways)
    wanted = {f"Q{number}": origins for number, (_, _, origins) in enumerate(QUERIES.values())}
    wanted |= {name: origins for name, (_, origins) in FUNCTIONS.items()}
    wanted |= {"A": {"up": "Rows.k", "m": "Rows.n"}, "B": SECOND, "C[0]": {"m": "Rows.n"}, "C[1]": {"m": "Rows.n"}}
    assert actual == wanted
    numbers = {name: f"Q{number}" for number, name in enumerate(QUERIES)}
    assert influences == {numbers.get(name, name): ways for name, ways in INFLUENCES.items()}
