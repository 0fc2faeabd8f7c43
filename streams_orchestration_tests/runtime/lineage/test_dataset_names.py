"""Data have the names that OpenLineage gives them, and no name has a secret."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.runtime.lineage.dataset_names import dataset_names

CSV = {"format": "csv"}
LAKE = {
    "type": "rest",
    "name": "lake",
    "uri": "https://me:${env:PASSWORD}@catalog.example:81/ice",
    "warehouse": "w",
}
CASES: list[tuple[str, dict[str, Any], list[tuple[str, str]]]] = [
    ("FileSource", {"file": "in/rows.csv", **CSV}, [("file", "/spec/in/rows.csv")]),
    ("FileSource", {"file": "/data/in/*.csv", **CSV}, [("file", "/data/in")]),
    ("FileSource", {"file": "s3://lake/in/2026/*.csv", **CSV}, [("s3://lake", "in/2026")]),
    ("DirectoryScan", {"directory": "in"}, [("file", "/spec/in")]),
    ("FileSink", {"file": "out", **CSV}, [("file", "/results/out")]),
    ("FileSink", {"file": "gs://bucket/out/", **CSV}, [("gs://bucket", "out")]),
    ("DeltaSink", {"table": "s3://lake/t"}, [("s3://lake", "t")]),
    ("DeltaSource", {"table": "tables/t"}, [("file", "/spec/tables/t")]),
    ("IcebergSink", {"table": "db.t", "catalog": LAKE}, [("https://catalog.example:81/ice", "db.t")]),
    ("KafkaSource", {"topic": ["a", "b"], "brokers": "one:9093,two:9093", "format": "json"},
     [("kafka://one:9093", "a"), ("kafka://one:9093", "b")]),
    ("KafkaSource", {"pattern": "a.*", "brokers": "one", "format": "json"}, [("kafka://one:9092", "a.*")]),
    ("KafkaSink", {"topic": "t", "brokers": "one:9092", "format": "json"}, [("kafka://one:9092", "t")]),
    ("SqlSink", {"url": "postgresql://me:${env:PASSWORD}@db/shop", "table": "sales.orders"},
     [("postgres://db:5432", "shop.sales.orders")]),
    ("SqlSource", {"url": "${env:ADDRESS}", "table": "orders", "column": "id"},
     [("postgres://db.example:6432", "shop.public.orders")]),
    ("SqlSource", {"url": "postgresql://db/shop", "query": "SELECT 1 AS id", "column": "id"}, []),
    ("SqlSink", {"url": "mariadb+pymysql://me@db:3307/shop", "table": "orders"}, [("mysql://db:3307", "shop.orders")]),
    ("SqlSink", {"url": "sqlite:////data/shop.db", "table": "orders"}, [("file", "/data/shop.db/orders")]),
    ("MQTTSource", {"url": "mqtt://broker:1883", "topics": ["s/+/t"]}, [("mqtt://broker:1883", "s/+/t")]),
    ("NATSSource", {"url": "nats://broker:4222", "stream": "events"}, [("nats://broker:4222", "events")]),
    ("RedisSource", {"url": "redis://broker:6379", "stream": "events"}, [("redis://broker:6379", "events")]),
    ("HttpSink", {"url": "https://api.example/in?token=${env:PASSWORD}"}, [("https://api.example", "in")]),
    ("TCPSource", {"role": "client", "address": "host", "port": 9, **CSV}, [("tcp://host:9", "/")]),
    ("Beacon", {}, []),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "parameters", "expected"), CASES)
def test_the_names_of_data(
    kind: str, parameters: dict[str, Any], expected: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PASSWORD", "sesame")
    monkeypatch.setenv("ADDRESS", "postgresql://me:sesame@db.example:6432/shop?password=sesame")
    operator = import_operator(STANDARD[kind])
    context = OperatorContext("Op", base=Path("/spec"), results=Path("/results"))
    names = dataset_names(operator, context, operator.Parameters.model_validate(parameters))
    assert [tuple(each) for each in names] == expected
    assert "sesame" not in str(names)


def test_a_reference_that_is_not_there_stays_a_reference():
    operator = import_operator(STANDARD["SqlSink"])
    parameters = operator.Parameters.model_validate({"url": "${env:NOT_THERE}", "table": "orders"})
    names = dataset_names(operator, OperatorContext("Op"), parameters)
    assert [tuple(each) for each in names] == [("${env:NOT_THERE}", "orders")]
