"""A table whose rows are read in the order of a column that grows."""

from __future__ import annotations

from typing import Any

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.standard.systems.sql_source import SqlSource
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.targets import Target


def source(target: Target, schema: str = "id bigint, k string", **parameters: Any) -> Bench:
    if "query" not in parameters:
        parameters = {"table": "events"} | parameters
    outputs = [schema, "table string, place string, column string, reason string, text string"]
    wanted = 2 if parameters.get("onBadTuple") == "stream" else 1
    return Bench(SqlSource, [], outputs[:wanted], url=target.url, **({"column": "id", "settle": 0} | parameters))


def events(target: Target, *rows: Row, definition: str = "id BIGINT NOT NULL, k VARCHAR(9)") -> None:
    if not target.run(exists(target)):
        target.run(f"CREATE TABLE events ({definition})")
    if rows:
        target.run(f"INSERT INTO events VALUES ({', '.join('?' * len(rows[0]))})", *rows)


def exists(target: Target) -> str:
    if target.kind == "sqlite":
        return "SELECT 1 FROM sqlite_master WHERE name = 'events'"
    schema = "current_schema()" if target.kind == "postgresql" else "DATABASE()"
    return f"SELECT 1 FROM information_schema.tables WHERE table_name = 'events' AND table_schema = {schema}"


def drained(bench: Bench, offset: Offset | None = None, limit: int = 1000) -> tuple[Offset, bool]:
    """Produce until nothing moves; the last offset, and whether the source has ended."""
    while True:
        produced = bench.produce(offset, limit)
        if produced.exhausted or produced.offset == offset:
            return produced.offset, produced.exhausted
        offset = produced.offset
