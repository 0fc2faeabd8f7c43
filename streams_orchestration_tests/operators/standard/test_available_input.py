"""Sources that are asked what is there now: run after run takes what came, once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from streams_orchestration.operators.contract.operator import Offset, SourceOperator
from streams_orchestration.operators.standard.files.directory_scan import DirectoryScan
from streams_orchestration.operators.standard.flow.beacon import Beacon, BeaconParameters
from streams_orchestration.operators.standard.systems.kafka_source import KafkaSource
from streams_orchestration_tests.operators import change_slots, growing_tables
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.lakes.lakes import LAKES, Delta, numbers
from streams_orchestration_tests.servers.kafka import PROMPT, Broker
from streams_orchestration_tests.targets import Target, target_of


class Growing(Protocol):
    """A source, and what it reads, which grows by one number at a time."""

    def source(self) -> Bench: ...

    def add(self, number: int) -> None: ...

    def numbers(self, bench: Bench) -> list[int]: ...


@dataclass
class Files:
    """DirectoryScan."""

    directory: Path

    def source(self) -> Bench:
        return Bench(DirectoryScan, outputs=["file string"], directory=str(self.directory))

    def add(self, number: int) -> None:
        (self.directory / f"file-{number}").write_text("x")

    def numbers(self, bench: Bench) -> list[int]:
        return [int(row[0].rpartition("-")[2]) for row in bench.rows()]


@dataclass
class Table:
    """SqlSource."""

    target: Target

    def source(self) -> Bench:
        return growing_tables.source(self.target)

    def add(self, number: int) -> None:
        growing_tables.events(self.target, (number, "k"))

    def numbers(self, bench: Bench) -> list[int]:
        return [row[0] for row in bench.rows()]


@dataclass
class Changes:
    """PostgresChangeSource, whose slot is there."""

    target: Target

    def __post_init__(self) -> None:
        self.target.run("CREATE TABLE events (id BIGINT PRIMARY KEY, k TEXT)")
        self.target.run("CREATE PUBLICATION changes FOR TABLE events")
        slot = change_slots.slot_of(self.target)
        self.target.run(f"SELECT pg_create_logical_replication_slot('{slot}', 'pgoutput')")

    def source(self) -> Bench:
        return change_slots.source(self.target, startAt="slot")

    def add(self, number: int) -> None:
        change_slots.events(self.target, (number, "k"))

    def numbers(self, bench: Bench) -> list[int]:
        change_slots.operator_of(bench).disconnect()
        return [row[1] for row in bench.rows()]


@dataclass
class Lake:
    """DeltaSource and IcebergSource."""

    lake: Delta

    def __post_init__(self) -> None:
        self.lake.make_empty()

    def source(self) -> Bench:
        return self.lake.source(startAt="earliest")

    def add(self, number: int) -> None:
        self.lake.append(("k", number))

    def numbers(self, bench: Bench) -> list[int]:
        return numbers(bench)


class Topic:
    """KafkaSource, of a topic with two partitions."""

    def __init__(self, broker: Broker, directory: Path) -> None:
        self.broker, self.directory, self.name = broker, directory, broker.topic(2)

    def source(self) -> Bench:
        topic: dict[str, Any] = {"brokers": self.broker.address, "client": PROMPT, "topic": self.name}
        return Bench(KafkaSource, outputs=["n bigint"], results=self.directory, **topic)

    def add(self, number: int) -> None:
        self.broker.send(self.name, [json.dumps({"n": number}).encode()], partition=[number % 2])

    def numbers(self, bench: Bench) -> list[int]:
        return [row[0] for row in bench.rows()]


KINDS = {
    "DirectoryScan": (),
    "sqlite": (),
    "delta": (),
    "iceberg": (),
    "postgresql": pytest.mark.slow,
    "mariadb": pytest.mark.slow,
    "changes": pytest.mark.slow,
    "kafka": (pytest.mark.java, pytest.mark.slow),
}


@pytest.fixture(params=[pytest.param(kind, marks=marks) for kind, marks in KINDS.items()])
def growing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Growing]:
    kind: str = request.param
    match kind:
        case "DirectoryScan":
            yield Files(tmp_path)
        case "delta" | "iceberg":
            yield Lake(LAKES[kind](tmp_path))
        case "kafka":
            yield Topic(request.getfixturevalue("kafka"), tmp_path)
        case _:
            with target_of("postgresql" if kind == "changes" else kind, tmp_path, request) as target:
                yield Changes(target) if kind == "changes" else Table(target)


MEANWHILE = 4
"""The most numbers that come while a run is under way."""


def test_each_run_takes_what_came_before_it_and_nothing_that_comes_meanwhile(growing: Growing):
    coming = iter(range(1000))
    for _ in range(5):
        growing.add(next(coming))
    offset: Offset | None = None
    wanted, taken = list(range(5)), list[int]()
    for _ in range(3):
        bench = growing.source()
        operator = bench.operator
        assert isinstance(operator, SourceOperator)
        offset, exhausted = operator.initial_offset() if offset is None else operator.continued(offset), False
        operator.until = operator.available(offset)
        came = list[int]()
        while not exhausted:
            if len(came) < MEANWHILE:
                came.append(next(coming))
                growing.add(came[-1])
            offset, exhausted = bench.produce(offset, 2)
        assert sorted(growing.numbers(bench)) == wanted
        taken += growing.numbers(bench)
        wanted = came
    assert len(set(taken)) == len(taken)


def test_a_run_that_goes_on_after_a_crash_ends_where_it_was_to(growing: Growing):
    for number in range(6):
        growing.add(number)
    bench = growing.source()
    operator = bench.operator
    assert isinstance(operator, SourceOperator)
    first = operator.initial_offset()
    operator.until = until = operator.available(first)
    assert until is not None
    offset, exhausted, before = first, False, growing.numbers(bench)
    while not exhausted and not before:
        offset, exhausted = bench.produce(offset, 2)
        before = growing.numbers(bench)
    for number in range(6, 9):
        growing.add(number)
    again = growing.source()
    assert isinstance(again.operator, SourceOperator)
    again.operator.until = json.loads(json.dumps(until))
    offset = json.loads(json.dumps(offset))
    while not exhausted:
        offset, exhausted = again.produce(offset, 2)
    assert sorted(before + growing.numbers(again)) == list(range(6))


def test_a_beacon_has_an_end_where_it_has_iterations():
    finite, endless = ({"iterations": 3}, {})
    assert Beacon.endless(BeaconParameters.model_validate(finite)) is None
    assert Beacon.endless(BeaconParameters.model_validate(endless)) == "a Beacon without iterations has no end"
