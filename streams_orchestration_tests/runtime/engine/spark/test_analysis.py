"""Spark analyses queries before a deployment: each refusal names the operator and the reason.

`cli/test_checking.py` has them analysed in another process, as commands do.
"""

from __future__ import annotations

import faulthandler
import threading
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.engine.query_analysis import QueryAnalysis
from streams_orchestration.runtime.engine.spark.frames.analysis import analyse_queries, describe_current_line

pytestmark = pytest.mark.java
ROW = "k string, ts timestamp, n bigint"
TIME = {"Rows": {"attribute": "ts", "delay": "1 minute"}}
WINDOWS = "SELECT k, window.start AS ts, count(*) AS n FROM Rows GROUP BY k, window(ts, '1 minute')"
SQL: dict[str, tuple[dict[str, Any], str]] = {
    "Good": ({"query": "SELECT * FROM Rows WHERE n > 1"}, ""),
    "GoodWindows": ({"query": WINDOWS, "watermarks": TIME}, ""),
    "GoodUpdate": (
        {"query": "SELECT k, max(ts) AS ts, count(*) AS n FROM Rows GROUP BY k", "outputMode": "update"},
        "",
    ),
    "Enriched": (
        {
            "query": "SELECT Rows.k, ts, names.n FROM Rows JOIN names ON Rows.k = names.k",
            "static": {"names": {"file": "names.csv", "format": "csv", "schema": "k string, n bigint"}},
        },
        "",
    ),
    "NoTable": (
        {"query": "SELECT * FROM Rows", "static": {"names": {"file": "nowhere.parquet", "format": "parquet"}}},
        "nowhere.parquet",
    ),
    "NoWatermark": ({"query": WINDOWS}, "STREAMING_OUTPUT_MODE"),
    "Sorted": ({"query": "SELECT * FROM Rows ORDER BY n"}, "Sorting is not supported"),
    "Limited": ({"query": "SELECT * FROM Rows LIMIT 3", "outputMode": "update"}, "Limits are not supported"),
    "Distinct": (
        {"query": "SELECT k, max(ts) AS ts, count(DISTINCT n) AS n FROM Rows GROUP BY k", "outputMode": "update"},
        "istinct aggregations are not supported",
    ),
    "Ranked": ({"query": "SELECT k, ts, row_number() OVER (ORDER BY n) AS n FROM Rows"}, "indow"),
    "Misspelt": ({"query": "SELECT k, ts, m AS n FROM Rows"}, "UNRESOLVED_COLUMN"),
    "NoStream": ({"query": "SELECT k, ts, n FROM Row"}, "TABLE_OR_VIEW_NOT_FOUND"),
    "NoSql": ({"query": "SELEKT k FROM Rows"}, "PARSE_SYNTAX_ERROR"),
    "Constant": ({"query": "SELECT 'a' AS k, TIMESTAMP '2026-01-01' AS ts, 1L AS n"}, "is not a stream"),
    "Lacking": ({"query": "SELECT k, ts FROM Rows"}, "it returns the columns k, ts; its stream has k, ts, n"),
    "Typed": ({"query": "SELECT k, ts, n / 2 AS n FROM Rows"}, "n is double; its stream has bigint"),
    "Clock": ({"query": "SELECT k, current_timestamp() AS ts, n FROM Rows"}, "current_timestamp() gives another time"),
    "Chance": ({"query": "SELECT k, ts, CAST(rand() * n AS bigint) AS n FROM Rows"}, "gives other values when"),
}
FUNCTIONS: dict[str, tuple[str, str]] = {
    "FunctionGood": ("return rows.dropDuplicates(['k', 'ts'])", ""),
    "FunctionRaises": ("return 1 / 0", "ZeroDivisionError: division by zero"),
    "FunctionOfNothing": ("return None", "it returned NoneType; it must return a DataFrame"),
    "OwnWatermark": ("return rows.withWatermark('ts', '1 hour')", "declare the watermark instead: watermarks"),
    "Action": ("rows.count(); return rows", "must be executed with writeStream.start"),
}
SESSIONS = "SELECT k, session_window.start AS ts, count(*) AS n FROM Timed GROUP BY k, session_window(ts, '1 minute')"
AWAITED = "the delay of its results against the watermark of its input is not known: a session window"
TOGETHER = (
    "the colocated operators are one query, but First has outputMode append and Second has outputMode update; give "
    "them the same outputMode, or do not colocate them"
)


def document() -> dict[str, Any]:
    start = {"consistent": {"trigger": "periodic", "period": 1.0}}
    graph: list[dict[str, Any]] = [
        {"name": "Rows", "operator": "Beacon", "annotations": start, "parameters": {"output": {"n": "1"}},
         "outputs": [{"stream": "Rows", "schema": ROW}]},
    ]  # fmt: skip

    def add(name: str, operator: str, parameters: dict[str, Any], **more: Any) -> None:
        source = {"inputs": ["Rows"], "outputs": [{"stream": name, "schema": ROW}]}
        graph.append({"name": name, "operator": operator, "parameters": parameters} | source | more)

    for name, (parameters, _) in SQL.items():
        add(name, "Sql", parameters)
    for name in FUNCTIONS:
        add(name, "DataFrame", {"function": f"wanted:{name}"})
    together = {"config": {"placement": {"partitionColocation": "together"}}}
    add("First", "Sql", {"query": "SELECT * FROM Rows"}, **together)
    add("Second", "Sql", {"query": "SELECT * FROM First", "outputMode": "update"}, **together, inputs=["First"])
    timed = {"eventTime": {"eventTimeAttribute": "ts"}}
    graph.append({"name": "Timed", "operator": "Beacon", "annotations": timed,
                  "outputs": [{"stream": "Timed", "schema": ROW}]})  # fmt: skip
    panes = {"window": "timeInterval, intervalDuration(60.0)", "output": {"ts": "paneTime()", "n": "Count()"}}
    for name, declared in {"Sessions": {}, "Declared": {"outputDelay": 60}}.items():
        add(name, "Sql", {"query": SESSIONS, "watermarks": {"Timed": "eventTime"}, **declared}, inputs=["Timed"])
        add(f"{name}Panes", "Aggregate", panes | {"groupBy": ["k"]}, inputs=[name])
    return {"specVersion": 1, "application": "queries", "graph": graph}


def test_a_query_that_spark_cannot_run_is_refused_by_name_and_with_the_reason(tmp_path: Path) -> None:
    functions = (f"def {name}(rows):\n    {body}\n" for name, (body, _) in FUNCTIONS.items())
    (tmp_path / "wanted.py").write_text("\n".join(functions))
    (tmp_path / "names.csv").write_text("k,n\na,1\n")
    path = tmp_path / "queries.yaml"
    path.write_text(yaml.safe_dump(document()))
    compilation = compile_spec(path, Options())
    refusals = analyse_queries(compilation.deployment.programs, tmp_path, spark_engine().session).refusals
    wanted = {name: text for name, (_, text) in (SQL | FUNCTIONS).items() if text}
    wanted |= {"Second": TOGETHER, "Sessions": AWAITED}
    actual = {each.operator: each.reason for each in refusals}
    assert actual.keys() == wanted.keys()
    assert {name: actual[name] for name, text in wanted.items() if text not in actual[name]} == {}
    assert {name: text for name, text in actual.items() if "\n" in text or len(text) > 600} == {}


def test_an_application_without_queries_needs_no_spark(tmp_path: Path) -> None:
    assert analyse_queries([], tmp_path) == QueryAnalysis()


def test_the_log_of_a_process_that_hangs_says_where_its_main_thread_stands(tmp_path: Path):
    log, over = tmp_path / "log", threading.Event()
    log.write_text("WARN Spark said this before\n")
    assert describe_current_line(log) == ""
    other = threading.Thread(target=over.wait)
    other.start()
    with log.open("a") as file:
        faulthandler.dump_traceback(file)
    over.set()
    other.join()
    assert "in test_the_log_of_a_process_that_hangs" in describe_current_line(log)
