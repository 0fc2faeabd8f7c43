"""Applications between real servers, or a file and one: a source, a state and a sink that are exactly once together.

What the servers are reached by can be cut, and they can be killed. Sources read what is there from the beginning,
slowly until they are to hurry, and end with it.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streams_orchestration_tests import mariadb
from streams_orchestration_tests.chaos.counterparts import Counterpart
from streams_orchestration_tests.chaos.shapes import Shape, Tuples, node
from streams_orchestration_tests.servers import kafka, s3
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.servers.proxy import Proxy
from streams_orchestration_tests.targets import Target

A_SECOND = 40
"""Tuples that a slow source gives at most; see `operators.Slow`."""
PARTITIONS, KEYS = 3, 7
PERIODS = (0.5, 1.0, 2.0)
TARGET, WANTED = "target", "wanted"
"""The places for the tuples of the run, and for the tuples of a run without faults."""


@dataclass(frozen=True)
class Pair(Shape):
    """An application with a counterpart outside."""

    counterpart: Counterpart | None = None
    aimed: Callable[[str], dict[str, Any]] = lambda _target: {}
    """A target -> the sink."""
    read: Callable[[str], Tuples] = lambda _target: []
    """A target -> what readers see in it."""
    target: str = TARGET

    def apart(self) -> Pair:
        """Return the application with another target."""
        return replace(self, target=WANTED)

    def spec(self, hurry: Path) -> dict[str, Any]:
        """Return the spec with the sink after the graph."""
        return replace(self, graph=[*self.graph, self.aimed(self.target)])._document(hurry)

    def _document(self, hurry: Path) -> dict[str, Any]:
        return super().spec(hurry)

    def results(self, home: Any) -> dict[str, Tuples]:
        """Return the tuples that the target outside holds."""
        return {"Out": self.read(self.target)}


def rows(count: int) -> list[tuple[str, int]]:
    """Numbers with one of a few keys each."""
    return [(f"k{number % KEYS}", number) for number in range(count)]


def graph(choose: random.Random, kind: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a source of rows, and a state by keys behind it."""
    source = {
        "name": "Rows", "operator": kind, "outputs": [{"stream": "Rows", "schema": "Row"}], "parameters": parameters,
        "annotations": {"consistent": {"trigger": "periodic", "period": choose.choice(PERIODS),
                                       "maxConsecutiveResetAttempts": 1000}},
    }  # fmt: skip
    return [source, node("Counted", "Columns", "Rows", schema="Total")]


def sink(operator: str, **parameters: Any) -> dict[str, Any]:
    """Return the sink that ends the graph."""
    return {"name": "Out", "operator": operator, "inputs": ["Counted"], "parameters": parameters}


@contextmanager
def kafka_to_kafka(choose: random.Random, count: int, place: Path) -> Iterator[Pair]:
    """Yield a broker, behind one proxy."""
    directory = place / "broker"
    directory.mkdir()
    with kafka.broker(directory) as server, closing(server.proxy()) as proxy:
        topic = server.topic(PARTITIONS, "rows")
        for some in _parts(rows(count)):
            values = [json.dumps({"k": k, "n": n}).encode() for k, n in some]
            server.send(topic, values, partition=[n % KEYS % PARTITIONS for _, n in some])
        for target in (TARGET, WANTED):
            server.topic(PARTITIONS, target)

        def read(target: str) -> Tuples:
            return [tuple(json.loads(value).values()) for value in server.values(target)]

        def aimed(target: str) -> dict[str, Any]:
            return sink("KafkaSink", brokers=server.proxied_address, topic=target, key="k")

        source = graph(choose, "SlowKafka", {"brokers": server.proxied_address, "topic": topic, "until": "latest"})
        yield Pair("kafka", source, (), Counterpart(proxy, server.kill, server.start), aimed, read)


def _parts(made: list[tuple[str, int]]) -> Iterator[list[tuple[str, int]]]:
    for first in range(0, len(made), 10_000):
        yield made[first : first + 10_000]


@contextmanager
def mariadb_to_mariadb(choose: random.Random, count: int, place: Path) -> Iterator[Pair]:
    """Yield a server of MariaDB, behind one proxy."""
    port = free_port()
    with mariadb.server(port) as server, closing(Proxy(port)) as proxy:
        server.run("CREATE DATABASE shop CHARACTER SET utf8mb4")
        database = Target(server.url("shop"), lambda: server.connect("shop"))
        database.run("CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, k VARCHAR(9), n BIGINT)")
        for some in _parts(rows(count)):
            database.run("INSERT INTO orders VALUES (?, ?, ?)", *[(n, k, n) for k, n in some])
        url = f"mariadb://{mariadb.USER}@127.0.0.1:{proxy.port}/shop"

        def read(target: str) -> Tuples:
            return database.run(f"SELECT k, number, total FROM {target}")

        def aimed(target: str) -> dict[str, Any]:
            return sink("SqlSink", url=url, table=target, createTable=True)

        source = graph(
            choose, "SlowSql", {"url": url, "table": "orders", "column": "id", "until": "latest", "settle": 0}
        )
        yield Pair("mariadb", source, (), Counterpart(proxy, server.kill, server.start), aimed, read)


@contextmanager
def _object_store(place: Path) -> Iterator[tuple[s3.S3, Counterpart, dict[str, Any]]]:
    """Yield a store that keeps what it has when it is killed; what is behind its proxy, as `storage` of a sink."""
    directory = place / "store"
    directory.mkdir()
    before = dict(os.environ)
    with s3.s3proxy(directory) as server, closing(Proxy(server.port)) as proxy:
        os.environ.update(server.s3.credentials)
        try:
            reached = server.s3.storage | {"endpoint": f"http://127.0.0.1:{proxy.port}"}
            yield server.s3, Counterpart(proxy, server.kill, server.start), reached
        finally:
            os.environ.clear()
            os.environ.update(before)


def _file(count: int, place: Path) -> dict[str, Any]:
    path = place / "rows.csv"
    path.write_text("k,n\n" + "".join(f"{k},{n}\n" for k, n in rows(count)))
    return {"file": str(path), "format": "csv"}


@contextmanager
def file_to_delta(choose: random.Random, count: int, place: Path) -> Iterator[Pair]:
    """Yield a table in an object store."""
    import deltalake

    with _object_store(place) as (server, counterpart, reached):
        options = {
            "AWS_ENDPOINT_URL": server.endpoint, "AWS_ACCESS_KEY_ID": s3.KEY, "AWS_SECRET_ACCESS_KEY": s3.SECRET,
            "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
        }  # fmt: skip

        def read(target: str) -> Tuples:
            table = deltalake.DeltaTable(f"s3://{s3.BUCKET}/{target}", storage_options=options)
            return [tuple(row.values()) for row in table.to_pyarrow_table().to_pylist()]

        def aimed(target: str) -> dict[str, Any]:
            return sink("DeltaSink", table=f"s3://{s3.BUCKET}/{target}", storage=reached, createTable=True)

        source = graph(choose, "SlowFile", _file(count, place))
        yield Pair("delta", source, (), counterpart, aimed, read)


@contextmanager
def file_to_iceberg(choose: random.Random, count: int, place: Path) -> Iterator[Pair]:
    """Yield a table in an object store, its catalog in a file of SQLite."""
    from pyiceberg.catalog import load_catalog

    with _object_store(place) as (server, counterpart, reached):

        def catalog(endpoint: str) -> dict[str, Any]:
            return {
                "type": "sql", "uri": f"sqlite:///{place}/catalog.db", "warehouse": f"s3://{s3.BUCKET}/warehouse",
                "s3.endpoint": endpoint, "s3.region": "us-east-1",
                "s3.access-key-id": "${env:TEST_S3_KEY}", "s3.secret-access-key": "${env:TEST_S3_SECRET}",
            }  # fmt: skip

        def read(target: str) -> Tuples:
            secrets = {"s3.access-key-id": s3.KEY, "s3.secret-access-key": s3.SECRET}
            table = load_catalog("default", **catalog(server.endpoint) | secrets).load_table(f"lake.{target}")
            return [tuple(row.values()) for row in table.scan().to_arrow().to_pylist()]

        def aimed(target: str) -> dict[str, Any]:
            return sink("IcebergSink", catalog=catalog(reached["endpoint"]), table=f"lake.{target}", createTable=True)

        source = graph(choose, "SlowFile", _file(count, place))
        yield Pair("iceberg", source, (), counterpart, aimed, read)


PAIRS: dict[str, Callable[[random.Random, int, Path], AbstractContextManager[Pair]]] = {
    "kafka": kafka_to_kafka,
    "delta": file_to_delta,
    "iceberg": file_to_iceberg,
    "mariadb": mariadb_to_mariadb,
}


@contextmanager
def shape_at(name: str, seed: int, seconds: float, place: Path) -> Iterator[Pair]:
    """Yield one of `PAIRS` with its servers, the same for the same seed.

    Args:
        name: of the pair.
        seed: of what is left to chance.
        seconds: for which there are tuples.
        place: an empty directory.
    """
    with PAIRS[name](random.Random(f"{name} {seed}"), int(seconds * A_SECOND), place) as pair:
        yield pair
