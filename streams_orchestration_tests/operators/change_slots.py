"""A source of the changes of a table, and the slot that it reads."""

from __future__ import annotations

from typing import Any

from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.standard.systems.postgres_change_source import PostgresChangeSource
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.targets import Target

SCHEMA = "op string, id bigint, k string"
BAD = "table string, place string, column string, reason string, text string"


def slot_of(target: Target) -> str:
    return "slot_" + target.url.partition("target_")[2].partition("?")[0]


def source(target: Target, schema: str = SCHEMA, **parameters: Any) -> Bench:
    outputs = [schema, BAD] if parameters.get("onBadTuple") == "stream" else [schema]
    known: dict[str, Any] = {"url": target.url, "table": "events", "slot": slot_of(target), "publication": "changes"}
    known |= {"metadata": {"op": "change"}} | parameters
    return Bench(PostgresChangeSource, [], outputs, **known)


def operator_of(bench: Bench) -> PostgresChangeSource:
    assert isinstance(bench.operator, PostgresChangeSource)
    return bench.operator


def drained(bench: Bench, offset: Offset | None = None, limit: int = 1000) -> Offset:
    """Produce until nothing moves."""
    while True:
        produced = bench.produce(offset, limit)
        if produced.exhausted or produced.offset == offset:
            return produced.offset
        offset = produced.offset


def events(target: Target, *rows: tuple[int, str]) -> None:
    target.run("INSERT INTO events VALUES (?, ?)", *rows)
