"""Queries of Spark's, stepped in one session: resets, redeploys and savepoints amid of them."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from sqlalchemy import update

from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.trials import read_trial
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.engine.spark.frames import query as frame_query
from streams_orchestration.runtime.observing.metrics_reading import read_metrics
from streams_orchestration.runtime.savepoints import restore_checks
from streams_orchestration.runtime.savepoints.copying import export_savepoint
from streams_orchestration.runtime.stepping import StepError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.trials.trial import close_trial_if_decided, revert_open
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import adopt, redeploy, run_some
from streams_orchestration_tests.runtime.saved import begun, take

pytestmark = pytest.mark.java
ROWS, LIMIT = 100, 40
"""The rows of the input, and the limit of a batch of the source."""
ROW, PAIR, WINDOW = "k string, ts timestamp, v bigint", "v bigint, other string", "k string, w timestamp, n bigint"
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
WANTED = {
    "windows": "SELECT k, time_bucket(INTERVAL 10 SECONDS, ts) AS w, count(*) AS n FROM rows GROUP BY ALL",
    "joined": "SELECT v, CASE WHEN v % 3 = 0 AND v < 60 THEN k END AS other FROM rows",
}


def node(name: str, operator: str, inputs: Any, schema: str | None, parameters: dict[str, Any], **more: Any) -> Any:
    outputs = {} if schema is None else {"outputs": [{"stream": name, "schema": schema}]}
    return {"name": name, "operator": operator, "inputs": inputs, "parameters": parameters} | outputs | more


def graph(width: int = 2) -> list[Any]:
    """Return a windowed count in channels, and a join of two streams, one of them silent, with a watermark each."""
    start = {"consistent": {"trigger": "periodic", "period": 1.0}}
    parallel = {"parallel": {"width": width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
    time = {"attribute": "ts", "delay": "2 seconds"}
    join = (
        "SELECT Rows.v, Third.k AS other FROM Rows LEFT JOIN Third ON Rows.v = Third.v "
        "AND Third.ts BETWEEN Rows.ts - INTERVAL 1 SECOND AND Rows.ts + INTERVAL 1 SECOND"
    )
    return [
        {k: v for k, v in node("Rows", "FileSource", [], ROW, {"file": "rows.parquet", "format": "parquet"},
                               annotations=start).items() if k != "inputs"},
        node("Third", "Filter", ["Rows"], ROW, {"filter": "v % 3 = 0 AND v < 60"}),
        node("Windows", "Sql", ["Rows"], WINDOW, {
            "query": "SELECT k, window.start AS w, count(*) AS n FROM Rows GROUP BY k, window(ts, '10 seconds')",
            "watermarks": {"Rows": time},
        }, annotations=parallel),
        node("Joined", "Sql", ["Rows", "Third"], PAIR, {"query": join, "watermarks": {"Rows": time, "Third": time}}),
        node("WindowsOut", "FileSink", ["Windows"], None, {"file": "windows", "format": "parquet"}),
        node("JoinedOut", "FileSink", ["Joined"], None, {"file": "joined", "format": "parquet"}),
    ]  # fmt: skip


def compiled(directory: Path, nodes: list[Any]) -> PlannedCompilation:
    rows = [
        {"k": "abc"[number % 3], "ts": START + datetime.timedelta(seconds=number), "v": number}
        for number in range(ROWS)
    ]
    schema = pa.schema([("k", pa.string()), ("ts", pa.timestamp("us", "UTC")), ("v", pa.int64())])
    if not (directory / "rows.parquet").exists():  # a source does not continue with a file that was rewritten
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), directory / "rows.parquet")
    path = directory / "queries.yaml"
    path.write_text(yaml.safe_dump({"specVersion": 1, "application": "queries", "graph": nodes}))
    return compile_spec(path, Options())


def application(directory: Path, nodes: list[Any]) -> LocalApplication:
    return LocalApplication(Home(directory / "home"), compiled(directory, nodes), LIMIT, spark_engine)


def published(*locals_: LocalApplication) -> dict[str, Counter[Any]]:
    """Sink -> what was published, by one application after another."""
    counters: dict[str, Counter[Any]] = {}
    for name in WANTED:
        files = [str(file) for local in locals_ for file in local.published(name)]
        counters[name] = Counter(query("SELECT * FROM read_parquet($files)", files=files)) if files else Counter()
    return counters


def query(text: str, **values: Any) -> list[Any]:
    with duckdb.connect() as connection:
        return connection.execute(text, values).fetchall()


def wanted(directory: Path) -> dict[str, Counter[Any]]:
    rows = f"WITH rows AS (SELECT * FROM '{directory / 'rows.parquet'}') "
    return {name: Counter(query(rows + text)) for name, text in WANTED.items()}


@pytest.mark.deep
def test_a_redeploy_amid_keeps_the_state_of_queries(tmp_path: Path):
    """Twice: the second goes on from a checkpoint that was brought to another number before."""
    nodes = graph()
    with application(tmp_path, nodes) as local:
        for turn in range(2):
            run_some(local, 3)
            nodes.append(node(f"More{turn}", "FileSink", ["Joined"], None, {"file": f"more{turn}"}))
            redeployment = redeploy(local, compiled(tmp_path, nodes))
            assert redeployment.verdict == "kept"
            assert {each.action for each in redeployment.units} == {"restart"}
        local.run()
        assert published(local) == wanted(tmp_path)


@pytest.mark.deep
def test_a_clone_goes_on_from_an_exported_savepoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(restore_checks, "add_query_columns", lambda wanted: wanted.compilation)
    with application(tmp_path, graph()) as local:
        run_some(local, 4)
        exported = export_savepoint(local.home, take(local).manifest.title, tmp_path / "exported").place
        before = published(local)
    other = begun(Home(tmp_path / "other"), local.compilation, exported, limit=LIMIT, engine=spark_engine)
    with other:
        other.run()
        after = published(other)
    assert {name: before[name] + after[name] for name in before} == wanted(tmp_path)
    assert all(before.values())


@pytest.mark.usefixtures("no_hosts")
def test_results_behind_the_cut_are_repeated_after_a_reset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(frame_query, "NOTE_SECONDS", 0.0)  # every poll of the query notes its progress
    with application(tmp_path, graph(width=1)) as local:
        run_some(local, 4)
        (joined,) = (each for each in read_metrics(local.catalog, local.name).operators if each.name == "Joined")
        assert 0 < joined.inputs[1].tuples < joined.inputs[0].tuples <= ROWS
        figures = {each.name: each.value for each in joined.custom}
        assert figures["watermark"] >= START.timestamp()
        assert figures["state_rows"] > 0, "rows of the join that wait"
        assert figures["late_rows"] == 0
        reset_unit(local.catalog, local.name, local.units[0], force=True)
        local.report_running()
        local.run()
        assert published(local) == wanted(tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_redeploy_that_is_taken_back_leaves_queries_as_they_were(tmp_path: Path, by_hand: bool):
    """By hand, or since the plan could not be brought to work within its time."""
    nodes = graph(width=1)
    with application(tmp_path, nodes) as local:
        run_some(local, 1)
        more = [*nodes, node("More", "FileSink", ["Joined"], None, {"file": "more"})]
        assert redeploy(local, compiled(tmp_path, more)).verdict == "kept"
        stepped = [local.step(program) for program in local.programs for _ in range(2)]
        assert all(stepped[:2]), "the plan on trial has done something, and completed no epoch"
        if by_hand:
            assert revert_open(local.catalog, local.name, "by hand")
        else:
            with local.catalog.write() as connection:
                connection.execute(update(tables.trial).values(until=0.0))
            close_trial_if_decided(local.catalog, local.name)
        with local.catalog.read() as connection:
            trial = read_trial(connection, local.name)
        assert trial is not None
        assert trial.state == "REVERTED"
        adopt(local)
        local.run()
        assert published(local) == wanted(tmp_path)


@pytest.mark.deep
def test_an_error_of_spark_names_operator_place_and_query(tmp_path: Path):
    nodes = graph(width=1)
    failing = "SELECT v, k AS other FROM Rows WHERE 1 / (v - 60) < 2"
    (joined,) = (each for each in nodes if each["name"] == "Joined")
    joined |= {"inputs": ["Rows"], "parameters": {"query": failing}}
    with application(tmp_path, nodes) as local, pytest.raises(StepError) as raised:
        local.run()
    text = str(raised.value)
    (line,) = (at for at, each in enumerate((tmp_path / "queries.yaml").read_text().splitlines(), 1) if failing in each)
    place = re.escape(f"{tmp_path / 'queries.yaml'}:{line}")
    assert re.match(rf"Joined \({place}, {re.escape(failing)}\): \[DIVIDE_BY_ZERO\]", text), text
